// SPDX-License-Identifier: Apache-2.0
#include "runtime/parallel.h"
#include "runtime/progress.h"
#include "sort/cpu/sort_cpu.h"

#include <masu/device.h>

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace masu::cpu {

namespace {

constexpr std::size_t by_digits_from = 1024;
constexpr std::size_t halves_by_digits_from = 192;  // keys of 16 bits: two digits alone, and vqsort is slow with AVX2
constexpr unsigned leaf_digit_bits = 8;
constexpr std::size_t leaf_digit_values = std::size_t{1} << leaf_digit_bits;

// vqsort packs keys of 16 and 32 bits by instructions that Zen 4 stores one by one: 24 ns a key of 32 bits, 5 by
// digits.
bool packs_slowly() {
#if defined(__x86_64__)
  static const bool slow = __builtin_cpu_is("amdfam19h") != 0 && __builtin_cpu_supports("avx512f") != 0;
  return slow;
#else
  return false;
#endif
}

}  // namespace

// The least digit first.
template <class Code>
void sort_leaf_by_digits(Code* codes, std::size_t count) {
  if (count < 2) return;
  const auto spare = std::make_unique_for_overwrite<Code[]>(count);
  using Bits = std::make_unsigned_t<Code>;
  constexpr unsigned passes = 8 * sizeof(Code) / leaf_digit_bits;
  constexpr Bits flip = std::is_signed_v<Code> ? static_cast<Bits>(std::numeric_limits<Code>::min()) : Bits{0};
  const auto digit = [](Code code, unsigned pass) {
    return (static_cast<Bits>(static_cast<Bits>(code) ^ flip) >> (pass * leaf_digit_bits)) % leaf_digit_values;
  };
  std::array<std::array<std::size_t, leaf_digit_values>, passes> places{};
  for (std::size_t i = 0; i < count; ++i) {
    for (unsigned pass = 0; pass < passes; ++pass) ++places[pass][digit(codes[i], pass)];
  }
  Code* from = codes;
  Code* to = spare.get();
  for (unsigned pass = 0; pass < passes; ++pass) {
    auto& place = places[pass];
    if (place[digit(codes[0], pass)] == count) continue;  // all have this digit
    std::size_t sum = 0;
    for (std::size_t& one : place) sum += std::exchange(one, sum);
    for (std::size_t i = 0; i < count; ++i) to[place[digit(from[i], pass)]++] = from[i];
    std::swap(from, to);
  }
  if (from != codes) std::copy(from, from + count, codes);
}
template void sort_leaf_by_digits(std::uint16_t* codes, std::size_t count);
template void sort_leaf_by_digits(std::int32_t* codes, std::size_t count);

template <class Code>
void sort_leaf(Code* codes, std::size_t count) {
  if constexpr (sizeof(Code) < 8) {
    if (sizeof(Code) == 2 ? count >= halves_by_digits_from : count >= by_digits_from && packs_slowly()) {
      try {
        return sort_leaf_by_digits(codes, count);
      } catch (const std::bad_alloc&) {  // the other way needs no memory
      }
    }
  }
  hwy::Sorter()(codes, count, hwy::SortAscending());
}
template void sort_leaf(std::uint16_t* codes, std::size_t count);
template void sort_leaf(std::int32_t* codes, std::size_t count);
template void sort_leaf(std::int64_t* codes, std::size_t count);

namespace {

constexpr std::size_t leaf_bytes = std::size_t{256} << 10;     // given to sort_leaf: a part of a core's own cache
constexpr std::size_t parallel_bytes = std::size_t{1} << 20;   // less is not worth a second thread
constexpr std::size_t worker_bytes = std::size_t{256} << 10;   // least part of a range that a thread partitions
constexpr std::size_t ranges_a_thread = 4;                     // so that threads end at the same time
constexpr std::size_t swap_elements = std::size_t{128} << 10;  // moved by one task
constexpr std::size_t samples_few = 63, samples_many = 511;

// A part of the array that holds all keys of some interval.
template <class Code>
struct Range {
  Code* begin;
  std::size_t count;
  bool is_coded;   // or bits as they came
  bool has_least;  // no code is less than `least`
  Code least;
};

template <class Code>
Code code_of(Code bits, Coding<Code> coding) {
  const bool turn = coding.is_float && bits < 0;
  return static_cast<Code>((turn ? bits ^ std::numeric_limits<Code>::max() : bits) ^ coding.flip);
}

template <class Code>
class QuickSort {
 public:
  explicit QuickSort(Coding<Code> coding) : coding_(coding) {}

  void sequential(Range<Code> range) const {
    sequential(range, 2 * static_cast<unsigned>(std::bit_width(range.count)) + 8);
  }
  void parallel(Range<Code> whole) const;

 private:
  void sequential(Range<Code> range, unsigned levels) const;
  void finish(Range<Code> range) const;
  [[nodiscard]] Code pivot_of(const Range<Code>& range, std::size_t samples) const;
  [[nodiscard]] std::vector<Range<Code>> split(const std::vector<Range<Code>>& ranges, std::size_t least) const;
  [[nodiscard]] Coding<Code> coding_of(const Range<Code>& range) const {
    return range.is_coded ? Coding<Code>{} : coding_;
  }
  Coding<Code> coding_;
};

template <class Code>
void QuickSort<Code>::finish(Range<Code> range) const {
  if (!range.is_coded && !coding_.is_identity()) code_loops<Code>().encode(range.begin, range.count, coding_);
  sort_leaf(range.begin, range.count);
  if (!coding_.is_identity()) code_loops<Code>().decode(range.begin, range.count, coding_);
  runtime::add_finished(range.count);
}

template <class Code>
Code QuickSort<Code>::pivot_of(const Range<Code>& range, std::size_t samples) const {
  Code sample[samples_many];
  // Places that no regular input follows. Who finds them out gains nothing: too deep a recursion ends in vqsort.
  std::uint64_t state = range.count;
  const std::size_t stride = range.count / samples;
  for (std::size_t i = 0; i < samples; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const Code bits = range.begin[i * stride + (state >> 33) % stride];
    sample[i] = range.is_coded ? bits : code_of(bits, coding_);
  }
  std::nth_element(sample, sample + samples / 2, sample + samples);
  return sample[samples / 2];
}

// No code is less than `least`, so codes that are equal to it are in order once they are set apart.
template <class Code>
bool is_least(const Range<Code>& range, Code pivot) {
  return range.has_least && pivot == range.least && pivot != std::numeric_limits<Code>::max();
}

template <class Code>
void QuickSort<Code>::sequential(Range<Code> range, unsigned levels) const {
  while (range.count * sizeof(Code) > leaf_bytes && levels-- != 0) {
    runtime::check_interrupted();
    const Code pivot = pivot_of(range, samples_few);
    const bool equal_first = is_least(range, pivot);
    const Code bound = static_cast<Code>(pivot + (equal_first ? 1 : 0));
    const std::size_t low = code_loops<Code>().partition(range.begin, range.count, bound, coding_of(range));
    if (equal_first) {
      if (!coding_.is_identity()) code_loops<Code>().decode(range.begin, low, coding_);
      runtime::add_finished(low);
    } else if (low != 0) {
      sequential({range.begin, low, true, range.has_least, range.least}, levels);
    }
    range = {range.begin + low, range.count - low, true, true, bound};
  }
  if (range.count != 0) finish(range);
}

// A thread's part of a range that several partition: mirrored, so that the lower codes of all meet at the left end and
// the others at the right one, and little is left to swap.
struct Part {
  std::size_t range, left, left_count, right, right_count;
  LowerCounts lower = {0, 0};
};

// What the parts have put on the wrong side of the boundary.
struct Swap {
  std::size_t range, high, low, count;
};

void plan_swaps(std::span<const Part> parts, std::size_t boundary, std::vector<Swap>& swaps) {
  struct Stretch {
    std::size_t begin, end;
  };
  std::vector<Stretch> high, low;
  const auto add = [&](std::size_t at, std::size_t lower, std::size_t count) {
    if (at + lower < std::min(at + count, boundary)) high.push_back({at + lower, std::min(at + count, boundary)});
    if (std::max(at, boundary) < at + lower) low.push_back({std::max(at, boundary), at + lower});
  };
  for (const Part& part : parts) {
    add(part.left, part.lower.left, part.left_count);
    add(part.right, part.lower.right, part.right_count);
  }
  for (std::size_t h = 0, l = 0; h < high.size() && l < low.size();) {
    const std::size_t count = std::min({high[h].end - high[h].begin, low[l].end - low[l].begin, swap_elements});
    swaps.push_back({parts[0].range, high[h].begin, low[l].begin, count});
    if ((high[h].begin += count) == high[h].end) ++h;
    if ((low[l].begin += count) == low[l].end) ++l;
  }
}

// Splits every range of more than `least` elements in two, all threads at work on all of them.
template <class Code>
std::vector<Range<Code>> QuickSort<Code>::split(const std::vector<Range<Code>>& ranges, std::size_t least) const {
  std::size_t total = 0;
  for (const Range<Code>& range : ranges) total += range.count;
  const std::size_t part_count = std::max(total / (2 * cpu_threads()) + 1, worker_bytes / sizeof(Code));
  std::vector<Part> parts;
  std::vector<std::size_t> first_part(ranges.size() + 1);
  std::vector<Code> bounds(ranges.size());
  std::vector<bool> equal_first(ranges.size());
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    first_part[r] = parts.size();
    const std::size_t count = ranges[r].count;
    if (count <= least) continue;
    const Code pivot = pivot_of(ranges[r], samples_many);
    equal_first[r] = is_least(ranges[r], pivot);
    bounds[r] = static_cast<Code>(pivot + (equal_first[r] ? 1 : 0));
    const std::size_t workers = (count - 1) / part_count + 1;
    const std::size_t half = count / 2;
    for (std::size_t w = 0; w < workers; ++w) {
      const std::size_t left = half * w / workers;
      const std::size_t left_end = half * (w + 1) / workers;
      const std::size_t right = w + 1 == workers ? half : count - left_end;
      parts.push_back({r, left, left_end - left, right, count - left - right});
    }
  }
  first_part[ranges.size()] = parts.size();
  runtime::parallel_tasks(parts.size(), [&](std::uint64_t p) {
    Part& part = parts[p];
    const Range<Code>& range = ranges[part.range];
    part.lower = code_loops<Code>().partition_two(range.begin + part.left, part.left_count, range.begin + part.right,
                                                  part.right_count, bounds[part.range], coding_of(range));
  });
  std::vector<Range<Code>> result;
  std::vector<Swap> swaps;
  std::vector<Range<Code>> equal;
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    const Range<Code>& range = ranges[r];
    if (range.count <= least) {
      result.push_back(range);
      continue;
    }
    std::size_t low = 0;
    const std::span<const Part> own(parts.data() + first_part[r], first_part[r + 1] - first_part[r]);
    for (const Part& part : own) low += part.lower.left + part.lower.right;
    plan_swaps(own, low, swaps);
    const Range<Code> lower = {range.begin, low, true, range.has_least, range.least};
    if (equal_first[r]) equal.push_back(lower);
    else if (low != 0) result.push_back(lower);
    if (low != range.count) result.push_back({range.begin + low, range.count - low, true, true, bounds[r]});
  }
  runtime::parallel_tasks(swaps.size(), [&](std::uint64_t s) {
    Code* const begin = ranges[swaps[s].range].begin;
    std::swap_ranges(begin + swaps[s].high, begin + swaps[s].high + swaps[s].count, begin + swaps[s].low);
  });
  runtime::parallel_tasks(equal.size(), [&](std::uint64_t e) {
    if (!coding_.is_identity()) code_loops<Code>().decode(equal[e].begin, equal[e].count, coding_);
    runtime::add_finished(equal[e].count);
  });
  return result;
}

