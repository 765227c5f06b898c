// SPDX-License-Identifier: Apache-2.0
// Elements as ranks: unsigned numbers that are the greater the earlier an element comes; elements of one rank are equal
// and come by index. Behind elements.cl and order.cl. The host's half is topk_plan.h.
//
// Defines, all given by topk_plan.cpp:
// - MASU_LARGEST    1: the largest comes first; 0: the smallest
// - MASU_NAN_FIRST  1: NaN comes before all else; 0: after
// - MASU_UNROLLED   stands before loops over arrays that may lie in registers: unrolls them on GPUs

#define MASU_NAN_RANK (MASU_NAN_FIRST ? MASU_ALL_BITS : (MASU_BITS)0)
#define MASU_FLIP (MASU_LARGEST ? (MASU_BITS)0 : MASU_ALL_BITS)

inline MASU_BITS rank_of(const MASU_BITS bits) {
  const MASU_BITS key = ordered_key(bits);
#if MASU_FLOAT
  if (key == MASU_ALL_BITS) return MASU_NAN_RANK;
#endif
  return key ^ MASU_FLIP;
}

// Of a rank that is not NaN's.
inline MASU_BITS bits_of_rank(const MASU_BITS rank) { return bits_of_key(rank ^ MASU_FLIP); }
