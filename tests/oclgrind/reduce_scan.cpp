// SPDX-License-Identifier: Apache-2.0
// The kernels that find extremes, count and scan on the device opencl:0, small, against plain loops: what check.sh runs
// under Oclgrind. Everything is launched from this one thread.
//
//   oclgrind_reduce_scan extremes|counts|scan|segments
#include "expect.h"

#include "reduce/reduce_plan.h"
#include "scan/scan_device.h"
#include "scan/scan_plan.h"
#include "scan/scan_reference.h"

#include <masu/stream.h>

#include <algorithm>
#include <string>
#include <vector>

namespace masu {
namespace {

using oclgrind::as_gpu;
using oclgrind::expect;
using oclgrind::padded;
using reference::Shape;

constexpr unsigned group = 16;
constexpr std::uint64_t groups = 3;

template <class T>
void reduce_rows(const Device& device, ReduceOp op, std::uint64_t rows, std::uint64_t count, bool skip) {
  const std::vector<T> data = reference::data_of<T>(Shape::special, rows * count, 3);
  const Buffer<T> there = padded(device, data);
  Stream stream(device);
  const reduce_plan::Plan plan =
      reduce_plan::make(as_gpu(device), dtype_of<T>, op, skip, rows, count, group, groups * rows);
  DeviceReduce job(there, plan, Buffer<std::byte>(device, plan.workspace()));
  job.start(stream, there);
  const std::vector<Reduced> found = job.fetch(stream);
  // The same in memory of the caller's.
  const Buffer<std::uint64_t> numbers = device.upload(std::vector<std::uint64_t>(rows));
  const Buffer<T> values = device.upload(std::vector<T>(rows));
  const bool counts = op == ReduceOp::count_nonzero;
  const bool greatest = op == ReduceOp::max;
  ReduceTargets targets;
  (counts ? targets.nonzero : greatest ? targets.max_indices : targets.min_indices) = &numbers;
  if (!counts) (greatest ? targets.max : targets.min) = &values;
  DeviceReduce into_memory(there, plan, Buffer<std::byte>(device, plan.workspace()), targets);
  into_memory.start(stream, there);
  stream.finish();
  const std::vector<std::uint64_t> told = numbers.read();
  bool right = true;
  for (std::uint64_t r = 0; r < rows; ++r) {
    const T* x = data.data() + r * count;
    Reduced expected;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (reference::number(x[i]) != 0) ++expected.nonzero;
      for (int which = 0; which < 2; ++which) {
        const Extreme here{ExtremeRule{which == 1, skip}(x[i]), i, 0};
        if (here.before(expected.extremes[which])) expected.extremes[which] = here;
      }
    }
    if (counts) right = right && found[r].nonzero == expected.nonzero && told[r] == expected.nonzero;
    else right = right && told[r] == expected.extremes[greatest ? 1 : 0].place(dtype_of<T>, skip);
    for (int which = 0; which < 2; ++which) {
      if (wants(op, which)) right = right && found[r].extremes[which].index == expected.extremes[which].index;
    }
  }
  expect(right, std::string(to_string(op)) + " " + std::string(to_string(dtype_of<T>)) + ", " + std::to_string(rows) +
                    " rows of " + std::to_string(count));
}

// `From`: of the elements, where they are narrower than their sums.
template <class T, class From = T>
void scan_all(const Device& device, std::uint64_t count, ScanOp op, bool exclusive, bool segments, bool once = false) {
  const Shape shape = is_exact_sum(dtype_of<T>, op) ? Shape::few : Shape::special;
  const std::vector<From> data = reference::data_of<From>(shape, count, 4);
  std::vector<std::uint8_t> flags(segments ? count : 0);
  for (std::size_t i = 0; i < flags.size(); i += 1 + i % 37) flags[i] = 1;
  const Buffer<From> there = device.upload(data);
  const Buffer<std::uint8_t> flags_there = device.upload(flags);
  Buffer<T> output(device, count);
  Stream stream(device);
  scan_plan::Plan plan =
      scan_plan::make(as_gpu(device), dtype_of<From>, dtype_of<T>, count, op, exclusive, segments, group, groups);
  if (once) plan = scan_plan::in_one_launch(device.info(), plan, 1, group);
  DeviceScan job(device, plan, nullptr);
  job.start(stream, there, output, count / (segments ? 2 : 1), segments ? &flags_there : nullptr);
  stream.finish();
  const std::vector<T> elements(data.begin(), data.end());
  expect(reference::same_bits(output.read(), reference::scan(elements, op, exclusive, segments ? 2 : 1, flags)),
         std::string(to_string(op)) + " of " + std::to_string(count) + " " + std::string(to_string(dtype_of<T>)));
}

void run_case(const Device& device, const std::string& name) {
  if (name == "extremes") {
    reduce_rows<float>(device, ReduceOp::minmax, 2, 2100, false);
    reduce_rows<Half>(device, ReduceOp::min, 1, 5000, true);
    reduce_rows<std::int8_t>(device, ReduceOp::max, 1, 7000, false);
    reduce_rows<double>(device, ReduceOp::max, 5, 30, false);
  } else if (name == "counts") {
    reduce_rows<float>(device, ReduceOp::count_nonzero, 2, 2100, false);
    reduce_rows<std::int8_t>(device, ReduceOp::count_nonzero, 1, 7000, false);
    reduce_rows<double>(device, ReduceOp::count_nonzero, 5, 30, false);
  } else if (name == "scan") {
    scan_all<std::uint32_t>(device, 1900, ScanOp::sum, false, false);
    scan_all<std::uint8_t>(device, 2000, ScanOp::max, true, false);
    scan_all<double>(device, 777, ScanOp::min, false, false);
    scan_all<float>(device, 900, ScanOp::sum, false, false);
    // In one launch: with one work-group here, in more waves than have words of their own.
    scan_all<std::uint8_t>(device, 23000, ScanOp::sum, false, false, true);
    scan_all<double>(device, 333, ScanOp::max, true, false, true);
    scan_all<std::int64_t, std::int16_t>(device, 1001, ScanOp::sum, false, false);
    scan_all<std::int64_t, std::int32_t>(device, 2999, ScanOp::sum, true, false, true);
  } else {
    scan_all<std::uint32_t>(device, 1900, ScanOp::sum, true, true);
    scan_all<Half>(device, 1500, ScanOp::max, false, true);
    scan_all<float>(device, 500, ScanOp::sum, true, true);
    scan_all<std::uint64_t, std::uint8_t>(device, 700, ScanOp::sum, false, true);
  }
}

}  // namespace
}  // namespace masu

int main(int count, char** arguments) {
  return masu::oclgrind::run(count, arguments, masu::run_case);
}
