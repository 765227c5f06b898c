// SPDX-License-Identifier: Apache-2.0
// What counts a histogram's pieces: one shape each for channels, groups, rows, columns together, and weights.
#pragma once

#include "cli/histogram/histogram_job.h"
#include "cli/verify/references.h"

#include <masu/masu.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace masu::cli {

struct CounterRequest {
  const Device& device;
  const HistogramInput& input;
  HistogramOptions options;  // the channels too
  std::vector<Bins> bins;    // one a column
  Bounds bounds;             // what is known of the values
  bool summaries = false;
};

// Counts pieces of the data, and counts them again by the plain reference where that is asked.
class Counter {
 public:
  explicit Counter(CounterRequest request) : request_(std::move(request)) {}
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  virtual ~Counter() = default;
  virtual void add(std::span<const ArrayView> piece) = 0;
  // The same for the reference, which `start_reference` makes.
  virtual void start_reference() = 0;
  virtual void add_reference(std::span<const ArrayView> piece) = 0;
  // Puts the counts into the result: this rank's.
  virtual void finish(HistogramResult& result) = 0;
  // Makes them those of all ranks; the table's range and mean too.
  virtual void share(HistogramResult& result) = 0;
  // Throws Differs where the reference counted otherwise.
  virtual void compare(const HistogramResult& result) const = 0;
  [[nodiscard]] virtual Times times() const = 0;

 protected:
  [[nodiscard]] const std::string& name() const { return request_.input.info.name; }
  [[nodiscard]] Dtype dtype() const { return request_.input.info.dtype; }
  [[nodiscard]] ReferenceSlots slots(bool joint) const {
    return {dtype(), request_.bins, request_.options.right_open, request_.options.outside, joint};
  }
  // Whether every bin holds one integer value.
  [[nodiscard]] bool one_value(const Histogram& first) const {
    return one_value_per_bin(first, request_.bins.front().kind(), half_open(), request_.bounds);
  }
  // Whether the last bin does not hold its upper edge.
  [[nodiscard]] bool half_open() const {
    return request_.options.right_open || request_.bins.front().kind() == Bins::Kind::integers;
  }
  void compare_block(const std::string& where, const HistogramResult::Block& got,
                     std::span<const std::uint64_t> expected, bool joint) const {
    const std::span<const std::uint64_t> beside = expected.last(3);
    check_counts(where, got.counts, expected);
    check_count(where, joint ? "outside" : "below", got.below, beside[0] + (joint ? beside[1] : 0));
    if (!joint) check_count(where, "above", got.above, beside[1]);
    check_count(where, "nan", got.nan, beside[2]);
  }
  CounterRequest request_;
};

// For a job with rows: how many come before this rank's, and the number of all values.
struct CounterRows {
  std::uint64_t before = 0;
  std::uint64_t values = 0;
};
std::unique_ptr<Counter> make_counter(const CounterRequest& request, const HistogramJob& job, CounterRows rows);

}  // namespace masu::cli
