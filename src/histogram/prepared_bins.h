// SPDX-License-Identifier: Apache-2.0
// What prepared histograms of every kind share: the checks of a call, and what it gives to a stream.
#pragma once

#include "call/launcher.h"
#include "histogram/bins/bin_rule.h"
#include "histogram/device/slot_kernels.h"

#include <masu/histogram.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace masu {

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
