// SPDX-License-Identifier: Apache-2.0
/// @file
/// Quantiles, medians, the top k, distinct values of distributed data. Part of mpi.h, which says what holds.
#pragma once

#include <masu/mpi/call.h>
#include <masu/mpi/part.h>
#include <masu/quantile.h>
#include <masu/topk.h>
#include <masu/unique.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace masu::mpi {

namespace detail {

/// With fewer elements, place p is always the nearest to (n - 1) q for q = p / (n - 1) as a double. Smaller in tests.
inline std::uint64_t exact_places = std::uint64_t{1} << 51;

/// So many elements of all ranks are sampled, and at least so many a rank on average, where a rank has so many elements
/// or more on average. Two numbers: on the CPU, on other devices. Others in tests.
inline std::array<std::uint64_t, 2> quantile_samples{std::uint64_t{1} << 15, std::uint64_t{1} << 14};
inline std::uint64_t quantile_samples_a_rank = 256;
inline std::array<std::uint64_t, 2> least_sampled{std::uint64_t{1} << 18, std::uint64_t{1} << 27};

/// A finder whose passes have ended.
inline QuantileFinder find_places(Call& call, const Part& x, std::span<const double> q, QuantileMethod method) {
  // Finders of one kind of device can be merged; where there are both, all work on the CPU.
  std::array<std::uint64_t, 2> kinds{1, 1};
  call.attempt([&] { kinds[x.device().kind() == DeviceKind::cpu ? 1 : 0] = 0; });
  call.agree();
  call.group().least(kinds);
  const bool mixed = kinds[0] == 0 && kinds[1] == 0;
  std::uint64_t all_count = x.count();
  call.group().sum({&all_count, 1});
  Bytes memory;
  std::optional<Device> device;
  std::optional<QuantileFinder> finder;
  call.attempt([&] {
    device = mixed ? Device::open("cpu") : x.device();
    finder.emplace(*device, x.dtype(), q, QuantileOptions{.method = method});
    std::uint64_t samples = 0;  // of this rank, in proportion to its elements; of all ranks some or of none
    const auto ranks = static_cast<std::uint64_t>(call.group().size());
    const std::size_t kind = device->kind() == DeviceKind::cpu ? 0 : 1;
    if (all_count / ranks >= least_sampled[kind]) {
      const std::uint64_t of_all = std::max(quantile_samples[kind], ranks * quantile_samples_a_rank);
      samples = 1 + static_cast<std::uint64_t>(static_cast<double>(of_all) * static_cast<double>(x.count()) /
                                               static_cast<double>(all_count));
    }
    if (mixed || x.buffer() == nullptr) finder->hold(x.host(memory), samples);
    else finder->hold_buffer(*x.buffer(), x.dtype(), samples);
  });
  for (bool more = true; more;) {
    Bytes mine;
    call.attempt([&] { mine = finder->bytes(); });
    const Bytes all = call.combine(std::move(mine), [&](const Bytes& before, const Bytes& after) {
      QuantileFinder both = QuantileFinder::from_bytes(*device, before);
      both.merge(QuantileFinder::from_bytes(*device, after));
      return both.bytes();
    });
    call.attempt([&] {
      finder->take(all);
      more = finder->next_pass();
    });
    call.agree();
  }
  return std::move(*finder);
}

/// What `make` makes of the quantiles.
template <class F>
auto quantiles_as(MPI_Comm comm, const Part& x, std::span<const double> q, const QuantileOptions& options, int root,
                  const F& make) {
  Call call(comm, root, [&] {
    return Text("quantiles")
        .with(to_string(x.dtype()))
        .with(to_string(options.method))
        .with(std::to_string(q.size()) + " quantiles #" + std::to_string(hash_of(q.data(), q.size_bytes())));
  });
  call.attempt([&] {
    if (options.rows != 1) {
      throw Error(ErrorCode::invalid_argument, "mpi: quantiles: rows must be 1, got " + std::to_string(options.rows));
    }
  });
  const QuantileFinder found = find_places(call, x, q, options.method);
  return call.finish([&] { return make(found.result()); }, root);
}

}  // namespace detail

