// SPDX-License-Identifier: Apache-2.0
// What counting or summing by slots takes on a device, made once: tables of edges and compiled kernels. Its launches
// are all that a call gives to a stream. And the counting of what comes in pieces with them.
#pragma once

#include "call/launcher.h"
#include "call/staging.h"
#include "histogram/bins/bin_rule.h"
#include "histogram/device/histogram_plan.h"
#include "histogram/weighted_sums.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/histogram.h>
#include <masu/stream.h>
#include <masu/weighted_histogram.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace masu {

// The rules of one column, or of all columns of a joint histogram, on a device; and the programs that use them.

// The rules of the columns of a joint histogram.
std::vector<SlotRule> joint_slot_rules(const Device& device, BinRules rules);

// How many joint bins columns have, with two after them: outside, NaN.
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
  // Makes the guides of the plan's size.
  DeviceRules(const Device& device, std::vector<SlotRule> columns, const histogram_plan::Plan& plan,
              const TableUpload& upload = {});

  // The program of a plan.
  struct Program {
    histogram_plan::Plan plan;
    call::Kernels kernels;
  };
  [[nodiscard]] Program program(const histogram_plan::Plan& plan) const;
  // The arguments of column d's HISTOGRAM_RULE_PARAMETERS.
  [[nodiscard]] const call::Arguments& arguments(std::size_t d) const { return arguments_[d]; }
  // The arguments of HISTOGRAM_INPUT: `count` elements from number `first` on, all in one row.
  [[nodiscard]] call::Arguments input(std::span<const call::At> columns, std::uint64_t first,
                                      std::uint64_t count) const;
  // The same of one column whose rows of `row_elements` elements lie `pitch` bytes apart; `count` is that of
  // SUM_PARAMETERS, where it counts the elements of a row, or of HISTOGRAM_INPUT.
  [[nodiscard]] call::Arguments rows_input(const call::At& from, std::uint64_t count, std::uint64_t rows,
                                           std::uint64_t pitch) const {
    return call::Arguments(from, count, rows, pitch, static_cast<std::uint32_t>(slots()), arguments_[0]);
  }
  // The local memory of the plan: the table, and the guide and thresholds where they lie there.
  [[nodiscard]] call::Arguments local(const histogram_plan::Plan& plan) const;
  [[nodiscard]] const SlotRule& column(std::size_t d) const { return columns_[d]; }
  [[nodiscard]] std::span<const SlotRule> columns() const noexcept { return columns_; }
  // How many a table has: the column's, or the joint bins and two more.
  [[nodiscard]] std::uint64_t slots() const noexcept { return joint_ ? joint_slots(columns_) : columns_.front().slots; }

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

  // Counts a chunk with temporary memory for it: `input` are the arguments of HISTOGRAM_INPUT. Adds to `totals`.
  void count(Stream& stream, const BufferBase& memory, const call::Arguments& input, std::uint64_t elements,
             const BufferBase& totals, std::vector<Event>& launches);

 private:
  histogram_plan::Plan plan_;
  std::uint64_t slots_;
  DeviceRules::Program scatter_;
  DeviceRules::Program order_;
  DeviceRules::Program parts_;
};

// What is copied beside the work, both of one size in the device's memory.
struct CopiedBeside {
  const BufferBase& from;
  const BufferBase& to;
};

// Elements in device memory.
struct CountedData {
  std::span<const call::At> arrays;  // a column or several; where elements have weights, those last
  std::uint64_t count;               // elements of each
  std::uint64_t rows = 1;            // so many times, `pitch` bytes apart; of one column only
  std::uint64_t pitch = 0;
  std::uint64_t position = 0;  // elements that came before: they tell which row these belong to
  const CopiedBeside* beside = nullptr;
};

// Used by one thread at a time.
class SlotKernels {
 public:
  SlotKernels() = default;
  virtual ~SlotKernels() = default;
  SlotKernels(const SlotKernels&) = delete;
  SlotKernels& operator=(const SlotKernels&) = delete;

  [[nodiscard]] virtual Strategy strategy() const noexcept = 0;
  // Bytes of the totals, all zeros at first.
  [[nodiscard]] virtual std::uint64_t totals_bytes() const noexcept = 0;
  // So many elements belong together.
  [[nodiscard]] virtual unsigned channels() const noexcept { return 1; }
  [[nodiscard]] virtual std::uint64_t row_elements() const noexcept { return no_row_end; }
  // Bytes of temporary memory for `count` elements. With less they are counted in more chunks.
  [[nodiscard]] virtual std::uint64_t temporary_bytes(std::uint64_t /*count*/) const { return 0; }
  // Whether two calls on different streams must not run at a time: they share memory without atomics.
  [[nodiscard]] virtual bool one_at_a_time() const noexcept { return false; }

