// SPDX-License-Identifier: Apache-2.0
// `partitioned`: elements are sorted by the part of the bins that they lie in, then each part is counted in local
// memory.
#pragma once

#include "histogram/device/device_rules.h"
#include "histogram/device/histogram_plan.h"

#include <masu/stream.h>

#include <cstdint>
#include <vector>

namespace masu {

class Partitioner {
 public:
  // Temporary memory for chunks of `elements`: allocated, or the caller's, apart from the data.
  Partitioner(const DeviceRules& rules, const histogram_plan::Plan& plan, std::uint64_t slots, std::uint64_t elements,
              const BufferBase& data, const BufferBase* workspace);

  // The most elements of one chunk: what options.workspace holds, or else half of options.memory, the other half of
  // which is for staging. And the bytes for a chunk.
  static std::uint64_t chunk_elements(const histogram_plan::Plan& plan, const HistogramOptions& options);
  static std::uint64_t bytes_for(const histogram_plan::Plan& plan, std::uint64_t elements);
  [[nodiscard]] std::uint64_t most_elements() const noexcept { return elements_; }

  // Counts a chunk: `input` are the arguments of MASU_INPUT for it. Adds to `totals`.
  void count(Stream& stream, const call::Arguments& input, std::uint64_t elements, const BufferBase& totals,
             std::vector<Event>& launches);

 private:
  struct Launch {
    histogram_plan::Plan plan;
    call::Kernels kernels;
  };
  Launch prepare(const DeviceRules& rules, histogram_plan::KernelKind kernel) const;
  static std::uint64_t parts_bytes(const histogram_plan::Plan& plan);

  histogram_plan::Plan plan_;
  std::uint64_t slots_;
  std::uint64_t elements_;
  Buffer<std::byte> memory_;
  Launch sizes_;
  Launch scan_;
  Launch scatter_;
  Launch parts_;
};

}  // namespace masu
