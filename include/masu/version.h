// SPDX-License-Identifier: Apache-2.0
/// @file
/// The version of these headers (SemVer) and of the library that a program runs with, and what it exports.
#pragma once

#if __cplusplus < 202002L
#include "masu needs C++20: compile with -std=c++20"  // an #include that fails ends the compilation, #error does not
#endif

#include <string_view>

/// The library hides every symbol that is not marked so.
#define MASU_EXPORT __attribute__((visibility("default")))

namespace masu {

inline constexpr int version_major = 0;
inline constexpr int version_minor = 2;
inline constexpr int version_patch = 0;

/// The version of the library in use, as "MAJOR.MINOR.PATCH". Never throws.
MASU_EXPORT std::string_view version() noexcept;

}  // namespace masu
