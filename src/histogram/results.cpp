// SPDX-License-Identifier: Apache-2.0
// Results as plain values: merging, and their bytes.
#include "call/operands.h"
#include "call/state_bytes.h"
#include "elements/stored_float.h"
#include "histogram/counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace masu {

using detail::CountKind;

void divide_by_widths(BinRules rules, bool own_type, std::vector<double>& values) {
  std::uint64_t stride = values.size();
  for (const auto& rule : rules) {
    stride /= rule->n;
    const Dtype type = own_type && rule->own_edges ? rule->own_dtype : Dtype::f64;
    std::vector<double> widths(rule->n);
    for (std::uint64_t i = 0; i < rule->n; ++i) widths[i] = rounded_to(type, rule->edge(i + 1) - rule->edge(i));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] /= widths[i / stride % rule->n];
  }
}

namespace {

struct KindOfResult {
  call::StateName state;
  std::string_view merged;  // what two that are merged must have
};
constexpr KindOfResult kinds[] = {{{"Histogram", "MHIS"}, "the same edges"},
                                  {{"RowHistograms", "MROW"}, "as many rows and channels, and the same edges"},
                                  {{"JointHistogram", "MJNT"}, "the same edges"}};

const KindOfResult& kind_of(const detail::Counts& counts) {
  return kinds[static_cast<std::size_t>(counts.kind)];
}

}  // namespace

std::uint64_t detail::Counts::n() const noexcept {
  return std::accumulate(bins.begin(), bins.end(), std::accumulate(outside.begin(), outside.end(), std::uint64_t{0}));
}

bool detail::Counts::equals(const Counts& other) const {
  const FloatingPointScope usual;
  return rows == other.rows && channels == other.channels && bins == other.bins && outside == other.outside &&
         same_edges(rules, other.rules);
}

void detail::Counts::merge(const Counts& other) {
  const FloatingPointScope usual;
  const KindOfResult& what = kind_of(*this);
  const std::string function = fmt::format("{}::merge", what.state.type);
  if (rows != other.rows || channels != other.channels || !same_edges(rules, other.rules)) {
    const auto text = [](const Counts& of, const Counts& beside) {
      const std::string edges = texts_of(of.rules, beside.rules);
      return of.kind == CountKind::rows ? fmt::format("{} rows of {} channels and {}", of.rows, of.channels, edges)
                                        : edges;
    };
    call::refuse(function,
                 fmt::format("both must have {}, got {} and {}", what.merged, text(*this, other), text(other, *this)));
  }
  (void)call::elements_of_both(function, call::total_of_counts({bins, outside}),
                               call::total_of_counts({other.bins, other.outside}));
  std::ranges::transform(bins, other.bins, bins.begin(), std::plus<>());
  std::ranges::transform(outside, other.outside, outside.begin(), std::plus<>());
}

std::vector<std::byte> detail::Counts::bytes() const {
  call::StateWriter to(kind_of(*this).state);
  to.dtype(dtype);
  if (kind == CountKind::joint) to.number(rules.size(), 1);
  for (const auto& rule : rules) rule->write(to);
  if (kind == CountKind::rows) {
    to.number(rows);
    to.number(channels, 1);
  }
  to.numbers(outside);
  to.numbers(bins);
  return to.finish();
}

detail::Counts detail::Counts::from_bytes(CountKind kind, std::span<const std::byte> bytes) {
  const FloatingPointScope usual;
  Counts result{.kind = kind, .strategy = kind == CountKind::one ? Strategy::global : Strategy::automatic};
  call::StateReader from(kind_of(result).state, bytes);
  result.dtype = from.dtype();
  const bool joint = kind == CountKind::joint;
  const std::uint64_t columns = joint ? from.below(most_columns + 1, 1) : 1;
  from.require(columns >= 1);
  result.size = 1;
  for (std::uint64_t d = 0; d < columns; ++d) {
    const auto& rule = result.rules.emplace_back(BinRule::read(from, result.dtype, joint));
    from.require(!joint || rule->n <= most_joint_bins / result.size);
    result.size *= rule->n;
  }
  if (kind == CountKind::rows) {
    result.rows = from.below(most_rows + 1);
    result.channels = static_cast<unsigned>(from.below(most_channels + 1, 1));
    from.require(result.rows >= 1 && result.channels >= 1 &&
                 result.size <= most_row_counters / (result.rows * result.channels));
  }
  const std::uint64_t tables = result.rows * result.channels;
  result.outside = from.numbers(tables * CountShape::extras_of(kind));
  result.bins = from.numbers(tables * result.size);
  from.end();
  from.require(call::total_of_counts({result.bins, result.outside}) <= call::most_in_state);
  return result;
}

