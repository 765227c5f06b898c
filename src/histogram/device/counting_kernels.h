// SPDX-License-Identifier: Apache-2.0
// Counting into 64-bit totals on a device: one histogram, one for each row, or a joint one.
#pragma once

#include "histogram/device/device_rules.h"
#include "histogram/device/histogram_plan.h"
#include "histogram/device/slot_kernels.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/histogram.h>
#include <masu/stream.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace masu {

// slots() totals for each channel.
class CountingKernels final : public SlotKernels {
 public:
  CountingKernels(const Device& device, SlotRule rule, const histogram_plan::Plan& plan, const TableUpload& upload,
                  const HistogramOptions& options = {});

  [[nodiscard]] const histogram_plan::Plan& plan() const noexcept { return plan_; }
  [[nodiscard]] const SlotRule& rule() const { return rules_.column(0); }
  [[nodiscard]] std::uint64_t slots() const { return rule().slots; }
  [[nodiscard]] static std::uint64_t temporary_bytes(const histogram_plan::Plan& plan, std::uint64_t count,
                                                     const HistogramOptions& options);

  [[nodiscard]] Strategy strategy() const noexcept override { return plan_.strategy; }
  [[nodiscard]] std::uint64_t totals_bytes() const noexcept override;
  [[nodiscard]] unsigned channels() const noexcept override { return plan_.channels; }
  [[nodiscard]] std::uint64_t temporary_bytes(std::uint64_t count) const override;
  [[nodiscard]] bool one_at_a_time() const noexcept override;
  // In pieces so small that no 32-bit count of a work-group overflows.
  void count(Stream& stream, const CountedData& data, const BufferBase& totals, const BufferBase* temporary,
             std::vector<Event>& launches) override;
  bool set(Stream& stream, const CountedData& data, const BufferBase& totals, const BufferBase* temporary,
           std::vector<Event>& launches) override;

 private:
  // For one span, or for rows with a pitch.
  struct Launcher {
    histogram_plan::Plan plan;
    call::Kernels kernels;
  };
  // Rows that lie `pitch` bytes apart.
  struct Span {
    call::At data;
    std::uint64_t count;
    std::uint64_t rows;
    std::uint64_t pitch;
  };
  Launcher& for_rows();
  void launch(Stream& stream, Launcher& launcher, std::string_view kernel, const Span& data, std::uint64_t groups,
              const BufferBase& totals, std::vector<Event>& launches, const CopiedBeside* beside = nullptr);
  [[nodiscard]] call::Arguments arguments(const Span& data, const BufferBase& totals) const;
  void partition(Stream& stream, const Span& data, const BufferBase& totals, const BufferBase& temporary,
                 std::vector<Event>& launches);

  Device device_;
  HistogramOptions options_;
  histogram_plan::Plan plan_;
  DeviceRules rules_;
  std::optional<Launcher> span_;
  std::optional<Launcher> rows_;
  std::optional<Partitioner> partitioner_;
};

// slots() totals for each row and channel. Elements come in order: rows may begin and end anywhere in a call's.
class RowKernels final : public SlotKernels {
 public:
  RowKernels(const Device& device, SlotRule rule, std::uint64_t rows, std::uint64_t row_elements,
             const HistogramOptions& options, const TableUpload& upload);

  [[nodiscard]] std::uint64_t slots() const { return rules_.column(0).slots; }

  [[nodiscard]] Strategy strategy() const noexcept override;
  [[nodiscard]] std::uint64_t totals_bytes() const noexcept override;
  [[nodiscard]] unsigned channels() const noexcept override { return plan_.channels; }
  [[nodiscard]] std::uint64_t row_elements() const noexcept override { return row_elements_; }
  [[nodiscard]] bool one_at_a_time() const noexcept override { return plan_.strategy == Strategy::sequential; }
  void count(Stream& stream, const CountedData& data, const BufferBase& totals, const BufferBase* temporary,
             std::vector<Event>& launches) override;

 private:
  std::uint64_t row_count_;
  std::uint64_t row_elements_;
  histogram_plan::Plan plan_;                      // of pieces of rows
  std::optional<histogram_plan::Plan> rows_plan_;  // of whole rows
  DeviceRules rules_;
  call::Kernels kernels_;
  std::optional<call::Kernels> rows_kernels_;
};

// The joint bins, then the points outside of the bins, then those with a NaN.
class JointKernels final : public SlotKernels {
 public:
  JointKernels(const Device& device, std::span<const std::shared_ptr<const BinRule>> rules,
               const HistogramOptions& options, const TableUpload& upload);

  [[nodiscard]] Strategy strategy() const noexcept override { return plan_.strategy; }
  [[nodiscard]] std::uint64_t totals_bytes() const noexcept override;
  [[nodiscard]] std::uint64_t temporary_bytes(std::uint64_t count) const override;
  [[nodiscard]] bool one_at_a_time() const noexcept override { return partitioner_.has_value(); }
  void count(Stream& stream, const CountedData& data, const BufferBase& totals, const BufferBase* temporary,
             std::vector<Event>& launches) override;

 private:
  JointKernels(const Device& device, std::vector<SlotRule> columns, const HistogramOptions& options,
               const TableUpload& upload);

  HistogramOptions options_;
  std::uint64_t slots_;
  histogram_plan::Plan plan_;
  DeviceRules rules_;
  std::optional<call::Kernels> kernels_;  // none where bins are partitioned
  std::optional<Partitioner> partitioner_;
};

}  // namespace masu
