// SPDX-License-Identifier: Apache-2.0
#include "tune.h"

#include "gather/gather_plan.h"
#include "histogram/device/histogram_plan.h"
#include "reduce/reduce_plan.h"
#include "scan/scan_plan.h"
#include "select/selection_plan.h"
#include "sort/device/sort_plan.h"
#include "sum/sum_plan.h"
#include "topk/topk_plan.h"
#include "transpose/transpose_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sstream>
#include <type_traits>

namespace masu::bench {
namespace {

constexpr double worth = 1.02;  // what is not so much faster may be noise
constexpr std::size_t most_width = 120;

// A number, or the members of a shape.
using Value = std::vector<std::uint64_t>;

struct Constant {
  std::string type;
  std::string name;
  std::string meaning;
  std::string inputs;
  std::vector<Value> listed;  // values to try, if the row lists them
  std::function<Value()> get;
  std::function<void(const Value&)> set;

  [[nodiscard]] std::vector<Value> tried() const {
    const Value value = get();
    if (!listed.empty() || value.size() > 1) return listed;
    return {{value[0] / 2}, {value[0] * 2}};
  }
};

// "(256), (1 << 14)" and "(512, 8, 2), (256, 8, 4)".
std::vector<Value> read_values(const std::string& text) {
  std::vector<Value> values;
  for (const char* at = text.c_str(); *at != '\0'; ++at) {
    if (*at == '(') values.emplace_back();
    if (*at < '0' || *at > '9') continue;
    char* end = nullptr;
    const std::uint64_t number = std::strtoull(at, &end, 10);
    const bool shifts = at - text.c_str() >= 3 && std::strncmp(at - 3, "<< ", 3) == 0;
    if (shifts) values.back().back() <<= number;
    else values.back().push_back(number);
    at = end - 1;
  }
  return values;
}

std::string text_of(const Value& value) {
  std::vector<std::string> numbers;
  for (const std::uint64_t number : value) {
    const bool shifted = number >= std::uint64_t{1} << 14 && std::has_single_bit(number);
    numbers.push_back(shifted ? fmt::format("1 << {}", std::countr_zero(number)) : std::to_string(number));
  }
  return fmt::format("({})", fmt::join(numbers, ", "));
}

template <class T>
Constant constant(const char* type, const char* name, T& value, const char* meaning, const char* inputs,
                  const char* listed) {
  static_assert(std::is_trivially_copyable_v<T>);
  using Number = std::conditional_t<std::is_integral_v<T>, T, unsigned>;
  using Numbers = std::array<Number, sizeof(T) / sizeof(Number)>;
  const auto get = [&value] {
    const auto numbers = std::bit_cast<Numbers>(value);
    return Value(numbers.begin(), numbers.end());
  };
  const auto set = [&value](const Value& to) {
    Numbers numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<Number>(to.at(i));
    value = std::bit_cast<T>(numbers);
  };
  return {type, name, meaning, inputs, read_values(listed), get, set};
}

#define MASU_TUNED_CONSTANT(type, name, value, meaning, inputs, ...) \
  table.push_back(constant(#type, #name, tuned.name, meaning, inputs, "" #__VA_ARGS__));

std::vector<Constant> table_of(std::string_view name) {
  std::vector<Constant> table;
  if (name == "histogram") {
    auto& tuned = histogram_plan::tuned;
#define MASU_TUNED MASU_TUNED_CONSTANT
#include "histogram/device/histogram_tuning.def"
  } else if (name == "gather") {
    auto& tuned = gather_plan::tuned;
#define MASU_TUNED MASU_TUNED_CONSTANT
#include "gather/gather_tuning.def"
  } else if (name == "quantile") {
    auto& tuned = selection_plan::tuned;
#define MASU_TUNED MASU_TUNED_CONSTANT
#include "select/selection_tuning.def"
  } else if (name == "reduce") {
    auto& tuned = reduce_plan::tuned;
#define MASU_TUNED MASU_TUNED_CONSTANT
#include "reduce/reduce_tuning.def"
  } else if (name == "scan") {
    auto& tuned = scan_plan::tuned;
#define MASU_TUNED MASU_TUNED_CONSTANT
#include "scan/scan_tuning.def"
  } else if (name == "sort") {
    auto& tuned = sort_plan::tuned;
#define MASU_TUNED MASU_TUNED_CONSTANT
#include "sort/device/sort_tuning.def"
  } else if (name == "sum") {
    auto& tuned = sum_plan::tuned;
#define MASU_TUNED MASU_TUNED_CONSTANT
#include "sum/sum_tuning.def"
  } else if (name == "topk") {
    auto& tuned = topk_plan::tuned;
#define MASU_TUNED MASU_TUNED_CONSTANT
#include "topk/topk_tuning.def"
  } else if (name == "transpose") {
    auto& tuned = transpose_plan::tuned;
#define MASU_TUNED MASU_TUNED_CONSTANT
#include "transpose/transpose_tuning.def"
  } else {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("bench: tune knows gather, histogram, quantile, reduce, scan, sort, sum, topk, transpose; got '{}'",
                    name));
  }
  return table;
}

// Seconds of whole calls with each of the inputs, "case:bytes" or "case:bytes:distribution"; none if one was left out.
std::vector<double> measure(const Suite& suite, Request request, const std::string& inputs) {
  std::vector<double> seconds;
  std::string last;
  std::istringstream words(inputs);
  for (std::string word; words >> word;) {
    std::istringstream parts(word);
    std::string name;
    std::string bytes;
    std::string distribution;
    std::getline(parts, name, ':');
    std::getline(parts, bytes, ':');
    if (!std::getline(parts, distribution)) distribution = "uniform";
    if (request.selection.quick && name + distribution == last) continue;  // all sizes are one
    last = name + distribution;
    request.selection.cases = {name};
    request.selection.distributions = {distribution};
    if (!request.selection.quick) request.selection.size_texts = {bytes};
    const Measurements measured = suite.run(request);
    if (measured.failure || measured.rows.size() != 1) return {};
    seconds.push_back(measured.rows.front().seconds.median());
  }
  return seconds;
}

// How much faster the second is than the first: the geometric mean.
double gain(const std::vector<double>& before, const std::vector<double>& after) {
  double sum = 0;
  for (std::size_t i = 0; i < before.size(); ++i) sum += std::log(before[i] / after.at(i));
  return std::exp(sum / static_cast<double>(before.size()));
}

void fit(const Constant& constant, const Suite& suite, const Request& request) {
  std::vector<Value> tried = constant.tried();
  if (constant.inputs.empty() || tried.empty()) return;
  if (request.selection.quick) tried = {tried.back()};
  const Value before = constant.get();
  const std::vector<double> base = measure(suite, request, constant.inputs);
  if (base.empty()) return;
  Value best = before;
  double most = worth;
  for (const Value& value : tried) {
    if (value == before) continue;
    constant.set(value);
    const std::vector<double> seconds = measure(suite, request, constant.inputs);
    if (seconds.empty()) continue;
    const double faster = gain(base, seconds);
    request.note(
        fmt::format("{} {}: {:.3f} times as fast as {}", constant.name, text_of(value), faster, text_of(before)));
    if (faster < most) continue;
    most = faster;
    best = value;
  }
  constant.set(best);
}

std::string row_of(const Constant& constant) {
  std::vector<std::string> words{constant.type, constant.name, text_of(constant.get()), '"' + constant.meaning + '"',
                                 '"' + constant.inputs + '"'};
  for (const Value& value : constant.listed) words.push_back(text_of(value));
  std::string text;
  std::string line = "MASU_TUNED(";
  const std::string indent(line.size(), ' ');
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i] + (i + 1 == words.size() ? ")" : ",");
    const bool first = i == 0 || line == indent;
    if (line.size() + (first ? 0 : 1) + word.size() > most_width) {
      text += line + "\n";
      line = indent + word;
    } else {
      line += (first ? "" : " ") + word;
    }
  }
  return text + line + "\n";
}

}  // namespace

std::string fit_table(std::string_view name, const Request& request) {
  const std::vector<Constant> table = table_of(name);
  if (request.devices.size() != 1) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("bench: tune fits a table to one --device, got {}", request.devices.size()));
  }
  Request calls = request;
  calls.kinds = {"call"};
  for (const Constant& constant : table) fit(constant, suite_named(name), calls);
  const DeviceInfo& device = request.devices.front().info();
  std::string text = fmt::format("// {}, {}, {}\n", device.name, device.driver.substr(0, device.driver.find(',')),
                                 date_today().substr(0, 7));
  for (const Constant& constant : table) text += row_of(constant);
  return text;
}

}  // namespace masu::bench
