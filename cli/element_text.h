// SPDX-License-Identifier: Apache-2.0
// Single elements of any dtype.
#pragma once

#include <masu/dtype.h>
#include <masu/sum.h>

#include <cstdint>
#include <string>

namespace masu::cli {

// The bits of an element.
std::uint64_t bits_of(const ArrayView& data, std::uint64_t i);
// Those of a total of a row.
std::uint64_t bits_of(const SumResult& found, std::uint64_t row = 0);
// The bits of a number that the dtype, a float, holds exactly.
std::uint64_t bits_of(double value, Dtype dtype);
bool is_nan(const ArrayView& data, std::uint64_t i);
// Rounded to f64 where it has 64 bits.
double number_at(const ArrayView& data, std::uint64_t i);

// Elements of any dtype as text.

// The shortest form that reads back to the same value of the dtype; nan, inf, -inf.
std::string element_text(const ArrayView& array, std::uint64_t index);

// How many significant digits floats have in tables and lines, for this process; 0 is the shortest form that reads
// back.
void set_table_digits(int digits);
// A number with these, or where they are not set with `usual`; whole numbers have no exponent up to 2^53.
std::string table_number(double value, int usual = 0, Dtype dtype = Dtype::f64);
// An element of a table: floats with these digits, all else as element_text().
std::string table_element(const ArrayView& array, std::uint64_t index);
// Such a text as JSON has it: "NaN", "Infinity" and "-Infinity" in quotes.
std::string json_of_text(std::string text);
// Both.
std::string json_element(const ArrayView& array, std::uint64_t index);

}  // namespace masu::cli
