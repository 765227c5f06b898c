// SPDX-License-Identifier: Apache-2.0
#include "sort/cpu/sort_simd.h"

#include "sort/sort_job.h"

#include <algorithm>
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
// Turns bits into codes, or `Back`.
template <bool Back, class Code>
void Recode(Code* data, std::size_t count, Coding<Code> coding) {
  const hn::ScalableTag<Code> d;
  const auto flip = hn::Set(d, coding.flip);
  if (!coding.is_float) return ForVectors(data, count, [&](auto v) HWY_ATTR { return hn::Xor(v, flip); });
  ForVectors(data, count, [&](auto v) HWY_ATTR {
    return Back ? Turned<true>(d, hn::Xor(v, flip)) : hn::Xor(Turned<true>(d, v), flip);
  });
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

// Merges two runs of codes a vector at a time, by the bitonic network. Codes that are equal have equal bits, so it does
// not matter which run they come from.
//
// Method: J. Chhugani et al., "Efficient implementation of sorting on multi-core SIMD CPU architecture", VLDB 2008.
//
// Where a merge stands. What was read and not yet written is in `high`, ascending.
template <bool Float, class D, class Code = hn::TFromD<D>, class V = hn::Vec<D>>
class Merger {
 public:
  HWY_INLINE Merger(D d, const CodeRuns<Code>& runs, Code flip)
      : d_(d),
        a_(runs.a),
        a_end_(runs.a + runs.a_count),
        b_(runs.b),
        b_end_(runs.b + runs.b_count),
        to_(runs.to),
        to_end_(runs.to + runs.a_count + runs.b_count),
        flip_(flip),
        high_(hn::Zero(d)) {
    if (to_ != to_end_) high_ = Load(NextOrPart());
  }

  // Whether both runs have a whole vector ahead, which Step() needs.
  [[nodiscard]] HWY_INLINE bool BothHave() const {
    const std::ptrdiff_t lanes = static_cast<std::ptrdiff_t>(hn::Lanes(d_));
    return a_end_ - a_ >= lanes && b_end_ - b_ >= lanes;
  }
  HWY_INLINE void Step() {
    Take(Load(Next()));
    hn::StoreU(Bits(low_), d_, to_);
    to_ += hn::Lanes(d_);
  }
  HWY_INLINE void Finish() {
    while (BothHave()) Step();
    while (a_ != a_end_ || b_ != b_end_) {
      Take(Load(NextOrPart()));
      Store(low_);
    }
    Store(high_);
  }

 private:
  HWY_INLINE Code CodeAt(const Code* bits) const { return static_cast<Code>(TurnedOne<Float>(*bits) ^ flip_); }
  // The next vector of the run whose next code is the lesser: all that is written before is not greater.
  HWY_INLINE const Code* Next() {
    const bool second = CodeAt(b_) < CodeAt(a_);
    const Code* const next = second ? b_ : a_;
    a_ += second ? 0 : hn::Lanes(d_);
    b_ += second ? hn::Lanes(d_) : 0;
    return next;
  }
  // The same where a run may have less than a vector, which is filled up with the greatest code.
  const Code* NextOrPart() {
    const bool second = a_ == a_end_ || (b_ != b_end_ && CodeAt(b_) < CodeAt(a_));
    const Code*& from = second ? b_ : a_;
    const std::size_t count =
        std::min<std::size_t>(hn::Lanes(d_), static_cast<std::size_t>((second ? b_end_ : a_end_) - from));
    const Code* const next = from;
    from += count;
    if (count == hn::Lanes(d_)) return next;
    hn::Store(Bits(hn::Set(d_, std::numeric_limits<Code>::max())), d_, part_);
    std::memcpy(part_, next, count * sizeof(Code));
    return part_;
  }
  // The lesser half of `high` and these goes to `low`, the rest to `high`.
  HWY_INLINE void Take(V codes) {
    const V other = hn::Reverse(d_, codes);
    low_ = Merged<hn::MaxLanes(D()) / 2>(hn::Min(high_, other));
    high_ = Merged<hn::MaxLanes(D()) / 2>(hn::Max(high_, other));
  }
  // A bitonic vector in order.
  template <std::size_t Distance>
  HWY_INLINE V Merged(V v) const {
    if constexpr (Distance == 0) {
      return v;
    } else {
      if (Distance >= hn::Lanes(d_)) return Merged<Distance / 2>(v);
      const V lane = hn::And(hn::Iota(d_, Code{0}), hn::Set(d_, static_cast<Code>(Distance)));
      const V other = Across<Distance>(v);
      return Merged<Distance / 2>(hn::IfThenElse(hn::Eq(lane, hn::Zero(d_)), hn::Min(v, other), hn::Max(v, other)));
    }
  }
  // Lane i gets lane i ^ Distance.
  template <std::size_t Distance>
  HWY_INLINE V Across(V v) const {
    if constexpr (Distance == 1) return hn::Reverse2(d_, v);
#if HWY_TARGET != HWY_SCALAR  // of one lane
    else if constexpr (Distance == 2 && sizeof(Code) == 4) return hn::Shuffle1032(v);
#endif
    else
      return hn::TableLookupLanes(
          v, hn::IndicesFromVec(d_, hn::Xor(hn::Iota(d_, Code{0}), hn::Set(d_, static_cast<Code>(Distance)))));
  }
  HWY_INLINE V Load(const Code* from) const {
    return hn::Xor(Turned<Float>(d_, hn::LoadU(d_, from)), hn::Set(d_, flip_));
  }
  HWY_INLINE V Bits(V codes) const {
    return Turned<Float>(d_, hn::Xor(codes, hn::Set(d_, flip_)));
  }
  void Store(V codes) {
    const std::size_t count = std::min<std::size_t>(hn::Lanes(d_), static_cast<std::size_t>(to_end_ - to_));
    hn::Store(Bits(codes), d_, part_);
    std::memcpy(to_, part_, count * sizeof(Code));
    to_ += count;
  }

  D d_;
  const Code *a_, *a_end_, *b_, *b_end_;
  Code *to_, *to_end_;
  Code flip_;
  V low_, high_;
  HWY_ALIGN Code part_[hn::MaxLanes(D())];
};

// Both in turns, as a step waits for the one before it.
template <bool Float, class Code>
HWY_INLINE void MergeBoth(const CodeRuns<Code>& first, const CodeRuns<Code>& second, Code flip) {
  const hn::ScalableTag<Code> d;
  Merger<Float, decltype(d)> front(d, first, flip);
  Merger<Float, decltype(d)> back(d, second, flip);
  while (front.BothHave() && back.BothHave()) {
    front.Step();
    back.Step();
  }
  front.Finish();
  back.Finish();
}
template <class Code>
void Merge(const CodeRuns<Code>& first, const CodeRuns<Code>& second, Coding<Code> coding) {
  if (coding.is_float) MergeBoth<true>(first, second, coding.flip);
  else MergeBoth<false>(first, second, coding.flip);
}

template <class Code>
constexpr CodeLoops<Code> loops = {&Partition<Code>,    &PartitionTwo<Code>, &Recode<false, Code>,
                                   &Recode<true, Code>, &SwapMirrored<Code>, &Merge<Code>};
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
