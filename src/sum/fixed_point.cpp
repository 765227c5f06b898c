// SPDX-License-Identifier: Apache-2.0
#include "sum/fixed_point.h"

#include <algorithm>
#include <cmath>

namespace masu::fixed {

namespace {

bool bit_at(const Magnitude& number, int position) {
  const auto word = static_cast<std::size_t>(position / digit_bits);
  return word < number.size && (number.words[word] >> (position % digit_bits) & 1U) != 0;
}

// The bits from `position` on, at most 64 of them, which must be all.
std::uint64_t bits_from(const Magnitude& number, int position) {
  Wide bits = 0;
  const auto first = static_cast<std::size_t>(position / digit_bits);
  for (std::size_t i = 0; i < 3 && first + i < number.size; ++i) {
    bits |= static_cast<Wide>(number.words[first + i]) << (32 * i);
  }
  return static_cast<std::uint64_t>(bits >> (position % digit_bits));
}

// Whether a bit below `position` is set: as the first word is not 0, its lowest bit is the number's.
bool any_below(const Magnitude& number, int position) {
  return number.size != 0 && position > std::countr_zero(number.words[0]);
}

int bit_width(const Magnitude& number) {
  if (number.size == 0) return 0;
  return static_cast<int>(number.size) * digit_bits - std::countl_zero(number.words[number.size - 1]);
}

}  // namespace

void propagate(std::span<std::int64_t> digits) noexcept {
  std::int64_t carry = 0;
  for (std::size_t i = 0; i + 1 < digits.size(); ++i) {
    const std::int64_t value = digits[i] + carry;
    carry = value >> digit_bits;
    digits[i] = value & static_cast<std::int64_t>(digit_mask);
  }
  digits.back() += carry;
}

Magnitude::Magnitude(std::uint64_t number, int of_lowest) : size(2), exponent(of_lowest) {
  for (unsigned i = 0; i < 2; ++i) words[i] = static_cast<std::uint32_t>(number >> 32 * i);
  trim();
}

void Magnitude::trim() noexcept {
  while (size != 0 && words[size - 1] == 0) --size;
  std::size_t zeros = 0;
  while (zeros < size && words[zeros] == 0) ++zeros;
  if (zeros != 0) {
    std::copy(words.begin() + static_cast<std::ptrdiff_t>(zeros), words.begin() + static_cast<std::ptrdiff_t>(size),
              words.begin());
    size -= zeros;
    exponent += digit_bits * static_cast<int>(zeros);
  }
  if (size == 0) {
    exponent = 0;
    negative = false;
  }
}

Magnitude magnitude_of(std::span<const std::int64_t> digits, int exponent) noexcept {
  Magnitude result;
  // Two's complement, one word after the other; the last carry is the words above the last digit.
  std::size_t first = 0;
  std::size_t end = digits.size();
  const auto are_zeros = [&](std::size_t at) {
    return (digits[at] | digits[at + 1] | digits[at + 2] | digits[at + 3]) == 0;
  };
  while (end >= 4 && are_zeros(end - 4)) end -= 4;
  while (end != 0 && digits[end - 1] == 0) --end;
  while (first + 4 <= end && are_zeros(first)) first += 4;
  while (first < end && digits[first] == 0) ++first;
  std::int64_t carry = 0;
  for (std::size_t i = first; i < end; ++i) {
    const std::int64_t value = digits[i] + carry;
    carry = value >> digit_bits;
    result.words[result.size++] = static_cast<std::uint32_t>(value);
  }
  result.words[result.size++] = static_cast<std::uint32_t>(carry);
  result.exponent = exponent + digit_bits * static_cast<int>(first);
  if (carry < 0) {
    result.negative = true;
    std::uint64_t add = 1;
    for (std::size_t i = 0; i < result.size; ++i) {
      add += static_cast<std::uint32_t>(~result.words[i]);
      result.words[i] = static_cast<std::uint32_t>(add);
      add >>= digit_bits;
    }
  }
  result.trim();
  return result;
}

bool is_at_most(const Magnitude& number, std::uint64_t count, int exponent) noexcept {
  const int position = exponent - number.exponent;  // of 2^exponent in the words
  if (bit_width(number) - position > 64) return false;
  if (position < 0) return number.size == 0 || bits_from(number, 0) << -position <= count;
  const std::uint64_t whole = bits_from(number, position);
  return whole < count || (whole == count && !any_below(number, position));
}

double rounded(const Magnitude& number, bool more, Dtype result) noexcept {
  if (number.size == 0) return 0;
  const FloatFormat format = float_format(result);
  const int top = bit_width(number) - 1;
  // The lowest bit kept: as many as the format has, or as a subnormal has.
  const int low = std::max(top - format.precision + 1, format.least - number.exponent);
  std::uint64_t mantissa = low <= top ? bits_from(number, std::max(low, 0)) : 0;
  if (low < 0) mantissa <<= -low;
  const bool half = low > 0 && low - 1 <= top && bit_at(number, low - 1);
  const bool rest = more || (low > 0 && any_below(number, low - 1));
  if (half && (rest || (mantissa & 1U) != 0)) ++mantissa;
  const double magnitude = std::ldexp(static_cast<double>(mantissa), low + number.exponent);
  const double value = magnitude > greatest_of(format) ? std::numeric_limits<double>::infinity() : magnitude;
  return number.negative && value != 0 ? -value : value;
}

void append(std::vector<std::byte>& bytes, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(value >> 8 * i));
}

