// SPDX-License-Identifier: Apache-2.0
// start + i * step, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++). Of floats, start and step are the
// bits of f64. Behind elements.cl. Defines beside those of it, all given by gather_device.cpp:
// - MASU_GROUP    work-items in a work-group

#if MASU_FLOAT && MASU_ELEMENT_BYTES == 2
// To nearest even; overflow gives infinity. What is added to a power of two is rounded to its last place.
inline ushort rounded(const double x) {
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
#elif MASU_FLOAT && MASU_ELEMENT_BYTES == 4
inline uint rounded(const double x) { return x == x ? as_uint((float)x) : 0x7fc00000u; }
#elif MASU_FLOAT
inline ulong rounded(const double x) { return x == x ? as_ulong(x) : 0x7ff8000000000000UL; }
#endif

__kernel MASU_WORK_GROUP(MASU_GROUP) void write_iota(__global uchar *memory, const ulong at, const ulong count,
                                                     const ulong start, const ulong step) {
  __global MASU_ELEMENT *out = (__global MASU_ELEMENT *)(memory + at);
  for (size_t i = get_global_id(0); i < count; i += get_global_size(0)) {
#if MASU_FLOAT
    out[i] = rounded(fma((double)i, as_double(step), as_double(start)));
#else
    out[i] = (MASU_ELEMENT)(start + i * step);
#endif
  }
}
