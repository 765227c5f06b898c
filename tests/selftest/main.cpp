// SPDX-License-Identifier: Apache-2.0
// The long self-test: every primitive against its plain reference on every usable device, many more cases than
// `masu selftest` has.
//   masu_selftest_tests [--quick] [--device ID]     --quick runs every seventh case of each primitive
#include "program.h"
#include "tests/selftest/selftest.h"
#include "text.h"

#include <fmt/format.h>
#include <masu/io.h>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace masu::cli {
namespace {

struct Group {
  std::string_view name;
  void (*run)(const Device& device, SelftestTally& tally);
};

// A primitive adds a row.
constexpr std::array<Group, 11> groups{{{"histogram", selftest_histogram},
                                        {"histogram shapes", selftest_shapes},
                                        {"sort", selftest_sort},
                                        {"topk", selftest_topk},
                                        {"unique", selftest_unique},
                                        {"quantile", selftest_quantile},
                                        {"sum", selftest_sum},
                                        {"reduce", selftest_reduce},
                                        {"scan", selftest_scan},
                                        {"movement", selftest_movement},
                                        {"convert", selftest_convert}}};

std::vector<std::string> device_ids(const std::string& asked) {
  if (!asked.empty()) return {Device::open(asked).id()};
  std::vector<std::string> ids;
  for (const DeviceInfo& info : Device::list()) {
    if (info.usable) ids.push_back(info.id);
    else note(fmt::format("{}: left out: {}", info.id, info.why));
  }
  return ids;
}

void print_line(const std::string& line) {
  io::OutputFile output("-");
  output.write(line + "\n");
  output.commit();
}

struct SelftestOptions {
  std::string device;  // all that are present where it is empty
  bool quick = false;
};

SelftestOptions options_of(std::span<char*> arguments) {
  SelftestOptions options;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--quick") options.quick = true;
    else if (argument == "--device" && i + 1 < arguments.size()) options.device = arguments[++i];
    else usage_error("unexpected argument {}; usage: masu_selftest_tests [--quick] [--device ID]", argument);
  }
  return options;
}

Exit run_selftest(const SelftestOptions& options) {
  SelftestTally all;
  for (const std::string& id : device_ids(options.device)) {
    const Device device = Device::open(id);
    for (const Group& group : groups) {
      SelftestTally tally;
      if (options.quick) tally.every = 7;  // no divisor of the numbers of types and sizes; see in_turn()
      group.run(device, tally);
      for (const std::string& failure : tally.failures) note(fmt::format("{} {}: {}", id, group.name, failure));
      print_line(fmt::format("{} {}: {} passed, {} failed ({})", id, group.name, tally.passed, tally.failed,
                             device.info().name));
      all.passed += tally.passed;
      all.failed += tally.failed;
    }
  }
  print_line(fmt::format("{} passed, {} failed", all.passed, all.failed));
  return all.failed == 0 ? Exit::done : Exit::differs;
}

}  // namespace
}  // namespace masu::cli

int main(int argc, char** argv) {
  using namespace masu::cli;
  try {
    return static_cast<int>(run_selftest(options_of({argv, static_cast<std::size_t>(argc)})));
  } catch (const masu::Error& error) {
    note(fmt::format("masu_selftest_tests: {}", error.what()));
    return static_cast<int>(error.code() == masu::ErrorCode::invalid_argument ? Exit::usage : Exit::failed);
  }
}
