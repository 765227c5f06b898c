// SPDX-License-Identifier: Apache-2.0
// Summing weights by slots on a device, exactly.
#pragma once

#include "histogram/bins/bin_rule.h"
#include "histogram/device/device_rules.h"
#include "histogram/device/slot_kernels.h"
#include "histogram/device/weighted_histogram_plan.h"
#include "histogram/weighted_sums.h"

#include <masu/weighted_histogram.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace masu {

// The totals are the digits of the sums, of each row and slot, of the weights and then of their squares.
class WeightedKernels final : public SlotKernels {
 public:
  // `formats`: what is summed, the weights and perhaps their squares. Rows of `row_elements` elements each. `trial`: a
  // plan for another device, for tests.
  WeightedKernels(const Device& device, std::span<const std::shared_ptr<const BinRule>> rules,
                  std::span<const WeightFormat> formats, const WeightedOptions& options, std::uint64_t row_elements,
                  const TableUpload& upload, const std::optional<weighted_plan::Trial>& trial = std::nullopt);

  [[nodiscard]] Strategy strategy() const noexcept override { return Strategy::automatic; }
  [[nodiscard]] std::uint64_t totals_bytes() const noexcept override;
  [[nodiscard]] std::uint64_t row_elements() const noexcept override { return row_elements_; }
  [[nodiscard]] std::uint64_t temporary_bytes(std::uint64_t count) const override;
  void count(Stream& stream, const CountedData& data, const BufferBase& totals, const BufferBase* temporary,
             std::vector<Event>& launches) override;

  // Adds totals that were read to `sums`, one entry for each format with the slots of the rules, row by row.
  void collect(std::span<const std::uint64_t> totals, std::span<WeightSums> sums) const;
  // Where the sums of format number k are rounded to: f64, for each row and slot of the rules. Of integers, `integers`
  // takes the sums modulo 2^64, and the lowest bit of `status` is set where one does not fit; both may be null.
  struct Rounded {
    const BufferBase& sums;
    const BufferBase* integers;
    const BufferBase* status;
  };
  void round(Stream& stream, std::size_t k, const BufferBase& totals, const Rounded& to);

 private:
  // One for the weights, one for their squares.
  struct Sums {
    weighted_plan::Plan plan;
    call::Kernels kernels;
    std::optional<call::Kernels> window;  // nothing where there is one layout only
    call::Kernels rounding;
    Buffer<std::uint32_t> description;  // of that one layout
    std::uint64_t first;                // of its totals
  };
  WeightedKernels(const Device& device, std::span<const std::shared_ptr<const BinRule>> rules,
                  std::vector<SlotRule> columns, std::span<const WeightFormat> formats, const WeightedOptions& options,
                  std::uint64_t row_elements, const TableUpload& upload,
                  const std::optional<weighted_plan::Trial>& trial);
  [[nodiscard]] weighted_plan::Plan plan_of(std::span<const SlotRule> columns, const WeightFormat& format,
                                            const std::optional<weighted_plan::Trial>& trial) const;
  [[nodiscard]] bool has_window() const noexcept;
  // `count` elements from `first` on, rows of `length`, the first of which is row `row`.
  void launch(Stream& stream, const CountedData& data, std::uint64_t first, std::uint64_t count, std::uint64_t length,
              std::uint64_t row, const BufferBase& totals, const BufferBase* temporary, std::vector<Event>& launches);

  Device device_;
  WeightedOptions options_;
  std::uint64_t row_elements_;
  std::vector<std::uint32_t> slot_of_;  // the rule's slot of each slot, where they are not the same
  std::uint64_t slots_;                 // of a row
  std::uint64_t rule_slots_;            // of a row
  DeviceRules rules_;
  Buffer<std::uint32_t> lists_;  // the slots of each slot of the rule: where its list begins, then the lists
  std::vector<Sums> sums_;
  std::uint32_t described_ = 0;  // launches with a description of their own
};

}  // namespace masu
