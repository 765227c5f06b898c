// SPDX-License-Identifier: Apache-2.0
// masu bench: how fast masu is here, next to how fast the device can read.
#include "array_output.h"
#include "bench/report.h"
#include "bench/suites.h"
#include "command.h"
#include "terminal.h"
#include "value_names.h"

#include <fmt/format.h>
#include <masu/io.h>
#include <unistd.h>
#include <exception>
#include <memory>

namespace masu::cli {
namespace {

struct BenchOptions {
  std::string suite;
  std::vector<std::string> devices;
  std::vector<std::string> strategies;
  std::vector<std::string> kinds;
  bool ladder = false;
  bench::Selection selection;
  std::string output = "-";
  std::string chart;
  bool json = false;
};

std::vector<Device> usable_devices(const std::vector<std::string>& asked) {
  std::vector<Device> devices;
  for (const std::string& id : asked) devices.push_back(Device::open(id));
  if (!asked.empty()) return devices;
  for (const DeviceInfo& info : Device::list()) {
    if (info.usable) devices.push_back(Device::open(info.id));
    else note(fmt::format("{}: left out: {}", info.id, info.why));
  }
  return devices;
}

void write(const std::string& path, const std::string& text) {
  io::OutputFile file(path);
  file.write(text);
  file.commit();
}

Exit run_bench(const BenchOptions& options) {
  const bench::Suite& suite = bench::suite_named(options.suite);
  check_ending("-o", options.output, ".txt .json");
  if (!options.chart.empty()) plot::format_from_path(options.chart);  // before anything is measured
  bench::Request request;
  request.selection = options.selection;
  request.strategies = options.strategies;
  request.kinds = options.kinds;
  request.ladder = options.ladder;
  request.devices = usable_devices(options.devices);
  const bool watched = is_terminal(STDERR_FILENO);
  request.note = [](const std::string& line) { note(line); };
  request.progress = [watched](const std::string& row) {
    if (watched) note(row);
  };
  const bench::Measurements measured = suite.run(request);
  const std::vector<bench::Row>& rows = measured.rows;
  std::vector<DeviceInfo> infos;
  for (const Device& device : request.devices) infos.push_back(device.info());
  if (!options.chart.empty()) plot::save(bench::chart(suite, infos, rows), options.chart);
  const auto json = [&] {
    return bench::to_json(suite.name, "masu", infos, rows).dump(2, ' ', false, bench::Json::error_handler_t::replace) +
           "\n";
  };
  write(options.output, options.json || options.output.ends_with(".json") ? json() : bench::table(rows));
  try {
    if (measured.failure) std::rethrow_exception(measured.failure);
  } catch (const bench::WrongResult& error) {
    throw Differs(error.what());
  }
  return Exit::done;
}

}  // namespace

Command add_bench(CLI::App& root) {
  CLI::App* app = root.add_subcommand("bench", "Measure masu next to the reading or copying speed of each device");
  auto options = std::make_shared<BenchOptions>();
  app->add_option("SUITE", options->suite, "What to measure: " + bench::suite_names())->required()->type_name("");
  app->add_option("--device", options->devices, "cpu, opencl:N, cuda:N; repeatable (every usable device)")
      ->delimiter(',')
      ->type_name("ID");
  app->add_option("--strategy,--algorithm", options->strategies,
                  "histogram: " + words_of("STRATEGY") + "; others: as their command's --algorithm (auto)")
      ->delimiter(',')
      ->type_name("STRATEGY");
  app->add_option("--kind", options->kinds,
                  "kernel, call, pinned or pageable: data on the device, whole calls, data in page-locked and in "
                  "ordinary host memory (kernel, call)")
      ->delimiter(',')
      ->type_name("KIND");
  app->add_flag("--ladder", options->ladder,
                "histogram: every strategy side by side, for u8-256 unless cases are named");
  bench::add_selection(*app, options->selection);
  app->add_flag("--json", options->json, "Write the report as JSON");
  app->add_option("--chart", options->chart, "Write a chart to FILE, by its ending: .svg, .png or .pdf")
      ->type_name("FILE");
  app->add_option("-o,--output", options->output, "Write the report to FILE, whole or not at all")->type_name("FILE");
  app->footer(
      "Examples:\n  masu bench histogram\n"
      "  masu bench histogram --device cuda:0 --size 1Gi --case u8-256 --chart h.svg\n"
      "  masu bench sort --count 256Mi,64Ki --case u32,pairs-u32-u32 --distribution all\n"
      "  masu bench histogram --ladder --chart ladder.svg");
  return {app, [options] { return run_bench(*options); }};
}

}  // namespace masu::cli
