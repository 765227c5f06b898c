// SPDX-License-Identifier: Apache-2.0
// The mean of two elements as NumPy's median has it, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++): their
// sum, which begins with +0, rounded, then its half. Behind elements.cl and soft_float.cl.

// The format in which two are added, and that of the mean.
#if MASU_FLOAT && MASU_ELEMENT_BYTES < 8
#define MASU_SUM_FORMAT MASU_SINGLE_FORMAT
#define MASU_SUM_SIGN 0x80000000UL
#else
#define MASU_SUM_FORMAT MASU_DOUBLE_FORMAT
#define MASU_SUM_SIGN 0x8000000000000000UL
#endif
#if MASU_FLOAT
#define MASU_MEAN_FORMAT MASU_ELEMENT_FORMAT
#else
#define MASU_MEAN_FORMAT MASU_DOUBLE_FORMAT
#endif
#if MASU_FLOAT && MASU_ELEMENT_BYTES == 2
#define MASU_MEAN ushort
#elif MASU_FLOAT && MASU_ELEMENT_BYTES == 4
#define MASU_MEAN uint
#else
#define MASU_MEAN ulong
#endif
#define MASU_MEAN_QUIET_NAN ((MASU_MEAN)quiet_nan_of(MASU_MEAN_FORMAT))

// Of two elements in their order, both no NaN; or with `one` of the first, whose double may be infinite.
inline MASU_MEAN mean_of_two(const MASU_BITS a, const MASU_BITS b, const bool one) {
#if MASU_FLOAT
  if (one) return (MASU_MEAN)((a & (MASU_SIGN - 1)) == 0 ? 0 : a);
  const ulong x = float_as(a, MASU_ELEMENT_FORMAT, MASU_SUM_FORMAT);
  const ulong y = float_as(b, MASU_ELEMENT_FORMAT, MASU_SUM_FORMAT);
#else
  const ulong x = integer_as_double(a);
  const ulong y = integer_as_double(b);
#endif
  const ulong sign = MASU_SUM_SIGN;
  const ulong sum = float_sum(x, y, MASU_SUM_FORMAT);
  const ulong magnitude = sum & (sign - 1);
  if (magnitude == 0) return 0;
  if (magnitude >= infinity_of(MASU_SUM_FORMAT)) return (MASU_MEAN)float_as(sum, MASU_SUM_FORMAT, MASU_MEAN_FORMAT);
  int exponent = 0;
  const ulong mantissa = number_of(magnitude, MASU_SUM_FORMAT, &exponent);
  const ulong half_of_it = rounded_number(mantissa, exponent - 1, MASU_MEAN_FORMAT);
  return (MASU_MEAN)(half_of_it | ((sum & sign) != 0 ? (ulong)1 << (8 * sizeof(MASU_MEAN) - 1) : 0));
}
