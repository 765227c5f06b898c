// SPDX-License-Identifier: Apache-2.0
// Keys as sort_keys.cl moves them, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++): *placed keys*, unsigned
// integers that ascend in the order that is asked for. Integers and floats other than zeros and NaNs have one each, of the same
// width, and can be found again from it. Zeros and NaNs have none: they do not move (sort_special.cl).
// With MASU_PACKED the placed key of a key of 4 bytes is packed above the key's index in an integer of 8 bytes: all differ, so
// that a sort that is not stable puts them in the stable order. sort_key.cl, for the dtype of the keys, or for u64, stands in
// front of this file.
//
// kernels.md has the parameters, which sort_keys_plan.cpp gives.

#define SORT_REST_BITS (MASU_KEY_BITS - MASU_BUCKET_BITS)
// Before a loop that stays as it is.
#define SORT_ROLLED _Pragma("unroll 1")

#if MASU_PACKED
typedef uint Source;  // a key as the caller has it
#define SORT_SOURCE_BYTES 4
#define SORT_SOURCE_ALL_BITS 0xffffffffU
#define SORT_SOURCE_SIGN 0x80000000U
#define SORT_SOURCE_INFINITY_BITS 0x7f800000U

// A placed key without its index. `flip` is SORT_SOURCE_ALL_BITS where greater keys come first, else 0. The order is that of
// sort_key() in sort_key.cl.
inline uint upper_key(const uint bits, const uint flip) {
#if MASU_SOURCE_CLASS == 0
  return bits ^ flip;
#elif MASU_SOURCE_CLASS == 1
  return bits ^ SORT_SOURCE_SIGN ^ flip;
#else
  const uint magnitude = bits & (SORT_SOURCE_SIGN - 1);
  const uint number = (bits & SORT_SOURCE_SIGN) != 0 ? SORT_SOURCE_SIGN - magnitude : SORT_SOURCE_SIGN + magnitude;
  return (magnitude > SORT_SOURCE_INFINITY_BITS ? 0xffffffffU : number) ^ flip;
#endif
}
inline ulong indexed_key(const ulong upper, const uint index) { return upper << MASU_INDEX_BITS | index; }

#define SORT_INDEX_OF(packed) ((uint)((packed) & (((ulong)1 << MASU_INDEX_BITS) - 1)))
// The bits of a key. What several bits are packed to, NaNs and zeros, is looked up where it came from.
inline uint unpacked_key(const ulong packed, const uint flip, __global const uint *source) {
  const uint key = (uint)(packed >> MASU_INDEX_BITS) ^ flip;
#if MASU_SOURCE_CLASS == 0
  (void)source;
  return key;
#elif MASU_SOURCE_CLASS == 1
  (void)source;
  return key ^ SORT_SOURCE_SIGN;
#else
  if (key == SORT_SOURCE_SIGN || key == 0xffffffffU) return source[SORT_INDEX_OF(packed)];
  return key > SORT_SOURCE_SIGN ? key - SORT_SOURCE_SIGN : SORT_SOURCE_SIGN | (SORT_SOURCE_SIGN - key);
#endif
}

#else
typedef MASU_ELEMENT Source;
#define SORT_SOURCE_BYTES MASU_ELEMENT_BYTES
#define SORT_SOURCE_ALL_BITS MASU_ALL_BITS

inline MASU_ELEMENT upper_key(const MASU_ELEMENT bits, const MASU_ELEMENT flip) { return distinct_key(bits) ^ flip; }
inline MASU_ELEMENT indexed_key(const MASU_ELEMENT upper, const uint index) {
  (void)index;
  return upper;
}
// The bits of a placed key.
inline MASU_ELEMENT natural_key(const MASU_ELEMENT placed, const MASU_ELEMENT flip) { return bits_of_distinct(placed ^ flip); }
#endif

// Where what is sorted goes, if it is not in place: the result, what moves with the keys, in place, and the keys as they were.
#if MASU_PACKED && MASU_PAYLOAD_BYTES > 0
#define SORT_RESULT_BUFFERS                                                                                         \
  __global uchar *result, const ulong result_at, __global uchar *moved, const ulong moved_at,                       \
      __global const uchar *source, const ulong source_at,
#define SORT_RESULT_ARGUMENTS result, result_at, moved, moved_at, source, source_at,
#elif MASU_PACKED
#define SORT_RESULT_BUFFERS __global uchar *result, const ulong result_at,
#define SORT_RESULT_ARGUMENTS result, result_at,
#else
#define SORT_RESULT_BUFFERS
#define SORT_RESULT_ARGUMENTS
#endif
// Values that move from one place to another; and those of keys that have not been moved back to where the result goes.
#if MASU_PAYLOAD_BYTES > 0
#define SORT_VALUE_PARAMETERS __global const MASU_VALUE *values_from, __global MASU_VALUE *values_to,
#define MASU_VALUES(from, to) (__global const MASU_VALUE *)(from), (__global MASU_VALUE *)(to),
#define SORT_OTHER_VALUES __global const uchar *other_values, const ulong other_values_at,
#define SORT_OTHER_VALUE_ARGUMENTS other_values, other_values_at,
#else
#define SORT_VALUE_PARAMETERS
#define MASU_VALUES(from, to)
#define SORT_OTHER_VALUES
#define SORT_OTHER_VALUE_ARGUMENTS
#endif
// In the third word of an entry, beside the bits in which its keys may differ: they are in the memory of parted keys.
#define SORT_OTHER 0x80000000U

// What the result holds of a placed key.
#if MASU_INDEX_BYTES == 8
typedef ulong Result;
#define SORT_RESULT_OF(placed, flip, source) ((void)(flip), SORT_INDEX_OF(placed))
#elif MASU_INDEX_BYTES == 4
typedef uint Result;
#define SORT_RESULT_OF(placed, flip, source) ((void)(flip), SORT_INDEX_OF(placed))
#else
typedef Source Result;
#if MASU_PACKED
#define SORT_RESULT_OF(placed, flip, source) unpacked_key(placed, flip, source)
#else
#define SORT_RESULT_OF(placed, flip, source) natural_key(placed, flip)
#endif
#endif
