// SPDX-License-Identifier: Apache-2.0
// The rules of one column, or of all columns of a joint histogram, on a device; and the programs that use them.
#pragma once

#include "call/launcher.h"
#include "histogram/device/histogram_plan.h"
#include "histogram/device/slot_rule.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/stream.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace masu {

// The rules of the columns of a joint histogram.
std::vector<SlotRule> joint_slot_rules(const Device& device, std::span<const std::shared_ptr<const BinRule>> rules);

// The joint bins of columns, and two behind them: outside, NaN.
std::uint64_t joint_slots(std::span<const SlotRule> columns) noexcept;

// The device time of kernels that have run, which it forgets; what a queue of the caller's does not tell is 0.
double take_seconds(std::vector<Event>& launches);

// How tables come to the device.
struct TableUpload {
  Stream* stream = nullptr;            // while the caller goes on; it is finished before the rules are destroyed
  const BufferBase* filler = nullptr;  // memory that kernels are given where a rule has no table
};

class DeviceRules {
 public:
  // Makes the guides of the plan's size. `joint`: columns of a joint histogram, even if it is one.
  DeviceRules(const Device& device, std::vector<SlotRule> columns, const histogram_plan::Plan& plan, bool joint,
              const TableUpload& upload = {});

  [[nodiscard]] call::Kernels kernels(const histogram_plan::Plan& plan) const;
  // The arguments of column d's MASU_RULE_PARAMETERS.
  [[nodiscard]] const call::Arguments& arguments(std::size_t d) const { return arguments_[d]; }
  // The arguments of MASU_INPUT: `count` elements from number `first` on, all in one row.
  [[nodiscard]] call::Arguments input(std::span<const call::At> columns, std::uint64_t first, std::uint64_t count,
                                      std::uint64_t slots) const;
  // The local memory of the plan: the table, and the guide and thresholds where they lie there.
  [[nodiscard]] call::Arguments local(const histogram_plan::Plan& plan) const;
  [[nodiscard]] const SlotRule& column(std::size_t d) const { return columns_[d]; }
  [[nodiscard]] std::span<const SlotRule> columns() const noexcept { return columns_; }

 private:
  Device device_;
  std::vector<SlotRule> columns_;
  bool joint_;
  std::vector<Buffer<std::byte>> tables_;
  std::vector<call::Arguments> arguments_;
};

// `partitioned`: elements are sorted by the part of the bins that they lie in, into blocks, then each part is counted
// in local memory.

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
