// SPDX-License-Identifier: Apache-2.0
// The kernels of weighted histograms on the device opencl:0, small, against the CPU: what check.sh runs under Oclgrind.
// Everything is launched from this one thread.
//
//   oclgrind_weighted KERNEL     wide, narrow, global, rows, joint, round
#include "expect.h"

#include "histogram/device/slot_kernels.h"
#include "histogram/weighted_histogram_test_data.h"

#include <masu/weighted_histogram.h>

#include <bit>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace masu {
namespace {

using oclgrind::expect;
using test::Hard;
using weighted_plan::Layout;
using weighted_plan::Trial;

// Sums on the device as `trial` says, where one entry before and behind what is summed must not be read, and compares
// with the CPU.
template <class T, class W>
void sum(const Device& device, const std::vector<std::vector<T>>& columns, const std::vector<W>& weights,
         const std::vector<Bins>& bins, bool squared, const Trial& trial, std::uint64_t rows = 1) {
  const WeightFormat format(dtype_of<W>, squared);
  std::vector<std::shared_ptr<const BinRule>> rules;
  for (const Bins& each : bins) {
    rules.push_back(std::make_shared<const BinRule>(each, dtype_of<T>, false, bins.size() > 1));
  }
  const std::uint64_t count = weights.size();
  const WeightedKernels* kernels = nullptr;
  DeviceCounter counter(
      device,
      [&](const TableUpload& upload) {
        auto made =
            std::make_unique<WeightedKernels>(device, WeightedKernels::columns_of(device, rules), std::span(&format, 1),
                                              WeightedOptions{.rows = rows}, count / rows, upload, trial);
        kernels = made.get();
        return made;
      },
      0);
  const auto padded = [&]<class E>(std::vector<E> all) {
    all.insert(all.begin(), E{});
    all.push_back(E{});
    return device.upload(all);
  };
  std::vector<Buffer<T>> memory;
  for (const std::vector<T>& column : columns) memory.push_back(padded(column));
  const Buffer<W> by = padded(weights);
  std::vector<Buffer<T>> parts;
  for (const Buffer<T>& buffer : memory) parts.push_back(buffer.slice(1, count));
  std::vector<const BufferBase*> views;
  for (const Buffer<T>& part : parts) views.push_back(&part);
  const Buffer<W> of_weights = by.slice(1, count);
  views.push_back(&of_weights);
  counter.add(views, count, nullptr);

  std::uint64_t slots = bins.size() == 1 ? rules.front()->n + extra_slots : 2;
  for (std::uint64_t cells = 1, d = 0; bins.size() > 1 && d < bins.size(); ++d) {
    cells *= rules[d]->n;
    if (d + 1 == bins.size()) slots += cells;
  }
  WeightSums found(format, slots * rows);
  kernels->collect(counter.totals(), std::span(&found, 1));

  WeightedHistogramAccumulator here(Device::open("cpu"), dtype_of<T>, dtype_of<W>, bins,
                                    {.variances = squared, .rows = rows}, count / rows);
  std::vector<ArrayView> arrays;
  for (const std::vector<T>& column : columns) arrays.emplace_back(column);
  here.add(arrays, ArrayView(weights));
  const WeightedHistogram wanted = here.result();
  for (std::uint64_t row = 0; row < rows; ++row) {
    const auto totals = squared ? wanted.variances(row) : wanted.totals(row);
    const auto extra = squared ? wanted.extra_variances(row) : wanted.extra_totals(row);
    for (std::uint64_t slot = 0; slot < slots; ++slot) {
      const double expected = slot < totals.size() ? totals[slot] : extra[slot - totals.size()];
      expect(std::bit_cast<std::uint64_t>(found.total(row * slots + slot)) == std::bit_cast<std::uint64_t>(expected),
             std::string(to_string(dtype_of<W>)) + " weights, slot " + std::to_string(slot) + " of row " +
                 std::to_string(row));
    }
  }
}

std::vector<float> values(std::size_t size, std::uint64_t seed = 1) {
  return test::plain_data<float>(5, 0, 1, size, seed);
}

template <class W>
void each_layout(const Device& device, const Trial& trial, Hard hard) {
  for (const std::size_t size : {1, 31, 300}) {
    sum<float, W>(device, {values(size)}, test::hard_weights<W>(hard, size, size), {Bins::even(5, 0, 1)}, false, trial);
  }
}

// All digits in local memory, in one and in several copies; a small part of the weights is squared.
void wide(const Device& device) {
  const auto of = [](Dtype weights, bool squared, unsigned copies_log) {
    return Trial{.tables = {Layout{WeightFormat(weights, squared).digits(), copies_log}, {}}};
  };
  each_layout<float>(device, of(Dtype::f32, false, 2), Hard::mixed);
  each_layout<std::int64_t>(device, of(Dtype::i64, false, 0), Hard::mixed);
  each_layout<Half>(device, of(Dtype::f16, false, 1), Hard::mixed);
  sum<float, double>(device, {values(99)}, test::hard_weights<double>(Hard::exponents, 99, 2), {Bins::even(5, 0, 1)},
                     true, of(Dtype::f64, true, 0));
}

// Digits of the greatest weights in local memory, the rest in global memory; or, of spread weights, all in either.
void narrow(const Device& device) {
  const Trial trial{.tables = {Layout{WeightFormat(Dtype::f32, false).digits(), 0}, Layout{5, 1}}};
  each_layout<float>(device, trial, Hard::narrow);
  each_layout<float>(device, trial, Hard::exponents);
  const Trial doubles{.tables = {Layout{}, Layout{7, 0}}};
  each_layout<double>(device, doubles, Hard::narrow);
  each_layout<double>(device, doubles, Hard::mixed);
}

void global(const Device& device) {
  each_layout<float>(device, {.tables = {Layout{}, {}}}, Hard::mixed);
  each_layout<std::uint8_t>(device, {.tables = {Layout{}, {}}}, Hard::mixed);
}

void rows(const Device& device) {
  for (const std::uint64_t count : {1, 3, 50}) {
    sum<float, float>(device, {values(count * 13)}, test::hard_weights<float>(Hard::mixed, count * 13, 1),
                      {Bins::even(5, 0, 1)}, false, {.tables = {Layout{19, 1}, {}}}, count);
  }
}

void joint(const Device& device) {
  sum<float, float>(device, {values(200, 1), values(200, 2)}, test::hard_weights<float>(Hard::mixed, 200, 1),
                    {Bins::even(3, 0, 1), Bins::edges({0, 0.25, 0.5, 1})}, false, {.tables = {Layout{19, 0}, {}}});
}

// Totals made of their digits: of floats with variances; of integers counted by value, one of which does not fit.
void round(const Device& device) {
  const auto expect_bits = [&]<class T, class W>(const std::vector<T>& data, const std::vector<W>& weights,
                                                 const Bins& bins, WeightedOptions options) {
    const Buffer<T> there = device.upload(data);
    const Buffer<W> by = device.upload(weights);
    options.wrap = true;
    Stream stream(device);
    expect(weighted_histogram(stream, there, by, bins, options).get() ==
               weighted_histogram(Device::open("cpu"), data, weights, bins, options),
           "rounded totals of " + std::string(to_string(dtype_of<W>)));
  };
  expect_bits(values(60), test::hard_weights<float>(Hard::mixed, 60, 1), Bins::even(5, 0, 1),
              {.variances = true, .rows = 3});
  const std::vector<std::uint8_t> bytes{1, 1, 2, 9, 200};
  expect_bits(bytes, std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max(), 1, -3, 7, 9},
              Bins::even(3, 1, 10), {.outside = Outside::clamp});
}

void run_case(const Device& device, const std::string& kernel) {
  if (kernel == "wide") wide(device);
  else if (kernel == "narrow") narrow(device);
  else if (kernel == "global") global(device);
  else if (kernel == "rows") rows(device);
  else if (kernel == "joint") joint(device);
  else if (kernel == "round") round(device);
  else throw std::runtime_error("wide, narrow, global, rows, joint or round");
}

}  // namespace
}  // namespace masu

int main(int count, char** arguments) {
  return masu::oclgrind::run(count, arguments, masu::run_case);
}
