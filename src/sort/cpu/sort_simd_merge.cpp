// SPDX-License-Identifier: Apache-2.0
// Two runs of codes merged a vector at a time, by the bitonic network. Codes that are equal have equal bits, so it does
// not matter which run they come from.
//
// Method: J. Chhugani et al., "Efficient implementation of sorting on multi-core SIMD CPU architecture", VLDB 2008.
#include "sort/cpu/sort_simd.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sort/cpu/sort_simd_merge.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

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
  HWY_INLINE Code CodeAt(const Code* bits) const {
    const Code turned = Float && *bits < 0 ? static_cast<Code>(*bits ^ std::numeric_limits<Code>::max()) : *bits;
    return static_cast<Code>(turned ^ flip_);
  }
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
    const V bits = hn::LoadU(d_, from);
    return hn::Xor(Turned(bits), hn::Set(d_, flip_));
  }
  HWY_INLINE V Bits(V codes) const {
    return Turned(hn::Xor(codes, hn::Set(d_, flip_)));
  }
  HWY_INLINE V Turned(V bits) const {
    if constexpr (!Float) return bits;
    else return hn::Xor(bits, hn::And(hn::BroadcastSignBit(bits), hn::Set(d_, std::numeric_limits<Code>::max())));
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
#define MASU_MERGE(bits, Code)                                                                       \
  void Merge##bits(const CodeRuns<Code>& first, const CodeRuns<Code>& second, Coding<Code> coding) { \
    if (coding.is_float) MergeBoth<true>(first, second, coding.flip);                                \
    else MergeBoth<false>(first, second, coding.flip);                                               \
  }
MASU_EACH_CODE(MASU_MERGE)
#undef MASU_MERGE

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

#define MASU_MERGED(bits, Code)                                                                      \
  HWY_EXPORT(Merge##bits);                                                                           \
  template <>                                                                                        \
  void merge_codes(const CodeRuns<Code>& first, const CodeRuns<Code>& second, Coding<Code> coding) { \
    HWY_DYNAMIC_DISPATCH(Merge##bits)(first, second, coding);                                        \
  }
MASU_EACH_CODE(MASU_MERGED)
#undef MASU_MERGED

}  // namespace masu::cpu
#endif
