// SPDX-License-Identifier: Apache-2.0
// Counting values into bins, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). histogram_slots.cl, which finds
// a value's slot, and histogram_vectors.cl, which reaches all values, come before this file; histogram_elements.cl in place
// of the latter for joint histograms.
//
// The kernels differ in where they count before they add to the totals; they are the steps of src/histogram/README.md.
//
// kernels.md has the parameters, which histogram_plan.cpp gives.

#define HISTOGRAM_KERNEL_LOCAL 0
#define HISTOGRAM_KERNEL_GLOBAL 1
#define HISTOGRAM_KERNEL_PRIVATE 2
#define HISTOGRAM_KERNEL_CHANNELS 3
#define HISTOGRAM_KERNEL_ROWS 4

// Local memory: the table, then the guide and the thresholds if they lie there.
#if MASU_GUIDE_LOCAL
#define HISTOGRAM_LOCAL_PARAMETERS \
  __local uint *table, __local uint *local_guide, __local MASU_VALUE *local_thresholds, const uint guide_words,         \
      const uint reachable
#define HISTOGRAM_FILL_LOCAL                                                                   \
  MASU_LOCAL_POINTER(uint, local_guide);                                                       \
  MASU_LOCAL_POINTER(MASU_VALUE, local_thresholds);                                            \
  for (uint w = lane; w < guide_words; w += MASU_GROUP) local_guide[w] = guide0[w];            \
  for (uint w = lane; w < reachable; w += MASU_GROUP) local_thresholds[w] = thresholds0[w];
#define HISTOGRAM_LOCAL_ARGUMENTS table, local_guide, local_thresholds, guide_words, reachable
#else
#define HISTOGRAM_LOCAL_PARAMETERS __local uint *table
#define HISTOGRAM_LOCAL_ARGUMENTS table
#define HISTOGRAM_FILL_LOCAL
#endif

// Counting into a copy of a table in local memory.
#define HISTOGRAM_BYTE_COPIES \
  (MASU_ELEMENT_BYTES == 1 && MASU_CHANNELS == 1 && MASU_COLUMNS == 0 && (MASU_KERNEL == HISTOGRAM_KERNEL_LOCAL || MASU_KERNEL == HISTOGRAM_KERNEL_ROWS))
// `column` bytes after the slot's first copy. Bytes and sums of a guide: a shift and one three-way logical instruction make
// the place in the table. Positions: one multiplication and addition, which the constant that they are off by joins.
#if HISTOGRAM_BYTE_COPIES || defined(MASU_SUM)
#define HISTOGRAM_COPY_PLACE masu_computed(4 * (lane & (MASU_COPIES - 1)))
#define HISTOGRAM_IN_ROW |
#else
#define HISTOGRAM_COPY_PLACE 4 * (lane & (MASU_COPIES - 1))
#define HISTOGRAM_IN_ROW +
#endif
#define HISTOGRAM_SET_COPY                        \
  __local uchar *places = (__local uchar *)table; \
  const uint column = HISTOGRAM_COPY_PLACE;
#define HISTOGRAM_COUNT_IN_TABLE(slot)                                                                            \
  atomic_inc((__local uint *)(places + ((HISTOGRAM_CHANNEL + (slot)) * (4 * MASU_COPIES) HISTOGRAM_IN_ROW column))); \
  HISTOGRAM_NEXT_CHANNEL
#if HISTOGRAM_BYTE_COPIES
// The slot is the byte.
#define HISTOGRAM_PLACE(bits) atomic_inc((__local uint *)(places + (((bits) & (255 * 4 * MASU_COPIES)) | column)));
#define HISTOGRAM_SHIFT(w, right) ((right) >= MASU_ROW_BITS ? (w) >> ((right) - MASU_ROW_BITS) : (w) << (MASU_ROW_BITS - (right)))
#undef HISTOGRAM_COUNT_WORD
#define HISTOGRAM_COUNT_WORD(w)   \
  HISTOGRAM_PLACE(HISTOGRAM_SHIFT((w), 0)) \
  HISTOGRAM_PLACE(HISTOGRAM_SHIFT((w), 8)) \
  HISTOGRAM_PLACE(HISTOGRAM_SHIFT((w), 16)) \
  HISTOGRAM_PLACE(HISTOGRAM_SHIFT((w), 24))
