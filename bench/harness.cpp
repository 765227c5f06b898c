// SPDX-License-Identifier: Apache-2.0
#include "harness.h"

#include "inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <masu/io.h>
#include <masu/version.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>

namespace masu::bench {

std::vector<std::uint64_t> Selection::sizes(std::string_view otherwise) const {
  std::vector<std::uint64_t> result;
  for (const std::string& text : size_texts) {
    result.push_back(io::parse_size(text));
    if (result.back() < 1024) {
      throw Error(ErrorCode::invalid_argument, fmt::format("bench: sizes must be >= 1Ki bytes, got '{}'", text));
    }
  }
  if (result.empty()) result.push_back(io::parse_size(quick ? "64Ki" : otherwise));
  return result;
}

std::vector<unsigned> Selection::threads_or_default() const {
  if (!threads.empty()) return threads;
  const unsigned all = cpu_threads();
  return quick || all == 1 ? std::vector<unsigned>{1} : std::vector<unsigned>{1, all};
}

unsigned Selection::repeats_or(unsigned otherwise) const {
  return repeats != 0 ? repeats : quick ? 1 : otherwise;
}

std::vector<std::string_view> Selection::chosen(std::string_view option, const std::vector<std::string>& wanted,
                                                std::span<const std::string_view> known) {
  for (const std::string& name : wanted) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("bench: {} must be one of {}, got '{}'", option, fmt::join(known, ", "), name));
    }
  }
  std::vector<std::string_view> result;
  for (const std::string_view name : known) {
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end()) result.push_back(name);
  }
  return result;
}

void add_selection(CLI::App& app, Selection& selection) {
  app.add_option("--size", selection.size_texts, "Bytes of input (100Mi, 1Gi); repeatable")
      ->delimiter(',')
      ->type_name("BYTES");
  app.add_option("--case", selection.cases, case_names() + " or all (the first six)")
      ->delimiter(',')
      ->type_name("NAME");
  app.add_option("--distribution", selection.distributions,
                 "uniform, constant, normal, zipf, sorted, runs or few (all)")
      ->delimiter(',')
      ->type_name("NAME");
  app.add_option("--threads", selection.threads, "CPU threads (one, and all)")
      ->delimiter(',')
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 16));
  app.add_option("--repeats", selection.repeats, "Repeats of which the median is taken")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  app.add_flag("--quick", selection.quick, "Small inputs, each checked and timed once");
}

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
  json["case"] = row.what.name;
  json["dtype"] = to_string(row.what.dtype);
  json["bins"] = row.what.bins;
  json["distribution"] = row.distribution;
  json["bytes"] = row.bytes;
  if (!row.strategy.empty()) json["strategy"] = row.strategy;
  if (!row.asked.empty()) json["asked"] = row.asked;
  json["threads"] = row.threads == 0 ? Json() : Json(row.threads);
  json["repeats"] = row.seconds.size();
  json["seconds_median"] = row.seconds.median();
  json["seconds_min"] = row.seconds.min();
  json["gb_per_s"] = row.gb_per_s();
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
