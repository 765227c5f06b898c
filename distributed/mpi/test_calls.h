// SPDX-License-Identifier: Apache-2.0
// What tests distribute over the ranks, and what calls return or throw, compared bit for bit.
#pragma once

#include <gtest/gtest.h>
#include <masu/masu.h>
#include <masu/mpi.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace masu::mpi::test {

inline int rank() {
  int number = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &number);
  return number;
}
inline int ranks() {
  int number = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &number);
  return number;
}

// Where the ranks' parts of n elements begin, and n at the end.
using Cuts = std::vector<std::size_t>;

// Even parts, all on one rank, one element each, nothing on every other rank.
inline std::vector<Cuts> all_cuts(std::size_t n) {
  const auto parts = static_cast<std::size_t>(ranks());
  const auto with = [&](const std::function<std::size_t(std::size_t)>& begin) {
    Cuts cuts(parts + 1);
    for (std::size_t r = 0; r <= parts; ++r) cuts[r] = r == parts ? n : std::min(n, r == 0 ? 0 : begin(r));
    return cuts;
  };
  std::vector<Cuts> result{with([&](std::size_t r) { return n * r / parts; })};
  if (parts == 1) return result;
  result.push_back(with([&](std::size_t) { return n; }));                          // all on the first
  result.push_back(with([&](std::size_t) { return std::size_t{0}; }));             // all on the last
  result.push_back(with([&](std::size_t r) { return r; }));                        // one each, then all the rest
  result.push_back(with([&](std::size_t r) { return n * (r / 2 * 2) / parts; }));  // every other one empty
  return result;
}

template <class T>
std::span<const T> part_of(const std::vector<T>& all, const Cuts& cuts) {
  const auto r = static_cast<std::size_t>(rank());
  return std::span(all).subspan(cuts[r], cuts[r + 1] - cuts[r]);
}

template <class T>
T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// The same on every rank: random bits (so floats of all sizes, NaNs and infinities among them), few values, sorted,
// against the ranks, all equal, zeros of both signs.
template <class T>
std::vector<std::vector<T>> all_data(std::size_t n) {
  std::mt19937_64 random(n);
  std::vector<T> bits(n);
  std::vector<T> few(n);
  std::vector<T> small(n);
  std::vector<T> zeros(n);
  for (std::size_t i = 0; i < n; ++i) {
    bits[i] = from_bits<T>(random());
    few[i] = from_bits<T>((random() % 5) << (8 * sizeof(T) - 3));
    if constexpr (is_float(dtype_of<T>) && sizeof(T) == 2) {
      small[i] = T{static_cast<std::uint16_t>(0x3c00 + random() % 0x400)};
    } else {
      small[i] = static_cast<T>(random() % 100);
    }
    zeros[i] = from_bits<T>((random() % 2) << (8 * sizeof(T) - 1));
  }
  std::vector<T> up = small;
  std::sort(up.begin(), up.end(), [](T a, T b) {
    if constexpr (is_float(dtype_of<T>) && sizeof(T) == 2) return a.bits < b.bits;
    else return a < b;
  });
  const std::vector<T> down(up.rbegin(), up.rend());
  return {bits, few, small, up, down, std::vector<T>(n, n == 0 ? T{} : small[0]), zeros};
}

template <class T>
std::vector<std::uint64_t> bits_of(std::span<const T> values) {
  std::vector<std::uint64_t> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(&result[i], &values[i], sizeof(T));
  return result;
}

// Calls f(x, cuts) for all data of n elements; of each kind of data in some distributions, of all kinds together in
// all. Messages between more ranks than there are cores take milliseconds: not every pair is tried.
template <class T, class F>
void each_distribution(std::initializer_list<std::size_t> sizes, const F& f) {
  std::size_t turn = 0;
  for (const std::size_t n : sizes) {
    const std::vector<std::vector<T>> data = all_data<T>(n);
    const std::vector<Cuts> cuts = all_cuts(n);
    for (std::size_t i = 0; i < (n < 3 ? cuts.size() : data.size()); ++i, ++turn) {
      const std::size_t kind = i % data.size();
      const std::size_t number = turn % cuts.size();
      SCOPED_TRACE(std::string(to_string(dtype_of<T>)) + ", " + std::to_string(n) + " elements, data " +
                   std::to_string(kind) + ", distribution " + std::to_string(number));
      f(data[kind], cuts[number]);
    }
  }
}

