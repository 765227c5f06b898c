// SPDX-License-Identifier: Apache-2.0
#include "sort_check.h"

#include "elements/stored_float.h"
#include "runtime/parallel.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <type_traits>
#include <vector>

namespace masu::bench {
namespace {

constexpr std::uint64_t task_elements = std::uint64_t{1} << 18;
constexpr std::uint64_t odd = 0x9e3779b97f4a7c15U;  // of a polynomial's variable, and of segments

std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93U;
  z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93U;
  return z ^ (z >> 32);
}

template <class T>
auto bits_of(T value) {
  if constexpr (is_stored<T>) return value.bits;
  else if constexpr (std::is_same_v<T, float>) return std::bit_cast<std::uint32_t>(value);
  else if constexpr (std::is_same_v<T, double>) return std::bit_cast<std::uint64_t>(value);
  else return static_cast<std::make_unsigned_t<T>>(value);
}

template <class T>
constexpr bool floating = is_float(dtype_of<T>);

// Of floats the magnitude: all but the sign; and from where on it is a NaN.
template <class T>
constexpr std::uint64_t magnitude_mask = ~std::uint64_t{0} >> (65 - 8 * sizeof(T));
template <class T>
constexpr std::uint64_t infinity = infinity_bits<T>;

// The order of sort.h: a number that rises as the keys do, the same for keys that are equal.
template <class T>
std::int64_t rank_of(T value) {
  const std::uint64_t bits = bits_of(value);
  if constexpr (floating<T>) {
    const std::uint64_t magnitude = bits & magnitude_mask<T>;
    if (magnitude > infinity<T>) return static_cast<std::int64_t>(infinity<T>) + 1;
    const auto distance = static_cast<std::int64_t>(magnitude);
    return bits == magnitude ? distance : -distance;
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return static_cast<std::int64_t>(bits ^ std::uint64_t{1} << 63);
  } else {
    return static_cast<std::int64_t>(value);
  }
}

// A sequence of words as a polynomial: the sequences of neighbours can be put together.
struct Sequence {
  std::uint64_t sum = 0;
  std::uint64_t power = 1;
  void add(std::uint64_t word) {
    sum = sum * odd + mixed(word + 1);
    power *= odd;
  }
  void append(const Sequence& next) {
    sum = sum * next.power + next.sum;
    power *= next.power;
  }
};

struct Part {
  std::uint64_t elements = 0;
  Sequence zeros;
  Sequence nans;
};

std::uint64_t tasks_of(std::uint64_t count) {
  return (count + task_elements - 1) / task_elements;
}

// The segment that element i lies in; its number, and where it ends.
class Segments {
 public:
  Segments(std::span<const std::uint64_t> offsets, std::uint64_t count, std::uint64_t first)
      : offsets_(offsets), end_(count) {
    if (offsets.empty()) return;
    number_ = std::upper_bound(offsets.begin(), offsets.end(), first) - offsets.begin();
    set_end(count);
  }
  // Moves on to element i, which is not before the last one; whether another segment begins there.
  bool move_to(std::uint64_t i, std::uint64_t count) {
    if (i < end_) return false;
    while (i >= end_) {
      ++number_;
      set_end(count);
    }
    return true;
  }
  [[nodiscard]] std::uint64_t number() const noexcept { return static_cast<std::uint64_t>(number_); }

 private:
  void set_end(std::uint64_t count) {
    const auto next = static_cast<std::size_t>(number_);
    end_ = next < offsets_.size() ? offsets_[next] : count;
  }
  std::span<const std::uint64_t> offsets_;
  std::uint64_t end_;
  std::ptrdiff_t number_ = 0;
};

template <class T>
Part part_of(const T* keys, std::uint64_t first, std::uint64_t last, std::uint64_t count,
             std::span<const std::uint64_t> offsets) {
  Part part;
  Segments segments(offsets, count, first);
  for (std::uint64_t i = first; i < last; ++i) {
    segments.move_to(i, count);
    const std::uint64_t bits = bits_of(keys[i]);
    part.elements += mixed(mixed(bits + odd) + segments.number() * odd);
    if constexpr (floating<T>) {
      const std::uint64_t magnitude = bits & magnitude_mask<T>;
      if (magnitude == 0) part.zeros.add(bits);
      if (magnitude > infinity<T>) part.nans.add(bits);
    }
  }
  return part;
}

// Whether holds(i) for all i of [0, count), asked side by side.
template <class F>
bool all_of(std::uint64_t count, const F& holds) {
  std::atomic<bool> all{true};
  runtime::parallel_tasks(tasks_of(count), [&](std::uint64_t task) {
    bool here = true;
    const std::uint64_t last = std::min(count, (task + 1) * task_elements);
    for (std::uint64_t i = task * task_elements; i < last; ++i) here = here && holds(i);
    if (!here) all = false;
  });
  return all;
}

}  // namespace

KeyFacts key_facts(const ArrayView& keys, std::span<const std::uint64_t> offsets) {
  std::vector<Part> parts(tasks_of(keys.count));
  dispatch(keys.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* data = static_cast<const T*>(keys.data);
    runtime::parallel_tasks(parts.size(), [&](std::uint64_t task) {
      parts[task] =
          part_of(data, task * task_elements, std::min(keys.count, (task + 1) * task_elements), keys.count, offsets);
    });
  });
  Part all;
  for (const Part& part : parts) {
    all.elements += part.elements;
    all.zeros.append(part.zeros);
    all.nans.append(part.nans);
  }
  return {all.elements, all.zeros.sum, all.nans.sum};
}

bool rises(const ArrayView& keys, std::span<const std::uint64_t> offsets) {
  return dispatch(keys.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* data = static_cast<const T*>(keys.data);
    std::atomic<bool> all{true};
    runtime::parallel_tasks(tasks_of(keys.count), [&](std::uint64_t task) {
      bool here = true;
      const std::uint64_t first = std::max<std::uint64_t>(task * task_elements, 1);
      const std::uint64_t last = std::min(keys.count, (task + 1) * task_elements);
      Segments segments(offsets, keys.count, first - 1);
      for (std::uint64_t i = first; i < last; ++i) {
        if (!segments.move_to(i, keys.count)) here = here && rank_of(data[i - 1]) <= rank_of(data[i]);
      }
      if (!here) all = false;
    });
    return all.load();
  });
}

bool is_stable_order(const ArrayView& keys, std::span<const std::uint32_t> indices) {
  if (indices.size() != keys.count) return false;
  return dispatch(keys.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* data = static_cast<const T*>(keys.data);
    // Pairs of key and index that rise strictly are all different: so each index is there once.
    return all_of(keys.count, [&](std::uint64_t i) {
      if (indices[i] >= keys.count) return false;
      if (i == 0) return true;
      if (indices[i - 1] >= keys.count) return false;
      const auto before = rank_of(data[indices[i - 1]]);
      const auto here = rank_of(data[indices[i]]);
      return before < here || (before == here && indices[i - 1] < indices[i]);
    });
  });
}

bool is_gathered(const ArrayView& sorted, const ArrayView& keys, std::span<const std::uint32_t> indices) {
  return dispatch(keys.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = static_cast<const T*>(keys.data);
    const T* to = static_cast<const T*>(sorted.data);
    return all_of(keys.count, [&](std::uint64_t i) { return bits_of(to[i]) == bits_of(from[indices[i]]); });
  });
}

}  // namespace masu::bench
