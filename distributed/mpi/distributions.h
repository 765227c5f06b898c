// SPDX-License-Identifier: Apache-2.0
// What tests distribute over the ranks, and how.
#pragma once

#include <gtest/gtest.h>
#include <masu/dtype.h>
#include <masu/mpi/group.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <string>
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
    if constexpr (std::is_same_v<T, Half>) {
      small[i] = Half{static_cast<std::uint16_t>(0x3c00 + random() % 0x400)};
    } else {
      small[i] = static_cast<T>(random() % 100);
    }
    zeros[i] = from_bits<T>((random() % 2) << (8 * sizeof(T) - 1));
  }
  std::vector<T> up = small;
  std::sort(up.begin(), up.end(), [](T a, T b) {
    if constexpr (std::is_same_v<T, Half>) return a.bits < b.bits;
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

}  // namespace masu::mpi::test
