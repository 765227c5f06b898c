// SPDX-License-Identifier: Apache-2.0
// Exact running sums of floats: mostly rounded from doubles, the others from one long number.
#include "scan/scan_plan.h"

#include "elements/elements.h"
#include "runtime/half.h"
#include "sum/compensated.h"
#include "sum/sum_quick.h"
#include "sum/sum_simd.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scan/prefix_sum.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using PD = hn::CappedTag<double, 8>;
using PV = hn::Vec<PD>;

// Of a block: sums in front of each element and behind the last, what the additions have lost, and that added up. The
// elements begin in place of `errors`, the results end in place of `lost`.
struct Prefixes {
  static constexpr std::size_t size = quick_prefix_elements + 1 + HWY_MAX_BYTES / sizeof(double);
  HWY_ALIGN double sums[size];
  HWY_ALIGN double errors[size];
  HWY_ALIGN double lost[size];
};

// Far from what overflows.
template <class T>
inline constexpr double most_sum = std::is_same_v<T, double> ? 0x1p1020 : 0x1p120;

// What the rounded sum of two numbers lacks, exactly.
HWY_INLINE PV Lost(PV a, PV b, PV sum) {
  const PV part = hn::Sub(sum, a);
  return hn::Add(hn::Sub(a, hn::Sub(sum, part)), hn::Sub(b, part));
}

// Numbers that are halves, or at least 2^16, as halves.
HWY_INLINE void ToHalves(const double* x, std::size_t count, Half* y) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = static_cast<float>(x[i]);
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(std::fabs(number) * 0x1p-112F) >> 13;
    const std::uint32_t sign = std::bit_cast<std::uint32_t>(number) >> 16 & 0x8000U;
    y[i].bits = static_cast<std::uint16_t>(std::min(magnitude, std::uint32_t{0x7c00}) | sign);
  }
}
// To a whole number of the unit that halves of this size have.
HWY_INLINE PV RoundedToHalf(PV x) {
  const PD d;
  const PV power = hn::And(x, hn::BitCast(d, hn::Set(hn::RebindToUnsigned<PD>(), 0x7ff0000000000000)));
  const PV cut = hn::Mul(hn::Max(hn::Mul(power, hn::Set(d, 0x1p-10)), hn::Set(d, 0x1p-24)), hn::Set(d, 0x1.8p52));
  return hn::Sub(hn::Add(x, cut), cut);
}
template <class T>
HWY_INLINE PV RoundedTo(PV x) {
  if constexpr (std::is_same_v<T, Half>) {
    return RoundedToHalf(x);
  } else if constexpr (std::is_same_v<T, double>) {
    return x;
  } else {
    return hn::PromoteTo(PD(), hn::DemoteTo(hn::Rebind<T, PD>(), x));
  }
}

// The sums sum + error + d, |d| <= bound, rounded to T; `sure` stays where that is certain. As certain() has it, for
// `bound` > 0 or 0 alike.
template <class T>
HWY_INLINE PV Rounded(PV sum, PV error, PV bound, hn::Mask<PD>& sure) {
  const PD d;
  const PV zero = hn::Zero(d);
  const PV total = hn::Add(sum, error);
  const PV rest = Lost(sum, error, total);
  if constexpr (std::is_same_v<T, double>) {
    const PV wide = hn::Add(bound, hn::Mul(hn::Add(hn::Abs(rest), bound), hn::Set(d, 0x1p-50)));
    const auto same =
        hn::And(hn::Eq(hn::Add(total, hn::Add(rest, wide)), total), hn::Eq(hn::Add(total, hn::Sub(rest, wide)), total));
    sure = hn::And(sure, hn::Or(same, hn::Eq(bound, zero)));
    return hn::Add(total, zero);
  } else {
    const PV wide = hn::Add(hn::Add(hn::Mul(hn::Add(bound, hn::Abs(rest)), hn::Set(d, 1 + 0x1p-50)),
                                    hn::Mul(hn::Abs(total), hn::Set(d, 0x1p-51))),
                            hn::Set(d, 0x1p-1070));
    const auto exact = hn::And(hn::Eq(bound, zero), hn::Eq(rest, zero));
    const PV low = RoundedTo<T>(hn::IfThenElse(exact, total, hn::Sub(total, wide)));
    const PV high = RoundedTo<T>(hn::Add(total, wide));
    sure = hn::And(sure, hn::Or(exact, hn::And(hn::Eq(low, high), hn::Ne(low, zero))));
    return hn::Add(low, zero);
  }
}

