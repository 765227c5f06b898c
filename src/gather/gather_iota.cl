// SPDX-License-Identifier: Apache-2.0
// start + i * step, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). Of floats, start and step are the
// bits of f64. Included after elements.cl and soft_float.cl.
// kernels.md has the parameters, which gather_device.cpp gives.

#if MASU_STORED
inline MASU_ELEMENT rounded(const double x) {
  return (MASU_ELEMENT)float_as(as_ulong(x), MASU_DOUBLE_FORMAT, MASU_ELEMENT_FORMAT);
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
