// SPDX-License-Identifier: Apache-2.0
// What the forms that take a stream ask of a device beside launches and copies on it, once their programs are there.
#include "counting_device.h"
#include "each_device.h"

#include <gtest/gtest.h>
#include <masu/convert.h>
#include <masu/gather.h>
#include <masu/histogram.h>
#include <masu/reduce.h>
#include <masu/scan.h>
#include <masu/search.h>
#include <masu/sort.h>
#include <masu/sum.h>
#include <masu/topk.h>
#include <masu/transpose.h>
#include <masu/unique.h>
#include <masu/weighted_histogram.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu {
namespace {

// What some forms ask for beside commands, at most, and what their results do beside waiting and reading.
// ARCHITECTURE.md says why. All others ask for nothing.
struct Exception {
  std::string_view form;
  std::string_view enqueued;
  std::string_view got;
};
constexpr Exception exceptions[] = {
    {"histogram", "allocations, waits, writes", ""},
    {"weighted_histogram", "allocations, waits, streams", ""},
    {"sort rows", "writes", ""},
    {"sort segments", "allocations, waits, writes, streams", ""},
    {"topk of half", "", "streams, commands"},
    {"unique", "", "allocations, commands"},
    {"run_length", "", "allocations, commands"},
};

Exception exception_of(std::string_view form) {
  for (const Exception& exception : exceptions) {
    if (form == exception.form) return exception;
  }
  return {form, "", ""};
}

class EnqueueTest : public test::EachDevice {};
MASU_ON_EACH_KERNEL_DEVICE(EnqueueTest);

TEST_P(EnqueueTest, AsksForNothing) {
  const auto counting = std::make_shared<test::CountingDevice>(device.implementation());
  const Device counted(counting);
  // Gets the result of what was enqueued.
  using Get = std::function<void()>;
  const auto keep = [](auto pending) -> Get {
    return [kept = std::make_shared<decltype(pending)>(std::move(pending))] { (void)kept->get(); };
  };
  for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{1000}, std::uint64_t{100000}}) {
    SCOPED_TRACE(count);
    const auto buffer = [&](std::uint64_t bytes) {
      Buffer<std::byte> made(counted, bytes);
      made.fill(std::byte{0});
      return made;
    };
    const Buffer<std::byte> data = buffer(count * 4);
    const Buffer<std::byte> more = buffer(count * 4);
    const Buffer<std::byte> flags = buffer(count);
    Buffer<std::byte> keys = buffer(count * 4);
    Buffer<std::byte> out = buffer(count * 4);
    Buffer<std::byte> wide = buffer(count * 8);
    Buffer<std::byte> places = buffer(count * 8);
    const Buffer<std::byte> room = buffer(std::uint64_t{64} << 20);
    const Buffer<std::byte>* with = &room;
    const Buffer<std::byte> result = buffer(sizeof(double));
    const std::uint64_t k = std::min<std::uint64_t>(count, 10);
    Buffer<std::byte> best = buffer(k * 4);
    Buffer<std::byte> best_places = buffer(k * 8);
    constexpr std::uint32_t one = 1;
    const std::uint64_t segments[] = {0, count / 3, count};
    struct Form {
      std::string name;
      std::function<Get(Stream&)> run;
    };
    std::vector<Form> forms;
    const auto add = [&](std::string name, std::function<Get(Stream&)> run) {
      forms.push_back({std::move(name), std::move(run)});
    };
    for (const Dtype dtype : {Dtype::f32, Dtype::u32}) {
      const std::string type = " " + std::string(to_string(dtype));
      add("scan" + type, [&, dtype](Stream& s) { return keep(scan(s, data, dtype, out, {.workspace = with})); });
      add("sort" + type, [&, dtype](Stream& s) { return keep(sort(s, keys, dtype, {.workspace = with})); });
      add("reduce" + type,
          [&, dtype](Stream& s) { return keep(reduce(s, data, dtype, ReduceOp::minmax, {.workspace = with})); });
      add("sum" + type, [&, dtype](Stream& s) { return keep(sum(s, data, dtype, {.workspace = with})); });
      add("searchsorted" + type,
          [&, dtype](Stream& s) { return keep(searchsorted(s, data, more, dtype, places, Dtype::u64)); });
    }
    add("sort u8", [&](Stream& s) { return keep(sort(s, keys, Dtype::u8, {.workspace = with})); });
    add("sort rows", [&](Stream& s) {
      return keep(sort(s, keys, Dtype::f32, {.rows = std::max<std::uint64_t>(count / 100, 1), .workspace = with}));
    });
    add("sort segments",
        [&](Stream& s) { return keep(sort(s, keys, Dtype::f32, {.segments = segments, .workspace = with})); });
    add("topk of half",
        [&](Stream& s) { return keep(topk(s, data, Dtype::f32, (count + 1) / 2, {.workspace = with})); });
    add("sort_by_key", [&](Stream& s) { return keep(sort_by_key(s, keys, Dtype::f32, out, 4, {.workspace = with})); });
    add("argsort",
        [&](Stream& s) { return keep(argsort(s, data, Dtype::f32, places, Dtype::u64, {.workspace = with})); });
    add("dot", [&](Stream& s) { return keep(dot(s, data, more, Dtype::f32, {.workspace = with})); });
    add("mean", [&](Stream& s) { return keep(mean(s, data, Dtype::f32, {.workspace = with})); });
    add("norm2", [&](Stream& s) { return keep(norm2(s, data, Dtype::f32, {.workspace = with})); });
    add("variance", [&](Stream& s) { return keep(variance(s, data, Dtype::f32, {.workspace = with})); });
    add("sum results", [&](Stream& s) { return keep(sum(s, data, Dtype::f32, result, {.workspace = with})); });
    add("dot results", [&](Stream& s) { return keep(dot(s, data, more, Dtype::i32, result, {.workspace = with})); });
    add("variance results",
        [&](Stream& s) { return keep(variance(s, data, Dtype::f32, result, {.workspace = with})); });
    add("reduce count_nonzero",
        [&](Stream& s) { return keep(reduce(s, data, Dtype::f32, ReduceOp::count_nonzero, {.workspace = with})); });
    add("topk", [&](Stream& s) { return keep(topk(s, data, Dtype::f32, k, {.workspace = with})); });
    add("histogram",
        [&](Stream& s) { return keep(histogram(s, data, Dtype::f32, Bins::even(100, 0, 1), {.workspace = with})); });
    for (const auto& [name, bins] : {std::pair{"histogram prepared", Bins::even(100, 0, 1)},
                                     std::pair{"histogram prepared edges", Bins::edges({0, 1, 3, 10})},
                                     std::pair{"histogram prepared partitions", Bins::even(1 << 20, 0, 1)}}) {
      const auto ready = std::make_shared<PreparedHistogram>(counted, Dtype::f32, bins);
      const auto numbers = std::make_shared<Buffer<std::uint64_t>>(counted, ready->size() + 3);
      add(name, [&, ready, numbers](Stream& s) { return keep(histogram(s, data, *ready, *numbers, with)); });
    }
    const auto bytes_ready =
        std::make_shared<PreparedHistogram>(counted, Dtype::u8, Bins::even(10, 0, 100),
                                            HistogramOptions{.outside = Outside::clamp});
    const auto bytes_counts = std::make_shared<Buffer<std::uint64_t>>(counted, bytes_ready->size() + 3);
    add("histogram prepared u8",
        [&](Stream& s) { return keep(histogram(s, flags, *bytes_ready, *bytes_counts, with)); });
    add("weighted_histogram", [&](Stream& s) {
      return keep(weighted_histogram(s, data, Dtype::f32, more, Dtype::f32, Bins::even(100, 0, 1)));
    });
    add("unique", [&](Stream& s) { return keep(unique(s, data, Dtype::f32, {.workspace = with})); });
    add("run_length", [&](Stream& s) { return keep(run_length(s, data, Dtype::f32, {.workspace = with})); });
    add("transpose", [&](Stream& s) { return keep(transpose(s, data, 4, 1, count, out)); });
    add("gather", [&](Stream& s) { return keep(gather(s, data, 4, more, Dtype::u32, out, {.workspace = with})); });
    add("scatter", [&](Stream& s) { return keep(scatter(s, data, 4, more, Dtype::u32, out, {.workspace = with})); });
    add("reverse", [&](Stream& s) { return keep(reverse(s, data, 4, out)); });
    add("compact", [&](Stream& s) { return keep(compact(s, data, 4, flags, out, {.workspace = with})); });
    add("fill", [&](Stream& s) { return keep(fill(s, out, &one, sizeof one)); });
    add("iota", [&](Stream& s) { return keep(iota(s, out, Dtype::u32, &one, &one)); });
    add("convert",
        [&](Stream& s) { return keep(convert(s, data, Dtype::f32, wide, Dtype::f64, {.workspace = with})); });

    Stream stream(counted, Timing::off);
    for (const Form& form : forms) {
      SCOPED_TRACE(form.name);
      form.run(stream)();
      counting->counts().take();
      const Get get = form.run(stream);
      const Exception exception = exception_of(form.name);
      for (const std::string& asked : counting->counts().take()) {
        EXPECT_TRUE(asked == "commands" || exception.enqueued.find(asked) != std::string_view::npos) << asked;
      }
      get();
      for (const std::string& asked : counting->counts().take()) {
        EXPECT_TRUE(asked == "waits" || asked == "reads" || exception.got.find(asked) != std::string_view::npos)
            << "get: " << asked;
      }
    }
  }
}

}  // namespace
}  // namespace masu
