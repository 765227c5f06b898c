// SPDX-License-Identifier: Apache-2.0
// The kernels of exact sums, on little data, for Oclgrind: `sum values|products|special|integers|results|columns`.
#include "expect.h"

#include "sum/sum_test_data.h"

#include <masu/masu.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

using namespace masu;

// Against the CPU, which other tests hold against an oracle. From an odd element on.
template <class T>
bool right(const Device& device, const std::vector<T>& x, const SumOptions& options = {}) {
  const Device cpu = Device::open("cpu");
  const Buffer<T> all = device.upload(x);
  const Buffer<T> there = all.slice(1, x.size() - 1);
  const ArrayView here(dtype_of<T>, x.data() + 1, x.size() - 1);
  return sum(there, dtype_of<T>, options) == sum(cpu, here, options);
}
template <class T>
bool right_dot(const Device& device, const std::vector<T>& x) {
  const Device cpu = Device::open("cpu");
  const Buffer<T> all = device.upload(x);
  const std::uint64_t n = x.size() - 2;
  return dot(all.slice(1, n), all.slice(2, n), dtype_of<T>) ==
             dot(cpu, {dtype_of<T>, x.data() + 1, n}, {dtype_of<T>, x.data() + 2, n}) &&
         norm2(all, dtype_of<T>) == norm2(cpu, ArrayView(x));
}

bool values(const Device& device) {
  return right(device, test::sum_data<float>("wide", 901), {.rows = 3}) &&
         right(device, test::sum_data<Half>("normal", 700)) && right(device, test::sum_data<double>("cancelling", 700));
}

bool products(const Device& device) {
  return right_dot(device, test::sum_data<float>("wide", 500)) &&
         right_dot(device, test::sum_data<Half>("wide", 300)) && right_dot(device, test::sum_data<double>("wide", 300));
}

bool special(const Device& device) {
  std::vector<float> x = test::sum_data<float>("normal", 500);
  x[77] = -std::numeric_limits<float>::infinity();
  const Buffer<float> there = device.upload(x);
  return std::isinf(sum(there)) && std::isinf(dot(there, there));
}

bool integers(const Device& device) {
  return right(device, test::sum_data<std::uint8_t>("wide", 700)) &&
         right(device, test::sum_data<std::int64_t>("wide", 301), {.rows = 3}) &&
         right_dot(device, test::sum_data<std::int16_t>("wide", 300)) &&
         right_dot(device, test::sum_data<std::int64_t>("wide", 300));
}

// Results that stay on the device.
template <class T>
bool right_results(const Device& device, const std::vector<T>& x) {
  const Device cpu = Device::open("cpu");
  const Buffer<T> there = device.upload(x);
  const Buffer<double> results(device, 4);
  Stream stream(device);
  const auto one = [&](std::uint64_t at) { return results.slice(at, 1); };
  mean(stream, there, dtype_of<T>, one(0), {}).get();
  dot(stream, there, there, dtype_of<T>, results.slice(1, 1), {}).get();
  norm2(stream, there, dtype_of<T>, one(2), {}).get();
  variance(stream, there, dtype_of<T>, one(3), {.ddof = 1}).get();
  const ArrayView here(x);
  const std::vector<double> found = results.read();
  if constexpr (test::is_real<T>) {
    if (found[1] != dot(cpu, here, here).value()) return false;
  }
  return found[0] == mean(cpu, here).value() && found[2] == norm2(cpu, here).value() &&
         found[3] == variance(cpu, here, {.ddof = 1}).value();
}

bool results(const Device& device) {
  std::vector<float> special = test::sum_data<float>("normal", 500);
  special[77] = -std::numeric_limits<float>::infinity();
  return std::isnan(variance(device.upload(special))) && right_results(device, test::sum_data<float>("wide", 300)) &&
         right_results(device, test::sum_data<std::int16_t>("wide", 300));
}

// Of a matrix, as it lies and transposed; most are added in registers.
bool columns(const Device& device) {
  constexpr std::uint64_t lines = 40;
  constexpr std::uint64_t width = 7;
  const std::vector<float> x = test::sum_data<float>("cancelling", lines * width);
  std::vector<float> turned(x.size());
  for (std::uint64_t i = 0; i < x.size(); ++i) turned[i % width * lines + i / width] = x[i];
  const SumResult expected = sum(Device::open("cpu"), ArrayView(turned), {.rows = width, .result = Dtype::f32});
  const auto right_bits = [&](const std::vector<float>& data, std::uint64_t columns) {
    const Buffer<float> there = device.upload(data);
    const Buffer<float> results(device, width);
    Stream stream(device);
    sum(stream, there, Dtype::f32, results, {.rows = width, .columns = columns, .result = Dtype::f32}).get();
    const std::vector<float> found = results.read();
    for (std::uint64_t i = 0; i < width; ++i) {
      if (static_cast<double>(found[i]) != expected.value(i)) return false;
    }
    return true;
  };
  return right_bits(turned, 1) && right_bits(x, width);
}

}  // namespace

int main(int count, char** arguments) {
  constexpr masu::oclgrind::Case cases[] = {{"values", values},     {"products", products}, {"special", special},
                                            {"integers", integers}, {"results", results},   {"columns", columns}};
  return masu::oclgrind::run_one(count, arguments, cases);
}
