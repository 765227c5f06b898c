// SPDX-License-Identifier: Apache-2.0
// Every function of the CPU with one thread, with several, and called by several threads at a time: the same bytes.
// Enough elements that the work is divided. What ThreadSanitizer runs.
#include <gtest/gtest.h>
#include <masu/masu.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace masu {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
void append(Bytes& to, std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  to.insert(to.end(), bytes.begin(), bytes.end());
}
void append(Bytes& to, const ArrayView& values) {
  append(to, std::span(static_cast<const std::byte*>(values.data), values.count * size_of(values.dtype)));
}
template <class... Lists>
Bytes bytes_of(const Lists&... lists) {
  Bytes result;
  (append(result, std::span(std::as_const(lists))), ...);
  return result;
}

struct Call {
  std::string name;
  std::function<Bytes()> run;
};

constexpr std::size_t rows = 3;
constexpr std::size_t count = rows * 50'021;

template <class T>
class ThreadsTest : public ::testing::Test {
 protected:
  ThreadsTest() {
    std::mt19937_64 random(7);
    for (T& element : x_) element = static_cast<T>(random() % 251);
    for (T& element : y_) element = static_cast<T>(random() % 17);
    for (auto& index : indices_) index = random() % count;
    for (std::size_t i = 0; i < count; ++i) order_[i] = static_cast<std::uint32_t>((i * 7919) % count);
    sorted_ = x_;
    std::ranges::sort(sorted_);
  }
  ~ThreadsTest() override { set_cpu_threads(0); }

  // What each function gives, as bytes.
  [[nodiscard]] std::vector<Call> calls() const {
    std::vector<Call> all = orders();
    std::ranges::move(counts_and_sums(), std::back_inserter(all));
    if constexpr (std::is_floating_point_v<T>) {
      all.push_back({"sum_columns", [this] {
                       std::vector<T> sums(count / rows);
                       sum_columns(ArrayView(x_), count / rows, MutableArrayView(sums));
                       return bytes_of(sums);
                     }});
    }
    return all;
  }

 private:
  [[nodiscard]] std::vector<Call> orders() const {
    return {
        {"sort",
         [this] {
           std::vector<T> keys = x_;
           sort(cpu_, keys);
           return bytes_of(keys);
         }},
        {"sort of rows, descending",
         [this] {
           std::vector<T> keys = x_;
           sort(cpu_, keys, {.order = Order::descending, .rows = rows});
           return bytes_of(keys);
         }},
        {"sort_by_key",
         [this] {
           std::vector<T> keys = x_;
           std::vector<std::uint32_t> values = order_;
           sort_by_key(cpu_, MutableArrayView(keys), RecordsView(values));
           return bytes_of(keys, values);
         }},
        {"argsort",
         [this] {
           std::vector<std::uint32_t> found(count);
           argsort(cpu_, ArrayView(x_), MutableArrayView(found));
           return bytes_of(found);
         }},
        {"topk",
         [this] {
           const TopkResult top = topk(cpu_, x_, 100);
           Bytes result;
           append(result, top.view());
           return result;
         }},
        {"unique",
         [this] {
           const auto found = unique(cpu_, x_, {.counts = true, .indices = true, .inverse = true});
           return bytes_of(found.values, found.counts, found.indices, found.inverse);
         }},
        {"run_length",
         [this] {
           const auto found = run_length(cpu_, x_, {});
           return bytes_of(found.values, found.lengths);
         }},
        {"group",
         [this] {
           const Groups found = group(cpu_, indices_, count);
           return bytes_of(found.counts, found.offsets, found.order);
         }},
        {"searchsorted", [this] { return bytes_of(searchsorted(cpu_, sorted_, y_)); }},
        {"quantiles",
         [this] {
           return bytes_of(quantiles(cpu_, x_, std::vector{0.1, 0.5, 0.9}));
         }},
        {"partition",
         [this] {
           std::vector<T> parts = x_;
           partition(cpu_, MutableArrayView(parts), count / 3);
           const auto middle = parts.begin() + count / 3;
           std::sort(parts.begin(), middle);  // either side may be in any order
           std::sort(middle, parts.end());
           return bytes_of(parts);
         }},
        {"gather", [this] { return bytes_of(gather(cpu_, x_, indices_)); }},
        {"scatter",
         [this] {
           std::vector<T> out(count);
           scatter(cpu_, x_, order_, out);
           return bytes_of(out);
         }},
        {"transpose", [this] { return bytes_of(transpose(cpu_, x_, rows, count / rows)); }},
        {"convert", [this] { return bytes_of(convert<float>(cpu_, x_), convert<std::int16_t>(cpu_, x_)); }},
    };
  }

