// SPDX-License-Identifier: Apache-2.0
#include "sort/device/sort_ordered.h"

#include "call/operands.h"
#include "gather/gather_plan.h"
#include "runtime/backend.h"
#include "sort/device/sort_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace masu::sort_ordered {

namespace {

constexpr std::uint64_t few_keys = std::uint64_t{1} << 16;

// What is found of neighbours, as in sort_order.cl.
constexpr std::uint32_t some_out_of_order = 1;
constexpr std::uint32_t some_not_turned = 2;

// Looks at the first `count` keys, which are rows of `length` or, where that is 0, segments between offsets. Waits.
std::uint32_t look(Stream& stream, const BufferBase& keys, Dtype dtype, Order order, std::uint64_t count,
                   std::uint64_t length, const KernelArgument& offsets, std::uint64_t offset_count,
                   const Buffer<std::byte>& workspace, DeviceWork& work) {
  std::uint32_t found = 0;
  work.done(call::clear(stream, workspace, 0, sizeof found));
  constexpr unsigned group = sort_plan::order_group;
  call::Kernels kernels(stream.device(), sort_plan::order_files, sort_kernels::key_defines(dtype), group);
  const std::uint64_t groups =
      std::min<std::uint64_t>((count + group - 1) / group, stream.device().info().compute_units * 16);
  work.done(kernels.launch(stream, "sort_neighbours", groups, keys, count, length, offsets, offset_count,
                           std::uint32_t{order == Order::descending}, workspace));
  call::fetch(stream, workspace, 0, &found, sizeof found);
  stream.finish();
  return found;
}

void turn(Stream& stream, const BufferBase& from, const BufferBase& to, std::size_t bytes, std::uint64_t count,
          DeviceWork& work) {
  const auto plan = gather_plan::make(stream.device().info(), bytes, call::place_of(from) | call::place_of(to));
  gather_plan::Move move;
  move.operation = gather_plan::Operation::reverse;
  move.element_bytes = bytes;
  move.in_row = count;
  move.out_row = count;
  move.in_place = call::same_place(from, to);
  work.done(reverse_on_device(stream, move, from, to, plan));
}

}  // namespace

bool serves(const SortJob& job, bool may_wait) {
  return may_wait && job.algorithm == SortAlgorithm::automatic && job.pieces.segments.empty() && job.pieces.rows == 1 &&
         job.pieces.count >= sort_plan::tuned.ordered_keys;
}

bool sort(Stream& stream, const Arrays& arrays, std::uint64_t count, const Buffer<std::byte>& workspace,
          DeviceWork& work) {
  constexpr std::uint32_t neither = some_out_of_order | some_not_turned;
  const BufferBase& keys = *arrays.source;
  const auto look_at = [&](std::uint64_t some) {
    return look(stream, keys, arrays.dtype, arrays.order, some, count, call::memory_of(workspace), 0, workspace, work);
  };
  std::uint32_t found = look_at(std::min(count, few_keys));
  if (found != neither && count > few_keys) found = look_at(count);
  if (found == neither) return false;
  const bool turned = (found & some_out_of_order) != 0;
  if (const BufferBase* result = arrays.target; result != nullptr) {
    if (turned) turn(stream, keys, *result, size_of(arrays.dtype), count, work);
    else if (!call::same_place(keys, *result)) work.done(call::copy(stream, keys, *result));
  }
  const Payload& payload = arrays.payload;
  if (arrays.has_records() && turned) {
    turn(stream, *payload.buffer, *payload.buffer, payload.bytes, count, work);
  } else if (arrays.has_indices()) {
    sort_kernels::count_up(stream, *payload.buffer, payload.bytes, count, turned, work);
  }
  return true;
}

}  // namespace masu::sort_ordered

namespace masu {

bool is_sorted_on_device(Stream& stream, const BufferBase& keys, Dtype dtype, const SortJob& job) {
  const Pieces& pieces = job.pieces;
  const bool by_rows = pieces.segments.empty();
  const std::vector<std::uint64_t> offsets =
      by_rows ? std::vector<std::uint64_t>{0} : std::vector(pieces.segments.begin(), pieces.segments.end());
  const Buffer<std::uint64_t> segments = keys.device().upload(offsets);
  const Buffer<std::byte> found(keys.device(), sizeof(std::uint32_t));
  DeviceWork work;
  return (sort_ordered::look(stream, keys, dtype, job.order, pieces.count,
                             by_rows ? std::max<std::uint64_t>(pieces.length(0), 1) : 0, KernelArgument(segments),
                             offsets.size(), found, work) &
          sort_ordered::some_out_of_order) == 0;
}

}  // namespace masu
