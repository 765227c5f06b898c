// SPDX-License-Identifier: Apache-2.0
// Every atomic function of OpenCL 1.2, on integers in global and in local memory. Built with -D NUMBER=int or uint; with
// -D NUMBER=long or ulong and -D LONG_NUMBERS on devices that have the two extensions for 64 bits. There the functions
// are called atom_add and so on.
#ifdef LONG_NUMBERS
#if defined(cl_khr_int64_base_atomics) && defined(cl_khr_int64_extended_atomics)
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#define ATOMIC(function) atom_##function
#endif
#else
#define ATOMIC(function) atomic_##function
#endif

#define CELLS 11

// What one work-item does to `cells`, which all items of a set share; `number` is its number in the set. All functions
// return what was there before; three of the answers are kept. The functions take pointers to global or local memory,
// and OpenCL C 1.2 has no pointer that is either: hence a macro.
#define EVERY_ATOMIC(cells, value, number, old)                                                    \
  ATOMIC(add)(&cells[0], value);                                                                   \
  ATOMIC(sub)(&cells[1], value);                                                                   \
  old[0] = ATOMIC(inc)(&cells[2]);              /* a ticket: each item gets another */             \
  ATOMIC(dec)(&cells[3]);                                                                          \
  ATOMIC(min)(&cells[4], value);                                                                   \
  ATOMIC(max)(&cells[5], value);                                                                   \
  ATOMIC(and)(&cells[6], value);                                                                   \
  ATOMIC(or)(&cells[7], value);                                                                    \
  ATOMIC(xor)(&cells[8], value);                                                                   \
  old[1] = ATOMIC(xchg)(&cells[9], number);     /* a chain: each gets what another one left */     \
  old[2] = ATOMIC(cmpxchg)(&cells[10], 0, number) /* a claim: only the first finds 0 */

#ifdef ATOMIC

// One set of cells in global memory for all items.
__kernel void in_global(__global const NUMBER* values, ulong n, __global NUMBER* cells, __global NUMBER* olds) {
  const ulong i = get_global_id(0);
  if (i >= n) return;
  __global NUMBER* old = olds + 3 * i;
  EVERY_ATOMIC(cells, values[i], (NUMBER)(i + 1), old);
}

// One set of cells in local memory for each group, from and to cells[CELLS * group] … in global memory.
__kernel void in_local(__global const NUMBER* values, ulong n, __global NUMBER* cells, __global NUMBER* olds,
                       __local NUMBER* own) {
  const ulong i = get_global_id(0);
  const uint item = (uint)get_local_id(0);
  const uint items = (uint)get_local_size(0);
  __global NUMBER* outside = cells + (ulong)CELLS * get_group_id(0);
  for (uint c = item; c < CELLS; c += items) own[c] = outside[c];
  barrier(CLK_LOCAL_MEM_FENCE);  // nobody counts before all cells are set
  if (i < n) {
    __global NUMBER* old = olds + 3 * i;
    EVERY_ATOMIC(own, values[i], (NUMBER)(item + 1), old);
  }
  barrier(CLK_LOCAL_MEM_FENCE);  // nobody copies before all have counted
  for (uint c = item; c < CELLS; c += items) outside[c] = own[c];
}

#endif

// Floats: OpenCL 1.2 exchanges them and nothing more. Other functions are made of atomic_cmpxchg on the bits: compute
// from what was there, and put it in place if that is there still. Each time around some item has got through, so this
// is no waiting for a particular one.
#define ADD_FLOAT(bits, value)                                                            \
  for (uint seen = 0, old;; seen = old) {                                                 \
    old = atomic_cmpxchg(bits, seen, as_uint(as_float(seen) + (value)));                  \
    if (old == seen) break;                                                               \
  }

// cells[0] is exchanged, to cells[1] is added.
__kernel void floats_in_global(__global const float* values, ulong n, __global float* cells, __global float* olds) {
  const ulong i = get_global_id(0);
  if (i >= n) return;
  olds[i] = atomic_xchg(&cells[0], values[i]);
  ADD_FLOAT((volatile __global uint*)&cells[1], values[i]);
}

__kernel void floats_in_local(__global const float* values, ulong n, __global float* cells, __global float* olds,
                              __local float* own) {
  const ulong i = get_global_id(0);
  const uint item = (uint)get_local_id(0);
  __global float* outside = cells + 2 * get_group_id(0);
  for (uint c = item; c < 2; c += (uint)get_local_size(0)) own[c] = outside[c];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < n) {
    olds[i] = atomic_xchg(&own[0], values[i]);
    ADD_FLOAT((volatile __local uint*)&own[1], values[i]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint c = item; c < 2; c += (uint)get_local_size(0)) outside[c] = own[c];
}
