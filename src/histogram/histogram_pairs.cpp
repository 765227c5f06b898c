// SPDX-License-Identifier: Apache-2.0
// Counts pairs of values with AVX-512: tables in registers, and its own count of bits, which Highway 1.0 does not
// reach.
#include "histogram/histogram_simd_cells.h"

#if defined(__x86_64__)
#include <hwy/base.h>
#include <immintrin.h>

// GCC's own header starts from registers that are not set.
HWY_DIAGNOSTICS(push)
HWY_DIAGNOSTICS_OFF(disable : 4701, ignored "-Wuninitialized")
HWY_DIAGNOSTICS_OFF(disable : 4703, ignored "-Wmaybe-uninitialized")

// For the functions from here on only.
HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,bmi,bmi2,popcnt")

namespace masu::cpu {
namespace {

constexpr std::size_t values_at_once = 16;

struct RegisterTable {
  __m512i a, b, c, d;
};

inline RegisterTable load_registers(const std::uint32_t* words) {
  return {_mm512_loadu_si512(words), _mm512_loadu_si512(words + 16), _mm512_loadu_si512(words + 32),
          _mm512_loadu_si512(words + 48)};
}
inline __m512i look_up_words(const RegisterTable& table, __m512i word) {
  const __mmask16 second = _mm512_test_epi32_mask(word, _mm512_set1_epi32(32));
  return _mm512_mask_mov_epi32(_mm512_permutex2var_epi32(table.a, word, table.b), second,
                               _mm512_permutex2var_epi32(table.c, word, table.d));
}

inline void append_undecided(const float* values, unsigned bits, Undecided<float>& left) {
  _mm512_storeu_ps(left.values + left.count,
                   _mm512_maskz_compress_ps(static_cast<__mmask16>(bits), _mm512_loadu_ps(values)));
  left.count += static_cast<unsigned>(_mm_popcnt_u32(bits));
}
inline void append_undecided(const double* values, unsigned bits, Undecided<double>& left) {
  for (unsigned half = 0; half < 2; ++half) {
    const unsigned part = (bits >> (8 * half)) & 0xff;
    _mm512_storeu_pd(left.values + left.count,
                     _mm512_maskz_compress_pd(static_cast<__mmask8>(part), _mm512_loadu_pd(values + 8 * half)));
    left.count += static_cast<unsigned>(_mm_popcnt_u32(part));
  }
}

// The cells of 16 values by the same operations as everywhere; those of NaN are any. `numbers`: which are not NaN.
inline __m512i ordered_bits_of(__m512 v) {
  const __m512i bits = _mm512_castps_si512(_mm512_add_ps(v, _mm512_setzero_ps()));
  return _mm512_xor_si512(bits, _mm512_and_si512(_mm512_srai_epi32(bits, 31), _mm512_set1_epi32(0x7fffffff)));
}
template <class T>
inline __m512i cells_by_bits(__m512 v, const GuideLoop<T>& loop) {
  const __m512i base = _mm512_set1_epi32(loop.base);
  const __m512i bits = _mm512_min_epi32(_mm512_max_epi32(ordered_bits_of(v), base), _mm512_set1_epi32(loop.top));
  return _mm512_srl_epi32(_mm512_sub_epi32(bits, base), _mm_cvtsi32_si128(loop.shift));
}
template <bool by_bits>
inline __m512i cells_of_values(const float* values, const GuideLoop<float>& loop, __mmask16& numbers) {
  const __m512 x = _mm512_loadu_ps(values);
  numbers = _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q);
  if constexpr (by_bits) return cells_by_bits(x, loop);
  const __m512 scaled = _mm512_mul_ps(_mm512_sub_ps(x, _mm512_set1_ps(loop.lo)), _mm512_set1_ps(loop.scale));
  const __m512 position = _mm512_add_ps(scaled, _mm512_set1_ps(1));
  const __m512 most = _mm512_set1_ps(static_cast<float>(loop.cells - 1));
  return _mm512_cvttps_epi32(_mm512_min_ps(_mm512_max_ps(position, _mm512_setzero_ps()), most));
}
inline __m256i cells_by_value(__m512d x, const GuideLoop<double>& loop) {
  const __m512d scaled = _mm512_mul_pd(_mm512_sub_pd(x, _mm512_set1_pd(loop.lo)), _mm512_set1_pd(loop.scale));
  const __m512d position = _mm512_add_pd(scaled, _mm512_set1_pd(1));
  const __m512d most = _mm512_set1_pd(static_cast<double>(loop.cells - 1));
  return _mm512_cvttpd_epi32(_mm512_min_pd(_mm512_max_pd(position, _mm512_setzero_pd()), most));
}
template <bool by_bits>
inline __m512i cells_of_values(const double* values, const GuideLoop<double>& loop, __mmask16& numbers) {
  const __m512d low = _mm512_loadu_pd(values);
  const __m512d high = _mm512_loadu_pd(values + 8);
  numbers = _mm512_kunpackb(_mm512_cmp_pd_mask(high, high, _CMP_ORD_Q), _mm512_cmp_pd_mask(low, low, _CMP_ORD_Q));
  if constexpr (by_bits) {
    const __m512 both =
        _mm512_castsi512_ps(_mm512_inserti64x4(_mm512_castsi256_si512(_mm256_castps_si256(_mm512_cvtpd_ps(low))),
                                               _mm256_castps_si256(_mm512_cvtpd_ps(high)), 1));
    return cells_by_bits(both, loop);
  }
  return _mm512_inserti64x4(_mm512_castsi256_si512(cells_by_value(low, loop)), cells_by_value(high, loop), 1);
}

struct RegisterTables {
  RegisterTable starts, undecided, before;
};

// The regions_of_values of 16 values.
template <bool by_bits, bool all_undecided, class T>
inline __m512i regions_of_values(const T* values, const GuideLoop<T>& loop, const RegisterTables& tables,
                                 Undecided<T>& left) {
  __mmask16 numbers = 0;
  const __m512i cell = cells_of_values<by_bits>(values, loop, numbers);
  const __m512i word = _mm512_srli_epi32(cell, 5);
  // The cell's bit goes to the top, and those of the cells behind it away.
  const __m512i shift = _mm512_andnot_si512(cell, _mm512_set1_epi32(31));
  const __m512i starts = _mm512_sllv_epi32(look_up_words(tables.starts, word), shift);
  const __m512i undecided = all_undecided ? starts : _mm512_sllv_epi32(look_up_words(tables.undecided, word), shift);
  const auto lost = static_cast<__mmask16>(_mm512_movepi32_mask(undecided) | ~numbers);
  append_undecided(values, lost, left);
  const __m512i region = _mm512_add_epi32(look_up_words(tables.before, word), _mm512_popcnt_epi32(starts));
  return _mm512_mask_mov_epi32(region, lost, _mm512_set1_epi32(RegionTables::none));
}

inline bool all_places_equal(const std::uint32_t* places) {
  if (places[0] != places[pairs_a_block - 1] || places[0] != places[pairs_a_block / 2]) return false;
  const __m512i first = _mm512_set1_epi32(static_cast<int>(places[0]));
  __mmask16 other = 0;
  for (std::size_t i = 0; i < pairs_a_block; i += values_at_once) {
    other |= _mm512_cmpneq_epi32_mask(_mm512_load_si512(places + i), first);
  }
  return other == 0;
}

template <bool by_bits, bool all_undecided, class T>
inline void write_places(const T* block, const GuideLoop<T>& loop, const RegisterTables& tables, std::uint32_t* places,
                         Undecided<T>& left) {
  Undecided<T> own = left;  // in registers
  const GuideLoop<T> fixed = loop;
  for (std::size_t i = 0; i < pairs_a_block; i += values_at_once) {
    prefetch_ahead(block + 2 * i, 2 * values_at_once);
    const __m512i first = regions_of_values<by_bits, all_undecided>(block + i, fixed, tables, own);
    const __m512i second = regions_of_values<by_bits, all_undecided>(block + pairs_a_block + i, fixed, tables, own);
    _mm512_store_si512(places + i, _mm512_or_si512(_mm512_slli_epi32(first, RegionTables::region_bits), second));
  }
  left = own;
}

template <class T>
void count_pairs_of_block(const T* block, const GuideLoop<T>& loop, const RegionTables& tables, std::uint16_t* pairs,
                          Undecided<T>& left) {
  alignas(64) std::uint32_t places[pairs_a_block];
  const RegisterTables loaded{load_registers(tables.starts), load_registers(tables.undecided),
                              load_registers(tables.before)};
  if (loop.by_bits) {
    if (tables.all_undecided) {
      write_places<true, true>(block, loop, loaded, places, left);
    } else {
      write_places<true, false>(block, loop, loaded, places, left);
    }
  } else if (tables.all_undecided) {
    write_places<false, true>(block, loop, loaded, places, left);
  } else {
    write_places<false, false>(block, loop, loaded, places, left);
  }
  if (all_places_equal(places)) {
    pairs[places[0]] = static_cast<std::uint16_t>(pairs[places[0]] + pairs_a_block);
    return;
  }
  // Pairs of two parts of the block take turns: runs of equal ones would wait for each other's sum.
  constexpr std::size_t half = pairs_a_block / 2;
  for (std::size_t i = 0; i < half; i += 4) {
    for (std::size_t k = i; k < i + 4; ++k) {
      ++pairs[places[k]];
      ++pairs[places[half + k]];
    }
  }
}

void count_pairs_f32(const float* block, const GuideLoop<float>& loop, const RegionTables& tables, std::uint16_t* pairs,
                     Undecided<float>& left) {
  count_pairs_of_block(block, loop, tables, pairs, left);
}
void count_pairs_f64(const double* block, const GuideLoop<double>& loop, const RegionTables& tables,
                     std::uint16_t* pairs, Undecided<double>& left) {
  count_pairs_of_block(block, loop, tables, pairs, left);
}

}  // namespace
}  // namespace masu::cpu

HWY_POP_ATTRIBUTES
HWY_DIAGNOSTICS(pop)

namespace masu::cpu {
namespace {

bool has_table_registers() {
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vpopcntdq");
}

}  // namespace

CountPairsF32 count_pairs(float) {
  return has_table_registers() ? count_pairs_f32 : nullptr;
}
CountPairsF64 count_pairs(double) {
  return has_table_registers() ? count_pairs_f64 : nullptr;
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
