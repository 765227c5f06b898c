// SPDX-License-Identifier: Apache-2.0
// Sums of doubles, or of products of two, whatever their exponents: mantissas are added as integers, those of one sign
// and exponent in one place. Elements come in chunks; a chunk that has a number which is not finite is told.
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

constexpr int fraction_bits = 52;
constexpr std::uint64_t fraction_mask = (std::uint64_t{1} << fraction_bits) - 1;
constexpr std::uint64_t field_mask = 2047;
constexpr std::uint64_t infinite = field_mask;

// So many mantissas of 53 bits, and 32 bits more, fit 64.
constexpr std::size_t bin_chunk = 2040;

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

// Sums of 64 bits, whose upper halves go to other ones after each chunk.
class DoubleBins {
 public:
  // False where one of at most bin_chunk elements is not finite.
  template <class Source>
  bool Add(const Source& source, std::size_t count) {
    std::uint64_t* HWY_RESTRICT low = sums_->low;
    std::uint64_t* HWY_RESTRICT high = sums_->high;
    for (std::size_t i = 0; i < count; ++i) {
      const auto bits = std::bit_cast<std::uint64_t>(source.Number(i));
      const std::uint64_t bin = bits >> fraction_bits;
      const std::uint64_t normal = (bin & field_mask) != 0 ? 1 : 0;
      low[bin] += (bits & fraction_mask) | normal << fraction_bits;
    }
    const bool finite = low[infinite] == 0 && low[bins / 2 + infinite] == 0;
    low[infinite] = low[bins / 2 + infinite] = 0;
    for (std::size_t bin = 0; bin < bins; ++bin) {
      high[bin] += low[bin] >> fixed::digit_bits;
      low[bin] &= fixed::digit_mask;
    }
    return finite;
  }
  template <class Total>
  void Give(Total& total) {
    for (std::size_t bin = 0; bin < bins; ++bin) {
      if ((sums_->low[bin] | sums_->high[bin]) == 0) continue;
      const auto field = static_cast<int>(bin % (bins / 2));
      const int exponent = std::max(field, 1) - 1 - 1074;
      total.add(sums_->low[bin], exponent, bin >= bins / 2);
      total.add(sums_->high[bin], exponent + fixed::digit_bits, bin >= bins / 2);
    }
    *sums_ = Sums();
  }

 private:
  static constexpr std::size_t bins = 4096;
  struct Sums {
    std::uint64_t low[bins] = {};
    std::uint64_t high[bins] = {};
  };
  std::unique_ptr<Sums> sums_ = std::make_unique<Sums>();
};

// Products of 106 bits in three parts, of 32, 32 and 42 bits.
class ProductBins {
 public:
  template <class Source>
  bool Add(const Source& source, std::size_t count) {
    if (!source.AreFinite(count)) return false;
    Sums& sums = *sums_;
    for (std::size_t i = 0; i < count; ++i) {
      const DoubleParts a(source.x[i]);
      const DoubleParts b(source.y[i]);
      const fixed::Wide product = static_cast<fixed::Wide>(a.mantissa) * b.mantissa;
      const auto low = static_cast<std::uint64_t>(product);
      const std::uint64_t bin = (a.place + b.place) << 1 | (a.negative ^ b.negative);
      sums.parts[0][bin] += low & fixed::digit_mask;
      sums.parts[1][bin] += low >> fixed::digit_bits;
      sums.parts[2][bin] += static_cast<std::uint64_t>(product >> 64);
    }
    return true;
  }
  template <class Total>
  void Give(Total& total) {
    for (std::size_t bin = 0; bin < bins; ++bin) {
      for (int part = 0; part < 3; ++part) {
        std::uint64_t& sum = sums_->parts[part][bin];
        if (sum == 0) continue;
        total.add(sum, static_cast<int>(bin / 2) + fixed::digit_bits * part - 2148, bin % 2 != 0);
        sum = 0;
      }
    }
  }

 private:
  static constexpr std::size_t bins = 2 * 4093;
  struct Sums {
    std::uint64_t parts[3][bins] = {};
  };
  std::unique_ptr<Sums> sums_ = std::make_unique<Sums>();
};

// Chunks before a part of 42 bits could overflow.
constexpr std::size_t chunks_before_give = 1024;

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
