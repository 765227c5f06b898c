// SPDX-License-Identifier: Apache-2.0
// The keys that a work-group holds, put in order in local memory, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++):
// each key goes into a bin, and then to its place among those of its bin. Where that takes too many comparisons, all are
// sorted by merging. Equal keys may change places. sort_key.cl, sort_placed.cl, group_scan.cl and sort_counters.cl stand in
// front of this file.
//
// kernels.md has the parameters, which sort_keys_plan.cpp gives.

enum {
  bin_count = 1 << MASU_BIN_BITS,
  bin_words = bin_count / 2,                    // two counters of 16 bits a word
  bin_keys = 24,                                // of equal keys there may be more in a bin
  most_comparisons = 20 * MASU_GROUP * MASU_ITEMS  // of all keys: about as many take as long as merging
};
inline uint bin_at(const MASU_ELEMENT key, const MASU_ELEMENT lowest, const uint shift) {
  return (uint)((key - lowest) >> shift) & (bin_count - 1);
}
inline uint bin_begin(const uint bin, __local const uint *counters) {
  return counters[bin & (bin_words - 1)] >> bin / bin_words * 16 & 0xffff;
}
inline uint bin_end(const uint bin, const uint size, __local const uint *counters) {
  return bin == bin_count - 1 ? size : bin_begin(bin + 1, counters);
}
// Counts a key in its bin. The number of those that came before it there.
inline uint count_in_bin(const uint bin, __local uint *counters) {
  const uint upper = bin / bin_words * 16;
  return atomic_add(&counters[bin & (bin_words - 1)], 1U << upper) >> upper & 0xffff;
}

// Where the local memory is used for what: the counters of bins, room for their sums, four words of what is found, keys.
inline __local uint *bin_partial(__local uint *memory) { return memory + bin_words; }
inline __local uint *bin_found(__local uint *memory) { return bin_partial(memory) + MASU_GROUP; }
inline __local MASU_ELEMENT *bin_kept(__local uint *memory) { return (__local MASU_ELEMENT *)(bin_found(memory) + 4); }

