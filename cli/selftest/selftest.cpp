// SPDX-License-Identifier: Apache-2.0
// masu selftest: every primitive against its plain reference on every usable device.
#include "cli/selftest/selftest.h"
#include "options.h"
#include "program.h"
#include "text.h"

#include <fmt/format.h>
#include <masu/io.h>
#include <memory>

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

struct SelftestOptions : CommonOptions {
  bool quick = false;
};

Exit run_selftest(SelftestOptions& options) {
  apply(options);
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

Command add_selftest(CommandLine& line) {
  const Subcommand app = line.add("selftest", "Check every primitive against a plain program on every device");
  auto options = std::make_shared<SelftestOptions>();
  add_device_options(app, *options);
  app.add_flag("--quick", options->quick, "Run every seventh case of each primitive");
  app.footer("Examples:\n  masu selftest --quick\n  masu selftest --device opencl:0");
  return {app, [options] { return run_selftest(*options); }};
}

}  // namespace masu::cli
