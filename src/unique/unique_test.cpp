// SPDX-License-Identifier: Apache-2.0
// Distinct values and runs, on every device, against plain loops.
#include "all_dtypes.h"
#include "each_device.h"
#include "expect_error.h"
#include "misaligned.h"
#include "unique/unique_plan.h"
#include "unique/unique_reference.h"

#include <masu/unique.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

namespace masu {
namespace {

using reference::same_bits;
using reference::Shape;

class UniqueTest : public test::EachDevice {
 protected:
  [[nodiscard]] bool is_cpu() const { return device.kind() == DeviceKind::cpu; }
  // A device without fp64 refuses to sort f64; runs compare bits.
  [[nodiscard]] bool lacks(Dtype dtype) const { return dtype == Dtype::f64 && !device.info().fp64; }
};
MASU_ON_EACH_DEVICE(UniqueTest);

// What is equal to the reference, else a text that says what is not.
template <class T>
std::string differences(const Runs<T>& got, const Runs<T>& expected) {
  std::string text;
  if (!same_bits(got.values, expected.values)) text += "values ";
  if (got.lengths != expected.lengths) text += "lengths ";
  if (got.starts != expected.starts) text += "starts ";
  return text;
}
template <class T>
std::string differences(const Unique<T>& got, const Unique<T>& expected) {
  std::string text;
  if (!same_bits(got.values, expected.values)) text += "values ";
  if (got.counts != expected.counts) text += "counts ";
  if (got.indices != expected.indices) text += "indices ";
  if (got.inverse != expected.inverse) text += "inverse ";
  return text;
}

// The bytes of a typed result.
template <class T>
Unique<T> typed(const UniqueArrays& found) {
  Unique<T> result{std::vector<T>(found.size()), found.counts, found.indices, found.inverse};
  if (found.size() != 0) std::memcpy(result.values.data(), found.values.bytes.data(), found.values.bytes.size());
  return result;
}

// Memory with room for all elements, and the first `found` of what is written there; what stands behind stays.
class Numbers {
 public:
  Numbers(const Device& device, std::size_t count) : there_(device, count) { there_.fill(mark); }
  [[nodiscard]] const BufferBase* when(bool wanted) const { return wanted ? &there_ : nullptr; }
  [[nodiscard]] std::vector<std::uint64_t> first(std::size_t found) const {
    std::vector<std::uint64_t> all = there_.read();
    EXPECT_TRUE(std::all_of(all.begin() + static_cast<std::ptrdiff_t>(found), all.end(), [](std::uint64_t n) {
      return n == mark;
    })) << "written behind the end";
    all.resize(found);
    return all;
  }

