// SPDX-License-Identifier: Apache-2.0
// The three shapes of a histogram behind one interface: channels, rows, and columns together.
#pragma once

#include "cli/histogram/histogram_job.h"
#include "cli/histogram/histogram_result.h"
#include "cli/histogram/summary.h"

#include <masu/histogram.h>

#include <memory>
#include <span>
#include <vector>

namespace masu::cli {

// Counts pieces of the data, and counts them again by the plain reference where that is asked.
class Counter {
 public:
  Counter() = default;
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  virtual ~Counter() = default;
  virtual void add(std::span<const ArrayView> piece) = 0;
  // The same for the reference, which `start_reference` makes; the table's range and mean too.
  virtual void start_reference() = 0;
  virtual void add_reference(std::span<const ArrayView> piece) = 0;
  // Puts the counts into the result: this rank's.
  virtual void finish(HistogramResult& result) = 0;
  // Makes them those of all ranks.
  virtual void share(HistogramResult& result) = 0;
  // Throws Differs where the reference counted otherwise.
  virtual void compare(const HistogramResult& result) const = 0;
  [[nodiscard]] virtual Times times() const = 0;
};

struct CounterRequest {
  const Device& device;
  const HistogramInput& input;
  HistogramOptions options;  // the channels too
  std::vector<Bins> bins;    // one a column
  Bounds bounds;             // what is known of the values
  bool summaries = false;
};

std::unique_ptr<Counter> count_channels(const CounterRequest& request);
// `values` is the number of all values; of the rows, `mine` are this rank's.
std::unique_ptr<Counter> count_rows(const CounterRequest& request, std::uint64_t rows, std::uint64_t mine,
                                    std::uint64_t values);
std::unique_ptr<Counter> count_joint(const CounterRequest& request);

}  // namespace masu::cli
