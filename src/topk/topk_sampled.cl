// SPDX-License-Identifier: Apache-2.0
// A top-k of long rows, by a work-group or a cluster each: a sample shows from which element on the first may be, one pass gathers
// these, and the cluster's first work-group puts them into order. topk_select.cl, topk_network.cl and scrambled.cl stand in front
// of this file. kernels.md has the parameters, which topk_plan.cpp gives.

// Words of the state after those that a selection of greatest ranks has.
#define topk_bits 8      // two words: of numbers that buckets are made of
#define topk_skipped 10  // NaNs
#define topk_joined 12   // entries that the other work-groups have handed to the first one
#define topk_total 13    // entries of all work-groups
#define topk_crowded 14  // whether a bucket has so many that the network is quicker

#define TOPK_BUCKETS 2048u
#define TOPK_MOST_IN_BUCKET 128u

// The order of entries from the last one on, as numbers without holes, where ties are of up to four bytes.
inline ulong above_least(const ulong key, const MASU_BITS least, const uint index_bits) {
#if TOPK_PAIRS
  return key - least;
#else
  return (ulong)((uint)(key >> 32) - least) << index_bits | ((uint)key & (((uint)1 << index_bits) - 1));
#endif
}

// The vector of the row, or the element, that the sample has as its own number `v` or `i`: one of each `stride` vectors.
inline uint sampled_vector(const uint stride, const uint v) { return v * stride + (scrambled(v) & (stride - 1)); }
inline uint sampled_element(const uint stride, const uint i) {
  return sampled_vector(stride, i / MASU_PER_VECTOR) * MASU_PER_VECTOR + i % MASU_PER_VECTOR;
}
// Vector `v` of a row of `count` elements. The last one, where the row does not fill it, is read as the row's last elements.
inline uint first_of_vector(const uint v, const uint count) { return min(v * MASU_PER_VECTOR, count - MASU_PER_VECTOR); }
MASU_INLINE uint4 vector_of_row(__global const uchar *bytes, const uint v, const uint count) {
  __global const uchar *at = bytes + (size_t)first_of_vector(v, count) * MASU_ELEMENT_BYTES;
  return gap_of(bytes) == 0 && (v + 1) * MASU_PER_VECTOR <= count ? *(__global const uint4 *)at : load_elements(at);
}

