// SPDX-License-Identifier: Apache-2.0
// Tests that run on every device of this machine: `class MyTest : public masu::test::EachDevice {};`, TEST_P(MyTest, …)
// with the member `device`, and `MASU_ON_EACH_DEVICE(MyTest);`. MASU_TEST_DEVICES restricts them to a comma list of
// ids; there `opencl:0:large` and `opencl:0:small` are that device posing as a GPU, so that the plans for GPUs, and
// their kernels, run on a processor.
#pragma once

#include "counting_device.h"

#include <gtest/gtest.h>
#include <masu/device.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace masu::test {

// The ids of the usable devices, "cpu" first. With MASU_TEST_DEVICES, what it names: a device that is absent then
// fails.
inline std::vector<std::string> device_ids() {
  std::vector<std::string> ids;
  if (const char* only = std::getenv("MASU_TEST_DEVICES")) {
    std::stringstream list(only);
    for (std::string id; std::getline(list, id, ',');) ids.push_back(id);
    return ids;
  }
  for (const DeviceInfo& info : Device::list()) {
    if (info.usable) ids.push_back(info.id);
  }
  return ids;
}

// Those that run kernels: all but the CPU.
inline std::vector<std::string> kernel_device_ids() {
  std::vector<std::string> ids = device_ids();
  std::erase(ids, "cpu");
  return ids;
}

// A device that says it is a GPU with so much local memory and such work-groups, or as much as it has.
inline Device posing(const Device& real, bool large) {
  DeviceInfo info = real.info();
  info.gpu = true;
  info.warp_size = 32;
  info.compute_units = large ? 132 : 8;
  info.max_work_group_size = std::min(info.max_work_group_size, large ? 1024U : 256U);
  info.local_bytes = std::min<std::uint64_t>(info.local_bytes, large ? 232448 : 49152);
  info.local_bytes_total = info.local_bytes;
  return Device(std::make_shared<CountingDevice>(real.implementation(), std::move(info)));
}

inline Device open_device(const std::string& id) {
  const std::size_t pose = std::min(id.rfind(":large"), id.rfind(":small"));
  return pose == std::string::npos ? Device::open(id)
                                   : posing(Device::open(id.substr(0, pose)), id.substr(pose) == ":large");
}

// The device of an id, opened once: making a context takes long on some devices. Never destroyed, as drivers may be
// gone when static objects are.
inline Device open_once(const std::string& id) {
  static auto& mutex = *new std::mutex;
  static auto& devices = *new std::map<std::string, Device>;
  const std::lock_guard lock(mutex);
  const auto found = devices.find(id);
  return found != devices.end() ? found->second : devices.emplace(id, open_device(id)).first->second;
}

class EachDevice : public ::testing::TestWithParam<std::string> {
 protected:
  const Device device = open_once(GetParam());
};

inline std::string device_test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, ':', '_');
  return name;
}

}  // namespace masu::test

#define MASU_ON_EACH_DEVICE(suite)                      \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite); \
  INSTANTIATE_TEST_SUITE_P(On, suite, ::testing::ValuesIn(::masu::test::device_ids()), ::masu::test::device_test_name)

// For tests of what only devices with kernels can do.
#define MASU_ON_EACH_KERNEL_DEVICE(suite)                                                     \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite);                                       \
  INSTANTIATE_TEST_SUITE_P(On, suite, ::testing::ValuesIn(::masu::test::kernel_device_ids()), \
                           ::masu::test::device_test_name)
