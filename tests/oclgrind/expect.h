// SPDX-License-Identifier: Apache-2.0
// What the programs that run under Oclgrind share.
#pragma once

#include <masu/buffer.h>
#include <masu/device.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace masu::oclgrind {

inline void expect(bool right, const std::string& what) {
  if (!right) throw std::runtime_error("wrong: " + what);
}

// Elements with one in front and one behind, so that they start and end at odd places.
template <class T>
Buffer<T> padded(const Device& device, const std::vector<T>& data) {
  std::vector<T> all(data.size() + 2, data.front());
  std::copy(data.begin(), data.end(), all.begin() + 1);
  return device.upload(all).slice(1, data.size());
}

// What the plan gives to GPUs alone, as several loads in flight, is given to this device too.
inline DeviceInfo as_gpu(const Device& device) {
  DeviceInfo info = device.info();
  info.gpu = true;
  return info;
}

// What main() of such a program does: work(device, the case that the argument names).
template <class Work>
int run(int count, char** arguments, const Work& work) try {
  const Device device = Device::open("opencl");
  std::printf("device: %s\n", device.info().name.c_str());
  work(device, std::string(count == 2 ? arguments[1] : ""));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

// Cases that say whether the results were right.
struct Case {
  const char* name;
  bool (*run)(const Device&);
};
inline int run_one(int count, char** arguments, std::span<const Case> cases) {
  return run(count, arguments, [&](const Device& device, const std::string& name) {
    const auto one = std::find_if(cases.begin(), cases.end(), [&](const Case& each) { return each.name == name; });
    if (one == cases.end()) throw std::runtime_error("no case is named '" + name + "'");
    expect(one->run(device), name);
  });
}

}  // namespace masu::oclgrind
