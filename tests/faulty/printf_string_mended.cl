// SPDX-License-Identifier: Apache-2.0
// Mended: the bytes are printed one by one.
__kernel void show(__global const char *name) {
  for (int i = 0; i < 8; ++i) printf("%c", name[i]);
  printf("%s\n", "");
}
