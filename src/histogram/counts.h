// SPDX-License-Identifier: Apache-2.0
// What the functions of this room share: checks, the columns of a call, accumulators, prepared bins. And the one shape
// of counts of every kind: one histogram, one for each channel, one for each row and channel, or one of several columns
// together. It is checked once; counting in pieces, prepared bins and results are made of it.
#pragma once

#include "call/launcher.h"
#include "histogram/bins/bin_rule.h"
#include "histogram/cpu/histogram_cpu.h"
#include "histogram/device/slot_kernels.h"

#include <masu/bins.h>
#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/histogram.h>
#include <masu/joint_histogram.h>
#include <masu/row_histogram.h>
#include <masu/stream.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace masu {

inline constexpr unsigned most_channels = 16;
inline constexpr std::string_view rows_name = "row_histograms";  // in messages
inline constexpr std::string_view joint_name = "joint_histogram";
inline constexpr std::uint64_t most_rows = std::uint64_t{1} << 32;
inline constexpr std::uint64_t most_row_counters = std::uint64_t{1} << 33;
inline constexpr std::size_t most_columns = 8;
inline constexpr std::uint64_t most_joint_bins = std::uint64_t{1} << 31;

// `function`, in the following: the first word of the message. Throws invalid_argument unless channels are 1 to 16.
void check_channels(std::string_view function, unsigned channels);
// Throws invalid_argument for several of them, in forms that return one histogram.
void check_one_channel(const HistogramOptions& options);
// Throws out_of_memory: `counters` counters need `bytes` bytes, of which `free` are free (0: not known).
[[noreturn]] void no_memory(std::string_view function, std::uint64_t counters, std::uint64_t bytes,
                            std::uint64_t free = 0);
void check_row_count(std::uint64_t rows);
// Throws unless there are 1 to 8 columns, as many columns as bins, or columns are equally long.
void check_column_count(std::string_view function, std::size_t columns);
void check_columns(std::string_view function, std::size_t bins, std::size_t columns);
void check_lengths(std::string_view function, std::uint64_t expected, std::uint64_t got);
// Where memory is promised freely, many counters would end the process by a signal instead of an error.
void check_memory(std::string_view function, std::uint64_t counters, std::uint64_t bytes);

// The columns of a call, all of one dtype: in host memory, or in that of the device. Where elements have weights, those
// are the last array.
struct Columns {
  const Device& device;
  Dtype dtype;
  std::span<const ArrayView> views{};
  std::span<const BufferBase* const> buffers{};
  std::optional<Dtype> weights{};  // the dtype of the last buffer

  Columns(const Device& on, std::span<const ArrayView> columns)
      : device(on), dtype(columns.empty() ? Dtype::u8 : columns.front().dtype), views(columns) {}
  Columns(const Device& on, Dtype type, std::span<const BufferBase* const> columns)
      : device(on), dtype(type), buffers(columns) {}
  [[nodiscard]] std::size_t size() const noexcept { return views.size() + buffers.size(); }
  // Elements of the first.
  [[nodiscard]] std::uint64_t count() const;
  // All of them, those of `cpu` too.
  [[nodiscard]] std::vector<ArrayView> on_host() const;
  // `bins`, of each column, where they do not depend on the data. A range is found where the data is or on the device,
  // an estimator's number of bins on the CPU.
  [[nodiscard]] std::vector<Bins> definite(std::span<const Bins> bins) const;
};
// The length of columns that are as the rules say; of those in device memory, in the stream's order where there is one.
std::uint64_t checked_length(std::string_view function, BinRules rules, const Columns& columns, const Device& device,
                             const Stream* stream);

// Divides the counts or totals of joint bins by the widths of their bins, column by column. `own_type`: edges are
// subtracted in their own type, as numpy.histogram does with weights.
void divide_by_widths(BinRules rules, bool own_type, std::vector<double>& values);

// What accumulators of every kind have.
struct AccumulatorState {
  Device device;
  std::unique_ptr<DeviceCounter> counter{};     // of what is counted on a device
  std::unique_ptr<cpu::TableCounter> on_cpu{};  // of all else
  Times times{};                                // on the CPU

  // Counts elements that have been checked; with a stream, those in device memory without waiting.
  void count(const Columns& data, std::uint64_t elements, Stream* stream = nullptr);
  void count_on_cpu(std::span<const cpu::Column> columns, std::uint64_t elements);
  // The same for points whose coordinates lie one after the other, and their weights, or null.
  void count_points(const ArrayView& points, std::size_t columns, const ArrayView* weights);
  [[nodiscard]] Times all_times() const { return counter ? counter->times() : times; }
};

