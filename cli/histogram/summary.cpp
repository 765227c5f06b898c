// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram/summary.h"

#include "json.h"
#include "ranks.h"

#include "runtime/half.h"
#include "runtime/parallel.h"

#include <fmt/format.h>
#include <masu/io.h>
#include <masu/reduce.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace masu::cli {
namespace {

template <class T>
T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
std::uint64_t to_bits(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T>
struct Part {
  T lo{};
  T hi{};
  ExactSum sum;

  // Adds every `stride`th value, a block at a time, so that the sum sees contiguous finite values.
  void add(const T* values, std::uint64_t count, unsigned stride) {
    std::array<T, 16384> block;
    for (std::uint64_t i = 0; i < count; i += block.size()) {
      const std::size_t size = std::min<std::uint64_t>(block.size(), count - i);
      const T* found = values + i * stride;
      if (stride != 1) {
        for (std::size_t k = 0; k < size; ++k) block[k] = found[k * stride];
        found = block.data();
      }
      if (add_finite(found, size)) continue;
      const auto end = std::copy_if(found, found + size, block.begin(), is_finite);
      add_finite(block.data(), static_cast<std::size_t>(end - block.begin()));
    }
  }

  static bool is_finite(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::isfinite(value);
    } else {
      return true;
    }
  }
  // Adds nothing and returns false where not all are finite.
  bool add_finite(const T* values, std::size_t count) {
    if (count == 0) return true;
    const ArrayView view(dtype_of<T>, values, count);
    const ReduceResult extremes = reduce(Device::open("cpu"), view, ReduceOp::minmax);
    const T least = extremes.min<T>();
    const T most = extremes.max<T>();
    if (!is_finite(least) || !is_finite(most)) return false;
    merge(least, most, sum.count() == 0);
    sum.add(view);
    return true;
  }
  void merge(T least, T most, bool first) {
    lo = first ? least : std::min(lo, least);
    hi = first ? most : std::max(hi, most);
  }
};

}  // namespace

Bounds dtype_bounds(Dtype dtype) {
  return dispatch(dtype, [](auto tag) -> Bounds {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      return {static_cast<double>(std::numeric_limits<T>::min()), static_cast<double>(std::numeric_limits<T>::max())};
    } else {
      return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    }
  });
}

bool one_value_per_bin(const Histogram& histogram, Bins::Kind kind, bool half_open, const Bounds& bounds) {
  if (is_float(histogram.dtype())) return false;
  const std::uint64_t bins = histogram.size();
  const double first = histogram.edge(0);
  constexpr double exact = 0x1p53;  // beyond it whole numbers have gaps in f64
  if (first != std::floor(first) || std::abs(first) + static_cast<double>(bins) >= exact) return false;
  if (histogram.edge(bins) - first != static_cast<double>(bins)) return false;
  // Between such ends, even bins have whole edges; explicit ones may lie anywhere.
  for (std::uint64_t i = 1; kind == Bins::Kind::edges && i < bins; ++i) {
    if (histogram.edge(i) != first + static_cast<double>(i)) return false;
  }
  // A closed last bin would hold a second value, its upper edge, if the data had it.
  return half_open || histogram.edge(bins) > bounds.greatest;
}

template <class T>
void Summary::add_values(const T* values, std::uint64_t pixels, unsigned channels) {
  constexpr std::uint64_t slice = 1 << 18;
  const std::uint64_t slices = (pixels + slice - 1) / slice;
  std::vector<Part<T>> parts(slices);
  runtime::parallel_tasks(slices, [&](std::uint64_t i) {
    parts[i].add(values + i * slice * channels, std::min(slice, pixels - i * slice), channels);
  });
  Part<T> whole{from_bits<T>(lo_), from_bits<T>(hi_), sum_};
  for (const Part<T>& part : parts) {
    if (part.sum.count() == 0) continue;
    whole.merge(part.lo, part.hi, whole.sum.count() == 0);
    whole.sum.merge(part.sum);
  }
  lo_ = to_bits(whole.lo);
  hi_ = to_bits(whole.hi);
  sum_ = whole.sum;
}

void Summary::add(const ArrayView& data, unsigned channel, unsigned channels) {
  dtype_ = data.dtype;
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_arithmetic_v<T>) {
      add_values(static_cast<const T*>(data.data) + channel, data.count / channels, channels);
    } else {
      const std::uint64_t pixels = data.count / channels;
      std::vector<float> values(pixels);
      for (std::uint64_t i = 0; i < pixels; ++i) {
        values[i] = static_cast<float>(runtime::to_double(static_cast<const Half*>(data.data)[i * channels + channel]));
      }
      add_values(values.data(), pixels, 1);
    }
  });
}

void Summary::merge_ranks() {
  if (!ranks().several()) return;
  const auto put = [](Ranks::Bytes& to, const auto& value) {
    const auto* first = reinterpret_cast<const std::byte*>(&value);
    to.insert(to.end(), first, first + sizeof value);
  };
  // The dtype of a rank without values does not count.
  Ranks::Bytes mine;
  put(mine, dtype_);
  put(mine, lo_);
  put(mine, hi_);
  const std::vector<std::byte> sum = sum_.bytes();
  mine.insert(mine.end(), sum.begin(), sum.end());
  *this = Summary();
  for (const Ranks::Bytes& bytes : ranks().from_each("summary", std::move(mine))) {
    Summary part;
    std::memcpy(&part.dtype_, bytes.data(), sizeof part.dtype_);
    std::memcpy(&part.lo_, bytes.data() + sizeof part.dtype_, sizeof part.lo_);
    std::memcpy(&part.hi_, bytes.data() + sizeof part.dtype_ + sizeof part.lo_, sizeof part.hi_);
    part.sum_ = ExactSum::from_bytes(std::span(bytes).subspan(sizeof part.dtype_ + 2 * sizeof part.lo_));
    if (part.sum_.count() == 0) continue;
    if (sum_.count() == 0) {
      *this = part;
      continue;
    }
    dispatch(dtype_, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using Held = std::conditional_t<std::is_same_v<T, Half>, float, T>;
      lo_ = to_bits(std::min(from_bits<Held>(lo_), from_bits<Held>(part.lo_)));
      hi_ = to_bits(std::max(from_bits<Held>(hi_), from_bits<Held>(part.hi_)));
    });
    sum_.merge(part.sum_);
  }
}

void Summary::add(const Histogram& histogram) {
  dtype_ = Dtype::i64;
  const auto counts = histogram.counts();
  const double base = histogram.edge(0);
  for (std::uint64_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const double value = base + static_cast<double>(i);
    if (sum_.count() == 0) lo_ = to_bits(static_cast<std::int64_t>(value));
    hi_ = to_bits(static_cast<std::int64_t>(value));
    sum_.add(value, counts[i]);
  }
}

std::string Summary::range() const {
  if (sum_.count() == 0) return "-";
  return dispatch(dtype_, [&](auto tag) -> std::string {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      return fmt::format("{}:{}", +from_bits<T>(lo_), +from_bits<T>(hi_));
    } else {
      using Held = std::conditional_t<std::is_same_v<T, Half>, float, T>;  // f16 values are held as f32
      return table_number(from_bits<Held>(lo_), 0, dtype_) + ":" + table_number(from_bits<Held>(hi_), 0, dtype_);
    }
  });
}

std::string Summary::mean() const {
  return sum_.count() == 0 ? "-" : table_number(sum_.mean());
}

}  // namespace masu::cli
