// SPDX-License-Identifier: Apache-2.0
#include <masu/dtype.h>

#include <fmt/format.h>

#include <iterator>

namespace masu {
namespace {

constexpr std::string_view names[] = {"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "f32", "f64"};

constexpr std::string_view nan_names[] = {"last", "skip", "propagate"};

}  // namespace

std::string_view to_string(Dtype dtype) noexcept {
  return names[static_cast<std::size_t>(dtype)];
}

Dtype dtype_from_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (names[i] == name) return static_cast<Dtype>(i);
  }
  if (name == "bool") return Dtype::u8;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("dtype: must be one of {}, bool, got \"{}\"", fmt::join(names, ", "), name));
}

std::string_view to_string(NanPolicy policy) noexcept {
  return nan_names[static_cast<std::size_t>(policy)];
}

NanPolicy nan_policy_from_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(nan_names); ++i) {
    if (nan_names[i] == name) return static_cast<NanPolicy>(i);
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("nan: must be one of {}, got \"{}\"", fmt::join(nan_names, ", "), name));
}

}  // namespace masu
