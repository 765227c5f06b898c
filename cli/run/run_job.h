// SPDX-License-Identifier: Apache-2.0
// `masu run` of one kernel, from its text to what its buffers hold.
#pragma once

#include "cli/run/run_argument.h"
#include "cli/run/run_source.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace masu::cli {

inline constexpr std::uint64_t most_work_items = std::uint64_t{1} << 48U;  // in one dimension, and in all

struct RunJob {
  KernelText source;
  std::string device;
  std::string kernel;               // "": the only one
  std::vector<std::size_t> global;  // empty: the number of elements that all buffers have
  std::vector<std::size_t> local;   // empty: the device chooses
  std::string options;
  std::uint64_t repeat = 1;
  double timeout = 0;  // seconds; 0: none
  std::vector<RunArgument> arguments;
  std::vector<Expectation> expectations;
  bool output_to_stderr = false;  // the kernel's own output, because standard output gets the result
  bool times = false;             // the device's time of each launch
  std::string check_facts;        // under Oclgrind: the file for tell_check; else ""
};

struct RunOutput {
  std::size_t argument = 0;
  std::string name;  // in the kernel; "" where the program does not tell
  Dtype dtype = Dtype::u8;
  std::string target;  // a file, or "-"
  std::vector<std::byte> data;
  [[nodiscard]] ArrayView view() const { return {dtype, data.data(), data.size() / size_of(dtype)}; }
};

// How a buffer differs from what it should hold.
struct RunDifference {
  std::size_t argument = 0;
  std::string name;
  std::uint64_t elements = 0;
  std::uint64_t expected_elements = 0;
  std::uint64_t differing = 0;  // among the elements that both have
  std::uint64_t first = 0;      // the index of the first
  std::string expected;         // the first, as JSON has it
  std::string got;
  [[nodiscard]] bool any() const { return differing > 0 || elements != expected_elements; }
};

struct RunResult {
  struct Times {
    double compile = 0;
    double input = 0;  // reading what the buffers are made of
    double write = 0;
    std::vector<double> kernel;  // each launch, by the device's clock, in ascending order
    double read = 0;
    double total = 0;
  };
  std::string kernel;
  std::string device;
  std::vector<std::size_t> global;
  std::string log;  // the compiler's
  std::vector<RunOutput> outputs;
  std::vector<RunDifference> differences;  // an entry for each expectation
  Times seconds;
};

RunResult run_kernel(const RunJob& job);

}  // namespace masu::cli
