// SPDX-License-Identifier: Apache-2.0
#include "scan/prefix_sum.h"

#include "runtime/half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace masu {

namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

constexpr int limb_bits = 64;
// Elements that are looked at together, to see how narrow a number holds their sums.
constexpr std::size_t block_elements = 1024;
constexpr int block_bits = 10;
// Bits of the numbers that sums of a block are kept in, where they fit.
constexpr int narrow_bits = 62;
constexpr int wide_bits = 126;
// Above all exponents.
constexpr int no_exponent = 1 << 14;
// Exponents of which both powers of two are normal numbers of f64.
constexpr int most_scale = 1000;

// What a float type is made of.
template <class T>
struct Format;
template <>
struct Format<Half> {
  using Bits = std::uint16_t;
  static constexpr int fraction = 10;
  static constexpr int lowest = -24;
};
template <>
struct Format<float> {
  using Bits = std::uint32_t;
  static constexpr int fraction = 23;
  static constexpr int lowest = -149;
};
template <>
struct Format<double> {
  using Bits = std::uint64_t;
  static constexpr int fraction = 52;
  static constexpr int lowest = -1074;
};
template <class T>
inline constexpr int exponent_bits = 8 * sizeof(T) - 1 - Format<T>::fraction;
template <class T>
inline constexpr int special_field = (1 << exponent_bits<T>)-1;

template <class T>
inline std::uint64_t bits_of(T x) {
  return std::bit_cast<typename Format<T>::Bits>(x);
}
template <class T>
inline int field_of(T x) {
  return static_cast<int>(bits_of(x) >> Format<T>::fraction) & special_field<T>;
}
template <class T>
inline bool is_negative(T x) {
  return bits_of(x) >> (8 * sizeof(T) - 1) != 0;
}
// A finite element is ±magnitude_of(x) * 2^exponent_of(x).
template <class T>
inline std::uint64_t magnitude_of(T x) {
  const std::uint64_t fraction = bits_of(x) & ((std::uint64_t{1} << Format<T>::fraction) - 1);
  return field_of(x) == 0 ? fraction : fraction | std::uint64_t{1} << Format<T>::fraction;
}
template <class T>
inline int exponent_of(T x) {
  return Format<T>::lowest + std::max(field_of(x), 1) - 1;
}
template <class T>
inline double number_of(T x) {
  if constexpr (std::is_same_v<T, Half>) {
    return runtime::to_double(x);
  } else {
    return x;
  }
}
template <class T>
inline T of_number(double x) {
  if constexpr (std::is_same_v<T, Half>) {
    return runtime::to_half(x);
  } else {
    return static_cast<T>(x);
  }
}

inline int width_of(UnsignedWide x) {
  const auto high = static_cast<std::uint64_t>(x >> limb_bits);
  return high != 0 ? limb_bits + static_cast<int>(std::bit_width(high))
                   : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(x)));
}

inline double power_of_two(int exponent) {
  constexpr int bias = 1023;
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + bias) << Format<double>::fraction);
}

// (magnitude, and less than one more if `more`) * 2^exponent, to nearest, ties to even.
template <class T>
T rounded(UnsignedWide magnitude, int exponent, bool more, bool negative) {
  if (magnitude == 0) return T{};
  const int drop = std::max(width_of(magnitude) - Format<T>::fraction - 1, Format<T>::lowest - exponent);
  auto kept = static_cast<std::uint64_t>(magnitude);
  if (drop > 0) {
    kept = static_cast<std::uint64_t>(magnitude >> drop);
    const UnsignedWide rest = magnitude & ((UnsignedWide{1} << drop) - 1);
    const UnsignedWide half = UnsignedWide{1} << (drop - 1);
    if (rest > half || (rest == half && (more || (kept & 1) != 0))) ++kept;
    exponent += drop;
  }
  const auto whole = static_cast<double>(negative ? -static_cast<std::int64_t>(kept) : static_cast<std::int64_t>(kept));
  if (exponent < -most_scale || exponent > most_scale) return of_number<T>(std::ldexp(whole, exponent));
  return of_number<T>(whole * power_of_two(exponent));
}

