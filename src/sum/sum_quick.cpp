// SPDX-License-Identifier: Apache-2.0
#include "sum/sum_quick.h"

#include "runtime/parallel.h"
#include "sum/compensated.h"

#include <masu/device.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sum/sum_quick.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sum/sum_certain-inl.h"

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

template <class T>
struct QuickValues {
  using Sums = std::conditional_t<std::is_same_v<T, float>, QuickPlain, QuickErrors>;
  const T* x;
  template <class S>
  HWY_INLINE void Add(std::size_t i, S& sums) const {
    sums.Add(QuickLoad(x + i));
  }
  template <class S>
  HWY_INLINE void Add(std::size_t i, std::size_t n, S& sums) const {
    sums.Add(QuickLoad(x + i, n));
  }
};
// A product of two f32 is a double; of two f64 it is the sum of two, but for what underflows.
template <class T>
struct QuickProducts {
  using Sums = std::conditional_t<std::is_same_v<T, float>, QuickPlain, QuickErrors>;
  const T* x;
  const T* y;
  template <class S>
  HWY_INLINE void AddOne(QV a, QV b, S& sums) const {
    const QV product = hn::Mul(a, b);
    if constexpr (std::is_same_v<T, float>) {
      sums.Add(product);
    } else {
      const QV lost = sums.AddSum(product);
      sums.AddError(hn::Add(lost, hn::MulSub(a, b, product)));
    }
  }
  template <class S>
  HWY_INLINE void Add(std::size_t i, S& sums) const {
    AddOne(QuickLoad(x + i), QuickLoad(y + i), sums);
  }
  template <class S>
  HWY_INLINE void Add(std::size_t i, std::size_t n, S& sums) const {
    AddOne(QuickLoad(x + i, n), QuickLoad(y + i, n), sums);
  }
};

// Sums of so many numbers, and through how many additions each passes at most.
template <class S, class Source>
HWY_INLINE S QuickChains(const Source& source, std::size_t count, double& additions) {
  const std::size_t lanes = hn::Lanes(QD());
  S a, b, c, d;
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    source.Add(i, a);
    source.Add(i + lanes, b);
    source.Add(i + 2 * lanes, c);
    source.Add(i + 3 * lanes, d);
  }
  for (; i + lanes <= count; i += lanes) source.Add(i, a);
  if (i < count) source.Add(i, count - i, b);
  a.Merge(b);
  if (count >= 4 * lanes) {
    c.Merge(d);
    a.Merge(c);
  }
  QuickGather(a);
  // Additions of a chain and of its rest, two for each merge, and those of the sizes.
  const std::size_t most = count / (4 * lanes) + 16 + lanes;
  additions = static_cast<double>(most);
  return a;
}

template <class S, class Source>
QuickPart QuickLoop(const Source& source, std::size_t count) {
  double additions = 0;
  const S all = QuickChains<S>(source, count, additions);
  return {hn::GetLane(all.sum), all.Error(), QuickBound<S>(hn::GetLane(all.size), additions)};
}

