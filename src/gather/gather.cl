// SPDX-License-Identifier: Apache-2.0
// Records in the order of indices, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). Each unit of a record is
// moved by a work-item of its own, so neighbours touch neighbours. Sorting uses it, too.
//
// kernels.md has the parameters, which gather_device.cpp gives.

// n / divisor; short where both are.
inline ulong quotient(const ulong n, const ulong divisor) {
  if (n < divisor) return 0;
  return n <= UINT_MAX ? (ulong)((uint)n / (uint)divisor) : n / divisor;
}

// moved[i] = records[indices[i]]: rows of out_row records from rows of in_row records; index_row 0: one row of indices for
// all. Does nothing where *flag is not 0.
__kernel MASU_WORK_GROUP(MASU_GROUP) void gather_records(__global const uchar *restrict record_memory,
                                                         const ulong record_at, __global uchar *restrict moved_memory,
                                                         const ulong moved_at,
                                                         __global const uchar *restrict index_memory,
                                                         const ulong index_at, const ulong units, const ulong in_row,
                                                         const ulong out_row, const ulong index_row,
                                                         __global const uchar *restrict flag_memory,
                                                         const ulong flag_at, const uint checked) {
  if (checked && *(__global const uint *)(flag_memory + flag_at) != 0) return;
  __global const MASU_UNIT *records = (__global const MASU_UNIT *)(record_memory + record_at);
  __global MASU_UNIT *moved = (__global MASU_UNIT *)(moved_memory + moved_at);
  __global const MASU_INDEX *indices = (__global const MASU_INDEX *)(index_memory + index_at);
  const size_t stride = get_global_size(0);
  for (size_t first = get_global_id(0); first < units; first += MASU_UNROLL * stride) {
    size_t from[MASU_UNROLL];
    MASU_UNIT unit[MASU_UNROLL];
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_UNROLL; ++k) {
      const size_t u = first + k * stride < units ? first + k * stride : first;
      const size_t i = u / MASU_UNITS;
      const ulong row = quotient(i, out_row);
      from[k] = (row * in_row + indices[index_row != 0 ? i : i - row * out_row]) * MASU_UNITS + (u - i * MASU_UNITS);
    }
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_UNROLL; ++k) unit[k] = records[from[k]];
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_UNROLL; ++k) {
      if (first + k * stride < units) moved[first + k * stride] = unit[k];
    }
  }
}
