// SPDX-License-Identifier: Apache-2.0
// Sums and products of integers: plain loops that the compiler makes vectors of, over blocks in which nothing
// overflows.
#if defined(MASU_SUM_INTEGERS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MASU_SUM_INTEGERS_INL_H
#undef MASU_SUM_INTEGERS_INL_H
#else
#define MASU_SUM_INTEGERS_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

// A type that a product of two T fits.
template <class T>
using Twice =
    std::conditional_t<sizeof(T) == 1 || (sizeof(T) == 2 && std::is_signed_v<T>), std::int32_t,
                       std::conditional_t<sizeof(T) == 2, std::uint32_t,
                                          std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>>;

// Sums of this many fit: of bytes and their products 32 bits, of others 64.
inline constexpr std::uint64_t byte_block = std::uint64_t{1} << 15;
inline constexpr std::uint64_t block_of_others = std::uint64_t{1} << 20;

template <class T, class At, class Total>
HWY_INLINE void AddNarrow(std::uint64_t count, const At& at, Total& total) {
  constexpr std::uint64_t block = sizeof(T) == 1 ? byte_block : block_of_others;
  using Block = std::conditional_t<sizeof(T) == 1, std::int32_t, std::int64_t>;
  std::int64_t sum = 0;
  for (std::uint64_t first = 0; first < count; first += block) {
    const std::uint64_t end = std::min(count, first + block);
    Block part = 0;
    for (std::uint64_t i = first; i < end; ++i) part += static_cast<Block>(at(i));
    sum += part;
    if ((first / block & 1023U) == 1023U) {
      total.add(sum, 0);
      sum = 0;
    }
  }
  total.add(sum, 0);
}

// Words of 64 bits, as the sums of their halves. The high half of a signed one is made positive: AVX2 shifts only
// those.
template <class Word, class At, class Total>
HWY_INLINE void AddWords(std::uint64_t count, const At& at, Total& total) {
  constexpr std::uint64_t block = std::uint64_t{1} << 20;
  constexpr std::uint64_t sign = std::is_signed_v<Word> ? std::uint64_t{1} << 63 : 0;
  for (std::uint64_t first = 0; first < count; first += block) {
    const std::uint64_t end = std::min(count, first + block);
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    for (std::uint64_t i = first; i < end; ++i) {
      const auto word = static_cast<std::uint64_t>(at(i));
      low += word & fixed::digit_mask;
      high += (word ^ sign) >> fixed::digit_bits;
    }
    total.add(low, 0, false);
    total.add(static_cast<std::int64_t>(high - (end - first) * (sign >> fixed::digit_bits)), fixed::digit_bits);
  }
}

template <class T, class Total>
HWY_INLINE void AddIntegers(const T* HWY_RESTRICT x, std::uint64_t count, Total& total) {
  if constexpr (sizeof(T) < 8)
    AddNarrow<T>(
        count, [x](std::uint64_t i) HWY_ATTR { return x[i]; }, total);
  else
    AddWords<T>(
        count, [x](std::uint64_t i) HWY_ATTR { return x[i]; }, total);
}

template <class T, class Total>
HWY_INLINE void AddIntegerProducts(const T* x, const T* y, std::uint64_t count, Total& total) {
  using Product = Twice<T>;
  const auto at = [x, y](std::uint64_t i) HWY_ATTR { return static_cast<Product>(x[i]) * static_cast<Product>(y[i]); };
  if constexpr (sizeof(T) <= 2) {
    AddNarrow<T>(count, at, total);
  } else if constexpr (sizeof(T) == 4) {
    AddWords<Product>(count, at, total);
  } else {
    __extension__ using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    constexpr std::uint64_t block = std::uint64_t{1} << 20;
    for (std::uint64_t first = 0; first < count; first += block) {
      const std::uint64_t end = std::min(count, first + block);
      fixed::Wide low = 0;
      Wide high = 0;
      for (std::uint64_t i = first; i < end; ++i) {
        const Wide product = static_cast<Wide>(x[i]) * y[i];
        low += static_cast<std::uint64_t>(product);
        high += static_cast<Product>(product >> 64);
      }
      total.add(static_cast<std::uint64_t>(low), 0, false);
      total.add(static_cast<std::uint64_t>(low >> 64), 64, false);
      const bool negative = std::is_signed_v<T> && high < 0;
      const auto magnitude =
          negative ? fixed::Wide{0} - static_cast<fixed::Wide>(high) : static_cast<fixed::Wide>(high);
      total.add(static_cast<std::uint64_t>(magnitude), 64, negative);
      total.add(static_cast<std::uint64_t>(magnitude >> 64), 128, negative);
    }
  }
}

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
