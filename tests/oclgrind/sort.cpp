// SPDX-License-Identifier: Apache-2.0
// Radix sort on the device opencl:0, small, against std::stable_sort: what check.sh runs under Oclgrind. Everything is
// launched from this one thread.
//
//   oclgrind_sort local|local_values|local_indices|passes|passes_values|passes_indices|gathered|is_sorted|
//                 buckets|buckets_floats|buckets_packed|counting
#include "sort/device/sort_counting.h"
#include "sort/device/sort_few.h"
#include "sort/device/sort_keys.h"
#include "sort/device/sort_plan.h"
#include "sort_data.h"

#include <masu/device.h>

#include <array>

namespace masu::oclgrind {
namespace {

// `pieces` of `length` keys: rows, or segments with some keys before and behind them.
struct Shape {
  std::size_t pieces;
  std::size_t length;
  bool segments = false;
};

template <class T>
class Case {
 public:
  Case(const Device& device, const Shape& shape, Order order)
      : device_(device), margin_(shape.segments ? 3 : 0), count_(shape.pieces * shape.length + 2 * margin_) {
    keys_ = make_keys<T>(count_);
    const std::vector<T> inner(keys_.begin() + margin(), keys_.end() - margin());
    const std::vector<std::uint32_t> of_pieces = order_of(inner, shape.length, order);
    from_.resize(count_);
    std::iota(from_.begin(), from_.end(), 0U);
    for (std::size_t i = 0; i < of_pieces.size(); ++i) {
      const std::size_t begin = margin_ + i / shape.length * shape.length;
      from_[margin_ + i] = static_cast<std::uint32_t>(begin + of_pieces[i]);
    }
    for (std::size_t piece = 0; shape.segments && piece <= shape.pieces; ++piece) {
      segments_.push_back(margin_ + piece * shape.length);
    }
    options_.order = order;
    options_.algorithm = SortAlgorithm::radix;
    if (shape.segments) options_.segments = segments_;
    else options_.rows = shape.pieces;
    piece_length_ = shape.length;
  }

  void in_place() {
    Buffer<T> data = device_.upload(keys_);
    sort(data, options_);
    expect_keys(data);
  }

  void elsewhere() {
    const Buffer<T> source = device_.upload(keys_);
    Buffer<T> result(device_, count_);
    sort(source, dtype_of<T>, result, options_);
    expect_keys(result);
  }

  template <class Value>
  void with_values() {
    Buffer<T> data = device_.upload(keys_);
    std::vector<Value> values(count_);
    for (std::size_t i = 0; i < count_; ++i) values[i] = value_of<Value>(i);
    Buffer<Value> moved = device_.upload(values);
    sort_by_key(data, moved, options_);
    expect_keys(data);
    const std::vector<Value> got = moved.read();
    for (std::size_t i = 0; i < count_; ++i) expect(got[i] == value_of<Value>(from_[i]), "values");
  }

  template <class Index>
  void indices() {
    const Buffer<T> data = device_.upload(keys_);
    Buffer<Index> found(device_, count_);
    argsort(data, dtype_of<T>, found, dtype_of<Index>, options_);
    const std::vector<Index> got = found.read();
    for (std::size_t i = 0; i < count_; ++i) {
      const bool outside = i < margin_ || i >= count_ - margin_;
      const std::size_t begin = outside ? 0 : margin_ + (i - margin_) / piece_length_ * piece_length_;
      expect(got[i] + begin == from_[i], "indices");
    }
  }

  void checked() {
    const Buffer<T> data = device_.upload(keys_);
    expect(!is_sorted(data, options_), "not sorted");
    std::vector<T> sorted;
    for (const std::uint32_t from : from_) sorted.push_back(keys_[from]);
    expect(is_sorted(device_.upload(sorted), options_), "sorted");
  }

