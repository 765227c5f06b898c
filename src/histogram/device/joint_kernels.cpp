// SPDX-License-Identifier: Apache-2.0
// Joint histograms.
#include "histogram/device/counting_kernels.h"

#include <algorithm>
#include <utility>

namespace masu {

namespace {

histogram_plan::Plan plan_of_joint(const Device& device, std::span<const SlotRule> columns, std::uint64_t slots,
                                   const HistogramOptions& options) {
  histogram_plan::Plan found = histogram_plan::make_joint(device.info(), columns, slots, options.strategy);
  found.clamp = options.outside == Outside::clamp;
  return found;
}

}  // namespace

JointKernels::JointKernels(const Device& device, std::span<const std::shared_ptr<const BinRule>> rules,
                           const HistogramOptions& options, const TableUpload& upload)
    : JointKernels(device, joint_slot_rules(device, rules), options, upload) {}

JointKernels::JointKernels(const Device& device, std::vector<SlotRule> columns, const HistogramOptions& options,
                           const TableUpload& upload)
    : options_(options),
      slots_(joint_slots(columns)),
      plan_(plan_of_joint(device, columns, slots_, options)),
      rules_(device, std::move(columns), plan_, true, upload) {
  if (plan_.strategy == Strategy::partitioned) {
    partitioner_.emplace(device, rules_, plan_, slots_);
  } else {
    kernels_ = rules_.kernels(plan_);
  }
}

std::uint64_t JointKernels::totals_bytes() const noexcept {
  return slots_ * sizeof(std::uint64_t);
}

std::uint64_t JointKernels::temporary_bytes(std::uint64_t count) const {
  return CountingKernels::temporary_bytes(plan_, count, options_);
}

void JointKernels::count(Stream& stream, const CountedData& data, const BufferBase& totals, const BufferBase* temporary,
                         std::vector<Event>& launches) {
  const std::uint64_t most =
      partitioner_ ? Partitioner::elements_in(plan_, temporary->size_bytes()) : plan_.most_elements();
  for (std::uint64_t first = 0; first < data.count; first += most) {
    const std::uint64_t length = std::min(most, data.count - first);
    const call::Arguments input = rules_.input(data.arrays, first, length, slots_);
    if (partitioner_) {
      partitioner_->count(stream, *temporary, input, length, totals, launches);
      continue;
    }
    const std::uint64_t items = std::uint64_t{plan_.group} * plan_.unroll;
    const std::uint64_t groups = std::clamp<std::uint64_t>((length + items - 1) / items, 1, plan_.groups);
    launches.push_back(kernels_->launch(stream, plan_.kernel_name(), groups, input, call::memory_of(totals),
                                        totals.byte_offset() / sizeof(std::uint64_t), rules_.local(plan_)));
  }
}

}  // namespace masu
