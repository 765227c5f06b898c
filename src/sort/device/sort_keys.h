// SPDX-License-Identifier: Apache-2.0
// Many keys on GPUs: an exact histogram of the uppermost bits, two partitions into exact places, and each bucket
// finished in local memory. Keys of 4 and 8 bytes alone: equal keys may change places where nobody can see it; zeros
// and NaNs keep the order of the input. Keys of 4 bytes with values or with indices as the result: packed above their
// indices, so that no two are equal. The launches depend on sizes alone: nothing is read back.
#pragma once

#include "runtime/kernel_source.h"
#include "sort/device/sort_device.h"
#include "sort/device/sort_plan.h"

#include <array>
#include <cstdint>
#include <vector>

namespace masu::sort_keys {

// From so many keys on, in one piece, it is faster than the other ways (H200, 2026-11) where it serves: on GPUs.
inline constexpr std::uint64_t least_keys = std::uint64_t{1} << 22;
bool serves(const DeviceInfo& info, Dtype dtype, const Payload& payload, std::uint64_t count);

// Bytes of temporary memory.
std::uint64_t workspace_bytes(const DeviceInfo& info, Dtype dtype, const Payload& payload, std::uint64_t count);

// Which integers alone, and orders of integers, are sorted by sort_once, if the device can: those that are faster so,
// or, for tests, all or none.
enum class ByDigitsWhere : std::uint8_t { automatic, all, none };

// Sorts `keys`, which sort_keys serves, into `result`, which may be the same, or, with indices, null. A workspace of
// workspace_bytes(), from a multiple of 16 on; null: allocated. For tests, without workspace: `bucket_bits` that are
// not 0 stand for bucket_bits_of(), and kernels have the shapes that they have for `shaped_for` keys, if that is not 0.
void sort(Stream& stream, const BufferBase& keys, Dtype dtype, const BufferBase* result, const Payload& payload,
          const SortJob& job, const BufferBase* workspace, DeviceWork& work, unsigned bucket_bits = 0,
          ByDigitsWhere by_digits = ByDigitsWhere::automatic, std::uint64_t shaped_for = 0);

}  // namespace masu::sort_keys

// Some thousands to some millions of keys of 4 and 8 bytes alone: brought to buckets of the range that a sample spans,
// neighbours of which each work-group sorts in local memory. What is too crowded for that is sorted by sort_once.
namespace masu::sort_few {

struct Plan {
  unsigned items = 0;  // keys that a work-item holds; 0: the device or the keys are none for it
  unsigned loads = 0;  // the most keys of a work-item that are brought to their buckets
  unsigned tile = 0;   // keys that a work-group brings to their buckets
  unsigned part = 0;   // keys of neighbouring buckets from which on they are enough for a work-group
  unsigned most = 0;   // keys of a bucket

  [[nodiscard]] std::uint64_t tiles(std::uint64_t count) const noexcept { return (count + tile - 1) / tile; }
  [[nodiscard]] std::uint64_t parts(std::uint64_t count) const noexcept { return (count + part - 1) / part; }
};
inline constexpr unsigned group = 512;
inline constexpr auto files = sort_plan::files("src/sort/device/sort_placed.cl", "src/elements/group_scan.cl",
                                               "src/sort/device/sort_unroll.cl", "src/sort/device/sort_few.cl");
Plan plan_of(const DeviceInfo& info, Dtype dtype, std::uint64_t count);
std::vector<runtime::Define> defines(const DeviceInfo& info, const Plan& plan, Dtype dtype);

// Where it is faster than the other ways, in one piece.
bool serves(const DeviceInfo& info, Dtype dtype, std::uint64_t count);
std::uint64_t workspace_bytes(const DeviceInfo& info, Dtype dtype, std::uint64_t count);

// Sorts `keys` into `result`, which may be the same. A workspace of workspace_bytes(), from a multiple of 16 on; null:
// allocated. On a device that has no sort_once, crowded keys are left as they are: for tests.
void sort(Stream& stream, const BufferBase& keys, Dtype dtype, const BufferBase& result, const SortJob& job,
          const BufferBase* workspace, DeviceWork& work);

}  // namespace masu::sort_few

// Sorting by digits from the least on, stably, in one launch whose work-groups wait for each other: CUDA alone. Keys of
// 4 and 8 bytes alone, the order of them, and keys of 4 bytes with values of up to 4. What the keys are does not
// change what a pass takes, but passes in which all agree are left out.
namespace masu::sort_once {

// What is sorted.
struct Kind {
  Dtype dtype;
  std::size_t value_bytes = 0;  // that move with a key; of an index, where they are the places of the keys
  bool indices = false;

