// SPDX-License-Identifier: Apache-2.0
// Faulty: %s takes a string literal; the bytes of a buffer are none.
__kernel void show(__global const char *name) {
  printf("%s\n", name);
}