  // Adds what the data have to the totals. `temporary` is null where none is needed.
  virtual void count(Stream& stream, const CountedData& data, const BufferBase& totals, const BufferBase* temporary,
                     std::vector<Event>& launches) = 0;
  // The same for totals that hold anything before. Gives whether `data.beside` was copied too.
  virtual bool set(Stream& stream, const CountedData& data, const BufferBase& totals, const BufferBase* temporary,
                   std::vector<Event>& launches) {
    call::clear(stream, totals, 0, totals.size_bytes());
    if (data.count != 0) count(stream, data, totals, temporary, launches);
    return false;
  }
};

// Tables that a device counts: their columns, and how they are counted.
struct CountedTables {
  // One histogram for each channel.
  static CountedTables one(const Device& device, const BinRule& rule, const HistogramOptions& options);
  // One for each row and channel. Elements come in order: rows may begin and end anywhere in a call's.
  static CountedTables of_rows(const Device& device, const BinRule& rule, std::uint64_t rows,
                               std::uint64_t row_elements, const HistogramOptions& options);
  // The joint bins, then the points outside of the bins, then those with a NaN.
  static CountedTables joint_one(const Device& device, BinRules rules, const HistogramOptions& options);

  std::vector<SlotRule> columns;
  histogram_plan::Plan plan;
  std::uint64_t rows = 1;
  std::uint64_t row_elements = no_row_end;
  std::optional<histogram_plan::Plan> rows_plan{};  // of whole rows, where they have another than their pieces
};

// Counting into 64-bit totals on a device.
class TableKernels final : public SlotKernels {
 public:
  TableKernels(const Device& device, CountedTables tables, const TableUpload& upload,
               const HistogramOptions& options = {});

  [[nodiscard]] Strategy strategy() const noexcept override { return strategy_; }
  [[nodiscard]] std::uint64_t totals_bytes() const noexcept override {
    return rows_ * plan_.channels * rules_.slots() * sizeof(std::uint64_t);
  }
  [[nodiscard]] unsigned channels() const noexcept override { return plan_.channels; }
  [[nodiscard]] std::uint64_t row_elements() const noexcept override { return row_elements_; }
  [[nodiscard]] std::uint64_t temporary_bytes(std::uint64_t count) const override;
  [[nodiscard]] static std::uint64_t temporary_bytes(const histogram_plan::Plan& plan, std::uint64_t count,
                                                     const HistogramOptions& options);
  [[nodiscard]] bool one_at_a_time() const noexcept override { return plan_.strategy == Strategy::partitioned; }

  void count(Stream& stream, const CountedData& data, const BufferBase& totals, const BufferBase* temporary,
             std::vector<Event>& launches) override;
  bool set(Stream& stream, const CountedData& data, const BufferBase& totals, const BufferBase* temporary,
           std::vector<Event>& launches) override;

 private:
  using Launcher = DeviceRules::Program;
  // Where the totals of a launch are, and what is copied beside it.
  struct Target {
    const BufferBase& totals;
    std::uint64_t row = 0;  // the first one's
    const CopiedBeside* beside = nullptr;
  };
  // `input`: the first arguments of the kernel.
  void launch(Stream& stream, Launcher& launcher, std::string_view kernel, const call::Arguments& input,
              std::uint64_t groups, const Target& to, std::vector<Event>& launches);
  // Counts `rows` rows of `count` elements, `pitch` bytes apart, by the launcher of whole rows.
  void count_rows(Stream& stream, const call::At& from, std::uint64_t count, std::uint64_t rows, std::uint64_t pitch,
                  const Target& to, std::vector<Event>& launches);
  void partition(Stream& stream, const CountedData& data, const BufferBase& totals, const BufferBase& temporary,
                 std::vector<Event>& launches);
  // Row number `row` of the first column, from element `first` on.
  [[nodiscard]] call::At place(const CountedData& data, std::uint64_t row, std::uint64_t first) const;
  // The launcher of the rows of an image.
  void take_rows_with_pitch();

  Device device_;
  HistogramOptions options_;
  std::uint64_t rows_;
  std::uint64_t row_elements_;
  Strategy strategy_;
  histogram_plan::Plan plan_;
  DeviceRules rules_;
  std::optional<Launcher> launcher_;  // of the plan; none where bins are partitioned
  std::optional<Launcher> whole_rows_;
  std::optional<Partitioner> partitioner_;
};

