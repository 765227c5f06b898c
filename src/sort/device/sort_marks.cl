// SPDX-License-Identifier: Apache-2.0
// Keys written anew from where those of each value begin, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++): the place of
// a value's first key is marked with the value, and each place gets the greatest mark there or before it. group_scan.cl
// stands in front of this file.
//
// kernels.md has the parameters, which sort_keys_plan.cpp and sort_counting.cpp give.

enum { places_each = MASU_PLACES_EACH };  // a multiple of 8

// The greatest x of the work-items before this one, and `least`; *most is that of all.
MASU_INLINE uint greatest_before(const uint x, const uint least, __local uint *partial, const uint lid, uint *most) {
#if MASU_SHUFFLE_LANES == 32
  const uint lanes = masu_max_lanes(x);
  if (lid % 32 == 31) partial[lid / 32] = lanes;
  barrier(CLK_LOCAL_MEM_FENCE);
  // Each lane takes the greatest x of 32 work-items.
  const uint one = lid % 32 < MASU_GROUP / 32 ? partial[lid % 32] : 0;
  const uint before = max(least, masu_last_lane(masu_max_lanes(lid % 32 < lid / 32 ? one : 0)));
  *most = max(least, masu_last_lane(masu_max_lanes(one)));
  const uint neighbour = masu_lane_before(lanes);
  return lid % 32 == 0 ? before : max(before, neighbour);
#else
  partial[lid] = x;
  MASU_LOCAL_PREFIXES(uint, partial, MASU_GROUP, lid, max)
  *most = max(least, partial[MASU_GROUP - 1]);
  return lid == 0 ? least : max(least, partial[lid - 1]);
#endif
}

// Each of the places gets the greatest mark there or before it, `least` or more. Returns that of all. Ends with a barrier.
MASU_INLINE uint spread_marks(__local ushort *marks, const uint places, const uint least, __local uint *partial,
                              const uint lid) {
  uint own[places_each];
  uint most = 0;
  if (lid * places_each < places) {
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < places_each / 8; ++k) {
      const uint4 eight = ((__local uint4 *)marks)[lid * (places_each / 8) + k];
      uint words[4];
      words_of_vector(eight, words);
      MASU_PRAGMA_UNROLL
      for (uint i = 0; i < 8; ++i) own[8 * k + i] = words[i / 2] >> i % 2 * 16 & 0xffff;
    }
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < places_each; ++k) most = own[k] = max(most, own[k]);
  }
  uint greatest;
  const uint before = greatest_before(most, least, partial, lid, &greatest);
  if (lid * places_each < places) {
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < places_each / 8; ++k) {
      uint words[4];
      MASU_PRAGMA_UNROLL
      for (uint i = 0; i < 4; ++i) words[i] = max(before, own[8 * k + 2 * i]) | max(before, own[8 * k + 2 * i + 1]) << 16;
      ((__local uint4 *)marks)[lid * (places_each / 8) + k] = vector_of(words);
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return greatest;
}
