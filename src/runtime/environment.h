// SPDX-License-Identifier: Apache-2.0
// What the environment says, but MASU_DEVICE, for which each call looks, and MASU_THREADS (parallel.cpp).
#pragma once

#include <masu/version.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace masu::runtime {

// Each is empty where its variable is not set.
struct Environment {
  std::string kernel_directory;       // MASU_KERNEL_DIR
  std::string cache_directory;        // for compiled programs: MASU_CACHE, XDG_CACHE_HOME, HOME
  std::string cuda_library;           // MASU_CUDA_LIBRARY
  std::string nvrtc;                  // MASU_NVRTC
  std::vector<std::string> toolkits;  // CUDA_HOME, CUDA_PATH
  std::string packaged_kernels;       // MASU_PACKAGED_KERNELS
  bool sync = false;                  // MASU_SYNC
};

// Read once, by the first call of masu's or the first look for devices: getenv() crashes while another thread writes
// the environment, as Python's os.environ does.
const Environment& environment();

// $XDG_CACHE_HOME/masu or ~/.cache/masu as the environment is now; empty with MASU_CACHE=off, and where neither is set.
std::string cache_directory();

// How many CPUs and how much memory this process may use.

// CPUs in the calling thread's affinity mask, bounded by the quota of the process's cgroup; at least 1. A change of the
// mask is seen within 10 ms.
unsigned usable_cpus() noexcept;

// Bytes of host memory that can be had without swapping, as /proc/meminfo estimates them, bounded by what the process's
// cgroup still allows; 0 where that is unknown. Exported for masu::io.
MASU_EXPORT std::uint64_t available_memory() noexcept;

// The CPUs that a cgroup's quota (version 1 or 2, the group's own or an ancestor's) amounts to, rounded up; 0 without a
// quota. `groups` is the text of /proc/self/cgroup, `mount` is /sys/fs/cgroup.
unsigned cgroup_cpus(std::string_view groups, const std::filesystem::path& mount);

// The bytes that the memory limits of the same groups leave, pages of files counted as free; nothing without a limit.
std::optional<std::uint64_t> cgroup_memory(std::string_view groups, const std::filesystem::path& mount);

}  // namespace masu::runtime
