// SPDX-License-Identifier: Apache-2.0
// Top-k on an OpenCL or CUDA device. One long row: a threshold from a sample, one pass that gathers what is above it,
// and an order of that; rows: a work-group each. Where the sample misled, the exact threshold is found digit by digit.
#pragma once

#include "topk/topk_plan.h"

#include <masu/buffer.h>
#include <masu/stream.h>
#include <masu/topk.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace masu {

// Where results go: row r's begin at place r * k of both.
struct TopkTarget {
  const BufferBase* indices;
  std::uint64_t indices_at;  // in its memory, in bytes, as the next
  const BufferBase* values;
  std::uint64_t values_at;
};

class DeviceTopk {
 public:
  // For `rows` rows of `count` elements; k <= count < 2^31. `results`: also has room for results, for fetch(). With no
  // `workspace`, memory is allocated.
  DeviceTopk(const Device& device, Dtype dtype, const TopkOptions& options, std::uint64_t rows, std::uint64_t count,
             std::uint64_t k, bool results);
  ~DeviceTopk();
  DeviceTopk(const DeviceTopk&) = delete;
  DeviceTopk& operator=(const DeviceTopk&) = delete;
  // Bytes of temporary memory.
  static std::uint64_t bytes(const Device& device, Dtype dtype, const TopkOptions& options, std::uint64_t rows,
                             std::uint64_t count, std::uint64_t k, bool results);

  // Launches what needs no look at results in between; the buffer's first elements are the data.
  void start(Stream& stream, const BufferBase& data, std::uint64_t byte_offset, const TopkTarget& target);
  // Waits, and does what is left to do.
  void finish(Stream& stream);
  // Where results go that are not the caller's.
  [[nodiscard]] TopkTarget own_target() const;
  // The own results, of all rows.
  void fetch(Stream& stream, std::uint64_t* indices, void* values) const;
  // NaNs of each row that were skipped, once finished.
  [[nodiscard]] const std::vector<std::uint32_t>& skipped() const noexcept { return skipped_; }
  // Device time of the launches, once finished; the stream's events must tell times.
  [[nodiscard]] double seconds() const;

 private:
  struct Layout;
  static Layout layout(const topk_plan::Plan& plan, const Device& device, std::uint64_t rows, std::uint64_t count,
                       std::uint64_t k, bool results);
  struct Row;
  void launch_rows(Stream& stream);
  void start_row(Stream& stream, std::uint64_t row);
  void finish_row(Stream& stream, std::uint64_t row);
  void filter(Stream& stream, const Row& row);
  void order(Stream& stream, const Row& row, std::uint64_t entries);
  void launch(Stream& stream, topk_plan::Part part, std::string_view name, std::uint64_t groups, unsigned group,
              const std::vector<KernelArgument>& arguments);
  std::vector<KernelArgument> data_arguments(std::uint64_t row) const;
  void append_work(std::vector<KernelArgument>& arguments) const;
  void append_result(std::vector<KernelArgument>& arguments, std::uint64_t row) const;

  Device device_;
  topk_plan::Plan plan_;
  std::uint64_t rows_;
  std::uint64_t count_;
  std::uint64_t k_;
  std::unique_ptr<Layout> at_;
  std::optional<Buffer<std::byte>> memory_;
  const BufferBase* data_ = nullptr;
  std::uint64_t data_at_ = 0;
  TopkTarget target_{};
  double sorting_ = 0;  // seconds of masu::sort
  std::vector<std::uint32_t> skipped_;
  std::vector<Event> launches_;
};

}  // namespace masu
