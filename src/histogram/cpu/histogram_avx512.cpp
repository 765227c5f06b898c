// SPDX-License-Identifier: Apache-2.0
// Loops with AVX-512 for which Highway 1.0 has no or slower ways. Pairs of values are counted by a tree of steps in
// registers, f64 rounded down, and values packed by masks. Bytes are counted by their bits, 512 at a time, with
// VPOPCNTDQ, which Highway has no target for.
#include "histogram/cpu/histogram_simd.h"

#include <array>
#include <type_traits>

namespace masu::cpu {

void count_waiting(PairCounts& counts) {
  if (!counts.waits) return;
  for (const std::uint32_t place : counts.places[counts.last]) ++counts.counters[place];
  counts.waits = false;
}

}  // namespace masu::cpu

#if defined(__x86_64__)
#include <hwy/base.h>
#include <immintrin.h>

// GCC's own header starts from registers that are not set.
HWY_DIAGNOSTICS(push)
HWY_DIAGNOSTICS_OFF(disable : 4701, ignored "-Wuninitialized")
HWY_DIAGNOSTICS_OFF(disable : 4703, ignored "-Wmaybe-uninitialized")

// For the functions from here on only.
HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,bmi,bmi2,popcnt")

namespace masu::cpu {
namespace {

constexpr std::size_t values_at_once = 16;

HWY_INLINE void append_undecided(const float* values, unsigned bits, Undecided<float>& left) {
  _mm512_storeu_ps(left.values + left.count,
                   _mm512_maskz_compress_ps(static_cast<__mmask16>(bits), _mm512_loadu_ps(values)));
  left.count += static_cast<unsigned>(_mm_popcnt_u32(bits));
}
HWY_INLINE void append_undecided(const double* values, unsigned bits, Undecided<double>& left) {
  for (unsigned half = 0; half < 2; ++half) {
    const unsigned part = (bits >> (8 * half)) & 0xff;
    _mm512_storeu_pd(left.values + left.count,
                     _mm512_maskz_compress_pd(static_cast<__mmask8>(part), _mm512_loadu_pd(values + 8 * half)));
    left.count += static_cast<unsigned>(_mm_popcnt_u32(part));
  }
}

// 16 values as f32, rounded down: x >= e then needs round(x) >= round(e), and follows where e is not rounded or the two
// differ.
HWY_INLINE __m512 load_values(const float* values) {
  return _mm512_loadu_ps(values);
}
HWY_INLINE __m512 load_values(const double* values) {
  constexpr int down = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
  const __m256 low = _mm512_cvt_roundpd_ps(_mm512_loadu_pd(values), down);
  const __m256 high = _mm512_cvt_roundpd_ps(_mm512_loadu_pd(values + 8), down);
  return _mm512_castsi512_ps(
      _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_castps_si256(low)), _mm256_castps_si256(high), 1));
}

struct TreeRegisters {
  __m512 first[5];
  __m512 sixth[2];
  __m512 seventh[4];
};
HWY_INLINE TreeRegisters load_tree(const StepTree& tree) {
  TreeRegisters registers;
  for (unsigned i = 0; i < 5; ++i) registers.first[i] = _mm512_loadu_ps(tree.first[i]);
  for (unsigned i = 0; i < 2; ++i) registers.sixth[i] = _mm512_loadu_ps(tree.sixth + StepTree::lanes * i);
  for (unsigned i = 0; i < 4; ++i) registers.seventh[i] = _mm512_loadu_ps(tree.seventh + StepTree::lanes * i);
  return registers;
}
// `reached`: which values reach their step of the level before.
template <unsigned level>
HWY_INLINE __m512 steps_of_level(const TreeRegisters& tree, __m512i leaf, __mmask16 reached) {
  if constexpr (level == 0) return tree.first[0];
  if constexpr (level < 5) return _mm512_permutexvar_ps(leaf, tree.first[level]);
  if constexpr (level == 5) return _mm512_permutex2var_ps(tree.sixth[0], leaf, tree.sixth[1]);
  return _mm512_mask_mov_ps(_mm512_permutex2var_ps(tree.seventh[0], leaf, tree.seventh[1]), reached,
                            _mm512_permutex2var_ps(tree.seventh[2], leaf, tree.seventh[3]));
}

