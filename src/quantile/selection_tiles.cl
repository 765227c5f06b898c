// SPDX-License-Identifier: Apache-2.0
// How passes list elements of a tile, MASU_UNROLL vectors of each work-item. Behind elements.cl. Defines:
// MASU_GROUP, MASU_UNROLL and MASU_UNROLLED, as selection.cl and selection_passes.cl have them.

// Keeps the vectors of a work-item that lists any. Few are listed: a loop over these takes them from local memory.
MASU_INLINE void hold_listed(const uint mask, const uint4 *loaded, __local uint4 *held) {
  if (mask != 0) {
    MASU_UNROLLED
    for (int k = 0; k < MASU_UNROLL; ++k) held[k * MASU_GROUP + (uint)get_local_id(0)] = loaded[k];
  }
}

// Of what is held: the element of the lowest bit of `mask`.
inline MASU_BITS first_listed(const uint mask, __local const uint4 *held) {
  const uint n = 31u - clz(mask & (0u - mask));
  __local const uint4 *vector = held + n / MASU_PER_VECTOR * MASU_GROUP + (uint)get_local_id(0);
  return ((__local const MASU_ELEMENT *)vector)[n % MASU_PER_VECTOR];
}
