// SPDX-License-Identifier: Apache-2.0
// How elements are converted on a device, and every constant of the kernel.
#pragma once

#include "convert/convert_rule.h"
#include "runtime/define.h"

#include <masu/device.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace masu::convert_plan {

inline constexpr std::array<std::string_view, 3> files = {"src/elements/elements.cl", "src/elements/first_position.cl",
                                                          "src/convert/convert.cl"};
inline constexpr std::uint64_t vector_bytes = 16;  // of the wider side
inline constexpr std::uint64_t most_groups = 4096;
inline constexpr std::uint64_t found_bytes = 16;  // of a work-group: position and element
inline constexpr std::uint64_t local_bytes = 8;

struct Plan {
  unsigned group = 256;  // work-items in a work-group
  unsigned unroll = 4;   // loads in flight for each work-item
  unsigned vector = 1;   // elements of a load
  std::uint64_t head = 0;
  std::uint64_t vectors = 0;
  std::uint64_t groups = 1;
  bool fp64 = true;

  [[nodiscard]] std::uint64_t workspace() const noexcept { return groups * found_bytes; }
  [[nodiscard]] std::vector<runtime::Define> defines(const ConvertRule& rule) const;
};

// The most bytes that a plan's work-groups note what they found in.
inline constexpr std::uint64_t most_workspace = most_groups * found_bytes;

// Where data lies, in bytes; `group`: not the one that suits the device, for tests.
Plan make(const DeviceInfo& device, const ConvertRule& rule, std::uint64_t count, std::uint64_t in_offset,
          std::uint64_t out_offset, unsigned group = 0);

}  // namespace masu::convert_plan
