// SPDX-License-Identifier: Apache-2.0
#include "json.h"

#include "cli/histogram/histogram_result.h"
#include "io/numbers.h"
#include "runtime/half.h"

#include <fmt/format.h>
#include <masu/io.h>
#include <nlohmann/json.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <type_traits>

namespace masu::cli {
namespace {

// One entry, or with rows a list of an entry for each.
template <class Entry>
void write_rows(const HistogramResult& result, std::string_view name, const Entry& entry, TextSink& to) {
  to.add(fmt::format(R"("{}":)", name));
  if (result.rows) to.list(result.row_count(), entry);
  else entry(0);
}

void write_outsiders(const HistogramResult& result, unsigned channel, TextSink& to) {
  const auto of_rows = [&](std::string_view name, auto member) {
    const auto entry = [&](std::uint64_t row) { to.add(fmt::to_string(result.block(row, channel).*member)); };
    write_rows(result, name, entry, to);
    to.add(",");
  };
  of_rows("below", &HistogramResult::Block::below);
  of_rows("above", &HistogramResult::Block::above);
  of_rows("nan", &HistogramResult::Block::nan);
}

// "counts" of a channel, and what was asked for beside them.
void write_channel_counts(const HistogramResult& result, unsigned channel, const WriteOptions& options, TextSink& to) {
  const auto counts = [&](std::uint64_t row) {
    const auto counts = result.block(row, channel).counts;
    to.list(counts.size(), [&](std::uint64_t i) { return fmt::to_string(counts[i]); });
  };
  const auto density = [&](std::uint64_t row) {
    const std::vector<double> density = result.density(row, channel);
    to.list(density.size(), [&](std::uint64_t i) { return json_number(density[i]); });
  };
  const auto cumulative = [&](std::uint64_t row) {
    const auto counts = result.block(row, channel).counts;
    std::uint64_t sum = 0;
    to.list(counts.size(), [&](std::uint64_t i) { return fmt::to_string(sum += counts[i]); });
  };
  write_rows(result, "counts", counts, to);
  if (options.density) to.add(",");
  if (options.density) write_rows(result, "density", density, to);
  if (options.cumulative) to.add(",");
  if (options.cumulative) write_rows(result, "cumulative", cumulative, to);
}

void write_channels(const HistogramResult& result, const WriteOptions& options, TextSink& to) {
  const Histogram& first = result.first();
  const bool several = result.channel_count() > 1;
  if (!several) write_outsiders(result, 0, to);
  to.add(R"("edges":)");
  to.list(first.size() + 1, [&](std::uint64_t i) { return json_number(first.edge(i), result.edge_dtype); });
  to.add(",");
  if (!several) return write_channel_counts(result, 0, options, to);
  to.add(R"("channels":)");
  to.list(result.channel_count(), [&](std::uint64_t i) {
    const auto c = static_cast<unsigned>(i);
    std::uint64_t n = 0;
    for (std::uint64_t row = 0; row < result.row_count(); ++row) n += result.block(row, c).n();
    to.add(fmt::format(R"({{"name":{},"n":{},)", json_string(result.names[i]), n));
    write_outsiders(result, c, to);
    write_channel_counts(result, c, options, to);
    to.add("}");
  });
}

void write_joint(const HistogramResult& result, const WriteOptions& options, TextSink& to) {
  const JointHistogram& joint = *result.joint;
  to.add(fmt::format(R"("outside":{},"nan":{},"edges":)", joint.outside(), joint.nan()));
  to.list(joint.dimensions(), [&](std::uint64_t d) {
    const std::vector<double> edges = joint.edges(static_cast<unsigned>(d));
    to.list(edges.size(), [&](std::uint64_t i) { return json_number(edges[i], result.column_edge_dtypes[d]); });
  });
  to.add(R"(,"counts":)");
  to.grid(joint, [&](std::uint64_t joint_bin) { return fmt::to_string(joint.counts()[joint_bin]); });
  if (!options.density) return;
  const std::vector<double> density = joint.density();
  to.add(R"(,"density":)");
  to.grid(joint, [&](std::uint64_t joint_bin) { return json_number(density[joint_bin]); });
}

}  // namespace

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_number(double value, Dtype dtype) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return io::format_number(value, dtype);
}

