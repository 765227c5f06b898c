// SPDX-License-Identifier: Apache-2.0
// Which bins the options --bins, --range, --edges, --integers and --log ask for.
#pragma once

#include <masu/bins.h>
#include <masu/device.h>
#include <masu/io.h>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace masu::cli {

inline constexpr std::uint64_t default_bins = 100;

// What was asked for one column: at most one of `edges`, `integers`, `rule`, and `bins` with or without `range`.
struct BinsRequest {
  std::optional<std::uint64_t> bins;
  std::optional<Estimator> rule;  // may have a `range` too
  std::optional<std::pair<double, double>> range;
  std::optional<std::uint64_t> integers;
  std::vector<double> edges;
  bool log = false;  // the bins have equal ratios
};

// The options' values as they were given.
struct BinsTexts {
  std::string bins;
  std::string range;
  std::string edges;
  std::string integers;
  bool log = false;
};

// One request, or, with `joint`, as many as the values separated by ';' are. Throws invalid_argument for what no data
// can be counted in, before any input is opened.
std::vector<BinsRequest> parse_bins(const BinsTexts& texts, bool joint);

// Turns what was asked for one column into bins; where they depend on the data, from passes over it:
//   while (finder.wants_data()) { for (…) finder.add(piece); finder.end_pass(); }
class BinsFinder {
 public:
  BinsFinder(const BinsRequest& request, const io::SourceInfo& info, const Device& device);
  [[nodiscard]] bool wants_data() const { return !bins_; }
  // A piece of this pass.
  void add(const ArrayView& piece);
  // Of all ranks, which come here together.
  void end_pass();
  // The bins, when no more data is wanted.
  [[nodiscard]] const Bins& bins() const { return *bins_; }
  // The range that was found on the way, if any.
  [[nodiscard]] const std::optional<ValueRange>& range() const { return range_; }
  // The dtype in which the edges are exact and printed.
  [[nodiscard]] Dtype edge_dtype(bool joint) const;

 private:
  void end_estimate();
  void merge_ranges();
  void check_width() const;
  BinsRequest request_;
  std::string name_;
  Dtype dtype_;
  Device device_;
  std::optional<Bins> bins_;
  std::optional<BinEstimator> estimator_;
  std::optional<ValueRange> range_;
};

// Those of the columns of an input.
class BinsFinders {
 public:
  // One request for all of the columns, or one for each.
  BinsFinders(std::span<const BinsRequest> requests, std::size_t columns, const io::SourceInfo& info,
              const Device& device);
  [[nodiscard]] bool wants_data() const;
  // The columns, or all of them interleaved in one.
  void add(std::span<const ArrayView> piece);
  void end_pass();
  [[nodiscard]] std::vector<Bins> bins() const;
  [[nodiscard]] std::vector<Dtype> edge_dtypes(bool joint) const;
  [[nodiscard]] const BinsFinder& front() const { return finders_.front(); }

 private:
  std::vector<BinsFinder> finders_;
};

}  // namespace masu::cli