// Vectors go down the tree side by side: one alone would wait for every comparison.
constexpr unsigned abreast = 4;
struct Descent {
  __m512 value[abreast];
  __m512 step[abreast];  // the last step reached
  __m512i leaf[abreast];
  __mmask16 reached[abreast];
};
template <unsigned level, unsigned levels, bool exact>
HWY_INLINE void descend(const TreeRegisters& tree, Descent& to) {
  if constexpr (level < levels) {
    __m512 step[abreast];
    HWY_UNROLL(4)
    for (unsigned v = 0; v < abreast; ++v) step[v] = steps_of_level<level>(tree, to.leaf[v], to.reached[v]);
    HWY_UNROLL(4)
    for (unsigned v = 0; v < abreast; ++v) to.reached[v] = _mm512_cmp_ps_mask(to.value[v], step[v], _CMP_GE_OQ);
    const __m512i bit = _mm512_set1_epi32(1 << level);
    HWY_UNROLL(4)
    for (unsigned v = 0; v < abreast; ++v) {
      to.leaf[v] = _mm512_mask_add_epi32(to.leaf[v], to.reached[v], to.leaf[v], bit);
      if constexpr (!exact) to.step[v] = _mm512_mask_mov_ps(to.step[v], to.reached[v], step[v]);
    }
    descend<level + 1, levels, exact>(tree, to);
  }
}

// Four vectors of places; a pair is two values half a block apart.
template <unsigned levels, bool exact, class T>
HWY_INLINE void write_places(const T* block, const TreeRegisters& tree, std::uint32_t* places, Undecided<T>& left) {
  Descent to;
  HWY_UNROLL(4)
  for (unsigned v = 0; v < abreast; ++v) {
    to.value[v] = load_values(block + v / 2 * values_at_once + v % 2 * pairs_a_block);
    to.step[v] = _mm512_set1_ps(__builtin_nanf(""));
    to.leaf[v] = _mm512_setzero_si512();
    to.reached[v] = 0;
  }
  descend<0, levels, exact>(tree, to);
  unsigned any = _mm512_cmp_ps_mask(to.value[0], to.value[1], _CMP_UNORD_Q) |
                 _mm512_cmp_ps_mask(to.value[2], to.value[3], _CMP_UNORD_Q);
  __mmask16 lost[abreast] = {};
  if constexpr (!exact) {
    HWY_UNROLL(4)
    for (unsigned v = 0; v < abreast; ++v) {
      lost[v] = _mm512_cmp_ps_mask(to.value[v], to.step[v], _CMP_EQ_OQ);
      any |= lost[v];
    }
  }
  if (HWY_UNLIKELY(any != 0)) {
    for (unsigned v = 0; v < abreast; ++v) {
      lost[v] = static_cast<__mmask16>(lost[v] | _mm512_cmp_ps_mask(to.value[v], to.value[v], _CMP_UNORD_Q));
      append_undecided(block + v / 2 * values_at_once + v % 2 * pairs_a_block, lost[v], left);
      to.leaf[v] = _mm512_mask_mov_epi32(to.leaf[v], lost[v], _mm512_set1_epi32((1 << levels) - 1));
    }
  }
  // Neighbours have different counters where there are several.
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  constexpr unsigned copies = 1U << (StepTree::place_bits - 2 * levels);
  const __m512i copy = _mm512_slli_epi32(_mm512_and_si512(lanes, _mm512_set1_epi32(copies - 1)), 2 * levels);
  for (unsigned v = 0; v < abreast; v += 2) {
    const __m512i pair = _mm512_or_si512(_mm512_slli_epi32(to.leaf[v], levels), to.leaf[v + 1]);
    _mm512_store_si512(places + v / 2 * values_at_once, _mm512_or_si512(pair, copy));
  }
}

