// SPDX-License-Identifier: Apache-2.0
// Quantiles from elements that have been found. Behind selection_between.cl.

// Up to four quantiles of each row, of which there are `stride` elements; results are a row for each quantile.
// `nan_at`: where in a row a NaN stands if the row has any. `plain`: elements are not converted to the result's dtype,
// they have it.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_points(__global const uchar* data, const ulong byte_offset,
                                                           const ulong stride, const ulong rows, const ulong nan_at,
                                                           __global uchar* results, const ulong results_at,
                                                           const uint result_bytes, const uint plain, const uint number,
                                                           MASU_POINT(0), MASU_POINT(1), MASU_POINT(2), MASU_POINT(3)) {
  MASU_SET_FORMAT(result_bytes)
  for (ulong i = get_global_id(0); i < rows * number; i += get_global_size(0)) {
    const uint which = (uint)(i / rows);
    __global const uchar* row = data + byte_offset + i % rows * stride * MASU_ELEMENT_BYTES;
    const uint what = MASU_OF_POINT(which, what);
    const MASU_BITS a = element_at(row, MASU_OF_POINT(which, first));
    ulong value = 0;
#if MASU_FLOAT
    if (nan_at != MASU_NO_PLACE && (element_at(row, nan_at) & (MASU_SIGN - 1)) > MASU_INFINITY_BITS) {
      set_result(results + results_at, i, result_bytes, quiet_nan_of(MASU_OF_FORMAT));
      continue;
    }
#endif
    if (what != MASU_POINT_ELEMENT) {
      const MASU_BITS b = element_at(row, MASU_OF_POINT(which, second));
      value = between(a, b, MASU_OF_POINT(which, weight), what, MASU_OF_FORMAT);
    } else {
      value = plain != 0 ? a : element_as_float(a, MASU_OF_FORMAT);
    }
    set_result(results + results_at, i, result_bytes, value);
  }
}