#endif

#if MASU_KERNEL == HISTOGRAM_KERNEL_LOCAL
// `local` and `lanes`: a table for each work-group in local memory, MASU_COPIES words a slot. With as many copies as the
// memory has banks, the word `slot * copies + lane` lies in the lane's own bank: no two lanes of a warp ever wait for each
// other, whatever the values are. A group counts fewer than 2^32 values (the host splits larger launches).
// `anew`: the work-groups are a cluster, and the totals hold anything before.
MASU_INLINE void count_in_tables(HISTOGRAM_PARAMETERS_AS(const), HISTOGRAM_LOCAL_PARAMETERS, const bool anew) {
  MASU_LOCAL_POINTER(uint, table);
  const uint lane = (uint)get_local_id(0);
  const uint counted = slots * MASU_CHANNELS;
  if (anew && get_group_id(0) == 0) {
    for (uint w = lane; w < 2 * counted; w += MASU_GROUP) totals[2 * first_total + w] = 0;
  }
  const uint words = counted * MASU_COPIES;
  for (uint w = lane; w < words; w += MASU_GROUP) table[w] = 0;
  HISTOGRAM_FILL_LOCAL
  barrier(CLK_LOCAL_MEM_FENCE);

  HISTOGRAM_SET_COPY
#define HISTOGRAM_COUNT_BIN(bin) HISTOGRAM_COUNT_IN_TABLE(bin)
#define HISTOGRAM_COUNT(x) HISTOGRAM_COUNT_IN_TABLE(HISTOGRAM_SLOT_OF(x))
  HISTOGRAM_COUNT_ALL

  if (anew) masu_cluster_barrier();
  else barrier(CLK_LOCAL_MEM_FENCE);
  // Each work-item sums the copies of some slots; those whose copies lie in the same banks start at different ones.
  for (uint s = lane; s < counted; s += MASU_GROUP) {
    uint sum = 0;
    for (uint c = 0; c < MASU_COPIES; ++c) sum += table[s * MASU_COPIES + ((c + s * MASU_COPIES / 32) & (MASU_COPIES - 1))];
    if (sum != 0) add_total(&totals[2 * (first_total + s)], sum);
  }
}
// Some bytes are copied beside the counting: a launch of their own would take longer.
#define HISTOGRAM_BESIDE_PARAMETERS \
  __global const uchar *from, const ulong from_at, __global uchar *to, const ulong to_at, const ulong bytes
#define HISTOGRAM_COPY_BESIDE                                                                           \
  if (get_group_id(0) == get_num_groups(0) - 1) {                                                       \
    for (ulong i = get_local_id(0); i < bytes; i += MASU_GROUP) to[to_at + i] = from[from_at + i];      \
  }
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_local(HISTOGRAM_PARAMETERS, HISTOGRAM_BESIDE_PARAMETERS,
                                                          HISTOGRAM_LOCAL_PARAMETERS) {
  HISTOGRAM_COPY_BESIDE
  count_in_tables(HISTOGRAM_ARGUMENTS, HISTOGRAM_LOCAL_ARGUMENTS, false);
}
#if MASU_CLUSTER > 1
// Few elements, in one launch.
__kernel MASU_WORK_GROUP(MASU_GROUP) MASU_CLUSTERS(MASU_CLUSTER) void histogram_cluster(
    HISTOGRAM_PARAMETERS, HISTOGRAM_BESIDE_PARAMETERS, HISTOGRAM_LOCAL_PARAMETERS) {
  HISTOGRAM_COPY_BESIDE
  count_in_tables(HISTOGRAM_ARGUMENTS, HISTOGRAM_LOCAL_ARGUMENTS, true);
}
#endif
#endif

