// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/histogram/bins_request.h"

#include <masu/device.h>
#include <masu/io.h>

#include <optional>

namespace masu::cli {

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

}  // namespace masu::cli
