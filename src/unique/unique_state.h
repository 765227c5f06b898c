// SPDX-License-Identifier: Apache-2.0
// The bytes of values with counts: of runs, and of distinct values.
#pragma once

#include "call/state_bytes.h"

#include <masu/unique.h>

#include <cstdint>
#include <span>
#include <vector>

namespace masu {

// The ordered key of element i.
std::uint64_t key_at(const HostArray& values, std::uint64_t i);

struct CountedState {
  HostArray values;
  std::vector<std::uint64_t> counts;
  std::uint64_t count = 0;  // their sum
};
std::vector<std::byte> write_counted(const call::StateName& name, const HostArray& values,
                                     std::span<const std::uint64_t> counts, std::uint64_t count);
// `follows(a, b)`: whether a value with the ordered key b may come behind one with a.
CountedState read_counted(const call::StateName& name, std::span<const std::byte> bytes,
                          bool (*follows)(std::uint64_t before, std::uint64_t key));

}  // namespace masu
