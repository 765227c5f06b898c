// SPDX-License-Identifier: Apache-2.0
// masu devices, masu formats: what masu can compute on here, what it can read here, and why not the rest.
#include "cli/memory_file.h"
#include "program.h"
#include "runtime/backend.h"
#include "runtime/packaged_kernels.h"
#include "text.h"

#include <fmt/format.h>
#include <masu/device.h>
#include <masu/io.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
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

Json told_by(const std::vector<DeviceInfo>& devices) {
  Json list = Json::array();
  for (const DeviceInfo& info : devices) list.push_back(to_json(info));
  return list;
}

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

[[noreturn]] void tell(DeviceKind kind, const MemoryFile& file) {
  try {
    file.write(text_of(told_by(runtime::list_devices(kind))));
    _exit(0);
  } catch (...) {
    _exit(1);
  }
}

// The devices of a kind. Some drivers crash when they are opened, so a child process opens them.
Json devices_of(DeviceKind kind) {
  const MemoryFile file("devices");
  const pid_t child = ::fork();
  if (child == 0) tell(kind, file);
  if (child < 0) return told_by(runtime::list_devices(kind));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const std::string text = file.read();
  Json list = Json::parse(text, nullptr, false);
  if (!list.is_discarded()) return list;
  DeviceInfo crashed;
  crashed.id = to_string(kind);
  crashed.kind = kind;
  crashed.usable = false;
  crashed.why = WIFSIGNALED(status) ? fmt::format("the driver crashed ({})", ::strsignal(WTERMSIG(status)))
                                    : "the driver ended the process that opened it";
  if (kind == DeviceKind::opencl) crashed.why += "; OCL_ICD_VENDORS chooses among OpenCL drivers";
  return told_by({crashed});
}

std::string memory_text(std::uint64_t bytes) {
  return bytes == 0 ? "-" : fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1U << 30U));
}

std::string table(const Json& devices) {
  std::vector<std::vector<std::string>> rows = {{"ID", "NAME", "MEMORY", "UNITS", "STATE"}};
  for (const Json& info : devices) {
    const bool usable = info["usable"];
    const std::string name = info["name"];
    rows.push_back({info["id"], name.empty() ? "-" : name, memory_text(info["memory_bytes"]),
                    usable ? info["compute_units"].dump() : "-",
                    usable ? "usable" : "not usable: " + info["why"].get<std::string>()});
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
  Json devices = told_by(runtime::list_devices(DeviceKind::cpu));
  for (const DeviceKind kind : {DeviceKind::opencl, DeviceKind::cuda}) {
    for (Json& device : devices_of(kind)) devices.push_back(std::move(device));
  }
  print_text(json ? text_of(devices) + "\n" : table(devices));
  for (const auto& [path, fault] : runtime::package_files()) {
    if (!fault.empty()) note(fmt::format("{}: not used: {}", path.string(), fault));
    else if (!json) print_text(visible(path.string()) + ": kernels compiled ahead\n");
  }
  return Exit::done;
}

Exit list_formats(bool json) {
  const std::vector<io::FormatSupport> formats = io::formats();
  std::string text = json ? "[" : "";
  for (const io::FormatSupport& each : formats) {
    if (json) {
      text += fmt::format(R"({}{{"name":{},"endings":{},"missing":{}}})", text.size() > 1 ? "," : "",
                          json_string(each.name), json_string(each.endings), json_string(each.missing));
    } else {
      text +=
          fmt::format("{:<14}  {:<20}  {}\n", each.name, each.endings, each.missing.empty() ? "is read" : each.missing);
    }
  }
  print_text(json ? text + "]\n" : text);
  return Exit::done;
}

// A command that prints a list, or the same as JSON.
void add_list(CommandLine& line, const std::string& name, const std::string& description, Exit (*print)(bool json)) {
  auto json = std::make_shared<bool>(false);
  const Subcommand app = line.add(name, description, [json, print] { return print(*json); });
  app.add_flag("--json", *json, "Write the list as JSON");
  app.footer(fmt::format("Examples:\n  masu {0}\n  masu {0} --json", name));
}

}  // namespace

void add_devices(CommandLine& line) {
  add_list(line, "devices", "List the devices, and why one cannot be used", list_devices);
}
void add_formats(CommandLine& line) {
  add_list(line, "formats", "List the formats that can be read here, and why one cannot", list_formats);
}

}  // namespace masu::cli
