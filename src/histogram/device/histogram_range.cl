// SPDX-License-Identifier: Apache-2.0
// The least and the greatest finite value, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++).
// histogram_slots.cl stands in front of this file.
// - MASU_GROUP  work-items in a work-group, a power of two

// The least and the greatest finite value: two values for each work-group, `least` > `greatest` where it met none.
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_range(__global const uchar *data, const ulong byte_offset,
                                                          const ulong count, const MASU_VALUE highest,
                                                          const MASU_VALUE lowest, __global MASU_VALUE *result,
                                                          __local MASU_VALUE *least, __local MASU_VALUE *greatest) {
  MASU_LOCAL_POINTER(MASU_VALUE, least);
  MASU_LOCAL_POINTER(MASU_VALUE, greatest);
  const uint lane = (uint)get_local_id(0);
  MASU_VALUE lo = highest;
  MASU_VALUE hi = lowest;
  for (size_t i = get_global_id(0); i < count; i += get_global_size(0)) {
    const MASU_VALUE x = value_at(data + byte_offset, i);
    if (x >= lowest && x <= highest) {  // false for NaN and the infinities: `lowest` and `highest` are finite
      lo = x < lo ? x : lo;
      hi = x > hi ? x : hi;
    }
  }
  least[lane] = lo;
  greatest[lane] = hi;
  for (uint distance = MASU_GROUP / 2; distance > 0; distance /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < distance) {
      const MASU_VALUE other_lo = least[lane + distance];
      const MASU_VALUE other_hi = greatest[lane + distance];
      if (other_lo < least[lane]) least[lane] = other_lo;
      if (other_hi > greatest[lane]) greatest[lane] = other_hi;
    }
  }
  if (lane == 0) {
    result[2 * get_group_id(0)] = least[0];
    result[2 * get_group_id(0) + 1] = greatest[0];
  }
}
