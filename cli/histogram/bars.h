// SPDX-License-Identifier: Apache-2.0
// What the charts on a terminal are drawn of.
#pragma once

#include "cli/histogram/histogram_result.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace masu::cli {

struct Bar {
  std::string label;
  std::uint64_t count = 0;
  std::vector<std::string> more;  // further columns, as many in every bar
};

// Columns that a text of ours takes: every character is one wide.
std::size_t columns(const std::string& text);
// How many digits are enough to read a chart; the other formats have them all.
constexpr int chart_digits = 6;
// An edge in these, or in --digits.
std::string edge_label(double edge, Dtype data, Dtype edge_dtype);
// How high a count stands against the highest one, from 0 to 1.
double height(std::uint64_t count, std::uint64_t most, bool log_counts);
// One of a row of characters of growing darkness or height; a blank for 0 only.
std::string shade(double part, bool utf8, bool height_of_a_bar);
// How many bins share a place where there are `places` at most.
std::uint64_t bins_a_place(std::uint64_t bins, std::uint64_t places);
// "photo.png: png u8, 640 x 480 pixels", without a line's end.
std::string headline(const HistogramResult& result);
// Lines of labels, counts and bars; a line of `titles` for `more` above them.
void write_bars(std::span<const Bar> bars, const std::vector<std::string>& titles, const TableOptions& options,
                const Sink& sink);

}  // namespace masu::cli