std::vector<std::int64_t> detail::Counts::integers() const {
  std::vector<std::int64_t> result(bins.begin(), bins.end());
  result.insert(result.end(), outside.begin(), outside.end());
  return result;
}

detail::Counts detail::Counts::with_integers(std::span<const std::int64_t> integers) const {
  const std::size_t expected = bins.size() + outside.size();
  if (integers.size() != expected || !call::are_counts(integers)) {
    const auto negative = std::ranges::find_if(integers, [](std::int64_t x) { return x < 0; });
    const std::string got = integers.size() != expected  ? std::to_string(integers.size())
                            : negative != integers.end() ? std::to_string(*negative)
                                                         : "more";
    call::refuse(fmt::format("{}::with_integers", kind_of(*this).state.type),
                 fmt::format("there must be {} numbers, none negative, below 2^63 together, got {}", expected, got));
  }
  Counts result = *this;
  std::ranges::copy(integers.first(bins.size()), result.bins.begin());
  std::ranges::copy(integers.subspan(bins.size()), result.outside.begin());
  return result;
}

std::vector<double> Histogram::edges() const {
  const FloatingPointScope usual;
  return all_.rules.front()->all_edges();
}

double Histogram::edge(std::uint64_t i) const {
  const FloatingPointScope usual;
  if (i > size()) call::refuse("Histogram::edge", fmt::format("i must be <= {}, got {}", size(), i));
  return all_.rules.front()->edge(i);
}

std::uint64_t RowHistograms::index(std::uint64_t row, unsigned channel) const {
  if (row >= rows() || channel >= channels()) {
    call::refuse("RowHistograms",
                 fmt::format("row must be < {} and channel < {}, got {} and {}", rows(), channels(), row, channel));
  }
  return row * channels() + channel;
}

std::span<const std::uint64_t> RowHistograms::counts(std::uint64_t row, unsigned channel) const {
  return counts().subspan(index(row, channel) * size(), size());
}

std::uint64_t RowHistograms::below(std::uint64_t row, unsigned channel) const {
  return all_.outside[index(row, channel) * extra_slots + slot_below];
}

std::uint64_t RowHistograms::above(std::uint64_t row, unsigned channel) const {
  return all_.outside[index(row, channel) * extra_slots + slot_above];
}

std::uint64_t RowHistograms::nan(std::uint64_t row, unsigned channel) const {
  return all_.outside[index(row, channel) * extra_slots + slot_nan];
}

Histogram RowHistograms::histogram(std::uint64_t row, unsigned channel) const {
  return CountShape::as<Histogram>(CountShape::table(all_, index(row, channel)));
}

std::vector<double> RowHistograms::edges() const {
  const FloatingPointScope usual;
  return all_.rules.front()->all_edges();
}

namespace {

const BinRule& column_rule(const detail::Counts& counts, unsigned d) {
  if (d >= counts.rules.size()) {
    call::refuse("JointHistogram", fmt::format("column must be < {}, got {}", counts.rules.size(), d));
  }
  return *counts.rules[d];
}

}  // namespace

std::uint64_t JointHistogram::size(unsigned d) const {
  return column_rule(all_, d).n;
}

std::vector<double> JointHistogram::edges(unsigned d) const {
  const FloatingPointScope usual;
  return column_rule(all_, d).all_edges();
}

std::vector<double> JointHistogram::density() const {
  const FloatingPointScope usual;
  // As numpy.histogramdd: divided by the widths, column by column, then by the sum.
  const double sum = static_cast<double>(std::accumulate(all_.bins.begin(), all_.bins.end(), std::uint64_t{0}));
  std::vector<double> result(all_.bins.begin(), all_.bins.end());
  divide_by_widths(all_.rules, false, result);
  for (double& value : result) value /= sum;
  return result;
}

}  // namespace masu
