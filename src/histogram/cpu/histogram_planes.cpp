// SPDX-License-Identifier: Apache-2.0
// Counts bytes by their bits, 512 at a time, with AVX-512's population count, which Highway 1.0 has no target for.
#include "histogram/cpu/histogram_simd.h"

#include <array>

#if defined(__x86_64__)
#include <hwy/base.h>
#include <immintrin.h>

// GCC's own header starts from registers that are not set.
HWY_DIAGNOSTICS(push)
HWY_DIAGNOSTICS_OFF(disable : 4701, ignored "-Wuninitialized")
HWY_DIAGNOSTICS_OFF(disable : 4703, ignored "-Wmaybe-uninitialized")

// For the functions from here on only.
HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vpopcntdq,gfni")

namespace masu::cpu {
namespace {

constexpr std::size_t bits_at_once = 512;
constexpr std::size_t plane_groups = byte_plane_block / bits_at_once;

// Of 512 bytes each and 16 values of half a byte: the bytes with that value, as bits.
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

CountBytes count_byte_planes(unsigned /*channels*/) {
  return nullptr;
}

}  // namespace masu::cpu
#endif
