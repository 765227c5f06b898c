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

}  // namespace masu