HWY_INLINE bool all_pairs_equal(const std::uint32_t* places, unsigned levels) {
  const std::uint32_t pairs = (1U << (2 * levels)) - 1;
  if (((places[0] ^ places[pairs_a_block - 1]) & pairs) != 0) return false;
  std::uint32_t other = 0;
  for (std::size_t i = 0; i < pairs_a_block; ++i) other |= places[0] ^ places[i];
  return (other & pairs) == 0;
}

// Pairs of two parts of the block take turns: runs of equal ones would wait for each other's sum.
constexpr std::size_t half_pairs = pairs_a_block / 2;
HWY_INLINE void count_places(const std::uint32_t* places, std::size_t count, std::uint16_t* counters) {
  for (std::size_t i = 0; i < count; ++i) {
    ++counters[places[i]];
    ++counters[places[half_pairs + i]];
  }
}

template <unsigned levels, bool exact, class T>
HWY_INLINE void count_pairs_of(const T* block, const StepTree& tree, PairCounts& counts, Undecided<T>& left) {
  constexpr std::size_t values = values_at_once * abreast;
  const TreeRegisters registers = load_tree(tree);
  Undecided<T> own = left;  // in registers
  const std::uint32_t* before = counts.places[counts.last];
  std::uint32_t* places = counts.places[1 - counts.last];
  std::uint16_t* const counters = counts.counters;
  const bool waits = counts.waits;
  for (std::size_t i = 0; i < pairs_a_block; i += values / 2) {
    prefetch_ahead(block + 2 * i, values);
    write_places<levels, exact>(block + i, registers, places + i, own);
    if (waits) count_places(before + i / 2, values / 4, counters);
  }
  left = own;
  counts.last = 1 - counts.last;
  counts.waits = !all_pairs_equal(places, levels);
  if (!counts.waits) counters[places[0]] = static_cast<std::uint16_t>(counters[places[0]] + pairs_a_block);
}
template <bool exact, class T>
HWY_INLINE void count_pairs_by_levels(const T* block, const StepTree& tree, PairCounts& counts, Undecided<T>& left) {
  if (tree.levels == 5) return count_pairs_of<5, exact>(block, tree, counts, left);
  if (tree.levels == 6) return count_pairs_of<6, exact>(block, tree, counts, left);
  count_pairs_of<7, exact>(block, tree, counts, left);
}

template <class T>
void count_pairs_in_tree(const T* block, const StepTree& tree, PairCounts& counts, Undecided<T>& left) {
  if (std::is_same_v<T, float> || tree.exact) return count_pairs_by_levels<true>(block, tree, counts, left);
  count_pairs_by_levels<false>(block, tree, counts, left);
}

}  // namespace
}  // namespace masu::cpu

HWY_POP_ATTRIBUTES
HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vpopcntdq,gfni")

