// SPDX-License-Identifier: Apache-2.0
// Devices that plans are made for without one of them being there, and what is true of every plan.
#pragma once

#include "all_dtypes.h"
#include "runtime/kernel_source.h"

#include <gtest/gtest.h>
#include <masu/device.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace masu::test {

// A large GPU, a small one without double precision, a processor, and one with a single work-item a group.
inline const std::vector<DeviceInfo>& plan_devices() {
  static const std::vector<DeviceInfo> all = [] {
    std::vector<DeviceInfo> made(4);
    const auto set = [](DeviceInfo& info, DeviceKind kind, bool gpu, std::uint32_t units, std::uint32_t group,
                        std::uint64_t local) {
      info.id = kind == DeviceKind::cuda ? "cuda:0" : "opencl:0";
      info.kind = kind;
      info.gpu = gpu;
      info.compute_units = units;
      info.max_work_group_size = group;
      info.local_bytes = local;
      info.warp_size = gpu ? 32 : 1;
    };
    set(made[0], DeviceKind::cuda, true, 132, 1024, 232448);
    made[0].architecture = "sm_90";
    set(made[1], DeviceKind::opencl, true, 8, 256, 32768);
    made[1].fp64 = false;
    set(made[2], DeviceKind::opencl, false, 2, 4096, 65536);
    set(made[3], DeviceKind::opencl, false, 1, 1, 32768);
    return made;
  }();
  return all;
}

inline constexpr std::array<std::uint64_t, 9> plan_counts = {
    1, 2, 1000, 4096, 4097, 100003, std::uint64_t{1} << 20, (std::uint64_t{1} << 31) + 5, std::uint64_t{1} << 40};

// Each name is given once, and the same plan gives the same defines.
template <class Make>
void expect_defines(const Make& make) {
  const std::vector<runtime::Define> first = make();
  const std::vector<runtime::Define> again = make();
  ASSERT_EQ(first.size(), again.size());
  std::set<std::string> names;
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(names.emplace(first[i].name()).second) << first[i].name() << " twice";
    EXPECT_TRUE(first[i].name().starts_with("MASU_")) << first[i].name();
    EXPECT_EQ(first[i].name(), again[i].name());
    EXPECT_EQ(first[i].value(), again[i].value());
  }
}

// A power of two that the device can have.
inline void expect_group(unsigned group, const DeviceInfo& device, unsigned least = 1) {
  EXPECT_EQ(group & (group - 1), 0U) << group;
  EXPECT_GE(group, 1U);
  EXPECT_LE(group, std::max(least, device.max_work_group_size));
}

}  // namespace masu::test
