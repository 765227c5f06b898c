// SPDX-License-Identifier: Apache-2.0
// Vector loads and stores. vloadn(i, p) reads the n elements at p + i * n and vstoren(v, i, p) writes them there, where p
// needs the alignment of one element only. (A cast of p to a pointer to vectors would need that of the vector.)
//
// Built as it is: the first eight floats, and halves. Built with -D ELEMENT=type: all widths of that type. Built with
// -D REAL=float or double: stores of halves that round.

#if defined(ELEMENT)

__constant ELEMENT ramp[17] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

// Copies the n elements from in[1] on, by vectors of N, through local and private memory to out[1] …; and N elements of
// constant memory, from ramp[1] on, to from_constant. All of them start one element into their memory: the alignment of
// an element is enough. What does not fill a vector is copied one by one: a vload there would read, and a vstore write,
// beyond the end.
#define COPY(N)                                                          \
  if (i < n / N) {                                                       \
    ELEMENT own[N + 1];                                                  \
    vstore##N(vload##N(i, in + 1), item, room + 1);                      \
    vstore##N(vload##N(item, room + 1), 0, own + 1);                     \
    vstore##N(vload##N(0, own + 1), i, out + 1);                         \
  } else if (i == n / N) {                                               \
    for (ulong k = i * N; k < n; ++k) out[1 + k] = in[1 + k];            \
  }                                                                      \
  if (i == 0) vstore##N(vload##N(0, ramp + 1), 0, from_constant);

#define NEXT(N)                                                          \
  barrier(CLK_LOCAL_MEM_FENCE);                                          \
  out += n + 2;                                                          \
  from_constant += N;

// The copies by every width, one after another in `out`, each of n + 2 elements. There are at least n / 2 + 1
// work-items; `room` has 16 elements for each of a group and one more. An item's vectors lie beside those of its
// neighbours, at other places for each width, so the group waits before the next width.
__kernel void copy_all(__global const ELEMENT* in, ulong n, __local ELEMENT* room, __global ELEMENT* out,
                       __global ELEMENT* from_constant) {
  const ulong i = get_global_id(0);
  const size_t item = get_local_id(0);
  COPY(2)
  NEXT(2)
  COPY(3)
  NEXT(3)
  COPY(4)
  NEXT(4)
  COPY(8)
  NEXT(8)
  COPY(16)
}

#elif defined(REAL)

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// Stores 48 values of each work-item as halves, by every width, with one way to round. vstore_halfn packs them;
// vstorea_halfn wants them aligned as a vector, and gives three the room of four.
#define STORE(WIDTH, MODE)                                                                                             \
  for (uint v = 0; v < 48 / WIDTH; ++v) vstore_half##WIDTH##MODE(vload##WIDTH(v, from), v, packed);                    \
  packed += 48;                                                                                                        \
  for (uint v = 0; v < 48 / WIDTH; ++v) vstorea_half##WIDTH##MODE(vload##WIDTH(v, from), v, aligned);                  \
  aligned += 64;
#define STORES(NAME, MODE)                                                                                             \
  __kernel void NAME(__global const REAL* in, __global half* packed, __global half* aligned) {                         \
    __global const REAL* from = in + 48 * get_global_id(0);                                                            \
    packed += 6 * 48 * get_global_id(0);                                                                               \
    aligned += 5 * 64 * get_global_id(0);                                                                              \
    for (uint v = 0; v < 48; ++v) vstore_half##MODE(from[v], v, packed);                                               \
    packed += 48;                                                                                                      \
    STORE(2, MODE) STORE(3, MODE) STORE(4, MODE) STORE(8, MODE) STORE(16, MODE)                                        \
  }
STORES(store_nearest_even, )
STORES(store_rte, _rte)
STORES(store_rtz, _rtz)
STORES(store_rtp, _rtp)
STORES(store_rtn, _rtn)

#else

// Two vectors of four floats, by the work-item that copies them.
__kernel void first_eight(__global const float* in, __global float* out) {
  vstore4(vload4(0, in), 0, out);
  vstore4(vload4(1, in), 1, out);
}

// Loads 48 halves of each work-item, by every width. No fp16 arithmetic is needed for this: a half becomes a float.
#define LOAD(WIDTH)                                                                                                    \
  for (uint v = 0; v < 48 / WIDTH; ++v) vstore##WIDTH(vload_half##WIDTH(v, packed), v, out);                           \
  out += 48;                                                                                                           \
  for (uint v = 0; v < 48 / WIDTH; ++v) vstore##WIDTH(vloada_half##WIDTH(v, WIDTH == 3 ? aligned : packed), v, out);   \
  out += 48;
__kernel void load_halves(__global const half* packed_halves, __global const half* aligned_halves, __global float* out) {
  __global const half* packed = packed_halves + 48 * get_global_id(0);
  __global const half* aligned = aligned_halves + 64 * get_global_id(0);  // three of every four
  out += 11 * 48 * get_global_id(0);
  for (uint v = 0; v < 48; ++v) out[v] = vload_half(v, packed);
  out += 48;
  LOAD(2) LOAD(3) LOAD(4) LOAD(8) LOAD(16)
}

#endif
