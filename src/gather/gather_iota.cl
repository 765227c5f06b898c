// SPDX-License-Identifier: Apache-2.0
// start + i * step, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++).
//
// Defines, all given by gather_plan.cpp:
#ifndef MASU_GROUP            // work-items in a work-group
#error "MASU_GROUP is not defined"
#endif
#ifndef MASU_ELEMENT          // an unsigned integer of an element's size
#error "MASU_ELEMENT is not defined"
#endif
#ifndef MASU_FLOAT            // 1: elements are floats; start and step are the bits of f64, else integers
#error "MASU_FLOAT is not defined"
#endif
#ifndef MASU_BITS             // of an element
#error "MASU_BITS is not defined"
#endif

#if MASU_FLOAT && MASU_BITS == 16
// To nearest even; overflow gives infinity. What is added to a power of two is rounded to its last place.
inline ushort element_of(const double x) {
  const ulong bits = as_ulong(x);
  const ushort sign = (ushort)(bits >> 48 & 0x8000);
  const ulong magnitude = bits & 0x7fffffffffffffffUL;
  if (magnitude > 0x7ff0000000000000UL) return 0x7e00;
  if (magnitude >= 0x40effe0000000000UL) return (ushort)(sign | 0x7c00);
  if (magnitude < 0x3f10000000000000UL) {
    const double units = (as_double(magnitude) + 0x1p28) - 0x1p28;
    return (ushort)(sign | (ushort)(units * 0x1p24));
  }
  const ulong rounded = magnitude + 0x1ffffffffffUL + (magnitude >> 42 & 1);
  return (ushort)(sign | (ushort)((rounded >> 42) - (1008UL << 10)));
}
#elif MASU_FLOAT && MASU_BITS == 32
inline uint element_of(const double x) { return x == x ? as_uint((float)x) : 0x7fc00000u; }
#elif MASU_FLOAT
inline ulong element_of(const double x) { return x == x ? as_ulong(x) : 0x7ff8000000000000UL; }
#endif

__kernel MASU_WORK_GROUP(MASU_GROUP) void write_iota(__global uchar *memory, const ulong at, const ulong count,
                                                     const ulong start, const ulong step) {
  __global MASU_ELEMENT *out = (__global MASU_ELEMENT *)(memory + at);
  for (size_t i = get_global_id(0); i < count; i += get_global_size(0)) {
#if MASU_FLOAT
    out[i] = element_of(fma((double)i, as_double(step), as_double(start)));
#else
    out[i] = (MASU_ELEMENT)(start + i * step);
#endif
  }
}
