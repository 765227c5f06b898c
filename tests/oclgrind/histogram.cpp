// SPDX-License-Identifier: Apache-2.0
// Every kernel and every binning of the histogram on the device opencl:0, small, against the plain reference: what
// check.sh runs under Oclgrind. Everything is launched from this one thread.
//
//   oclgrind_histogram KERNEL     local, lanes, packed, partitioned, global, private, rows, byte_rows, joint,
//                                 joint_partitioned, range, fold
#include "expect.h"

#include "histogram/bins/bin_rule.h"
#include "histogram/device/histogram_plan.h"
#include "histogram/device/slot_kernels.h"
#include "histogram/histogram_reference.h"
#include "histogram/histogram_test_data.h"

#include <masu/histogram.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace masu {
namespace {

using oclgrind::as_gpu;
using oclgrind::expect;
using test::Samples;

// Values before and behind what is counted, so that it starts and ends at odd places of a buffer. A read of them shows
// in the counts: all are alike.
constexpr std::size_t margin = 3;

template <class T>
Buffer<T> padded(const Device& device, const std::vector<T>& data) {
  std::vector<T> all(data.size() + 2 * margin, T{1});
  std::copy(data.begin(), data.end(), all.begin() + margin);
  return device.upload(all);
}

// The totals of the kernel as the reference has them. Bytes are 256 bins there.
std::vector<reference::Counts> unpack(const std::vector<std::uint64_t>& totals, const BinRule& rule,
                                      unsigned channels) {
  std::vector<reference::Counts> result(channels);
  const std::uint64_t counted = totals.size() / channels;
  for (unsigned c = 0; c < channels; ++c) {
    std::vector<std::uint64_t> slots(rule.n + extra_slots);
    const std::vector<std::uint32_t> slot_of = slots_by_value(rule, counted);
    for (std::uint64_t i = 0; i < counted; ++i) slots[slot_of.empty() ? i : slot_of[i]] += totals[c * counted + i];
    result[c].below = slots[rule.n + slot_below];
    result[c].above = slots[rule.n + slot_above];
    result[c].nan = slots[rule.n + slot_nan];
    slots.resize(rule.n);
    result[c].counts = std::move(slots);
  }
  return result;
}

// Counts with several loads in flight too, as GPUs do, and with two small work-groups, which then go round their loops
// more than once.
template <class T>
void count(const Device& device, Strategy strategy, const std::vector<T>& data, const Bins& bins, SlotRule::Kind kind,
           unsigned channels = 1) {
  const BinRule rule(bins, dtype_of<T>, false);
  const SlotRule slot_rule(rule, device.info());
  auto plan = histogram_plan::make(as_gpu(device), slot_rule, channels, strategy);
  const std::string name = std::string(to_string(strategy)) + " " + std::string(to_string(dtype_of<T>)) + ", " +
                           std::string(slot_rule.function()) + ", " + std::to_string(channels) + " channels";
  expect(slot_rule.kind == kind, name + ": the rule");
  if (strategy == Strategy::lanes) expect(plan.copies > 1, name + ": several copies of the table");
  plan.unroll = plan.kernel == histogram_plan::KernelKind::channels ? 2 : 4;
  plan.group = std::min(plan.group, plan.kernel == histogram_plan::KernelKind::channels ? 32U : 16U);
  plan.groups = 2;
  plan.cells = std::min(plan.cells, 64U);
  const Buffer<T> buffer = padded(device, data);
  DeviceCounter counter(
      device,
      [&](const TableUpload& upload) {
        return std::make_unique<TableKernels>(device, CountedTables{.columns = {slot_rule}, .plan = plan}, upload);
      },
      0);
  std::vector<double> edges(rule.n + 1);
  for (std::uint64_t i = 0; i <= rule.n; ++i) edges[i] = rule.edge(i);
  std::vector<reference::Counts> expected(channels);
  for (reference::Counts& counts : expected) counts.counts.resize(rule.n);
  // All; less than a vector; a start of every alignment.
  for (std::size_t first = 0; first <= 16 / sizeof(T); first += channels) {
    const std::size_t most = first == 0 ? data.size() : 2 * (margin + first);
    const std::size_t length = std::min(data.size() - first, most) / channels * channels;
    const Buffer<T> part = buffer.slice(margin + first, length);
    const BufferBase* const column = &part;
    counter.add({&column, 1}, length, nullptr);
    reference::histogram(ArrayView(dtype_of<T>, data.data() + first, length), edges, rule.half_open, Outside::drop,
                         expected);
  }
  expect(unpack(counter.totals(), rule, channels) == expected, name);
  std::printf("right: %s\n", name.c_str());
}

// A launch has 16 work-items in 2 groups at most, or 2 with tables of their own: enough values for their unrolled loop
// (4 vectors for each), the loop behind it, the head and the tail.
constexpr std::size_t vectors = 4 * 32 + 37;
template <class T>
constexpr std::size_t size = vectors * 16 / sizeof(T) + 2;

template <class T>
std::vector<T> samples(std::uint64_t bins, double lo, double hi, std::size_t count = size<T>) {
  return Samples<T>(bins, lo, hi).take(count);
}

void count_all(const Device& device, Strategy strategy) {
  using Kind = SlotRule::Kind;
  const Bins bytes = Bins::integers(256);
  const bool fp64 = device.info().fp64;
  const Kind rounded = fp64 ? Kind::even_rounded : Kind::edges;
  count(device, strategy, samples<std::uint8_t>(256, 0, 256), bytes, Kind::bits);
  count(device, strategy, samples<std::uint16_t>(40, 0, 50), Bins::integers(40), Kind::integers);
  count(device, strategy, samples<float>(20, 0, 1), Bins::even(20, 0, 1), rounded);
  count(device, strategy, samples<float>(20, 0, 1), Bins::even(20, ValueRange{0, 1, false}), Kind::even_f32);
  count(device, strategy, samples<Half>(20, 0, 1), Bins::even(20, 0, 1), Kind::even_halves);
  count(device, strategy, samples<std::int32_t>(9, -30, 60), Bins::edges({-30, -7, 0, 0, 5, 59}), Kind::edges);
  count(device, strategy, samples<float>(9, 0, 60), Bins::logarithmic(9, 0.001, 59), Kind::edges);
  for (const unsigned channels : {2U, 3U, 4U}) {
    count(device, strategy, samples<std::uint8_t>(256, 0, 256, size<std::uint8_t> / channels * channels), bytes,
          Kind::bits, channels);
  }
  count(device, strategy, samples<float>(20, 0, 1, size<float> / 3 * 3), Bins::even(20, 0, 1), rounded, 3);
  if (fp64) {
    count(device, strategy, samples<std::uint64_t>(20, 0, 1000), Bins::even(20, 0, 1000), Kind::even_proved);
    count(device, strategy, samples<double>(20, -1, 1), Bins::even(20, -1, 1), Kind::even_f64);
  }
}

// Rows of every length around a vector, some cut by the pieces that they come in.
void count_rows(const Device& device) {
  for (const std::uint64_t length : {1, 7, 16, 33}) {
    constexpr std::uint64_t rows = 9;
    const std::vector<std::uint8_t> data = samples<std::uint8_t>(20, 0, 30, rows * length);
    const BinRule rule(Bins::integers(30), Dtype::u8, false);
    DeviceCounter counter(
        device,
        [&](const TableUpload& upload) {
          return std::make_unique<TableKernels>(device, CountedTables::of_rows(device, rule, rows, length, {}), upload);
        },
        0);
    const Buffer<std::uint8_t> buffer = padded(device, data);
    const std::uint64_t cut = data.size() / 2;
    for (const auto& part : {buffer.slice(margin, cut), buffer.slice(margin + cut, data.size() - cut)}) {
      const BufferBase* const column = &part;
      counter.add({&column, 1}, part.size(), nullptr);
    }
    const std::vector<std::uint64_t> totals = counter.totals();
    std::vector<std::uint64_t> expected(rows * 256);
    for (std::size_t i = 0; i < data.size(); ++i) ++expected[i / length * 256 + data[i]];
    expect(totals == expected, "rows of " + std::to_string(length));
    std::printf("right: rows of %d\n", static_cast<int>(length));
  }
}

// Rows as GPUs count them, of one part and of several, a few rows for each of two work-groups.
void count_byte_rows(const Device& device) {
  for (const std::uint64_t length : {1, 30, 47, 600, 7700}) {
    constexpr std::uint64_t rows = 5;
    const std::vector<std::uint8_t> data = samples<std::uint8_t>(256, 0, 256, rows * length);
    SlotRule rule(BinRule(Bins::integers(256), Dtype::u8, false), device.info());
    auto plan = histogram_plan::make_rows(as_gpu(device), rule, 1, length).value();
    expect(plan.kernel == histogram_plan::KernelKind::byte_rows, "the kernel of rows");
    plan.groups = 2;
    const std::uint64_t slots = rule.slots;
    const DeviceRules rules(device, {std::move(rule)}, plan, {});
    call::Kernels kernels = rules.program(plan).kernels;
    const Buffer<std::uint8_t> buffer = padded(device, data);
    const Buffer<std::uint64_t> totals = device.upload(std::vector<std::uint64_t>(rows * slots + 1));
    Stream stream(device);
    for (const std::uint64_t first : {0, 1}) {  // results that vectors may be stored to, or not
      kernels.launch(stream, plan.kernel_name(), plan.groups, call::At{buffer, margin}, length, rows, length,
                     static_cast<std::uint32_t>(slots), rules.arguments(0), call::memory_of(totals), first,
                     rules.local(plan));
      stream.finish();
      const std::vector<std::uint64_t> found = totals.read();
      std::vector<std::uint64_t> expected(rows * slots);
      for (std::size_t i = 0; i < data.size(); ++i) ++expected[i / length * slots + data[i]];
      expect(std::equal(expected.begin(), expected.end(), found.begin() + static_cast<std::ptrdiff_t>(first)),
             "rows of bytes, of " + std::to_string(length));
    }
    std::printf("right: rows of %d bytes\n", static_cast<int>(length));
  }
}

void count_joint(const Device& device, const std::vector<Strategy>& strategies) {
  const std::vector<float> x = samples<float>(9, 0, 1, 700);
  const std::vector<float> y = samples<float>(9, 0, 10, 700);
  const std::vector<std::shared_ptr<const BinRule>> rules{
      std::make_shared<const BinRule>(Bins::even(9, 0, 1), Dtype::f32, false, true),
      std::make_shared<const BinRule>(Bins::edges({0, 1, 4, 9}), Dtype::f32, false, true)};
  const Buffer<float> columns[] = {padded(device, x), padded(device, y)};
  for (const Strategy strategy : strategies) {
    DeviceCounter counter(
        device,
        [&](const TableUpload& upload) {
          return std::make_unique<TableKernels>(device, CountedTables::joint_one(device, rules, {.strategy = strategy}),
                                                upload);
        },
        0);
    const Buffer<float> first = columns[0].slice(margin, x.size());
    const Buffer<float> second = columns[1].slice(margin, y.size());
    const BufferBase* both[] = {&first, &second};
    counter.add(both, x.size(), nullptr);
    std::vector<std::uint64_t> expected(9 * 3 + 2);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::uint64_t a = rules[0]->slot(x[i]);
      const std::uint64_t b = rules[1]->slot(y[i]);
      const bool nan = a == 9 + slot_nan || b == 3 + slot_nan;
      ++expected[nan ? 28 : a >= 9 || b >= 3 ? 27 : a * 3 + b];
    }
    const std::string name = "joint " + std::string(to_string(strategy));
    expect(counter.totals() == expected, name);
    std::printf("right: %s\n", name.c_str());
  }
}

