// SPDX-License-Identifier: Apache-2.0
#include "histogram/cpu/histogram_simd_cells.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "histogram/cpu/histogram_simd_cells.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "histogram/cpu/histogram_simd_cells-inl.h"
#include "histogram/cpu/histogram_simd_chosen.h"

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

// Appends the values whose bits are set, the first one's the lowest. Highway 1.0 compresses f64 through a table.
constexpr std::size_t group = 16;
#if HWY_TARGET <= HWY_AVX3
HWY_INLINE void Append(const float* values, std::uint32_t bits, Undecided<float>& left) {
  const __m512 marked = _mm512_maskz_compress_ps(static_cast<__mmask16>(bits), _mm512_loadu_ps(values));
  _mm512_storeu_ps(left.values + left.count, marked);
  left.count += hwy::PopCount(bits);
}
HWY_INLINE void Append(const double* values, std::uint32_t bits, Undecided<double>& left) {
  for (std::size_t half = 0; half < 2; ++half) {
    const std::uint32_t part = half == 0 ? bits & 0xff : bits >> 8;
    const __m512d marked = _mm512_maskz_compress_pd(static_cast<__mmask8>(part), _mm512_loadu_pd(values + 8 * half));
    _mm512_storeu_pd(left.values + left.count, marked);
    left.count += hwy::PopCount(part);
  }
}
#else
template <class T>
HWY_INLINE void Append(const T* values, std::uint32_t bits, Undecided<T>& left) {
  for (std::size_t i = 0; i < group; ++i) {
    left.values[left.count] = values[i];
    left.count += bits >> i & 1;
  }
}
#endif

HWY_INLINE bool AllEqual(const std::uint32_t* cells) {
  if (HWY_LIKELY(cells[0] != cells[cells_block - 1])) return false;
  const hn::ScalableTag<std::uint32_t> d;
  const auto first = hn::Set(d, cells[0]);
  auto equal = hn::Eq(first, first);
  for (std::size_t i = 0; i < cells_block; i += hn::Lanes(d)) {
    equal = hn::And(equal, hn::Eq(hn::LoadU(d, cells + i), first));
  }
  return hn::AllTrue(d, equal);
}

// Values of four quarters of the block take turns: runs of equal ones would wait for each other's sum.
template <class T>
HWY_INLINE void CountCells(const T* block, const GuideLoop<T>& loop, std::uint32_t* counters, Undecided<T>& left) {
  alignas(64) std::uint32_t cells[cells_block];
  WriteCells(block, cells_block, loop, cells);
  if (AllEqual(cells)) {
    std::uint32_t& counter = counters[cells[0]];
    if (counter < cell_undecided) {
      counter += cells_block;
    } else {
      std::memcpy(left.values + left.count, block, cells_block * sizeof(T));
      left.count += cells_block;
    }
    return;
  }
  constexpr std::size_t quarter = cells_block / 4;
  Undecided<T> own = left;  // in registers
  for (std::size_t i = 0; i < quarter; i += group) {
    prefetch_ahead(block + 4 * i, 4 * group);
    std::uint32_t bits[4] = {};
    HWY_UNROLL(16)
    for (std::size_t k = 0; k < group; ++k) {
      for (std::size_t q = 0; q < 4; ++q) {
        // The first value's bit is the lowest: it comes last.
        std::uint32_t& counter = counters[cells[q * quarter + i + (group - 1 - k)]];
        const std::uint32_t old = counter;
        counter = old + 1;
        bits[q] = bits[q] * 2 + (old >> 31);
      }
    }
    for (std::size_t q = 0; q < 4; ++q) Append(block + q * quarter + i, bits[q], own);
  }
  left = own;
}

void CountCellsF32Of(const float* block, const GuideLoop<float>& loop, std::uint32_t* counters,
                     Undecided<float>& left) {
  CountCells(block, loop, counters, left);
}
void CountCellsF64Of(const double* block, const GuideLoop<double>& loop, std::uint32_t* counters,
                     Undecided<double>& left) {
  CountCells(block, loop, counters, left);
}

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

HWY_EXPORT(CountCellsF32Of);
HWY_EXPORT(CountCellsF64Of);

CountCellsF32 count_cells(float) {
  return chosen(HWY_DISPATCH_TABLE(CountCellsF32Of));
}
CountCellsF64 count_cells(double) {
  return chosen(HWY_DISPATCH_TABLE(CountCellsF64Of));
}

}  // namespace masu::cpu
#endif
