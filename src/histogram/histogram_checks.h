// SPDX-License-Identifier: Apache-2.0
// What the public functions of this room check and convert alike.
#pragma once

#include "call/launcher.h"
#include "histogram/bins/bin_rule.h"
#include "histogram/device/slot_kernels.h"

#include <masu/bins.h>
#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/histogram.h>
#include <masu/stream.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace masu {

inline constexpr unsigned most_channels = 16;
inline constexpr std::string_view rows_name = "row_histograms";  // in messages
inline constexpr std::string_view joint_name = "joint_histogram";
inline constexpr std::uint64_t most_rows = std::uint64_t{1} << 32;
inline constexpr std::uint64_t most_row_counters = std::uint64_t{1} << 33;
inline constexpr std::size_t most_columns = 8;
inline constexpr std::uint64_t most_joint_bins = std::uint64_t{1} << 31;
inline constexpr std::uint64_t joint_extra_bins = 2;  // outside, nan

// `function`, in the following: the first word of the message. Throws invalid_argument unless channels are 1 to 16.
void check_channels(std::string_view function, unsigned channels);
// Throws invalid_argument for several of them, in forms that return one histogram.
void check_one_channel(const HistogramOptions& options);
// Throws out_of_memory: `counters` counters need `bytes` bytes, of which `free` are free (0: not known).
[[noreturn]] void no_memory(std::string_view function, std::uint64_t counters, std::uint64_t bytes,
                            std::uint64_t free = 0);
// The rule of `rows` rows of so many elements. Throws for what is out of the limits.
std::shared_ptr<const BinRule> checked_row_rule(Dtype dtype, const Bins& bins, std::uint64_t rows,
                                                std::uint64_t row_elements, const HistogramOptions& options);
// The rules of the columns of a joint histogram, and how many joint bins they have.
std::vector<std::shared_ptr<const BinRule>> checked_joint_rules(Dtype dtype, std::span<const Bins> bins,
                                                                const HistogramOptions& options);
std::uint64_t joint_bin_count(BinRules rules) noexcept;
// Throws unless there are 1 to 8 columns, as many columns as bins, or columns are equally long.
void check_column_count(std::string_view function, std::size_t columns);
void check_columns(std::string_view function, std::size_t bins, std::size_t columns);
void check_lengths(std::string_view function, std::uint64_t expected, std::uint64_t got);
// The length of columns in memory of `device`, in the stream's order where there is one.
std::uint64_t checked_length(std::string_view function, const Device& device, const Stream* stream,
                             std::span<const BufferBase* const> columns, Dtype dtype);
// Where memory is promised freely, many counters would end the process by a signal instead of an error.
void check_memory(std::string_view function, std::uint64_t counters, std::uint64_t bytes);

// Bins made definite by data that is all there.

// `bins` itself where they do not depend on the data. A range is found where the data is or on the device, an
// estimator's number of bins on the CPU.
Bins definite_bins(const Device& device, const ArrayView& data, const Bins& bins);
Bins definite_bins(const BufferBase& data, Dtype dtype, const Bins& bins);

// The coordinates of points as columns, some thousand points at a time: take(columns, number of the first point).
void each_columns(const ArrayView& points, std::size_t columns,
                  const std::function<void(std::span<const ArrayView>, std::uint64_t)>& take);
// Divides the counts or totals of joint bins by the widths of their bins, column by column. `own_type`: edges are
// subtracted in their own type, as numpy.histogram does with weights.
void divide_by_widths(BinRules rules, bool own_type, std::vector<double>& values);

// What accumulators of every kind have.
struct AccumulatorState {
  Device device;
  std::unique_ptr<DeviceCounter> counter{};  // of what is counted on a device
  Times times{};                             // on the CPU

  template <class Count>
  void count_here(const Count& count) {
    const double start = call::now();
    count();
    times.compute += call::now() - start;
  }
  [[nodiscard]] Times all_times() const { return counter ? counter->times() : times; }
};
// Totals of so many counters, all zeros. Throws out_of_memory for `bytes` bytes.
std::vector<std::uint64_t> zeros_for(std::uint64_t size, std::string_view function, std::uint64_t counters,
                                     std::uint64_t bytes);

// A result of one table: the counts of its bins, and `extra` numbers behind them for what lies in none.
detail::Counts counts_of_table(std::vector<std::uint64_t> numbers, std::vector<std::shared_ptr<const BinRule>> rules,
                               std::uint64_t extra, Strategy strategy);

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

  // Of a call, beside what the kernels need.
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
  // Counts all elements: adds to `totals`, which it clears, in the part of the room behind own_bytes().
  void count(Stream& stream, std::span<const BufferBase* const> arrays, std::uint64_t count, const BufferBase& totals,
             const Buffer<std::byte>& room, const CopiedBeside* beside = nullptr);
};

}  // namespace masu