// Takes more than quick_few numbers, and at most quick_piece. False if one is larger than a sample lets expect.
template <bool Products, class T>
bool QuickCutLoop(const T* x, const T* y, std::size_t count, QuickPart& found) {
  using Rule = QuickCutRule<T>;
  using Word = hn::TFromD<typename QuickCut<T>::Bits>;
  using Whole = std::make_signed_t<Word>;
  const typename QuickCut<T>::D d;
  const hn::RebindToSigned<decltype(d)> whole;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t sampled = 32;
  auto sample = hn::Zero(d);
  for (std::size_t i = 0; i < sampled; i += lanes) {
    const std::size_t at = (count - lanes) * i / sampled;
    const auto number = hn::LoadU(d, x + at);
    sample = hn::Max(sample, hn::Abs(Products ? hn::Mul(number, hn::LoadU(d, y + at)) : number));
  }
  const T most = hn::GetLane(hn::MaxOfLanes(d, sample));
  if (!(most <= Rule::most)) return false;
  constexpr auto exponent = std::bit_cast<Word>(std::numeric_limits<T>::infinity());
  const auto power = std::bit_cast<T>(static_cast<Word>(std::bit_cast<Word>(std::max(most, Rule::least)) & exponent));
  const T by = static_cast<T>(1.5 / std::numeric_limits<T>::epsilon() * Rule::to_unit) * power;
  QuickCutter<T, Products> cut(by);
  // The halves of sums of parts, which are at most 2^27 or 2^59 units.
  constexpr int half = 4 * sizeof(T);
  auto high = hn::Zero(whole);
  auto low = hn::Zero(whole);
  QV rests = hn::Zero(QD());
  const std::size_t block = 4 * Rule::chain * lanes;
  // Long data comes from memory. For two arrays hardware prefetching is too short, so this prefetches in software.
  constexpr std::size_t ahead = 1024 / sizeof(T);
  const bool far = count == quick_piece;
  for (std::size_t first = 0; first < count; first += block) {
    const std::size_t n = std::min(block, count - first);
    QuickCut<T> sums[4];
    const auto add = [&](std::size_t i, QuickCut<T>& to) HWY_ATTR {
      const auto a = hn::LoadU(d, x + first + i);
      cut.Add(a, Products ? hn::LoadU(d, y + first + i) : a, to);
    };
    std::size_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      if (Products && far) {
        for (std::size_t k = 0; k < 4 * lanes; k += 64 / sizeof(T)) {
          __builtin_prefetch(x + first + i + ahead + k);
          __builtin_prefetch(y + first + i + ahead + k);
        }
      }
      add(i, sums[0]);
      add(i + lanes, sums[1]);
      add(i + 2 * lanes, sums[2]);
      add(i + 3 * lanes, sums[3]);
    }
    for (; i + lanes <= n; i += lanes) add(i, sums[0]);
    if (i < n) {
      const auto a = QuickLoadFirst(d, x + first + i, n - i);
      cut.Add(a, Products ? QuickLoadFirst(d, y + first + i, n - i) : a, sums[1]);
    }
    if (!cut.Fits()) return false;
    sums[0].Merge(sums[1]);
    sums[2].Merge(sums[3]);
    sums[0].Merge(sums[2]);
    const auto vectors = static_cast<Word>((n + lanes - 1) / lanes);
    const auto parts = hn::BitCast(whole, sums[0].parts);
    const auto total = hn::Sub(parts, hn::Set(whole, static_cast<Whole>(vectors * std::bit_cast<Word>(by))));
    high = hn::Add(high, hn::ShiftRight<half>(total));
    low = hn::Add(low, hn::And(total, hn::Set(whole, static_cast<Whole>((Word{1} << half) - 1))));
    rests = hn::Add(rests, QuickWide(sums[0].rests));
  }
  const double unit = static_cast<double>(power) * Rule::to_unit;
  double sum =
      static_cast<double>(hn::GetLane(hn::SumOfLanes(whole, high))) * unit * static_cast<double>(Word{1} << half);
  const double error = add_exactly(sum, static_cast<double>(hn::GetLane(hn::SumOfLanes(whole, low))) * unit);
  const bool exact = !Products && hn::AllTrue(d, hn::Eq(cut.any, hn::Zero(d)));
  found = {sum, error + hn::GetLane(hn::SumOfLanes(QD(), rests)),
           exact ? 0 : static_cast<double>(count) * unit * Rule::to_bound};
  return true;
}

template <class T>
QuickPart QuickSum(const T* x, std::uint64_t count, bool cut) {
  if (count <= quick_few) return QuickLoop<QuickTwice>(QuickValues<T>{x}, count);
  QuickPart part;
  if (cut && QuickCutLoop<false>(x, x, count, part)) return part;
  return QuickLoop<typename QuickValues<T>::Sums>(QuickValues<T>{x}, count);
}
template <class T>
QuickPart QuickDot(const T* x, const T* y, std::uint64_t count, bool cut) {
  constexpr bool fused = HWY_NATIVE_FMA != 0;
  if constexpr (std::is_same_v<T, double>) {
    if (!fused) return {0, 0, std::numeric_limits<double>::infinity()};
  } else if (count <= quick_few) {
    return QuickLoop<QuickTwice>(QuickProducts<T>{x, y}, count);
  }
  QuickPart part;
  if (fused && cut && count > quick_few && QuickCutLoop<true>(x, y, count, part)) return part;
  part = QuickLoop<typename QuickProducts<T>::Sums>(QuickProducts<T>{x, y}, count);
  // A product below the normal numbers and its error are rounded to multiples of the least number.
  if (std::is_same_v<T, double>) part.bound += static_cast<double>(count) * 0x1p-1073;
  return part;
}

