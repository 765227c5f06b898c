// SPDX-License-Identifier: Apache-2.0
// Work-groups that tell each other something, without waiting: the last group to arrive adds the sums of all groups,
// and messages pass with a flag. The kernels say what makes that right; here it is tried many times.
//
//   memory_fence [--device ID] [--n N] [--groups N] [--items N] [--pairs N] [--rounds N]
#include "options.h"

#include <memory_fence_cl.h>
#include <memory_fence_cu.h>

#include <numeric>

namespace {

struct Settings {
  std::string device = "opencl";
  std::uint64_t n = 100000;
  std::uint64_t groups = 64;
  std::uint64_t items = 128;
  std::uint64_t pairs = 5000;
  std::uint64_t rounds = 100;
};

// Returns how many of the rounds gave the right sum.
std::uint64_t sum(const masu::Device& device, const masu::Program& program, const Settings& settings) {
  masu::Kernel kernel = program.kernel("sum_by_last_group");
  const std::uint64_t items = example::items_for(device, kernel, settings.items, 2 * sizeof(std::uint64_t));
  const std::vector<std::uint32_t> values = example::made_up(settings.n);
  const std::uint64_t expected = std::accumulate(values.begin(), values.end(), std::uint64_t{0});

  masu::Stream stream(device);
  const masu::Buffer<std::uint32_t> input = device.upload(values);
  auto partial = device.allocate<std::uint64_t>(settings.groups);
  auto arrived = device.allocate<std::uint32_t>(1);
  auto total = device.allocate<std::uint64_t>(1);
  std::uint64_t right = 0;
  std::uint64_t got = 0;
  for (std::uint64_t round = 0; round < settings.rounds; ++round) {
    stream.fill(partial, std::uint64_t{0});  // so that sums of the round before would show
    stream.fill(total, ~std::uint64_t{0});
    stream.fill(arrived, 0U);
    kernel(stream, masu::NDRange(settings.groups * items, items), input, settings.n,
           masu::LocalMemory{items * sizeof(std::uint64_t)}, partial, arrived, total);
    stream.finish();
    got = total.read().front();
    if (got == expected) ++right;
  }
  std::cout << "sum " << got << ", by the last of " << settings.groups << " groups of " << items << " items: right "
            << right << " times of " << settings.rounds << '\n';
  return right;
}

// The same as in the kernel.
std::uint32_t message(std::uint64_t i, std::uint32_t word) {
  return (static_cast<std::uint32_t>(i * 4 + word) * 2654435761U) | 1U;
}

enum class Arrived { no, whole, torn };

// What work-item i has of the message of `other`.
Arrived arrived(const std::vector<std::uint32_t>& received, std::uint64_t i, std::uint64_t other) {
  bool none = true;
  bool whole = true;
  for (std::uint32_t word = 0; word < 4; ++word) {
    none = none && received[4 * i + word] == 0;
    whole = whole && received[4 * i + word] == message(other, word);
  }
  return none ? Arrived::no : whole ? Arrived::whole : Arrived::torn;
}

// Returns how many of the rounds passed one whole message in every pair.
std::uint64_t pass(const masu::Device& device, const masu::Program& program, const Settings& settings) {
  masu::Kernel kernel = program.kernel("pass_messages");
  const std::uint64_t items = example::items_for(device, kernel, settings.items);
  const std::uint64_t pairs = settings.pairs;
  masu::Stream stream(device);
  auto boxes = device.allocate<std::uint32_t>(8 * pairs);
  auto flags = device.allocate<std::uint32_t>(pairs);
  auto received = device.allocate<std::uint32_t>(8 * pairs);
  std::uint64_t right = 0;
  for (std::uint64_t round = 0; round < settings.rounds; ++round) {
    stream.fill(boxes, 0U);
    stream.fill(flags, 0U);
    stream.fill(received, 0U);
    kernel(stream, masu::NDRange(example::pieces(2 * pairs, items) * items, items), pairs, boxes, flags, received);
    stream.finish();
    const std::vector<std::uint32_t> got = received.read();
    bool all = true;
    for (std::uint64_t i = 0; all && i < pairs; ++i) {
      const Arrived below = arrived(got, i, i + pairs);
      const Arrived above = arrived(got, i + pairs, i);
      all = below != above && below != Arrived::torn && above != Arrived::torn;
    }
    if (all) ++right;
  }
  std::cout << pairs << " pairs of work-items, one message in each arrived, and whole: right " << right << " times of "
            << settings.rounds << '\n';
  return right;
}

int run(const Settings& settings) {
  const masu::Device device = masu::Device::open(settings.device);
  const bool cuda = device.kind() == masu::DeviceKind::cuda;
  const masu::Program program = masu::Program::from_source(device, cuda ? memory_fence_cu : memory_fence_cl);
  const std::uint64_t right = sum(device, program, settings) + pass(device, program, settings);
  return example::end("memory_fence", right == 2 * settings.rounds, "", device);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  return example::main_of(argc, argv, "memory_fence", settings, run,
                          {{"--n", &settings.n, 0},
                           {"--groups", &settings.groups},
                           {"--items", &settings.items},
                           {"--pairs", &settings.pairs},
                           {"--rounds", &settings.rounds}});
}