 private:
  static constexpr std::uint64_t mark = 77;
  Buffer<std::uint64_t> there_;
};

template <class T>
std::vector<T> first_of(const Buffer<T>& values, std::size_t found) {
  std::vector<T> all = values.read();
  all.resize(found);
  return all;
}

// Into memory of the caller's, with every choice of what is wanted.
template <class T>
void expect_runs_into_memory(const Buffer<T>& data, const Runs<T>& all, const std::string& name) {
  const Device& device = data.device();
  Stream stream(device, Timing::off);
  const std::size_t runs = all.values.size();
  for (unsigned wanted = 0; wanted < 4; ++wanted) {
    const Buffer<T> values(device, data.size());
    Buffer<std::uint64_t> number(device, 1);
    number.fill(~std::uint64_t{0});
    const Numbers lengths(device, data.size());
    const Numbers starts(device, data.size());
    const bool with_lengths = (wanted & 1U) != 0;
    const bool with_starts = (wanted & 2U) != 0;
    run_length(stream, data, dtype_of<T>, {values, number, lengths.when(with_lengths), starts.when(with_starts)}).get();
    ASSERT_EQ(number.read()[0], runs) << name << ", into memory";
    const Runs<T> expected{all.values, with_lengths ? all.lengths : std::vector<std::uint64_t>(),
                           with_starts ? all.starts : std::vector<std::uint64_t>()};
    const Runs<T> got{first_of(values, runs), lengths.first(with_lengths ? runs : 0),
                      starts.first(with_starts ? runs : 0)};
    EXPECT_EQ(differences(got, expected), "") << name << ", into memory, " << wanted;
  }
}

template <class T>
void expect_into_memory(const Buffer<T>& data, const Unique<T>& all, const std::string& name) {
  const Device& device = data.device();
  Stream stream(device, Timing::off);
  const std::size_t found = all.values.size();
  for (unsigned wanted = 0; wanted < 8; ++wanted) {
    const Buffer<T> values(device, data.size());
    Buffer<std::uint64_t> number(device, 1);
    number.fill(~std::uint64_t{0});
    const Numbers numbers[] = {{device, data.size()}, {device, data.size()}, {device, data.size()}};
    const auto asked = [&](unsigned which) { return numbers[which].when((wanted >> which & 1U) != 0); };
    const auto got = [&](unsigned which, std::size_t count) {
      return numbers[which].first(asked(which) != nullptr ? count : 0);
    };
    unique(stream, data, dtype_of<T>, {values, number, asked(0), asked(1), asked(2)}).get();
    ASSERT_EQ(number.read()[0], found) << name << ", into memory";
    const Unique<T> expected{all.values, asked(0) != nullptr ? all.counts : std::vector<std::uint64_t>(),
                             asked(1) != nullptr ? all.indices : std::vector<std::uint64_t>(),
                             asked(2) != nullptr ? all.inverse : std::vector<std::uint64_t>()};
    EXPECT_EQ(differences({first_of(values, found), got(0, found), got(1, found), got(2, data.size())}, expected), "")
        << name << ", into memory, " << wanted;
  }
}

template <class T>
void expect_runs(const Device& device, const std::vector<T>& data, const std::string& name) {
  const Runs<T> expected = reference::run_length(data);
  EXPECT_EQ(differences(run_length(device, data), expected), "") << name;
  for (const std::size_t before : {std::size_t{0}, std::size_t{1}, 16 / sizeof(T) + 1}) {
    const Buffer<T> buffer = test::misaligned(device, data, before);
    EXPECT_EQ(differences(run_length(buffer).read(), expected), "") << name << ", " << before << " before";
    if (before == 1) expect_runs_into_memory(buffer, expected, name);
  }
}

template <class T>
void expect_unique(const Device& device, const std::vector<T>& data, const std::string& name) {
  const Unique<T> all = reference::unique(data);
  const Unique<T> counted{all.values, all.counts, {}, {}};
  const UniqueOptions everything{.counts = true, .indices = true, .inverse = true};
  EXPECT_EQ(differences(unique(device, data), counted), "") << name;
  EXPECT_EQ(differences(unique(device, data, everything), all), "") << name << ", everything";
  const Buffer<T> buffer = test::misaligned(device, data, 1);
  EXPECT_EQ(differences(unique(buffer).read(), counted), "") << name << ", buffer";
  EXPECT_EQ(differences(unique(buffer, everything).read(), all), "") << name << ", buffer, everything";
  expect_into_memory(buffer, all, name);
  EXPECT_EQ(buffer.read().size(), data.size());
  EXPECT_TRUE(same_bits(buffer.read(), data)) << name << ": the input changed";
}

// Every dtype; on OpenCL CPU devices, whose compilers are slow, one for each size and a float where there is one.
std::vector<Dtype> dtypes_for(const Device& device) {
  if (device.kind() != DeviceKind::cpu && !device.info().gpu) {
    return {Dtype::i8, Dtype::f16, Dtype::i32, Dtype::f32, Dtype::f64};
  }
  return {test::all_dtypes.begin(), test::all_dtypes.end()};
}

TEST_P(UniqueTest, RunsOfEveryTypeAndShape) {
  for (const Dtype dtype : dtypes_for(device)) {
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (const Shape shape : reference::shapes) {
        expect_runs(device, reference::data_of<T>(shape, 70001),
                    std::string(to_string(dtype)) + " shape " + std::to_string(static_cast<int>(shape)));
      }
    });
  }
}

TEST_P(UniqueTest, DistinctValuesOfEveryTypeAndShape) {
  for (const Dtype dtype : dtypes_for(device)) {
    if (lacks(dtype)) continue;
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (const Shape shape : reference::shapes) {
        expect_unique(device, reference::data_of<T>(shape, 20011),
                      std::string(to_string(dtype)) + " shape " + std::to_string(static_cast<int>(shape)));
      }
    });
  }
}

