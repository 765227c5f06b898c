// SPDX-License-Identifier: Apache-2.0
#include "io/sources.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "io/generator_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace masu::io::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<std::uint64_t, words_excess>;
using V = hn::Vec<D>;

// Highway 1.0.3 multiplies 64-bit lanes by three products of halves everywhere.
HWY_INLINE V Product(V a, V b) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return V{_mm512_mullo_epi64(a.raw, b.raw)};
#else
  return hn::Mul(a, b);
#endif
}

// The upper halves of the products.
HWY_INLINE V HighProduct(D d, V a, V b) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(d, scale(hn::GetLane(a), hn::GetLane(b)));
#else
  const hn::Repartition<std::uint32_t, D> halves;
  const V low = hn::Set(d, 0xffffffffU);
  const auto product = [&](V x, V y) { return hn::MulEven(hn::BitCast(halves, x), hn::BitCast(halves, y)); };
  const V ah = hn::ShiftRight<32>(a);
  const V bh = hn::ShiftRight<32>(b);
  const V middle = hn::Add(product(ah, b), hn::ShiftRight<32>(product(a, b)));
  const V other = hn::Add(product(a, bh), hn::And(middle, low));
  return hn::Add(product(ah, bh), hn::Add(hn::ShiftRight<32>(middle), hn::ShiftRight<32>(other)));
#endif
}

HWY_INLINE V Mixed(D d, V z) {
  z = Product(hn::Xor(z, hn::ShiftRight<30>(z)), hn::Set(d, mix_first));
  z = Product(hn::Xor(z, hn::ShiftRight<27>(z)), hn::Set(d, mix_second));
  return hn::Xor(z, hn::ShiftRight<31>(z));
}

// The arguments of mix for word(k), word(k + stride), … .
HWY_INLINE V Arguments(D d, std::uint64_t base, std::uint64_t k, std::uint64_t stride) {
  return hn::Add(hn::Set(d, base + (k + 1) * word_step), Product(hn::Iota(d, 0), hn::Set(d, stride * word_step)));
}

void WriteWords(std::uint64_t base, std::uint64_t first, std::uint64_t count, std::uint64_t* out) {
  const D d;
  const std::uint64_t lanes = hn::Lanes(d);
  V argument = Arguments(d, base, first, 1);
  const V step = hn::Set(d, lanes * word_step);
  for (std::uint64_t i = 0; i < count; i += lanes) {
    hn::StoreU(Mixed(d, argument), d, out + i);
    argument = hn::Add(argument, step);
  }
}

// Two sums of two of the four 16-bit parts of a word, 32 bits apart.
HWY_INLINE V SumsOfParts(V word, V parts) {
  return hn::Add(hn::And(word, parts), hn::And(hn::ShiftRight<16>(word), parts));
}

void WriteBell(std::uint64_t base, std::uint64_t first, std::uint64_t count, std::uint64_t* out) {
  const D d;
  const std::uint64_t lanes = hn::Lanes(d);
  const V parts = hn::Set(d, 0x0000ffff0000ffffU);
  const V low = hn::Set(d, 0xffffffffU);
  const V unit = hn::Set(d, bell_unit);
  const V one = hn::Set(d, word_step);
  V argument = Arguments(d, base, 3 * first, 3);
  const V step = hn::Set(d, 3 * lanes * word_step);
  for (std::uint64_t i = 0; i < count; i += lanes) {
    const V a = Mixed(d, argument);
    const V b = Mixed(d, hn::Add(argument, one));
    const V c = Mixed(d, hn::Add(argument, hn::Add(one, one)));
    const V sums = hn::Add(SumsOfParts(a, parts), hn::Add(SumsOfParts(b, parts), SumsOfParts(c, parts)));
    const V sum = hn::Add(hn::ShiftRight<32>(sums), hn::And(sums, low));
    hn::StoreU(hn::Add(Product(sum, unit), HighProduct(d, Product(a, one), unit)), d, out + i);
    argument = hn::Add(argument, step);
  }
}

}  // namespace
}  // namespace masu::io::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::io {

HWY_EXPORT(WriteWords);
HWY_EXPORT(WriteBell);

void random_words(std::uint64_t base, std::uint64_t first, std::uint64_t count, std::uint64_t* out) {
  HWY_DYNAMIC_DISPATCH(WriteWords)(base, first, count, out);
}
void bell_fractions(std::uint64_t base, std::uint64_t first, std::uint64_t count, std::uint64_t* out) {
  HWY_DYNAMIC_DISPATCH(WriteBell)(base, first, count, out);
}

}  // namespace masu::io
#endif
