// SPDX-License-Identifier: Apache-2.0
// Sums of doubles, exactly, in doubles. A level is an accumulator that begins as 1.5 * 2^k and stays between 2^k and
// 2^(k+1): there, doubles are multiples of one unit, 2^(k-52), so t = a + x, rounded, adds a multiple of the unit
// exactly, and x - (t - a) is the exact rest of at most half a unit. The next level, 51 - room bits lower, takes the
// rest. What is left after the last level must be zero, and |x| at most 2^(k-2-room), so that 2^room additions stay
// inside; where one of the two fails, the block's additions are undone and it goes another way. README.md has the
// proof.
#if defined(MASU_SUM_WINDOW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MASU_SUM_WINDOW_INL_H
#undef MASU_SUM_WINDOW_INL_H
#else
#define MASU_SUM_WINDOW_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;

inline constexpr int room = 10;               // an accumulator takes 2^this numbers
inline constexpr int level_bits = 51 - room;  // from one level to the next
inline constexpr std::size_t chains = 4;      // accumulators of a level, so that additions need not wait for each other
inline constexpr std::size_t block_steps = 16;
inline constexpr std::size_t prefetched = 1024;  // bytes ahead
inline constexpr int highest_base = 1023;
inline constexpr int lowest_base = -1022;

// Where the numbers come from: vectors of doubles, and how elements are added that do not go this way. `first` and
// `second` are the levels that are tried.
template <class T>
struct ValuesOf {
  static constexpr bool pairs = false;
  static constexpr int first = std::is_same_v<T, float> ? 1 : 2;
  static constexpr int second = 2 * first;
  using Bins = NumberBins<T>;
  const T* x;
  HWY_INLINE V Get(std::size_t i) const {
    if constexpr (std::is_same_v<T, float>) {
      const hn::Rebind<float, D> half;
      return hn::PromoteTo(D(), hn::LoadU(half, x + i));
    } else {
      return hn::LoadU(D(), x + i);
    }
  }
  HWY_INLINE void Prefetch(std::size_t i) const { hwy::Prefetch(reinterpret_cast<const char*>(x + i) + prefetched); }
  void Plain(std::size_t i, std::size_t count, fixed::Sum& total) const { add_plain(x + i, count, total); }
  HWY_INLINE double Number(std::size_t i) const { return static_cast<double>(x[i]); }
  bool AreFinite(std::size_t count) const {
    const hn::ScalableTag<T> d;
    const auto largest = hn::Set(d, std::numeric_limits<T>::max());
    auto finite = hn::Eq(largest, largest);
    std::size_t i = 0;
    for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
      finite = hn::And(finite, hn::Le(hn::Abs(hn::LoadU(d, x + i)), largest));
    }
    bool rest = true;
    for (; i < count; ++i) rest = rest && std::isfinite(x[i]);
    return rest && hn::AllTrue(d, finite);
  }
  ValuesOf From(std::size_t i) const { return {x + i}; }
};

// A product of two f32 is a double. That of two f64 is the sum of two, the second being what the first one lacks: which
// needs a fused multiplication, and that the product is so large that no bit lies below the smallest subnormal.
template <class T>
struct ProductsOf {
  static constexpr bool pairs = std::is_same_v<T, double>;
  static constexpr int first = pairs ? 4 : 2;
  static constexpr int second = 4;
  using Bins = std::conditional_t<pairs, ProductBins, NumberBins<double>>;
  const T* x;
  const T* y;
  HWY_INLINE V Get(std::size_t i) const { return hn::Mul(ValuesOf<T>{x}.Get(i), ValuesOf<T>{y}.Get(i)); }
  HWY_INLINE void Prefetch(std::size_t i) const {
    ValuesOf<T>{x}.Prefetch(i);
    ValuesOf<T>{y}.Prefetch(i);
  }
  void Plain(std::size_t i, std::size_t count, fixed::Products& total) const { add_plain(x + i, y + i, count, total); }
  HWY_INLINE double Number(std::size_t i) const { return static_cast<double>(x[i]) * static_cast<double>(y[i]); }
  bool AreFinite(std::size_t count) const { return ValuesOf<T>{x}.AreFinite(count) && ValuesOf<T>{y}.AreFinite(count); }
  ProductsOf From(std::size_t i) const { return {x + i, y + i}; }
};
inline constexpr double least_product = 0x1p-960;

