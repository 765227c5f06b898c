// SPDX-License-Identifier: Apache-2.0
#include "sort/cpu/sort_simd.h"

#include "sort/sort_job.h"

#include <cstring>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sort/cpu/sort_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sort/cpu/sort_sides-inl.h"

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Bits <-> codes of one lane and of vectors; `Float` is coding.is_float.
template <bool Float, class D, class Code = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE V Turned(D d, V bits) {
  if constexpr (Float) {
    const V magnitude = hn::Set(d, std::numeric_limits<Code>::max());
    return hn::Xor(bits, hn::And(hn::BroadcastSignBit(bits), magnitude));
  } else {
    return bits;
  }
}
template <bool Float, class Code>
HWY_INLINE Code TurnedOne(Code bits) {
  return Float && bits < 0 ? static_cast<Code>(bits ^ std::numeric_limits<Code>::max()) : bits;
}

// Partitions from both ends of free space, as Highway's vqsort does: what is read first is kept aside, so that there is
// always room for a block at either end. Keys lie in [read_left, left_end) and [right_begin, read_right); where these
// are one range (Gap is false) left_end and right_begin are not looked at.
template <bool Float, bool Gap, class D, class Code = hn::TFromD<D>>
class Partitioner {
 public:
  using V = hn::Vec<D>;
  Partitioner(D d, Code pivot, Code flip) : d_(d), pivot_(hn::Set(d, pivot)), flip_(hn::Set(d, flip)) {}

  // On return [write_left, …) and (…, write_right) are what is left over: as it was, not partitioned.
  HWY_INLINE void Run(Code* left, Code* left_end, Code* right_begin, Code* right) {
    const std::size_t lanes = hn::Lanes(d_);
    const std::size_t block = 4 * lanes;
    write_left = left;
    write_right = right;
    if (Gap ? left_end - left < Difference(block) || right - right_begin < Difference(block)
            : right - left < Difference(2 * block)) {
      return;
    }
    HWY_ALIGN Code aside[8 * hn::MaxLanes(D())];
    std::memcpy(aside, left, block * sizeof(Code));
    std::memcpy(aside + block, right - block, block * sizeof(Code));
    Code* read_left = left + block;
    Code* read_right = right - block;
    for (;;) {
      const Code* from;
      if (read_left - write_left <= Difference(block)) {
        if ((Gap ? left_end : read_right) - read_left < Difference(block)) break;
        from = read_left;
        read_left += block;
      } else {
        if (read_right - (Gap ? right_begin : read_left) < Difference(block)) break;
        read_right -= block;
        from = read_right;
      }
      const V v0 = Load(from);
      const V v1 = Load(from + lanes);
      const V v2 = Load(from + 2 * lanes);
      const V v3 = Load(from + 3 * lanes);
      Put(v0);
      Put(v1);
      Put(v2);
      Put(v3);
    }
    const std::size_t room = static_cast<std::size_t>(read_left - write_left);
    std::memcpy(write_left, aside, room * sizeof(Code));
    std::memcpy(read_right, aside + room, (2 * block - room) * sizeof(Code));
  }

  Code* write_left = nullptr;
  Code* write_right = nullptr;

 private:
  static HWY_INLINE std::ptrdiff_t Difference(std::size_t count) { return static_cast<std::ptrdiff_t>(count); }
  HWY_INLINE V Load(const Code* from) const { return hn::Xor(Turned<Float>(d_, hn::LoadU(d_, from)), flip_); }
  HWY_INLINE void Put(V v) {
    const auto lower = hn::Lt(v, pivot_);
    const std::size_t count = hn::CountTrue(d_, lower);
    const std::size_t others = hn::Lanes(d_) - count;
    const V sides = Sides(d_, v, lower);
    hn::StoreU(sides, d_, write_left);
    write_left += count;
    if constexpr (hn::CompressIsPartition<Code>::value) {
      hn::StoreU(sides, d_, write_right - hn::Lanes(d_));
      write_right -= others;
    } else {
      write_right -= others;
      hn::BlendedStore(hn::Compress(v, hn::Not(lower)), hn::FirstN(d_, others), d_, write_right);
    }
  }
  D d_;
  V pivot_, flip_;
};

template <bool Float, class Code>
std::size_t PartitionRange(Code* codes, std::size_t count, Code pivot, Code flip) {
  const hn::ScalableTag<Code> d;
  Partitioner<Float, false, decltype(d)> partitioner(d, pivot, flip);
  partitioner.Run(codes, nullptr, nullptr, codes + count);
  Code* low = partitioner.write_left;
  Code* high = partitioner.write_right;
  HWY_ALIGN Code rest[16 * hn::MaxLanes(decltype(d)())];
  const std::size_t size = static_cast<std::size_t>(high - low);
  std::memcpy(rest, low, size * sizeof(Code));
  for (std::size_t i = 0; i < size; ++i) {
    const Code code = static_cast<Code>(TurnedOne<Float>(rest[i]) ^ flip);
    *low = code;
    *(high - 1) = code;
    const bool lower = code < pivot;
    low += lower;
    high -= !lower;
  }
  return static_cast<std::size_t>(low - codes);
}

