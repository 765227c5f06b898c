// SPDX-License-Identifier: Apache-2.0
// Opens the CUDA driver and NVRTC at run time. Each is opened once in the life of the process and never closed.
#pragma once

#include "backends/cuda/driver_api.h"

#include <string>

namespace masu::cuda {

// A library that was looked for: its functions, or why they are not there.
template <class Functions>
struct Loaded {
  Functions functions;
  std::string path;  // the name that opened
  std::string why;   // empty when it is usable
  [[nodiscard]] bool usable() const noexcept { return why.empty(); }
};

// The driver after cuInit: libcuda.so.1, or the file that MASU_CUDA_LIBRARY names.
const Loaded<Driver>& driver();

// NVRTC: what MASU_NVRTC names (a file, or a folder that holds it), else the loader's search path, else the usual
// folders of the toolkit.
const Loaded<Nvrtc>& nvrtc();

// The same searches, done anew: for tests, and with the environment's values as arguments.
Loaded<Driver> load_driver(const char* library);
Loaded<Nvrtc> load_nvrtc(const char* place);

// The CUDA version that the driver supports, as 1000 * major + 10 * minor; 0 without a driver.
int driver_version();

// "13.0" from 13000.
std::string version_text(int version);

}  // namespace masu::cuda
