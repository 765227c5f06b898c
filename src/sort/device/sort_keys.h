// SPDX-License-Identifier: Apache-2.0
// Many keys: an exact histogram of the uppermost bits, two partitions into exact places, and each bucket finished in
// local memory. Keys of 4 and 8 bytes alone: equal keys may change places where nobody can see it; zeros and NaNs keep
// the order of the input. Keys of 4 bytes with values or with indices as the result: packed above their indices, so
// that no two are equal.
#pragma once

#include "runtime/kernel_source.h"
#include "sort/device/sort_device.h"
#include "sort/device/sort_once.h"
#include "sort/device/sort_plan.h"

#include <array>
#include <cstdint>
#include <vector>

namespace masu::sort_keys {

// Where it is taken from tuned.bucket_keys keys on, in one piece, on GPUs.
bool serves(const DeviceInfo& info, const Arrays& arrays, std::uint64_t count);

// Bytes of temporary memory.
std::uint64_t workspace_bytes(const DeviceInfo& info, const Arrays& arrays, std::uint64_t count);

// Which integers alone, and orders of integers, are sorted by sort_once, if the device can: those that are faster so,
// or, for tests, all or none.
enum class ByDigitsWhere : std::uint8_t { automatic, all, none };

// Sorts what it serves. A workspace of workspace_bytes(), from a multiple of 16 on; null: allocated. For tests, without
// workspace: `bucket_bits` that are not 0 stand for bucket_bits_of(), and kernels have the shapes that they have for
// `shaped_for` keys, if that is not 0.
void sort(Stream& stream, const Arrays& arrays, std::uint64_t count, const BufferBase* workspace, DeviceWork& work,
          unsigned bucket_bits = 0, ByDigitsWhere by_digits = ByDigitsWhere::automatic, std::uint64_t shaped_for = 0);

// What is launched on which device, where things lie in the temporary memory, and the constants of the kernels, which
// reach them as defines.

// Keys of a bucket if they are uniform, unless there are so many that buckets of 16 bits have more.
inline constexpr unsigned usual_bucket_keys = 4096;

// What is sorted: keys alone, or keys of 4 bytes, each packed above its index into one of 8, with indices as the result
// or with values that move with them.
struct Subject {
  Dtype dtype;
  std::size_t index_bytes = 0;
  std::size_t value_bytes = 0;
  unsigned index_bits = 32;                  // of a packed key, below the key's own 32
  unsigned bucket_keys = usual_bucket_keys;  // of 4 bytes alone, by their upper 16 bits, or a little fewer

  static Subject of(const Arrays& arrays, std::uint64_t count);
  [[nodiscard]] bool packed() const noexcept { return index_bytes != 0 || value_bytes != 0; }
  [[nodiscard]] std::size_t key_bytes() const noexcept { return packed() ? 8 : size_of(dtype); }
  [[nodiscard]] unsigned key_bits() const noexcept {
    return packed() ? 32 + index_bits : static_cast<unsigned>(8 * size_of(dtype));
  }
  // Floats alone whose zeros and NaNs do not move with the others.
  [[nodiscard]] bool has_specials() const noexcept { return is_float(dtype) && !packed(); }
};

// How many of a key's uppermost bits the keys that a work-group finishes have in common, for so many keys.
inline constexpr unsigned least_bucket_bits = 10;
inline constexpr unsigned most_bucket_bits = 16;
unsigned bucket_bits_of(const Subject& subject, std::uint64_t count);

using sort_plan::FinishShape;
using sort_plan::Shape;

// The kernels that finish what fits a work-group's local memory.
enum class Finish : std::uint8_t {
  all,      // a work-group for each bucket, or for neighbours that are joined
  singles,  // buckets of which more than fit were to be joined
  entries,  // what sort_crowded.cl has parted
  larger,   // larger buckets, in larger work-groups; and the next ones
};
inline constexpr unsigned larger_most = 2;
constexpr Finish larger(unsigned number) noexcept {
  return static_cast<Finish>(static_cast<unsigned>(Finish::larger) + number);
}

// Constants of the kernels for a device, by its local memory: all of a compute unit of a GPU, or 48 KiB.
struct Tuning {
  Shape part;
  FinishShape finish;
  std::array<FinishShape, larger_most> larger;  // sorted by size; entries after the last one have group == 0
  unsigned tally_group = 0;                     // 0: nothing is counted by sort_tally.cl
  unsigned tally_ranges = 1;                    // of values, which it counts one by one
  unsigned count_group = 0;
  bool two_steps =
      false;  // keys are counted by their upper 8 bits first, by their buckets when they are parted by these
  unsigned places_group = 0;

  unsigned key_bytes = 0;
  unsigned key_bits = 0;
  unsigned value_bytes = 0;
  bool packed = false;
  bool staged_values = false;  // values are ordered in local memory beside their keys
  unsigned most = 0;           // keys of a bucket that a work-group finishes
  unsigned bucket_bits = 0;    // by which keys are counted and parted
  unsigned join_bits = 0;      // so many fewer, where neighbours are finished together
  unsigned units = 1;          // compute units of the device
  bool tallies = false;  // what is too large for a work-group is counted and written anew: no bucket is parted further

