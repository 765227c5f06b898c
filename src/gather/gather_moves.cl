// SPDX-License-Identifier: Apache-2.0
// Looking at indices, and records moved to where indices say or mirrored, in OpenCL C 1.2 (and, after the CUDA prelude, in
// CUDA C++). Behind first_position.cl and gather.cl, and with its defines.

// Notes of each work-group the first position of an index that is not below `limit`, and the index; *flag counts the
// work-groups that found one.
__kernel MASU_WORK_GROUP(MASU_GROUP) void check_indices(__global const uchar *index_memory, const ulong index_at,
                                                        const ulong count, const ulong limit,
                                                        __global uchar *note_memory, const ulong note_at,
                                                        __local uint *words) {
  MASU_LOCAL_POINTER(uint, words);  // 2
  __global const MASU_INDEX *indices = (__global const MASU_INDEX *)(index_memory + index_at);
  const size_t stride = get_global_size(0);
  ulong first_bad = MASU_NO_POSITION;
  for (size_t first = get_global_id(0); first < count; first += MASU_UNROLL * stride) {
    MASU_INDEX index[MASU_UNROLL];
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_UNROLL; ++k) {
      const size_t i = first + k * stride;
      index[k] = indices[i < count ? i : first];
    }
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_UNROLL; ++k) {
      const size_t i = first + k * stride;
      if (index[k] >= limit && i < count && i < first_bad) first_bad = i;
    }
  }
  const ulong bad = first_of_group(first_bad, words);
  if (get_local_id(0) == 0) {
    __global ulong *notes = (__global ulong *)(note_memory + note_at) + 1 + 2 * get_group_id(0);
    notes[0] = bad;
    notes[1] = bad == MASU_NO_POSITION ? 0 : indices[bad];
    if (bad != MASU_NO_POSITION) atomic_inc((__global uint *)(note_memory + note_at));
  }
}

// The last of the records from `begin` on that go to one place claims it: owners[place] is its number, from 1 on.
__kernel MASU_WORK_GROUP(MASU_GROUP) void claim_places(__global const uchar *restrict index_memory,
                                                       const ulong index_at, const ulong begin, const uint count,
                                                       const ulong in_row, const ulong out_row,
                                                       __global uchar *note_memory, const ulong note_at,
                                                       const ulong owner_at) {
  if (*(__global const uint *)(note_memory + note_at) != 0) return;
  __global const MASU_INDEX *indices = (__global const MASU_INDEX *)(index_memory + index_at);
  __global uint *owners = (__global uint *)(note_memory + owner_at);
  const size_t stride = get_global_size(0);
  for (size_t i = get_global_id(0); i < count; i += stride) {
    const ulong row = quotient(begin + i, in_row);
    atomic_max(&owners[row * out_row + indices[begin + i]], (uint)i + 1);
  }
}

// out[indices[i]] = records[i], by those that own their places.
__kernel MASU_WORK_GROUP(MASU_GROUP) void scatter_records(__global const uchar *restrict record_memory,
                                                          const ulong record_at, __global uchar *restrict out_memory,
                                                          const ulong out_at,
                                                          __global const uchar *restrict index_memory,
                                                          const ulong index_at, const ulong begin, const uint count,
                                                          const ulong in_row, const ulong out_row,
                                                          __global const uchar *restrict note_memory,
                                                          const ulong note_at, const ulong owner_at) {
  if (*(__global const uint *)(note_memory + note_at) != 0) return;
  __global const MASU_UNIT *records = (__global const MASU_UNIT *)(record_memory + record_at) + begin * MASU_UNITS;
  __global MASU_UNIT *out = (__global MASU_UNIT *)(out_memory + out_at);
  __global const MASU_INDEX *indices = (__global const MASU_INDEX *)(index_memory + index_at);
  __global const uint *owners = (__global const uint *)(note_memory + owner_at);
  const size_t stride = get_global_size(0);
  for (size_t u = get_global_id(0); u < (ulong)count * MASU_UNITS; u += stride) {
    const size_t i = u / MASU_UNITS;
    const ulong row = quotient(begin + i, in_row);
    const size_t place = row * out_row + indices[begin + i];
    if (owners[place] == (uint)i + 1) out[place * MASU_UNITS + (u - i * MASU_UNITS)] = records[u];
  }
}

// The records of each row from the last to the first; in place, by one work-item for both of a pair's units.
__kernel MASU_WORK_GROUP(MASU_GROUP) void reverse_records(__global const uchar *record_memory, const ulong record_at,
                                                          __global uchar *out_memory, const ulong out_at,
                                                          const ulong rows, const ulong row_length,
                                                          const uint in_place) {
  __global const MASU_UNIT *records = (__global const MASU_UNIT *)(record_memory + record_at);
  __global MASU_UNIT *out = (__global MASU_UNIT *)(out_memory + out_at);
  const ulong moved = in_place ? row_length / 2 : row_length;  // of a row
  const ulong units = rows * moved * MASU_UNITS;
  const size_t stride = get_global_size(0);
  for (size_t u = get_global_id(0); u < units; u += stride) {
    const size_t i = u / MASU_UNITS;
    const ulong row = quotient(i, moved);
    const ulong j = i - row * moved;
    const size_t here = (row * row_length + j) * MASU_UNITS + (u - i * MASU_UNITS);
    const size_t there = (row * row_length + row_length - 1 - j) * MASU_UNITS + (u - i * MASU_UNITS);
    const MASU_UNIT unit = records[here];
    if (in_place) out[here] = records[there];
    out[there] = unit;
  }
}
