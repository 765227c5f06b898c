// SPDX-License-Identifier: Apache-2.0
// What the kernels of sort_keys.cl tell each other by device memory, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA
// C++). sort_key.cl stands in front of this file.

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
  header_one_nan = 49,   // of counted keys: how many NaNs have the bits of one of them
  header_zero_end = 50,  // and the place after the last zero
};

// Gives a bucket to sort_tally.cl.
inline void list_tally(__global uchar *workspace, __global uint *header, const ulong tallies_at, const uint begin,
                       const uint size, const uint in_parted) {
  __global uint *const entry = SORT_AT(uint, tallies_at) + (size_t)atomic_inc(&header[header_tallies]) * 3;
  entry[0] = begin;
  entry[1] = size;
  entry[2] = in_parted;
}