  [[nodiscard]] unsigned buckets() const noexcept { return 1U << bucket_bits; }
  [[nodiscard]] unsigned start_words() const noexcept { return buckets() + 3 * 256 + 2; }  // as in sort_keys.cl
  // Where the place after the last zero stands.
  [[nodiscard]] std::uint64_t zero_word() const noexcept { return buckets() + 256 + 128; }
  // Levels of sort_crowded.cl. Each takes 8 bits of what buckets leave.
  [[nodiscard]] unsigned levels() const noexcept;
  [[nodiscard]] unsigned larger_shapes() const noexcept;
  // Keys of a bucket that one work-group may count: fewer than its share of all, so that the others do not wait for it.
  [[nodiscard]] std::uint32_t tally_most(std::uint64_t count) const noexcept;
  [[nodiscard]] FinishShape shape(Finish which) const noexcept;
  [[nodiscard]] unsigned most_of(Finish which) const noexcept;
  // Bytes of local memory.
  [[nodiscard]] std::uint64_t part_bytes() const noexcept;
  [[nodiscard]] std::uint64_t finish_bytes(Finish which) const noexcept;
  // With the counters of crowd_tally and huge_count, or with what huge_fill needs of them.
  [[nodiscard]] std::uint64_t tally_bytes(bool counters) const noexcept;
  // The most of all kernels.
  [[nodiscard]] std::uint64_t local_bytes() const noexcept;
};
Tuning tuning_of(const DeviceInfo& info, const Subject& subject, unsigned bucket_bits);

// How crowded integers alone, and their orders, are sorted by sort_once, from the sample that keys_count takes.
struct ByDigits {
  sort_once::Plan plan;             // without a group: they are not
  std::uint32_t crowded_pairs = 0;  // of a sample that share a bucket, equal keys alone apart, from which on they are
};
ByDigits by_digits_of(const DeviceInfo& info, const Subject& subject, std::uint64_t count, unsigned bucket_bits,
                      ByDigitsWhere which);

// Words of the header of the temporary memory, as in sort_lists.cl.
inline constexpr unsigned entries_word = 3;
inline constexpr unsigned levels_word = 8;
inline constexpr unsigned singles_word = 41;
inline constexpr unsigned by_digits_word = 43;  // and the next
inline constexpr unsigned larger_word = 47;     // and the next

inline constexpr unsigned split_group = 256;

// Where things begin in the temporary memory, and its size.
struct Layout {
  std::uint64_t parted = 0;
  std::uint64_t sorted = 0;  // packed keys
  std::uint64_t parted_values = 0;
  std::uint64_t source = 0;  // floats as they were, where they are sorted in place with values
  std::uint64_t header = 0;
  std::uint64_t totals = 0;  // after the header, of sort_once
  std::uint64_t counts = 0;  // after these: all three are cleared
  std::uint64_t starts = 0;
  std::uint64_t chunks = 0;
  std::uint64_t listed = 0;  // the places of few zeros, and of few NaNs
  std::array<std::uint64_t, 2> opens{};
  std::array<std::uint64_t, 2> rows{};
  std::array<std::uint64_t, 2> tiles{};
  std::uint64_t entries = 0;
  std::uint64_t singles = 0;
  std::uint64_t larger = 0;  // lists of as many words as there are buckets
  std::uint64_t tallies = 0;
  std::uint64_t huges = 0;
  std::uint64_t tables = 0;  // of sort_once
  std::uint64_t bytes = 0;
};
Layout layout_of(const Tuning& tuning, const Subject& subject, const ByDigits& by_digits, std::uint64_t count);

// What the kernels are built from. Those of sort_crowded.cl are there where buckets are parted further, those of
// sort_tally.cl and the larger work-groups of keys_finish where local memory is large.
template <class... Names>
constexpr auto files(Names... more) noexcept {
  return sort_plan::files("src/sort/device/sort_placed.cl", "src/elements/group_scan.cl",
                          "src/sort/device/sort_counters.cl", "src/sort/device/sort_lists.cl", more...);
}
inline constexpr auto part_files = files("src/sort/device/sort_keys.cl", "src/sort/device/sort_keys_count.cl");
inline constexpr auto crowded_files =
    files("src/sort/device/sort_keys.cl", "src/sort/device/sort_keys_count.cl", "src/sort/device/sort_crowded.cl");
inline constexpr auto finish_files = files("src/sort/device/sort_bins.cl", "src/sort/device/sort_keys_finish.cl");
inline constexpr auto tally_files = files("src/sort/device/sort_marks.cl", "src/sort/device/sort_tally.cl");
// `by_digits`: crowded keys may be left to sort_once.
std::vector<runtime::Define> part_defines(const DeviceInfo& info, const Subject& subject, unsigned bucket_bits,
                                          bool by_digits);
std::vector<runtime::Define> finish_defines(const DeviceInfo& info, const Subject& subject, Finish which,
                                            unsigned bucket_bits);
std::vector<runtime::Define> tally_defines(const DeviceInfo& info, const Subject& subject, unsigned bucket_bits);

}  // namespace masu::sort_keys
