// SPDX-License-Identifier: Apache-2.0
// The kernels of runs and of searching on the device opencl:0, small, against plain loops: what check.sh runs under
// Oclgrind. Everything is launched from this one thread.
//
//   oclgrind_unique_search runs|search
#include "expect.h"

#include "search/search_plan.h"
#include "unique/unique_plan.h"
#include "unique/unique_reference.h"

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

constexpr unsigned group = 16;  // a tile is 512 elements then
constexpr std::uint64_t spans = 3;

template <class T>
void find_runs(const Device& device, const std::vector<T>& data, const std::string& name) {
  const Buffer<T> buffer = padded(device, data);
  const Runs<T> expected = reference::run_length(data);
  const auto plan = unique_plan::make(as_gpu(device), dtype_of<T>, data.size(), group, spans);
  const Buffer<std::byte> memory(device, plan.workspace());
  Stream stream(device);
  DeviceRunFinder finder(stream, buffer, dtype_of<T>, data.size(), plan, memory, nullptr, 4);
  finder.mark();
  const std::uint64_t runs = finder.runs();
  expect(runs == expected.values.size(), name + ": how many");
  const Buffer<T> values(device, runs);
  const Buffer<std::uint64_t> lengths(device, runs);
  const Buffer<std::uint64_t> starts(device, runs);
  finder.write({&values, &lengths, &starts});
  stream.finish();
  expect(reference::same_bits(values.read(), expected.values) && lengths.read() == expected.lengths &&
             starts.read() == expected.starts,
         name);

  // With an order that turns everything around: the first of a run is its last, seen from there.
  const Buffer<std::uint32_t> order(device, data.size());
  const Buffer<T> copied = padded(device, std::vector<T>(data.size()));
  DeviceRunFinder ordered(stream, copied, dtype_of<T>, data.size(), plan, memory, &order, 4);
  ordered.start_order(buffer);
  ordered.mark();
  expect(ordered.runs() == runs, name + ": how many, with an order");
  const Buffer<std::uint64_t> inverse(device, data.size());
  ordered.write({nullptr, nullptr, &starts, nullptr, &inverse});
  stream.finish();
  std::vector<std::uint64_t> belongs;
  for (std::size_t r = 0; r < expected.lengths.size(); ++r) belongs.insert(belongs.end(), expected.lengths[r], r);
  expect(starts.read() == expected.starts && inverse.read() == belongs, name + ", with an order");
}

void find_all_runs(const Device& device) {
  // More tiles than spans; tiles with few starts, with many, and with none.
  std::vector<std::uint32_t> words = reference::data_of<std::uint32_t>(Shape::runs, 3000);
  const auto random = reference::data_of<std::uint32_t>(Shape::random_bits, 2500);
  words.insert(words.end(), random.begin(), random.end());
  words.insert(words.end(), 5000, 7);
  find_runs(device, words, "u32");
  find_runs(device, reference::data_of<std::uint8_t>(Shape::runs, 2100), "u8");
  find_runs(device, reference::data_of<Half>(Shape::special, 700), "f16");
  find_runs(device, reference::data_of<double>(Shape::special, 300), "f64");
  find_runs(device, std::vector<std::uint16_t>(1, 3), "one u16");
}

template <class T>
void search(const Device& device, std::size_t count, std::size_t sought, const SearchOptions& options) {
  const bool descending = options.order == Order::descending;
  const auto before = [&](T x, T y) { return descending ? reference::less(y, x) : reference::less(x, y); };
  std::vector<T> sorted = reference::data_of<T>(Shape::special, count);
  std::ranges::stable_sort(sorted, before);
  const std::vector<T> values = reference::data_of<T>(Shape::special, sought, 5);
  const Buffer<T> there = padded(device, sorted);
  const Buffer<T> wanted = padded(device, values);
  const Buffer<std::uint32_t> positions(device, sought);
  Stream stream(device);
  for (const unsigned levels : {0U, 3U, 32U}) {
    auto plan = search_plan::make(as_gpu(device), dtype_of<T>, count, sought, group, levels);
    plan.groups = std::min<std::uint64_t>(plan.groups, 2);
    search_on_device(stream, there, wanted, dtype_of<T>, positions, Dtype::u32, options, plan);
    stream.finish();
    const std::vector<std::uint32_t> found = positions.read();
    bool right = true;
    for (std::size_t i = 0; i < sought; ++i) {
      const auto place = std::ranges::count_if(
          sorted, [&](T x) { return options.side == Side::left ? before(x, values[i]) : !before(values[i], x); });
      right = right && found[i] == place;
    }
    expect(right, std::to_string(sought) + " values in " + std::to_string(count) + ", " + std::to_string(levels) +
                      " levels at most");
  }
}

void run_case(const Device& device, const std::string& name) {
  if (name == "runs") return find_all_runs(device);
  search<float>(device, 100, 300, {.side = Side::left});
  search<std::int16_t>(device, 17, 150, {.side = Side::right, .order = Order::descending});
  search<std::uint64_t>(device, 1000, 5, {.side = Side::left});
}

}  // namespace
}  // namespace masu

int main(int count, char** arguments) {
  return masu::oclgrind::run(count, arguments, masu::run_case);
}
