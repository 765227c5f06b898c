// SPDX-License-Identifier: Apache-2.0
// What every suite and every peer shares: what to measure, samples of time, and the rows of the report.
#pragma once

#include "selection.h"

#include <masu/device.h>
#include <masu/dtype.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace masu::bench {

using Json = nlohmann::ordered_json;

// Seconds of the repeats of one measurement.
class Samples {
 public:
  // No clock tells less than a nanosecond; work without any has no rate.
  void add(double seconds) { seconds_.push_back(std::max(seconds, 1e-9)); }
  [[nodiscard]] double median() const;
  [[nodiscard]] double min() const;
  [[nodiscard]] std::size_t size() const noexcept { return seconds_.size(); }

 private:
  std::vector<double> seconds_;
};

double now();

struct Row {
  std::string peer;  // empty: masu
  std::string device;
  // "kernel": the work alone, on data where it is; by the host's clock "call": a whole call, from launch to result;
  // "pinned", "pageable": data in page-locked and in ordinary host memory worked on by a device.
  std::string kind = "kernel";
  std::string case_name;
  Dtype dtype = Dtype::u8;
  Json details = Json::object();  // what else a suite tells of its case, as members of the row
  std::string distribution;
  std::uint64_t bytes = 0;  // of the input
  std::uint64_t count = 0;  // its elements
  std::string strategy;
  std::string asked;     // the strategy that was asked for; "auto" may be any
  unsigned threads = 0;  // 0: not a CPU
  Samples seconds;
  std::uint64_t scratch = 0;  // bytes of temporary memory; 0: not told
  double ceiling = 0;         // seconds to read or copy the same bytes, or to copy them to the device; 0: not measured
  unsigned group = 0;         // rows of one case and size have the same: they stand together in a report

  [[nodiscard]] double gb_per_s() const { return static_cast<double>(bytes) / seconds.median() / 1e9; }
  [[nodiscard]] double elements_per_s() const { return static_cast<double>(count) / seconds.median(); }
  [[nodiscard]] double ceiling_gb_per_s() const { return static_cast<double>(bytes) / ceiling / 1e9; }
  [[nodiscard]] double ratio() const { return ceiling / seconds.median(); }
};

// What a person calls a row: its device, case, distribution, size and so on.
std::string name_of(const Row& row);

// A result that differs from an independent one: nothing of it is timed.
struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string date_today();
Json to_json(const Row& row);
// The whole report; `program` is "masu" or the peer's name.
Json to_json(std::string_view suite, std::string_view program, std::span<const DeviceInfo> devices,
             std::span<const Row> rows);

}  // namespace masu::bench