// Quantiles of any data begin with a sample of so many elements, as long as this lives.
class Sampled {
 public:
  explicit Sampled(std::uint64_t samples)
      : least_(std::exchange(detail::least_sampled, {0, 0})),
        samples_(std::exchange(detail::quantile_samples, {samples, samples})),
        each_(std::exchange(detail::quantile_samples_a_rank, 1)) {}
  ~Sampled() {
    detail::least_sampled = least_;
    detail::quantile_samples = samples_;
    detail::quantile_samples_a_rank = each_;
  }
  Sampled(const Sampled&) = delete;
  Sampled& operator=(const Sampled&) = delete;

 private:
  std::array<std::uint64_t, 2> least_;
  std::array<std::uint64_t, 2> samples_;
  std::uint64_t each_;
};

// What a call returns or throws, as bytes.
template <class F>
detail::Bytes outcome(const F& call) {
  detail::Bytes result;
  const auto add = [&](const void* data, std::size_t size) {
    const auto* first = static_cast<const std::byte*>(data);
    result.insert(result.end(), first, first + size);
  };
  const auto add_array = [&](const ArrayView& x) { add(x.data, x.count * size_of(x.dtype)); };
  const auto add_all = [&](const auto& numbers) { add(numbers.data(), numbers.size() * sizeof(numbers[0])); };
  try {
    const auto found = call();
    using Found = std::remove_cvref_t<decltype(found)>;
    if constexpr (std::is_same_v<Found, ReduceResult>) {
      if (found.op() == ReduceOp::count_nonzero) {
        add_all(found.nonzero());
      } else {
        if (found.op() != ReduceOp::max) add_array(found.min_values());
        if (found.op() != ReduceOp::min) add_array(found.max_values());
        if (found.op() != ReduceOp::max) add_all(found.min_indices());
        if (found.op() != ReduceOp::min) add_all(found.max_indices());
      }
    } else if constexpr (std::is_same_v<Found, Histogram> || std::is_same_v<Found, JointHistogram>) {
      result = found.bytes();
    } else if constexpr (std::is_same_v<Found, WeightedHistogram>) {
      add_all(found.totals());
      add_all(found.extra_totals());
      add_all(found.variances());
    } else if constexpr (std::is_same_v<Found, TopkResult>) {
      add_array(found.view());
      add_all(found.indices());
    } else if constexpr (std::is_same_v<Found, SumResult>) {
      const std::uint64_t bits = found.dtype() == Dtype::i64   ? std::bit_cast<std::uint64_t>(found.signed_integer())
                                 : found.dtype() == Dtype::u64 ? found.unsigned_integer()
                                                               : std::bit_cast<std::uint64_t>(found.value());
      add(&bits, sizeof bits);
    } else if constexpr (std::is_same_v<Found, UniqueArrays>) {
      result = found.values.bytes;
      add_all(found.counts);
    } else if constexpr (std::is_same_v<Found, double>) {
      add(&found, sizeof found);
    } else {
      for (const auto& one : found) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(one)>, Quantile>) {
          add(&one.value, sizeof one.value);
          add(&one.bits, sizeof one.bits);
        } else {
          add(&one, sizeof one);
        }
      }
    }
  } catch (const Error& error) {
    result.assign(1, static_cast<std::byte>(error.code()));
  }
  return result;
}

template <class F, class G>
void expect_same(const char* function, const F& distributed, const G& alone) {
  EXPECT_EQ(outcome(distributed), outcome(alone)) << function;
}

}  // namespace masu::mpi::test
