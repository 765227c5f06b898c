// SPDX-License-Identifier: Apache-2.0
// The parts of fmt that are no templates, and its templates for char, compiled once: in each source that formats a
// text they cost more time than all else. cmake/fmt.cmake gives fmt a namespace of masu's own.
#ifndef FMT_HEADER_ONLY
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;
template auto thousands_sep_impl<char>(locale_ref loc) -> thousands_sep_result<char>;
template auto decimal_point_impl<char>(locale_ref loc) -> char;
template void buffer<char>::append(const char* begin, const char* end);
template void vformat_to(buffer<char>& out, string_view text, basic_format_args<buffer_context<char>> args,
                         locale_ref loc);
}  // namespace detail
FMT_END_NAMESPACE
#endif
