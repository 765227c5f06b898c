// SPDX-License-Identifier: Apache-2.0
// The kernel that launches are measured with, and its launch through the vendor's own interface.
#pragma once

#include "counting_device.h"

#include <masu/masu.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace masu::bench {

// Three buffers, two scalars and local memory: c = factor * (a + b), mirrored within each work-group.
struct LaunchCase {
  static constexpr std::size_t count = 256;
  static constexpr std::size_t group = 64;
  static constexpr std::size_t local_bytes = group * sizeof(float);
  static constexpr float factor = 0.5F;

  explicit LaunchCase(const Device& on);
  [[nodiscard]] std::string_view text() const;

  Device device;
  Buffer<float> a;  // 0, 1, 2, …
  Buffer<float> b;  // 0, 2, 4, …
  Buffer<float> c;
};

// Sets all arguments and launches, as a program would for data that changes.
class Vendor {
 public:
  // What a launch leaves: nothing; a point that may be waited for, for which it starts; one that tells the time, too.
  enum class Leaves { nothing, point, time };
  virtual ~Vendor() = default;
  virtual void launch(Leaves leaves) = 0;
  virtual void finish(Leaves leaves) = 0;
  // Gives the commands of a call of masu's, launches with all their arguments. False where that is not known.
  virtual bool repeat(std::span<const test::NotedCommand> commands) = 0;
};

std::unique_ptr<Vendor> make_vendor(const LaunchCase& what);

}  // namespace masu::bench
