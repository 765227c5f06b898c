// SPDX-License-Identifier: Apache-2.0
// Counts pairs of values with AVX-512: a tree of steps in registers, f64 rounded down, and values packed by masks, for
// which Highway 1.0 has no or slower ways.
#include "histogram/cpu/histogram_simd_cells.h"

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

void count_pairs_f32(const float* block, const StepTree& tree, PairCounts& counts, Undecided<float>& left) {
  count_pairs_by_levels<true>(block, tree, counts, left);
}
void count_pairs_f64(const double* block, const StepTree& tree, PairCounts& counts, Undecided<double>& left) {
  if (tree.exact) return count_pairs_by_levels<true>(block, tree, counts, left);
  count_pairs_by_levels<false>(block, tree, counts, left);
}

}  // namespace
}  // namespace masu::cpu

HWY_POP_ATTRIBUTES
HWY_DIAGNOSTICS(pop)

namespace masu::cpu {
namespace {

bool has_tree_registers() {
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

}  // namespace

CountPairsF32 count_pairs(float) {
  return has_tree_registers() ? count_pairs_f32 : nullptr;
}
CountPairsF64 count_pairs(double) {
  return has_tree_registers() ? count_pairs_f64 : nullptr;
}

}  // namespace masu::cpu
#else

namespace masu::cpu {

CountPairsF32 count_pairs(float) {
  return nullptr;
}
CountPairsF64 count_pairs(double) {
  return nullptr;
}

}  // namespace masu::cpu
#endif
