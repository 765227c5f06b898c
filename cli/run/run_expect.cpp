// SPDX-License-Identifier: Apache-2.0
#include "cli/run/run_expect.h"

#include "element_text.h"
#include "errors.h"
#include "io/half.h"

#include <fmt/format.h>
#include <masu/io.h>
#include <algorithm>
#include <cmath>
#include <concepts>
#include <vector>

namespace masu::cli {
namespace {

constexpr std::uint64_t block_elements = std::uint64_t{1} << 16U;

template <class T>
bool same(T a, T b) {
  if constexpr (std::integral<T>) {
    return a == b;
  } else if constexpr (std::same_as<T, Half>) {
    return same(io::to_double(a), io::to_double(b));
  } else {
    return a == b || (std::isnan(a) && std::isnan(b));
  }
}

template <class T>
void compare_block(const T* got, const std::vector<std::byte>& block, std::uint64_t count, std::uint64_t first,
                   RunDifference& found) {
  const auto* expected = reinterpret_cast<const T*>(block.data());
  for (std::uint64_t i = 0; i < count; ++i) {
    if (same(got[i], expected[i])) continue;
    if (found.differing++ > 0) continue;
    found.first = first + i;
    found.expected = json_element({dtype_of<T>, expected, count}, i);
    found.got = json_element({dtype_of<T>, got, count}, i);
  }
}

std::unique_ptr<io::Source> open_expected(const InputRequest& request) {
  try {
    return open_input(request);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    usage_error(fmt::format("--expect: the buffer holds {}; {}", to_string(*request.dtype), error.what()));
  }
}

}  // namespace

RunDifference compare(const ArrayView& got, const InputRequest& input) {
  InputRequest request = input;
  request.dtype = got.dtype;
  const std::unique_ptr<io::Source> source = open_expected(request);
  RunDifference found;
  found.elements = got.count;
  std::vector<std::byte> block(block_elements * size_of(got.dtype));
  while (const std::uint64_t count = source->read(block.data(), block_elements)) {
    const std::uint64_t first = found.expected_elements;
    found.expected_elements += count;
    if (first >= got.count) continue;
    dispatch(got.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      compare_block(static_cast<const T*>(got.data) + first, block, std::min(count, got.count - first), first, found);
    });
  }
  refuse_bad_entries(*source);
  return found;
}

}  // namespace masu::cli
