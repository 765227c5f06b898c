// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram/histogram_job.h"

#include "elements/order.h"
#include "ranks.h"
#include "runtime/parallel.h"
#include "text.h"

#include <fmt/format.h>
#include <masu/io.h>
#include <masu/reduce.h>
#include <masu/sort.h>
#include <masu/sum.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <vector>

namespace masu::cli {

std::uint64_t HistogramResult::Block::n() const {
  return std::accumulate(counts.begin(), counts.end(), below + above + nan);
}

std::uint64_t HistogramResult::row_count() const {
  return rows ? rows->rows() : weighted ? weighted->rows() : 1;
}

unsigned HistogramResult::channel_count() const {
  return rows ? rows->channels() : std::max(1U, static_cast<unsigned>(channels.size()));
}

HistogramResult::Block HistogramResult::block(std::uint64_t row, unsigned channel) const {
  if (joint) return {joint->counts(), joint->outside(), 0, joint->nan()};
  if (rows) {
    return {rows->counts(row, channel), rows->below(row, channel), rows->above(row, channel), rows->nan(row, channel)};
  }
  const Histogram& histogram = channels[channel];
  return {histogram.counts(), histogram.below(), histogram.above(), histogram.nan()};
}

std::vector<double> HistogramResult::density(std::uint64_t row, unsigned channel) const {
  if (weighted) return weighted->density(row);
  if (joint) return joint->density();
  return rows ? rows->histogram(row, channel).density() : channels[channel].density();
}

std::string HistogramResult::column_name(unsigned d) const {
  const std::string name = d < names.size() ? names[d] : std::to_string(d);
  const bool number = name.find_first_not_of("0123456789") == std::string::npos;
  return number ? "column " + name : name;
}

std::uint64_t HistogramResult::n() const {
  if (weighted) return weighted->n();
  std::uint64_t sum = 0;
  each_block([&](const Block& counted) { sum += counted.n(); });
  return sum;
}

std::uint64_t HistogramResult::outsiders() const {
  std::uint64_t sum = 0;
  each_block([&](const Block& counted) { sum += counted.below + counted.above + counted.nan; });
  return sum;
}

Strategy HistogramResult::strategy() const {
  return joint ? joint->strategy() : rows ? rows->strategy() : channels.front().strategy();
}

bool has_texts(const HistogramResult& result) {
  return result.source.names && result.source.names->kind() == io::ValueNames::Kind::texts;
}

NamedBars named_bars(const HistogramResult& result, std::uint64_t limit) {
  const std::span<const std::uint64_t> counts = result.first().counts();
  std::vector<std::uint32_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0U);
  std::vector<std::uint64_t> keys(counts.begin(), counts.end());
  SortOptions descending;
  descending.order = Order::descending;
  sort_by_key(Device::open("cpu"), MutableArrayView(keys), RecordsView(order.data(), sizeof order[0], order.size()),
              descending);
  NamedBars bars;
  bars.distinct = counts.size();
  bars.all = result.n();
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i < limit) bars.texts.push_back((*result.source.names)(order[i]));
    if (i < limit) bars.counts.push_back(keys[i]);
    else bars.other += keys[i];
  }
  bars.others = fmt::format("other ({} texts)", bars.distinct - bars.texts.size());
  return bars;
}

std::string otsu_text(const Histogram& histogram) {
  const auto filled = std::ranges::count_if(histogram.counts(), [](std::uint64_t count) { return count != 0; });
  return filled < 2 ? "null" : io::format_number(otsu_threshold(histogram));
}

std::vector<std::uint16_t> levels_of(const Histogram& histogram) {
  const bool any = std::ranges::any_of(histogram.counts(), [](std::uint64_t count) { return count != 0; });
  return any ? equalization_map(histogram) : std::vector<std::uint16_t>(histogram.size());
}

Bounds dtype_bounds(Dtype dtype) {
  return dispatch(dtype, []<class T>(TypeTag<T>) -> Bounds {
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

constexpr std::uint64_t most_copied = std::uint64_t{1} << 18U;  // values at a time, so that they stay in caches
constexpr std::uint64_t a_task = std::uint64_t{1} << 14U;       // of them

Summary::Summary(Dtype dtype) : extremes_(cpu_, dtype, ReduceOp::minmax), sum_(cpu_, dtype) {}

void Summary::add(const ArrayView& data, unsigned channel, unsigned channels) {
  dispatch(data.dtype, [&]<class T>(TypeTag<T>) {
    const std::span<const T> values(static_cast<const T*>(data.data), data.count);
    std::vector<T> copy(channels == 1 ? 0 : most_copied);
    for (std::uint64_t at = channel; at < values.size(); at += most_copied * channels) {
      const std::uint64_t count = std::min<std::uint64_t>(most_copied, (values.size() - at - 1) / channels + 1);
      if (channels == 1) {
        add(ArrayView(values.subspan(at, count)));
        continue;
      }
      runtime::parallel_parts(count, a_task, [&](std::uint64_t first, std::uint64_t end) {
        for (std::uint64_t i = first; i < end; ++i) copy[i] = values[at + i * channels];
      });
      add(ArrayView(std::span(copy).first(count)));
    }
  });
}

void Summary::add(const ArrayView& block) {
  if (block.count == 0) return;
  const ReduceResult found = reduce(cpu_, block, ReduceOp::minmax);
  const ArrayView least = found.min_values();
  const ArrayView greatest = found.max_values();
  if (std::isfinite(number_at(least, 0)) && std::isfinite(number_at(greatest, 0))) {
    extremes_.add(least);
    extremes_.add(greatest);
    return sum_.add(block);
  }
  dispatch(block.dtype, [&]<class T>(TypeTag<T>) {
    const std::span<const T> values(static_cast<const T*>(block.data), block.count);
    std::vector<T> finite;
    std::copy_if(values.begin(), values.end(), std::back_inserter(finite),
                 [](T value) { return std::isfinite(to_f64(value)); });
    add(ArrayView(finite));
  });
}

void Summary::finish() {
  merge_states("range", extremes_, cpu_);
  merge_states("mean", sum_, cpu_);
  if (sum_.count() == 0) return;
  const ReduceResult found = extremes_.result();
  const auto shown = [](const ArrayView& value) {
    return is_float(value.dtype) ? table_number(number_at(value, 0), chart_digits) : element_text(value, 0);
  };
  range_ = shown(found.min_values()) + ":" + shown(found.max_values());
  mean_ = table_number(sum_.mean(Dtype::f64).value(), chart_digits);
}

void Summary::finish(const Histogram& histogram) {
  const auto counts = histogram.counts();
  const double base = histogram.edge(0);
  ExactSum sum;
  std::string least;
  std::string greatest;
  for (std::uint64_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const double value = base + static_cast<double>(i);
    greatest = io::format_number(value, Dtype::i64);
    if (sum.count() == 0) least = greatest;
    sum.add(value, counts[i]);
  }
  if (sum.count() == 0) return;
  range_ = least + ":" + greatest;
  mean_ = table_number(sum.mean(), chart_digits);
}

}  // namespace masu::cli
