// SPDX-License-Identifier: Apache-2.0
// masu-bench: what `masu bench` runs.
#include "cli/arrays/array_stream.h"
#include "cli/program.h"
#include "report.h"
#include "selection.h"
#include "suites.h"
#include "text.h"
#include "tune.h"

#include <fmt/format.h>
#include <masu/io.h>
#include <unistd.h>
#include <exception>

namespace masu::cli {
namespace {

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

}  // namespace

Exit run_bench(const bench::Options& options) {
  const bool tunes = options.suite == "tune";
  const bench::Suite& suite = bench::suite_named(tunes ? options.table : options.suite);
  if (!tunes && !options.table.empty()) usage_error("bench: a second name follows tune, got '" + options.table + "'");
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
  if (tunes) {
    write(options.output, bench::fit_table(suite.name, request));
    return Exit::done;
  }
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

}  // namespace masu::cli
