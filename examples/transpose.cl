// SPDX-License-Identifier: Apache-2.0
// out[c][r] = in[r][c] for a matrix of any size, in tiles that go through local memory with async_work_group_copy. Built
// with -D ELEMENT=type; `out` is another memory than `in`: in place, a group would overwrite what another one has yet
// to read.

// A work-group takes tile after tile of `side` × `side` elements (at the right and lower edge fewer). `tile` and `turned`
// have room for one each. Both ways whole rows are copied, so memory sees long stretches; only local memory sees the
// strides of the transposition.
__kernel void transpose(__global const ELEMENT* in, __global ELEMENT* out, ulong rows, ulong columns, uint side,
                        __local ELEMENT* tile, __local ELEMENT* turned) {
  const ulong across = (columns + side - 1) / side;
  const ulong tiles = across * ((rows + side - 1) / side);
  for (ulong t = get_group_id(0); t < tiles; t += get_num_groups(0)) {
    const ulong down = t / across;
    const ulong row = down * side;
    const ulong column = (t - down * across) * side;
    const uint high = (uint)min((ulong)side, rows - row);
    const uint wide = (uint)min((ulong)side, columns - column);

    // All items of the group make these calls with the same arguments. The event 0 asks for a new one, which the further
    // copies join.
    event_t read = async_work_group_copy(tile, &in[row * columns + column], wide, 0);
    for (uint r = 1; r < high; ++r) {
      read = async_work_group_copy(&tile[r * wide], &in[(row + r) * columns + column], wide, read);
    }
    wait_group_events(1, &read);

    for (uint i = (uint)get_local_id(0); i < high * wide; i += (uint)get_local_size(0)) {
      const uint r = i / wide;
      turned[(i - r * wide) * high + r] = tile[i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // nobody copies before all is turned; nor reads the next tile over this one

    event_t written = async_work_group_copy(&out[column * rows + row], turned, high, 0);
    for (uint c = 1; c < wide; ++c) {
      written = async_work_group_copy(&out[(column + c) * rows + row], &turned[c * high], high, written);
    }
    wait_group_events(1, &written);  // before `turned` is written again
  }
}
