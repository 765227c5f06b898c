// SPDX-License-Identifier: Apache-2.0
// A case of the benchmark counted by masu: one interface for histograms, joint histograms and rows.
#pragma once

#include <masu/buffer.h>
#include <masu/histogram.h>
#include <masu/stream.h>

#include "bench/histogram_cases.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace masu::bench {

// All counts of a case: of one table after the other the bins, then below, above and NaN; of joint ones the cells, then
// outside and NaN.
using Tally = std::vector<std::uint64_t>;

// The data: in device memory where there is a buffer, else in host memory.
struct Source {
  const Buffer<std::byte>* buffer = nullptr;
  ArrayView view;  // its dtype and count hold for the buffer, too
};

class Counting {
 public:
  virtual ~Counting() = default;
  // Counts the data once more; from device memory on the stream, which the caller finishes.
  virtual void count(Stream* stream) = 0;
  // Brings the counts to host memory.
  virtual void finish() = 0;
  // What finish() brought.
  [[nodiscard]] virtual Tally tally() const = 0;
  [[nodiscard]] virtual Strategy strategy() const = 0;
  // Seconds of counting so far.
  [[nodiscard]] virtual double seconds() const = 0;
  // How many times the data is in the tally.
  [[nodiscard]] virtual std::uint64_t times() const = 0;
};

std::unique_ptr<Counting> make_counting(const Device& device, const HistogramCase& what, const Source& source,
                                        const HistogramOptions& options);

// What the plain program counts, which looks every value up in the edges, on pieces of the data side by side.
Tally count_plainly(const HistogramCase& what, const ArrayView& data);

}  // namespace masu::bench
