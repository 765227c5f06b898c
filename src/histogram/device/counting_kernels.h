// SPDX-License-Identifier: Apache-2.0
// What counting one column takes on a device, made once: tables of edges and compiled kernels. Its launches are all
// that counting gives to a stream.
#pragma once

#include "histogram/device/device_rules.h"
#include "histogram/device/histogram_plan.h"
#include "histogram/device/partitioner.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/histogram.h>
#include <masu/stream.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace masu {

// Some elements of device memory: rows of `count` elements, `pitch` bytes apart, from byte `offset` of its memory on.
struct CountedData {
  const BufferBase& memory;
  std::uint64_t offset;
  std::uint64_t count;
  std::uint64_t rows = 1;
  std::uint64_t pitch = 0;
};

// Used by one thread at a time.
class CountingKernels {
 public:
  CountingKernels(const Device& device, SlotRule rule, const histogram_plan::Plan& plan, const TableUpload& upload);

  [[nodiscard]] const histogram_plan::Plan& plan() const noexcept { return plan_; }
  [[nodiscard]] const SlotRule& rule() const { return rules_.column(0); }
  // Slots of one channel, and bytes of the totals of all.
  [[nodiscard]] std::uint64_t slots() const { return rule().slots; }
  [[nodiscard]] std::uint64_t totals_bytes() const { return slots() * plan_.channels * sizeof(std::uint64_t); }
  // Bytes of temporary memory for `count` elements. With less they are counted in more chunks.
  [[nodiscard]] static std::uint64_t temporary_bytes(const histogram_plan::Plan& plan, std::uint64_t count,
                                                     const HistogramOptions& options);

  // Adds what the data have to 64-bit totals at `totals`, in pieces so small that no 32-bit count of a work-group
  // overflows. `temporary` is null where none is needed.
  void count(Stream& stream, const CountedData& data, const BufferBase& totals, const BufferBase* temporary,
             std::vector<Event>& launches);

 private:
  // For one span, or for rows with a pitch.
  struct Launcher {
    histogram_plan::Plan plan;
    call::Kernels kernels;
  };
  Launcher& for_rows();
  void launch(Stream& stream, Launcher& launcher, const CountedData& data, std::uint64_t groups,
              const BufferBase& totals, std::vector<Event>& launches);
  void partition(Stream& stream, const CountedData& data, const BufferBase& totals, const BufferBase& temporary,
                 std::vector<Event>& launches);

  Device device_;
  histogram_plan::Plan plan_;
  DeviceRules rules_;
  std::optional<Launcher> span_;
  std::optional<Launcher> rows_;
  std::optional<Partitioner> partitioner_;
};

}  // namespace masu
