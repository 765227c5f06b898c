// SPDX-License-Identifier: Apache-2.0
// masu selftest runs the commands with --verify on every device, and functions that no command has. So a wrong result
// is reported with a command that reproduces it. Every dtype and every combination of options is in tests/selftest.
#include "cli/arrays/array_stream.h"
#include "cli/memory_file.h"
#include "cli/verify/references.h"
#include "elements/dtypes.h"
#include "options.h"
#include "program.h"
#include "ranks.h"
#include "text.h"

#include <fmt/format.h>
#include <masu/gather.h>
#include <masu/io.h>
#include <masu/search.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace masu::cli {
namespace {

constexpr std::array distributions = {"uniform", "few", "sorted", "constant", "reversed"};

struct Shape {
  std::uint64_t rows;
  std::uint64_t length;
};
// Around the sizes of work-groups and tiles.
constexpr std::array<Shape, 8> shapes = {
    {{1, 0}, {1, 1}, {1, 2}, {1, 1023}, {64, 64}, {1, 4097}, {30, 137}, {1, 100003}}};

using Places = std::vector<std::uint64_t>;

// Whether the records are the elements at the places.
bool are_elements(const std::vector<std::byte>& records, const ArrayView& data, const Places& places) {
  const ArrayView found(data.dtype, records.data(), places.size());
  for (std::uint64_t i = 0; i < places.size(); ++i) {
    if (!same_bits(found, i, data, places[i])) return false;
  }
  return true;
}

bool search_is_right(const Device& device, const ArrayView& data) {
  const ArrayView part = part_of(data, 0, data.count / 3);
  std::vector<std::byte> sorted;
  for (const std::uint64_t place : reference_order(part, Order::ascending)) {
    sorted.insert(sorted.end(), element_at(part, place), element_at(part, place + 1));
  }
  const ArrayView table(data.dtype, sorted.data(), part.count);
  for (const Side side : {Side::left, Side::right}) {
    Places found(data.count);
    searchsorted(device, table, data, MutableArrayView(found), {.side = side});
    if (found != reference_search(table, data, side == Side::right)) return false;
  }
  return true;
}

bool gather_is_right(const Device& device, const ArrayView& data) {
  Places places(data.count);
  for (std::uint64_t i = 0; i < data.count; ++i) places[i] = (i * i * 7919 + i * 31) % data.count;
  std::vector<std::byte> found(data.count * size_of(data.dtype));
  gather(device, ConstRecordsView(data), ArrayView(places), {found.data(), size_of(data.dtype), data.count});
  return are_elements(found, data, places);
}

// Reverses the elements and scatters them back.
bool reverse_and_scatter_are_right(const Device& device, const ArrayView& data) {
  Places places(data.count);
  for (std::uint64_t i = 0; i < data.count; ++i) places[i] = data.count - 1 - i;
  std::vector<std::byte> reversed(data.count * size_of(data.dtype));
  const RecordsView records(reversed.data(), size_of(data.dtype), data.count);
  reverse(device, ConstRecordsView(data), records);
  if (!are_elements(reversed, data, places)) return false;
  std::vector<std::byte> scattered(reversed.size());
  scatter(device, records, ArrayView(places), {scattered.data(), size_of(data.dtype), data.count});
  return data.count == 0 || std::memcmp(scattered.data(), data.data, scattered.size()) == 0;
}

bool compact_is_right(const Device& device, const ArrayView& data) {
  std::vector<std::uint8_t> flags(data.count);
  Places places;
  for (std::uint64_t i = 0; i < data.count; ++i) {
    flags[i] = static_cast<std::uint8_t>(i * i % 7 < 3 ? i % 5 : 0);
    if (flags[i] != 0) places.push_back(i);
  }
  std::vector<std::byte> found(data.count * size_of(data.dtype));
  const std::uint64_t count =
      compact(device, ConstRecordsView(data), ArrayView(flags), {found.data(), size_of(data.dtype), data.count});
  return count == places.size() && are_elements(found, data, places);
}

// A command; or, for a primitive without a command, a function that returns false where the result is wrong. {second}
// is another input of the same kind, {other} a file that an option takes.
struct Check {
  const char* name;
  const char* command;
  std::uint64_t least = 0;               // the smallest number of elements that it takes
  bool (*takes)(Dtype dtype) = nullptr;  // null: takes every dtype
  bool (*run)(const Device& device, const ArrayView& data) = nullptr;
};
constexpr std::array<Check, 26> checks = {{
    {"histogram, even bins", "histogram {input} --bins 100 --range -10:90 --rows {rows}"},
    {"histogram, edges", "histogram {input} --edges -3,0,0.5,1,1,7,30,30.25,100 --rows {rows} --right-open"},
    {"histogram, equal ratios", "histogram {input} --bins 30 --range 0.5:100 --log --outside clamp"},
    {"histogram, integers", "histogram {input} --integers 256", 0, [](Dtype dtype) { return !is_float(dtype); }},
    {"histogram, many bins", "histogram {input} --bins 200000 --range -100:100", 0,
     [](Dtype dtype) { return !is_stored_float(arithmetic_dtype(dtype)); }},  // others have edges of their own
    {"histogram, bins by a rule", "histogram {input} --bins doane", 1},
    {"histogram, joint", "histogram {input} {second} --joint --bins 30 --range -10:90"},
    {"histogram, weighted", "histogram {input} --bins 20 --range -10:90 --weights {other}"},
    {"sort", "sort {input} --rows {rows}"},
    {"sort by key", "sort {input} --descending --values {other} --values-output /dev/zero"},  // -o has /dev/null
    {"argsort", "sort {input} --index --rows {rows}"},
    {"topk", "topk {input} -k 100 --rows {rows}", 1},
    {"topk, many", "topk {input} -k 3000 --smallest --nan last", 1},
    {"unique", "unique {input}"},
    {"quantile", "quantile {input} -q 0,0.01,0.5,0.667,1 --rows {rows}", 1},
    {"sum, mean, norm2, variance", "reduce {input} --op sum,mean,norm2,variance --rows {rows}", 1},
    {"reduce", "reduce {input} --op min,max,argmin,argmax,count-nonzero --rows {rows}", 1},
    {"dot", "dot {input} {second}"},
    {"scan", "scan {input} --rows {rows}"},
    {"scan, max", "scan {input} --op max --exclusive --rows {rows}"},
    {"transpose", "transpose {input} --shape {rows},{length}", 1},
    {"convert", "convert {input} --to i16 --saturate"},
    {"search", nullptr, 0, nullptr, search_is_right},
    {"gather", nullptr, 0, nullptr, gather_is_right},
    {"reverse, scatter", nullptr, 0, nullptr, reverse_and_scatter_are_right},
    {"compact", nullptr, 0, nullptr, compact_is_right},
}};

std::string generator(Dtype dtype, std::uint64_t number, std::uint64_t count) {
  const std::string_view distribution = distributions[number % distributions.size()];
  // Limits that every dtype has, wider than most of the bins.
  const std::string_view limits = distribution == "constant" ? "lo=7"
                                  : is_signed(dtype)         ? "lo=-100:hi=100"
                                                             : "lo=0:hi=120";
  return fmt::format("random:{}:{}:dist={}:{}:seed={}", to_string(dtype), count, distribution, limits, number);
}

// Some of the floats become zeros of both signs, infinities and NaNs.
void add_special(std::vector<std::byte>& bytes, Dtype dtype, std::uint64_t number) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr std::array values = {0.0, -0.0, infinity, -infinity, nan, -nan};
  const std::size_t size = size_of(dtype);
  for (std::uint64_t i = number % 2; i < bytes.size() / size; i += 5 + i % 7) {
    const std::uint64_t kind = (i + number) % values.size();
    const std::uint64_t bits = bits_of(values[kind], dtype) + (kind >= 4 ? i % 3 : 0);  // NaNs of three payloads
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
}

// Runs a command as main() does; its output goes to /dev/null.
bool run_command(std::vector<std::string> words) {
  CommandLine line("masu", "", "", "");
  for (const auto add : {add_histogram, add_reduce, add_dot, add_sort, add_topk, add_unique, add_quantile, add_scan,
                         add_transpose, add_convert}) {
    add(line);
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  const CommandLine::Parsed parsed = line.parse(static_cast<int>(arguments.size()), arguments.data());
  if (parsed.what != CommandLine::Parsed::What::run) throw Error(ErrorCode::invalid_argument, parsed.text);
  return line.run(parsed) == Exit::done;
}

struct Tally {
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
};

// Every third case of floats has special values.
void run_case(const Device& device, const Check& check, Dtype dtype, const Shape& shape, std::uint64_t number,
              Tally& tally) {
  const std::uint64_t count = shape.rows * shape.length;
  const bool special = is_float(dtype) && number % 3 == 2;
  std::string what = generator(dtype, number, count);
  std::vector<std::byte> bytes;
  if (special || check.run != nullptr) bytes = io::read_all(*io::open(what));
  if (special) add_special(bytes, dtype, number);
  std::string why;
  try {
    bool right = false;
    if (check.run != nullptr) {
      right = check.run(device, {dtype, bytes.data(), count});
    } else {
      std::optional<MemoryFile> file;
      if (special) file.emplace("selftest").write(text_in(bytes));
      const std::string other = generator(dtype, number + 1, count);
      std::string text = fmt::format(fmt::runtime(check.command), fmt::arg("input", file ? file->path() : what),
                                     fmt::arg("rows", shape.rows), fmt::arg("second", file ? file->path() : other),
                                     fmt::arg("other", other), fmt::arg("length", shape.length));
      text = fmt::format("masu {} --device {} --verify --quiet -o /dev/null", text, device.id());
      if (special) text += fmt::format(" --input-format raw --dtype {}", to_string(dtype));
      what = special ? fmt::format("{} (special values in {})", text, what) : text;
      right = run_command(split(text, ' '));
    }
    if (!right) why = "the result is wrong";
  } catch (const Error& error) {
    if (error.code() == ErrorCode::unsupported && !device.info().fp64) return;
    why = error.what();
  } catch (const Differs& differs) {
    why = differs.what();
  }
  ++(why.empty() ? tally.passed : tally.failed);
  if (!why.empty() && tally.failed <= 3) note(fmt::format("{} {}: {}: {}", device.id(), check.name, what, why));
}

// Checks take turns with some integers and all floats, as each check compiles programs for each dtype.
std::vector<Dtype> dtypes_of(const Check& check) {
  std::vector<Dtype> integers{Dtype::u8, Dtype::i32, Dtype::u64, Dtype::i16};
  std::vector<Dtype> floats;
  std::ranges::copy_if(all_dtypes, std::back_inserter(floats), is_float);
  std::vector<Dtype> result;
  for (std::vector<Dtype>* each : {&integers, &floats}) {
    if (check.takes != nullptr) std::erase_if(*each, [&](Dtype dtype) { return !check.takes(dtype); });
    if (!each->empty()) result.push_back((*each)[static_cast<std::size_t>(&check - checks.data()) % each->size()]);
  }
  return result;
}

Tally run_check(const Device& device, const Check& check) {
  Tally tally;
  std::uint64_t number = 0;
  for (const Dtype dtype : dtypes_of(check)) {
    for (const Shape& shape : shapes) {
      ++number;
      if (shape.rows * shape.length >= check.least) run_case(device, check, dtype, shape, number, tally);
    }
  }
  return tally;
}

Exit run_selftest(CommonOptions& options) {
  apply(options);
  Tally all;
  const bool every = options.device.empty();
  for (const DeviceInfo& info : every ? Device::list() : std::vector{Device::open(options.device).info()}) {
    if (!info.usable) {
      note(fmt::format("{}: left out: {}", info.id, info.why));
      continue;
    }
    const Device device = Device::open(info.id);
    for (const Check& check : checks) {
      const Tally tally = run_check(device, check);
      print_text(fmt::format("{} {}: {} passed, {} failed ({})\n", info.id, check.name, tally.passed, tally.failed,
                             info.name));
      all.passed += tally.passed;
      all.failed += tally.failed;
    }
  }
  print_text(fmt::format("{} passed, {} failed\n", all.passed, all.failed));
  return all.failed == 0 ? Exit::done : Exit::differs;
}

}  // namespace

void add_selftest(CommandLine& line) {
  struct Options : CommonOptions {
    bool quick = false;  // has no effect, as the check is always quick
  };
  auto options = std::make_shared<Options>();
  const Subcommand app = line.add("selftest", "Check every primitive against a plain program on every device",
                                  [options] { return run_selftest(*options); });
  add_device_options(app, *options);
  app.add_flag("--quick", options->quick, "Is accepted; masu_selftest_tests of the sources has the longer check");
  app.footer("Examples:\n  masu selftest\n  masu selftest --device opencl:0");
}

}  // namespace masu::cli
