// SPDX-License-Identifier: Apache-2.0
#include "unique/unique_cpu.h"

#include "elements/order.h"
#include "runtime/parallel.h"

#include <masu/histogram.h>

#include <algorithm>
#include <limits>
#include <mutex>

namespace masu {

namespace {

constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t task_elements = std::uint64_t{1} << 16;

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
    std::size_t missing = wanted.size();
    // The beginning alone has most of them; then a share for each thread.
    std::uint64_t e = 0;
    for (const std::uint64_t end = std::min(data.count, 16 * task_elements); e < end && missing != 0; ++e) {
      const std::uint16_t place = found.places[elements[e]];
      if (first[place] != none || is_wanted[place] == 0) continue;
      first[place] = e;
      --missing;
    }
    if (missing == 0 || e == data.count) return;
    const std::uint64_t shares = cpu_threads();
    const std::uint64_t share = (data.count - e + shares - 1) / shares;
    std::mutex mutex;
    const std::vector<std::uint64_t> before = first;
    runtime::parallel_tasks(shares, [&](std::uint64_t s) {
      std::vector<std::uint64_t> own = before;
      std::size_t own_missing = missing;
      const std::uint64_t end = std::min(data.count, e + (s + 1) * share);
      for (std::uint64_t i = std::min(data.count, e + s * share); i < end && own_missing != 0; ++i) {
        const std::uint16_t place = found.places[elements[i]];
        if (own[place] != none || is_wanted[place] == 0) continue;
        own[place] = i;
        --own_missing;
      }
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
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
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
    runtime::parallel_tasks((data.count + task_elements - 1) / task_elements, [&](std::uint64_t t) {
      const std::uint64_t end = std::min(data.count, (t + 1) * task_elements);
      for (std::uint64_t e = t * task_elements; e < end; ++e) inverse[e] = found.places[elements[e]];
    });
  });
  if (options.counts) std::ranges::copy(found.counts, numbers_of(results.counts, found.counts.size()));
  if (options.indices) std::ranges::copy(first, numbers_of(results.indices, first.size()));
}

}  // namespace masu
