// SPDX-License-Identifier: Apache-2.0
// How long the parts of a command took.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace masu::cli {

using Clock = std::chrono::steady_clock;

inline double since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

struct Seconds {
  double read = 0;
  double transfer = 0;
  double compute = 0;
  double total = 0;
};

// `"seconds":{…}` of JSON.
std::string json_seconds(const Seconds& seconds);
// What --time says of work on so many bytes, on standard error.
void note_times(const Seconds& seconds, std::uint64_t bytes);

}  // namespace masu::cli
