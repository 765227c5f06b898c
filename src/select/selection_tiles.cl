// SPDX-License-Identifier: Apache-2.0
// How work-groups go through a long row and list some of its elements: in tiles of MASU_UNROLL vectors of each work-item;
// those of neighbours lie side by side. After elements.cl.

#define SELECT_TILE_VECTORS ((ulong)MASU_GROUP * MASU_UNROLL)

// Loads the tile that begins with vector `tile`; zeros stand where it has no elements. Returns whether it is full of them.
MASU_INLINE bool load_tile(__global const uchar *bytes, const uint gap, const uint count, const ulong tile,
                           uint4 *loaded) {
  const ulong first = tile + get_local_id(0);
  if (tile * MASU_PER_VECTOR >= gap && (tile + SELECT_TILE_VECTORS) * MASU_PER_VECTOR <= (ulong)gap + count) {
    __global const uint4 *body = (__global const uint4 *)(bytes - gap * MASU_ELEMENT_BYTES) + first;
    MASU_UNROLLED
    for (int k = 0; k < MASU_UNROLL; ++k) loaded[k] = masu_load_streaming(body + k * MASU_GROUP);
    return true;
  }
  MASU_UNROLLED
  for (int k = 0; k < MASU_UNROLL; ++k) loaded[k] = load_vector(bytes, gap, count, first + (ulong)(k * MASU_GROUP));
  return false;
}

// Keeps the vectors of a work-item that lists any. Few are listed: a loop over these takes them from local memory.
MASU_INLINE void hold_listed(const uint mask, const uint4 *loaded, __local uint4 *held) {
  if (mask != 0) {
    MASU_UNROLLED
    for (int k = 0; k < MASU_UNROLL; ++k) held[k * MASU_GROUP + (uint)get_local_id(0)] = loaded[k];
  }
}

// The element of `held` that the lowest bit of `mask` stands for.
inline MASU_BITS first_listed(const uint mask, __local const uint4 *held) {
  const uint n = 31u - clz(mask & (0u - mask));
  __local const uint4 *vector = held + n / MASU_PER_VECTOR * MASU_GROUP + (uint)get_local_id(0);
  return ((__local const MASU_ELEMENT *)vector)[n % MASU_PER_VECTOR];
}
