// SPDX-License-Identifier: Apache-2.0
// Faulty: the last work-items read behind the data, and count in whichever bin that names.
__kernel void count(__global uint *bins, __global const uint *data) {
  atomic_inc(&bins[data[get_global_id(0)]]);
}