// The first lane of a vector of results.
HWY_INLINE std::optional<double> QuickFirst(const QuickResults& results) {
  std::uint8_t bits[8] = {};
  hn::StoreMaskBits(QD(), results.sure, bits);
  return (bits[0] & 1) != 0 ? std::optional(hn::GetLane(results.numbers)) : std::nullopt;
}
std::optional<double> QuickDivided(const QuickTotals& of, double divisor, bool root, Dtype result) {
  if (result == Dtype::f32)
    return QuickFirst(root ? QuickRoot<float>(of, divisor) : QuickQuotient<float, false>(of, divisor));
  return QuickFirst(root ? QuickRoot<double>(of, divisor) : QuickQuotient<double, false>(of, divisor));
}
std::optional<double> QuickQuotientOf(const QuickPart& of, double divisor, bool root, Dtype result) {
  const QD d;
  return QuickDivided({hn::Set(d, of.sum), hn::Set(d, of.error), hn::Set(d, of.bound)}, divisor, root, result);
}
template <class T>
void QuickRowsBy(const T* x, const QuickRows& of, bool cut, double* results, std::uint8_t* sure) {
  const QD d;
  const std::size_t lanes = hn::Lanes(d);
  const auto divisor = static_cast<double>(of.divisor);
  HWY_ALIGN double parts[3][8] = {};
  for (std::uint64_t first = 0; first < of.rows; first += lanes) {
    const std::size_t here = std::min<std::uint64_t>(lanes, of.rows - first);
    for (std::size_t i = 0; i < here; ++i) {
      const QuickPart part = QuickSum(x + (first + i) * of.length, of.length, cut);
      parts[0][i] = part.sum;
      parts[1][i] = part.error;
      parts[2][i] = part.bound;
    }
    const QuickTotals totals{hn::Load(d, parts[0]), hn::Load(d, parts[1]), hn::Load(d, parts[2])};
    const QuickResults made = of.result == Dtype::f32 ? QuickQuotient<float, false>(totals, divisor)
                                                      : QuickQuotient<double, false>(totals, divisor);
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(d, made.sure, bits);
    HWY_ALIGN double numbers[8];
    hn::Store(made.numbers, d, numbers);
    for (std::size_t i = 0; i < here; ++i) {
      results[first + i] = numbers[i];
      sure[first + i] = bits[0] >> i & 1;
    }
  }
}
template <class T>
std::optional<double> QuickSpreadBy(const T* x, const QuickSpread& what) {
  double additions = 0;
  const auto all = QuickChains<QuickMoments>(QuickValues<T>{x}, what.count, additions);
  const auto n = static_cast<double>(what.count);
  const QuickTotals totals = QuickSpreadOf(all, n, hn::Set(QD(), QuickSpreadLost(additions)));
  return QuickDivided(totals, n * static_cast<double>(what.count - what.ddof), what.root, what.result);
}

#define MASU_QUICK(name, T)                                                                              \
  QuickPart QuickSum##name(const T* x, std::uint64_t count, bool cut) {                                  \
    return QuickSum(x, count, cut);                                                                      \
  }                                                                                                      \
  QuickPart QuickDot##name(const T* x, const T* y, std::uint64_t count, bool cut) {                      \
    return QuickDot(x, y, count, cut);                                                                   \
  }                                                                                                      \
  void QuickRows##name(const T* x, const QuickRows& of, bool cut, double* results, std::uint8_t* sure) { \
    QuickRowsBy(x, of, cut, results, sure);                                                              \
  }                                                                                                      \
  std::optional<double> QuickSpread##name(const T* x, const QuickSpread& what) {                         \
    return QuickSpreadBy(x, what);                                                                       \
  }
