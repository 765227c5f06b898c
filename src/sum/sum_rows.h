// SPDX-License-Identifier: Apache-2.0
// Exact totals of rows whose elements come in pieces, on any device.
#pragma once

#include "call/staging.h"
#include "sum/sum_device.h"
#include "sum/sum_totals.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/sum.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace masu {

class RowSums {
 public:
  // Is given each row that is complete, by its number; by many threads at once.
  using Sink = std::function<void(std::uint64_t, const Totals&)>;
  // `row_length` 0: there is one row, which is never complete.
  RowSums(const Device& device, Dtype dtype, const SumNeeds& needs, std::uint64_t row_length, Sink sink);

  // Adds elements of host memory; y matters for products. The memory may be reused then.
  void add(const void* x, const void* y, std::uint64_t count);
  // Adds elements that begin so many bytes into the memories of two buffers of the device, and waits. `timed`: the
  // stream's events tell times.
  void add(Stream& stream, const BufferBase& x, std::uint64_t x_at, const BufferBase& y, std::uint64_t y_at,
           std::uint64_t count, bool timed, const BufferBase* workspace = nullptr);

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t full_rows() const noexcept { return row_length_ == 0 ? 0 : count_ / row_length_; }
  [[nodiscard]] std::uint64_t in_row() const noexcept { return row_length_ == 0 ? count_ : count_ % row_length_; }
  // The totals of the row that is not complete.
  [[nodiscard]] const Totals& open_row() const noexcept { return open_; }
  void merge(const Totals& totals, std::uint64_t count);
  [[nodiscard]] Times times() const;

 private:
  // A launch whose totals were not taken yet.
  struct Job {
    Stream* stream = nullptr;
    std::unique_ptr<DeviceSum> sum;
  };
  // Cuts `count` elements at the ends of rows: calls part(first element, elements) for what belongs to the open row and
  // whole(first element, rows) for whole rows.
  template <class OnPart, class OnWhole>
  void cut(std::uint64_t count, const OnPart& part, const OnWhole& whole);
  void end_row_if_full();
  void stage(const void* x, const void* y, std::uint64_t count);
  void take(Job& job);

  Device device_;
  Dtype dtype_;
  SumNeeds needs_;
  std::uint64_t row_length_;
  Sink sink_;
  std::uint64_t count_ = 0;
  Totals open_;
  Times times_;
  std::optional<call::Staging> staging_;
};

}  // namespace masu
