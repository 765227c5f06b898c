// SPDX-License-Identifier: Apache-2.0
// A sum in two levels and two kernels: work-items, then work-groups after a barrier; the second kernel adds the groups.
// Sums of integers do not depend on the order, so the result is the same on every device. (Those of floats do.)
//
//   group_sum [--device ID] [--n N] [--groups N] [--items N]
#include "options.h"

#include <group_sum_cl.h>

#include <numeric>

namespace {

struct Settings {
  std::string device = "opencl";
  std::uint64_t n = 1 << 20;
  std::uint64_t groups = 64;
  std::uint64_t items = 128;
};

int run(const Settings& settings) {
  const masu::Device device = example::open_opencl(settings.device);
  const masu::Program program = masu::Program::from_source(device, group_sum_cl);
  masu::Kernel in_groups = program.kernel("sum_in_groups");
  masu::Kernel of_groups = program.kernel("sum_groups");
  const std::uint64_t items = example::items_for(device, in_groups, settings.items, sizeof(std::uint64_t));
  const std::uint64_t last_items = example::items_for(device, of_groups, settings.items, sizeof(std::uint64_t));
  const std::vector<std::uint32_t> values = example::made_up(settings.n);

  masu::Stream stream(device);
  masu::Buffer<std::uint32_t> input = device.upload(values);
  auto partial = device.allocate<std::uint64_t>(settings.groups);
  auto total = device.allocate<std::uint64_t>(1);
  // The stream runs one after the other: all of the first kernel has been written when the second starts.
  in_groups(stream, masu::NDRange(settings.groups * items, items), input, settings.n,
            masu::LocalMemory{items * sizeof(std::uint64_t)}, partial);
  of_groups(stream, masu::NDRange(last_items, last_items), partial, settings.groups,
            masu::LocalMemory{last_items * sizeof(std::uint64_t)}, total);
  stream.finish();
  const std::vector<std::uint64_t> got_partial = partial.read();
  const std::uint64_t got = total.read().front();

  // The same in plain C++.
  std::vector<std::uint64_t> expected_partial(settings.groups);
  const std::uint64_t stride = settings.groups * items;
  for (std::uint64_t i = 0; i < settings.n; ++i) expected_partial[i % stride / items] += values[i];
  const std::uint64_t expected = std::accumulate(values.begin(), values.end(), std::uint64_t{0});

  std::cout << "sum " << got << '\n';
  if (got > UINT32_MAX) std::cout << "(32 bits would give " << static_cast<std::uint32_t>(got) << ")\n";
  std::cout << settings.n << " values, " << settings.groups << " groups of " << items << " items: ";
  return example::end("group_sum", got == expected && got_partial == expected_partial, "", device);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  return example::main_of(argc, argv, "group_sum", settings, run,
                          {{"--n", &settings.n, 0}, {"--groups", &settings.groups}, {"--items", &settings.items}});
}
