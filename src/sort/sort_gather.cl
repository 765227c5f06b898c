// SPDX-License-Identifier: Apache-2.0
// Records in the order of indices, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++).
//
// Defines, all given by sort_kernels.cpp:
#ifndef MASU_GROUP            // work-items in a work-group
#error "MASU_GROUP is not defined"
#endif
#ifndef MASU_INDEX_BYTES      // 4 or 8
#error "MASU_INDEX_BYTES is not defined"
#endif
#ifndef MASU_RECORD_UNIT      // records are moved in units of this many bytes, 1, 2, 4 or 8
#error "MASU_RECORD_UNIT is not defined"
#endif

#if MASU_RECORD_UNIT == 8
#define MASU_RECORD ulong
#elif MASU_RECORD_UNIT == 4
#define MASU_RECORD uint
#elif MASU_RECORD_UNIT == 2
#define MASU_RECORD ushort
#else
#define MASU_RECORD uchar
#endif
#if MASU_INDEX_BYTES == 8
#define MASU_INDEX ulong
#else
#define MASU_INDEX uint
#endif

// moved[i] = records[indices[i]], indices counted from the begin of each piece; every unit by a work-item of its own.
__kernel MASU_WORK_GROUP(MASU_GROUP) void sort_gather(__global const uchar *record_memory, const ulong record_offset,
                                                      __global uchar *moved_memory, const ulong moved_offset,
                                                      __global const uchar *index_memory, const ulong index_offset,
                                                      const uint record_units, const ulong piece_length,
                                                      const ulong units) {
  __global const MASU_RECORD *records = (__global const MASU_RECORD *)(record_memory + record_offset);
  __global MASU_RECORD *moved = (__global MASU_RECORD *)(moved_memory + moved_offset);
  __global const MASU_INDEX *indices = (__global const MASU_INDEX *)(index_memory + index_offset);
  for (ulong u = get_global_id(0); u < units; u += get_global_size(0)) {
    const ulong i = record_units == 1 ? u : u / record_units;
    const ulong piece = i < piece_length ? 0 : i / piece_length;
    moved[u] = records[(piece * piece_length + indices[i]) * record_units + (u - i * record_units)];
  }
}