template <int levels>
struct Window {
  double base[levels];
  int top;
  explicit Window(int k) : top(k) {
    for (int l = 0; l < levels; ++l) base[l] = std::ldexp(1.5, k - l * level_bits);
  }
  static constexpr int least = lowest_base + (levels - 1) * level_bits;
};

template <int levels>
struct Accumulators {
  V at[levels][chains];
  HWY_INLINE explicit Accumulators(const Window<levels>& window) {
    for (int l = 0; l < levels; ++l) {
      for (std::size_t c = 0; c < chains; ++c) at[l][c] = hn::Set(D(), window.base[l]);
    }
  }
};

// The accumulators' sums to the total. Their bits are as many units away from the base's as the sum has.
template <int levels, class Total>
HWY_NOINLINE void Flush(const Window<levels>& window, const Accumulators<levels>& a, Total& total) {
  const D d;
  const hn::RebindToSigned<D> di;
  HWY_ALIGN std::int64_t lanes[HWY_MAX_BYTES / sizeof(std::int64_t)];
  for (int l = 0; l < levels; ++l) {
    const auto base = hn::BitCast(di, hn::Set(d, window.base[l]));
    auto sum = hn::Zero(di);
    for (std::size_t c = 0; c < chains; ++c) {
      sum = hn::Add(sum, hn::Sub(hn::BitCast(di, a.at[l][c]), base));
    }
    hn::Store(sum, di, lanes);
    std::int64_t units = 0;
    for (std::size_t i = 0; i < hn::Lanes(di); ++i) units += lanes[i];
    total.add(units, window.top - l * level_bits - 52);
  }
}

// Adds x to the levels from `from` on and gives what is left. All subscripts are constants, so accumulators are
// registers.
template <int from, std::size_t chain, int levels>
HWY_INLINE V Split(V x, Accumulators<levels>& a) {
  if constexpr (from < levels) {
    const V sum = hn::Add(a.at[from][chain], x);
    const V rest = hn::Sub(x, hn::Sub(sum, a.at[from][chain]));
    a.at[from][chain] = sum;
    return Split<from + 1, chain>(rest, a);
  } else {
    return x;
  }
}

// What the numbers of a block must fulfil.
struct Watch {
  V limit;
  hn::Mask<D> inside;
  V left;
};

template <std::size_t chain, class Source, int levels>
HWY_INLINE void AddOne(const Source& source, std::size_t at, Accumulators<levels>& a, Watch& watch) {
  const D d;
  source.Prefetch(at);
  if constexpr (Source::pairs) {
    const V zero = hn::Zero(d);
    const V x = hn::LoadU(d, source.x + at);
    const V y = hn::LoadU(d, source.y + at);
    const V product = hn::Mul(x, y);
    const V magnitude = hn::Abs(product);
    const auto large = hn::And(hn::Ge(magnitude, hn::Set(d, least_product)), hn::Le(magnitude, watch.limit));
    const auto none = hn::And(hn::Eq(product, zero), hn::Or(hn::Eq(x, zero), hn::Eq(y, zero)));
    watch.inside = hn::And(watch.inside, hn::Or(large, none));
    watch.left = hn::Or(watch.left, Split<0, chain>(product, a));
    watch.left = hn::Or(watch.left, Split<1, chain>(hn::MulSub(x, y, product), a));
  } else {
    const V x = source.Get(at);
    watch.inside = hn::And(watch.inside, hn::Le(hn::Abs(x), watch.limit));
    watch.left = hn::Or(watch.left, Split<0, chain>(x, a));
  }
}

