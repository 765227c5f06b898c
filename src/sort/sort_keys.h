// SPDX-License-Identifier: Apache-2.0
// Keys of 4 and 8 bytes alone on GPUs: an exact histogram of the uppermost bits, two partitions into exact places, and
// each bucket finished in local memory. Equal keys may change places where nobody can see it; zeros and NaNs keep the
// order of the input. The launches depend on sizes alone: nothing is read back.
#pragma once

#include "runtime/program_cache.h"
#include "sort/sort_device.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace masu::sort_keys {

// Whether it is the way for keys in one piece.
bool serves(const DeviceInfo& info, Dtype dtype, const Companions& companions, const SortJob& job);

// Bytes of temporary memory.
std::uint64_t scratch_bytes(const DeviceInfo& info, Dtype dtype, std::uint64_t count);

// How many of a key's uppermost bits are its bucket, for so many keys.
inline constexpr unsigned least_bucket_bits = 10;
inline constexpr unsigned most_bucket_bits = 16;
unsigned bucket_bits_of(Dtype dtype, std::uint64_t count);

// Sorts `keys`, fewer than 2^31, into `result`, which may be the same. Scratch of scratch_bytes(), from a multiple of
// 16 on; null: allocated. `bucket_bits`: 0, or, without scratch, others than bucket_bits_of().
void sort(Stream& stream, const BufferBase& keys, Dtype dtype, const BufferBase& result, const SortJob& job,
          const BufferBase* scratch, DeviceWork& work, unsigned bucket_bits = 0);

// What its kernels are built from. Those of keys that crowd, tally_files and finish_files with `listed`, are there
// where local memory is large.
inline constexpr std::array<std::string_view, 6> part_files = {"src/sort/sort_key.cl",  "src/sort/sort_placed.cl",
                                                               "src/sort/sort_scan.cl", "src/sort/sort_lists.cl",
                                                               "src/sort/sort_keys.cl", "src/sort/sort_crowded.cl"};
inline constexpr std::array<std::string_view, 5> finish_files = {"src/sort/sort_key.cl", "src/sort/sort_placed.cl",
                                                                 "src/sort/sort_scan.cl", "src/sort/sort_lists.cl",
                                                                 "src/sort/sort_keys_finish.cl"};
inline constexpr std::array<std::string_view, 5> special_files = {"src/sort/sort_key.cl", "src/sort/sort_placed.cl",
                                                                  "src/sort/sort_scan.cl", "src/sort/sort_lists.cl",
                                                                  "src/sort/sort_special.cl"};
inline constexpr std::array<std::string_view, 5> tally_files = {"src/sort/sort_key.cl", "src/sort/sort_placed.cl",
                                                                "src/sort/sort_scan.cl", "src/sort/sort_lists.cl",
                                                                "src/sort/sort_tally.cl"};
std::vector<runtime::Define> part_defines(const DeviceInfo& info, Dtype dtype, unsigned bucket_bits);
std::vector<runtime::Define> finish_defines(const DeviceInfo& info, Dtype dtype, bool listed, unsigned bucket_bits);
std::vector<runtime::Define> special_defines(const DeviceInfo& info, Dtype dtype, unsigned bucket_bits);
std::vector<runtime::Define> tally_defines(const DeviceInfo& info, Dtype dtype, unsigned bucket_bits);

}  // namespace masu::sort_keys