template <class T>
T rounded(Wide value, int exponent) {
  const bool negative = value < 0;
  const auto bits = static_cast<UnsignedWide>(value);
  const UnsignedWide magnitude = negative ? -bits : bits;
  const auto high = static_cast<std::uint64_t>(magnitude >> limb_bits);
  if (std::is_same_v<T, Half> || exponent < -most_scale || exponent > most_scale / 2) {
    return rounded<T>(magnitude, exponent, false, negative);
  }
  // The highest 64 bits, the lowest of them set where anything below is: the conversion rounds them as all of them.
  // What is below the least normal number is a whole number of few bits and exact.
  double scale = power_of_two(exponent);
  auto top = static_cast<std::uint64_t>(magnitude);
  if (high != 0) {
    const int shift = std::countl_zero(high);
    const UnsignedWide shifted = magnitude << shift;
    top = static_cast<std::uint64_t>(shifted >> limb_bits) | (static_cast<std::uint64_t>(shifted) != 0 ? 1U : 0U);
    scale = power_of_two(exponent + limb_bits - shift);
  }
  const double scaled =
      static_cast<double>(static_cast<std::conditional_t<std::is_same_v<T, Half>, float, T>>(top)) * scale;
  return of_number<T>(negative ? -scaled : scaled);
}

// In units of 2^unit. A 64-bit sum is rounded by the conversion; the product is exact.
template <class T>
struct Narrow {
  std::int64_t sum;
  double scale;
  double unit;
  void add(T x) { sum += static_cast<std::int64_t>(number_of(x) * scale); }
  [[nodiscard]] T value() const {
    if constexpr (std::is_same_v<T, float>) {
      return static_cast<float>(static_cast<double>(static_cast<float>(sum)) * unit);
    } else {
      // Sums that f64 does not hold are above all that f16 has.
      return of_number<T>(static_cast<double>(sum) * unit);
    }
  }
};

template <class T>
struct Broad {
  Wide sum;
  int unit;
  void add(T x) {
    const std::uint64_t magnitude = magnitude_of(x);
    if (magnitude == 0) return;
    const int shift = exponent_of(x) - unit;
    const Wide amount = shift >= 0 ? static_cast<Wide>(magnitude) << shift : static_cast<Wide>(magnitude >> -shift);
    sum += is_negative(x) ? -amount : amount;
  }
  [[nodiscard]] T value() const { return rounded<T>(sum, unit); }
};

template <class Sum, class T>
void run_sum(Sum& sum, const T* input, T* output, std::size_t count, bool exclusive) {
  Sum local = sum;
  if (output == nullptr) {
    for (std::size_t i = 0; i < count; ++i) local.add(input[i]);
  } else if (exclusive) {
    for (std::size_t i = 0; i < count; ++i) {
      const T x = input[i];
      output[i] = local.value();
      local.add(x);
    }
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      local.add(input[i]);
      output[i] = local.value();
    }
  }
  sum = local;
}

// The exponents of the lowest bit and of the highest that elements have; zeros have none.
struct Range {
  int low = no_exponent;
  int high = -no_exponent;
  bool finite = true;
};

template <class T>
Range fields_of(const T* x, std::size_t count) {
  int least = no_exponent;
  int most = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = bits_of(x[i]);
    const int field = field_of(x[i]);
    const bool zero = (bits & ((std::uint64_t{1} << (8 * sizeof(T) - 1)) - 1)) == 0;
    least = std::min(least, zero ? no_exponent : field);
    most = std::max(most, field);
  }
  if (least == no_exponent) return {};
  return {Format<T>::lowest + std::max(least, 1) - 1, Format<T>::lowest + std::max(most, 1) + Format<T>::fraction,
          most != special_field<T>};
}

// The same, with zeros at the low end of numbers left out.
template <class T>
int lowest_bit_of(const T* x, std::size_t count) {
  int low = no_exponent;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t magnitude = magnitude_of(x[i]);
    if (magnitude != 0) low = std::min(low, exponent_of(x[i]) + std::countr_zero(magnitude));
  }
  return low;
}

}  // namespace

