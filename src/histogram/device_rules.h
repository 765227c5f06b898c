// SPDX-License-Identifier: Apache-2.0
// The rules of one column, or of all columns of a joint histogram, on a device; and the programs that use them.
#pragma once

#include "histogram/histogram_plan.h"
#include "histogram/slot_rule.h"
#include "runtime/backend.h"
#include "runtime/whole.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/program.h>
#include <masu/stream.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace masu {

// The rules of the columns of a joint histogram.
std::vector<SlotRule> joint_slot_rules(const Device& device, std::span<const std::shared_ptr<const BinRule>> rules);

// The device time of kernels that have run, which it forgets; what a queue of the caller's does not tell is 0.
double take_seconds(std::vector<Event>& launches);

class DeviceRules {
 public:
  // Makes the guides of the plan's size, and uploads them: on `stream` while the caller goes on, where there is one; it
  // is finished before the rules are destroyed. `joint`: columns of a joint histogram, even if it is one.
  DeviceRules(const Device& device, std::vector<SlotRule> columns, const histogram_plan::Plan& plan, bool joint,
              Stream* stream = nullptr);

  [[nodiscard]] std::shared_ptr<runtime::Kernel> kernel(const histogram_plan::Plan& plan) const;
  // The arguments of column d's MASU_RULE_PARAMETERS.
  [[nodiscard]] const std::vector<KernelArgument>& arguments(std::size_t d) const { return arguments_[d]; }
  // Appends the local memory of the plan: the table, and the guide and thresholds where they lie there.
  void append_local(const histogram_plan::Plan& plan, std::vector<KernelArgument>& arguments) const;
  [[nodiscard]] const SlotRule& column(std::size_t d) const { return columns_[d]; }
  [[nodiscard]] std::size_t size() const noexcept { return columns_.size(); }

 private:
  Device device_;
  std::vector<SlotRule> columns_;
  bool joint_;
  std::vector<Buffer<std::byte>> tables_;
  std::vector<std::vector<KernelArgument>> arguments_;
};

}  // namespace masu
