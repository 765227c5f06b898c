// SPDX-License-Identifier: Apache-2.0
// Sorting by digits from the least on, stably, in one launch whose work-groups wait for each other: CUDA alone. Keys of
// 4 and 8 bytes alone, the order of them, and keys of 4 bytes with values of up to 4. What the keys are does not
// change what a pass takes, but passes in which all agree are left out.
#pragma once

#include "call/launcher.h"
#include "runtime/kernel_source.h"
#include "sort/device/sort_device.h"
#include "sort/device/sort_plan.h"

#include <cstdint>
#include <vector>

namespace masu::sort_once {

// What is sorted.
struct Kind {
  Dtype dtype;
  std::size_t value_bytes = 0;  // that move with a key; of an index, where they are the places of the keys
  bool indices = false;

  static Kind of(const Arrays& arrays) noexcept { return {arrays.dtype, arrays.payload.bytes, arrays.has_indices()}; }
  [[nodiscard]] unsigned item_bytes() const noexcept { return value_bytes != 0 || size_of(dtype) == 8 ? 8 : 4; }
};

struct Plan {
  unsigned group = 0;  // work-items in a work-group; 0: the device or the kind is none for it
  unsigned items = 0;  // keys of a work-item
  unsigned resident = 0;
  unsigned adders = 0;  // work-groups that add up
  unsigned ahead = 0;   // tiles that each of their work-items looks at together
  unsigned groups = 0;
  std::uint64_t local_bytes = 0;

  [[nodiscard]] std::uint64_t tile() const noexcept { return std::uint64_t{group} * items; }
  // Counts and places of digits.
  [[nodiscard]] std::uint64_t table_bytes(std::uint64_t count) const noexcept {
    return (count + tile() - 1) / tile() * 2 * sort_plan::digits * 4;
  }
};
Plan plan_of(const DeviceInfo& info, const Kind& kind, std::uint64_t count);

inline constexpr auto files = sort_plan::files("src/sort/device/sort_once.cl");
std::vector<runtime::Define> defines(const Plan& plan, const Kind& kind);

// Where it is taken from tuned.once_keys keys on, with a payload, in one piece.
bool serves(const DeviceInfo& info, const Arrays& arrays, std::uint64_t count);

// Where things begin in temporary memory.
struct Layout {
  std::uint64_t one = 0;     // items
  std::uint64_t other = 0;   // items, unless keys are alone
  std::uint64_t state = 0;   // two words
  std::uint64_t totals = 0;  // zeros, as is the second word of `state`
  std::uint64_t tables = 0;
  std::uint64_t bytes = 0;
};
inline constexpr std::uint64_t totals_bytes(std::size_t key_bytes) noexcept {
  return (key_bytes + 1) * sort_plan::digits * 4;
}
std::uint64_t workspace_bytes(const DeviceInfo& info, const Arrays& arrays, std::uint64_t count);

call::Kernels kernels(Stream& stream, const Plan& plan, const Kind& kind);
// Queues the launch. `asked`: keys are sorted only if the first word of the state is not 0.
void launch(Stream& stream, call::Kernels& kernels, const Plan& plan, const Arrays& arrays, std::uint64_t count,
            const BufferBase& workspace, const Layout& layout, bool asked, DeviceWork& work);

// A workspace of workspace_bytes(), from a multiple of 16 on; null: allocated.
void sort(Stream& stream, const Arrays& arrays, std::uint64_t count, const BufferBase* workspace, DeviceWork& work);

}  // namespace masu::sort_once
