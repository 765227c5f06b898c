// SPDX-License-Identifier: Apache-2.0
// Where samples are taken, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++).

// Looks random; the same on every device.
inline uint scrambled(uint x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ x >> 16;
}