void write_json(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  TextSink to(sink);
  to.add("{");
  if (options.several) to.add(fmt::format(R"("input":{},)", json_string(result.source.name)));
  to.add(fmt::format(R"("n":{},"dtype":"{}","device":{},"strategy":"{}",)", result.n(), to_string(result.source.dtype),
                     json_string(result.device), to_string(result.strategy())));
  if (result.joint) write_joint(result, options, to);
  else write_channels(result, options, to);
  if (result.bad_lines > 0) to.add(fmt::format(R"(,"bad_lines":{})", result.bad_lines));
  to.add(fmt::format(",{}}}\n", json_seconds(result.seconds)));
  to.flush();
}

std::uint64_t bits_of(const ArrayView& data, std::uint64_t i) {
  return dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const T*>(data.data) + i, sizeof(T));
    return bits;
  });
}

std::uint64_t bits_of(const SumResult& found, std::uint64_t row) {
  if (found.dtype() == Dtype::i64) return static_cast<std::uint64_t>(found.signed_integer(row));
  if (found.dtype() == Dtype::u64) return found.unsigned_integer(row);
  return bits_of(found.value(row), found.dtype());
}

std::uint64_t bits_of(double value, Dtype dtype) {
  if (dtype == Dtype::f64) return std::bit_cast<std::uint64_t>(value);
  if (dtype == Dtype::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return runtime::to_half(value).bits;
}

double number_at(const ArrayView& data, std::uint64_t i) {
  return dispatch(data.dtype, [&](auto tag) -> double {
    using T = typename decltype(tag)::type;
    T value;
    std::memcpy(&value, static_cast<const char*>(data.data) + i * sizeof(T), sizeof(T));
    if constexpr (std::is_same_v<T, Half>) return runtime::to_double(value);
    else return static_cast<double>(value);
  });
}

bool is_nan(const ArrayView& data, std::uint64_t i) {
  return is_float(data.dtype) && std::isnan(number_at(data, i));
}

namespace {
std::optional<int> table_digits;  // --digits
}

std::string element_text(const ArrayView& array, std::uint64_t index) {
  return dispatch(array.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::array<char, io::number_room> text{};
    return std::string(text.data(), io::put_number(text.data(), text.size(), static_cast<const T*>(array.data)[index]));
  });
}

void set_table_digits(int digits) {
  table_digits = digits;
}

std::string table_number(double value, int usual, Dtype dtype) {
  const int digits = table_digits.value_or(usual);
  if (digits == 0 || !std::isfinite(value)) return io::format_number(value, dtype);
  std::string text = fmt::format("{:.{}g}", value, digits);
  const double shown = std::strtod(text.c_str(), nullptr);
  return shown == std::floor(shown) ? io::format_number(shown) : text;
}

std::string table_element(const ArrayView& array, std::uint64_t index) {
  if (!table_digits || !is_float(array.dtype)) return element_text(array, index);
  return dispatch(array.dtype, [&](auto tag) -> std::string {
    using T = typename decltype(tag)::type;
    const T value = static_cast<const T*>(array.data)[index];
    if constexpr (std::is_floating_point_v<T>) return table_number(value, 0, array.dtype);
    else if constexpr (std::is_same_v<T, Half>) return table_number(runtime::to_double(value), 0, array.dtype);
    else return element_text(array, index);
  });
}

std::string json_of_text(std::string text) {
  if (text == "nan") return "\"NaN\"";
  if (text == "inf") return "\"Infinity\"";
  if (text == "-inf") return "\"-Infinity\"";
  return text;
}

std::string json_element(const ArrayView& array, std::uint64_t index) {
  return json_of_text(element_text(array, index));
}

}  // namespace masu::cli
