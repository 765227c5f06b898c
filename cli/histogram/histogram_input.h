// SPDX-License-Identifier: Apache-2.0
// What a job of `masu histogram` reads: sources, how their values belong together, and their names.
#pragma once

#include "cli/histogram/histogram_job.h"
#include "shared_input.h"

#include <masu/io.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace masu::cli {

struct HistogramInput {
  std::vector<std::unique_ptr<io::Source>> sources;  // several for joint histograms only
  std::vector<Way> ways;                             // how the ranks share each
  std::optional<std::uint64_t> elements;             // values of all sources and ranks together, where that is known
  io::SourceInfo info;                               // of the first one, with the name of all
  unsigned channels = 1;                             // interleaved values of each source
  std::vector<std::string> names;                    // of channels or columns, where they have any

  // Of all ranks; and the bytes of this one.
  [[nodiscard]] std::optional<std::uint64_t> count() const { return elements; }
  [[nodiscard]] std::optional<std::uint64_t> bytes() const;
  [[nodiscard]] std::uint64_t bad_lines() const;
  void keep_for_rewind();
  void add(SharedSource source);
};

// One input, or, for a joint histogram, all of them. Throws for options that do not suit what is found.
HistogramInput open_histogram_input(const HistogramJob& job, std::span<const std::string> inputs);

}  // namespace masu::cli
