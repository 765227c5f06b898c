// SPDX-License-Identifier: Apache-2.0
#include "scan/scan_cpu.h"

#include "elements/stored_float.h"
#include "sum/sum_simd.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace masu {

namespace {

__extension__ using UnsignedWide = unsigned __int128;

constexpr int limb_bits = 64;

template <class T>
T of_number(double x) {
  if constexpr (std::is_same_v<T, Half>) {
    return rounded_to<Half>(x);
  } else {
    return static_cast<T>(x);
  }
}

// A sum as one fixed-point number in two's complement, from 2^-1088 to 2^1087: room for 2^48 numbers of any size.
class LongSum {
 public:
  explicit LongSum(fixed::Sum total);
  // As PrefixSum::run.
  template <class T>
  void run(const T* input, T* output, std::size_t count, bool exclusive);

 private:
  static constexpr std::size_t limbs = 34;
  static constexpr int lowest = fixed::Sum::lowest;  // exponent of the lowest bit

  void add_bits(std::uint64_t magnitude, int exponent, bool negative) noexcept;
  template <class T>
  void add(T x) noexcept;
  template <class T>
  [[nodiscard]] T value() const noexcept;
  // The value of all bits above the highest limb.
  [[nodiscard]] std::uint64_t fill() const noexcept { return -(limbs_.back() >> 63); }