namespace masu::cpu {
namespace {

constexpr std::size_t bits_at_once = 512;
constexpr std::size_t plane_groups = byte_plane_block / bits_at_once;

// For each value of half a byte and each group of 512 bytes: the bytes with that value, as bits.
using HalfSets = std::uint64_t[16][plane_groups][8];

HWY_INLINE __m512i load_set(const std::uint64_t* set) {
  return _mm512_load_si512(set);
}

// planes[b]: bit b of 512 bytes, all in one order.
HWY_INLINE void load_planes(const std::uint8_t* data, __m512i* planes) {
  // Multiplied by 8 x 8 bits this one turns rows into columns.
  const __m512i rows = _mm512_set1_epi64(static_cast<long long>(0x8040201008040201));
  alignas(64) static constexpr std::uint8_t places[64] = {0, 8,  16, 24, 32, 40, 48, 56, 1, 9,  17, 25, 33, 41, 49, 57,
                                                          2, 10, 18, 26, 34, 42, 50, 58, 3, 11, 19, 27, 35, 43, 51, 59,
                                                          4, 12, 20, 28, 36, 44, 52, 60, 5, 13, 21, 29, 37, 45, 53, 61,
                                                          6, 14, 22, 30, 38, 46, 54, 62, 7, 15, 23, 31, 39, 47, 55, 63};
  const __m512i order = _mm512_load_si512(places);
  // Word b of parts[i]: bit b of 64 bytes. Then words are transposed.
  __m512i parts[8];
  for (int i = 0; i < 8; ++i) {
    const __m512i bits = _mm512_gf2p8affine_epi64_epi8(rows, _mm512_loadu_si512(data + 64 * i), 0);
    parts[i] = _mm512_permutexvar_epi8(order, bits);
  }
  for (int odd = 0; odd < 2; ++odd) {
    __m512i pairs[4];
    for (int i = 0; i < 4; ++i) {
      pairs[i] = odd != 0 ? _mm512_unpackhi_epi64(parts[2 * i], parts[2 * i + 1])
                          : _mm512_unpacklo_epi64(parts[2 * i], parts[2 * i + 1]);
    }
    const __m512i low0 = _mm512_shuffle_i64x2(pairs[0], pairs[1], 0x44);
    const __m512i low1 = _mm512_shuffle_i64x2(pairs[2], pairs[3], 0x44);
    const __m512i high0 = _mm512_shuffle_i64x2(pairs[0], pairs[1], 0xee);
    const __m512i high1 = _mm512_shuffle_i64x2(pairs[2], pairs[3], 0xee);
    planes[odd] = _mm512_shuffle_i64x2(low0, low1, 0x88);
    planes[2 + odd] = _mm512_shuffle_i64x2(low0, low1, 0xdd);
    planes[4 + odd] = _mm512_shuffle_i64x2(high0, high1, 0x88);
    planes[6 + odd] = _mm512_shuffle_i64x2(high0, high1, 0xdd);
  }
}

HWY_INLINE void store_sets(const __m512i* planes, std::size_t group, HalfSets& sets) {
  const __m512i none = _mm512_setzero_si512();
  const __m512i all = _mm512_ternarylogic_epi64(none, none, none, 0xff);
  const __m512i not_either[2] = {_mm512_andnot_si512(_mm512_or_si512(planes[0], planes[1]), all),
                                 _mm512_andnot_si512(_mm512_or_si512(planes[2], planes[3]), all)};
  __m512i quarters[2][4];
  for (int half = 0; half < 2; ++half) {
    const __m512i low = planes[2 * half];
    const __m512i high = planes[2 * half + 1];
    quarters[half][0] = not_either[half];
    quarters[half][1] = _mm512_andnot_si512(high, low);
    quarters[half][2] = _mm512_andnot_si512(low, high);
    quarters[half][3] = _mm512_and_si512(low, high);
  }
  for (std::size_t value = 0; value < 16; ++value) {
    _mm512_store_si512(sets[value][group], _mm512_and_si512(quarters[1][value / 4], quarters[0][value % 4]));
  }
}

// Adds what a block has of each value: the bytes whose upper half and whose lower half it has. That is an AND and a
// population count for 512 bytes, whatever they are, where a table takes a load and a store for each byte.
HWY_INLINE void add_block(const std::uint8_t* block, std::uint64_t (*sums)[8], const std::uint8_t* next) {
  alignas(64) HalfSets lower;
  alignas(64) HalfSets upper;
  for (std::size_t group = 0; group < plane_groups; ++group) {
    __m512i planes[8];
    load_planes(block + bits_at_once * group, planes);
    store_sets(planes, group, lower);
    store_sets(planes + 4, group, upper);
  }
  for (std::size_t high = 0; high < 16; ++high) {
    __m512i set[plane_groups];
    HWY_UNROLL(8)
    for (std::size_t group = 0; group < plane_groups; ++group) set[group] = load_set(upper[high][group]);
    for (std::size_t low = 0; low < 16; ++low) {
      std::uint64_t* total = sums[16 * high + low];
      __m512i sum = load_set(total);
      HWY_UNROLL(8)
      for (std::size_t group = 0; group < plane_groups; ++group) {
        const __m512i here = _mm512_and_si512(set[group], load_set(lower[low][group]));
        sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(here));
      }
      _mm512_store_si512(total, sum);
      // A line at a time.
      if (low % 4 == 0) _mm_prefetch(reinterpret_cast<const char*>(next + 256 * high + 16 * low), _MM_HINT_T0);
    }
  }
}

// From which place of which of `channels` vectors the bytes of a channel come.
template <unsigned channels>
struct ChannelPlaces {
  alignas(64) std::array<std::array<std::array<std::uint8_t, 64>, channels>, channels> place{};
  std::array<std::array<std::uint64_t, channels>, channels> there{};
  constexpr ChannelPlaces() {
    for (unsigned channel = 0; channel < channels; ++channel) {
      for (unsigned i = 0; i < 64; ++i) {
        const unsigned from = channels * i + channel;
        place[channel][from / 64][i] = static_cast<std::uint8_t>(from % 64);
        there[channel][from / 64] |= std::uint64_t{1} << i;
      }
    }
  }
};

// Brings the bytes of each channel together.
template <unsigned channels>
HWY_INLINE void part_channels(const std::uint8_t* data, std::uint8_t (*parts)[byte_plane_block]) {
  static constexpr ChannelPlaces<channels> places;
  for (std::size_t i = 0; i < byte_plane_block; i += 64) {
    __m512i vectors[channels];
    for (unsigned v = 0; v < channels; ++v) vectors[v] = _mm512_loadu_si512(data + channels * i + 64 * v);
    for (unsigned channel = 0; channel < channels; ++channel) {
      __m512i part = _mm512_setzero_si512();
      for (unsigned v = 0; v < channels; ++v) {
        const __m512i order = _mm512_load_si512(places.place[channel][v].data());
        part = _mm512_mask_permutexvar_epi8(part, places.there[channel][v], order, vectors[v]);
      }
      _mm512_store_si512(parts[channel] + i, part);
    }
  }
}

template <unsigned channels>
void count_by_planes(const std::uint8_t* data, std::size_t count, std::uint32_t* totals) {
  alignas(64) std::uint64_t sums[256 * channels][8] = {};
  for (const std::uint8_t* block = data; block != data + count; block += byte_plane_block * channels) {
    const std::uint8_t* next = block + byte_plane_block * channels;
    if constexpr (channels == 1) {
      add_block(block, sums, next);
    } else {
      alignas(64) std::uint8_t parts[channels][byte_plane_block];
      part_channels<channels>(block, parts);
      for (unsigned channel = 0; channel < channels; ++channel) {
        add_block(parts[channel], sums + std::size_t{256} * channel, next + byte_plane_block * channel);
      }
    }
  }
  for (std::size_t slot = 0; slot < std::size_t{256} * channels; ++slot) {
    totals[slot] += static_cast<std::uint32_t>(_mm512_reduce_add_epi64(load_set(sums[slot])));
  }
}

}  // namespace
}  // namespace masu::cpu

HWY_POP_ATTRIBUTES
HWY_DIAGNOSTICS(pop)

namespace masu::cpu {

template <class T>
CountPairs<T> count_pairs() {
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
             ? count_pairs_in_tree<T>
             : nullptr;
}
CountBytes count_byte_planes(unsigned channels) {
  static const bool there = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi") &&
                            __builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("gfni");
  if (!there) return nullptr;
  return channels == 1   ? count_by_planes<1>
         : channels == 2 ? count_by_planes<2>
         : channels == 3 ? count_by_planes<3>
         : channels == 4 ? count_by_planes<4>
                         : nullptr;
}

}  // namespace masu::cpu
#else

namespace masu::cpu {

template <class T>
CountPairs<T> count_pairs() {
  return nullptr;
}
CountBytes count_byte_planes(unsigned /*channels*/) {
  return nullptr;
}

}  // namespace masu::cpu
#endif

namespace masu::cpu {

template CountPairs<float> count_pairs<float>();
template CountPairs<double> count_pairs<double>();

}  // namespace masu::cpu
