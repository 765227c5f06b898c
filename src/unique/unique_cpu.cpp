// SPDX-License-Identifier: Apache-2.0
#include "unique/unique_cpu.h"

#include "call/operands.h"
#include "elements/order.h"
#include "runtime/parallel.h"
#include "unique/unique_plan.h"

#include <masu/buffer.h>
#include <masu/histogram.h>
#include <masu/sort.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <type_traits>

namespace masu {

namespace {

constexpr std::uint64_t word_bits = 64;
constexpr std::uint64_t unique_task_elements = std::uint64_t{1} << 17;
// On the CPU fewer elements of 16 bits than this are sorted sooner than they are counted.
constexpr std::uint64_t least_counted_here = std::uint64_t{1} << 20;
constexpr std::uint64_t least_counted_with_places = std::uint64_t{1} << 18;
constexpr std::uint64_t least_counted_bytes = std::uint64_t{1} << 10;  // of 8 bits
constexpr std::uint64_t task_words = unique_task_elements / word_bits;

// Calls f with the place of each element in the order.
template <class F>
void with_order(const CpuOrder& order, const F& f) {
  if (order.places == nullptr) {
    f([](std::uint64_t e) { return e; });
  } else if (order.dtype == Dtype::u32) {
    f([places = static_cast<const std::uint32_t*>(order.places)](std::uint64_t e) { return std::uint64_t{places[e]}; });
  } else {
    f([places = static_cast<const std::uint64_t*>(order.places)](std::uint64_t e) { return places[e]; });
  }
}

}  // namespace

CpuRunFinder::CpuRunFinder(const ArrayView& data)
    : data_(data),
      mask_((data.count + word_bits - 1) / word_bits),
      tasks_((data.count + unique_task_elements - 1) / unique_task_elements + 1) {
  // First each task notes its own, one place further on; then they are added up.
  runtime::parallel_tasks(tasks_.size() - 1, [&](std::uint64_t t) {
    const std::uint64_t first = t * unique_task_elements;
    const std::uint64_t count = std::min(unique_task_elements, data_.count - first);
    const std::uint64_t word = t * task_words;
    const std::uint64_t end = word + (count + word_bits - 1) / word_bits;
    mark_starts(data_.dtype, static_cast<const std::byte*>(data_.data) + first * size_of(data_.dtype), count, t != 0,
                reinterpret_cast<std::uint8_t*>(mask_.data() + word));
    Task& next = tasks_[t + 1];
    for (std::uint64_t w = word; w < end; ++w) next.runs_before += static_cast<unsigned>(std::popcount(mask_[w]));
    for (std::uint64_t w = end; w-- > word;) {
      if (mask_[w] == 0) continue;
      next.last_before = w * word_bits + static_cast<unsigned>(std::bit_width(mask_[w])) - 1;
      break;
    }
  });
  for (std::size_t t = 1; t < tasks_.size(); ++t) {
    if (tasks_[t].runs_before == 0) tasks_[t].last_before = tasks_[t - 1].last_before;
    tasks_[t].runs_before += tasks_[t - 1].runs_before;
  }
  runs_ = tasks_.back().runs_before;
}

template <class Bits>
void CpuRunFinder::write_as(void* values, std::uint64_t* lengths, std::uint64_t* starts, const CpuOrder& order) const {
  const auto* from = static_cast<const Bits*>(data_.data);
  auto* to = static_cast<Bits*>(values);
  with_order(order, [&](const auto& place) {
    runtime::parallel_tasks(tasks_.size() - 1, [&](std::uint64_t t) {
      std::uint64_t run = tasks_[t].runs_before;
      std::uint64_t last = tasks_[t].last_before;
      const auto write_run = [&](std::uint64_t e) {
        if (to != nullptr) to[run] = from[e];
        if (lengths != nullptr && run != 0) lengths[run - 1] = e - last;
        if (starts != nullptr) starts[run] = place(e);
        last = e;
        ++run;
      };
      const std::uint64_t end = std::min<std::uint64_t>(mask_.size(), (t + 1) * task_words);
      for (std::uint64_t w = t * task_words; w < end; ++w) {
        const std::uint64_t first = w * word_bits;
        if (mask_[w] == ~std::uint64_t{0}) {
          // All are runs of one: plain copies, which vectors do.
          if (to != nullptr) std::memcpy(to + run, from + first, word_bits * sizeof(Bits));
          if (lengths != nullptr && run != 0) lengths[run - 1] = first - last;
          if (lengths != nullptr) std::fill_n(lengths + run, word_bits - 1, 1);
          for (std::uint64_t i = 0; starts != nullptr && i < word_bits; ++i) starts[run + i] = place(first + i);
          last = first + word_bits - 1;
          run += word_bits;
          continue;
        }
        for (std::uint64_t bits = mask_[w]; bits != 0; bits &= bits - 1) {
          write_run(first + static_cast<unsigned>(std::countr_zero(bits)));
        }
      }
    });
  });
  if (lengths != nullptr && runs_ != 0) lengths[runs_ - 1] = data_.count - tasks_.back().last_before;
}

void CpuRunFinder::write(void* values, std::uint64_t* lengths, std::uint64_t* starts, const CpuOrder& order) const {
  dispatch(data_.dtype, [&](auto tag) {
    write_as<UnsignedOf<sizeof(typename decltype(tag)::type)>>(values, lengths, starts, order);
  });
}

void CpuRunFinder::write_inverse(const CpuOrder& order, std::uint64_t* inverse) const {
  with_order(order, [&](const auto& place) {
    runtime::parallel_tasks(tasks_.size() - 1, [&](std::uint64_t t) {
      std::uint64_t up_to = tasks_[t].runs_before;  // runs that start at or before an element
      const std::uint64_t end = std::min(data_.count, (t + 1) * unique_task_elements);
      for (std::uint64_t e = t * unique_task_elements; e < end; ++e) {
        up_to += mask_[e / word_bits] >> (e % word_bits) & 1U;
        inverse[place(e)] = up_to - 1;
      }
    });
  });
}

void unique_cpu(const ArrayView& data, const UniqueOptions& options, const detail::UniqueMemory& results) {
  if (data.count == 0) {
    (void)results.values(0);
    return;
  }
  const bool placed = options.indices || options.inverse;
  const std::uint64_t wide = placed ? least_counted_with_places : least_counted_here;
  if (size_of(data.dtype) <= 2 && data.count >= (size_of(data.dtype) == 1 ? least_counted_bytes : wide)) {
    return unique_by_counting(data, options, results);
  }
  const Device cpu = Device::open("cpu");
  const std::uint64_t bytes = data.count * size_of(data.dtype);
  const Buffer<std::byte> sorted(cpu, bytes);  // in large pages
  const MutableArrayView keys(data.dtype, call::host_address(sorted), data.count);
  CpuOrder order;
  std::unique_ptr<std::byte[]> places;
  if (options.indices || options.inverse) {
    const std::size_t size = unique_plan::index_bytes(data.count);
    order.dtype = size == 4 ? Dtype::u32 : Dtype::u64;
    places = std::make_unique_for_overwrite<std::byte[]>(data.count * size);
    order.places = places.get();
    const auto fill = [&](auto* all) {
      runtime::parallel_parts(data.count, unique_task_elements, [&](std::uint64_t first, std::uint64_t end) {
        const std::uint64_t at = first * size_of(data.dtype);
        std::memcpy(static_cast<std::byte*>(keys.data) + at, static_cast<const std::byte*>(data.data) + at,
                    (end - first) * size_of(data.dtype));
        std::iota(all + first, all + end, static_cast<std::remove_pointer_t<decltype(all)>>(first));
      });
    };
    size == 4 ? fill(reinterpret_cast<std::uint32_t*>(places.get()))
              : fill(reinterpret_cast<std::uint64_t*>(places.get()));
    sort_by_key(cpu, keys, RecordsView(places.get(), size, data.count));
  } else {
    sort(cpu, data, keys);
  }
  const CpuRunFinder finder(keys);
  void* distinct = results.values(finder.runs());
  std::uint64_t* const counts = options.counts ? numbers_of(results.counts, finder.runs()) : nullptr;
  std::uint64_t* const indices = options.indices ? numbers_of(results.indices, finder.runs()) : nullptr;
  finder.write(distinct, counts, indices, order);
  if (options.inverse) finder.write_inverse(order, numbers_of(results.inverse, data.count));
}

// Distinct values of 8- and 16-bit data, from how often each pattern of bits occurs.

namespace {

constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t counted_task_elements = std::uint64_t{1} << 16;

// Calls f with the elements as patterns.
template <class F>
void with_patterns(const ArrayView& data, const F& f) {
  if (size_of(data.dtype) == 1) f(static_cast<const std::uint8_t*>(data.data));
  else f(static_cast<const std::uint16_t*>(data.data));
}

// Where each value is first, looking only at those in `wanted`, which are found soon as a rule.
std::vector<std::uint64_t> first_places(const ArrayView& data, const CountedValues& found,
                                        const std::vector<std::uint16_t>& wanted) {
  std::vector<std::uint64_t> first(found.values.size(), none);
  std::vector<char> is_wanted(found.values.size());
  for (const std::uint16_t place : wanted) is_wanted[place] = 1;
  with_patterns(data, [&](const auto* elements) {
    // Looks at elements [e, end) until no place is missing, whose number it returns.
    const auto look = [&](std::uint64_t e, std::uint64_t end, std::size_t missing, std::vector<std::uint64_t>& places) {
      for (; e < end && missing != 0; ++e) {
        const std::uint16_t place = found.places[elements[e]];
        if (places[place] != none || is_wanted[place] == 0) continue;
        places[place] = e;
        --missing;
      }
      return missing;
    };
    // The beginning alone has most of them; then a share for each thread.
    const std::uint64_t begin = std::min(data.count, 16 * counted_task_elements);
    const std::size_t missing = look(0, begin, wanted.size(), first);
    if (missing == 0 || begin == data.count) return;
    std::mutex mutex;
    const std::vector<std::uint64_t> before = first;
    runtime::for_stripes(data.count - begin, cpu_threads(), [&](std::uint64_t from, std::uint64_t to, std::uint64_t) {
      std::vector<std::uint64_t> own = before;
      (void)look(begin + from, begin + to, missing, own);
      const std::lock_guard lock(mutex);
      for (std::size_t v = 0; v < first.size(); ++v) first[v] = std::min(first[v], own[v]);
    });
  });
  return first;
}

}  // namespace

PatternType pattern_type(Dtype dtype) noexcept {
  return size_of(dtype) == 1 ? PatternType{Dtype::u8, 256} : PatternType{Dtype::u16, 65536};
}

CountedValues counted_values(Dtype dtype, const std::vector<std::uint64_t>& counts) {
  // Which patterns have each key: one, but for zeros and NaNs.
  const std::size_t patterns = counts.size();
  std::vector<std::uint64_t> of_key(patterns);
  std::vector<std::uint16_t> pattern_of(patterns);
  std::vector<std::uint16_t> keys(patterns);
  std::vector<char> several(patterns);
  dispatch(dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (sizeof(T) <= 2) {
      for (std::size_t p = 0; p < patterns; ++p) {
        keys[p] = ordered_key(std::bit_cast<T>(static_cast<UnsignedOf<sizeof(T)>>(p)));
        if (counts[p] == 0) continue;
        several[keys[p]] = static_cast<char>(of_key[keys[p]] != 0);
        of_key[keys[p]] += counts[p];
        pattern_of[keys[p]] = static_cast<std::uint16_t>(p);
      }
    }
  });
  CountedValues found;
  std::vector<std::uint16_t> place_of(patterns);
  for (std::size_t key = 0; key < patterns; ++key) {
    if (of_key[key] == 0) continue;
    place_of[key] = static_cast<std::uint16_t>(found.values.size());
    if (several[key] != 0) found.several.push_back(place_of[key]);
    found.values.push_back(pattern_of[key]);
    found.counts.push_back(of_key[key]);
  }
  found.places.resize(patterns);
  for (std::size_t p = 0; p < patterns; ++p) found.places[p] = place_of[keys[p]];
  return found;
}