template <bool Float, class Code>
LowerCounts PartitionRanges(Code* left, std::size_t left_count, Code* right, std::size_t right_count, Code pivot,
                            Code flip) {
  const hn::ScalableTag<Code> d;
  Partitioner<Float, true, decltype(d)> partitioner(d, pivot, flip);
  partitioner.Run(left, left + left_count, right, right + right_count);
  const std::size_t done = static_cast<std::size_t>(partitioner.write_left - left);
  const std::size_t rest = static_cast<std::size_t>(partitioner.write_right - right);
  return {done + PartitionRange<Float>(partitioner.write_left, left_count - done, pivot, flip),
          PartitionRange<Float>(right, rest, pivot, flip)};
}

template <class Code>
std::size_t Partition(Code* codes, std::size_t count, Code pivot, Coding<Code> coding) {
  return coding.is_float ? PartitionRange<true>(codes, count, pivot, coding.flip)
                         : PartitionRange<false>(codes, count, pivot, coding.flip);
}
template <class Code>
LowerCounts PartitionTwo(Code* left, std::size_t left_count, Code* right, std::size_t right_count, Code pivot,
                         Coding<Code> coding) {
  return coding.is_float ? PartitionRanges<true>(left, left_count, right, right_count, pivot, coding.flip)
                         : PartitionRanges<false>(left, left_count, right, right_count, pivot, coding.flip);
}

// Applies `change` to every vector, and the last time to a copy of the rest.
template <class Code, class F>
HWY_INLINE void ForVectors(Code* data, std::size_t count, const F& change) {
  const hn::ScalableTag<Code> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(change(hn::LoadU(d, data + i)), d, data + i);
  if (i == count) return;
  HWY_ALIGN Code rest[hn::MaxLanes(decltype(d)())] = {};
  std::memcpy(rest, data + i, (count - i) * sizeof(Code));
  hn::Store(change(hn::Load(d, rest)), d, rest);
  std::memcpy(data + i, rest, (count - i) * sizeof(Code));
}
template <class Code>
void Encode(Code* data, std::size_t count, Coding<Code> coding) {
  const hn::ScalableTag<Code> d;
  const auto flip = hn::Set(d, coding.flip);
  if (coding.is_float) {
    ForVectors(data, count, [&](auto v) HWY_ATTR { return hn::Xor(Turned<true>(d, v), flip); });
  } else {
    ForVectors(data, count, [&](auto v) HWY_ATTR { return hn::Xor(v, flip); });
  }
}
template <class Code>
void Decode(Code* data, std::size_t count, Coding<Code> coding) {
  const hn::ScalableTag<Code> d;
  const auto flip = hn::Set(d, coding.flip);
  if (coding.is_float) {
    ForVectors(data, count, [&](auto v) HWY_ATTR { return Turned<true>(d, hn::Xor(v, flip)); });
  } else {
    ForVectors(data, count, [&](auto v) HWY_ATTR { return hn::Xor(v, flip); });
  }
}
template <class Code>
void SwapMirrored(Code* left, Code* right_end, std::size_t count) {
  const hn::ScalableTag<Code> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    Code* const right = right_end - i - lanes;
    const auto a = hn::LoadU(d, left + i);
    const auto b = hn::LoadU(d, right);
    hn::StoreU(hn::Reverse(d, b), d, left + i);
    hn::StoreU(hn::Reverse(d, a), d, right);
  }
  for (; i < count; ++i) std::swap(left[i], *(right_end - 1 - i));
}

template <class Code>
constexpr CodeLoops<Code> loops = {&Partition<Code>, &PartitionTwo<Code>, &Encode<Code>, &Decode<Code>,
                                   &SwapMirrored<Code>};
#define MASU_LOOPS(bits, Code)           \
  const CodeLoops<Code>* Loops##bits() { \
    return &loops<Code>;                 \
  }
MASU_EACH_CODE(MASU_LOOPS)
#undef MASU_LOOPS

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

#define MASU_LOOPS(bits, Code)                   \
  HWY_EXPORT(Loops##bits);                       \
  template <>                                    \
  const CodeLoops<Code>& code_loops() {          \
    return *HWY_DYNAMIC_DISPATCH(Loops##bits)(); \
  }
MASU_EACH_CODE(MASU_LOOPS)
#undef MASU_LOOPS

}  // namespace masu::cpu
#endif
