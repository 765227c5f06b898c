// SPDX-License-Identifier: Apache-2.0
/// @file
/// Least and greatest elements, their positions, counts. Part of mpi.h, which says what holds.
#pragma once

#include <masu/mpi/call.h>
#include <masu/mpi/part.h>
#include <masu/reduce.h>

#include <optional>
#include <utility>

namespace masu::mpi {

namespace detail {

/// What `make` makes of the result.
template <class F>
auto reduce_as(MPI_Comm comm, const Part& x, ReduceOp op, const ReduceOptions& options, int root, const F& make) {
  Call call(comm, root, [&] {
    return Text("reduce")
        .with(to_string(x.dtype()))
        .with(to_string(op))
        .with("NaN", options.nan == NanPolicy::skip ? "skipped" : "propagated");
  });
  Bytes mine;
  call.attempt([&] {
    masu::detail::check_one_row(options);
    ReduceAccumulator found(x.device(), x.dtype(), op, {.nan = options.nan});
    x.add_to(found);
    mine = found.bytes();
  });
  call.agree();
  const std::optional<ReduceAccumulator> all = call.combine_states<ReduceAccumulator>(std::move(mine), root);
  return call.finish([&] { return make(all->result()); }, root);
}

}  // namespace detail

/// As reduce.h says on the data of all ranks: the first extreme in the order of the ranks, with its index among all
/// elements. options.rows must be 1; options.workspace and times are not used.
inline ReduceResult reduce(MPI_Comm comm, const Part& x, ReduceOp op, const ReduceOptions& options = {},
                           int root = all_ranks) {
  return detail::reduce_as(comm, x, op, options, root, [](ReduceResult found) { return found; });
}

/// The functions of one result, of a host range or a Buffer.
template <Reducible X>
ReducedElement<X> min(MPI_Comm comm, const X& x, const ReduceOptions& options = {}, int root = all_ranks) {
  return detail::reduce_as(comm, x, ReduceOp::min, options, root,
                           [](const ReduceResult& found) { return found.template min<ReducedElement<X>>(); });
}
template <Reducible X>
ReducedElement<X> max(MPI_Comm comm, const X& x, const ReduceOptions& options = {}, int root = all_ranks) {
  return detail::reduce_as(comm, x, ReduceOp::max, options, root,
                           [](const ReduceResult& found) { return found.template max<ReducedElement<X>>(); });
}
template <Reducible X>
std::pair<ReducedElement<X>, ReducedElement<X>> minmax(MPI_Comm comm, const X& x, const ReduceOptions& options = {},
                                                       int root = all_ranks) {
  return detail::reduce_as(comm, x, ReduceOp::minmax, options, root, [](const ReduceResult& found) {
    return std::pair(found.template min<ReducedElement<X>>(), found.template max<ReducedElement<X>>());
  });
}
/// Positions among the elements of all ranks.
inline std::uint64_t argmin(MPI_Comm comm, const Part& x, const ReduceOptions& options = {}, int root = all_ranks) {
  return detail::reduce_as(comm, x, ReduceOp::min, options, root,
                           [](const ReduceResult& found) { return found.min_indices().front(); });
}
inline std::uint64_t argmax(MPI_Comm comm, const Part& x, const ReduceOptions& options = {}, int root = all_ranks) {
  return detail::reduce_as(comm, x, ReduceOp::max, options, root,
                           [](const ReduceResult& found) { return found.max_indices().front(); });
}
inline std::uint64_t count_nonzero(MPI_Comm comm, const Part& x, const ReduceOptions& options = {},
                                   int root = all_ranks) {
  return detail::reduce_as(comm, x, ReduceOp::count_nonzero, options, root,
                           [](const ReduceResult& found) { return found.nonzero().front(); });
}
/// Elements of all ranks.
inline std::uint64_t count(MPI_Comm comm, const Part& x, int root = all_ranks) {
  detail::Call call(comm, root, [&] { return detail::Text("count").with(to_string(x.dtype())); });
  call.agree();
  std::uint64_t number = x.count();
  call.group().sum({&number, 1});
  return call.is_at(root) ? number : 0;
}

}  // namespace masu::mpi
