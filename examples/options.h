// SPDX-License-Identifier: Apache-2.0
// What the examples share: options that are a device and some numbers, made-up data, and how a run ends.
#pragma once

#include <masu/masu.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace example {

// An option `--NAME N`, N from `least` to 999,999,999.
struct Number {
  std::string_view name;
  std::uint64_t* value;
  std::uint64_t least = 1;
};

// Reads `--device ID` and the numbers; anything else is one line and exit status 2.
inline void parse(int argc, char** argv, std::string_view program, std::string& device,
                  std::initializer_list<Number> numbers) {
  const auto usage = [&](const std::string& message) {
    std::cerr << program << ": " << message << '\n';
    std::exit(2);
  };
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    const auto* found = std::find_if(numbers.begin(), numbers.end(), [&](const Number& n) { return n.name == name; });
    if (found == numbers.end() && name != "--device") usage("unknown option " + name);
    if (i + 1 == argc) usage(name + " takes a value");
    const std::string text = argv[i + 1];
    if (name == "--device") {
      device = text;
      continue;
    }
    const bool digits = !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
    if (!digits || std::stoull(text) < found->least) {
      usage(name + " takes a number from " + std::to_string(found->least) + " to 999999999, got " + text);
    }
    *found->value = std::stoull(text);
  }
}

// The device of that name, which must take kernels in OpenCL C.
inline masu::Device open_opencl(const std::string& id) {
  masu::Device device = masu::Device::open(id);
  if (device.kind() != masu::DeviceKind::opencl) {
    throw std::runtime_error("the kernel is OpenCL C and needs an OpenCL device, got " + device.id());
  }
  return device;
}

// Calls `run`, which gives the exit status; an exception is one line and status 1.
template <class F>
int main_of(std::string_view program, F run) {
  try {
    return run();
  } catch (const std::exception& error) {
    std::cerr << program << ": " << error.what() << '\n';
    return 1;
  }
}

// The same after the options were read into `settings`: the device's and `numbers`.
template <class Settings>
int main_of(int argc, char** argv, std::string_view program, Settings& settings, int (*run)(const Settings&),
            std::initializer_list<Number> numbers) {
  parse(argc, argv, program, settings.device, numbers);
  return main_of(program, [&] { return run(settings); });
}

// The last line of a run, which says `what` it did and whether all of it is what plain C++ gives. Returns the exit
// status.
inline int end(std::string_view program, bool right, const std::string& what, const masu::Device& device) {
  if (right) std::cout << what << "agrees with plain C++ (" << device.info().name << ")\n";
  else std::cerr << program << ": the results differ from those of plain C++\n";
  return right ? 0 : 1;
}

// Numbers in an order without a pattern, the same on every machine: the upper bits of a linear congruence.
inline std::vector<std::uint32_t> made_up(std::uint64_t count) {
  std::vector<std::uint32_t> values(count);
  std::uint64_t state = 1;
  for (std::uint32_t& value : values) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    value = static_cast<std::uint32_t>(state >> 32U);
  }
  return values;
}

// `count` divided by `size`, rounded up.
constexpr std::uint64_t pieces(std::uint64_t count, std::uint64_t size) {
  return (count + size - 1) / size;
}

// The greatest work-group size up to `wanted` that the kernel runs with, when an item needs `local` bytes of local
// memory: the device says what it can do.
inline std::uint64_t items_for(const masu::Device& device, const masu::Kernel& kernel, std::uint64_t wanted,
                               std::uint64_t local = 0) {
  std::uint64_t items = std::min<std::uint64_t>(wanted, kernel.max_work_group_size());
  if (local > 0) items = std::min(items, device.info().local_bytes / local);
  return std::max<std::uint64_t>(items, 1);
}

}  // namespace example