// Around vectors, words of the mask, tiles and tasks.
TEST_P(UniqueTest, EverySize) {
  const auto plan = unique_plan::make(device.info(), Dtype::u32, 1);
  const std::size_t tile = plan.tile_bits();
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{5}, std::size_t{31},
        std::size_t{32}, std::size_t{33}, std::size_t{63}, std::size_t{64}, std::size_t{65}, std::size_t{127},
        std::size_t{1021}, tile - 1, tile, tile + 1, std::size_t{1} << 17, (std::size_t{1} << 17) + 1, 4 * tile + 17}) {
    const std::string name = std::to_string(count) + " elements";
    for (const Shape shape : {Shape::random_bits, Shape::runs}) {
      expect_runs(device, reference::data_of<std::uint32_t>(shape, count), name);
      expect_runs(device, reference::data_of<std::uint8_t>(shape, count), name);
    }
    if (count > 2000) continue;
    expect_unique(device, reference::data_of<float>(Shape::special, count), name);
    expect_unique(device, reference::data_of<std::int8_t>(Shape::random_bits, count), name);
    expect_unique(device, reference::data_of<Half>(Shape::special, count), name);
  }
}

// Just below whole tiles, where one more is made for data that begin within a vector.
TEST_P(UniqueTest, JustBelowWholeTiles) {
  const std::size_t tile = unique_plan::make(device.info(), Dtype::u32, 1).tile_bits();
  for (const std::size_t count : {tile - 15, tile - 2, tile - 1, 3 * tile - 1}) {
    const std::string name = std::to_string(count) + " elements";
    expect_unique(device, reference::data_of<std::uint8_t>(Shape::random_bits, count), name);
    expect_unique(device, reference::data_of<Half>(Shape::special, count), name);
    expect_unique(device, reference::data_of<std::uint32_t>(Shape::runs, count), name);
  }
}

// So many that elements of 16 bits are counted on the CPU too.
TEST_P(UniqueTest, ManyOf16Bits) {
  const std::size_t count = (std::size_t{1} << 20) + 5;
  expect_unique(device, reference::data_of<Half>(Shape::special, count), "special f16");
  expect_unique(device, reference::data_of<std::uint16_t>(Shape::random_bits, count / 4), "a quarter of u16");
  if (device.kind() == DeviceKind::cpu) {
    expect_unique(device, reference::data_of<std::int16_t>(Shape::random_bits, count), "i16");
  }
}

// A run across many tiles, and tiles with a start in each place.
TEST_P(UniqueTest, FarApart) {
  const std::size_t count = (std::size_t{1} << 19) + 77;
  std::vector<std::uint32_t> data(count, 7);
  expect_runs(device, data, "one run");
  for (const std::size_t at : {std::size_t{0}, std::size_t{32767}, std::size_t{32768}, count - 1}) {
    data[at] = 9;
    expect_runs(device, data, "changed at " + std::to_string(at));
  }
  for (std::size_t i = 100000; i < 200000; ++i) data[i] = static_cast<std::uint32_t>(i);
  expect_runs(device, data, "dense in the middle");
}

// Which of several patterns represents zeros and NaNs: the first in the input.
TEST_P(UniqueTest, TheFirstRepresents) {
  for (const bool negative_first : {false, true}) {
    std::vector<float> floats(50000, 1.5F);
    std::vector<Half> halves(70000, Half{0x3c00});
    floats[30000] = negative_first ? -0.0F : 0.0F;
    floats[40000] = negative_first ? 0.0F : -0.0F;
    expect_unique(device, floats, "zeros");
    // One pattern of each value, at both ends of the order; then several.
    halves[100] = Half{static_cast<std::uint16_t>(negative_first ? 0x8000 : 0)};
    halves[69997] = Half{0xfc00};
    halves[69998] = Half{static_cast<std::uint16_t>(negative_first ? 0xffff : 0x7c01)};
    expect_unique(device, halves, "a NaN");
    halves[69999] = Half{static_cast<std::uint16_t>(negative_first ? 0x7e00 : 0xfe01)};
    expect_unique(device, halves, "NaNs");
    halves[69999] = Half{0x7c00};
    halves[200] = Half{static_cast<std::uint16_t>(negative_first ? 0 : 0x8000)};
    expect_unique(device, halves, "zeros of f16");
  }
}

TEST_P(UniqueTest, OnlyWhatIsAskedFor) {
  const std::vector<int> data{5, 5, 3, 3, 3, 5};
  const Runs<int> values = run_length(device.upload(data), {.lengths = false, .starts = false}).read();
  EXPECT_EQ(values.values, (std::vector<int>{5, 3, 5}));
  EXPECT_TRUE(values.lengths.empty());
  EXPECT_TRUE(values.starts.empty());
  EXPECT_TRUE(run_length(device.upload(data), {.lengths = false}).read().lengths.empty());
  const Unique<int> inverse = unique(device, data, {.counts = false, .indices = false, .inverse = true});
  EXPECT_TRUE(inverse.counts.empty());
  EXPECT_TRUE(inverse.indices.empty());
  EXPECT_EQ(inverse.inverse, (std::vector<std::uint64_t>{1, 1, 0, 0, 0, 1}));
}

