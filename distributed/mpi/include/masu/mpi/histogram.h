// SPDX-License-Identifier: Apache-2.0
/// @file
/// Histograms of distributed data, joint and weighted ones too. Part of mpi.h, which says what holds.
#pragma once

#include <masu/joint_histogram.h>
#include <masu/mpi/call.h>
#include <masu/mpi/part.h>
#include <masu/weighted_histogram.h>

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace masu::mpi {

namespace detail {

inline Text& with_bins(Text& text, const Bins& bins) {
  const Bytes bytes = bins.bytes();
  return text.with(std::to_string(bins.size()) + " bins #" + std::to_string(hash_of(bytes.data(), bytes.size())));
}

/// The histogram of all ranks, where count() makes that of one.
template <class F>
auto counted(Call& call, int root, const F& count) {
  decltype(count()) mine;
  std::vector<std::int64_t> counts;
  call.attempt([&] {
    mine = count();
    counts = mine.integers();
  });
  call.agree();
  const std::span<std::uint64_t> numbers(reinterpret_cast<std::uint64_t*>(counts.data()), counts.size());
  if (root == all_ranks) call.group().sum(numbers);
  else call.group().sum_to(numbers, root);
  if (!call.is_at(root)) std::fill(counts.begin(), counts.end(), 0);
  return call.finish([&] { return mine.with_integers(counts); });
}

/// The bins that a rule finds, in passes over the data of all ranks.
inline void add_estimated(Call& call, const Part& x, const Bins& bins, std::vector<Bins>& result) {
  Bytes memory;
  ArrayView data;
  std::optional<BinEstimator> estimator;
  call.attempt([&] {
    data = x.host(memory);
    estimator.emplace(x.dtype(), bins);
  });
  for (bool more = true; more;) {
    Bytes mine;
    call.attempt([&] {
      estimator->add(data);
      mine = estimator->bytes();
    });
    const Bytes all = call.combine(std::move(mine), [](const Bytes& before, const Bytes& after) {
      BinEstimator both = BinEstimator::from_bytes(before);
      both.merge(BinEstimator::from_bytes(after));
      return both.bytes();
    });
    call.attempt([&] {
      estimator = BinEstimator::from_bytes(all);
      more = estimator->next_pass();
    });
    call.agree();
  }
  call.attempt([&] { result.push_back(estimator->bins()); });
}

/// Adds bins that are definite for the data of all ranks. What fails at the end is kept for the next agree().
inline void add_definite(Call& call, const Part& x, const Bins& bins, std::vector<Bins>& result) {
  if (!bins.needs_data()) return call.attempt([&] { result.push_back(bins); });
  if (bins.kind() == Bins::Kind::automatic) return add_estimated(call, x, bins, result);
  struct Range {
    double lo = 0;
    double hi = 0;
    std::uint64_t kind = 0;  // 1: there are values; 2: they are equal
  };
  Bytes mine;
  call.attempt([&] {
    mine.resize(sizeof(Range));
    Bytes memory;
    const std::optional<ValueRange> found =
        x.buffer() != nullptr ? finite_range(*x.buffer(), x.dtype()) : finite_range(x.device(), x.host(memory));
    Range range;
    if (found) range = {found->lo, found->hi, found->single ? 2U : 1U};
    std::memcpy(mine.data(), &range, sizeof range);
  });
  const auto range_in = [](const Bytes& bytes) -> std::optional<ValueRange> {
    Range range;
    std::memcpy(&range, bytes.data(), sizeof range);
    if (range.kind == 0) return std::nullopt;
    return ValueRange{range.lo, range.hi, range.kind == 2};
  };
  const Bytes all = call.combine(std::move(mine), [&](Bytes before, const Bytes& after) {
    const std::optional<ValueRange> both = masu::merge(range_in(before), range_in(after));
    Range range;
    if (both) range = {both->lo, both->hi, both->single ? 2U : 1U};
    std::memcpy(before.data(), &range, sizeof range);
    return before;
  });
  const std::optional<ValueRange> range = range_in(all);
  call.attempt([&] { result.push_back(range ? Bins::even(bins.size(), *range) : Bins::even(bins.size(), 0, 1)); });
}

inline std::vector<Bins> definite(Call& call, std::span<const Part> columns, std::span<const Bins> bins) {
  std::vector<Bins> result;
  for (std::size_t d = 0; d < bins.size(); ++d) add_definite(call, columns[d], bins[d], result);
  return result;
}

inline void check_columns(std::span<const Part> columns, std::span<const Bins> bins) {
  if (columns.empty() || columns.size() != bins.size()) {
    throw Error(ErrorCode::invalid_argument, "mpi: histogram: there must be one entry of bins for each column, got " +
                                                 std::to_string(bins.size()) + " for " +
                                                 std::to_string(columns.size()));
  }
  const Dtype dtype = columns.front().dtype();
  for (const Part& column : columns) {
    if (column.dtype() == dtype) continue;
    throw Error(ErrorCode::invalid_argument, "mpi: histogram: data must be " + std::string(to_string(dtype)) +
                                                 " as before, got " + std::string(to_string(column.dtype())));
  }
}

inline Text histogram_text(std::string_view function, std::span<const Part> columns, std::span<const Bins> bins,
                           bool right_open, Outside outside) {
  Text text(function);
  for (const Part& column : columns) text.with(to_string(column.dtype()));
  for (const Bins& each : bins) with_bins(text, each);
  return text.with("right_open", right_open ? 1 : 0).with("outside", outside == Outside::clamp ? "clamp" : "drop");
}

/// Gives the columns to an accumulator: all in host memory, or all where they are.
template <class OnHost, class OnDevice>
void give_columns(std::span<const Part> columns, const OnHost& on_host, const OnDevice& on_device) {
  std::vector<const BufferBase*> buffers;
  std::vector<ArrayView> views;
  std::vector<Bytes> memory(columns.size());
  for (const Part& column : columns) {
    if (column.buffer() != nullptr) buffers.push_back(column.buffer());
  }
  if (buffers.size() == columns.size()) return on_device(buffers);
  for (std::size_t d = 0; d < columns.size(); ++d) views.push_back(columns[d].host(memory[d]));
  on_host(views);
}

}  // namespace detail

/// As histogram.h says on the data of all ranks. Bins may depend on the data.
/// options.channels must be 1; strategy, memory and workspace are this rank's own.
inline Histogram histogram(MPI_Comm comm, const Part& x, const Bins& bins, const HistogramOptions& options = {},
                           int root = all_ranks) {
  detail::Call call(comm, root, [&] {
    return detail::histogram_text("histogram", {&x, 1}, {&bins, 1}, options.right_open, options.outside);
  });
  call.attempt([&] {
    if (options.channels != 1) {
      throw Error(ErrorCode::invalid_argument,
                  "mpi: histogram: channels must be 1, got " + std::to_string(options.channels));
    }
  });
  if (bins.needs_data()) call.agree();
  const std::vector<Bins> found = detail::definite(call, {&x, 1}, {&bins, 1});
  return detail::counted(call, root, [&] {
    HistogramAccumulator accumulator(x.device(), x.dtype(), found.front(), options);
    x.add_to(accumulator);
    return std::move(accumulator.result().front());
  });
}

/// As joint_histogram.h says. Each rank has columns of one length, all in host memory or all in memory of one device.
inline JointHistogram joint_histogram(MPI_Comm comm, std::span<const Part> columns, std::span<const Bins> bins,
                                      const HistogramOptions& options = {}, int root = all_ranks) {
  detail::Call call(comm, root, [&] {
    return detail::histogram_text("joint_histogram", columns, bins, options.right_open, options.outside);
  });
  call.attempt([&] { detail::check_columns(columns, bins); });
  call.agree();
  const std::vector<Bins> found = detail::definite(call, columns, bins);
  return detail::counted(call, root, [&] {
    JointHistogramAccumulator accumulator(columns.front().device(), columns.front().dtype(), found, options);
    detail::give_columns(
        columns, [&](const std::vector<ArrayView>& views) { accumulator.add(views); },
        [&](const std::vector<const BufferBase*>& buffers) {
          accumulator.add_buffers(buffers, columns.front().dtype());
        });
    return accumulator.result();
  });
}

/// As weighted_histogram.h says, of one or more columns. options.rows must be 1. With a root, others have the result of
/// no data.
inline WeightedHistogram weighted_histogram(MPI_Comm comm, std::span<const Part> columns, const Part& weights,
                                            std::span<const Bins> bins, const WeightedOptions& options = {},
                                            int root = all_ranks) {
  detail::Call call(comm, root, [&] {
    return detail::histogram_text("weighted_histogram", columns, bins, options.right_open, options.outside)
        .with("weights", to_string(weights.dtype()))
        .with("variances", options.variances ? 1 : 0)
        .with("wrap", options.wrap ? 1 : 0);
  });
  call.attempt([&] {
    detail::check_columns(columns, bins);
    if (options.rows != 1) {
      throw Error(ErrorCode::invalid_argument,
                  "mpi: weighted_histogram: rows must be 1, got " + std::to_string(options.rows));
    }
  });
  call.agree();
  const std::vector<Bins> found = detail::definite(call, columns, bins);
  detail::Bytes mine;
  call.attempt([&] {
    WeightedHistogramAccumulator accumulator(columns.front().device(), columns.front().dtype(), weights.dtype(), found,
                                             options);
    detail::Bytes memory;
    detail::give_columns(
        columns, [&](const std::vector<ArrayView>& views) { accumulator.add(views, weights.host(memory)); },
        [&](const std::vector<const BufferBase*>& buffers) {
          if (weights.buffer() == nullptr) {
            throw Error(ErrorCode::invalid_argument, "mpi: weighted_histogram: weights must be where the columns are");
          }
          accumulator.add_buffers(buffers, columns.front().dtype(), *weights.buffer(), weights.dtype());
        });
    mine = accumulator.bytes();
  });
  const auto all = call.combine_states<WeightedHistogramAccumulator>(std::move(mine), root);
  return call.finish([&] {
    if (all) return all->result();
    return WeightedHistogramAccumulator(Device::open("cpu"), columns.front().dtype(), weights.dtype(), found, options)
        .result();
  });
}
inline WeightedHistogram weighted_histogram(MPI_Comm comm, const Part& x, const Part& weights, const Bins& bins,
                                            const WeightedOptions& options = {}, int root = all_ranks) {
  return weighted_histogram(comm, std::span(&x, 1), weights, std::span(&bins, 1), options, root);
}

}  // namespace masu::mpi