void PrefixSum::add(std::span<const std::int64_t> digits, bool nan, bool infinity, bool minus_infinity) noexcept {
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const auto bits = static_cast<std::uint64_t>(digits[i]);
    add_bits(digits[i] < 0 ? -bits : bits, lowest + 32 * static_cast<int>(i), digits[i] < 0);
  }
  nan_ = nan_ || nan;
  infinity_ = infinity_ || infinity;
  minus_infinity_ = minus_infinity_ || minus_infinity;
}

void PrefixSum::add_bits(std::uint64_t magnitude, int exponent, bool negative) noexcept {
  const UnsignedWide bits = static_cast<UnsignedWide>(magnitude) << ((exponent - lowest) % limb_bits);
  auto limb = static_cast<std::size_t>((exponent - lowest) / limb_bits);
  const std::uint64_t words[2] = {static_cast<std::uint64_t>(bits), static_cast<std::uint64_t>(bits >> limb_bits)};
  unsigned carry = 0;
  for (unsigned part = 0; limb < limbs && (part < 2 || carry != 0); ++part, ++limb) {
    const UnsignedWide word = UnsignedWide{part < 2 ? words[part] : 0} + carry;
    const UnsignedWide sum = negative ? limbs_[limb] - word : limbs_[limb] + word;
    limbs_[limb] = static_cast<std::uint64_t>(sum);
    carry = static_cast<unsigned>(sum >> limb_bits) & 1U;
  }
}

template <class T>
void PrefixSum::add(T x) noexcept {
  if (field_of(x) == special_field<T>) {
    const bool is_nan = (bits_of(x) & ((std::uint64_t{1} << Format<T>::fraction) - 1)) != 0;
    nan_ = nan_ || is_nan;
    infinity_ = infinity_ || (!is_nan && !is_negative(x));
    minus_infinity_ = minus_infinity_ || (!is_nan && is_negative(x));
    return;
  }
  const std::uint64_t magnitude = magnitude_of(x);
  if (magnitude == 0) return;
  add_bits(magnitude, exponent_of(x), is_negative(x));
}

int PrefixSum::lowest_bit() const noexcept {
  for (std::size_t i = 0; i < limbs; ++i) {
    if (limbs_[i] != 0) return lowest + limb_bits * static_cast<int>(i) + std::countr_zero(limbs_[i]);
  }
  return no_exponent;
}

bool PrefixSum::in_units(int exponent, int bits, Wide& value) const noexcept {
  const int shift = exponent - lowest;
  const auto first = static_cast<std::size_t>(shift / limb_bits);
  const int offset = shift % limb_bits;
  const auto limb = [&](std::size_t i) { return i < limbs ? limbs_[i] : fill(); };
  for (std::size_t i = first + 3; i < limbs; ++i) {
    if (limbs_[i] != fill()) return false;
  }
  UnsignedWide low = limb(first) | static_cast<UnsignedWide>(limb(first + 1)) << limb_bits;
  std::uint64_t high = limb(first + 2);
  if (offset != 0) {
    low = low >> offset | static_cast<UnsignedWide>(high) << (2 * limb_bits - offset);
    high = high >> offset | fill() << (limb_bits - offset);
  }
  value = static_cast<Wide>(low);
  return high == fill() && (value < 0) == (fill() != 0) && width_of(value < 0 ? ~low : low) < bits;
}

template <class T>
T PrefixSum::value() const noexcept {
  if (special()) {
    if (nan_ || (infinity_ && minus_infinity_)) {
      constexpr int quiet = Format<T>::fraction - 1;
      constexpr auto nan = (std::uint64_t{special_field<T>} << Format<T>::fraction) | std::uint64_t{1} << quiet;
      return std::bit_cast<T>(static_cast<typename Format<T>::Bits>(nan));
    }
    const double infinity = std::numeric_limits<double>::infinity();
    return of_number<T>(infinity_ ? infinity : -infinity);
  }
  std::size_t top = limbs - 1;
  while (top > 0 && limbs_[top] == fill()) --top;
  if (top == 0) {
    return rounded<T>(static_cast<Wide>(static_cast<UnsignedWide>(fill()) << limb_bits | limbs_[0]), lowest);
  }
  // The two highest limbs that say something, with the sign above them, and whether there is more below. A negative
  // number with more below is less negative than its upper part.
  const bool more = std::any_of(limbs_.begin(), limbs_.begin() + static_cast<std::ptrdiff_t>(top) - 1,
                                [](std::uint64_t limb) { return limb != 0; });
  const UnsignedWide window = static_cast<UnsignedWide>(limbs_[top]) << limb_bits | limbs_[top - 1];
  const bool negative = fill() != 0;
  const UnsignedWide magnitude = negative ? (more ? ~window : -window) : window;
  const int exponent = lowest + limb_bits * (static_cast<int>(top) - 1);
  // -window is 2^128 where all of it is zeros.
  if (negative && magnitude == 0) return rounded<T>(UnsignedWide{1}, exponent + 2 * limb_bits, false, true);
  return rounded<T>(magnitude, exponent, more, negative);
}

