// SPDX-License-Identifier: Apache-2.0
// Tests of a family on every OpenCL device and every type: TEST_P(MyFamily, …) with the members `device` and `type`.
#pragma once

#include "batch.h"
#include "each_device.h"
#include "types.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace masu::vocabulary {

// "(T4)" loads: vload4(I, p), or p[I] of a scalar.
inline std::string load(std::size_t width, std::string_view index, std::string_view pointer) {
  return width == 1 ? fmt::format("({})[{}]", pointer, index) : fmt::format("vload{}({}, {})", width, index, pointer);
}
inline std::string store(std::size_t width, std::string_view value, std::string_view index, std::string_view pointer) {
  return width == 1 ? fmt::format("({})[{}] = {};", pointer, index, value)
                    : fmt::format("vstore{}({}, {}, {});", width, value, index, pointer);
}

// Calls `work` with a value of the C++ type of an OpenCL C type.
template <class Work>
void with_type(std::string_view name, const Work& work) {
  if (name == "char") work(std::int8_t{});
  else if (name == "uchar") work(std::uint8_t{});
  else if (name == "short") work(std::int16_t{});
  else if (name == "ushort") work(std::uint16_t{});
  else if (name == "int") work(std::int32_t{});
  else if (name == "uint") work(std::uint32_t{});
  else if (name == "long") work(std::int64_t{});
  else if (name == "ulong") work(std::uint64_t{});
  else if (name == "float") work(float{});
  else work(double{});
}

template <class T>
constexpr Match match_of = std::is_same_v<T, float>    ? Match::f32
                           : std::is_same_v<T, double> ? Match::f64
                                                       : Match::bits;

// The widths to try a function in: the scalar and one vector, in turns; all where MASU_TEST_LONG is set.
inline std::vector<std::size_t> some_widths(std::size_t turn) {
  if (std::getenv("MASU_TEST_LONG") != nullptr) return {widths_and_scalar.begin(), widths_and_scalar.end()};
  return {1, widths[turn % widths.size()]};
}

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