/// As quantile.h says on the data of all ranks. options.rows must be 1; options.times is not used.
inline std::vector<Quantile> exact_quantiles(MPI_Comm comm, const Part& x, std::span<const double> q,
                                             const QuantileOptions& options = {}, int root = all_ranks) {
  return detail::quantiles_as(comm, x, q, options, root, [](std::vector<Quantile> found) { return found; });
}
inline std::vector<double> quantiles(MPI_Comm comm, const Part& x, std::span<const double> q,
                                     const QuantileOptions& options = {}, int root = all_ranks) {
  return detail::quantiles_as(comm, x, q, options, root, [](const std::vector<Quantile>& found) {
    std::vector<double> result;
    for (const Quantile& one : found) result.push_back(one.value);
    return result;
  });
}
inline double median(MPI_Comm comm, const Part& x, int root = all_ranks) {
  detail::Call call(comm, root, [&] { return detail::Text("median").with(to_string(x.dtype())); });
  call.agree();
  std::uint64_t count = x.count();
  call.group().sum({&count, 1});
  // The one or two elements in the middle.
  std::vector<std::uint64_t> bits;
  const auto find = [&](std::span<const double> q, QuantileMethod method) {
    const QuantileFinder found = detail::find_places(call, x, q, method);
    call.attempt([&] {
      for (const Quantile& one : found.result()) bits.push_back(one.bits);
    });
  };
  constexpr std::array half{0.5};
  if (count < detail::exact_places) {
    // In the same passes.
    const double last = static_cast<double>(std::max<std::uint64_t>(count, 2) - 1);
    const std::array middle{static_cast<double>((std::max<std::uint64_t>(count, 1) - 1) / 2) / last,
                            static_cast<double>(count / 2) / last};
    find(std::span(middle).first(count % 2 == 0 ? 2 : 1), QuantileMethod::nearest);
  } else {
    find(half, QuantileMethod::lower);
    if (count % 2 == 0) find(half, QuantileMethod::higher);
  }
  const auto value = [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<T> elements(bits.size());
    for (std::size_t i = 0; i < bits.size(); ++i) std::memcpy(&elements[i], &bits[i], sizeof(T));
    return masu::median(Device::open("cpu"), ArrayView(elements));
  };
  return call.finish([&] { return dispatch(x.dtype(), value); }, root);
}

/// As topk.h says on the data of all ranks: equal elements by index among all of them. options.rows must be 1,
/// options.lengths null; options.workspace and times are not used. With a root, others have no elements.
inline TopkResult topk(MPI_Comm comm, const Part& x, std::uint64_t k, const TopkOptions& options = {},
                       int root = all_ranks) {
  detail::Call call(comm, root, [&] {
    return detail::Text("topk")
        .with(to_string(x.dtype()))
        .with("k", k)
        .with(options.largest ? "largest" : "smallest")
        .with("NaN", to_string(options.nan));
  });
  const TopkOptions own{
      .largest = options.largest, .nan = options.nan, .rows = options.rows, .lengths = options.lengths};
  std::optional<Stream> stream;
  std::optional<TopkAccumulator> found;
  call.attempt([&] {
    found.emplace(x.device(), x.dtype(), k, own);
    x.start(*found, stream);
  });
  call.agree();  // while the device works
  detail::Bytes mine;
  call.attempt([&] { mine = found->bytes(); });
  const auto all = call.combine_states<TopkAccumulator>(std::move(mine), root);
  return call.finish([&] {
    if (!all) return TopkAccumulator(Device::open("cpu"), x.dtype(), k, own).result();
    if (k > all->count()) {
      throw Error(ErrorCode::invalid_argument,
                  "topk: k must be 1 to " + std::to_string(all->count()) + ", the elements, got " + std::to_string(k));
    }
    return all->result();
  });
}

/// The distinct values of all ranks with their counts, as unique.h says. Every rank (with a root, that one) needs the
/// memory for all of them.
inline UniqueArrays unique(MPI_Comm comm, const Part& x, int root = all_ranks) {
  detail::Call call(comm, root, [&] { return detail::Text("unique").with(to_string(x.dtype())); });
  detail::Bytes mine;
  call.attempt([&] {
    detail::Bytes memory;
    UniqueAccumulator found(x.device(), x.dtype());
    found.add(x.host(memory));
    mine = found.bytes();
  });
  call.agree();
  auto all = call.combine_states<UniqueAccumulator>(std::move(mine), root);
  return call.finish([&] { return all ? all->result() : UniqueAccumulator(Device::open("cpu"), x.dtype()).result(); });
}

}  // namespace masu::mpi
