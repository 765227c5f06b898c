// SPDX-License-Identifier: Apache-2.0
// A histogram in CUDA C++: 100 MiB of random bytes, 256 threads a block, two blocks for each multiprocessor, a table in
// shared memory for each block, merged with atomics. Prints every bin, the time with and without copies, the sum, and
// compares every bin with plain C++.
//
//   shared_memory_histogram [--device ID]
#include "options.h"

#include <shared_memory_histogram_cu.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t size = std::size_t{100} << 20;
constexpr std::size_t bins = 256;
constexpr std::size_t threads = 256;  // of a block; the kernel takes any number
constexpr std::size_t blocks_per_multiprocessor = 2;

using Counts = std::array<std::uint64_t, bins>;

// The bytes are a function of their place alone: eight at a time from a mixed counter (SplitMix64, Steele and others,
// OOPSLA 2014), so they are the same on every machine.
std::vector<std::uint8_t> random_bytes(std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  for (std::size_t word = 0; word * 8 < count; ++word) {
    std::uint64_t x = (word + 1) * 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    x ^= x >> 31;
    for (std::size_t byte = 0; byte < 8 && word * 8 + byte < count; ++byte) {
      bytes[word * 8 + byte] = static_cast<std::uint8_t>(x >> (8 * byte));
    }
  }
  return bytes;
}

Counts count_on_cpu(std::span<const std::uint8_t> bytes) {
  Counts counts{};
  for (const std::uint8_t byte : bytes) ++counts[byte];
  return counts;
}

struct Times {
  double kernel = 0;
  double with_copies = 0;
};

// One pass: to the device, clear, count, back. Times are the device's own.
Times count_on_device(const masu::Device& device, std::span<const std::uint8_t> bytes, Counts& counts) {
  const masu::Program program = masu::Program::from_source(device, shared_memory_histogram_cu);
  masu::Kernel kernel = program.kernel("shared_memory_histogram");
  auto data = device.allocate<std::uint8_t>(bytes.size());
  auto result = device.allocate<std::uint64_t>(bins);
  masu::Stream stream(device);

  const masu::Event start = stream.record();
  stream.write(data, bytes);
  stream.fill(result, std::uint64_t{0});
  const masu::NDRange range(threads * blocks_per_multiprocessor * device.info().compute_units, threads);
  const masu::Event counted = kernel(stream, range, data, std::uint64_t{bytes.size()}, result);
  const masu::Event end = stream.read(result, std::span(counts));
  stream.finish();
  return {counted.seconds(), end.seconds_since(start)};
}

int run(const std::string& id) {
  const masu::Device device = masu::Device::open(id);
  if (device.kind() != masu::DeviceKind::cuda) {
    throw std::runtime_error("the device must be a CUDA device, got " + device.id());
  }
  const std::vector<std::uint8_t> bytes = random_bytes(size);
  Counts counts{};
  count_on_device(device, bytes, counts);  // the first launch also loads the kernel onto the device
  const Times times = count_on_device(device, bytes, counts);

  std::uint64_t sum = 0;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    std::cout << std::setw(3) << bin << ": " << counts[bin] << '\n';
    sum += counts[bin];
  }
  std::cout << std::fixed << std::setprecision(3) << "device: " << device.info().name << '\n'
            << "time with copies: " << times.with_copies * 1e3 << " ms\n"
            << "time without copies: " << times.kernel * 1e3 << " ms\n"
            << "sum: " << sum << '\n';

  const bool equal = counts == count_on_cpu(bytes);
  std::cout << "check against the CPU: " << (equal ? "equal" : "DIFFERENT") << '\n';
  return equal && sum == size ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::string device = "cuda";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help") {
      std::cout << "shared_memory_histogram [--device ID]\n"
                   "Counts 100 MiB of random bytes with a CUDA kernel and checks the result. ID is cuda (the default), "
                   "cuda:N or\na part of a name as in cuda:NVIDIA.\n";
      return 0;
    }
    if (argument != "--device" || ++i == argc) {
      std::cerr << "shared_memory_histogram: the only options are --device ID and --help, got " << argument << '\n';
      return 2;
    }
    device = argv[i];
  }
  return example::main_of("shared_memory_histogram", [&] { return run(device); });
}
