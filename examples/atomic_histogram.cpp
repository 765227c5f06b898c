// SPDX-License-Identifier: Apache-2.0
// A histogram with atomics in local memory: 64 work-groups of 128 work-items count 256 values each, which are 0 to 3.
// Each group leaves a table of its own; every bin of every table, and their sum, is compared with plain C++.
//
//   atomic_histogram [--device ID] [--values N] [--groups N] [--items N] [--bins N] [--distinct N]
#include <atomic_histogram_cl.h>
#include <masu/masu.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace {

struct Settings {
  std::string device = "opencl";
  std::uint64_t groups = 64;
  std::uint64_t items = 128;
  std::uint64_t values = 64 * 128 * 256;
  std::uint64_t bins = 256;
  std::uint64_t distinct = 4;  // the values are 0 … distinct - 1
};

[[noreturn]] void usage(const std::string& message) {
  std::cerr << "atomic_histogram: " << message << '\n';
  std::exit(2);
}

Settings parse(int argc, char** argv) {
  Settings settings;
  const std::pair<const char*, std::uint64_t*> numbers[] = {{"--values", &settings.values},
                                                            {"--groups", &settings.groups},
                                                            {"--items", &settings.items},
                                                            {"--bins", &settings.bins},
                                                            {"--distinct", &settings.distinct}};
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) usage(name + " takes a value");
    const std::string text = argv[i + 1];
    if (name == "--device") {
      settings.device = text;
      continue;
    }
    const auto* found = std::find_if(std::begin(numbers), std::end(numbers), [&](auto& n) { return n.first == name; });
    if (found == std::end(numbers)) usage("unknown option " + name);
    const bool digits = !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
    if (!digits || (std::stoull(text) == 0 && name != "--values")) usage(name + " takes a number, got " + text);
    *found->second = std::stoull(text);
  }
  return settings;
}

// Numbers below `distinct` in an order without a pattern.
std::vector<std::uint32_t> make_values(std::uint64_t count, std::uint64_t distinct) {
  std::vector<std::uint32_t> values(count);
  std::uint64_t state = 1;
  for (std::uint32_t& value : values) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    value = static_cast<std::uint32_t>((state >> 33U) % distinct);
  }
  return values;
}

int run(const Settings& settings) {
  const masu::Device device = masu::Device::open(settings.device);
  const masu::Program program = masu::Program::from_source(device, atomic_histogram_cl);
  masu::Kernel count = program.kernel("count_in_groups");
  masu::Kernel merge = program.kernel("merge_tables");

  // The device says what it can do: this one may not run 128 items in a group, or lack local memory for the table.
  const std::uint64_t items = std::min<std::uint64_t>(settings.items, count.max_work_group_size());
  if (settings.bins * sizeof(std::uint32_t) > device.info().local_bytes) {
    std::cerr << "atomic_histogram: " << settings.bins << " bins do not fit into the local memory of "
              << device.info().name << '\n';
    return 1;
  }
  const std::vector<std::uint32_t> values = make_values(settings.values, settings.distinct);
  const std::uint64_t block = (settings.values + settings.groups - 1) / settings.groups;
  const auto bins = static_cast<std::uint32_t>(settings.bins);
  const auto groups = static_cast<std::uint32_t>(settings.groups);

  masu::Stream stream(device);
  masu::Buffer<std::uint32_t> input = device.upload(values);
  auto tables = device.allocate<std::uint32_t>(settings.groups * settings.bins);
  auto outside = device.allocate<std::uint32_t>(1);
  auto counts = device.allocate<std::uint64_t>(settings.bins);
  stream.fill(outside, 0U);
  count(stream, masu::NDRange(settings.groups * items, items), input, settings.values, block, bins,
        masu::LocalMemory{settings.bins * sizeof(std::uint32_t)}, tables, outside);
  merge(stream, masu::NDRange(settings.bins), tables, groups, bins, counts);
  stream.finish();
  const std::vector<std::uint32_t> got_tables = tables.read();
  const std::vector<std::uint64_t> got_counts = counts.read();
  const std::uint32_t got_outside = outside.read().front();

  // The same in plain C++.
  std::vector<std::uint32_t> expected_tables(settings.groups * settings.bins);
  std::vector<std::uint64_t> expected_counts(settings.bins);
  std::uint32_t expected_outside = 0;
  for (std::uint64_t i = 0; i < values.size(); ++i) {
    if (values[i] < bins) {
      ++expected_tables[i / block * settings.bins + values[i]];
      ++expected_counts[values[i]];
    } else {
      ++expected_outside;
    }
  }

  for (std::uint64_t bin = 0; bin < settings.bins; ++bin) {
    if (got_counts[bin] > 0) std::cout << "bin " << bin << ": " << got_counts[bin] << '\n';
  }
  if (got_outside > 0) std::cout << "in no bin: " << got_outside << '\n';
  const auto total = std::accumulate(got_counts.begin(), got_counts.end(), std::uint64_t{got_outside});
  std::cout << "total " << total << '\n';
  if (got_tables != expected_tables || got_counts != expected_counts || got_outside != expected_outside) {
    std::cerr << "atomic_histogram: the counts differ from those of plain C++\n";
    return 1;
  }
  std::cout << "all " << settings.groups << " tables of " << settings.bins << " bins agree with plain C++ ("
            << device.info().name << ")\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  try {
    return run(settings);
  } catch (const std::exception& error) {
    std::cerr << "atomic_histogram: " << error.what() << '\n';
    return 1;
  }
}