// Tables of bins with extras() numbers after each, for what lies in no bin.
struct CountShape {
  std::string_view name;  // of the function, in messages
  HistogramOptions options;
  detail::Counts empty;            // the result without its numbers
  std::uint64_t row_elements = 0;  // of rows

  // Throw for what is out of the limits.
  static CountShape of_one(Dtype dtype, const Bins& bins, const HistogramOptions& options);
  static CountShape of_rows(Dtype dtype, const Bins& bins, std::uint64_t rows, std::uint64_t row_elements,
                            const HistogramOptions& options);
  static CountShape of_joint(Dtype dtype, std::span<const Bins> bins, const HistogramOptions& options);

  [[nodiscard]] const BinRule& rule() const { return *empty.rules.front(); }
  [[nodiscard]] std::uint64_t tables() const noexcept { return empty.rows * empty.channels; }
  [[nodiscard]] std::uint64_t extras() const noexcept { return extras_of(empty.kind); }
  [[nodiscard]] std::uint64_t numbers() const noexcept { return tables() * (empty.size + extras()); }
  [[nodiscard]] static std::uint64_t extras_of(detail::CountKind kind) noexcept {
    return kind == detail::CountKind::joint ? joint_extra_bins : extra_slots;
  }
  // The bins that messages about memory name.
  [[nodiscard]] std::uint64_t counters() const noexcept {
    return empty.kind == detail::CountKind::rows ? tables() * empty.size : empty.size;
  }

  [[nodiscard]] std::unique_ptr<SlotKernels> kernels(const Device& device, const TableUpload& upload) const;
  // What counts numbers() totals on the CPU.
  [[nodiscard]] std::unique_ptr<cpu::TableCounter> counter(std::span<std::uint64_t> totals) const;
  // The result of all totals. `by_value`: a device's, which may stand for values.
  [[nodiscard]] detail::Counts counts(std::vector<std::uint64_t> totals, Strategy used, bool by_value) const;

  // One of the tables of a result, and results as the public functions return them.
  [[nodiscard]] static detail::Counts table(const detail::Counts& all, std::uint64_t number);
  [[nodiscard]] static std::vector<Histogram> histograms(detail::Counts counts);
  template <class Result>
  [[nodiscard]] static Result as(detail::Counts counts) {
    return Result(std::move(counts));
  }
};

// Counts what comes in pieces.
struct CountState : AccumulatorState {
  CountShape shape;
  std::vector<std::uint64_t> totals{};  // on the CPU

  // Rows have these, too: elements so far, and the first elements of a pixel that a piece has cut.
  std::uint64_t position = 0;
  std::vector<std::byte> pixel{};

  CountState(const Device& on, CountShape made);
  // Checks the columns, then counts their elements; with a stream, those in device memory without waiting.
  void add(const Columns& data, Stream* stream = nullptr);
  [[nodiscard]] detail::Counts counts() const;
};

// What prepared histograms of every kind share: the checks of a call, and what it gives to a stream.

// A result in device memory: its name in messages, and the size of an element.
struct NamedResult {
  std::string_view name;
  const BufferBase& memory;
  std::uint64_t count;
  std::size_t element_bytes;
};

struct PreparedBins::State {
  std::string_view name;  // of the function
  Device device;
  std::vector<std::shared_ptr<const BinRule>> rules;  // of each column
  unsigned channels = 1;
  std::uint64_t elements = 0;              // that a call has; 0: any number
  std::uint64_t numbers = 0;               // of results
  std::unique_ptr<SlotKernels> kernels{};  // none on `cpu`

  State(std::string_view function, const Device& on, std::vector<std::shared_ptr<const BinRule>> columns)
      : name(function), device(on), rules(std::move(columns)) {}
  virtual ~State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Bytes of the workspace that a call needs beside what the kernels need.
  [[nodiscard]] virtual std::uint64_t own_bytes() const = 0;

  // Throws before anything is given to the stream. `arrays`: the columns, then perhaps weights of `weights`. Returns
  // the number of elements and the workspace, or memory in its place.
  struct Checked {
    std::uint64_t count;
    Buffer<std::byte> room;
  };
  [[nodiscard]] Checked check(const Stream& stream, std::span<const BufferBase* const> arrays, const Dtype* weights,
                              std::span<const NamedResult> results, const BufferBase* workspace) const;
  void check_numbers(std::uint64_t got) const;
  // Counts all elements: adds to `totals`, which it clears, in the part of the room after own_bytes().
  void count(Stream& stream, std::span<const BufferBase* const> arrays, std::uint64_t count, const BufferBase& totals,
             const Buffer<std::byte>& room, const CopiedBeside* beside = nullptr);
};

}  // namespace masu