template <class Code>
void QuickSort<Code>::parallel(Range<Code> whole) const {
  const std::size_t wanted = ranges_a_thread * cpu_threads();
  const std::size_t least = std::max(whole.count / wanted, leaf_bytes / sizeof(Code));
  std::vector<Range<Code>> ranges = {whole};
  for (unsigned level = 0; level < 2U * static_cast<unsigned>(std::bit_width(wanted)) && ranges.size() < wanted;
       ++level) {
    ranges = split(ranges, least);
  }
  std::ranges::sort(ranges, std::ranges::greater(), &Range<Code>::count);
  runtime::parallel_tasks(ranges.size(), [&](std::uint64_t r) { sequential(ranges[r]); });
}

}  // namespace

template <class Code>
void quick_sort(Code* bits, std::size_t count, Coding<Code> coding, Threads threads) {
  const QuickSort<Code> sort(coding);
  const Range<Code> whole = {bits, count, false, false, Code{0}};
  if (threads == Threads::all && count * sizeof(Code) >= parallel_bytes && cpu_threads() > 1) sort.parallel(whole);
  else sort.sequential(whole);
}
template void quick_sort(std::int32_t* bits, std::size_t count, Coding<std::int32_t> coding, Threads threads);
template void quick_sort(std::int64_t* bits, std::size_t count, Coding<std::int64_t> coding, Threads threads);

}  // namespace masu::cpu
