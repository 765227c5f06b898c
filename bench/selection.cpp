// SPDX-License-Identifier: Apache-2.0
#include "selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <masu/device.h>
#include <masu/io.h>

#include <algorithm>

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

void add_selection(const cli::Subcommand& app, Selection& selection) {
  const auto several = [&app](const char* name, auto& values, const char* text, const char* type) {
    return app.add_option(name, values, type, text).delimiter(',');
  };
  several("--size", selection.size_texts, "Bytes of input (100Mi, 1Gi); repeatable", "BYTES");
  several("--count", selection.count_texts, "Elements of input (256Mi), for suites other than histogram; repeatable",
          "N");
  several("--case", selection.cases, "Cases of the suite, by name, or all (the usual ones)", "NAME");
  several("--distribution", selection.distributions, "Distributions of the suite, by name, or all (the usual ones)",
          "NAME");
  several("--threads", selection.threads, "CPU threads (one, and all)", "N").range(1, 1U << 16U);
  app.add_option("--repeats", selection.repeats, "N", "Repeats of which the median is taken").range(1, 1U << 20U);
  app.add_flag("--quick", selection.quick, "Small inputs, each checked and timed once");
}

}  // namespace masu::bench
