// SPDX-License-Identifier: Apache-2.0
// Top-k on an OpenCL or CUDA device. One long row: a threshold from a sample, one pass that gathers what is above it,
// and an order of that; rows: a work-group each. Where the sample misled, the exact threshold is found digit by digit.
#pragma once

#include "call/launcher.h"
#include "topk/topk_cpu.h"
#include "topk/topk_plan.h"

#include <masu/buffer.h>
#include <masu/stream.h>
#include <masu/topk.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace masu {

class DeviceTopk {
 public:
  // For `rows` rows of `count` elements; k <= count < 2^31. Results go to `indices` and `values`, row r's from place
  // r * k on; where those are null, to memory of its own, for fetch(). With no `workspace`, memory is allocated.
  // `queued`: for enqueue(), which needs more.
  DeviceTopk(const BufferBase& data, Dtype dtype, const TopkOptions& options, std::uint64_t rows, std::uint64_t count,
             std::uint64_t k, bool queued, const BufferBase* indices = nullptr, const BufferBase* values = nullptr);
  ~DeviceTopk();
  DeviceTopk(const DeviceTopk&) = delete;
  DeviceTopk& operator=(const DeviceTopk&) = delete;
  // Bytes of temporary memory.
  static std::uint64_t bytes(const Device& device, Dtype dtype, const TopkOptions& options, std::uint64_t rows,
                             std::uint64_t count, std::uint64_t k, bool queued, bool results);

  // Launches what needs no look at results in between; the data begins so many bytes into its buffer's memory.
  void start(Stream& stream, std::uint64_t byte_offset);
  // The same with all that is left to do: instead of start() and finish().
  void enqueue(Stream& stream, std::uint64_t byte_offset);
  // Where the own results of all rows go in host memory, and how many NaNs of each were skipped.
  struct HostTarget {
    std::uint64_t* indices;
    void* values;
    std::span<std::uint32_t> nans;
  };
  // Waits, and does what is left to do. Where it returns true it has fetched the results to `target`, if that is not
  // null, while it waited.
  bool finish(Stream& stream, const HostTarget* target = nullptr);
  // Waits.
  void fetch(Stream& stream, const HostTarget& target) const;
  // Device time of the launches, once finished; the stream's events must tell times.
  [[nodiscard]] double seconds() const;

 private:
  struct Layout;
  static Layout layout(const topk_plan::Plan& plan, const Device& device, std::uint64_t rows, std::uint64_t count,
                       std::uint64_t k, bool queued, bool results);
  void launch_rows(Stream& stream);
  void start_row(Stream& stream, std::uint64_t row);
  void rescue(Stream& stream, std::uint64_t row);
  void finish_row(Stream& stream, std::uint64_t row, const HostTarget* target);
  void read(Stream& stream, const HostTarget& target) const;
  void filter(Stream& stream, std::uint64_t row);
  // Sorts so many entries, and makes the row's results of them. With `wait` sorts may look at what they met.
  void order(Stream& stream, std::uint64_t row, std::uint64_t entries, bool wait);
  // The exact threshold: fewer than k elements are above it, and k or more reach it.
  void select_threshold(Stream& stream, std::uint64_t row);
  // Keeps how many NaNs were met, for fetch().
  void note_nans(Stream& stream, std::uint64_t row);
  // All of a row where k is large: the k-th element is selected, and what comes up to it is sorted.
  void launch_exact(Stream& stream, std::uint64_t row);
  template <class... T>
  void launch(Stream& stream, topk_plan::Part part, std::string_view name, std::uint64_t groups, const T&... arguments);
  // The kernels' MASU_DATA, MASU_WORK and MASU_RESULT, and local memory for entries.
  [[nodiscard]] call::Arguments input(std::uint64_t row) const;
  [[nodiscard]] call::Arguments work() const;
  [[nodiscard]] call::Arguments result(std::uint64_t row) const;
  [[nodiscard]] call::Arguments entries(topk_plan::Part part, std::uint64_t places) const;

  // Where results go; of row 0, in bytes.
  struct Target {
    const BufferBase* indices = nullptr;
    std::uint64_t indices_at = 0;
    const BufferBase* values = nullptr;
    std::uint64_t values_at = 0;
  };

  Device device_;
  topk_plan::Plan plan_;
  const BufferBase& data_;
  std::uint64_t rows_;
  std::uint64_t count_;
  std::uint64_t k_;
  std::unique_ptr<Layout> at_;
  std::optional<Buffer<std::byte>> memory_;
  std::array<std::optional<call::Kernels>, topk_plan::parts> kernels_;
  std::uint64_t data_at_ = 0;
  Target target_;
  double sorting_ = 0;  // seconds of masu::sort
  std::vector<Event> launches_;
};

// How results are made, of what the CPU or a device found.

inline constexpr std::string_view topk_name = "topk";
inline constexpr std::uint64_t no_index = ~std::uint64_t{0};  // in places without an element

inline Ranking ranking_of(Dtype dtype, const TopkOptions& options) {
  return {dtype, options.largest, options.nan};
}

struct TopkParts {
  // Of no element yet. Throws out_of_memory where it does not fit.
  static TopkResult make(Dtype dtype, std::uint64_t rows, std::uint64_t k);
  static cpu::RowsTarget target(TopkResult& result);
  static TopkResult of(Dtype dtype, const std::vector<cpu::TopkEntry>& entries, std::uint64_t skipped);
  // Waits for a job that was started (where `queued`, for one that was enqueued), and fetches its results.
  static TopkResult finish(Stream& stream, DeviceTopk& job, Dtype dtype, std::uint64_t rows, std::uint64_t k,
                           bool queued, Times* times = nullptr);
};

// How often each digit of the ranks follows given digits, counted on a device: exact selection, a pass for each digit.

class DigitCounter {
 public:
  explicit DigitCounter(const topk_plan::Plan& plan, const Device& device);
  // Bytes of device memory that a counter has.
  static constexpr std::uint64_t bytes = (std::uint64_t{8} << topk_plan::digit_bits) * topk_plan::most_prefixes;

  // Of `count` elements that begin `byte_offset` bytes into the buffer's memory: a table of 2^digit_bits counts for
  // each of up to four different prefixes, one behind the other. The digit of a rank is its `width` bits from bit
  // `shift` on, at most digit_bits; the prefix is what is above them. Waits.
  std::vector<std::uint64_t> count(Stream& stream, const BufferBase& data, std::uint64_t byte_offset,
                                   std::uint64_t count, unsigned shift, unsigned width,
                                   std::span<const std::uint64_t> prefixes);

 private:
  topk_plan::Plan plan_;
  Device device_;
  Buffer<std::uint64_t> totals_;
};

}  // namespace masu