// How often each pattern of 8 or 16 bits occurs in device memory, counted there.
class PatternCounts {
 public:
  [[nodiscard]] static constexpr std::uint64_t patterns_of(Dtype dtype) noexcept {
    return std::uint64_t{1} << (8 * size_of(dtype));
  }
  // Plans the counting of `count` elements.
  PatternCounts(const DeviceInfo& device, Dtype dtype, std::uint64_t count);
  // Bytes of the memory that counting needs.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  // Queues the counting, once: a u64 for each pattern, from the beginning of `memory` on, which has bytes() bytes from
  // a multiple of 16 on.
  void count(Stream& stream, const BufferBase& data, const Buffer<std::byte>& memory, std::vector<Event>& launches);

 private:
  std::uint64_t count_;
  SlotRule rule_;
  histogram_plan::Plan plan_;
  std::uint64_t temporary_;  // where what counting needs besides begins
  std::uint64_t bytes_;
};

// Summing weights by slots on a device, exactly.

// The totals are the digits of the sums, of each row and slot, of the weights and then of their squares.
class WeightedKernels final : public SlotKernels {
 public:
  // The rules of the columns, as they find slots here.
  static std::vector<SlotRule> columns_of(const Device& device, BinRules rules);
  // `formats`: what is summed, the weights and perhaps their squares. Rows of `row_elements` elements each. `trial`: a
  // plan for another device, for tests.
  WeightedKernels(const Device& device, std::vector<SlotRule> columns, std::span<const WeightFormat> formats,
                  const WeightedOptions& options, std::uint64_t row_elements, const TableUpload& upload,
                  const std::optional<weighted_plan::Trial>& trial = std::nullopt);

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
    std::uint64_t first;  // of its totals
  };
  [[nodiscard]] bool has_window() const noexcept;
  // `count` elements from `first` on, rows of `length`, the first of which is row `row`.
  void launch(Stream& stream, const CountedData& data, std::uint64_t first, std::uint64_t count, std::uint64_t length,
              std::uint64_t row, const BufferBase& totals, const BufferBase* temporary, std::vector<Event>& launches);

  Device device_;
  WeightedOptions options_;
  std::uint64_t row_elements_;
  std::uint64_t slots_;  // of a row
  DeviceRules rules_;
  std::vector<Sums> sums_;
  std::uint32_t described_ = 0;  // launches with a description of their own
};

// Totals that stay on the device, host data through staging buffers, copies beside kernels.

class DeviceCounter {
 public:
  // Makes the kernels. `upload`: how their tables come to the device.
  using Make = std::function<std::unique_ptr<SlotKernels>(const TableUpload&)>;
  // `staging`: most bytes of staging memory, 0: what suits the device. `workspace`: temporary memory of the kernels, or
  // null.
  DeviceCounter(const Device& device, const Make& make, std::uint64_t staging, const BufferBase* workspace = nullptr);
  ~DeviceCounter();  // finishes the stream before the host memory of the rules goes
  DeviceCounter(const DeviceCounter&) = delete;
  DeviceCounter& operator=(const DeviceCounter&) = delete;

  // Counts the next elements in host memory, arrays of one length: whole pixels. Page-locked memory may be reused when
  // it returns, as other memory may.
  void add(std::span<const ArrayView> arrays);
  // The same for `rows` rows of `count` elements, `pitch` bytes apart, of one column.
  void add_image(const std::byte* first, Dtype dtype, std::uint64_t count, std::uint64_t rows, std::uint64_t pitch);
  // Counts elements in device memory; on `stream` it returns at once, otherwise when they are counted.
  void add(CountedData data, Stream* stream);
  void add(std::span<const BufferBase* const> arrays, std::uint64_t count, Stream* stream);
  // The totals of the kernels. Waits.
  [[nodiscard]] std::vector<std::uint64_t> totals() const;
  [[nodiscard]] Times times() const;
  [[nodiscard]] Strategy strategy() const noexcept { return kernels_->strategy(); }

 private:
  void count_there(Stream& queue, CountedData data);
  call::Staging& pieces();
  // Waits for the pieces, and adds up the times of the launches so far.
  void settle() const;

  Device device_;
  std::uint64_t staging_bytes_;
  const BufferBase* workspace_;
  mutable Stream stream_;
  std::unique_ptr<SlotKernels> kernels_;
  Buffer<std::uint64_t> counts_;
  Event prepared_;                              // tables and counts, on `stream_`
  std::optional<Buffer<std::byte>> temporary_;  // of the kernels
  mutable std::optional<call::Staging> staging_;
  mutable std::vector<Event> launches_;
  mutable Times times_;
  std::uint64_t position_ = 0;  // elements so far
};

// Bytes of temporary memory for `count` elements.
std::uint64_t device_workspace(const Device& device, const BinRule& rule, const HistogramOptions& options,
                               std::uint64_t count);

std::optional<ValueRange> device_finite_range(const Device& device, const ArrayView& data);
std::optional<ValueRange> device_finite_range(const BufferBase& data, Dtype dtype);

}  // namespace masu