TEST_P(UniqueTest, RunTimeTypesAndBools) {
  const std::vector<std::int32_t> data = reference::data_of<std::int32_t>(Shape::special, 3000);
  const Unique<std::int32_t> expected = reference::unique(data);
  const UniqueArrays found = unique(device, ArrayView(data), {.indices = true, .inverse = true});
  EXPECT_EQ(found.values.dtype, Dtype::i32);
  EXPECT_EQ(differences(typed<std::int32_t>(found), expected), "");
  const bool flags[] = {true, false, true, true};
  EXPECT_EQ(unique(device, flags).values, (std::vector<std::uint8_t>{0, 1}));
  EXPECT_EQ(run_length(device, flags).lengths, (std::vector<std::uint64_t>{1, 1, 2}));
}

TEST_P(UniqueTest, OnAStream) {
  const std::vector<float> data = reference::data_of<float>(Shape::few, 100000);
  const Buffer<float> buffer = device.upload(data);
  Stream stream(device);
  auto distinct = unique(stream, buffer, Dtype::f32, {.indices = true, .inverse = true});
  auto runs = run_length(stream, buffer, Dtype::f32);
  const DeviceUnique<std::byte> found = distinct.get();
  const Unique<float> typed_found{detail::typed<float>(found.values).read(), found.counts.read(), found.indices.read(),
                                  found.inverse.read()};
  EXPECT_EQ(differences(typed_found, reference::unique(data)), "");
  EXPECT_EQ(runs.get().lengths.read(), reference::run_length(data).lengths);
  EXPECT_EQ(unique(stream, buffer.slice(0, 0), Dtype::f32).get().values.size(), 0U);
  const std::vector<std::int16_t> counted = reference::data_of<std::int16_t>(Shape::few, 100000);
  const Buffer<std::int16_t> shorts = device.upload(counted);
  const Buffer<std::byte> room(device, unique_workspace(device, Dtype::i16, counted.size()));
  const DeviceUnique<std::byte> values =
      unique(stream, shorts, Dtype::i16, {.counts = false, .workspace = is_cpu() ? nullptr : &room}).get();
  EXPECT_TRUE(same_bits(detail::typed<std::int16_t>(values.values).read(), reference::unique(counted).values));
  EXPECT_EQ(values.counts.size(), 0U);
}

TEST_P(UniqueTest, WorkspaceOfTheCaller) {
  const std::vector<double> data = reference::data_of<double>(Shape::special, 5000);
  if (lacks(Dtype::f64)) GTEST_SKIP() << "no fp64";
  const Buffer<double> buffer = device.upload(data);
  const UniqueOptions everything{.indices = true, .inverse = true};
  const std::uint64_t bytes = unique_workspace(device, Dtype::f64, data.size(), everything);
  const std::uint64_t run_bytes = run_length_workspace(device, Dtype::f64, data.size());
  EXPECT_EQ(unique_workspace(device, Dtype::f64, 0), 0U);
  if (is_cpu()) {
    EXPECT_EQ(bytes, 0U);
    EXPECT_EQ(run_bytes, 0U);
    return;
  }
  const Buffer<std::byte> memory(device, std::max(bytes, run_bytes) + 16);
  const Buffer<std::byte> exact = memory.slice(16, bytes);
  UniqueOptions with = everything;
  with.workspace = &exact;
  EXPECT_EQ(differences(unique(buffer, with).read(), reference::unique(data)), "");
  const Buffer<std::byte> for_runs = memory.slice(16, run_bytes);
  EXPECT_EQ(differences(run_length(buffer, {.workspace = &for_runs}).read(), reference::run_length(data)), "");
  const Buffer<std::byte> small = memory.slice(16, bytes - 1);
  with.workspace = &small;
  MASU_EXPECT_ERROR((void)unique(buffer, with), invalid_argument, "unique: workspace must be at least");
  const Buffer<std::byte> odd = memory.slice(8, run_bytes);
  MASU_EXPECT_ERROR((void)run_length(buffer, {.workspace = &odd}), invalid_argument, "a multiple of 16");
}

