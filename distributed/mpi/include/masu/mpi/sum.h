// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sums, dot products, means, norms, variances of distributed data. Part of mpi.h, which says what holds.
#pragma once

#include <masu/mpi/call.h>
#include <masu/mpi/part.h>
#include <masu/sum.h>

#include <optional>
#include <string_view>

namespace masu::mpi {

namespace detail {

// What `result` makes of everything that the ranks have, exactly. `y` for dot products.
template <class F>
SumResult total(MPI_Comm comm, std::string_view function, SumKind kind, const Part& x, const Part* y,
                const SumOptions& options, int root, const F& result) {
  Call call(comm, root, [&] {
    return Text(function)
        .with(to_string(x.dtype()))
        .with("result", to_string(options.result))
        .with("ddof", options.ddof);
  });
  Bytes mine;
  call.attempt([&] {
    masu::detail::one_row(options);
    SumAccumulator sums(x.device(), x.dtype(), kind);
    if (y == nullptr) {
      x.add_to(sums);
    } else if (x.buffer() != nullptr && y->buffer() != nullptr) {
      if (x.dtype() != y->dtype()) sums.add(ArrayView(x.dtype(), nullptr, 0), ArrayView(y->dtype(), nullptr, 0));
      sums.add_buffers(*x.buffer(), *y->buffer(), x.dtype());
    } else {
      Bytes memory[2];
      sums.add(x.host(memory[0]), y->host(memory[1]));
    }
    mine = sums.bytes();
  });
  call.agree();
  const std::optional<SumAccumulator> all = call.combine_states<SumAccumulator>(std::move(mine), root);
  return call.finish([&] { return result(*all); }, root);
}

}  // namespace detail

/// As the functions of sum.h on the data of all ranks. options.rows must be 1; options.workspace and times are not
/// used.
inline SumResult sum(MPI_Comm comm, const Part& x, const SumOptions& options = {}, int root = all_ranks) {
  return detail::total(comm, "sum", SumKind::sum, x, nullptr, options, root,
                       [&](const SumAccumulator& all) { return all.sum(options.result); });
}
/// Each rank has as many elements of `x` as of `y`.
inline SumResult dot(MPI_Comm comm, const Part& x, const Part& y, const SumOptions& options = {},
                     int root = all_ranks) {
  return detail::total(comm, "dot", SumKind::dot, x, &y, options, root,
                       [&](const SumAccumulator& all) { return all.dot(options.result); });
}
inline SumResult mean(MPI_Comm comm, const Part& x, const SumOptions& options = {}, int root = all_ranks) {
  return detail::total(comm, "mean", SumKind::sum, x, nullptr, options, root,
                       [&](const SumAccumulator& all) { return all.mean(options.result); });
}
inline SumResult norm2(MPI_Comm comm, const Part& x, const SumOptions& options = {}, int root = all_ranks) {
  return detail::total(comm, "norm2", SumKind::squares, x, nullptr, options, root,
                       [&](const SumAccumulator& all) { return all.norm2(options.result); });
}
inline SumResult variance(MPI_Comm comm, const Part& x, const SumOptions& options = {}, int root = all_ranks) {
  return detail::total(comm, "variance", SumKind::squares, x, nullptr, options, root,
                       [&](const SumAccumulator& all) { return all.variance(options.ddof, options.result); });
}
inline SumResult standard_deviation(MPI_Comm comm, const Part& x, const SumOptions& options = {},
                                    int root = all_ranks) {
  return detail::total(comm, "standard_deviation", SumKind::squares, x, nullptr, options, root,
                       [&](const SumAccumulator& all) { return all.standard_deviation(options.ddof, options.result); });
}

}  // namespace masu::mpi
