// SPDX-License-Identifier: Apache-2.0
// The speeds that nothing can pass which reads its input once (reading_ceiling), or writes as much, too
// (copying_ceiling): `vectors` 16-byte vectors and nothing else.
//
// When reading, each work-item folds what it read into one word, which goes to its group's word of `result` if it has a
// bit of `mask`: all bits to check that everything was read, none to time it. The compiler cannot know which, so it
// drops no load.
#ifndef MASU_UNROLL           // 16-byte loads in flight for each work-item
#error "MASU_UNROLL is not defined"
#endif
#ifndef MASU_STREAMING        // 1: loads that take no room in the nearest cache
#error "MASU_STREAMING is not defined"
#endif

#if MASU_STREAMING
#define MASU_READ(p) masu_load_streaming(p)
#else
#define MASU_READ(p) (*(p))
#endif
#define MASU_FOLD(v) (v.x ^ v.y ^ v.z ^ v.w)

__kernel void reading_ceiling(__global const uint4 *restrict data, const ulong vectors, const uint mask,
                              __global uint *result) {
  const size_t stride = get_global_size(0);
  size_t i = get_global_id(0);
  uint bits = 0;
  for (; i + (MASU_UNROLL - 1) * stride < vectors; i += MASU_UNROLL * stride) {
    uint4 loaded[MASU_UNROLL];
    MASU_PRAGMA_UNROLL
    for (int k = 0; k < MASU_UNROLL; ++k) loaded[k] = MASU_READ(data + i + k * stride);
    MASU_PRAGMA_UNROLL
    for (int k = 0; k < MASU_UNROLL; ++k) bits ^= MASU_FOLD(loaded[k]);
  }
  for (; i < vectors; i += stride) {
    const uint4 v = MASU_READ(data + i);
    bits ^= MASU_FOLD(v);
  }
  if ((bits & mask) != 0) atomic_xor(&result[get_group_id(0)], bits);
}

__kernel void copying_ceiling(__global const uint4 *restrict data, const ulong vectors,
                              __global uint4 *restrict target) {
  const size_t stride = get_global_size(0);
  size_t i = get_global_id(0);
  for (; i + (MASU_UNROLL - 1) * stride < vectors; i += MASU_UNROLL * stride) {
    uint4 loaded[MASU_UNROLL];
    MASU_PRAGMA_UNROLL
    for (int k = 0; k < MASU_UNROLL; ++k) loaded[k] = MASU_READ(data + i + k * stride);
    MASU_PRAGMA_UNROLL
    for (int k = 0; k < MASU_UNROLL; ++k) target[i + k * stride] = loaded[k];
  }
  for (; i < vectors; i += stride) target[i] = MASU_READ(data + i);
}
