// SPDX-License-Identifier: Apache-2.0
// A histogram for each row of fewer than 2^16 bytes, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++), for GPUs.
// histogram_slots.cl and histogram_vectors.cl stand in front of this file.
//
// A work-group of 32 takes two rows, its even work-items one and its odd ones the other. Each work-item has a table of its own in
// one bank of local memory, whose counters are bytes: the word of the four values from 4 * quad on is number quad * 32 + lane. A
// part of a row is up to MASU_ROUNDS rounds of MASU_UNROLL vectors for each work-item, and two bytes more; then the tables are
// summed, and cleared. That is fewer than 256 bytes, or 256 in whole vectors: where these are all equal the last round is not
// counted but added to the sums.
//
// Defines beside those of the files in front, given by histogram_plan.cpp:
// - MASU_RESIDENT  work-groups that share a compute unit

#define MASU_PLACE(quad, amount) \
  atomic_add((__local uint *)((__local uchar *)table + (((quad) & (63 * 128)) | column)), rotate(1u, (uint)(amount)));
#define MASU_COUNT_BYTE(w, k)               \
  {                                         \
    const uint byte = masu_byte(w, k);      \
    MASU_PLACE(byte << 5, byte << 3)        \
  }
#define MASU_COUNT_BYTES(w)    \
  MASU_PLACE((w) << 5, (w) << 3) \
  MASU_COUNT_BYTE(w, 1)        \
  MASU_COUNT_BYTE(w, 2)        \
  MASU_COUNT_BYTE(w, 3)
// Adds the bytes of a word: numbers 0 and 2 as a pair of 16 bits, and all but number 0 as 16 bits each, the second half a byte
// above the first; so numbers 1 and 3 are what is left without number 2.
#define MASU_ADD_BYTES(w, n)    \
  even[n] += (w) & 0x00ff00ffu; \
  upper[n] += (w) >> 8;
#define MASU_MEMBERS 16  // of a row
#define MASU_ROUNDS 2
#define MASU_FULL_ROUND 8  // vectors: twice as many are 256 bytes
// Behind the table: of each work-item, 256 and the value of all its bytes where the last round was not counted; the last part with such a one.
#define MASU_ALONE (64 * 32)
#define MASU_ALONE_LAST (MASU_ALONE + 32)
// Where this work-item's row of two lies, and its first round.
#define MASU_NEXT_ROW(row)                                       \
  bytes = data + byte_offset + ((row) + side) * pitch;           \
  head = head_of(bytes, count);                                  \
  vectors = (row) + side < rows ? (uint)(count - head) / 16 : 0; \
  first = 0;
#define MASU_VECTOR_OF(k) (first + (k)*MASU_MEMBERS + lane / 2)
#define MASU_HAS_VECTOR(k) ((k) < step && MASU_VECTOR_OF(k) < vectors)
#define MASU_LOAD_ROUND                                                                            \
  MASU_PRAGMA_UNROLL                                                                               \
  for (uint k = 0; k < MASU_UNROLL; ++k) {                                                         \
    if (MASU_HAS_VECTOR(k)) {                                                                      \
      loaded[k] = masu_load_streaming((__global const uint4 *)(bytes + head) + MASU_VECTOR_OF(k)); \
    }                                                                                              \
  }

// The value of all bytes of some vectors and 256, or 0 where they differ. Mostly three words tell that they do.
MASU_INLINE uint only_value(const uint4 *v) {
  const uint word = v[0].x;
  const uint value = word & 255;
  if (word != value * 0x01010101u || v[MASU_UNROLL / 2].y != word || v[MASU_UNROLL - 1].w != word) return 0;
  uint different = 0;
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < MASU_UNROLL; ++k) {
    different |= (v[k].x ^ word) | (v[k].y ^ word) | (v[k].z ^ word) | (v[k].w ^ word);
  }
  return different == 0 ? 256 | value : 0;
}

