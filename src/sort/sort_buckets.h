// SPDX-License-Identifier: Apache-2.0
// Radix sort from the greatest digit to the least on a device: half the passes of sort_radix on random keys, for equal
// keys may change places. So it is for keys alone whose equals have equal bits, and for keys of 4 bytes that are packed
// above their indices into 8, of which no two are equal.
#pragma once

#include "runtime/program_cache.h"
#include "sort/sort_device.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace masu::sort_buckets {

// Whether it may be the way for keys in one piece. `may_wait`: it reads what it finds back.
bool serves(const DeviceInfo& info, Dtype dtype, const Companions& companions, const SortJob& job, bool may_wait);

// Bytes of temporary memory.
std::uint64_t scratch_bytes(const DeviceInfo& info, Dtype dtype, const Companions& companions, std::uint64_t count);

// Sorts `keys` into `result`, which may be the same, or, with indices, null. False, with nothing written but temporary
// memory, where another way is needed or faster: keys alone with NaNs or zeros of both signs, packed keys of few
// values. Scratch of scratch_bytes(), from a multiple of 16 on; null: allocated. Waits for counts, not for the last
// keys.
bool sort(Stream& stream, const BufferBase& keys, Dtype dtype, const BufferBase* result, const Companions& companions,
          const SortJob& job, const BufferBase* scratch, DeviceWork& work);

// What its kernels are built from: those of a level, and the one that finishes small buckets.
inline constexpr std::array<std::string_view, 4> level_files = {"src/sort/sort_key.cl", "src/sort/sort_rank.cl",
                                                                "src/sort/sort_packed.cl", "src/sort/sort_buckets.cl"};
inline constexpr std::array<std::string_view, 5> finish_files = {"src/sort/sort_key.cl", "src/sort/sort_placed.cl",
                                                                 "src/sort/sort_rank.cl", "src/sort/sort_packed.cl",
                                                                 "src/sort/sort_finish.cl"};
std::vector<runtime::Define> level_defines(const DeviceInfo& info, Dtype dtype, const Companions& companions);
std::vector<runtime::Define> finish_defines(const DeviceInfo& info, Dtype dtype, const Companions& companions);

// How sort_finish.cl is built and launched for keys alone, of the dtype.
struct Finish {
  std::vector<runtime::Define> defines;
  unsigned group;
  unsigned resident;  // work-groups that share a compute unit
  unsigned most;      // keys of an entry
  std::uint64_t local_bytes;
};
Finish finish_of_keys(const DeviceInfo& info, Dtype dtype);

}  // namespace masu::sort_buckets