  static Kind of(Dtype dtype, const Payload& payload) noexcept {
    return {dtype, payload.bytes, payload.kind == Payload::Kind::indices};
  }
  [[nodiscard]] unsigned item_bytes() const noexcept { return value_bytes != 0 || size_of(dtype) == 8 ? 8 : 4; }
};

struct Plan {
  unsigned group = 0;  // work-items in a work-group; 0: the device or the kind is none for it
  unsigned items = 0;  // keys of a work-item
  unsigned resident = 0;
  unsigned adders = 0;  // work-groups that add up
  unsigned ahead = 0;   // tiles that each of their work-items looks at together
  unsigned groups = 0;
  std::uint64_t local_bytes = 0;

  [[nodiscard]] std::uint64_t tile() const noexcept { return std::uint64_t{group} * items; }
  // Of counts and places of digits.
  [[nodiscard]] std::uint64_t table_bytes(std::uint64_t count) const noexcept {
    return (count + tile() - 1) / tile() * 2 * sort_plan::digits * 4;
  }
};
Plan plan_of(const DeviceInfo& info, const Kind& kind, std::uint64_t count);

inline constexpr auto files = sort_plan::files("src/sort/device/sort_once.cl");
std::vector<runtime::Define> defines(const Plan& plan, const Kind& kind);

// From so many keys with a payload on, in one piece, it is faster than merging (H100, 2026-11) where it serves.
inline constexpr std::uint64_t least_keys = std::uint64_t{1} << 20;
bool serves(const DeviceInfo& info, Dtype dtype, const Payload& payload, std::uint64_t count);

// Where things begin in temporary memory.
struct Layout {
  std::uint64_t one = 0;     // items
  std::uint64_t other = 0;   // items, unless keys are alone
  std::uint64_t state = 0;   // two words
  std::uint64_t totals = 0;  // zeros, as is the second word of `state`
  std::uint64_t tables = 0;
  std::uint64_t bytes = 0;
};
inline constexpr std::uint64_t totals_bytes(std::size_t key_bytes) noexcept {
  return (key_bytes + 1) * sort_plan::digits * 4;
}
std::uint64_t workspace_bytes(const DeviceInfo& info, Dtype dtype, const Payload& payload, std::uint64_t count);

// Queues the launch. `asked`: keys are sorted only if the first word of the state is not 0.
void launch(Stream& stream, const Plan& plan, const BufferBase& keys, Dtype dtype, const BufferBase* result,
            const Payload& payload, const SortJob& job, const BufferBase& workspace, const Layout& layout, bool asked,
            DeviceWork& work);

// Sorts `keys` into `result`, which may be the same, or, with indices, null. A workspace of workspace_bytes(), from a
// multiple of 16 on; null: allocated.
void sort(Stream& stream, const BufferBase& keys, Dtype dtype, const BufferBase* result, const Payload& payload,
          const SortJob& job, const BufferBase* workspace, DeviceWork& work);

}  // namespace masu::sort_once

// Integers of 8 and 16 bits on a device: counted, and written anew. Equal ones have equal bits, so the
// result is the same as if they had been moved.
namespace masu::sort_counting {

// Whether counting takes less than passes for keys alone, in one piece: all counts are scanned, however many keys there
// are.
[[nodiscard]] constexpr bool serves(Dtype dtype, std::uint64_t keys) noexcept {
  constexpr std::array<std::uint64_t, 3> least = {0, std::uint64_t{1} << 16, std::uint64_t{1} << 19};
  return !is_float(dtype) && size_of(dtype) <= 2 && keys >= least[size_of(dtype)];
}

// Bytes of temporary memory.
std::uint64_t workspace_bytes(const DeviceInfo& device, Dtype dtype, std::uint64_t keys);

// Sorts `keys` into `result`, which may be the same. A workspace of workspace_bytes(), from a multiple of 16 on; null:
// allocated.
void sort(Stream& stream, const BufferBase& keys, Dtype dtype, const BufferBase& result, const SortJob& job,
          const BufferBase* workspace, DeviceWork& work);

// What its kernels are built from, for work-groups of `group`.
inline constexpr auto files = sort_plan::files("src/elements/group_scan.cl", "src/sort/device/sort_fill.cl");
std::vector<runtime::Define> defines(Dtype dtype, std::uint64_t group);

}  // namespace masu::sort_counting