void unique_by_counting(const ArrayView& data, const UniqueOptions& options, const detail::UniqueMemory& results) {
  const PatternType type = pattern_type(data.dtype);
  const Histogram histogram =
      masu::histogram(Device::open("cpu"), ArrayView(type.dtype, data.data, data.count), Bins::integers(type.patterns));
  CountedValues found = counted_values(data.dtype, {histogram.counts().begin(), histogram.counts().end()});
  std::vector<std::uint16_t> wanted = found.several;
  if (options.indices) {
    wanted.resize(found.values.size());
    for (std::size_t v = 0; v < wanted.size(); ++v) wanted[v] = static_cast<std::uint16_t>(v);
  }
  std::vector<std::uint64_t> first = first_places(data, found, wanted);
  with_patterns(data, [&](const auto* elements) {
    for (const std::uint16_t place : found.several) found.values[place] = elements[first[place]];
    using Pattern = std::remove_cvref_t<decltype(*elements)>;
    auto* to = static_cast<Pattern*>(results.values(found.values.size()));
    for (std::size_t v = 0; v < found.values.size(); ++v) to[v] = static_cast<Pattern>(found.values[v]);
    if (!options.inverse) return;
    std::uint64_t* const inverse = numbers_of(results.inverse, data.count);
    runtime::parallel_parts(data.count, counted_task_elements, [&](std::uint64_t first, std::uint64_t end) {
      for (std::uint64_t e = first; e < end; ++e) inverse[e] = found.places[elements[e]];
    });
  });
  if (options.counts) std::ranges::copy(found.counts, numbers_of(results.counts, found.counts.size()));
  if (options.indices) std::ranges::copy(first, numbers_of(results.indices, first.size()));
}

}  // namespace masu
