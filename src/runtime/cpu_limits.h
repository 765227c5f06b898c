// SPDX-License-Identifier: Apache-2.0
// How many CPUs and how much memory this process may use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace masu::runtime {

// CPUs in the calling thread's affinity mask, bounded by the quota of the process's cgroup; at least 1. A change of the
// mask is seen within 10 ms.
unsigned usable_cpus() noexcept;

// Bytes of host memory that can be had without swapping, as /proc/meminfo estimates them, bounded by what the process's
// cgroup still allows; 0 where that is unknown.
std::uint64_t available_memory() noexcept;

// The CPUs that a cgroup's quota (version 1 or 2, the group's own or an ancestor's) amounts to, rounded up; 0 without a
// quota. `groups` is the text of /proc/self/cgroup, `mount` is /sys/fs/cgroup.
unsigned cgroup_cpus(std::string_view groups, const std::filesystem::path& mount);

// The bytes that the memory limits of the same groups leave, pages of files counted as free; nothing without a limit.
std::optional<std::uint64_t> cgroup_memory(std::string_view groups, const std::filesystem::path& mount);

}  // namespace masu::runtime