#if MASU_KERNEL == HISTOGRAM_KERNEL_CHANNELS && MASU_CHANNELS != 3
// `lanes` for 2 or 4 interleaved channels of bytes. At each step the lanes of a team of MASU_CHANNELS look at different
// channels, and a bank of the team's belongs to each channel: no two lanes of a warp ever meet in one bank, and the table
// is no larger than that of one channel.
#define HISTOGRAM_PLACE(bits, column) atomic_inc((__local uint *)(places + (((bits) & (255 * 128)) | (column))));
#undef HISTOGRAM_SET_CHANNEL
#define HISTOGRAM_SET_CHANNEL(element)
#undef HISTOGRAM_COUNT_WORD
#if MASU_CHANNELS == 2
#define HISTOGRAM_COUNT_STEP(w, k) \
  HISTOGRAM_PLACE(rotate((w), turn[k]), column[k]) HISTOGRAM_PLACE(rotate((w), (turn[k] + 16) & 31), column[k])
#define HISTOGRAM_COUNT_WORD(w) HISTOGRAM_COUNT_STEP(w, 0) HISTOGRAM_COUNT_STEP(w, 1)
#else
#define HISTOGRAM_COUNT_STEP(w, k) HISTOGRAM_PLACE(rotate((w), turn[k]), column[k])
#define HISTOGRAM_COUNT_WORD(w) HISTOGRAM_COUNT_STEP(w, 0) HISTOGRAM_COUNT_STEP(w, 1) HISTOGRAM_COUNT_STEP(w, 2) HISTOGRAM_COUNT_STEP(w, 3)
#endif
// A value before or after the vectors.
#define HISTOGRAM_COUNT(x) atomic_inc(&table[(uint)(x) * 32 + team + (((uint)element - (uint)head) & (MASU_CHANNELS - 1))]);
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_channels(HISTOGRAM_PARAMETERS, __local uint *table) {
  MASU_LOCAL_POINTER(uint, table);
  const uint item = (uint)get_local_id(0);
  for (uint w = item; w < 256 * 32; w += MASU_GROUP) table[w] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);

  __local uchar *places = (__local uchar *)table;
  const uint team = item & (32 - MASU_CHANNELS);  // the first bank of the team
  uint turn[MASU_CHANNELS];                       // brings the byte of step k to where it is a place in the table
  uint column[MASU_CHANNELS];
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < MASU_CHANNELS; ++k) {
    const uint member = (item + k) & (MASU_CHANNELS - 1);
    turn[k] = (7 - 8 * member) & 31;
    column[k] = 4 * (team + member);
  }
  HISTOGRAM_COUNT_ALL

  barrier(CLK_LOCAL_MEM_FENCE);
  const uint first = (uint)head_of(data + byte_offset, count);
  for (uint s = item; s < 256 * MASU_CHANNELS; s += MASU_GROUP) {
    const uint member = (s / 256 - first) & (MASU_CHANNELS - 1);  // that counted this channel
    uint sum = 0;
    for (uint c = 0; c < 32; c += MASU_CHANNELS) {
      sum += table[(s & 255) * 32 + ((c + item * MASU_CHANNELS) & (32 - MASU_CHANNELS)) + member];
    }
    if (sum != 0) add_total(&totals[2 * (first_total + s)], sum);
  }
}
#endif

