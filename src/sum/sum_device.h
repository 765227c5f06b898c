// SPDX-License-Identifier: Apache-2.0
// Exact sums on an OpenCL or CUDA device.
#pragma once

#include "call/launcher.h"
#include "sum/sum_plan.h"
#include "sum/sum_totals.h"

#include <masu/buffer.h>
#include <masu/stream.h>
#include <masu/sum.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace masu {

// Totals of rows, for the host.
class DeviceSum {
 public:
  // For `rows` rows of `count` elements, at most most_rows(). `y` matters where products of two inputs are asked for.
  // With no `workspace`, memory is allocated. `function`: in messages.
  DeviceSum(std::string_view function, const BufferBase& x, const BufferBase& y, Dtype dtype, const SumNeeds& needs,
            std::uint64_t rows, std::uint64_t count, const BufferBase* workspace);
  // Rows that one launch can take.
  static std::uint64_t most_rows(const Device& device, Dtype dtype, const SumNeeds& needs);

  // Launches what adds up data that begins so many bytes into the memories of the buffers.
  void start(Stream& stream, std::uint64_t x_at, std::uint64_t y_at);
  // Waits, and has the totals then.
  void finish(Stream& stream);
  void add_to(Totals& totals, std::uint64_t row) const;
  // Device time of the launches, once finished; the stream's events must tell times.
  [[nodiscard]] double seconds() const;

 private:
  // What is added up in one launch, and where its totals and, for each row, the kinds of what is not finite lie in the
  // temporary memory, in bytes.
  struct Pass {
    sum_plan::Plan plan;
    std::uint64_t totals = 0;
    std::uint64_t flags = 0;
  };
  static std::vector<Pass> passes(const Device& device, Dtype dtype, const SumNeeds& needs, std::uint64_t rows,
                                  std::uint64_t& end);

  Device device_;
  const BufferBase* x_;
  const BufferBase* y_;
  std::uint64_t rows_;
  std::uint64_t count_;
  std::uint64_t end_ = 0;
  std::vector<Pass> passes_;
  std::optional<Buffer<std::byte>> memory_;
  std::vector<std::uint32_t> words_;  // the temporary memory, once finished
  std::vector<Event> launches_;
};

// The results of a function, rounded on the device, of `rows` rows of `count` elements.
class SumsOnDevice {
 public:
  // `columns`: of the matrices whose columns the rows are, or 1. `returns`: the results are left in the workspace, for
  // the host.
  SumsOnDevice(const Device& device, const SumRule& rule, std::uint64_t rows, std::uint64_t count,
               std::uint64_t columns, bool returns);
  // Makes the sums up to each element, in its place, the results, where rows are short, or columns beside enough
  // others; else returns false. What the longer ones are read from must not be what they go to.
  [[nodiscard]] bool make_running(bool in_place);
  // Bytes of the workspace.
  [[nodiscard]] std::uint64_t bytes() const;
  // Memory of the caller's: where results go that are not left in the workspace, SumOptions::status, and
  // SumOptions::zeros. The status is a word, whose lowest bit is set where an integer does not fit.
  struct Targets {
    const BufferBase* results = nullptr;
    const BufferBase* status = nullptr;
    const BufferBase* zeros = nullptr;
  };
  // Returns the launches.
  std::vector<Event> enqueue(Stream& stream, const BufferBase& x, const BufferBase& y,
                             const Buffer<std::byte>& workspace, const Targets& targets) const;
  // Copies results in the workspace: to memory for them and a word more, which says whether all integers fit once the
  // stream has been finished.
  void fetch(Stream& stream, const Buffer<std::byte>& workspace, std::byte* to) const;
  [[nodiscard]] bool fits(const std::byte* fetched) const;

 private:
  [[nodiscard]] bool by_column() const { return plan_.layout == sum_plan::Layout::columns; }
  [[nodiscard]] sum_plan::Plan::Teams teams() const {
    return by_column() ? plan_.column_teams(rows_, columns_, count_) : plan_.teams(rows_, count_);
  }
  // Work-groups that share a row.
  [[nodiscard]] std::uint64_t shares() const {
    if (by_column()) return plan_.column_shares(rows_, columns_, count_);
    return plan_.layout == sum_plan::Layout::rows ? 1 : plan_.shares(rows_, count_);
  }
  // Rows whose totals are in memory at a time, and where what follows the totals begins: few, as only rows that several
  // work-groups share have totals each.
  [[nodiscard]] std::uint64_t slots() const {
    if (by_column()) return plan_.strips(rows_, columns_, count_) * shares();
    return plan_.layout == sum_plan::Layout::rows ? plan_.team_groups(teams_, rows_) : rows_;
  }
  // What follows the totals in the workspace: words of the rows, the results, a status, and parts.
  [[nodiscard]] std::uint64_t flags_at() const { return slots() * plan_.total_bytes(); }
  [[nodiscard]] std::uint64_t results_at() const;
  [[nodiscard]] std::uint64_t result_bytes() const { return rows_ * size_of(rule_.result_dtype()); }
  [[nodiscard]] std::uint64_t status_at() const;
  [[nodiscard]] std::uint64_t parts_at() const;

  Device device_;
  SumRule rule_;
  sum_plan::Plan plan_;
  std::uint64_t rows_;
  std::uint64_t count_;
  std::uint64_t columns_;
  bool returns_;
  sum_plan::Plan::Teams teams_;
};

}  // namespace masu
