// SPDX-License-Identifier: Apache-2.0
// What the environment says, but MASU_DEVICE, for which each call looks, and MASU_THREADS (parallel.cpp).
#pragma once

#include <string>
#include <vector>

namespace masu::runtime {

// Each is empty where its variable is not set.
struct Environment {
  std::string kernel_directory;       // MASU_KERNEL_DIR
  std::string cache_directory;        // for compiled programs: MASU_CACHE, XDG_CACHE_HOME, HOME
  std::string cuda_library;           // MASU_CUDA_LIBRARY
  std::string nvrtc;                  // MASU_NVRTC
  std::vector<std::string> toolkits;  // CUDA_HOME, CUDA_PATH
  bool sync = false;                  // MASU_SYNC
};

// Read once, by the first call of masu's or the first look for devices: getenv() crashes while another thread writes
// the environment, as Python's os.environ does.
const Environment& environment();

// $XDG_CACHE_HOME/masu or ~/.cache/masu as the environment is now; empty with MASU_CACHE=off, and where neither is set.
std::string cache_directory();

}  // namespace masu::runtime