template <class T>
void find_range(const Device& device, std::vector<T> data) {
  const Buffer<T> buffer = padded(device, data);
  for (const std::size_t length : {data.size(), std::size_t{5}, std::size_t{1}}) {
    const auto found = device_finite_range(buffer.slice(margin, length), dtype_of<T>);
    std::optional<ValueRange> expected;
    for (std::size_t i = 0; i < length; ++i) {
      const auto x = static_cast<double>(data[i]);
      if (std::isfinite(x)) expected = merge(expected, ValueRange{x, x, true});
    }
    const std::string name = "range of " + std::to_string(length) + " " + std::string(to_string(dtype_of<T>));
    expect(found.has_value() == expected.has_value(), name);
    expect(!found || (found->lo == expected->lo && found->hi == expected->hi), name);
    std::printf("right: %s\n", name.c_str());
  }
}

void find_ranges(const Device& device) {
  find_range(device, samples<std::uint8_t>(100, 50, 150));
  find_range(device, samples<std::int32_t>(100, -50, 150));
  std::vector<float> floats = samples<float>(20, -5, 1);
  floats[0] = std::nanf("");
  find_range(device, floats);
  if (device.info().fp64) find_range(device, samples<double>(20, -5, 1));
}

// Totals of values become counts of bins, in memory that begins one number late.
void fold(const Device& device) {
  struct Case {
    Dtype dtype;
    Bins bins;
    HistogramOptions options;
  };
  for (const auto& [dtype, bins, options] : {
           Case{Dtype::u8, Bins::even(10, 3, 200), {.outside = Outside::clamp, .channels = 2}},
           Case{Dtype::f16, Bins::even(30, 0, 2), {}},
           Case{Dtype::f32, Bins::edges({0, 1, 5}), {.outside = Outside::clamp}},
           Case{Dtype::i32, Bins::edges({1e10, 2e10}), {}},
       }) {
    std::vector<std::byte> bytes(300 * size_of(dtype));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 97 + i / 7);
    const std::uint64_t count = bytes.size() / size_of(dtype);
    PreparedHistogram prepared(device, dtype, bins, options);
    const Buffer<std::uint64_t> memory(device, (prepared.size() + 3) * options.channels + 1);
    Buffer<std::uint64_t> counts = memory.slice(1, memory.size() - 1);
    const Buffer<std::byte> room(device, prepared.workspace(count));
    const Buffer<std::byte> data = device.upload(bytes);
    Stream stream(device);
    histogram(stream, data, prepared, counts, &room).get();
    expect(prepared.result(counts.read()) ==
               histogram_channels(Device::open("cpu"), ArrayView(dtype, bytes.data(), count), bins, options),
           "folded " + std::string(to_string(dtype)));
  }
}

void run_case(const Device& device, const std::string& name) {
  if (name == "range") find_ranges(device);
  else if (name == "fold") fold(device);
  else if (name == "rows") count_rows(device);
  else if (name == "byte_rows") count_byte_rows(device);
  else if (name == "joint") count_joint(device, {Strategy::local, Strategy::lanes, Strategy::global});
  else if (name == "joint_partitioned") count_joint(device, {Strategy::partitioned});
  else count_all(device, strategy_from_name(name));
}

}  // namespace
}  // namespace masu

int main(int count, char** arguments) {
  return masu::oclgrind::run(count, arguments, masu::run_case);
}
