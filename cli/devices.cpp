// SPDX-License-Identifier: Apache-2.0
// masu devices: what masu can compute on here, and why not on the rest.
#include "command.h"

#include <fmt/format.h>
#include <masu/device.h>
#include <masu/io.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

namespace masu::cli {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const DeviceInfo& info) {
  Json json{{"id", info.id}, {"kind", to_string(info.kind)}, {"name", info.name}, {"usable", info.usable}};
  if (!info.usable) json["why"] = info.why;
  json["vendor"] = info.vendor;
  json["driver"] = info.driver;
  json["architecture"] = info.architecture;
  json["gpu"] = info.gpu;
  json["fp64"] = info.fp64;
  json["memory_bytes"] = info.memory_bytes;
  json["max_allocation_bytes"] = info.max_allocation_bytes;
  json["local_bytes"] = info.local_bytes;
  json["local_bytes_total"] = info.local_bytes_total;
  json["compute_units"] = info.compute_units;
  json["max_work_group_size"] = info.max_work_group_size;
  json["warp_size"] = info.warp_size;
  return json;
}

std::string memory_text(std::uint64_t bytes) {
  return bytes == 0 ? "-" : fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1U << 30U));
}

std::string table(const std::vector<DeviceInfo>& devices) {
  std::vector<std::vector<std::string>> rows = {{"ID", "NAME", "MEMORY", "UNITS", "STATE"}};
  for (const DeviceInfo& info : devices) {
    rows.push_back({info.id, info.name.empty() ? "-" : info.name, memory_text(info.memory_bytes),
                    info.usable ? fmt::to_string(info.compute_units) : "-",
                    info.usable ? "usable" : "not usable: " + info.why});
  }
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) text += fmt::format("{:<{}}  ", row[i], widths[i]);
    text += row.back() + "\n";
  }
  return text;
}

Exit list_devices(bool json) {
  const std::vector<DeviceInfo> devices = Device::list();
  io::OutputFile output("-");
  if (json) {
    Json list = Json::array();
    for (const DeviceInfo& info : devices) list.push_back(to_json(info));
    output.write(list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    output.write(table(devices));
  }
  output.commit();
  return Exit::done;
}

}  // namespace

Command add_devices(CLI::App& root) {
  CLI::App* app = root.add_subcommand("devices", "List the devices, and why one cannot be used");
  auto json = std::make_shared<bool>(false);
  app->add_flag("--json", *json, "Write the list as JSON");
  app->footer("Examples:\n  masu devices\n  masu devices --json");
  return {app, [json] { return list_devices(*json); }};
}

}  // namespace masu::cli