#if MASU_KERNEL == HISTOGRAM_KERNEL_CHANNELS && MASU_CHANNELS == 3
// `lanes` for 3 interleaved channels of bytes. A team of 3 lanes reads the same 3 vectors and each lane counts the bytes
// of one channel only, in its own bank; so the table is no larger than that of one channel.
#define HISTOGRAM_TEAMS (32 / MASU_CHANNELS)  // in 32 lanes, two of which stay idle
// Bits of a byte in a word, turned to where they are a place in the table.
#define HISTOGRAM_PLACE(bits) atomic_inc((__local uint *)(places + (((bits) & (255 * 128)) | column)));
// The 4 bytes of a channel in 3 words of 3 channels: bytes 0, 3, 6 and 9 after the channel's first one.
#define HISTOGRAM_FUNNEL(low, high) (uint)(((ulong)(high) << 32 | (ulong)(low)) >> shift)
#define HISTOGRAM_COUNT_TRIPLE(a, b, c)       \
  {                                           \
    const uint from0 = HISTOGRAM_FUNNEL(a, b); \
    const uint from4 = HISTOGRAM_FUNNEL(b, c); \
    HISTOGRAM_PLACE(from0 << 7)               \
    HISTOGRAM_PLACE(from0 >> 17)              \
    HISTOGRAM_PLACE(from4 >> 9)               \
    HISTOGRAM_PLACE(((c) >> shift) >> 1)      \
  }
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_channels(HISTOGRAM_PARAMETERS, __local uint *table) {
  MASU_LOCAL_POINTER(uint, table);
  const uint item = (uint)get_local_id(0);
  for (uint w = item; w < 256 * 32; w += MASU_GROUP) table[w] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);

  __local uchar *places = (__local uchar *)table;
  __global const uchar *bytes = data + byte_offset;
  const uint lane = item & 31;
  const uint column = 4 * lane;
  const uint member = lane - lane / MASU_CHANNELS * MASU_CHANNELS;
  const uint shift = 8 * member;
  const size_t head = head_of(bytes, count);
  const size_t blocks = (size_t)(count - head) / (16 * MASU_CHANNELS);
  __global const uint4 *body = (__global const uint4 *)(bytes + head);
  const size_t teams = get_num_groups(0) * (MASU_GROUP / 32 * HISTOGRAM_TEAMS);
  const size_t team = (get_group_id(0) * (MASU_GROUP / 32) + item / 32) * HISTOGRAM_TEAMS + lane / MASU_CHANNELS;
  if (lane < HISTOGRAM_TEAMS * MASU_CHANNELS) {
    size_t i = team;
    for (; i + (MASU_UNROLL - 1) * teams < blocks; i += MASU_UNROLL * teams) {
      uint4 loaded[MASU_UNROLL * MASU_CHANNELS];
      MASU_PRAGMA_UNROLL
      for (int k = 0; k < MASU_UNROLL; ++k) {
        MASU_PRAGMA_UNROLL
        for (int c = 0; c < MASU_CHANNELS; ++c) {
          loaded[k * MASU_CHANNELS + c] = masu_load_streaming(body + (i + k * teams) * MASU_CHANNELS + c);
        }
      }
      MASU_PRAGMA_UNROLL
      for (int k = 0; k < MASU_UNROLL; ++k) {
        const uint4 u = loaded[3 * k];
        const uint4 v = loaded[3 * k + 1];
        const uint4 w = loaded[3 * k + 2];
        HISTOGRAM_COUNT_TRIPLE(u.x, u.y, u.z)
        HISTOGRAM_COUNT_TRIPLE(u.w, v.x, v.y)
        HISTOGRAM_COUNT_TRIPLE(v.z, v.w, w.x)
        HISTOGRAM_COUNT_TRIPLE(w.y, w.z, w.w)
      }
    }
    for (; i < blocks; i += teams) {
      for (uint p = 0; p < 16; ++p) {
        const uint value = bytes[head + (i * 16 + p) * MASU_CHANNELS + member];
        atomic_inc(&table[value * 32 + lane]);
      }
    }
    // Head and tail: bytes of the same member, so that a lane sees one channel only.
    const size_t tail = head + blocks * 16 * MASU_CHANNELS;
    for (size_t e = team * MASU_CHANNELS + member; e < (size_t)(count - tail); e += teams * MASU_CHANNELS) {
      atomic_inc(&table[(uint)bytes[tail + e] * 32 + lane]);
    }
    if (team == 0) {
      // The head ends where the first block begins, so its members are counted from its end.
      for (size_t back = MASU_CHANNELS - member; back <= head; back += MASU_CHANNELS) {
        atomic_inc(&table[(uint)bytes[head - back] * 32 + lane]);
      }
    }
  }

  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint s = item; s < 256 * MASU_CHANNELS; s += MASU_GROUP) {
    // The member that counted this channel.
    const uint counted = (s / 256 + MASU_CHANNELS - (uint)(head % MASU_CHANNELS)) % MASU_CHANNELS;
    uint sum = 0;
    for (uint c = 0; c < HISTOGRAM_TEAMS; ++c) {
      const uint from = (c + item) % HISTOGRAM_TEAMS;
      sum += table[(s & 255) * 32 + from * MASU_CHANNELS + counted];
    }
    if (sum != 0) add_total(&totals[2 * (first_total + s)], sum);
  }
}
#endif

