// SPDX-License-Identifier: Apache-2.0
// A histogram with atomics in local memory: 64 work-groups of 128 work-items count 256 values each, which are 0 to 3.
// Each group leaves a table of its own; every bin of every table, and their sum, is compared with plain C++. So are
// the counts of a single work-item that goes through all values in one loop.
//
//   atomic_histogram [--device ID] [--values N] [--groups N] [--items N] [--bins N] [--distinct N]
#include "options.h"

#include <atomic_histogram_cl.h>

#include <numeric>

namespace {

struct Settings {
  std::string device = "opencl";
  std::uint64_t groups = 64;
  std::uint64_t items = 128;
  std::uint64_t values = 64 * 128 * 256;
  std::uint64_t bins = 256;
  std::uint64_t distinct = 4;  // the values are 0 … distinct - 1
};

// Numbers below `distinct` in an order without a pattern.
std::vector<std::uint32_t> make_values(std::uint64_t count, std::uint64_t distinct) {
  std::vector<std::uint32_t> values = example::made_up(count);
  for (std::uint32_t& value : values) value = static_cast<std::uint32_t>(value % distinct);
  return values;
}

int run(const Settings& settings) {
  const masu::Device device = example::open_opencl(settings.device);
  const masu::Program program = masu::Program::from_source(device, atomic_histogram_cl);
  masu::Kernel count = program.kernel("count_in_groups");
  masu::Kernel merge = program.kernel("merge_tables");
  masu::Kernel loop = program.kernel("count_in_one_loop");

  // The device says what it can do: this one may not run 128 items in a group, or lack local memory for the table.
  const std::uint64_t items = example::items_for(device, count, settings.items);
  if (settings.bins * sizeof(std::uint32_t) > device.info().local_bytes) {
    throw std::runtime_error(std::to_string(settings.bins) + " bins do not fit into the local memory of " +
                             device.info().name);
  }
  const std::vector<std::uint32_t> values = make_values(settings.values, settings.distinct);
  const std::uint64_t block = example::pieces(settings.values, settings.groups);
  const auto bins = static_cast<std::uint32_t>(settings.bins);
  const auto groups = static_cast<std::uint32_t>(settings.groups);

  masu::Stream stream(device);
  masu::Buffer<std::uint32_t> input = device.upload(values);
  auto tables = device.allocate<std::uint32_t>(settings.groups * settings.bins);
  auto outside = device.allocate<std::uint32_t>(1);
  auto counts = device.allocate<std::uint64_t>(settings.bins);
  auto loop_counts = device.allocate<std::uint64_t>(settings.bins);
  stream.fill(outside, 0U);
  stream.fill(loop_counts, std::uint64_t{0});
  count(stream, masu::NDRange(settings.groups * items, items), input, settings.values, block, bins,
        masu::LocalMemory{settings.bins * sizeof(std::uint32_t)}, tables, outside);
  merge(stream, masu::NDRange(settings.bins), tables, groups, bins, counts);
  loop(stream, masu::NDRange(1), input, settings.values, bins, loop_counts);
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
  std::cout << "all " << settings.groups << " tables of " << settings.bins << " bins: ";
  return example::end("atomic_histogram",
                      got_tables == expected_tables && got_counts == expected_counts &&
                          loop_counts.read() == expected_counts && got_outside == expected_outside,
                      "", device);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  return example::main_of(argc, argv, "atomic_histogram", settings, run,
                          {{"--values", &settings.values, 0},
                           {"--groups", &settings.groups},
                           {"--items", &settings.items},
                           {"--bins", &settings.bins},
                           {"--distinct", &settings.distinct}});
}
