// SPDX-License-Identifier: Apache-2.0
// Sums of doubles, or of products of two, whatever their exponents: mantissas are added as integers, those of one sign
// and exponent in one place. Elements come in chunks; a chunk with a number that is not finite is reported.
#if defined(MASU_SUM_BINS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MASU_SUM_BINS_INL_H
#undef MASU_SUM_BINS_INL_H
#else
#define MASU_SUM_BINS_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

inline constexpr int fraction_bits = 52;
inline constexpr std::uint64_t fraction_mask = (std::uint64_t{1} << fraction_bits) - 1;
inline constexpr std::uint64_t field_mask = 2047;

// So many mantissas of 53 bits, and 32 bits more, fit 64.
inline constexpr std::size_t bin_chunk = 2040;

struct DoubleParts {
  std::uint64_t mantissa;
  std::uint64_t place;  // of a subnormal number as of the smallest normal one: 0
  std::uint64_t negative;
  HWY_INLINE explicit DoubleParts(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const std::uint64_t field = bits >> fraction_bits & field_mask;
    const std::uint64_t normal = field != 0 ? 1 : 0;
    mantissa = (bits & fraction_mask) | normal << fraction_bits;
    place = field - normal;
    negative = bits >> 63;
  }
};

// Sums of 64 bits, one for each sign and exponent's field. For mantissas of f32 they hold more than ever comes; of
// those of f64 the upper halves go to other ones after each chunk.
template <class T>
class NumberBins {
 public:
  // False where one of at most bin_chunk elements is not finite.
  template <class Source>
  bool Add(const Source& source, std::size_t count) {
    std::uint64_t* HWY_RESTRICT low = sums_->low;
    for (std::size_t i = 0; i < count; ++i) {
      const auto bits = std::bit_cast<Bits>(static_cast<T>(source.Number(i)));
      const Bits bin = bits >> fraction;
      const Bits normal = (bin & top) != 0 ? 1 : 0;
      low[bin] += (bits & ((Bits{1} << fraction) - 1)) | normal << fraction;
    }
    const bool finite = low[top] == 0 && low[bins / 2 + top] == 0;
    low[top] = low[bins / 2 + top] = 0;
    if constexpr (splits) {
      std::uint64_t* HWY_RESTRICT high = sums_->high;
      for (std::size_t bin = 0; bin < bins; ++bin) {
        high[bin] += low[bin] >> fixed::digit_bits;
        low[bin] &= fixed::digit_mask;
      }
    }
    return finite;
  }
  template <class Total>
  void Give(Total& total) {
    for (std::size_t bin = 0; bin < bins; ++bin) {
      const int exponent = std::max(static_cast<int>(bin % (bins / 2)), 1) - 1 + float_format(dtype_of<T>).least;
      const auto give = [&](std::uint64_t sum, int more) {
        if (sum != 0) total.add(sum, exponent + more, bin >= bins / 2);
      };
      give(sums_->low[bin], 0);
      if constexpr (splits) give(sums_->high[bin], fixed::digit_bits);
    }
    *sums_ = Sums();
  }

 private:
  using Bits = UnsignedOf<sizeof(T)>;
  static constexpr int fraction = std::numeric_limits<T>::digits - 1;
  static constexpr std::size_t bins = std::size_t{1} << (8 * sizeof(T) - fraction);
  static constexpr Bits top = bins / 2 - 1;  // the field of what is not finite
  static constexpr bool splits = sizeof(T) == sizeof(double);
  struct Sums {
    std::uint64_t low[bins] = {};
    std::uint64_t high[splits ? bins : 1] = {};
  };
  std::unique_ptr<Sums> sums_ = std::make_unique<Sums>();
};

// Products of 106 bits, shifted by the low bits of their place, in four parts of 32 bits: there are so few sums of 64
// bits that they stay in the first cache.
class ProductBins {
 public:
  template <class Source>
  bool Add(const Source& source, std::size_t count) {
    if (!source.AreFinite(count)) return false;
    for (std::size_t i = 0; i < count; ++i) {
      const DoubleParts a(source.x[i]);
      const DoubleParts b(source.y[i]);
      const std::uint64_t place = a.place + b.place;
      const fixed::Wide product = static_cast<fixed::Wide>(a.mantissa) * b.mantissa << (place & (spacing - 1));
      const auto low = static_cast<std::uint64_t>(product);
      const auto high = static_cast<std::uint64_t>(product >> 64);
      std::uint64_t* sums = sums_[a.negative ^ b.negative] + place / spacing;
      sums[0] += low & fixed::digit_mask;
      sums[2] += low >> fixed::digit_bits;
      sums[4] += high & fixed::digit_mask;
      sums[6] += high >> fixed::digit_bits;
    }
    return true;
  }
  template <class Total>
  void Give(Total& total) {
    for (std::size_t sign = 0; sign < 2; ++sign) {
      for (std::size_t row = 0; row < rows; ++row) {
        const int exponent = static_cast<int>(row * spacing) - 2148;
        if (sums_[sign][row] != 0) total.add(sums_[sign][row], exponent, sign != 0);
        sums_[sign][row] = 0;
      }
    }
  }

 private:
  static constexpr std::uint64_t spacing = 16;
  static constexpr std::size_t rows = 4092 / spacing + 7;
  std::uint64_t sums_[2][rows] = {};
};

// Chunks before a sum could overflow.
inline constexpr std::size_t chunks_before_give = 1024;

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