MASU_QUICK(F32, float)
MASU_QUICK(F64, double)
#undef MASU_QUICK

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {
namespace {

HWY_EXPORT(QuickSumF32);
HWY_EXPORT(QuickSumF64);
HWY_EXPORT(QuickDotF32);
HWY_EXPORT(QuickDotF64);
HWY_EXPORT(QuickRowsF32);
HWY_EXPORT(QuickRowsF64);
HWY_EXPORT(QuickSpreadF32);
HWY_EXPORT(QuickSpreadF64);
HWY_EXPORT(QuickQuotientOf);

}  // namespace

std::optional<double> quick_quotient(const QuickPart& total, double divisor, bool root, Dtype result) {
  return HWY_DYNAMIC_DISPATCH(QuickQuotientOf)(total, divisor, root, result);
}

namespace {

// From so many pieces on, threads share them.
constexpr std::uint64_t pieces_a_task = 8;

// The sum of part(first, n) of pieces, and of `addend`.
template <class Part>
QuickPart quick_pieces(std::uint64_t count, double addend, const Part& part) {
  const std::uint64_t pieces = (count + quick_piece - 1) / quick_piece;
  Compensated total;
  double bound = 0;
  total.add(addend);
  const auto take = [&](const QuickPart& found) {
    total.add(found.sum);
    total.add_error(found.error);
    bound += found.bound;
  };
  const auto piece = [&](std::uint64_t i) {
    return part(i * quick_piece, std::min(quick_piece, count - i * quick_piece));
  };
  if (pieces < 2 * pieces_a_task || cpu_threads() == 1) {
    for (std::uint64_t i = 0; i < pieces; ++i) take(piece(i));
  } else {
    std::vector<QuickPart> found(pieces);
    runtime::parallel_parts(pieces, pieces_a_task, [&](std::uint64_t first, std::uint64_t end) {
      for (std::uint64_t i = first; i < end; ++i) found[i] = piece(i);
    });
    for (const QuickPart& each : found) take(each);
  }
  // The bounds' own additions round too.
  const double additions = 2 * static_cast<double>(pieces) + 2;
  const double all = bound * (1 + additions * 0x1p-52) + total.bound();
  return QuickPart{total.sum, total.error, all};
}

std::optional<double> quick_result(const QuickPart& total, Dtype result, std::uint64_t divisor) {
  if (divisor >> 52 != 0) return std::nullopt;
  if (divisor != 1) return quick_quotient(total, static_cast<double>(divisor), false, result);
  return result == Dtype::f32 ? certain<float>(total.sum, total.error, total.bound)
                              : certain<double>(total.sum, total.error, total.bound);
}

// Numbers of f32 are cut only where they are few, as rests of f32 say too little of many.
template <class T>
bool is_cut(std::uint64_t count) {
  constexpr bool wide = std::is_same_v<T, double>;
  constexpr std::uint64_t fewest = wide ? quick_few : 256;
  constexpr std::uint64_t few = std::uint64_t{1} << 18;
  return count > fewest && (wide || count <= few);
}

// part(first, n, cut) of each piece. What cutting proves nothing of is added again as f64.
template <class T, class Part>
std::optional<double> quick_total(std::uint64_t count, Dtype result, std::uint64_t divisor, double addend,
                                  const Part& part) {
  const auto found = [&](bool cut) {
    const auto piece = [&](std::uint64_t first, std::uint64_t n) { return part(first, n, cut); };
    const bool several = count > quick_piece || addend != 0;
    return quick_result(several ? quick_pieces(count, addend, piece) : piece(0, count), result, divisor);
  };
  if (is_cut<T>(count)) {
    const std::optional<double> sure = found(true);
    if (sure || std::is_same_v<T, double>) return sure;
  }
  return found(false);
}

// Whether all are one finite number, of which a variance tells nothing else.
template <class T>
bool are_equal(const T* x, std::uint64_t count) {
  return std::isfinite(x[0]) && std::memcmp(x, x + 1, (count - 1) * sizeof(T)) == 0;
}

}  // namespace

#define MASU_QUICK(name, T)                                                                                     \
  std::optional<double> quick_sum(const T* x, std::uint64_t count, Dtype result, std::uint64_t divisor,         \
                                  double addend) {                                                              \
    return quick_total<T>(count, result, divisor, addend, [&](std::uint64_t first, std::uint64_t n, bool cut) { \
      return HWY_DYNAMIC_DISPATCH(QuickSum##name)(x + first, n, cut);                                           \
    });                                                                                                         \
  }                                                                                                             \
  void quick_sums(const T* x, const QuickRows& of, double* results, std::uint8_t* sure) {                       \
    HWY_DYNAMIC_DISPATCH(QuickRows##name)(x, of, is_cut<T>(of.length), results, sure);                          \
  }                                                                                                             \
  std::optional<double> quick_dot(const T* x, const T* y, std::uint64_t count, Dtype result) {                  \
    return quick_total<T>(count, result, 1, 0, [&](std::uint64_t first, std::uint64_t n, bool cut) {            \
      return HWY_DYNAMIC_DISPATCH(QuickDot##name)(x + first, y + first, n, cut);                                \
    });                                                                                                         \
  }                                                                                                             \
  std::optional<double> quick_spread(const T* x, const QuickSpread& what) {                                     \
    const std::optional<double> found = HWY_DYNAMIC_DISPATCH(QuickSpread##name)(x, what);                       \
    return !found && are_equal(x, what.count) ? 0 : found;                                                      \
  }
MASU_QUICK(F32, float)
MASU_QUICK(F64, double)
#undef MASU_QUICK

}  // namespace masu::cpu
#endif
