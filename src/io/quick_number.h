// SPDX-License-Identifier: Apache-2.0
// The common forms of a decimal number, eight digits at a time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace masu::io {

struct QuickNumber {
  bool whole = false;
  bool negative = false;
  std::uint64_t magnitude = 0;  // whole
  double value = 0;             // not whole
};

namespace quick {

__extension__ using Wide = unsigned __int128;

inline constexpr std::size_t most_digits = 19;  // that any 64 bits hold
inline constexpr int most_exponent = 27;        // 5^27 is the last that 64 bits hold
inline constexpr int exact_exponent = 22;       // 10^22 is the last that f64 holds
inline constexpr std::uint64_t exact_whole = std::uint64_t{1} << 53;

constexpr std::array<std::uint64_t, 9> make_tens() {
  std::array<std::uint64_t, 9> tens{1};
  for (std::size_t i = 1; i < tens.size(); ++i) tens[i] = tens[i - 1] * 10;
  return tens;
}
inline constexpr std::array<std::uint64_t, 9> tens = make_tens();

constexpr std::array<double, exact_exponent + 1> make_powers() {
  std::array<double, exact_exponent + 1> powers{1};
  for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}
inline constexpr std::array<double, exact_exponent + 1> powers = make_powers();

// 5^e = (head + less than 1) * 2^exponent, where head has 64 bits.
struct Five {
  std::uint64_t head = 0;
  int exponent = 0;
};
constexpr std::array<Five, 2 * most_exponent + 1> make_fives() {
  std::array<Five, 2 * most_exponent + 1> fives{};
  std::uint64_t five = 1;
  for (int e = 0; e <= most_exponent; ++e, five *= 5) {
    const int zeros = std::countl_zero(five);
    fives[std::size_t{most_exponent} + static_cast<std::size_t>(e)] = {five << zeros, -zeros};
    Wide part = (Wide{1} << 127) / five;
    int exponent = -127;
    for (; (part >> 64) != 0; ++exponent) part >>= 1;
    if (e != 0) fives[static_cast<std::size_t>(most_exponent - e)] = {static_cast<std::uint64_t>(part), exponent};
  }
  return fives;
}
inline constexpr std::array<Five, 2 * most_exponent + 1> fives = make_fives();

inline std::uint64_t load_eight(const char* at) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

// A set bit for each byte of a word that is `c`: the byte's highest one.
constexpr std::uint64_t bytes_that_are(char c, std::uint64_t word) noexcept {
  constexpr std::uint64_t low = 0x7f7f7f7f7f7f7f7fU;
  word ^= 0x0101010101010101U * static_cast<unsigned char>(c);
  return ~(((word & low) + low) | word | low);
}
// The first of two characters, of which the text has one.
inline const char* first_of(char a, char b, const char* at) noexcept {
  for (;; at += 8) {
    const std::uint64_t word = load_eight(at);
    const std::uint64_t found = bytes_that_are(a, word) | bytes_that_are(b, word);
    if (found != 0) return at + std::countr_zero(found) / 8;
  }
}

// Where the line ends; `end` where that is not before it. Most lines are short.
inline const char* line_end(const char* at, const char* end) noexcept {
  constexpr std::ptrdiff_t most_short = 32;
  for (const char* const last = at + std::min(end - at, most_short); at < last; at += 8) {
    const std::uint64_t found = bytes_that_are('\n', load_eight(at));
    if (found != 0) return std::min(at + std::countr_zero(found) / 8, end);
  }
  if (at >= end) return end;
  const void* found = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
  return found != nullptr ? static_cast<const char*>(found) : end;
}

// The number that eight digits are, the first one in the lowest byte, each without its bits of ASCII.
constexpr std::uint64_t number_of_eight(std::uint64_t digits) noexcept {
  digits = (digits * 10 + (digits >> 8)) & 0x00ff00ff00ff00ffU;
  digits = (digits * 100 + (digits >> 16)) & 0x0000ffff0000ffffU;
  return (digits * 10000 + (digits >> 32)) & 0xffffffffU;
}

// Appends the digits at `at` to a number, which may wrap round. Returns where they end.
inline const char* take_digits(const char* at, std::uint64_t& number) noexcept {
  for (;;) {
    const std::uint64_t digits = load_eight(at) ^ 0x3030303030303030U;
    // A byte that is no digit sets its highest bit. What it carries over changes only the bytes after it.
    const std::uint64_t others = ((digits + 0x7676767676767676U) | digits) & 0x8080808080808080U;
    if (others == 0) {
      number = number * tens[8] + number_of_eight(digits);
      at += 8;
      continue;
    }
    const int count = std::countr_zero(others) / 8;
    if (count == 0) return at;
    number = number * tens[static_cast<std::size_t>(count)] + number_of_eight(digits << (64 - 8 * count));
    return at + count;
  }
}

// whole * 10^exponent, where both are exact in f64, so that it is rounded once.
inline bool round_once(std::uint64_t whole, std::int64_t exponent, double& value) noexcept {
  if (whole > exact_whole || exponent < -exact_exponent || exponent > exact_exponent) return false;
  const auto exact = static_cast<double>(whole);
  value = exponent < 0 ? exact / powers[static_cast<std::size_t>(-exponent)]
                       : exact * powers[static_cast<std::size_t>(exponent)];
  return true;
}

// whole * 10^exponent, rounded to even. False where neither way can tell the nearest.
inline bool round_product(std::uint64_t whole, std::int64_t exponent, double& value) noexcept {
  value = 0;
  if (whole == 0 || exponent < -most_exponent || exponent > most_exponent) return whole == 0;
  const Five& five = fives[static_cast<std::size_t>(most_exponent + exponent)];
  const int zeros = std::countl_zero(whole);
  const Wide product = Wide{whole << zeros} * five.head;
  const int shift = (product >> 127) != 0 ? 0 : 1;
  const auto head = static_cast<std::uint64_t>(product << shift >> 64);
  // The true head is at most 3 more: only near a half that may round to another number.
  constexpr std::uint64_t half = 1U << 10;
  const std::uint64_t below = head & (2 * half - 1);
  if (below + 3 >= half && below <= half) return round_once(whole, exponent, value);
  const auto mantissa = static_cast<double>((head >> 11) + (below > half ? 1 : 0));
  const int scale = 11 + 64 - shift - zeros + five.exponent + static_cast<int>(exponent);
  value = mantissa * std::bit_cast<double>(static_cast<std::uint64_t>(1023 + scale) << 52);
  return true;
}

}  // namespace quick

