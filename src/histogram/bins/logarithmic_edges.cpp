// SPDX-License-Identifier: Apache-2.0
// Edge i is lo * exp(t) with t = ln(hi / lo) * i / n. It is computed in fixed point with a proven bound of the error;
// both ends of what the true value may be are rounded, and when they differ, again with more digits (A. Ziv, ACM TOMS
// 17, 1991).
//
// That comes to an end, since no edge lies on a midpoint of two doubles: the edge e with e^n = lo^(n-i) * hi^i is
// irrational or the product of rational powers of lo and hi whose odd parts are below 2^53, and such an e has an odd
// part below 2^53 as well; that of a midpoint has 54 bits. (Where the result is subnormal, the same holds of fewer
// bits: e is between lo and hi, multiples of 2^-1074, so e^n is a multiple of 2^(-1074 n) and e, if rational, one of
// 2^-1074.)
#include "histogram/bins/bin_rule.h"

#include "histogram/counts.h"
#include "runtime/parallel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <new>

namespace masu {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr double ln2 = 0x1.62e42fefa39efp-1;
constexpr std::uint64_t edges_a_task = 4096;

// A number >= 0 with 64 bits before the point and 64 * words after it. Every operation that cannot be exact rounds
// down: its error is below one unit of the last place.
template <std::size_t words>
struct Fixed {
  std::array<std::uint64_t, words + 1> digits{};  // lowest first

  std::uint64_t whole() const { return digits[words]; }

