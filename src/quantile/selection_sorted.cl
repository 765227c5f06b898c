// SPDX-License-Identifier: Apache-2.0
// Elements at places and medians of rows that are sorted. Behind selection.cl.

// Up to eight of the elements from result number `first` of each row on; a row of results has `stride`.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_gather(__global const uchar *data, const ulong byte_offset,
                                                           const ulong count, const ulong rows, const ulong place0,
                                                           const ulong place1, const ulong place2, const ulong place3,
                                                           const ulong place4, const ulong place5, const ulong place6,
                                                           const ulong place7, const uint number,
                                                           __global uchar *results, const ulong results_at,
                                                           const ulong first, const ulong stride) {
  for (ulong i = get_global_id(0); i < rows * number; i += get_global_size(0)) {
    const ulong row = i / number;
    const uint which = (uint)(i % number);
    const ulong place = which == 0   ? place0
                        : which == 1 ? place1
                        : which == 2 ? place2
                        : which == 3 ? place3
                        : which == 4 ? place4
                        : which == 5 ? place5
                        : which == 6 ? place6
                                     : place7;
    MASU_BITS bits = element_at(data + byte_offset, row * count + place);
#if MASU_FLOAT
    if ((bits & (MASU_SIGN - 1)) > MASU_INFINITY_BITS) bits = MASU_QUIET_NAN;
#endif
    set_element(results + results_at, row * stride + first + which, bits);
  }
}

// The median of each row.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_medians(__global const uchar *data, const ulong byte_offset,
                                                            const ulong count, const ulong rows, const ulong lower,
                                                            const ulong upper, __global uchar *results,
                                                            const ulong results_at) {
  __global MASU_MEAN *means = (__global MASU_MEAN *)(results + results_at);
  for (ulong row = get_global_id(0); row < rows; row += get_global_size(0)) {
    __global const uchar *bytes = data + byte_offset + row * count * MASU_ELEMENT_BYTES;
    const MASU_BITS below = element_at(bytes, lower);
    const MASU_BITS above = element_at(bytes, upper);
#if MASU_FLOAT
    const bool nan = ordered_key(element_at(bytes, count - 1)) == MASU_ALL_BITS;
    means[row] = nan ? MASU_MEAN_QUIET_NAN : mean_of_two(below, above, lower == upper);
#else
    means[row] = mean_of_two(below, above, lower == upper);
#endif
  }
}