// `places`, a power of two: for how many entries there is room. The sample has one of `stride` vectors; an element that
// comes before its number `rest` may be one of the first.
__kernel MASU_WORK_GROUPS(MASU_GROUP, SELECT_ROW_GROUPS) SELECT_CLUSTERS void topk_sampled(
    TOPK_DATA, const uint rows, const uint places, __global uchar *nans, const ulong nans_at, const uint stride,
    const uint rest, TOPK_RESULT, __local ulong *keys, __local uint *indices, __local uint *words, __local uint *starts,
    __local ushort *numbers) {
  MASU_LOCAL_POINTER(ulong, keys);
  MASU_LOCAL_POINTER(uint, indices);
  MASU_LOCAL_POINTER(uint, words);
  MASU_LOCAL_POINTER(uint, starts);
  MASU_LOCAL_POINTER(ushort, numbers);
  __local uint *tables = words;
  __local uint *partial = tables + 2 * SELECT_ROW_DIGITS;
  __local uint *state = partial + MASU_GROUP;
  const uint lane = (uint)get_local_id(0);
  Row row;
  row.held = (__local uint4 *)keys;
  for (size_t r = get_group_id(0) / MASU_CLUSTER; r < rows; r += get_num_groups(0) / MASU_CLUSTER) {
    row.bytes = data + byte_offset + r * count * MASU_ELEMENT_BYTES;
    const uint length = TOPK_LENGTH(r);
    const uint wanted = min(length, k);
    const uint index_bits = 32 - clz(length);
    const MASU_BITS one = element_at(row.bytes, 0);
    MASU_BITS least = 0;
    uint gathered = 0;
    bool found = false;
    // Where the sample misled, the exact threshold is found.
    for (uint turn = 0; turn < 2 && !found; ++turn) {
      row.sampled = turn == 0;
      row.entries = row.sampled ? length / MASU_PER_VECTOR / stride * MASU_PER_VECTOR : length;
      row.index_bits = 32 - clz(row.entries);
      take_part(&row, UINT_MAX);
      if (lane < row_words) state[lane] = 0;
      clear_words(tables, SELECT_ROW_DIGITS);
      for (uint round = lane; row.sampled && round < row.vectors; round += MASU_GROUP * MASU_BATCH) {
        uint4 batch[MASU_BATCH];
        MASU_UNROLLED
        for (uint b = 0; b < MASU_BATCH; ++b) {
          const uint v = row.first + min(round + b * MASU_GROUP, row.vectors - 1);
          batch[b] = vector_of_row(row.bytes, sampled_vector(stride, v), count);
        }
        MASU_UNROLLED
        for (uint b = 0; b < MASU_BATCH; ++b) {
          if (round + b * MASU_GROUP < row.vectors) row.held[round + b * MASU_GROUP] = batch[b];
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      const MASU_BITS differing = look_at_row(row, rank_of(one), false, tables, state);
      Selected last;
      select_greatest(row, row.sampled ? min(rest, row.entries) : wanted, row.sampled ? rest + rest / 16 : places, false,
                      rank_of(one), differing, tables, partial, state, &last);
      least = last.least;
      const uint end = ~last.least_index;  // ties are taken up to this one
      const uint last_taken = end >= row.entries ? UINT_MAX : row.sampled ? sampled_element(stride, end) : end;
      row.entries = length;
      take_part(&row, UINT_MAX);
#if MASU_SKIP
      uint skipped = 0;
#endif
      // Where no number has the threshold, and where NaNs are counted, ranks are compared alone.
      const bool by_rank = (MASU_FLOAT && (least == SELECT_NAN_RANK || least == 0)) || MASU_SKIP;
      const MASU_VALUE value = MASU_AS_VALUE(bits_of_rank(least));
      barrier(CLK_LOCAL_MEM_FENCE);  // the sample is done with
      for (uint round = lane; round - lane < row.vectors; round += MASU_GROUP * MASU_BATCH) {
        uint4 batch[MASU_BATCH];
        MASU_UNROLLED
        for (uint b = 0; b < MASU_BATCH; ++b) {
          batch[b] = vector_of_row(row.bytes, row.first + min(round + b * MASU_GROUP, row.vectors - 1), count);
        }
        uint passing = 0;
        MASU_UNROLLED
        for (uint b = 0; b < MASU_BATCH; ++b) {
          uint raw[4];
          words_of_vector(batch[b], raw);
          MASU_UNROLLED
          for (uint e = 0; e < MASU_PER_VECTOR; ++e) {
            if (by_rank || TOPK_REACHES(MASU_AS_VALUE(element_of(raw, e)), value)) {
              passing |= (uint)1 << (b * MASU_PER_VECTOR + e);
            }
          }
        }
        // Few pass: they are read once more.
        MASU_ROLLED
        while (passing != 0) {
          const uint e = 31 - clz(passing);
          passing ^= (uint)1 << e;
          const uint v = round + e / MASU_PER_VECTOR * MASU_GROUP;
          const uint index = first_of_vector(row.first + v, count) + e % MASU_PER_VECTOR;
          const MASU_BITS rank = rank_of(element_at(row.bytes, index));
          if (v < row.vectors && index >= (row.first + v) * MASU_PER_VECTOR && index < length) {
#if MASU_SKIP
            if (rank == 0) ++skipped;
#endif
            if (rank > least || (rank == least && index <= last_taken)) {
              const uint place = atomic_inc(&state[row_taken]);
              if (place < places) {
                keys[place] = key_of_entry(rank, index);
#if TOPK_PAIRS
                indices[place] = index;
#endif
              }
            }
          }
        }
      }
#if MASU_SKIP
      if (skipped != 0) atomic_add(SELECT_OF_GROUP(state, 0) + topk_skipped, skipped);
#endif
      barrier(CLK_LOCAL_MEM_FENCE);
#if MASU_CLUSTER > 1
      // The others' entries fill the first work-group's memory from behind.
      const uint mine = state[row_taken];
      if (lane < MASU_CLUSTER) atomic_add(SELECT_OF_GROUP(state, lane) + topk_total, mine);
      if (SELECT_PART != 0) {
        if (lane == 0) partial[0] = atomic_add(SELECT_OF_GROUP(state, 0) + topk_joined, mine);
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint begin = partial[0];
        for (uint i = lane; i < mine && begin + i < places; i += MASU_GROUP) {
          SELECT_OF_GROUP(keys, 0)[places - 1 - begin - i] = keys[i];
#if TOPK_PAIRS
          SELECT_OF_GROUP(indices, 0)[places - 1 - begin - i] = indices[i];
#endif
        }
      }
      SELECT_ROW_BARRIER
      gathered = state[topk_total];
#else
      gathered = state[row_taken];
#endif
      found = wanted <= gathered && gathered <= places;
      barrier(CLK_LOCAL_MEM_FENCE);
    }
#if MASU_CLUSTER > 1
    if (SELECT_PART != 0) continue;
#endif
    // The entries lie at both ends.
    const uint front = state[row_taken];
    const uint gap = places - gathered;
#define TOPK_PLACE(i) ((i) < front ? (i) : (i) + gap)
    ulong all = 0;
    for (uint i = lane; i < gathered; i += MASU_GROUP) all |= above_least(keys[TOPK_PLACE(i)], least, index_bits);
    if ((uint)all != 0) atomic_or(&state[topk_bits], (uint)all);
    if (all >> 32 != 0) atomic_or(&state[topk_bits + 1], (uint)(all >> 32));
    clear_words(starts, TOPK_BUCKETS);
    barrier(CLK_LOCAL_MEM_FENCE);
    all = (ulong)state[topk_bits + 1] << 32 | state[topk_bits];
    const uint shift = max(64 - (uint)clz(all), 11u) - 11;
#define TOPK_BUCKET(key) (TOPK_BUCKETS - 1 - (uint)(above_least(key, least, index_bits) >> shift))
    for (uint i = lane; i < gathered; i += MASU_GROUP) atomic_inc(&starts[TOPK_BUCKET(keys[TOPK_PLACE(i)])]);
    barrier(CLK_LOCAL_MEM_FENCE);
    // Where each bucket ends; once its entries have places, where it starts.
    __local uint *own = starts + lane * (TOPK_BUCKETS / MASU_GROUP);
    uint sum = 0;
    uint most = 0;
    for (uint i = 0; i < TOPK_BUCKETS / MASU_GROUP; ++i) {
      most = max(most, own[i]);
      sum += own[i];
    }
    if (most > TOPK_MOST_IN_BUCKET) state[topk_crowded] = 1;
    uint total;
    uint before = group_scan(sum, MASU_GROUP, partial, lane, &total) - sum;
    for (uint i = 0; i < TOPK_BUCKETS / MASU_GROUP; ++i) {
      before += own[i];
      own[i] = before;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool crowded = state[topk_crowded] != 0;
    for (uint i = lane; i < gathered; i += MASU_GROUP) {
      numbers[atomic_dec(&starts[TOPK_BUCKET(keys[TOPK_PLACE(i)])]) - 1] = (ushort)TOPK_PLACE(i);
    }
    for (uint i = front + lane; crowded && i < front + gap; i += MASU_GROUP) {
      keys[i] = 0;
#if TOPK_PAIRS
      indices[i] = UINT_MAX;
#endif
    }
    order_entries(keys, indices, crowded ? places : 0);
    for (uint i = lane; i < gathered; i += MASU_GROUP) {
      const uint entry = crowded ? i : numbers[i];
      const ulong key = keys[entry];
#if TOPK_PAIRS
      const uint index = indices[entry];
#else
      const uint index = ~(uint)key;
#endif
      const uint bucket = TOPK_BUCKET(key);
      const uint start = crowded ? 0 : starts[bucket];
      const uint next = crowded ? 0 : bucket + 1 < TOPK_BUCKETS ? starts[bucket + 1] : gathered;
      uint place = crowded ? i : start;
      for (uint other = start; other < next; ++other) place += is_before(keys, indices, numbers[other], key, index) ? 1 : 0;
      if (place < wanted) set_result(row.bytes, key, index, r * k + place, TOPK_RESULT_ARGUMENTS);
    }
    for (uint i = wanted + lane; i < k; i += MASU_GROUP) {
      set_result(row.bytes, 0, TOPK_NO_INDEX, r * k + i, TOPK_RESULT_ARGUMENTS);
    }
    if (lane == 0) ((__global uint *)(nans + nans_at))[r] = state[topk_skipped];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