// Sorts the MASU_GROUP * MASU_ITEMS keys of `kept`: those of each work-item in registers, then runs are merged, two into one.
// Each work-item finds where its part of a merged run begins in both, and merges as many keys as it holds.
MASU_INLINE void sort_by_merging(__local MASU_ELEMENT *kept, const uint lid) {
  MASU_ELEMENT keys[MASU_ITEMS];
  __local MASU_ELEMENT *const own = kept + lid * MASU_ITEMS;
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) keys[i] = own[i];
  SORT_ROLLED
  for (uint round = 0; round < MASU_ITEMS; ++round) {  // exchanges of neighbours, in turns
    MASU_UNROLLED
    for (uint i = 0; i + 1 < MASU_ITEMS; ++i) {
      const MASU_ELEMENT low = min(keys[i], keys[i + 1]);
      const bool exchanged = (i & 1) == (round & 1);
      keys[i + 1] = exchanged ? max(keys[i], keys[i + 1]) : keys[i + 1];
      keys[i] = exchanged ? low : keys[i];
    }
  }
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) own[i] = keys[i];
  for (uint run = MASU_ITEMS; run < MASU_GROUP * MASU_ITEMS; run *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint before = lid * MASU_ITEMS % (2 * run);  // merged keys before this work-item's
    __local const MASU_ELEMENT *const a = kept + (lid * MASU_ITEMS - before);
    __local const MASU_ELEMENT *const b = a + run;
    uint low = (uint)max((int)before - (int)run, 0);  // unsigned, compilers saturate it, which Oclgrind 21.10 lacks
    uint high = min(before, run);
    while (low < high) {
      const uint middle = (low + high) / 2;
      if (a[middle] <= b[before - 1 - middle]) low = middle + 1;
      else high = middle;
    }
    uint other = before - low;
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      const bool first = other >= run || (low < run && a[low] <= b[other]);
      keys[i] = first ? a[low] : b[other];
      if (first) ++low;
      else ++other;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) own[i] = keys[i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// Writes `size` keys in order to `to`, as the result has them, and their values to values_to. `keys` are those that begin at
// `from`; what stands there may be overwritten if all work-items have passed a barrier since they were read. A key's bin is
// what it is more than `lowest`, shifted. The counters, and what is found, are zeros; a barrier has followed.
MASU_INLINE void finish_keys(const MASU_ELEMENT *keys, __global const MASU_ELEMENT *from, __global Result *to,
                             SORT_VALUE_PARAMETERS __global const Source *source, const MASU_ELEMENT lowest,
                             const uint shift, const uint size, const Source flip, __local uint *memory,
                             const uint lid) {
  __local uint *const counters = memory;
  __local uint *const found = bin_found(memory);
  __local MASU_ELEMENT *const kept = bin_kept(memory);
  uint ranks[MASU_ITEMS];
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    if (i * MASU_GROUP + lid < size) {
      const uint bin = bin_at(keys[i], lowest, shift);
      ranks[i] = bin << 16 | count_in_bin(bin, counters);
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  uint total;
  uint comparisons;
  scan_counter_pairs(counters, bin_words / MASU_GROUP, MASU_GROUP, bin_partial(memory), lid, &total, &comparisons);
  if (comparisons > 2 * bin_words / MASU_GROUP * bin_keys) atomic_add(&found[2], comparisons);
  barrier(CLK_LOCAL_MEM_FENCE);
  const bool crowded = found[2] > most_comparisons;
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    if (i * MASU_GROUP + lid < size) {
      ranks[i] = bin_begin(ranks[i] >> 16, counters) + (ranks[i] & 0xffff);
      kept[ranks[i]] = keys[i];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#if MASU_PAYLOAD_BYTES > 0
  __local ushort *const places = (__local ushort *)(kept + MASU_MOST);  // of the keys of `kept`
#else
  (void)from;
#endif
  bool in_order = false;
  if (crowded) {
    // The keys of a full bin may be equal.
    bool differ = false;
    for (uint here = lid; here < size; here += MASU_GROUP) {
      const uint bin = bin_at(kept[here], lowest, shift);
      const uint first = bin_begin(bin, counters);
      differ = differ || (bin_end(bin, size, counters) - first > bin_keys && kept[here] != kept[first]);
    }
    if (differ) found[3] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    in_order = found[3] != 0;
    if (in_order) {
      for (uint i = size + lid; i < MASU_GROUP * MASU_ITEMS; i += MASU_GROUP) kept[i] = MASU_ALL_BITS;
      barrier(CLK_LOCAL_MEM_FENCE);
      sort_by_merging(kept, lid);
    }
  }
  if (in_order) {
    for (uint i = lid; i < size; i += MASU_GROUP) to[i] = SORT_RESULT_OF(kept[i], flip, source);
#if MASU_PAYLOAD_BYTES > 0
    SORT_ROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      if (i * MASU_GROUP + lid < size) {
        const MASU_ELEMENT own = from[i * MASU_GROUP + lid];
        uint place = 0;  // no two are equal
        for (uint step = 1U << (31 - clz(size)); step != 0; step /= 2) {
          place += place + step < size && kept[place + step] <= own ? step : 0;
        }
        places[ranks[i]] = (ushort)place;
      }
    }
#endif
  } else {
    SORT_ROLLED
    for (uint here = lid; here < size; here += MASU_GROUP) {
      const MASU_ELEMENT own = kept[here];
      const uint bin = bin_at(own, lowest, shift);
      const uint first = bin_begin(bin, counters);
      const uint end = bin_end(bin, size, counters);
      uint place = first;
      if (crowded && end - first > bin_keys) {  // they are equal
        place = here;
      } else {
        SORT_ROLLED
        for (uint k = first; k < end; ++k) {
          const MASU_ELEMENT key = kept[k];
          place += key < own || (key == own && k < here) ? 1 : 0;
        }
      }
      to[place] = SORT_RESULT_OF(own, flip, source);
#if MASU_PAYLOAD_BYTES > 0
      places[here] = (ushort)place;
#endif
    }
  }
#if MASU_PAYLOAD_BYTES > 0
  MASU_VALUE values[MASU_ITEMS];
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    if (i * MASU_GROUP + lid < size) values[i] = values_from[i * MASU_GROUP + lid];
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
#if MASU_PAYLOAD_BYTES <= MASU_ELEMENT_BYTES  // they lie in local memory after the keys
  __local MASU_VALUE *const staged = (__local MASU_VALUE *)kept;
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    if (i * MASU_GROUP + lid < size) staged[places[ranks[i]]] = values[i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = lid; i < size; i += MASU_GROUP) values_to[i] = staged[i];
#else
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    if (i * MASU_GROUP + lid < size) values_to[places[ranks[i]]] = values[i];
  }
#endif
#endif
}
