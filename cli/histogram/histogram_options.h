// SPDX-License-Identifier: Apache-2.0
// The options of masu histogram, and the job that they describe.
#pragma once

#include "cli/histogram/bins_request.h"
#include "cli/histogram/histogram_job.h"
#include "cli/histogram/histogram_weighted.h"
#include "command_line.h"
#include "options.h"

#include <optional>
#include <string>
#include <string_view>

namespace masu::cli {

// A form of the result.
struct Format {
  std::string_view name;
  void (*write)(const HistogramResult&, const WriteOptions&, const Sink&);
};

struct HistogramCommandOptions {
  CommonOptions common;
  InputOptions input;
  BinsTexts bins;
  std::string channels;
  std::string region;
  std::string pitch;
  std::string rows;
  std::string outside = "drop";
  std::string strategy = "auto";
  std::string format;
  std::string plot;
  std::string weights;
  std::string weights_format = "auto";
  std::string weights_dtype;
  std::string weights_column;
  bool variances = false;
  bool joint = false;
  bool right_open = false;
  bool density = false;
  bool cumulative = false;
  bool log_counts = false;

  void add_to(const Subcommand& app);
  // These throw invalid_argument for values that no input can suit.
  [[nodiscard]] HistogramJob job() const;
  // What --weights asks for; nothing without it.
  [[nodiscard]] std::optional<WeightedJob> weighted_job() const;
  [[nodiscard]] const Format& chosen_format() const;
};

}  // namespace masu::cli
