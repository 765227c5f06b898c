// SPDX-License-Identifier: Apache-2.0
// A histogram for each row of fewer than 2^16 bytes, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++), for GPUs.
// histogram_slots.cl and histogram_vectors.cl stand in front of this file.
//
// A work-group of 32 takes a row. Each work-item has a table of its own in one bank of local memory, whose counters are bytes:
// the word of the four values from 4 * quad on is number quad * 32 + lane. A part of a row gives each work-item at most
// MASU_UNROLL vectors and one byte more, fewer than 256 bytes; then the tables are summed, and cleared.
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
// Where a row lies, and its first part.
#define MASU_NEXT_ROW(row)                                        \
  bytes = data + byte_offset + (row)*pitch;                       \
  head = head_of(bytes, count);                                   \
  vectors = (row) < rows ? (uint)(count - head) / 16 : 0;         \
  first = 0;
#define MASU_FIND_ROW(row)     \
  __global const uchar *bytes; \
  size_t head;                 \
  uint vectors;                \
  uint first;                  \
  MASU_NEXT_ROW(row)
#define MASU_LOAD_PART                                                                                     \
  MASU_PRAGMA_UNROLL                                                                                       \
  for (uint k = 0; k < MASU_UNROLL; ++k) {                                                                 \
    const uint i = first + k * MASU_GROUP + lane;                                                          \
    if (i < vectors) loaded[k] = masu_load_streaming((__global const uint4 *)(bytes + head) + i);          \
  }
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_RESIDENT) void histogram_byte_rows(MASU_PARAMETERS, __local uint4 *table) {
  MASU_LOCAL_POINTER(uint4, table);
  const uint lane = (uint)get_local_id(0);
  const uint column = masu_computed(4 * lane);
  uint4 zeros;
  zeros.x = zeros.y = zeros.z = zeros.w = 0;
  for (uint w = lane; w < 512; w += MASU_GROUP) table[w] = zeros;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint even[2] = {0, 0};  // of quads lane and lane + 32
  uint upper[2] = {0, 0};
  uint4 loaded[MASU_UNROLL];
  size_t row = get_group_id(0);
  MASU_FIND_ROW(row)
  MASU_LOAD_PART
  while (row < rows) {
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_UNROLL; ++k) {
      if (first + k * MASU_GROUP + lane < vectors) {
        MASU_COUNT_BYTES(loaded[k].x)
        MASU_COUNT_BYTES(loaded[k].y)
        MASU_COUNT_BYTES(loaded[k].z)
        MASU_COUNT_BYTES(loaded[k].w)
      }
    }
    if (first == 0) {  // what lies before and behind the vectors
      const size_t tail = head + (size_t)vectors * 16;
      if (lane < head + (size_t)(count - tail)) {
        const uint value = bytes[lane < head ? lane : tail + (lane - head)];
        MASU_PLACE(value << 5, value << 3)
      }
    }
    // The next part is on its way while this one is summed.
    const size_t this_row = row;
    first += MASU_UNROLL * MASU_GROUP;
    if (first >= vectors) {
      row += get_num_groups(0);
      MASU_NEXT_ROW(row)
    }
    MASU_LOAD_PART
#ifdef MASU_OPENCL
    const bool last = false;  // NVIDIA's compiler makes slower code of the condition
#else
    const bool last = row >= rows;  // of this work-group: most have no other, and writing zeros takes as long as reading
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_PRAGMA_UNROLL
    for (uint n = 0; n < 2; ++n) {
      MASU_PRAGMA_UNROLL
      for (uint c = 0; c < 8; ++c) {
        // Work-items side by side begin in different banks.
        __local uint4 *at = &table[(lane + 32 * n) * 8 + ((c + lane) & 7)];
        const uint4 v = *at;
        if (!last) *at = zeros;
        MASU_ADD_BYTES(v.x, n)
        MASU_ADD_BYTES(v.y, n)
        MASU_ADD_BYTES(v.z, n)
        MASU_ADD_BYTES(v.w, n)
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (row == this_row) continue;
    __global ulong *result = (__global ulong *)totals + first_total + this_row * 256;
    MASU_PRAGMA_UNROLL
    for (uint n = 0; n < 2; ++n) {
      __global ulong *four = result + 4 * (lane + 32 * n);
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
      even[n] = 0;
      upper[n] = 0;
    }
  }
}