 private:
  [[nodiscard]] std::ptrdiff_t margin() const { return static_cast<std::ptrdiff_t>(margin_); }
  template <class Value>
  static Value value_of(std::size_t i) {
    if constexpr (std::is_integral_v<Value>) return static_cast<Value>(i);
    else return {static_cast<typename Value::value_type>(i), static_cast<typename Value::value_type>(i >> 8U)};
  }
  void expect_keys(const Buffer<T>& data) const {
    const std::vector<T> got = data.read();
    for (std::size_t i = 0; i < count_; ++i) expect(same_bits(got[i], keys_[from_[i]]), "keys");
  }

  const Device& device_;
  std::size_t margin_;
  std::size_t count_;
  std::size_t piece_length_ = 0;
  std::vector<T> keys_;
  std::vector<std::uint32_t> from_;  // the place in the input of each key of the result
  std::vector<std::uint64_t> segments_;
  SortOptions options_;
};

// Keys for the sort from a histogram on, which GPUs take by themselves for many keys only. All but a few share their
// first digit; those of `same` are too many for one bin.
template <class T>
std::vector<T> bucket_keys(std::size_t count) {
  std::vector<T> keys(count);
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    const std::uint32_t number = state >> 8U;
    const bool same = i % 16 == 3;
    const std::uint32_t bits = i % 32 == 0 ? number * 255U : same ? 0x40123400U | (number & 7U) : 0x40000000U | number;
    if constexpr (std::is_floating_point_v<T>) keys[i] = std::bit_cast<T>((bits & ~0x04000000U) | 1U);
    else keys[i] = bits;
  }
  return keys;
}

// Sorts what begins at place 1 of `keys`, in place or elsewhere, by `sorter`.
template <class T, class Sorter>
void sort_alone(const Device& device, std::vector<T> keys, Order order, bool in_place, const Sorter& sorter) {
  const Buffer<T> all = device.upload(keys);
  const Buffer<T> other(device, keys.size());
  const Buffer<T> from = all.slice(1, keys.size() - 1);
  const Buffer<T> to = (in_place ? all : other).slice(1, keys.size() - 1);
  {
    Stream stream(device);
    DeviceWork work;
    sorter(stream, Arrays{dtype_of<T>, order, &from, &to}, from.size(), work);
    stream.finish();
  }
  std::ranges::stable_sort(keys.begin() + 1, keys.end(), {}, [&](T key) { return sort_key(key, order); });
  const std::vector<T> got = to.read();
  expect(std::equal(got.begin(), got.end(), keys.begin() + 1, same_bits<T>), "keys");
  if (in_place) expect(same_bits(all.read()[0], keys[0]), "what stands in front");
}

template <class T>
void buckets(const Device& device, std::size_t count, Order order, bool in_place) {
  sort_alone(device, bucket_keys<T>(count), order, in_place,
             [](Stream& stream, const Arrays& arrays, std::uint64_t number, DeviceWork& work) {
               sort_keys::sort(stream, arrays, number, nullptr, work);
             });
}

// Records beside packed keys; the values are the places.
void packed(const Device& device, std::size_t count) {
  std::vector<float> keys = bucket_keys<float>(count);
  for (std::size_t i = 0; i < count; i += 100) keys[i] = i % 200 == 0 ? -0.0F : 0.0F;
  std::vector<std::uint32_t> places(count);
  std::iota(places.begin(), places.end(), 0U);
  const Buffer<float> there = device.upload(keys);
  Buffer<std::uint32_t> moved = device.upload(places);
  {
    Stream stream(device);
    DeviceWork work;
    const Payload payload{Payload::Kind::records, &moved, 4};
    sort_keys::sort(stream, {Dtype::f32, Order::ascending, &there, &there, payload}, count, nullptr, work);
    stream.finish();
  }
  std::ranges::stable_sort(places, [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
  expect(moved.read() == places, "places");
  const std::vector<float> sorted = there.read();
  for (std::size_t i = 0; i < count; ++i) expect(same_bits(sorted[i], keys[places[i]]), "keys");
}

// Keys that are not crowded, by buckets that local memory holds.
template <class T>
void few(const Device& device, std::size_t count, Order order, bool in_place) {
  std::vector<T> keys = make_keys<T>(count);
  constexpr std::uint64_t halves = sizeof(T) == 8 ? 0x100000001 : 1;  // keys go to buckets by their upper 32 bits
  for (std::size_t i = 0; i < count; ++i) keys[i] = static_cast<T>((keys[i] % 3 * 40 + i * 7919 % count) * halves);
  sort_alone(device, keys, order, in_place,
             [](Stream& stream, const Arrays& arrays, std::uint64_t number, DeviceWork& work) {
               sort_few::sort(stream, arrays, number, nullptr, work);
             });
}

template <class T>
void counting(const Device& device, std::size_t count, Order order, bool in_place) {
  sort_alone(device, make_keys<T>(count), order, in_place,
             [](Stream& stream, const Arrays& arrays, std::uint64_t number, DeviceWork& work) {
               sort_counting::sort(stream, arrays, number, nullptr, work);
             });
}

void run_case(const Device& device, const std::string& name) {
  // Just too long for one tile.
  const auto longer = [&](Dtype dtype, std::size_t value_bytes) {
    return sort_plan::make(device.info(), dtype, value_bytes, 1, false).tile() + 37;
  };
  using Record3 = std::array<std::uint8_t, 3>;
  using Record16 = std::array<std::uint64_t, 2>;
  if (name == "local") {
    Case<float>(device, {1, 300}, Order::descending).in_place();
    Case<std::int8_t>(device, {3, 100}, Order::ascending).elsewhere();
    Case<std::uint64_t>(device, {2, 100, true}, Order::ascending).elsewhere();
  } else if (name == "local_values") {
    Case<Half>(device, {2, 100, true}, Order::descending).with_values<std::uint16_t>();
    Case<std::uint8_t>(device, {1, 100}, Order::ascending).with_values<std::uint64_t>();
    Case<std::int16_t>(device, {1, 100}, Order::ascending).with_values<Record16>();
  } else if (name == "local_indices") {
    Case<std::uint8_t>(device, {2, 100, true}, Order::descending).indices<std::uint32_t>();
    Case<double>(device, {1, 100}, Order::descending).indices<std::uint64_t>();
  } else if (name == "passes") {
    Case<std::uint8_t>(device, {1, longer(Dtype::u8, 0)}, Order::descending).in_place();
    Case<double>(device, {1, longer(Dtype::f64, 0)}, Order::ascending).elsewhere();
  } else if (name == "passes_values") {
    Case<std::int16_t>(device, {1, longer(Dtype::i16, 4), true}, Order::descending).with_values<std::uint32_t>();
  } else if (name == "passes_indices") {
    Case<std::uint8_t>(device, {1, longer(Dtype::u8, 8)}, Order::ascending).indices<std::uint64_t>();
  } else if (name == "gathered") {
    Case<std::int8_t>(device, {3, 50, true}, Order::ascending).with_values<Record3>();
  } else if (name == "is_sorted") {
    Case<float>(device, {3, 30, true}, Order::descending).checked();
    Case<std::int64_t>(device, {3, 30}, Order::ascending).checked();
  } else if (name == "buckets") {
    buckets<std::uint32_t>(device, 7001, Order::ascending, true);
  } else if (name == "buckets_floats") {
    buckets<float>(device, 7001, Order::descending, false);
  } else if (name == "buckets_packed") {
    packed(device, 6001);
  } else if (name == "few") {
    few<std::int32_t>(device, 3001, Order::descending, true);
    few<std::uint64_t>(device, 1501, Order::ascending, false);
  } else if (name == "counting") {
    counting<std::int8_t>(device, 5001, Order::descending, true);
    counting<std::uint16_t>(device, 3001, Order::ascending, false);
    counting<Half>(device, 3001, Order::ascending, true);
  } else {
    throw std::runtime_error("no such kernel: " + name);
  }
}

}  // namespace
}  // namespace masu::oclgrind

int main(int count, char** arguments) {
  return masu::oclgrind::run(count, arguments, masu::oclgrind::run_case);
}
