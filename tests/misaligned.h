// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <masu/buffer.h>
#include <masu/device.h>

#include <cstddef>
#include <vector>

namespace masu::test {

// `data` in the middle of a longer buffer, behind `before` elements. A read of what stands around it would show.
template <class T>
Buffer<T> misaligned(const Device& device, const std::vector<T>& data, std::size_t before = 1) {
  std::vector<T> all(before, data.empty() ? T{} : data.front());
  all.insert(all.end(), data.begin(), data.end());
  all.insert(all.end(), 5, data.empty() ? T{} : data.back());
  return device.upload(all).slice(before, data.size());
}

}  // namespace masu::test
