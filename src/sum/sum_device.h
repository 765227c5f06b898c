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

class DeviceSum {
 public:
  // For `rows` rows of `count` elements, at most most_rows(), or `slots` of them. `y` matters where products of two
  // inputs are asked for. With no `workspace`, memory is allocated.
  DeviceSum(const BufferBase& x, const BufferBase& y, Dtype dtype, const SumNeeds& needs, std::uint64_t rows,
            std::uint64_t count, const BufferBase* workspace, std::uint64_t slots = 0);
  // Bytes of temporary memory.
  static std::uint64_t bytes(const Device& device, Dtype dtype, const SumNeeds& needs, std::uint64_t rows);
  // Rows that one launch can take.
  static std::uint64_t most_rows(const Device& device, Dtype dtype, const SumNeeds& needs);

  // For how many rows start() of results needs memory.
  static std::uint64_t slots(const Device& device, Dtype dtype, const SumNeeds& needs, std::uint64_t rows,
                             std::uint64_t count);

  // Launches what adds up data that begins so many bytes into the memories of the buffers.
  void start(Stream& stream, std::uint64_t x_at, std::uint64_t y_at);
  // Where rounded results go: from so many bytes into the memories of the buffers.
  struct Target {
    const BufferBase& results;
    std::uint64_t results_at;
    const BufferBase& status;  // a word, whose lowest bit is set where an integer does not fit
    std::uint64_t status_at;
  };
  // The same, and what leaves the results of a function on the device. Where each row has a work-group of its own, and
  // for no variance, there may be more rows than most_rows(), with memory for those that slots() tells.
  void start(Stream& stream, std::uint64_t x_at, std::uint64_t y_at, const SumRule& rule, const Target& target);
  // Waits, and has the totals then.
  void finish(Stream& stream);
  void add_to(Totals& totals, std::uint64_t row) const;
  // Device time of the launches, once finished; the stream's events must tell times.
  [[nodiscard]] double seconds() const;

 private:
  // What is added up in one launch, and where its totals and flags lie in the temporary memory, in bytes: for each row
  // the kinds of what is not finite, then for each row the work-groups that have added to it, in two launches, then the
  // rows that are not certain.
  struct Pass {
    sum_plan::Plan plan;
    std::uint64_t totals = 0;
    std::uint64_t flags = 0;
  };
  static std::vector<Pass> passes(const Device& device, Dtype dtype, const SumNeeds& needs, std::uint64_t rows,
                                  std::uint64_t& end);
  // Launches what adds up all, unless it finds 0 in the word so many bytes into the temporary memory.
  void add_all(Stream& stream, std::uint64_t x_at, std::uint64_t y_at, std::uint64_t unsure_at);
  static bool by_teams(const sum_plan::Plan& plan, const SumNeeds& needs, std::uint64_t rows, std::uint64_t count);
  [[nodiscard]] call::Arguments arguments_of(const Pass& pass, std::uint64_t x_at, std::uint64_t y_at,
                                             std::uint64_t unsure_at) const;

  Device device_;
  const BufferBase* x_;
  const BufferBase* y_;
  std::uint64_t rows_;
  std::uint64_t count_;
  std::uint64_t end_ = 0;
  SumNeeds needs_;
  std::vector<Pass> passes_;
  std::optional<Buffer<std::byte>> memory_;
  std::vector<std::uint32_t> words_;  // the temporary memory, once finished
  std::vector<Event> launches_;
};

}  // namespace masu