  friend bool operator<(const Fixed& a, const Fixed& b) {
    return std::lexicographical_compare(a.digits.rbegin(), a.digits.rend(), b.digits.rbegin(), b.digits.rend());
  }
  friend Fixed operator+(Fixed a, const Fixed& b) {
    Wide carry = 0;
    for (std::size_t i = 0; i <= words; ++i) {
      carry += Wide{a.digits[i]} + b.digits[i];
      a.digits[i] = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    return a;
  }
  friend Fixed operator-(Fixed a, const Fixed& b) {
    std::uint64_t borrow = 0;
    for (std::size_t i = 0; i <= words; ++i) {
      const Wide difference = Wide{a.digits[i]} - b.digits[i] - borrow;
      a.digits[i] = static_cast<std::uint64_t>(difference);
      borrow = static_cast<std::uint64_t>(difference >> 64) & 1U;
    }
    return a;
  }
  friend Fixed operator*(const Fixed& a, const Fixed& b) {
    std::array<std::uint64_t, 2 * words + 2> product{};
    for (std::size_t i = 0; i <= words; ++i) {
      std::uint64_t carry = 0;
      for (std::size_t k = 0; k <= words; ++k) {
        const Wide sum = Wide{a.digits[i]} * b.digits[k] + product[i + k] + carry;
        product[i + k] = static_cast<std::uint64_t>(sum);
        carry = static_cast<std::uint64_t>(sum >> 64);
      }
      product[i + words + 1] = carry;
    }
    Fixed result;
    std::copy_n(product.begin() + words, words + 1, result.digits.begin());
    return result;
  }
  friend Fixed operator*(Fixed a, std::uint64_t factor) {
    Wide carry = 0;
    for (std::uint64_t& digit : a.digits) {
      carry += Wide{digit} * factor;
      digit = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    return a;
  }
  friend Fixed operator/(Fixed a, std::uint64_t divisor) {
    Wide rest = 0;
    for (std::size_t i = words + 1; i-- > 0;) {
      rest = rest << 64 | a.digits[i];
      a.digits[i] = static_cast<std::uint64_t>(rest / divisor);
      rest %= divisor;
    }
    return a;
  }
  Fixed shifted_down(unsigned bits) const {
    Fixed result = *this;
    for (std::size_t i = 0; i < words; ++i) result.digits[i] = digits[i] >> bits | digits[i + 1] << (64 - bits);
    result.digits[words] = digits[words] >> bits;
    return result;
  }
  bool is_zero() const {
    return std::all_of(digits.begin(), digits.end(), [](std::uint64_t digit) { return digit == 0; });
  }
};

// x = mantissa * 2^exponent, 2^52 <= mantissa < 2^53, also for subnormal x.
struct Parts {
  explicit Parts(double x) {
    mantissa = static_cast<std::uint64_t>(std::ldexp(std::frexp(x, &exponent), 53));
    exponent -= 53;
  }
  int exponent = 0;
  std::uint64_t mantissa;
};

template <std::size_t words>
class Edges {
 public:
  using Number = Fixed<words>;

  Edges(std::uint64_t n, double lo, double hi) : n_(n), lo_(lo), ln2_(logarithm(2, 1)) {
    constexpr std::uint64_t one = std::uint64_t{1} << 52;
    const Parts high(hi);
    const auto octaves = static_cast<std::uint64_t>(high.exponent - lo_.exponent);
    ratio_ = ln2_ * octaves + logarithm(high.mantissa, one) - logarithm(lo_.mantissa, one);
    Number inverse;  // 1 / k!
    inverse.digits[words] = 1;
    // exp(s) for s < 2^-8: what comes after terms below half a unit is less than one.
    double bits = 0;
    while (bits <= 64 * words + 1) {
      coefficients_[terms_++] = inverse;
      inverse = inverse / terms_;
      bits += 8 + std::log2(static_cast<double>(terms_));
    }
  }

  // The edge's double; false when this many digits do not decide it.
  bool edge(std::uint64_t i, double& result) const {
    const Number t = ratio_ * i / n_;
    auto octave = static_cast<std::uint64_t>(approximate(t) / ln2);
    while (t < ln2_ * octave) --octave;
    const Number power = exponential(t - ln2_ * octave);
    const int exponent = lo_.exponent + static_cast<int>(octave);
    // The true power is 1 or more but for the error: what lies between rounds to 1.
    Number error;
    error.digits[0] = most_error;
    Number least;
    least.digits[words] = 1;
    if (least + error < power) least = power - error;
    result = rounded(least, exponent);
    return result == rounded(power + error, exponent);
  }

 private:
  // In units of the last place. `logarithm` is off by 6 a term, of which there are at most 20 a word: below 2^11. t and
  // the octaves, of which there are fewer than 2^12, take that over: below 2^24. `exponential` adds less than 2^11, and
  // its value is below 2.1.
  static_assert(words <= 16);
  static constexpr std::uint64_t most_error = std::uint64_t{1} << 26;

  // ln(a / b) = 2 artanh((a - b) / (a + b)), b <= a <= 2 b < 2^54. A power of (a - b) / (a + b) <= 1/3 is off by less
  // than 1.5 units, a term by 2.5.
  static Number logarithm(std::uint64_t a, std::uint64_t b) {
    Number power;
    power.digits[words] = a - b;
    power = power / (a + b);
    Number sum;
    for (std::uint64_t k = 1; !power.is_zero(); k += 2) {
      sum = sum + power / k;
      power = power * (a - b) / (a + b) * (a - b) / (a + b);
    }
    return sum + sum;
  }

  // exp(r) for 0 <= r < 0.7, as exp(r / 256)^256. Horner's rule is off by less than 5 units, and r / 256 by one; a
  // square doubles the relative error and adds one unit.
  Number exponential(const Number& r) const {
    const Number s = r.shifted_down(8);
    Number power = coefficients_[terms_ - 1];
    for (std::size_t k = terms_ - 1; k-- > 0;) power = power * s + coefficients_[k];
    for (int k = 0; k < 8; ++k) power = power * power;
    return power;
  }

  static double approximate(const Number& x) {
    return static_cast<double>(x.whole()) + static_cast<double>(x.digits[words - 1]) * 0x1p-64;
  }

  // lo's mantissa * power * 2^exponent, rounded to nearest; power >= 1.
  double rounded(const Number& power, int exponent) const {
    const Number product = power * lo_.mantissa;
    const int dropped = std::max(static_cast<int>(std::bit_width(product.whole())) - 53, -1074 - exponent);
    const bool up = dropped == 0 ? product.digits[words - 1] >> 63 != 0 : (product.whole() >> (dropped - 1) & 1U) != 0;
    return std::ldexp(static_cast<double>((product.whole() >> dropped) + (up ? 1 : 0)), exponent + dropped);
  }

  std::uint64_t n_;
  Parts lo_;
  Number ln2_;
  Number ratio_;
  std::size_t terms_ = 0;
  std::array<Number, 8 * words + 1> coefficients_{};
};

// With 4 words, then with 16: decided for all that is not nearer to a midpoint than 2^-900 of itself, which n <= 16
// cannot be and greater n never are by chance.
double wide_edge(std::uint64_t i, std::uint64_t n, double lo, double hi) {
  double result = 0;
  if (!Edges<4>(n, lo, hi).edge(i, result)) Edges<16>(n, lo, hi).edge(i, result);
  return result;
}

std::vector<double> memory_for(std::uint64_t n) {
  const std::uint64_t bytes = (n + 1) * sizeof(double);
  check_memory("histogram", n, bytes);
  try {
    return std::vector<double>(n + 1);
  } catch (const std::bad_alloc&) {
    no_memory("histogram", n, bytes);
  }
}

}  // namespace

std::vector<double> logarithmic_edges(std::uint64_t n, double lo, double hi) {
  std::vector<double> edges = memory_for(n);
  const Edges<2> fast(n, lo, hi);
  edges.front() = lo;
  edges.back() = hi;
  runtime::parallel_parts(n, edges_a_task, [&](std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t i = std::max<std::uint64_t>(1, first); i < end; ++i) {
      if (!fast.edge(i, edges[i])) edges[i] = wide_edge(i, n, lo, hi);
    }
  });
  return edges;
}

}  // namespace masu
