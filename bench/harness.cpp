// SPDX-License-Identifier: Apache-2.0
#include "harness.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <masu/io.h>
#include <masu/version.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>

namespace masu::bench {
namespace {

constexpr std::uint64_t quick_count = 4096;

}  // namespace

std::vector<std::uint64_t> Selection::sizes(std::string_view otherwise) const {
  if (!count_texts.empty()) {
    throw Error(ErrorCode::invalid_argument, "bench: this suite is told sizes in bytes, by --size, got --count");
  }
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

std::vector<std::uint64_t> Selection::counts(std::size_t element_bytes,
                                             std::span<const std::string_view> otherwise) const {
  std::vector<std::uint64_t> result;
  for (const std::string& text : count_texts) {
    result.push_back(io::parse_size(text));
    if (result.back() == 0) throw Error(ErrorCode::invalid_argument, "bench: --count must be >= 1, got 0");
  }
  if (!size_texts.empty()) {
    Selection bytes = *this;
    bytes.count_texts.clear();
    for (const std::uint64_t size : bytes.sizes({})) result.push_back(size / element_bytes);
  }
  if (!result.empty()) return result;
  if (quick) return {quick_count};
  for (const std::string_view text : otherwise) result.push_back(io::parse_size(text));
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

Names Selection::chosen(std::string_view option, const std::vector<std::string>& wanted,
                        std::span<const std::string_view> known, std::span<const std::string_view> usual) {
  if (wanted.empty()) return {usual.begin(), usual.end()};
  bool all = false;
  for (const std::string& name : wanted) {
    all = all || name == "all";
    if (name != "all" && std::find(known.begin(), known.end(), name) == known.end()) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("bench: {} must be all or one of {}, got '{}'", option, fmt::join(known, ", "), name));
    }
  }
  Names result;
  for (const std::string_view name : known) {
    if (all || std::find(wanted.begin(), wanted.end(), name) != wanted.end()) result.push_back(name);
  }
  return result;
}

void add_selection(CLI::App& app, Selection& selection) {
  const auto several = [&app](const char* name, auto& values, const char* text, const char* type) {
    return app.add_option(name, values, text)->delimiter(',')->type_name(type);
  };
  several("--size", selection.size_texts, "Bytes of input (100Mi, 1Gi); repeatable", "BYTES");
  several("--count", selection.count_texts, "Elements of input (256Mi), for suites other than histogram; repeatable",
          "N");
  several("--case", selection.cases, "Cases of the suite, by name, or all (the usual ones)", "NAME");
  several("--distribution", selection.distributions, "Distributions of the suite, by name, or all (the usual ones)",
          "NAME");
  several("--threads", selection.threads, "CPU threads (one, and all)", "N")->check(CLI::Range(1, 1 << 16));
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
