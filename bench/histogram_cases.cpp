// SPDX-License-Identifier: Apache-2.0
#include "histogram_cases.h"

#include <fmt/format.h>
#include <masu/io.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace masu::bench {
namespace {

using Kind = HistogramCase::Kind;

constexpr double all_u16 = 65536;
constexpr double all_i32 = 1'000'000;
constexpr double least_logarithmic = 1e-6;
constexpr std::uint64_t million = 1'000'000;
constexpr std::uint64_t most_rows = 1U << 16;

constexpr HistogramCase usual(HistogramCase what) {
  what.usual = true;
  return what;
}
constexpr HistogramCase pixels(HistogramCase what, unsigned channels) {
  what.channels = channels;
  return what;
}
constexpr HistogramCase points(HistogramCase what, unsigned columns) {
  what.columns = columns;
  return what;
}
constexpr HistogramCase rows(HistogramCase what, std::uint64_t row) {
  what.row = row;
  return what;
}

constexpr auto cases = std::to_array<HistogramCase>({
    usual({"u8-256", Dtype::u8, 256, Kind::integers, 256}),
    usual({"f32-100", Dtype::f32, 100}),
    usual({"f64-100", Dtype::f64, 100}),
    usual(pixels({"rgba-256", Dtype::u8, 256, Kind::integers, 256}, 4)),
    usual({"f32-1000", Dtype::f32, 1000}),
    usual({"f32-edges100", Dtype::f32, 100, Kind::edges}),
    pixels({"rgb-256", Dtype::u8, 256, Kind::integers, 256}, 3),
    {"u16-100", Dtype::u16, 100, Kind::even, all_u16},
    {"u16-1000", Dtype::u16, 1000, Kind::even, all_u16},
    {"u16-65536", Dtype::u16, 65536, Kind::integers, all_u16},
    {"i32-100", Dtype::i32, 100, Kind::even, all_i32},
    {"i32-1000", Dtype::i32, 1000, Kind::even, all_i32},
    {"i32-10000", Dtype::i32, 10'000, Kind::even, all_i32},
    {"f16-100", Dtype::f16, 100},
    {"f32-16", Dtype::f32, 16},
    {"f32-10000", Dtype::f32, 10'000},
    {"f32-50000", Dtype::f32, 50'000},
    {"f64-1000", Dtype::f64, 1000},
    {"f32-edges1000", Dtype::f32, 1000, Kind::edges},
    {"f32-log100", Dtype::f32, 100, Kind::logarithmic},
    points({"joint-100x100", Dtype::f32, 100}, 2),
    rows({"rows-4096", Dtype::u8, 256, Kind::integers, 256}, 4096),
    {"f32-1e6", Dtype::f32, million},
    {"f32-1e7", Dtype::f32, 10 * million},
    {"i32-1e7", Dtype::i32, 10 * million, Kind::integers, 1e7},
});

}  // namespace

std::uint64_t HistogramCase::unit() const noexcept {
  return std::uint64_t{channels} * columns * std::max<std::uint64_t>(row, 1);
}

Bins HistogramCase::definite_bins() const {
  if (kind == Kind::integers) return Bins::integers(bins);
  if (kind == Kind::edges) return Bins::edges(random_edges(bins));
  if (kind == Kind::logarithmic) return Bins::logarithmic(bins, least_logarithmic, hi);
  return Bins::even(bins, 0, hi);
}

std::span<const HistogramCase> histogram_cases() {
  return cases;
}

std::string histogram_input_text(const HistogramCase& what, std::uint64_t count, std::string_view distribution) {
  std::string text = fmt::format("random:{}:{}:dist={}", to_string(what.dtype), count, distribution);
  if (is_float(what.dtype)) return text + (distribution == "constant" ? ":lo=0.42" : ":lo=0:hi=1");
  // The full range of unsigned types is the generator's own, and quicker to make.
  const bool full = what.hi == std::ldexp(1.0, static_cast<int>(8 * size_of(what.dtype)));
  if (distribution != "constant" && !full) text += fmt::format(":lo=0:hi={:.0f}", what.hi - 1);
  return text;
}

Input histogram_input(const HistogramCase& what, std::uint64_t bytes, std::string_view distribution) {
  std::uint64_t units = std::max<std::uint64_t>(bytes / size_of(what.dtype) / what.unit(), 1);
  if (what.row != 0) units = std::min(units, most_rows);
  const std::uint64_t count = units * what.unit();
  return {what.dtype, count, histogram_input_text(what, count, distribution)};
}

Row histogram_row(const HistogramCase& what, const Input& input, std::string_view distribution) {
  Row row;
  row.case_name = what.name;
  row.dtype = what.dtype;
  row.details["bins"] = what.bins;
  row.distribution = distribution;
  row.bytes = input.bytes().size();
  row.count = input.view().count;
  return row;
}

std::vector<double> random_edges(std::uint64_t bins) {
  std::vector<float> inner(bins - 1);
  io::open(fmt::format("random:f32:{}:seed=1", inner.size()))->read(inner.data(), inner.size());
  std::vector<double> edges(inner.begin(), inner.end());
  edges.push_back(0);
  edges.push_back(1);
  std::sort(edges.begin(), edges.end());
  return edges;
}

}  // namespace masu::bench