bool take(std::span<const std::byte>& bytes, std::size_t size, std::uint64_t& value) noexcept {
  if (bytes.size() < size) return false;
  value = 0;
  for (std::size_t i = 0; i < size; ++i) value |= static_cast<std::uint64_t>(bytes[i]) << 8 * i;
  bytes = bytes.subspan(size);
  return true;
}

// A byte of flags, a byte of zeros, two bytes each for the place of the first word (of 2^(32 place), from -2^15 on) and
// for the number of words; then the words.
namespace {
constexpr std::uint64_t minus_flag = 8;
constexpr int zero_place = 1 << 15;
}  // namespace

void append(std::vector<std::byte>& bytes, const Part& part) {
  append(bytes, part.specials | (part.number.negative ? minus_flag : 0), 2);
  const int place = part.number.exponent / digit_bits + zero_place;
  append(bytes, static_cast<std::uint64_t>(place), 2);
  append(bytes, part.number.size, 2);
  for (const std::uint32_t word : part.number.span()) append(bytes, word, sizeof(word));
}

bool take(std::span<const std::byte>& bytes, int lowest, std::size_t words, Part& part) noexcept {
  std::uint64_t flags = 0;
  std::uint64_t place = 0;
  std::uint64_t size = 0;
  if (!take(bytes, 2, flags) || !take(bytes, 2, place) || !take(bytes, 2, size)) return false;
  const int exponent = (static_cast<int>(place) - zero_place) * digit_bits;
  if (flags >= 2 * minus_flag || size > words) return false;
  if (size == 0 && (exponent != 0 || (flags & minus_flag) != 0)) return false;
  if (size != 0 && (exponent < lowest ||
                    exponent + digit_bits * static_cast<int>(size) > lowest + digit_bits * static_cast<int>(words))) {
    return false;
  }
  part = Part();
  part.specials = static_cast<std::uint8_t>(flags & ~minus_flag);
  part.number.negative = (flags & minus_flag) != 0;
  part.number.exponent = exponent;
  part.number.size = size;
  for (std::size_t i = 0; i < size; ++i) {
    std::uint64_t word = 0;
    if (!take(bytes, sizeof(std::uint32_t), word)) return false;
    part.number.words[i] = static_cast<std::uint32_t>(word);
  }
  return size == 0 || (part.number.words[0] != 0 && part.number.words[size - 1] != 0);
}

}  // namespace masu::fixed