#if MASU_KERNEL == HISTOGRAM_KERNEL_ROWS
// A histogram for each row, a row for each work-group at a time: counted as by `lanes`, then written, not added, to its
// place after the previous row's. A row has fewer than 2^32 elements.
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_rows(HISTOGRAM_PARAMETERS, HISTOGRAM_LOCAL_PARAMETERS) {
  MASU_LOCAL_POINTER(uint, table);
  const uint lane = (uint)get_local_id(0);
  const uint all = slots * MASU_CHANNELS;
  for (uint w = lane; w < all * MASU_COPIES; w += MASU_GROUP) table[w] = 0;
  HISTOGRAM_FILL_LOCAL
  HISTOGRAM_SET_COPY
  for (size_t row = get_group_id(0); row < rows; row += get_num_groups(0)) {
    barrier(CLK_LOCAL_MEM_FENCE);
    __global const uchar *bytes = data + byte_offset + row * pitch;
#define HISTOGRAM_COUNT_BIN(bin) HISTOGRAM_COUNT_IN_TABLE(bin)
#define HISTOGRAM_COUNT(x) HISTOGRAM_COUNT_IN_TABLE(HISTOGRAM_SLOT_OF(x))
    HISTOGRAM_COUNT_SPAN(bytes, lane, (size_t)MASU_GROUP)
    barrier(CLK_LOCAL_MEM_FENCE);
    __global ulong *result = (__global ulong *)totals + first_total + row * all;
    for (uint s = lane; s < all; s += MASU_GROUP) {
      uint sum = 0;
      // Slots whose copies lie in the same banks start at different ones.
      for (uint c = 0; c < MASU_COPIES; ++c) {
        const uint at = s * MASU_COPIES + ((c + s * MASU_COPIES / 32) & (MASU_COPIES - 1));
        sum += table[at];
        table[at] = 0;
      }
      result[s] = sum;
    }
  }
}
#endif

#if MASU_KERNEL == HISTOGRAM_KERNEL_GLOBAL
// `global`: every value is one atomic addition to the result.
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_global(HISTOGRAM_PARAMETERS) {
#define HISTOGRAM_COUNT_BIN(bin)                            \
  add_total(&totals[2 * (first_total + HISTOGRAM_CHANNEL + (bin))], 1); \
  HISTOGRAM_NEXT_CHANNEL
#define HISTOGRAM_COUNT(x) HISTOGRAM_COUNT_BIN(HISTOGRAM_SLOT_OF(x))
  HISTOGRAM_COUNT_ALL
}
#endif

#if MASU_KERNEL == HISTOGRAM_KERNEL_PRIVATE
// `private`: each work-item has a table of its own, then adds it to the result.
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_private(HISTOGRAM_PARAMETERS) {
  uint table[MASU_PRIVATE_SLOTS];
  for (uint s = 0; s < slots * MASU_CHANNELS; ++s) table[s] = 0;
#define HISTOGRAM_COUNT_BIN(bin)   \
  ++table[HISTOGRAM_CHANNEL + (bin)]; \
  HISTOGRAM_NEXT_CHANNEL
#define HISTOGRAM_COUNT(x) HISTOGRAM_COUNT_BIN(HISTOGRAM_SLOT_OF(x))
  HISTOGRAM_COUNT_ALL
  for (uint s = 0; s < slots * MASU_CHANNELS; ++s) {
    if (table[s] != 0) add_total(&totals[2 * (first_total + s)], table[s]);
  }
}
#endif
