// SPDX-License-Identifier: Apache-2.0
// `masu run --check`: the same command line once more as a child under Oclgrind, which simulates an OpenCL device and
// watches every access; what it found is told as faults in the kernel.
//
// The child is this program with the same arguments and `--under-oclgrind FILE` behind `run`. In it a run
//   - is a run without --check, on the device "opencl", whatever --device says: Oclgrind is the only OpenCL there;
//   - has no --timeout: the parent ends it;
//   - launches from one thread, brings data by writes (fills and host memory in place count as uninitialised);
//   - calls tell_check(FILE, …) once the program is built and the buffers are filled, before the first launch.
#pragma once

#include "errors.h"

#include <masu/buffer.h>
#include <masu/device.h>

#include <cstdint>
#include <string>
#include <vector>

namespace masu::cli {

struct CheckRequest {
  std::string file;                       // FILE.cl as it was given; "-" is standard input
  bool cuda = false;                      // a kernel in CUDA C++, which cannot be checked: an error
  double timeout = 60;                    // seconds; 0: none
  std::uint64_t local_bytes = 0;          // of the device that was asked for; 0: 48 KiB, as NVIDIA's OpenCL has it
  std::uint64_t max_work_group_size = 0;  // of the device that was asked for; 0: 1024
  bool json = false;
  bool quiet = false;
};

// Runs the child and reports: `differs` when there is a fault, else how the child ended. The child's results go where
// they always go; faults go to standard error, with --json as "check" into the child's JSON object.
// Reads the command line from /proc/self. Throws where Oclgrind is absent.
Exit check_kernel(const CheckRequest& request);

// What only the child knows.
struct CheckedLaunch {
  struct Argument {
    std::string name;                    // the kernel's name for it, where the program tells
    const BufferBase* buffer = nullptr;  // for the addresses in Oclgrind's findings; null: no buffer
  };
  std::string kernel;
  std::string source;     // the kernel's text as it was read
  std::string build_log;  // Program::log()
  std::uint64_t work_items = 0;
  std::vector<Argument> arguments;  // all of the kernel's, in its order
};

// In the child: leaves it in FILE for the parent.
void tell_check(const std::string& file, const Device& device, const CheckedLaunch& launch);

}  // namespace masu::cli