// Adds whole blocks until one does not fit the window; gives the number of elements that were added. `count` is a
// multiple of a block.
template <int levels, class Source, class Total>
HWY_NOINLINE std::size_t Run(const Source& source, std::size_t count, const Window<levels>& window, Total& total) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t numbers = Source::pairs ? 2 : 1;
  constexpr std::size_t blocks_before_flush = (std::size_t{1} << room) / (block_steps * numbers);
  const V limit = hn::Set(d, std::ldexp(1.0, window.top - 2 - room));
  const V zero = hn::Zero(d);
  Accumulators<levels> a(window);
  std::size_t i = 0;
  std::size_t blocks = 0;
  static_assert(chains == 4);
  for (; i < count; i += block_steps * chains * lanes) {
    const Accumulators<levels> before = a;
    Watch watch{limit, hn::Eq(zero, zero), zero};
    for (std::size_t step = 0; step < block_steps; ++step) {
      const std::size_t at = i + step * chains * lanes;
      AddOne<0>(source, at, a, watch);
      AddOne<1>(source, at + lanes, a, watch);
      AddOne<2>(source, at + 2 * lanes, a, watch);
      AddOne<3>(source, at + 3 * lanes, a, watch);
    }
    if (!hn::AllTrue(d, hn::And(watch.inside, hn::Eq(watch.left, zero)))) {
      a = before;
      break;
    }
    if (++blocks == blocks_before_flush) {
      const Accumulators<levels> full = a;
      Flush(window, full, total);
      a = Accumulators<levels>(window);
      blocks = 0;
    }
  }
  if (blocks != 0) {
    const Accumulators<levels> full = a;
    Flush(window, full, total);
  }
  return i;
}

// The exponent of the greatest magnitude of a block; nothing where a number is not finite, or all are 0.
template <class Source>
std::optional<int> TopExponent(const Source& source, std::size_t count) {
  const D d;
  V top = hn::Zero(d);
  const V largest = hn::Set(d, std::numeric_limits<double>::max());
  auto finite = hn::Eq(top, top);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const V x = hn::Abs(source.Get(i));
    finite = hn::And(finite, hn::Le(x, largest));
    top = hn::Max(top, x);
  }
  if (!hn::AllTrue(d, finite)) return std::nullopt;
  const double magnitude = hn::GetLane(hn::MaxOfLanes(d, top));
  return magnitude == 0 ? lowest_base : std::ilogb(magnitude);
}

// Tries a window that suits the block that comes first.
template <int levels, class Source, class Total>
std::size_t RunFitted(const Source& source, std::size_t count, int top, Total& total) {
  constexpr int slack = 2;  // so that what follows may be a little larger
  const int k = std::max(top + 1 + slack + 2 + room, Window<levels>::least);
  return k > highest_base ? 0 : Run(source, count, Window<levels>(k), total);
}

template <class Source, class Total>
class Adder {
 public:
  explicit Adder(Total& total) : total_(total) {}
  ~Adder() {
    if (bins_) bins_->Give(total_);
  }
  Adder(const Adder&) = delete;
  Adder& operator=(const Adder&) = delete;

  // Whole blocks.
  void Add(const Source& source, std::size_t count, std::size_t block) {
    for (std::size_t i = 0; i < count;) {
      const Source rest = source.From(i);
      if (const std::optional<int> top = Fused() ? TopExponent(rest, block) : std::nullopt) {
        std::size_t done = RunFitted<Source::first>(rest, count - i, *top, total_);
        if (done == 0 && Source::second != Source::first) {
          done = RunFitted<Source::second>(rest, count - i, *top, total_);
        }
        i += done;
        if (done != 0) {
          if (done > block) behind_ = 1;
          continue;
        }
      }
      // Exponents are too far apart: so they will be for a while.
      const std::size_t end = std::min(count, i + behind_ * block);
      behind_ = std::min(2 * behind_, most_behind);
      AddAny(source, i, end);
      i = end;
    }
  }
  // Elements one by one, in bins if there are enough.
  void AddAny(const Source& source, std::size_t i, std::size_t end) {
    if (!bins_) {
      if (end - i + plain_ < least_binned) {
        plain_ += end - i;
        return source.Plain(i, end - i, total_);
      }
      bins_.emplace();
    }
    for (; i < end; i += bin_chunk) {
      const std::size_t count = std::min(bin_chunk, end - i);
      // What is added twice does not matter: with a number that is not finite, the sum is none.
      if (!bins_->Add(source.From(i), count)) source.Plain(i, count, total_);
      if (++chunks_ == chunks_before_give) {
        bins_->Give(total_);
        chunks_ = 0;
      }
    }
  }

