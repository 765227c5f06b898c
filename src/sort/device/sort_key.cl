// SPDX-License-Identifier: Apache-2.0
// The order of keys, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). After elements.cl and order.cl, before
// the other kernel files of this room. An element is a key.
//
// kernels.md has the parameters, which sort_device.h gives.

// The unsigned integer that is ordered as keys are sorted.
inline MASU_BITS sort_key(const MASU_BITS bits) {
  return MASU_DESCENDING ? ordered_key(bits) ^ MASU_ALL_BITS : ordered_key(bits);
}
