// SPDX-License-Identifier: Apache-2.0
#include "histogram/cpu/histogram_cpu_tables.h"

#include <hwy/cache_control.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "histogram/cpu/histogram_simd_parts.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "histogram/cpu/histogram_simd_chosen.h"

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A whole line goes to memory past the caches: it is read again only when all values are sorted.
template <class Offset>
HWY_INLINE void MoveLine(std::uint32_t stream, std::uint32_t count, PartStreams<Offset>& to) {
  using Streams = PartStreams<Offset>;
  const hn::CappedTag<Offset, Streams::line_values> d;
  const Offset* line = to.lines + std::size_t{stream} * Streams::line_values;
  Offset* next = to.next[stream];
  for (std::size_t i = 0; i < Streams::line_values; i += hn::Lanes(d)) hn::Stream(hn::Load(d, line + i), d, next + i);
  next += Streams::line_values;
  if (count % Streams::block_values == 0) {
    next = to.blocks + std::size_t{to.used} * Streams::block_values;
    to.stream_of[to.used++] = stream;
  }
  to.next[stream] = next;
}

template <class Offset>
HWY_INLINE void Sort(const std::uint32_t* slots, std::size_t count, std::uint64_t base, PartStreams<Offset>& to) {
  using Streams = PartStreams<Offset>;
  const unsigned bits = to.bits;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  Offset* const lines = to.lines;
  std::uint32_t* const counts = to.counts;
  const auto add = [&](std::uint64_t value, std::uint32_t lane) HWY_ATTR {
    const auto stream = static_cast<std::uint32_t>(value >> bits) * streams_a_part + lane;
    const std::uint32_t number = counts[stream];
    counts[stream] = number + 1;
    lines[std::size_t{stream} * Streams::line_values + number % Streams::line_values] =
        static_cast<Offset>(value & mask);
    if (HWY_UNLIKELY((number + 1) % Streams::line_values == 0)) MoveLine(stream, number + 1, to);
  };
  std::size_t i = 0;
  for (; i + streams_a_part <= count; i += streams_a_part) {
    for (unsigned lane = 0; lane < streams_a_part; ++lane) add(base + slots[i + lane], lane);
  }
  for (; i < count; ++i) add(base + slots[i], 0);
}

void SortToU16(const std::uint32_t* slots, std::size_t count, std::uint64_t base, PartStreams<std::uint16_t>& to) {
  Sort(slots, count, base, to);
}
void SortToU32(const std::uint32_t* slots, std::size_t count, std::uint64_t base, PartStreams<std::uint32_t>& to) {
  Sort(slots, count, base, to);
}

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

HWY_EXPORT(SortToU16);
HWY_EXPORT(SortToU32);

SortU16 sort_into_parts(std::uint16_t) {
  return chosen(HWY_DISPATCH_TABLE(SortToU16));
}
SortU32 sort_into_parts(std::uint32_t) {
  return chosen(HWY_DISPATCH_TABLE(SortToU32));
}
void finish_sorting() {
  hwy::FlushStream();
}

}  // namespace masu::cpu
#endif