 private:
  static constexpr bool Fused() { return !Source::pairs || HWY_NATIVE_FMA != 0; }
  static constexpr std::size_t most_behind = 64;
  static constexpr std::size_t least_binned = 1024;
  Total& total_;
  std::optional<typename Source::Bins> bins_;
  std::size_t chunks_ = 0;  // in the bins
  std::size_t plain_ = 0;
  std::size_t behind_ = 1;
};

template <class T>
ValuesOf<T> Padded(const ValuesOf<T>& source, std::size_t count, std::size_t block, T* memory) {
  std::copy_n(source.x, count, memory);
  std::fill(memory + count, memory + block, T{0});
  return {memory};
}
template <class T>
ProductsOf<T> Padded(const ProductsOf<T>& source, std::size_t count, std::size_t block, T* memory) {
  std::copy_n(source.x, count, memory);
  std::fill(memory + count, memory + block, T{0});
  if (source.x == source.y) return {memory, memory};
  std::copy_n(source.y, count, memory + block);
  std::fill(memory + block + count, memory + 2 * block, T{0});
  return {memory, memory + block};
}

template <template <class> class Source, class T, class Total>
void AddReal(const Source<T>& source, std::uint64_t count, Total& total) {
  constexpr std::size_t least = 24;  // what is worth a block
  if (count < least) return source.Plain(0, count, total);
  const std::size_t block = block_steps * chains * hn::Lanes(D());
  Adder<Source<T>, Total> adder(total);
  HWY_ALIGN T memory[2 * block_steps * chains * HWY_MAX_BYTES / sizeof(double)];
  const auto add_padded = [&](std::size_t first, std::size_t length) {
    if (length < least) return source.Plain(first, length, total);
    adder.Add(Padded(source.From(first), length, block, memory), block, block);
  };
  // Whole vectors from a cache line on: others would be read in two.
  constexpr std::size_t line = 64;
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(source.x) % line / sizeof(T);
  const std::size_t head = count < 4 * block || misaligned == 0 ? 0 : line / sizeof(T) - misaligned;
  const std::size_t whole = (count - head) / block * block;
  if (head != 0) add_padded(0, head);
  adder.Add(source.From(head), whole, block);
  add_padded(head + whole, count - head - whole);
}

// Stored floats become f32 in pieces.
template <class T>
void ToFloats(const T* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = to_float(from[i]);
}
inline constexpr std::size_t stored_piece = 4096;

template <class T, class Total>
requires is_stored<T>
void AddReal(const ValuesOf<T>& source, std::uint64_t count, Total& total) {
  HWY_ALIGN float x[stored_piece];
  for (std::uint64_t first = 0; first < count; first += stored_piece) {
    const std::size_t length = std::min<std::uint64_t>(stored_piece, count - first);
    ToFloats(source.x + first, length, x);
    AddReal(ValuesOf<float>{x}, length, total);
  }
}
template <class T, class Total>
requires is_stored<T>
void AddReal(const ProductsOf<T>& source, std::uint64_t count, Total& total) {
  HWY_ALIGN float x[stored_piece];
  HWY_ALIGN float y[stored_piece];
  for (std::uint64_t first = 0; first < count; first += stored_piece) {
    const std::size_t length = std::min<std::uint64_t>(stored_piece, count - first);
    ToFloats(source.x + first, length, x);
    ToFloats(source.y + first, length, y);
    AddReal(ProductsOf<float>{x, y}, length, total);
  }
}

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
