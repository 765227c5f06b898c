// SPDX-License-Identifier: Apache-2.0
// What the programs that run under Oclgrind share.
#pragma once

#include <masu/buffer.h>
#include <masu/device.h>

#include <algorithm>
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

}  // namespace masu::oclgrind