// Takes the number at `at`: digits with at most one point and an exponent, and a minus in front. Returns where it ends;
// null where it is something else, or a number that needs more care. The text must end with a byte that is in no
// number, and Reader::excess bytes after it may be looked at.
inline const char* take_quick_number(const char* at, char point, QuickNumber& number) noexcept {
  number.negative = *at == '-';
  if (number.negative) ++at;
  const char* const begin = at;
  std::uint64_t digits = 0;
  at = quick::take_digits(at, digits);
  std::size_t count = static_cast<std::size_t>(at - begin);
  number.whole = *at != point && *at != 'e' && *at != 'E';
  if (number.whole) {
    number.magnitude = digits;
    return count == 0 || count > quick::most_digits ? nullptr : at;
  }
  std::int64_t exponent = 0;
  if (*at == point) {
    const char* const fraction = ++at;
    at = quick::take_digits(at, digits);
    exponent = fraction - at;
    count += static_cast<std::size_t>(at - fraction);
  }
  if (count == 0) return nullptr;
  if (count > quick::most_digits) {
    std::size_t zeros = 0;
    for (const char* p = begin; *p == '0' || *p == point; ++p) zeros += *p == '0' ? 1 : 0;
    if (count - zeros > quick::most_digits) return nullptr;
  }
  if (*at == 'e' || *at == 'E') {
    ++at;
    const bool minus = *at == '-';
    if (minus || *at == '+') ++at;
    std::int64_t given = 0;
    const char* const first = at;
    for (; *at >= '0' && *at <= '9' && at - first < 4; ++at) given = given * 10 + (*at - '0');
    if (at == first || (*at >= '0' && *at <= '9')) return nullptr;
    exponent += minus ? -given : given;
  }
  if (!quick::round_product(digits, exponent, number.value)) return nullptr;
  if (number.negative) number.value = -number.value;
  return at;
}

}  // namespace masu::io
