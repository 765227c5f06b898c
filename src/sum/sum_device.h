// SPDX-License-Identifier: Apache-2.0
// Results of rows, rounded on an OpenCL or CUDA device.
#pragma once

#include "call/launcher.h"
#include "sum/sum_plan.h"
#include "sum/sum_totals.h"

#include <masu/buffer.h>
#include <masu/stream.h>
#include <masu/sum.h>

#include <cstdint>
#include <vector>

namespace masu {

// The results of a function, rounded on the device, of `rows` rows of `count` elements.
class SumsOnDevice {
 public:
  // `columns`: of the matrices whose columns the rows are, or 1.
  SumsOnDevice(const Device& device, const SumRule& rule, std::uint64_t rows, std::uint64_t count,
               std::uint64_t columns);
  // Bytes of temporary memory.
  [[nodiscard]] std::uint64_t bytes() const;
  // Data and results begin so many bytes into the memories of the buffers.
  struct Data {
    const BufferBase& x;
    std::uint64_t x_at;
    const BufferBase& y;
    std::uint64_t y_at;
    const BufferBase& results;
    std::uint64_t results_at;
    const BufferBase& status;  // a word, whose lowest bit is set where an integer does not fit
    std::uint64_t status_at;
    const BufferBase* zeros = nullptr;  // SumOptions::zeros
  };
  // Gives the launches.
  std::vector<Event> enqueue(Stream& stream, const Data& data, const BufferBase& workspace) const;
  // Bytes of SumOptions::zeros.
  [[nodiscard]] std::uint64_t zeros() const {
    return !plan_.quick || shares() == 1 || plan_.waits(rows_, count_) ? 0 : rows_ * sizeof(std::uint32_t);
  }

 private:
  [[nodiscard]] bool by_column() const { return plan_.layout == sum_plan::Layout::columns; }
  // Work-groups that share a row.
  [[nodiscard]] std::uint64_t shares() const {
    if (by_column()) return plan_.column_shares(teams_, rows_, count_);
    return plan_.layout == sum_plan::Layout::rows ? 1 : plan_.shares(rows_, count_);
  }
  // Rows whose totals are in memory at a time, and where what follows the totals begins: few, as only rows that several
  // work-groups share have totals each.
  [[nodiscard]] std::uint64_t slots() const {
    return plan_.layout == sum_plan::Layout::shared ? rows_ : plan_.team_groups(teams_, rows_) * shares();
  }
  [[nodiscard]] std::uint64_t flags_at() const { return slots() * plan_.total_bytes(); }
  [[nodiscard]] std::uint64_t parts_at() const;

  Device device_;
  SumRule rule_;
  sum_plan::Plan plan_;
  std::uint64_t rows_;
  std::uint64_t count_;
  std::uint64_t columns_;
  sum_plan::Plan::Teams teams_;  // but of rows that are shared
};

}  // namespace masu
