// SPDX-License-Identifier: Apache-2.0
// `partitioned`: elements are sorted by the part of the bins that they lie in, into blocks, then each part is counted
// in local memory.
#pragma once

#include "histogram/device/device_rules.h"
#include "histogram/device/histogram_plan.h"

#include <masu/stream.h>

#include <cstdint>
#include <vector>

namespace masu {

class Partitioner {
 public:
  Partitioner(const Device& device, const DeviceRules& rules, const histogram_plan::Plan& plan, std::uint64_t slots);

  // The most elements of one chunk: what options.workspace holds, or else half of options.memory, the other half of
  // which is for staging. And the bytes of temporary memory for a chunk.
  static std::uint64_t chunk_elements(const histogram_plan::Plan& plan, const HistogramOptions& options);
  static std::uint64_t bytes_for(const histogram_plan::Plan& plan, std::uint64_t elements);
  // The elements for which there are so many bytes; a chunk at least.
  static std::uint64_t elements_in(const histogram_plan::Plan& plan, std::uint64_t bytes);

  // Counts a chunk with temporary memory for it: `input` are the arguments of MASU_INPUT. Adds to `totals`.
  void count(Stream& stream, const BufferBase& memory, const call::Arguments& input, std::uint64_t elements,
             const BufferBase& totals, std::vector<Event>& launches);

 private:
  struct Launch {
    histogram_plan::Plan plan;
    call::Kernels kernels;
  };
  static Launch of_step(const Device& device, const DeviceRules& rules, const histogram_plan::Plan& plan,
                        histogram_plan::KernelKind kernel);
  static std::uint64_t parts_bytes(const histogram_plan::Plan& plan);
  // Work-groups that sort so many elements, and the most blocks that they fill.
  static std::uint64_t groups_for(const histogram_plan::Plan& plan, std::uint64_t elements);
  static std::uint64_t blocks_for(const histogram_plan::Plan& plan, std::uint64_t elements);

  histogram_plan::Plan plan_;
  std::uint64_t slots_;
  Launch scatter_;
  Launch order_;
  Launch parts_;
};

}  // namespace masu
