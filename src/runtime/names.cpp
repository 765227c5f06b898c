// SPDX-License-Identifier: Apache-2.0
// What dtypes, errors and the version are called.
#include "elements/dtypes.h"

#include <masu/error.h>
#include <masu/version.h>

#include <fmt/format.h>

#include <iterator>
#include <string>

namespace masu {
namespace {

constexpr std::string_view nan_names[] = {"last", "skip", "propagate"};

}  // namespace

std::string_view to_string(Dtype dtype) noexcept {
  return names_of(dtype).name;
}

Dtype dtype_from_name(std::string_view name) {
  const DtypeNames* const found = find_dtype([&](const DtypeNames& each) {
    // The first of NumPy's words has the number of bits.
    return each.name == name || each.numpy_words.substr(0, each.numpy_words.find(' ')) == name;
  });
  if (found != nullptr) return found->dtype;
  if (name == "bool") return Dtype::u8;
  std::string all;
  for (const DtypeNames& each : dtype_names) all += fmt::format("{}, ", each.name);
  throw Error(ErrorCode::invalid_argument, fmt::format("dtype: must be one of {}bool, got \"{}\"", all, name));
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

std::string_view to_string(ErrorCode code) noexcept {
  constexpr std::string_view names[] = {"invalid_argument", "unsupported", "out_of_memory", "device_lost",
                                        "build_failed",     "io",          "interrupted"};
  return names[static_cast<std::size_t>(code)];
}

Error::Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
Error::~Error() = default;  // here, so that the type has one home and can be caught across shared libraries

std::string_view version() noexcept {
  static const auto& text = *new std::string(fmt::format("{}.{}.{}", version_major, version_minor, version_patch));
  return text;
}

}  // namespace masu
