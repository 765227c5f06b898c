// SPDX-License-Identifier: Apache-2.0
// Every primitive that takes temporary memory refuses what does not do, in the same words, before it launches anything.
#include "each_device.h"
#include "expect_error.h"

#include <gtest/gtest.h>
#include <masu/convert.h>
#include <masu/gather.h>
#include <masu/histogram.h>
#include <masu/quantile.h>
#include <masu/reduce.h>
#include <masu/scan.h>
#include <masu/sort.h>
#include <masu/sum.h>
#include <masu/topk.h>
#include <masu/unique.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace masu {
namespace {

class WorkspaceTest : public test::EachDevice {};
MASU_ON_EACH_KERNEL_DEVICE(WorkspaceTest);

// A call, the bytes that suffice for it, fewer that do not, and the buffers that it works on.
struct Call {
  std::string name;
  std::uint64_t bytes;
  std::uint64_t too_few;
  std::function<void(const BufferBase*)> run;
  std::vector<const Buffer<std::byte>*> operands;
};

TEST_P(WorkspaceTest, WhatDoesNotDoIsRefused) {
  constexpr std::uint64_t count = 100000;
  constexpr std::uint64_t k = 100;
  // All operands lie in memory that may also be a workspace.
  const std::uint64_t room = std::uint64_t{16} << 20;
  Buffer<std::byte> memory(device, 4 * room);
  memory.fill(std::byte{0});
  Buffer<std::byte> data = memory.slice(0, count * 4);
  Buffer<std::byte> out = memory.slice(room, count * 4);
  Buffer<std::byte> indices = memory.slice(2 * room, count * 4);
  Buffer<std::byte> values = memory.slice(room, k * 4);
  Buffer<std::byte> places = memory.slice(2 * room, k * 8);
  Buffer<std::byte> flags = memory.slice(2 * room, count);
  std::vector<Call> calls;
  const auto add = [&](std::string name, std::uint64_t bytes, std::function<void(const BufferBase*)> run,
                       std::vector<const Buffer<std::byte>*> operands) {
    // Of what serves several functions, most need less.
    const std::uint64_t too_few = name == "sum" || name == "topk" ? 16 : bytes - 1;
    calls.push_back({std::move(name), bytes, too_few, std::move(run), std::move(operands)});
  };
  add("sum", sum_workspace(device, Dtype::f32, count, {}),
      [&](const BufferBase* with) { (void)sum(data, Dtype::f32, {.workspace = with}); }, {&data});
  add("reduce", reduce_workspace(device, Dtype::f32, count, ReduceOp::minmax, {}),
      [&](const BufferBase* with) { (void)reduce(data, Dtype::f32, ReduceOp::minmax, {.workspace = with}); }, {&data});
  add("scan", scan_workspace(device, Dtype::u32, count, {}),
      [&](const BufferBase* with) { scan(data, Dtype::u32, out, {.workspace = with}); }, {&data, &out});
  add("sort", sort_workspace(device, Dtype::f32, count, {}),
      [&](const BufferBase* with) { sort(data, Dtype::f32, out, {.workspace = with}); }, {&data, &out});
  const std::uint64_t middle[] = {count / 2};
  const Buffer<std::byte> one = out.slice(0, 4);
  const auto finished = [&](const auto& enqueue) {
    Stream stream(device, Timing::off);
    enqueue(stream).get();
  };
  add("elements_at", elements_at_workspace(device, Dtype::f32, count, 1),
      [&, finished](const BufferBase* with) {
        finished([&](Stream& s) { return elements_at(s, data, Dtype::f32, middle, one, {.workspace = with}); });
      },
      {&data, &one});
  add("median", elements_at_workspace(device, Dtype::f32, count, 2),
      [&, finished](const BufferBase* with) {
        finished([&](Stream& s) { return median(s, data, Dtype::f32, one, {.workspace = with}); });
      },
      {&data, &one});
  const double quarter = 0.25;
  add("nan_median", nan_quantiles_workspace(device, Dtype::f32, count),
      [&, finished](const BufferBase* with) {
        finished([&](Stream& s) { return nan_median(s, data, Dtype::f32, one, {.workspace = with}); });
      },
      {&data, &one});
  const auto points = quantile_points(QuantileMethod::hazen, count, {&quarter, 1});
  add("quantiles", quantiles_workspace(device, Dtype::f32, count, points),
      [&, points, finished](const BufferBase* with) {
        finished(
            [&](Stream& s) { return quantiles(s, data, Dtype::f32, points, one, Dtype::f32, {.workspace = with}); });
      },
      {&data, &one});
  add("topk", topk_workspace(device, Dtype::f32, count, k, {}),
      [&](const BufferBase* with) { (void)topk(data, Dtype::f32, k, {.workspace = with}); }, {&data});
  add("topk", topk_workspace(device, Dtype::f32, count, k, {}),
      [&](const BufferBase* with) { topk(data, Dtype::f32, k, values, places, {.workspace = with}); },
      {&data, &values, &places});
  add("unique", unique_workspace(device, Dtype::f32, count, {}),
      [&](const BufferBase* with) { (void)unique(data, Dtype::f32, {.workspace = with}); }, {&data});
  add("run_length", run_length_workspace(device, Dtype::f32, count),
      [&](const BufferBase* with) { (void)run_length(data, Dtype::f32, {.workspace = with}); }, {&data});
  add("convert", convert_workspace(device),
      [&](const BufferBase* with) { convert(data, Dtype::f32, out, Dtype::i32, {.workspace = with}); }, {&data, &out});
  add("gather", gather_workspace(device),
      [&](const BufferBase* with) { gather(data, 4, indices, Dtype::u32, out, {.workspace = with}); },
      {&data, &indices, &out});
  add("scatter", scatter_workspace(device, count),
      [&](const BufferBase* with) { scatter(data, 4, indices, Dtype::u32, out, {.workspace = with}); },
      {&data, &indices, &out});
  add("compact", compact_workspace(device, count),
      [&](const BufferBase* with) { (void)compact(data, 4, flags, out, {.workspace = with}); }, {&data, &flags, &out});

  const Device other = Device::open("cpu");
  for (const Call& call : calls) {
    SCOPED_TRACE(call.name);
    ASSERT_GE(call.bytes, 16U);
    const Buffer<std::byte> good = memory.slice(3 * room, call.bytes);
    EXPECT_NO_THROW(call.run(&good));
    const Buffer<std::byte> small = memory.slice(3 * room, call.too_few);
    MASU_EXPECT_ERROR(call.run(&small), invalid_argument, call.name + ": workspace must be at least");
    const Buffer<std::byte> odd = memory.slice(3 * room + 8, call.bytes);
    MASU_EXPECT_ERROR(call.run(&odd), invalid_argument, call.name + ": workspace must begin at a multiple of 16 bytes");
    const Buffer<std::byte> elsewhere(other, call.bytes);
    MASU_EXPECT_ERROR(call.run(&elsewhere), invalid_argument, call.name + ": workspace must lie on " + device.id());
    for (const Buffer<std::byte>* operand : call.operands) {
      const Buffer<std::byte> same = memory.slice(operand->byte_offset(), call.bytes);
      MASU_EXPECT_ERROR(call.run(&same), invalid_argument, call.name + ": workspace and data must not overlap");
    }
    if (device.kind() != DeviceKind::opencl) continue;
    alignas(64) static const std::array<std::byte, std::size_t{1} << 22> constants{};
    if (call.bytes > constants.size()) continue;
    const auto fixed = Buffer<const std::byte>::wrap_host(device, std::span(constants));
    MASU_EXPECT_ERROR(call.run(&fixed), invalid_argument, call.name + ": workspace must be writable");
  }
}

// The partitioned histogram cuts its data so that the workspace suffices.
TEST_P(WorkspaceTest, OfAHistogram) {
  constexpr std::uint64_t count = 100000;
  const Bins bins = Bins::even(100000, 0, 1);
  HistogramOptions options{.strategy = Strategy::partitioned};
  const std::uint64_t bytes = histogram_workspace(device, Dtype::f32, bins, options, count);
  ASSERT_GT(bytes, 0U);
  Buffer<std::byte> memory(device, 2 * bytes + 4 * count + 64);
  memory.fill(std::byte{0});
  const Buffer<std::byte> data = memory.slice(0, 4 * count);
  const auto refused = [&](const BufferBase& workspace, const std::string& rule) {
    options.workspace = &workspace;
    MASU_EXPECT_ERROR((void)histogram(data, Dtype::f32, bins, options), invalid_argument,
                      "histogram: workspace " + rule);
  };
  const std::uint64_t apart = (4 * count + 15) / 16 * 16;
  refused(memory.slice(apart + 8, bytes), "must begin at a multiple of 16 bytes");
  refused(memory.slice(0, bytes), "and data must not overlap");
  refused(Buffer<std::byte>(Device::open("cpu"), bytes), "must lie on " + device.id());
  const Buffer<std::byte> good = memory.slice(apart, bytes);
  options.workspace = &good;
  EXPECT_EQ(histogram(data, Dtype::f32, bins, options).counts()[0], count);
}

// Values of 8 and 16 bits may be counted for themselves before they are counts of bins.
TEST_P(WorkspaceTest, OfAHistogramByValue) {
  constexpr std::uint64_t count = 1000;
  for (const auto& [dtype, bins] :
       {std::pair(Dtype::u8, Bins::integers(32)), std::pair(Dtype::i8, Bins::even(9, 0, 3)),
        std::pair(Dtype::u16, Bins::integers(65536)), std::pair(Dtype::f16, Bins::even(5, 0, 1))}) {
    SCOPED_TRACE(to_string(dtype));
    Buffer<std::byte> data(device, count * size_of(dtype));
    data.fill(std::byte{0});
    HistogramOptions options;
    const Buffer<std::byte> workspace(device, histogram_workspace(device, dtype, bins, options, count));
    options.workspace = &workspace;
    EXPECT_EQ(histogram(data, dtype, bins, options).counts()[0], count);
    Buffer<std::uint64_t> counts(device, bins.size() + 3);
    histogram(data, dtype, bins, counts, options);
    EXPECT_EQ(counts.read()[0], count);
    Stream stream(device, Timing::off);
    EXPECT_EQ(histogram(stream, data, dtype, bins, options).get().counts()[0], count);
    options.workspace = nullptr;
    EXPECT_LE(PreparedHistogram(device, dtype, bins, options).workspace(count), workspace.size_bytes());
  }
}

}  // namespace
}  // namespace masu