__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_RESIDENT) void histogram_byte_rows(MASU_PARAMETERS, __local uint4 *table) {
  MASU_LOCAL_POINTER(uint4, table);
  __local uint *words = (__local uint *)table;
  const uint lane = (uint)get_local_id(0);
  const uint side = lane & 1;
  const uint column = masu_computed(4 * lane);
  const bool whole = (((size_t)data + byte_offset) % 16 | pitch % 16 | count % 16) == 0;
  const uint step = MASU_UNROLL < MASU_FULL_ROUND || whole ? MASU_UNROLL : MASU_FULL_ROUND - 1;
  uint4 zeros;
  zeros.x = zeros.y = zeros.z = zeros.w = 0;
  size_t row = get_group_id(0) * 2;
  __global const uchar *bytes;
  size_t head;
  uint vectors;
  uint first;
  uint4 loaded[MASU_UNROLL];
  MASU_NEXT_ROW(row)
  MASU_LOAD_ROUND
  for (uint w = lane; w < 512; w += MASU_GROUP) table[w] = zeros;
  if (lane == 0) words[MASU_ALONE_LAST] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  // Of quads lane and lane + 32, of both rows.
  uint even[4] = {0, 0, 0, 0};
  uint upper[4] = {0, 0, 0, 0};
  uint part = 1;
  uint round = 0;
  uint only = 0;
  while (row < rows) {
    uint alone = 0;
    if (MASU_UNROLL == MASU_FULL_ROUND) {
      const uint before = only;
      only = whole && MASU_VECTOR_OF(MASU_UNROLL - 1) < vectors ? only_value(loaded) : 0;
      alone = round == 1 && only == before ? only : 0;
    }
    if (alone == 0) {
      MASU_PRAGMA_UNROLL
      for (uint k = 0; k < MASU_UNROLL; ++k) {
        if (MASU_HAS_VECTOR(k)) {
          MASU_COUNT_BYTES(loaded[k].x)
          MASU_COUNT_BYTES(loaded[k].y)
          MASU_COUNT_BYTES(loaded[k].z)
          MASU_COUNT_BYTES(loaded[k].w)
        }
      }
    }
    if (first == 0 && row + side < rows && !whole) {  // what lies before and behind the vectors
      const size_t tail = head + (size_t)vectors * 16;
      for (uint e = lane / 2; e < head + (size_t)(count - tail); e += MASU_MEMBERS) {
        const uint value = bytes[e < head ? e : tail + (e - head)];
        MASU_PLACE(value << 5, value << 3)
      }
    }
    // The next round is on its way while others are counted or summed.
    const size_t this_row = row;
    first += step * MASU_MEMBERS;
    if (first >= (uint)count / 16) {
      row += get_num_groups(0) * 2;
      MASU_NEXT_ROW(row)
    }
    MASU_LOAD_ROUND
    if (row == this_row && ++round < MASU_ROUNDS) continue;
    round = 0;
    if (MASU_UNROLL == MASU_FULL_ROUND) {
      words[MASU_ALONE + lane] = alone;
      if (alone != 0) words[MASU_ALONE_LAST] = part;
    }
    const bool last = row >= rows;  // of this work-group: most have no others, and writing zeros takes as long as reading
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_PRAGMA_UNROLL
    for (uint n = 0; n < 4; n += 2) {
      MASU_PRAGMA_UNROLL
      for (uint c = 0; c < 8; ++c) {
        // Work-items side by side begin in different banks.
        __local uint4 *at = &table[(lane + 16 * n) * 8 + ((c + lane) & 7)];
        const uint4 v = *at;
        if (!last) *at = zeros;
        MASU_ADD_BYTES(v.x, n)
        MASU_ADD_BYTES(v.y, n + 1)
        MASU_ADD_BYTES(v.z, n)
        MASU_ADD_BYTES(v.w, n + 1)
      }
    }
    if (MASU_UNROLL == MASU_FULL_ROUND && words[MASU_ALONE_LAST] == part) {
      const uint more = 16 * MASU_FULL_ROUND;
      for (uint item = 0; item < 32; ++item) {
        const uint one = words[MASU_ALONE + item];
        MASU_PRAGMA_UNROLL
        for (uint n = 0; n < 4; ++n) {
          if (one != 0 && (one & 255) / 4 == lane + n / 2 * 32 && (item & 1) == n % 2) {
            // As MASU_ADD_BYTES would of such a word.
            even[n] += (one & 1) != 0 ? 0 : more << 8 * (one & 2);
            upper[n] += (one & 3) == 0 ? 0 : more << 8 * ((one & 3) - 1);
          }
        }
      }
    }
    ++part;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (row == this_row) continue;
    MASU_PRAGMA_UNROLL
    for (uint n = 0; n < 4; ++n) {
      if (this_row + n % 2 < rows) {
        __global ulong *four = (__global ulong *)totals + first_total + (this_row + n % 2) * 256 + 4 * (lane + n / 2 * 32);
        const uint odd = upper[n] - (even[n] >> 16 << 8);
        if (((size_t)four & 15) == 0) {
          uint4 two = zeros;
          two.x = even[n] & 65535;
          two.z = odd & 65535;
          ((__global uint4 *)four)[0] = two;
          two.x = even[n] >> 16;
          two.z = odd >> 16;
          ((__global uint4 *)four)[1] = two;
        } else {
          four[0] = even[n] & 65535;
          four[1] = odd & 65535;
          four[2] = even[n] >> 16;
          four[3] = odd >> 16;
        }
      }
      even[n] = 0;
      upper[n] = 0;
    }
  }
}
