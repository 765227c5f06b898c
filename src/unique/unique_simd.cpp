// SPDX-License-Identifier: Apache-2.0
#include "unique/unique_cpu.h"

#include "elements/order.h"

#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unique/unique_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace masu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t word_bits = 64;

// Which lanes of a and b hold different values. T: the type whose bits the lanes are.
template <class T, class D, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> Differ(D d, V a, V b) {
  const auto unequal = hn::Ne(a, b);
  if constexpr (infinity_bits<T> == 0) {
    return unequal;
  } else {
    if (hn::AllFalse(d, unequal)) return unequal;  // within a run
    using Bits = hn::TFromD<D>;
    const auto magnitude = hn::Set(d, static_cast<Bits>(static_cast<Bits>(~Bits{0}) >> 1));
    const auto zeros = hn::Eq(hn::And(hn::Or(a, b), magnitude), hn::Zero(d));
    // Magnitudes are the same as signed numbers, which compare faster.
    const hn::RebindToSigned<D> ds;
    const auto infinity = hn::Set(ds, static_cast<std::make_signed_t<Bits>>(infinity_bits<T>));
    const auto a_nan = hn::Gt(hn::BitCast(ds, hn::And(a, magnitude)), infinity);
    const auto b_nan = hn::Gt(hn::BitCast(ds, hn::And(b, magnitude)), infinity);
    const auto nans = hn::RebindMask(d, hn::And(a_nan, b_nan));
    return hn::AndNot(hn::Or(zeros, nans), unequal);
  }
}

// The bytes of whole words of the mask; every element has one before it.
template <class T, class Bits = UnsignedOf<sizeof(T)>>
void MarkWords(const Bits* elements, std::size_t words, std::uint8_t* mask) {
  const hn::CappedTag<Bits, word_bits> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto flags = [&](const Bits* at) HWY_ATTR { return Differ<T>(d, hn::LoadU(d, at), hn::LoadU(d, at - 1)); };
  if (lanes >= 8) {
    for (std::size_t i = 0; i < words * word_bits; i += lanes) hn::StoreMaskBits(d, flags(elements + i), mask + i / 8);
    return;
  }
  for (std::size_t i = 0; i < words * word_bits; i += 8) {
    unsigned byte = 0;
    for (std::size_t j = 0; j < 8; j += lanes) {
      std::uint8_t bits[8] = {};
      hn::StoreMaskBits(d, flags(elements + i + j), bits);
      byte |= (bits[0] & ((1U << lanes) - 1)) << j;
    }
    mask[i / 8] = static_cast<std::uint8_t>(byte);
  }
}

void MarkWordsOf(Dtype dtype, const void* elements, std::size_t words, std::uint8_t* mask) {
  dispatch(dtype, [&]<class T>(TypeTag<T>) {
    MarkWords<T>(static_cast<const UnsignedOf<sizeof(T)>*>(elements), words, mask);
  });
}

}  // namespace
}  // namespace masu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu {

HWY_EXPORT(MarkWordsOf);

void mark_starts(Dtype dtype, const void* elements, std::uint64_t count, bool has_before, std::uint8_t* mask) {
  constexpr std::uint64_t word_bits = 64;
  const std::uint64_t whole = count / word_bits;
  // One by one: the first word where nothing is before it, and the last where it is not whole.
  const auto mark_singly = [&](std::uint64_t begin) {
    dispatch(dtype, [&]<class T>(TypeTag<T>) {
      using Bits = UnsignedOf<sizeof(T)>;
      const auto* bits = static_cast<const Bits*>(elements);
      const auto key = [](const Bits* at) { return ordered_key(std::bit_cast<T>(*at)); };
      std::memset(mask + begin / 8, 0, word_bits / 8);
      for (std::uint64_t i = begin; i < count && i < begin + word_bits; ++i) {
        const bool starts = (i == 0 && !has_before) || key(bits + i) != key(bits + i - 1);
        mask[i / 8] = static_cast<std::uint8_t>(mask[i / 8] | static_cast<unsigned>(starts) << (i % 8));
      }
    });
  };
  std::uint64_t first = 0;
  if (!has_before && count != 0) {
    mark_singly(0);
    first = 1;
  }
  if (first < whole) {
    HWY_DYNAMIC_DISPATCH(MarkWordsOf)
    (dtype, static_cast<const std::byte*>(elements) + first * word_bits * size_of(dtype), whole - first,
     mask + first * word_bits / 8);
  }
  if (whole * word_bits < count && whole >= first) mark_singly(whole * word_bits);
}

}  // namespace masu
#endif