template <class T>
bool QuickPrefixes(const T* x, T* y, std::size_t count, bool exclusive, NearSum& state) {
  const PD d;
  const std::size_t lanes = hn::Lanes(d);
  const PV zero = hn::Zero(d);
  Prefixes at;
  double sum = state.sum;
  double error = add_exactly(sum, state.error);
  at.sums[0] = sum;
  const auto run = [&](const auto* from) HWY_ATTR {
    for (std::size_t i = 0; i < count; ++i) {
      at.errors[i] = static_cast<double>(from[i]);
      sum += at.errors[i];
      at.sums[i + 1] = sum;
    }
  };
  if constexpr (std::is_same_v<T, Half>) {
    float floats[quick_prefix_elements];
    for (std::size_t i = 0; i < count; ++i) floats[i] = runtime::to_float(x[i]);
    run(floats);
  } else {
    run(x);
  }
  for (std::size_t i = count; i < count + lanes; ++i) {  // so that vectors may be whole
    at.errors[i] = 0;
    at.sums[i + 1] = sum;
  }

  // What the additions have lost.
  auto none = hn::Eq(zero, zero);
  auto inside = none;
  const PV largest = hn::Set(d, most_sum<T>);
  for (std::size_t i = 0; i < count; i += lanes) {
    const PV after = hn::LoadU(d, at.sums + i + 1);
    const PV lost = Lost(hn::Load(d, at.sums + i), hn::Load(d, at.errors + i), after);
    hn::Store(lost, d, at.lost + i);
    none = hn::And(none, hn::Eq(lost, zero));
    inside = hn::And(inside, hn::Le(hn::Abs(after), largest));
  }
  if (!hn::AllTrue(d, inside)) return false;
  double bound = state.bound;
  const bool exact = hn::AllTrue(d, none) && error == 0 && bound == 0;
  if (hn::AllTrue(d, none)) {
    std::fill_n(at.errors, count + 1 + lanes, error);
  } else {
    at.errors[0] = error;
    for (std::size_t i = 0; i < count; ++i) at.errors[i + 1] = error += at.lost[i];
    std::fill_n(at.errors + count + 1, lanes, error);
    PV lost = zero;  // by the additions of errors
    for (std::size_t i = 0; i < count; i += lanes) {
      const PV before = hn::Load(d, at.errors + i);
      lost = hn::Add(lost, hn::Abs(Lost(before, hn::Load(d, at.lost + i), hn::LoadU(d, at.errors + i + 1))));
    }
    // Twice, as their sum is rounded itself.
    const double unknown = hn::GetLane(hn::SumOfLanes(d, lost));
    if (unknown != 0) bound += 2 * unknown + 0x1p-1074;
  }

  auto sure = inside;
  const PV bounds = hn::Set(d, bound);
  const std::size_t first = exclusive ? 0 : 1;
  for (std::size_t i = 0; i < count; i += lanes) {
    const PV sums = hn::LoadU(d, at.sums + first + i);
    const PV errors = hn::LoadU(d, at.errors + first + i);
    hn::Store(exact ? RoundedTo<T>(sums) : Rounded<T>(sums, errors, bounds, sure), d, at.lost + i);
  }
  if (!hn::AllTrue(d, sure)) return false;
  if constexpr (std::is_same_v<T, Half>) {
    ToHalves(at.lost, count, y);
  } else {
    std::copy_n(at.lost, count, y);
  }
  state = {sum, error, bound};
  return true;
}

#define MASU_QUICK_PREFIXES(name, T)                                                              \
  bool QuickPrefixes##name(const T* x, T* y, std::size_t count, bool exclusive, NearSum& state) { \
    return QuickPrefixes(x, y, count, exclusive, state);                                          \
  }
MASU_EACH_FLOAT(MASU_QUICK_PREFIXES)
#undef MASU_QUICK_PREFIXES

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

#define MASU_QUICK_PREFIXES(name, T)                                                         \
  HWY_EXPORT(QuickPrefixes##name);                                                           \
  bool quick_prefixes(const T* x, T* y, std::size_t count, bool exclusive, NearSum& state) { \
    return HWY_DYNAMIC_DISPATCH(QuickPrefixes##name)(x, y, count, exclusive, state);         \
  }
MASU_EACH_FLOAT(MASU_QUICK_PREFIXES)
#undef MASU_QUICK_PREFIXES

}  // namespace masu::cpu

namespace masu {

namespace {

__extension__ using UnsignedWide = unsigned __int128;

constexpr int limb_bits = 64;

template <class T>
T of_number(double x) {
  if constexpr (std::is_same_v<T, Half>) {
    return runtime::to_half(x);
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
  // Of all bits above the highest limb.
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

template <class T>
void PrefixSum::run(const T* input, T* output, std::uint64_t count, bool exclusive, bool last) {
  if (output == nullptr) {
    cpu::add_values(input, count, total_);
    near_.reset();
    return;
  }
  const bool quick = cpu::quick_arithmetic();
  for (std::uint64_t first = 0; first < count; first += cpu::quick_prefix_elements) {
    const T* const x = input + first;
    T* const y = output + first;
    const std::size_t n = std::min<std::uint64_t>(cpu::quick_prefix_elements, count - first);
    const bool ends = last && first + n == count;
    std::optional<fixed::Sum> before;
    if (!ends) {
      before = total_;
      cpu::add_values(x, n, total_);  // now, as y may be x
    }
    const fixed::Sum& in_front = before ? *before : total_;
    if (quick && !near_) near_ = near_of(in_front);
    if (quick && near_ && cpu::quick_prefixes(x, y, n, exclusive, *near_)) continue;
    near_.reset();
    LongSum(in_front).run(x, y, n, exclusive);
  }
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

}  // namespace masu
#endif
