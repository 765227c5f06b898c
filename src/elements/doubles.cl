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
#endif