template <class T>
void PrefixSum::run_specials(const T* input, T* output, std::size_t count, bool exclusive) {
  for (std::size_t i = 0; i < count; ++i) {
    const T x = input[i];
    if (output != nullptr && exclusive) output[i] = value<T>();
    if (!special() || field_of(x) == special_field<T>) add(x);
    if (output != nullptr && !exclusive) output[i] = value<T>();
  }
}

template <class T>
void PrefixSum::run_block(const T* input, T* output, std::size_t count, bool exclusive) {
  Range range = fields_of(input, count);
  if (special() || !range.finite) return run_specials(input, output, count, exclusive);
  const int unit = lowest_bit();
  if (range.low > range.high) range.low = range.high = std::min(unit, 0);  // zeros alone
  Wide start = 0;
  const auto fits = [&](int low, int bits) {
    return range.high - low + block_bits < bits && in_units(low, bits, start);
  };
  int low = std::min(range.low, unit);
  bool narrow = fits(low, narrow_bits);
  if (!narrow) {
    low = std::min({lowest_bit_of(input, count), unit, range.high});
    narrow = fits(low, narrow_bits);
  }
  narrow = narrow && low >= -most_scale && low <= most_scale;
  Wide end = 0;
  if (narrow) {
    Narrow<T> sum{static_cast<std::int64_t>(start), power_of_two(-low), power_of_two(low)};
    run_sum(sum, input, output, count, exclusive);
    end = sum.sum;
  } else if (fits(low, wide_bits)) {
    Broad<T> sum{start, low};
    run_sum(sum, input, output, count, exclusive);
    end = sum.sum;
  } else {
    return run_specials(input, output, count, exclusive);
  }
  const Wide change = end - start;
  const bool negative = change < 0;
  const UnsignedWide amount = negative ? -static_cast<UnsignedWide>(change) : static_cast<UnsignedWide>(change);
  add_bits(static_cast<std::uint64_t>(amount), low, negative);
  if (const auto upper = static_cast<std::uint64_t>(amount >> limb_bits); upper != 0) {
    add_bits(upper, low + limb_bits, negative);
  }
}

template <class T>
void PrefixSum::run(const T* input, T* output, std::uint64_t count, bool exclusive) {
  for (std::uint64_t first = 0; first < count; first += block_elements) {
    run_block(input + first, output == nullptr ? nullptr : output + first,
              std::min<std::uint64_t>(block_elements, count - first), exclusive);
  }
}

void PrefixSum::merge(const PrefixSum& later) noexcept {
  unsigned carry = 0;
  for (std::size_t i = 0; i < limbs; ++i) {
    const UnsignedWide sum = UnsignedWide{limbs_[i]} + later.limbs_[i] + carry;
    limbs_[i] = static_cast<std::uint64_t>(sum);
    carry = static_cast<unsigned>(sum >> limb_bits);
  }
  nan_ = nan_ || later.nan_;
  infinity_ = infinity_ || later.infinity_;
  minus_infinity_ = minus_infinity_ || later.minus_infinity_;
}

template void PrefixSum::run<Half>(const Half*, Half*, std::uint64_t, bool);
template void PrefixSum::run<float>(const float*, float*, std::uint64_t, bool);
template void PrefixSum::run<double>(const double*, double*, std::uint64_t, bool);

}  // namespace masu
