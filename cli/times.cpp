// SPDX-License-Identifier: Apache-2.0
#include "times.h"

#include "json.h"
#include "terminal.h"

#include <fmt/format.h>
#include <utility>

namespace masu::cli {
namespace {

std::string speed(double bytes, double seconds) {
  return seconds > 0 ? fmt::format("{:9.3f} GB/s", bytes / seconds / 1e9) : "        - GB/s";
}

}  // namespace

std::string json_seconds(const Seconds& seconds) {
  return fmt::format(R"("seconds":{{"read":{},"transfer":{},"compute":{},"total":{}}})", json_number(seconds.read),
                     json_number(seconds.transfer), json_number(seconds.compute), json_number(seconds.total));
}

void note_times(const Seconds& seconds, std::uint64_t bytes) {
  const std::pair<const char*, double> rows[] = {{"reading", seconds.read},
                                                 {"transfer", seconds.transfer},
                                                 {"computing", seconds.compute},
                                                 {"total", seconds.total}};
  for (const auto& [what, took] : rows) {
    note(fmt::format("{:<10} {:10.6f} s {}", what, took, speed(static_cast<double>(bytes), took)));
  }
}

}  // namespace masu::cli
