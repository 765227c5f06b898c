// SPDX-License-Identifier: Apache-2.0
// Quantiles from elements that have been found: elements, or what lies between two. Behind elements.cl and
// soft_float.cl.

// What a quantile is; `weight` is a float of the result's format.
#define MASU_POINT_ELEMENT 0u   // the first element
#define MASU_POINT_PREVIOUS 1u  // first + (second - first) * weight
#define MASU_POINT_NEXT 2u      // second - (second - first) * weight
#define MASU_POINT(i) const ulong first##i, const ulong second##i, const ulong weight##i, const uint what##i
#define MASU_OF_POINT(i, name) (i == 0 ? name##0 : i == 1 ? name##1 : i == 2 ? name##2 : name##3)
#define MASU_NO_PLACE (~(ulong)0)

#define MASU_FORMAT const uint precision, const int least, const uint bits
#define MASU_OF_FORMAT precision, least, bits
// That of floats of so many bytes.
#define MASU_SET_FORMAT(bytes)                                              \
  const uint precision = (bytes) == 2 ? 11 : (bytes) == 4 ? 24 : 53;        \
  const int least = (bytes) == 2 ? -24 : (bytes) == 4 ? -149 : -1074;       \
  const uint bits = 8 * (bytes);

inline ulong element_as_float(const MASU_BITS element, MASU_FORMAT) {
#if MASU_FLOAT
  return float_as(element, MASU_ELEMENT_FORMAT, MASU_OF_FORMAT);
#else
  return float_as(integer_as_double(element), MASU_DOUBLE_FORMAT, MASU_OF_FORMAT);
#endif
}

// b - a in the elements' dtype, integers modulo its range.
inline ulong difference_as_float(const MASU_BITS a, const MASU_BITS b, MASU_FORMAT) {
#if MASU_FLOAT
  return float_as(float_sum(b, a ^ MASU_SIGN, MASU_ELEMENT_FORMAT), MASU_ELEMENT_FORMAT, MASU_OF_FORMAT);
#else
  return element_as_float((b - a) & MASU_ALL_BITS, MASU_OF_FORMAT);
#endif
}

inline ulong between(const MASU_BITS a, const MASU_BITS b, const ulong weight, const uint what, MASU_FORMAT) {
  const ulong product = float_product(difference_as_float(a, b, MASU_OF_FORMAT), weight, MASU_OF_FORMAT);
  if (what == MASU_POINT_PREVIOUS) return float_sum(element_as_float(a, MASU_OF_FORMAT), product, MASU_OF_FORMAT);
  return float_sum(element_as_float(b, MASU_OF_FORMAT), product ^ (ulong)1 << (bits - 1), MASU_OF_FORMAT);
}

inline void set_result(__global uchar* results, const ulong i, const uint bytes, const ulong value) {
  switch (bytes) {
    case 1: results[i] = (uchar)value; break;
    case 2: ((__global ushort*)results)[i] = (ushort)value; break;
    case 4: ((__global uint*)results)[i] = (uint)value; break;
    default: ((__global ulong*)results)[i] = value; break;
  }
}
