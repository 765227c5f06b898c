// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram/bins_request.h"

#include "errors.h"
#include "options.h"
#include "runtime/half.h"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>

namespace masu::cli {
namespace {

constexpr std::uint64_t most_bins = std::uint64_t{1} << 31U;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<double> numbers_in_file(const std::string& path) {
  io::SourceOptions options;
  options.strict = true;
  const std::unique_ptr<io::Source> source = io::open(path, options);
  const Dtype dtype = source->info().dtype;
  const std::vector<std::byte> bytes = io::read_all(*source);
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* data = reinterpret_cast<const T*>(bytes.data());
    std::vector<double> values;
    for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
      if constexpr (std::is_same_v<T, Half>) values.push_back(runtime::to_double(data[i]));
      else values.push_back(static_cast<double>(data[i]));
    }
    return values;
  });
}

std::vector<double> edge_values(const std::string& text) {
  if (text.starts_with('@')) return numbers_in_file(text.substr(1));
  std::vector<double> values;
  for (const std::string& part : split(text, ',')) values.push_back(real_number("--edges", part));
  return values;
}

std::pair<double, double> limits(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) usage_error("--range takes LO:HI, got '" + text + "'");
  const std::string_view view = text;
  return {real_number("--range", view.substr(0, colon)), real_number("--range", view.substr(colon + 1))};
}

void read_bins(const std::string& text, BinsRequest& request) {
  const auto letter = [](unsigned char c) { return std::isalpha(c) != 0; };
  if (!letter(static_cast<unsigned char>(text.front()))) {
    request.bins = whole_number("--bins", text, 1, most_bins);
    return;
  }
  try {
    request.rule = estimator_from_name(text);
  } catch (const Error&) {
    usage_error(
        fmt::format("--bins takes a number from 1 to {} or a rule (auto, fd, doane, scott, stone, rice, "
                    "sturges, sqrt), got '{}'",
                    most_bins, text));
  }
}

// The request for one column; an empty text is an option that says nothing about it.
BinsRequest parse_column(const BinsTexts& texts) {
  const bool even = !texts.bins.empty() || !texts.range.empty() || texts.log;
  const int ways = (even ? 1 : 0) + (texts.edges.empty() ? 0 : 1) + (texts.integers.empty() ? 0 : 1);
  if (ways > 1) usage_error("--bins, --range and --log, --edges, and --integers exclude each other");
  BinsRequest request;
  request.log = texts.log;
  if (!texts.bins.empty()) read_bins(texts.bins, request);
  if (!texts.integers.empty()) request.integers = whole_number("--integers", texts.integers, 1, most_bins);
  if (!texts.edges.empty()) {
    request.edges = edge_values(texts.edges);
    Bins::edges(request.edges);
  }
  if (request.log && request.rule) usage_error("--log takes a number of --bins, got the rule '" + texts.bins + "'");
  if (!texts.range.empty()) {
    request.range = limits(texts.range);
    const auto [lo, hi] = *request.range;
    if (request.log) Bins::logarithmic(1, lo, hi);
    else Bins::even(1, lo, hi);
  }
  return request;
}

}  // namespace

std::vector<BinsRequest> parse_bins(const BinsTexts& texts, bool joint) {
  if (!joint) return {parse_column(texts)};
  std::size_t columns = 1;
  const auto parts_of = [&](const char* option, const std::string& text) {
    std::vector<std::string> parts = split(text, ';');
    if (parts.size() > 1 && columns > 1 && parts.size() != columns) {
      usage_error(fmt::format("{}: a value for each of {} columns, separated by ';', got '{}'", option, columns, text));
    }
    columns = std::max(columns, parts.size());
    return parts;
  };
  const std::vector<std::string> bins = parts_of("--bins", texts.bins);
  const std::vector<std::string> range = parts_of("--range", texts.range);
  const std::vector<std::string> edges = parts_of("--edges", texts.edges);
  const std::vector<std::string> integers = parts_of("--integers", texts.integers);
  std::vector<BinsRequest> requests;
  for (std::size_t i = 0; i < columns; ++i) {
    const auto part = [i](const std::vector<std::string>& parts) { return parts[parts.size() == 1 ? 0 : i]; };
    BinsTexts column{part(bins), part(range), part(edges), part(integers), texts.log};
    // --log is for all columns; those with bins of another kind keep them.
    if (columns > 1 && !(column.edges.empty() && column.integers.empty())) column.log = false;
    requests.push_back(parse_column(column));
  }
  return requests;
}

}  // namespace masu::cli
