// SPDX-License-Identifier: Apache-2.0
// shuffle and shuffle2: the elements of one or two vectors in the order that a mask gives. Built with
// -D ELEMENT=type -D MASK=type, unsigned integers of the element's size.
//
// Of each number of the mask only the low bits count: one of 4 elements takes 2 bits, two of 4 elements take 3. The
// mask has as many numbers as the result has elements, 2, 4, 8 or 16, whatever the source has.

// The widths of the source and of the result; each work-item has one set of vectors, in every pair of widths.
#define SHUFFLE(FROM, TO)                                                                                 \
  vstore##TO(shuffle(vload##FROM(0, a), vload##TO(0, m)), 0, out);                                        \
  out += TO;                                                                                              \
  vstore##TO(shuffle2(vload##FROM(0, a), vload##FROM(0, b), vload##TO(0, m)), 0, out);                    \
  out += TO;
#define SHUFFLES(FROM) SHUFFLE(FROM, 2) SHUFFLE(FROM, 4) SHUFFLE(FROM, 8) SHUFFLE(FROM, 16)

// Item i: first and second source and mask are the 16 elements from 16 * i on, of which narrower vectors take the first.
__kernel void shuffle_all(__global const ELEMENT* first, __global const ELEMENT* second, __global const MASK* mask,
                          ulong n, __global ELEMENT* out) {
  const size_t i = get_global_id(0);
  if (i >= n) return;
  __global const ELEMENT* a = first + 16 * i;
  __global const ELEMENT* b = second + 16 * i;
  __global const MASK* m = mask + 16 * i;
  out += 240 * i;  // 4 source widths, 2 functions, 2 + 4 + 8 + 16 elements
  SHUFFLES(2)
  SHUFFLES(4)
  SHUFFLES(8)
  SHUFFLES(16)
}

// Four elements by one mask, and by another from two sources.
__kernel void shuffle_four(__global const ELEMENT* first, __global const ELEMENT* second, __global const MASK* mask4,
                           __global const MASK* mask8, __global ELEMENT* out4, __global ELEMENT* out8) {
  vstore4(shuffle(vload4(0, first), vload4(0, mask4)), 0, out4);
  vstore8(shuffle2(vload4(0, first), vload4(0, second), vload8(0, mask8)), 0, out8);
}
