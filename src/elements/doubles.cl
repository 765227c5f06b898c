// SPDX-License-Identifier: Apache-2.0
// Sums of doubles with what roundings take away, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++).
//
// kernels.md has the parameters.

#if MASU_FP64
#if defined(MASU_OPENCL) && defined(cl_khr_fp64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// Adds, and returns what the rounding took away, which is exact.
inline double add_exactly(double *sum, const double x) {
  const double before = *sum;
  *sum += x;
  const double part = *sum - before;
  return (before - (*sum - part)) + (x - part);
}
// Adds to a sum of doubles, to that of its roundings, and to that of the magnitudes of theirs.
MASU_INLINE void add_double(double *sum, double *error, double *lost, const double x) {
  *lost += fabs(add_exactly(error, add_exactly(sum, x)));
}
// The element times 2^(the bias of its exponents - that of doubles): subnormal ones too, for which there are doubles
// everywhere.
#define SUM_SPARE (11 - MASU_EXPONENT_BITS)
#define SUM_SMALL_HIGH(bits)  \
  ((uint)(as_int((uint)(bits) << (32 - 8 * MASU_ELEMENT_BYTES)) >> SUM_SPARE) & ~(0x7fffffffu ^ 0x7fffffffu >> SUM_SPARE))
#if MASU_ELEMENT_BYTES == 4
#define SUM_SMALL_DOUBLE(bits) as_double((ulong)SUM_SMALL_HIGH(bits) << 32 | (ulong)((bits) << (32 - SUM_SPARE)))
#else
#define SUM_SMALL_DOUBLE(bits) as_double((ulong)SUM_SMALL_HIGH(bits) << 32)
#endif
#define SUM_SCALE as_double((ulong)(2047 - (1 << (MASU_EXPONENT_BITS - 1))) << 52)
#endif
