// SPDX-License-Identifier: Apache-2.0
// Tests of a family on every OpenCL device and every type: TEST_P(MyFamily, …) with the members `device` and `type`.
#pragma once

#include "batch.h"
#include "each_device.h"
#include "types.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

namespace masu::vocabulary {

inline std::vector<std::string> opencl_device_ids() {
  std::vector<std::string> ids = test::kernel_device_ids();
  std::erase_if(ids, [](const std::string& id) { return !id.starts_with("opencl"); });
  return ids;
}

class EachOpenCl : public ::testing::TestWithParam<std::string> {
 protected:
  const Device device = test::open_once(GetParam());
};

class EachType : public ::testing::TestWithParam<std::tuple<std::string, Type>> {
 protected:
  // Runs the batch, unless its type is one that the device lacks.
  void run_or_skip(const Batch& batch) const {
    if (std::string_view(type.name) == "double" && !device.info().fp64) skip_lacking(device, batch, "no fp64");
    else run(device, batch);
  }
  const Device device = test::open_once(std::get<0>(GetParam()));
  const Type type = std::get<1>(GetParam());
};

inline std::string device_and_type_name(const ::testing::TestParamInfo<std::tuple<std::string, Type>>& info) {
  std::string name = std::get<0>(info.param) + '_' + std::get<1>(info.param).name;
  std::ranges::replace(name, ':', '_');
  return name;
}

}  // namespace masu::vocabulary

#define MASU_ON_EACH_OPENCL(suite)                                                                  \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite);                                             \
  INSTANTIATE_TEST_SUITE_P(On, suite, ::testing::ValuesIn(::masu::vocabulary::opencl_device_ids()), \
                           ::masu::test::device_test_name)

#define MASU_ON_EACH_TYPE(suite, types)                                                                             \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite);                                                             \
  INSTANTIATE_TEST_SUITE_P(                                                                                         \
      On, suite,                                                                                                    \
      ::testing::Combine(::testing::ValuesIn(::masu::vocabulary::opencl_device_ids()), ::testing::ValuesIn(types)), \
      ::masu::vocabulary::device_and_type_name)
