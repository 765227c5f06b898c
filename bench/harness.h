// SPDX-License-Identifier: Apache-2.0
// What every suite and every peer shares: what to measure, samples of time, and the rows of the report.
#pragma once

#include <masu/device.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace masu::bench {

using Json = nlohmann::ordered_json;

// What was asked for; what is empty (or 0) is chosen by the suite.
struct Selection {
  std::vector<std::string> size_texts;
  std::vector<std::string> cases;
  std::vector<std::string> distributions;
  std::vector<unsigned> threads;
  unsigned repeats = 0;
  bool quick = false;  // small inputs, each measured once: to see that it works

  // The sizes in bytes; `otherwise` when none was named, 64Ki when it shall be quick. Throws invalid_argument.
  [[nodiscard]] std::vector<std::uint64_t> sizes(std::string_view otherwise) const;
  [[nodiscard]] std::vector<unsigned> threads_or_default() const;
  [[nodiscard]] unsigned repeats_or(unsigned otherwise) const;
  // The names that are wanted, in the order of `known`. Throws invalid_argument for one that is not known.
  static std::vector<std::string_view> chosen(std::string_view option, const std::vector<std::string>& wanted,
                                              std::span<const std::string_view> known);
};

void add_selection(CLI::App& app, Selection& selection);

// A histogram that the suite of masu and the peers count.
struct HistogramCase {
  std::string_view name;
  Dtype dtype;
  std::uint64_t bins;  // of bytes: a bin a value; of floats: even bins of [0, 1]
};
std::span<const HistogramCase> histogram_cases();
std::vector<HistogramCase> chosen_cases(const Selection& selection);

// Seconds of the repeats of one measurement.
class Samples {
 public:
  void add(double seconds) { seconds_.push_back(seconds); }
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
  std::string kind = "kernel";  // "kernel": counting alone; "call": a whole call, from launch to result (host clock)
  HistogramCase what;
  std::string distribution;
  std::uint64_t bytes = 0;
  std::string strategy;
  unsigned threads = 0;  // 0: not a CPU
  Samples seconds;
  double ceiling = 0;  // seconds to read the same bytes; 0: not measured

  [[nodiscard]] double gb_per_s() const { return static_cast<double>(bytes) / seconds.median() / 1e9; }
  [[nodiscard]] double ceiling_gb_per_s() const { return static_cast<double>(bytes) / ceiling / 1e9; }
  [[nodiscard]] double ratio() const { return ceiling / seconds.median(); }
};

// A result that differs from the independent count: nothing of it is timed.
struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string date_today();
Json to_json(const Row& row);
// The whole report; `program` is "masu" or the peer's name.
Json to_json(std::string_view suite, std::string_view program, std::span<const DeviceInfo> devices,
             std::span<const Row> rows);

}  // namespace masu::bench
