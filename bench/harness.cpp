// SPDX-License-Identifier: Apache-2.0
#include "harness.h"

#include <fmt/format.h>
#include <masu/version.h>

#include <algorithm>
#include <chrono>
#include <ctime>

namespace masu::bench {
double Samples::median() const {
  std::vector<double> sorted = seconds_;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

double Samples::min() const {
  return *std::min_element(seconds_.begin(), seconds_.end());
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string name_of(const Row& row) {
  return fmt::format("{} {} {} {} bytes {}{}{}", row.device, row.case_name, row.distribution, row.bytes, row.kind,
                     row.asked.empty() ? "" : ", " + row.asked,
                     row.threads == 0 ? "" : fmt::format(", {} threads", row.threads));
}

std::string date_today() {
  const std::time_t time = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&time, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

Json to_json(const Row& row) {
  Json json;
  if (!row.peer.empty()) json["peer"] = row.peer;
  json["device"] = row.device;
  json["kind"] = row.kind;
  json["case"] = row.case_name;
  json["dtype"] = to_string(row.dtype);
  json.update(row.details);
  json["distribution"] = row.distribution;
  json["bytes"] = row.bytes;
  json["count"] = row.count;
  if (!row.strategy.empty()) json["strategy"] = row.strategy;
  if (!row.asked.empty()) json["asked"] = row.asked;
  json["threads"] = row.threads == 0 ? Json() : Json(row.threads);
  json["repeats"] = row.seconds.size();
  json["seconds_median"] = row.seconds.median();
  json["seconds_min"] = row.seconds.min();
  json["gb_per_s"] = row.gb_per_s();
  json["elements_per_s"] = row.elements_per_s();
  if (row.scratch != 0) json["scratch_bytes"] = row.scratch;
  if (row.ceiling > 0) {
    json["ceiling_gb_per_s"] = row.ceiling_gb_per_s();
    json["ratio"] = row.ratio();
  }
  return json;
}

Json to_json(std::string_view suite, std::string_view program, std::span<const DeviceInfo> devices,
             std::span<const Row> rows) {
  Json json{{"suite", suite},
            {"program", program},
            {"version", version()},
            {"date", date_today()},
            {"host_cpu", Device::open("cpu").info().name},
            {"host_threads", cpu_threads()},
            {"devices", Json::array()},
            {"rows", Json::array()}};
  for (const DeviceInfo& info : devices) {
    json["devices"].push_back(
        {{"id", info.id}, {"name", info.name}, {"driver", info.driver}, {"architecture", info.architecture}});
  }
  for (const Row& row : rows) json["rows"].push_back(to_json(row));
  return json;
}

}  // namespace masu::bench