  std::array<std::uint64_t, limbs> limbs_{};
  std::uint8_t specials_;
};

LongSum::LongSum(fixed::Sum total) : specials_(total.specials()) {
  std::array<std::int64_t, fixed::Sum::digits> digits{};
  total.add_to(digits);
  for (std::size_t i = 0; i < limbs; ++i) {
    limbs_[i] = static_cast<std::uint64_t>(digits[2 * i]) | static_cast<std::uint64_t>(digits[2 * i + 1]) << 32;
  }
}

void LongSum::add_bits(std::uint64_t magnitude, int exponent, bool negative) noexcept {
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
void LongSum::add(T x) noexcept {
  const cpu::Decoded number = cpu::decode(x);
  specials_ |= number.special;
  if (number.special == 0 && number.mantissa != 0) add_bits(number.mantissa, number.exponent, number.negative);
}

template <class T>
T LongSum::value() const noexcept {
  fixed::Part part;
  part.specials = specials_;
  if (specials_ != 0) return of_number<T>(fixed::sum_of(part, dtype_of<T>));
  std::size_t top = limbs - 1;
  while (top > 1 && limbs_[top] == fill()) --top;
  // The two highest limbs that say something, with the sign above them, and whether there is more below. A negative
  // number with more below is less negative than its upper part.
  const bool more = std::any_of(limbs_.begin(), limbs_.begin() + static_cast<std::ptrdiff_t>(top) - 1,
                                [](std::uint64_t limb) { return limb != 0; });
  const UnsignedWide window = static_cast<UnsignedWide>(limbs_[top]) << limb_bits | limbs_[top - 1];
  const bool negative = fill() != 0;
  UnsignedWide magnitude = negative ? (more ? ~window : -window) : window;
  int exponent = lowest + limb_bits * (static_cast<int>(top) - 1);
  // -window is 2^128 where all of it is zeros.
  if (negative && magnitude == 0 && !more) {
    magnitude = 1;
    exponent += 2 * limb_bits;
  }
  fixed::Magnitude number(static_cast<std::uint64_t>(magnitude), static_cast<std::uint64_t>(magnitude >> limb_bits),
                          exponent);
  number.negative = negative;
  return of_number<T>(fixed::rounded(number, more, dtype_of<T>));
}

template <class T>
void LongSum::run(const T* input, T* output, std::size_t count, bool exclusive) {
  for (std::size_t i = 0; i < count; ++i) {
    const T x = input[i];
    if (exclusive) output[i] = value<T>();
    add(x);
    if (!exclusive) output[i] = value<T>();
  }
}

// Nothing where the sum is not finite.
std::optional<cpu::NearSum> near_of(fixed::Sum total) {
  if (total.specials() != 0) return std::nullopt;
  double parts[3];
  for (double& part : parts) {
    part = fixed::sum_of(fixed::Part(total), Dtype::f64);
    if (!std::isfinite(part)) return std::nullopt;
    total.add(-part);
  }
  return cpu::NearSum{parts[0], parts[1], 2 * std::abs(parts[2])};
}

}  // namespace

// The exact total is made up for only where it is needed: after the last element, where no bound proves a prefix, and
// before elements that are overwritten.
template <class T>
void PrefixSum::run(const T* input, T* output, std::uint64_t count, bool exclusive, bool last) {
  if (output == nullptr) {
    cpu::add_values(input, count, total_);
    near_.reset();
    return;
  }
  const bool in_place = input == output;
  const T* missing = input;  // the first element that the total lacks
  const auto add_until = [&](const T* end) {
    cpu::add_values(missing, static_cast<std::uint64_t>(end - missing), total_);
    missing = end;
  };
  std::array<T, cpu::quick_prefix_elements> kept;
  for (std::uint64_t first = 0; first < count; first += cpu::quick_prefix_elements) {
    const std::size_t n = std::min<std::uint64_t>(cpu::quick_prefix_elements, count - first);
    const T* x = input + first;
    T* const y = output + first;
    if (in_place) {
      std::copy_n(x, n, kept.begin());
      x = missing = kept.data();
    }
    if (!near_) near_ = near_of(total_);
    if (!near_ || !cpu::quick_prefixes(x, y, n, exclusive, *near_)) {
      add_until(x);
      LongSum(total_).run(x, y, n, exclusive);
      add_until(x + n);
      near_.reset();
    }
    if (in_place) add_until(x + n);
  }
  if (!last && !in_place) add_until(input + count);
}

void PrefixSum::add(std::span<const std::int64_t> digits, bool nan, bool infinity, bool minus_infinity) {
  for (std::size_t i = 0; i < digits.size(); ++i) {
    total_.add(digits[i], fixed::Sum::lowest + fixed::digit_bits * static_cast<int>(i));
  }
  total_.note(static_cast<std::uint8_t>((nan ? fixed::has_nan : 0) | (infinity ? fixed::has_infinity : 0) |
                                        (minus_infinity ? fixed::has_minus_infinity : 0)));
  near_.reset();
}

void PrefixSum::merge(const PrefixSum& later) {
  total_.merge(later.total_);
  near_.reset();
}

template void PrefixSum::run<Half>(const Half*, Half*, std::uint64_t, bool, bool);
template void PrefixSum::run<float>(const float*, float*, std::uint64_t, bool, bool);
template void PrefixSum::run<double>(const double*, double*, std::uint64_t, bool, bool);

template <class T>
void run_lines(const T* x, T* y, std::uint64_t outer, std::uint64_t length, std::uint64_t inner, bool exclusive) {
  constexpr std::uint64_t side = cpu::quick_prefix_lines;
  constexpr std::uint64_t fewest = side / 2;
  const bool in_place = x == y;
  std::vector<T> line(inner == 1 ? 0 : 2 * length);
  const auto each = [&](std::uint64_t first, std::uint64_t lines, std::uint64_t next) {
    for (std::uint64_t i = 0; i < lines; ++i) {
      const T* from = x + first + i * next;
      T* to = y + first + i * next;
      if (inner == 1) {
        cpu::NearSum start;
        const bool quick =
            length <= cpu::quick_prefix_elements && cpu::quick_prefixes(from, to, length, exclusive, start);
        if (!quick) PrefixSum().run(from, to, length, exclusive, true);
        continue;
      }
      for (std::uint64_t k = 0; k < length; ++k) line[k] = from[k * inner];
      PrefixSum().run(line.data(), line.data() + length, length, exclusive, true);
      for (std::uint64_t k = 0; k < length; ++k) to[k * inner] = line[length + k];
    }
  };
  // Neighbours side by side: rows, or the columns of each of `outer` matrices.
  const std::uint64_t neighbours = inner == 1 ? outer : inner;
  const std::uint64_t next = inner == 1 ? length : 1;
  for (std::uint64_t begin = 0; begin < outer * length * inner; begin += neighbours * length) {
    for (std::uint64_t i = 0; i < neighbours; i += side) {
      // Elsewhere some of the last lines may be scanned twice.
      const std::uint64_t lines = std::min(side, in_place ? neighbours - i : neighbours);
      const std::uint64_t first = begin + std::min(i, neighbours - lines) * next;
      bool quick = false;
      if constexpr (!std::is_same_v<T, Half>) {
        quick = !in_place && lines >= fewest &&
                cpu::quick_lines(x + first, y + first, {lines, length, inner, next}, exclusive);
      }
      if (!quick) each(first, lines, next);
    }
  }
}

template void run_lines<Half>(const Half*, Half*, std::uint64_t, std::uint64_t, std::uint64_t, bool);
template void run_lines<float>(const float*, float*, std::uint64_t, std::uint64_t, std::uint64_t, bool);
template void run_lines<double>(const double*, double*, std::uint64_t, std::uint64_t, std::uint64_t, bool);

void running_sums(const ArrayView& x, void* sums, std::uint64_t outer, std::uint64_t length, std::uint64_t inner) {
  const FloatingPointScope usual;
  const auto run = [&]<class T>(const T* from) { run_lines(from, static_cast<T*>(sums), outer, length, inner, false); };
  if (x.dtype == Dtype::f16) run(static_cast<const Half*>(x.data));
  else if (x.dtype == Dtype::f32) run(static_cast<const float*>(x.data));
  else run(static_cast<const double*>(x.data));
}

}  // namespace masu