TEST_P(UniqueTest, Refusals) {
  const Buffer<std::uint8_t> bytes = device.upload(std::vector<std::uint8_t>(7));
  MASU_EXPECT_ERROR((void)unique(bytes, Dtype::u32), invalid_argument,
                    "unique: size must be a multiple of 4 bytes (u32), got 7");
  MASU_EXPECT_ERROR((void)run_length(bytes, Dtype::f64), invalid_argument,
                    "run_length: size must be a multiple of 8 bytes (f64), got 7");
  MASU_EXPECT_ERROR((void)unique(device, ArrayView(Dtype::u8, nullptr, std::uint64_t{1} << 60)), invalid_argument,
                    "unique: at most 2^48 elements");
  MASU_EXPECT_ERROR((void)unique_workspace(device, Dtype::u8, std::uint64_t{1} << 60), invalid_argument,
                    "at most 2^48");
  if (is_cpu()) return;
  const Buffer<std::uint64_t> number(device, 1);
  const Buffer<std::uint64_t> few(device, 6);
  Stream stream(device, Timing::off);
  MASU_EXPECT_ERROR((void)run_length(stream, bytes, Dtype::u8, {bytes, number}), invalid_argument,
                    "run_length: the values and data must not overlap");
  MASU_EXPECT_ERROR((void)unique(stream, bytes, Dtype::u8,
                                 {device.upload(std::vector<std::uint8_t>(7)), number, nullptr, nullptr, &few}),
                    invalid_argument, "unique: the inverse must have 56 bytes (7 x 8), got 48");
  Stream elsewhere(Device::open("cpu"));
  MASU_EXPECT_ERROR((void)run_length(elsewhere, bytes, Dtype::u8), invalid_argument, "of one device");
}

TEST_P(UniqueTest, Times) {
  Times times{-1, -1};
  (void)unique(device, reference::data_of<float>(Shape::few, 1000), {.times = &times});
  EXPECT_GT(times.compute, 0);
  EXPECT_GE(times.transfer, 0);
  times = {-1, -1};
  const Buffer<std::uint32_t> there = device.upload(reference::data_of<std::uint32_t>(Shape::few, 1000));
  (void)run_length(there, {.times = &times});
  EXPECT_GT(times.compute, 0);
  EXPECT_GE(times.transfer, 0);
}

TEST_P(UniqueTest, ManyThreads) {
  const std::vector<std::int32_t> data = reference::data_of<std::int32_t>(Shape::few, 30000);
  const Unique<std::int32_t> expected = reference::unique(data);
  std::vector<std::string> found(4);
  std::vector<std::thread> threads;
  for (std::string& text : found) {
    threads.emplace_back(
        [&] { text = differences(unique(device, data, {.indices = true, .inverse = true}), expected); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found, std::vector<std::string>(4));
}

// However the pieces are cut, the result is that of all.
TEST_P(UniqueTest, Pieces) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::u8, Dtype::i32}) {
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      std::vector<T> data = reference::data_of<T>(Shape::special, 3000);
      const std::vector<T> more = reference::data_of<T>(Shape::random_bits, 3000);
      data.insert(data.end(), more.begin(), more.end());
      Unique<T> expected = reference::unique(data);
      expected.indices.clear();
      expected.inverse.clear();
      UniqueAccumulator accumulator(device, dtype);
      EXPECT_EQ(accumulator.result().size(), 0U);
      std::size_t first = 0;
      for (std::size_t length = 0; first < data.size(); length = length * 2 % 997 + 1) {
        const std::size_t size = std::min(length, data.size() - first);
        accumulator.add(ArrayView(dtype, data.data() + first, size));
        first += size;
        if (length == 3) (void)accumulator.result();
      }
      EXPECT_EQ(accumulator.count(), data.size());
      EXPECT_EQ(differences(typed<T>(accumulator.result()), expected), "") << to_string(dtype);
      EXPECT_EQ(accumulator.memory_bytes(), expected.values.size() * (sizeof(T) + 8));
      EXPECT_GT(accumulator.times().compute, 0);
    });
  }
  UniqueAccumulator accumulator(device, Dtype::u8);
  MASU_EXPECT_ERROR(accumulator.add(ArrayView(Dtype::i8, nullptr, 0)), invalid_argument,
                    "data must be u8 as before, got i8");
}

TEST(Unique, DeviceForHostData) {
  EXPECT_EQ(unique(std::vector<int>{3, 1, 3}).counts, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(run_length(std::vector<int>{3, 1, 3}).starts, (std::vector<std::uint64_t>{0, 1, 2}));
}

}  // namespace
}  // namespace masu
