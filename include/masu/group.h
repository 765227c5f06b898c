// SPDX-License-Identifier: Apache-2.0
/// @file
/// Grouping: counts, offsets and the stable order of ids 0 … n - 1 in one call, and exact sums of segments by such
/// offsets. Every device gives the same bits.
///
/// **Rule.** Element i belongs to group ids[i]. `counts[g]` is how many elements group g has, `offsets[g]` how many the
/// groups before it have, and offsets[n] how many all have. `order` lists the elements group by group, each group's in
/// their order: those of group g are order[offsets[g]] … order[offsets[g + 1] - 1].
/// **Bad input.** An id outside of 0 … n - 1 is an error that names the first one and its position; results in host
/// memory are unspecified then. In device memory such elements stand after all groups, at order[offsets[n]] and
/// beyond, in their order, and no group counts them. Nothing is written out of bounds, and offsets[n] is less than the
/// number of elements.
/// **Limits.** ids of every integer dtype; n from 1 to 2^32; up to 2^48 elements. Counts and offsets are u64.
/// **Complexity.** O(n + elements * bytes that n needs); on a device another O(n log elements). **Memory.**
/// group_workspace() bytes on a device: a copy of the ids in as few bytes as n needs, and what argsort of these needs.
/// On `cpu` at most as much as the ids take.
/// **Exceptions.** Error with invalid_argument, unsupported, out_of_memory or device_lost. May be called from many
/// threads at once.
/// **Method.** Counting sort by digits from the least on (H. H. Seward, 1954).
///
/// Example: the tokens of each expert.
/// @code
/// masu::Groups groups = masu::group(expert_of_token, 64);
/// for (std::uint64_t i = groups.offsets[3]; i < groups.offsets[4]; ++i) use(tokens[groups.order[i]]);
/// @endcode
#pragma once

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/stream.h>
#include <masu/sum.h>

#include <cstdint>
#include <type_traits>
#include <vector>

namespace masu {

struct GroupOptions {
  /// Temporary memory to use instead of allocating: at least group_workspace() bytes on the device, aligned to 16
  /// bytes. Not used on `cpu`.
  const BufferBase* workspace = nullptr;
  /// For calls on a stream: two u64 of the device, aligned to 8 bytes. They get the position of the first id out of
  /// range and the id, or twice 2^64 - 1 if there is none. get() throws nothing of them then.
  const BufferBase* status = nullptr;
  Times* times = nullptr;  ///< where not null, receives the times of the call
};

/// The groups of host data.
struct Groups {
  std::vector<std::uint64_t> counts;   ///< of n groups
  std::vector<std::uint64_t> offsets;  ///< n + 1
  std::vector<std::uint64_t> order;    ///< as many as ids
};
/// The groups of device data, on its device.
struct DeviceGroups {
  Buffer<std::uint64_t> counts;
  Buffer<std::uint64_t> offsets;
  Buffer<std::uint64_t> order;
  /// A copy in host memory.
  [[nodiscard]] Groups read() const { return {counts.read(), offsets.read(), order.read()}; }
};

/// Memory for groups on the device of the ids, apart from these and each other: n, n + 1, and as many elements as ids.
/// `order` is u64, or u32 for up to 2^32 ids.
struct GroupTargets {
  const BufferBase& counts;
  const BufferBase& offsets;
  const BufferBase& order;
  Dtype order_dtype = Dtype::u64;
};

/// Bytes of temporary device memory for `count` ids of `groups` groups: what is allocated when options.workspace is
/// null. 0 on `cpu`.
MASU_EXPORT std::uint64_t group_workspace(const Device& device, Dtype dtype, std::uint64_t count, std::uint64_t groups,
                                          Dtype order_dtype = Dtype::u64);

/// Groups host data, on a device: as many groups as `counts` has elements. The results are those of GroupTargets.
MASU_EXPORT void group(const Device& device, const ArrayView& ids, MutableArrayView counts, MutableArrayView offsets,
                       MutableArrayView order, const GroupOptions& options = {});
/// Groups device memory, where it is.
MASU_EXPORT void group(const BufferBase& ids, Dtype dtype, const GroupTargets& to, const GroupOptions& options = {});
/// The same on a stream of that device without waiting; get() throws the error of an id. Buffers, workspace and stream
/// must outlive the result's `get()`; options.times is not filled.
MASU_EXPORT Pending<void> group(Stream& stream, const BufferBase& ids, Dtype dtype, const GroupTargets& to,
                                const GroupOptions& options = {});

/// The sum of each segment, in device memory. Result s is that of the elements [offsets[s], offsets[s + 1]) of x, as
/// `sum` makes it, 0 where there are none. `offsets`: u64, one more than results, non-decreasing and at most the number
/// of elements: those that group() gives, for values that lie in its order. Others are an error on `cpu`; elsewhere
/// what is not there counts as no element. Of the options, result, workspace (segment_sum_workspace() bytes) and status
/// are used.
MASU_EXPORT Pending<void> segment_sum(Stream& stream, const BufferBase& x, Dtype dtype, const BufferBase& offsets,
                                      const BufferBase& results, const SumOptions& options = {});
MASU_EXPORT std::uint64_t segment_sum_workspace(const Device& device, Dtype dtype, std::uint64_t count,
                                                std::uint64_t segments, const SumOptions& options = {});
/// The same of host data, on the CPU. An integer that does not fit is an error unless options.wrap.
MASU_EXPORT void segment_sum(const ArrayView& x, const ArrayView& offsets, const MutableArrayView& results,
                             const SumOptions& options = {});

namespace detail {
/// Throws invalid_argument if the number of groups is not allowed.
MASU_EXPORT void check_groups(std::uint64_t groups);
}  // namespace detail

/// The groups of a contiguous host range of integers, on a device.
template <HostRange R>
Groups group(const Device& device, const R& ids, std::uint64_t groups, const GroupOptions& options = {}) {
  detail::check_groups(groups);
  const ArrayView view(ids);
  Groups result{std::vector<std::uint64_t>(groups), std::vector<std::uint64_t>(groups + 1),
                std::vector<std::uint64_t>(view.count)};
  group(device, view, MutableArrayView(result.counts), MutableArrayView(result.offsets), MutableArrayView(result.order),
        options);
  return result;
}
/// The same on the device that device_for names.
template <HostRange R>
Groups group(const R& ids, std::uint64_t groups, const GroupOptions& options = {}) {
  const ArrayView view(ids);
  return group(device_for(Work::sorting, view.count * (size_of(view.dtype) + sizeof(std::uint64_t))), ids, groups,
               options);
}
/// The groups of a buffer of integers, on its device.
template <Element T>
DeviceGroups group(const Buffer<T>& ids, std::uint64_t groups, const GroupOptions& options = {}) {
  detail::check_groups(groups);
  DeviceGroups result{Buffer<std::uint64_t>(ids.device(), groups), Buffer<std::uint64_t>(ids.device(), groups + 1),
                      Buffer<std::uint64_t>(ids.device(), ids.size())};
  group(ids, dtype_of<T>, {result.counts, result.offsets, result.order}, options);
  return result;
}

}  // namespace masu
