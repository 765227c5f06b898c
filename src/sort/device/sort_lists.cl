// SPDX-License-Identifier: Apache-2.0
// What the kernels of sort_keys.cl tell each other by device memory, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA
// C++). sort_key.cl stands in front of this file.
//
// kernels.md has the parameters, which sort_keys_plan.cpp gives.

#define SORT_REST_BITS (MASU_KEY_BITS - MASU_BUCKET_BITS)

#define SORT_AT(type, at) ((__global type *)(workspace + (at)))
// The words of the header: how many keys are zeros, negative zeros and NaNs; the lengths of lists.
enum {
  header_zeros = 0,
  header_minuses = 1,
  header_nans = 2,
  header_entries = 3,  // of sort_crowded.cl
  header_tallies = 5,  // for sort_tally.cl
  header_huges = 6,      // buckets that all work-groups of sort_tally.cl count together
  header_huge_keys = 7,  // their keys
  header_levels = 8,     // of each level of sort_crowded.cl: its buckets, and their tiles
  header_next_tally = 40,  // the entry that a work-group of sort_tally.cl takes next
  header_singles = 41,     // buckets that were to be joined, but are finished one by one
  header_larger = 47,      // buckets for each kind of larger work-groups of keys_finish
  header_listed_zeros = 45,  // zeros that were to be listed by keys_count, and, in the next word, NaNs
  header_by_digits = 43,   // not 0: keys are so crowded that sort_once.cl sorts them, and no others; the next word is its own
};

// Values as they lie beside the keys, and where they go; sort_crowded.cl moves them both ways.
#if MASU_PAYLOAD_BYTES > 0
#define SORT_VALUE_BUFFERS \
  __global uchar *values, const ulong values_at, __global uchar *moved, const ulong moved_at,
#else
#define SORT_VALUE_BUFFERS
#endif

// Gives a bucket to sort_tally.cl.
inline void list_tally(__global uchar *workspace, __global uint *header, const ulong tallies_at, const uint begin,
                       const uint size, const uint in_parted) {
  __global uint *const entry = SORT_AT(uint, tallies_at) + (size_t)atomic_inc(&header[header_tallies]) * 3;
  entry[0] = begin;
  entry[1] = size;
  entry[2] = in_parted;
}

// A crowded bucket: its first key, its keys, the bits in which they may differ, and where they are and go.
enum { open_words = 4 };  // words
enum { state_in_parted = 1 };
// What the keys of a crowded bucket are: how many have each digit, then bits that are 1 in some key, and 0 in some, lower
// words first.
enum { row_ones = 256 };
enum { row_nones = 258 };
enum { row_words = 260 };  // words

// Gives crowded buckets to a level of sort_crowded.cl: of each work-item of `group` one, or none. `noted` holds 1 + 4 * group
// words.
inline void open_buckets(const bool opens, const uint begin, const uint size, const uint bits, const uint state,
                         __global uchar *workspace, __global uint *level, const ulong opens_at, const ulong rows_at,
                         const ulong tiles_at, __local uint *noted, const uint lid, const uint group) {
  if (lid == 0) noted[0] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (opens) {
    const uint index = atomic_inc(&level[0]);
    __global uint *const record = SORT_AT(uint, opens_at) + (size_t)index * open_words;
    record[0] = begin;
    record[1] = size;
    record[2] = bits;
    record[3] = state;
    __local uint *const note = noted + 1 + 4 * atomic_inc(&noted[0]);
    note[0] = index;
    note[1] = atomic_add(&level[1], (size + MASU_PART_TILE - 1) / MASU_PART_TILE);
    note[2] = begin;
    note[3] = size;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint number = noted[0];
  for (uint k = 0; k < number; ++k) {
    __local const uint *const note = noted + 1 + 4 * k;
    const uint index = note[0];
    for (uint i = lid; i < row_words; i += group) SORT_AT(uint, rows_at)[(size_t)index * row_words + i] = 0;
    const uint all = note[3];
    for (uint i = lid; i < (all + MASU_PART_TILE - 1) / MASU_PART_TILE; i += group) {
      __global uint *const tile = SORT_AT(uint, tiles_at) + ((size_t)note[1] + i) * 3;
      tile[0] = note[2] + i * MASU_PART_TILE;
      tile[1] = min(all - i * MASU_PART_TILE, (uint)MASU_PART_TILE);
      tile[2] = index;
    }
  }
}
