// SPDX-License-Identifier: Apache-2.0
// Elements of any dtype as text.
#pragma once

#include <masu/dtype.h>

#include <cstdint>
#include <string>

namespace masu::cli {

// The shortest form that reads back to the same value of the dtype; nan, inf, -inf.
std::string element_text(const ArrayView& array, std::uint64_t index);
// Such a text as JSON has it: "NaN", "Infinity" and "-Infinity" in quotes.
std::string json_of_text(std::string text);
// Both.
std::string json_element(const ArrayView& array, std::uint64_t index);

}  // namespace masu::cli
