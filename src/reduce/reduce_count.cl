// SPDX-License-Identifier: Apache-2.0
// How many elements are not zero, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). After
// elements.cl.
//
// kernels.md has the parameters, which reduce_device.cpp gives.

#define REDUCE_TILE ((ulong)MASU_GROUP * MASU_VECTORS * MASU_PER_VECTOR)  // elements

// In two words. Narrow elements: adding all ones below their highest bit carries into it unless they are zero there.
#if MASU_ELEMENT_BYTES == 1
#define REDUCE_REST 0x7f7f7f7fU
#elif MASU_ELEMENT_BYTES == 2
#define REDUCE_REST 0x7fff7fffU
#endif
inline uint nonzero_in(const uint low, const uint high) {
#if MASU_ELEMENT_BYTES == 8
  return (low | (MASU_FLOAT ? high & 0x7fffffffU : high)) != 0;
#elif MASU_ELEMENT_BYTES == 4
  return ((MASU_FLOAT ? low & 0x7fffffffU : low) != 0) + ((MASU_FLOAT ? high & 0x7fffffffU : high) != 0);
#else
  const uint a = ((low & REDUCE_REST) + REDUCE_REST) | (MASU_FLOAT ? 0 : low);
  const uint b = ((high & REDUCE_REST) + REDUCE_REST) | (MASU_FLOAT ? 0 : high);
  return popcount(a & ~REDUCE_REST) + popcount(b & ~REDUCE_REST);
#endif
}

inline uint is_nonzero(const MASU_BITS bits) { return (MASU_FLOAT ? bits & (MASU_SIGN - 1) : bits) != 0; }

// The sum of each `width` work-items that lie side by side, in all of them. All work-items of the group come here;
// `width` is a power of two.
inline ulong sum_of(const ulong count, const uint width, __local ulong *sums) {
  const uint lane = (uint)get_local_id(0);
  sums[lane] = count;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint distance = width / 2; distance != 0; distance /= 2) {
    if ((lane & (width - 1)) < distance) sums[lane] += sums[lane + distance];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const ulong sum = sums[lane & ~(width - 1)];
  barrier(CLK_LOCAL_MEM_FENCE);
  return sum;
}

// Results of each row's count, of `count` elements; each is written if it is wanted.
#define REDUCE_TARGETS                                                                                                 \
  const uint wanted, __global uchar *number_memory, const ulong numbers_at, __global uchar *all_memory,              \
      const ulong all_at, __global uchar *any_memory, const ulong any_at
#define REDUCE_TARGET_ARGUMENTS wanted, number_memory, numbers_at, all_memory, all_at, any_memory, any_at
inline void store_count(const ulong row, const ulong count, const ulong found, REDUCE_TARGETS) {
  if ((wanted & MASU_WANTS_NUMBERS) != 0) ((__global ulong *)(number_memory + numbers_at))[row] = found;
  if ((wanted & MASU_WANTS_ALL) != 0) all_memory[all_at + row] = found == count;
  if ((wanted & MASU_WANTS_ANY) != 0) any_memory[any_at + row] = found != 0;
}

// `members` work-groups take the tiles of each row in turn, and leave what each has counted: two words, by atomics, as the last
// one of a row adds them up. left: a word for each row, of work-groups that were here: zeros before the launch. With
// one member neither is used.
__kernel MASU_WORK_GROUPS(MASU_GROUP, 8) void count_tiles(__global const uchar *restrict memory, const ulong memory_at,
                                                          const ulong count, const ulong rows, const uint members,
                                                          __global uchar *part_memory, const ulong parts_at,
                                                          __global uchar *left_memory, const ulong left_at,
                                                          REDUCE_TARGETS, __local ulong *sums, __local uint *is_last) {
  MASU_LOCAL_POINTER(ulong, sums);  // MASU_GROUP
  MASU_LOCAL_POINTER(uint, is_last);   // 1
  const uint lane = (uint)get_local_id(0);
  const ulong row = get_group_id(0) / members;
  const uint member = (uint)(get_group_id(0) - row * members);
  __global const uchar *data = memory + memory_at + row * count * MASU_ELEMENT_BYTES;
  const uint gap = gap_of(data);
  const ulong tiles = (count + gap + REDUCE_TILE - 1) / REDUCE_TILE;
  ulong found = 0;
  for (ulong tile = member; tile < tiles; tile += members) {
    uint here = 0;
    const long first = (long)(tile * REDUCE_TILE) - (long)gap;  // element
    if (first >= 0 && (ulong)first + REDUCE_TILE <= count) {
      __global const uint4 *vectors = (__global const uint4 *)(data + first * MASU_ELEMENT_BYTES) + lane;
      uint4 v[MASU_VECTORS];
      MASU_PRAGMA_UNROLL
      for (uint i = 0; i < MASU_VECTORS; ++i) v[i] = masu_load_streaming(vectors + i * MASU_GROUP);
      MASU_PRAGMA_UNROLL
      for (uint i = 0; i < MASU_VECTORS; ++i) here += nonzero_in(v[i].x, v[i].y) + nonzero_in(v[i].z, v[i].w);
    } else {
      const ulong begin = first < 0 ? 0 : (ulong)first;
      const ulong end = min((ulong)(first + (long)REDUCE_TILE), count);
      for (ulong i = begin + lane; i < end; i += MASU_GROUP) here += is_nonzero(element_at(data, i));
    }
    found += here;
  }
  found = sum_of(found, MASU_GROUP, sums);
  __global uint *parts = (__global uint *)(part_memory + parts_at) + 2 * row * members;
  if (lane == 0 && members > 1) {
    atomic_xchg(&parts[2 * member], (uint)found);
    atomic_xchg(&parts[2 * member + 1], (uint)(found >> 32));
  }
  __global uint *row_left = (__global uint *)(left_memory + left_at) + row;
  const uint last = is_last_group(row_left, members, false, is_last) ? 1 : 0;
  // A loop, not a condition: PoCL 3.1 runs what follows a barrier inside a condition for all work-items.
  for (uint l = 0; l < last; ++l) {
    found = lane == 0 && members == 1 ? found : 0;
    for (uint i = lane; i < members && members > 1; i += MASU_GROUP) {
      found += (ulong)atomic_or(&parts[2 * i + 1], 0u) << 32 | atomic_or(&parts[2 * i], 0u);
    }
    found = sum_of(found, MASU_GROUP, sums);
  }
  if (lane == 0 && last != 0) store_count(row, count, found, REDUCE_TARGET_ARGUMENTS);
}

// Short rows: `width` work-items take each, several rows side by side a work-group.
__kernel MASU_WORK_GROUP(MASU_GROUP) void count_rows(__global const uchar *restrict memory, const ulong memory_at,
                                                     const uint count, const ulong rows, const uint width,
                                                     REDUCE_TARGETS, __local ulong *sums) {
  MASU_LOCAL_POINTER(ulong, sums);  // MASU_GROUP
  const uint lane = (uint)get_local_id(0);
  const uint side_by_side = MASU_GROUP / width;
  for (ulong first = get_group_id(0) * side_by_side; first < rows; first += get_num_groups(0) * side_by_side) {
    const ulong row = first + lane / width;
    __global const uchar *data = memory + memory_at + row * count * MASU_ELEMENT_BYTES;
    uint here = 0;
    for (uint i = lane % width; row < rows && i < count; i += width) here += is_nonzero(element_at(data, i));
    const ulong found = sum_of(here, width, sums);
    if (row < rows && lane % width == 0) store_count(row, count, found, REDUCE_TARGET_ARGUMENTS);
  }
}

MASU_CLEAR_ARRIVED