  [[nodiscard]] std::vector<Call> counts_and_sums() const {
    const Bins even = Bins::even(100, 0, 200);
    const Bins given = Bins::edges({0, 1, 3, 10, 11, 50, 240});
    return {
        {"histogram", [=, this] { return histogram(cpu_, x_, even).bytes(); }},
        {"histogram by edges", [=, this] { return histogram(cpu_, x_, given).bytes(); }},
        {"histogram of many bins", [this] { return histogram(cpu_, x_, Bins::even(300'000, 0, 251)).bytes(); }},
        {"row_histograms", [=, this] { return bytes_of(row_histograms(cpu_, x_, rows, even).counts()); }},
        {"joint_histogram",
         [=, this] {
           return bytes_of(joint_histogram(cpu_, {ArrayView(x_), ArrayView(y_)}, {even, given}).counts());
         }},
        {"weighted_histogram", [=, this] { return bytes_of(weighted_histogram(cpu_, x_, y_, given).totals()); }},
        {"sums",
         [this] {
           const ArrayView x(x_);
           return bytes_of(std::vector{sum(cpu_, x).value(), dot(cpu_, x, ArrayView(y_)).value(),
                                       norm2(cpu_, x).value(), mean(cpu_, x, {.rows = rows}).value(2),
                                       variance(cpu_, x).value()});
         }},
        {"reduce",
         [this] {
           const ReduceResult ends = reduce(cpu_, x_, ReduceOp::minmax, {.rows = rows});
           Bytes result = bytes_of(ends.min_indices(), ends.max_indices());
           append(result, ends.min_values());
           append(result, ends.max_values());
           return result;
         }},
        {"scan", [this] { return bytes_of(scan(cpu_, x_), scan(cpu_, x_, {.op = ScanOp::max, .rows = rows})); }},
        {"compact",
         [this] {
           std::vector<T> kept(count);
           std::vector<std::uint8_t> flags(count);
           std::ranges::transform(y_, flags.begin(), [](T value) { return value > T{8}; });
           kept.resize(compact(cpu_, ConstRecordsView(x_), ArrayView(flags), RecordsView(kept)));
           return bytes_of(kept);
         }},
    };
  }

  const Device cpu_ = Device::open("cpu");
  std::vector<T> x_ = std::vector<T>(count);
  std::vector<T> y_ = std::vector<T>(count);
  std::vector<T> sorted_;
  std::vector<std::uint64_t> indices_ = std::vector<std::uint64_t>(count);
  std::vector<std::uint32_t> order_ = std::vector<std::uint32_t>(count);
};
using Types = ::testing::Types<std::uint8_t, std::int64_t, float, double>;
TYPED_TEST_SUITE(ThreadsTest, Types);

TYPED_TEST(ThreadsTest, GiveTheSameBytes) {
  const std::vector<Call> calls = this->calls();
  std::vector<Bytes> alone;
  set_cpu_threads(1);
  for (const Call& call : calls) alone.push_back(call.run());
  set_cpu_threads(4);
  for (std::size_t i = 0; i < calls.size(); ++i) EXPECT_TRUE(calls[i].run() == alone[i]) << calls[i].name;

  // Each of these threads begins elsewhere, so that different functions meet.
  std::vector<std::vector<std::string>> wrong(3);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < calls.size(); ++i) {
        const std::size_t at = (i + t * calls.size() / wrong.size()) % calls.size();
        if (calls[at].run() != alone[at]) wrong[t].push_back(calls[at].name);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& names : wrong) EXPECT_EQ(names, std::vector<std::string>());
}

}  // namespace
}  // namespace masu
