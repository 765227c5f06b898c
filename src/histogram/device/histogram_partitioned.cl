// SPDX-License-Identifier: Apache-2.0
// Bins that are partitioned because no table in local memory holds them, and the range of values, in OpenCL C 1.2 (and,
// after the CUDA prelude, in CUDA C++). group_scan.cl and histogram_elements.cl come before this file.
//
// kernels.md has the parameters, which histogram_plan.cpp gives.

#define HISTOGRAM_KERNEL_SCATTER 0
#define HISTOGRAM_KERNEL_ORDER 1
#define HISTOGRAM_KERNEL_PARTS 2
#define HISTOGRAM_KERNEL_RANGE 3

// `partitioned`: what is left of each slot within its part of the bins, 16 bits, is sorted by parts into blocks of MASU_BLOCK,
// each of one part. Its temporary memory has, from these bytes on:
// - counters_at  how many blocks each part has; then, how many of them have their place in the order
// - begins_at    where the blocks of each part begin among all in the order of the parts, and how many there are
// - owners_at    of each block: its part << 16 | its elements; 0: it is not used
// - order_at     the blocks in the order of the parts, each as its number << 9 | its elements
// - sorted_at    the blocks
#define HISTOGRAM_TEMPORARY                                                                                    \
  __global uchar *temporary, const ulong counters_at, const ulong begins_at, const ulong owners_at, const ulong order_at, \
      const ulong sorted_at
#define HISTOGRAM_AT(type, at) ((__global type *)(temporary + (at)))

#if MASU_KERNEL == HISTOGRAM_KERNEL_SCATTER
// `partitioned`, step 1: finds the slots and fills the blocks. A work-group has blocks of its own, as many as its tiles can
// need: of each part it has one that is not full. A tile of elements is brought into the order of its parts in local memory first, so that neighbours
// write to neighbours.
#define HISTOGRAM_TILE (MASU_GROUP * MASU_UNROLL)
// The elements from a place to the end of its block; 0 where a block begins.
#define HISTOGRAM_ROOM(place) ((0u - (place)) & (MASU_BLOCK - 1))
// The blocks of the work-groups before this one: of the tiles that they take, the last of which may have fewer elements, and of
// parts that are not full.
#define HISTOGRAM_TILE_BLOCKS ((HISTOGRAM_TILE + MASU_BLOCK - 1) / MASU_BLOCK)
#define HISTOGRAM_BLOCKS_BEFORE(group)                                                                  \
  ((group)*parts + ((group) * (tiles / groups) + min((group), tiles % groups)) * HISTOGRAM_TILE_BLOCKS - \
   ((group) > (tiles - 1) % groups ? tiles * HISTOGRAM_TILE_BLOCKS - full : 0))
// Blocks that more elements take.
#define HISTOGRAM_MORE(size, place) \
  ((size) > HISTOGRAM_ROOM(place) ? ((size)-HISTOGRAM_ROOM(place) + MASU_BLOCK - 1) / MASU_BLOCK : 0)
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_RESIDENT) void histogram_scatter(HISTOGRAM_INPUT, HISTOGRAM_TEMPORARY, const uint parts,
                                                            __local uint *sizes, __local uint4 *moves,
                                                            __local uint *staged, __local uint *sums) {
  __global uint *counters = HISTOGRAM_AT(uint, counters_at);
  __global uint *owners = HISTOGRAM_AT(uint, owners_at);
  __global ushort *sorted = HISTOGRAM_AT(ushort, sorted_at);
  MASU_LOCAL_POINTER(uint, sizes);  // elements of each part, and none, in this tile; then where they begin in `staged`
  // For each part: x, the first element in `staged` for which its open block has no room; y, where the elements before x go, less their
  // place in `staged`; z, the same for those from x on; w, where the part continues in the next tile.
  MASU_LOCAL_POINTER(uint4, moves);
  MASU_LOCAL_POINTER(uint, staged);
  MASU_LOCAL_POINTER(uint, sums);
  const uint lane = (uint)get_local_id(0);
  const uint each = (parts + MASU_GROUP - 1) / MASU_GROUP;
  const uint first = lane * each < parts ? lane * each : parts;
  const uint end = first + each < parts ? first + each : parts;
  for (uint p = first; p < end; ++p) moves[p].w = 0;
  const uint groups = (uint)get_num_groups(0);
  const uint tiles = (uint)((count + HISTOGRAM_TILE - 1) / HISTOGRAM_TILE);
  const uint full = (tiles - 1) * HISTOGRAM_TILE_BLOCKS +
                    (uint)((count - (ulong)(tiles - 1) * HISTOGRAM_TILE + MASU_BLOCK - 1) / MASU_BLOCK);
  uint next_block = HISTOGRAM_BLOCKS_BEFORE((uint)get_group_id(0));
  const uint last_block = HISTOGRAM_BLOCKS_BEFORE((uint)get_group_id(0) + 1);
  for (ulong tile = (ulong)get_group_id(0) * HISTOGRAM_TILE; tile < count; tile += (ulong)get_num_groups(0) * HISTOGRAM_TILE) {
    for (uint p = lane; p <= parts; p += MASU_GROUP) sizes[p] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    // The last element is repeated up to the tile's end and belongs to an extra part that is dropped, so nothing depends on its end.
    const uint length = count - tile < HISTOGRAM_TILE ? (uint)(count - tile) : HISTOGRAM_TILE;
    uint found[MASU_UNROLL];
    {
      HISTOGRAM_DECLARE_VALUES(MASU_UNROLL)
      MASU_PRAGMA_UNROLL
      for (int k = 0; k < MASU_UNROLL; ++k) {
        HISTOGRAM_LOAD_VALUES(tile + min(k * MASU_GROUP + lane, length - 1), k)
      }
      MASU_PRAGMA_UNROLL
      for (int four = 0; four < MASU_UNROLL; four += 4) {
        bool sure = true;
        MASU_PRAGMA_UNROLL
        for (int k = four; k < four + 4; ++k) {
          HISTOGRAM_TRY_SLOT(tile + k * MASU_GROUP + lane, k, of_element, sure)
          found[k] = of_element;
        }
        if (!sure) {
          MASU_PRAGMA_UNROLL
          for (int k = four; k < four + 4; ++k) {
            HISTOGRAM_FIND_SLOWLY(tile + k * MASU_GROUP + lane, k, of_element)
            found[k] = of_element;
          }
        }
      }
    }
    uint ranks[MASU_UNROLL / 2];  // two of 16 bits
    MASU_PRAGMA_UNROLL
    for (int k = 0; k < MASU_UNROLL; ++k) {
      if (k * MASU_GROUP + lane >= length) found[k] = parts << MASU_SLOT_SHIFT;
      const uint rank = atomic_inc(&sizes[found[k] >> MASU_SLOT_SHIFT]);
      ranks[k / 2] = k % 2 == 0 ? rank : ranks[k / 2] | rank << 16;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    // An exclusive scan of the sizes, in the lower halves, and of the blocks that are to be taken, some parts to each work-item.
    uint sum = 0;
    for (uint p = first; p < end; ++p) sum += HISTOGRAM_MORE(sizes[p], moves[p].w) << 16 | sizes[p];
    uint all;
    const uint before = group_scan(sum, MASU_GROUP, sums, lane, &all) - sum;
    uint begin = before & 65535;
    uint block = next_block + (before >> 16);
    next_block += all >> 16;
    for (uint p = first; p < end; ++p) {
      const uint size = sizes[p];
      const uint place = moves[p].w;
      const uint room = HISTOGRAM_ROOM(place);
      const uint more = HISTOGRAM_MORE(size, place);
      moves[p].x = UINT_MAX;
      moves[p].y = place - begin;
      moves[p].w = place + size;
      if (more != 0) {
        atomic_add(&counters[p], more);
        for (uint b = 0; b < more; ++b) owners[block + b] = p << 16 | MASU_BLOCK;
        moves[p].x = begin + room;
        moves[p].z = block * MASU_BLOCK - (begin + room);
        moves[p].w = block * MASU_BLOCK + (size - room);
        block += more;
      }
      sizes[p] = begin;
      begin += size;
    }
    if (lane == 0) sizes[parts] = length;
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_PRAGMA_UNROLL
    for (int k = 0; k < MASU_UNROLL; ++k) {
      const uint part = found[k] >> MASU_SLOT_SHIFT;
      staged[sizes[part] + (ranks[k / 2] >> 16 * (k % 2) & 65535)] =
          part << 16 | (found[k] & ((1u << MASU_SLOT_SHIFT) - 1));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_PRAGMA_UNROLL
    for (int k = 0; k < MASU_UNROLL; ++k) {
      const uint i = k * MASU_GROUP + lane;
      if (i < length) {
        const uint one = staged[i];
        const uint4 move = moves[one >> 16];
        sorted[i + (i < move.x ? move.y : move.z)] = (ushort)one;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (uint p = first; p < end; ++p) {
    const uint room = HISTOGRAM_ROOM(moves[p].w);
    if (room != 0) owners[moves[p].w / MASU_BLOCK] = p << 16 | (MASU_BLOCK - room);
  }
  for (uint b = next_block + lane; b < last_block; b += MASU_GROUP) owners[b] = 0;
}
#endif

#if MASU_KERNEL == HISTOGRAM_KERNEL_ORDER
// `partitioned`, step 2: brings the blocks into the order of the parts, those of a part in any order. Each work-group sums the
// parts' blocks for itself, and finds places for some blocks at a time.
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_order(HISTOGRAM_TEMPORARY, const uint parts, const uint blocks,
                                                          __local uint *starts, __local uint *places,
                                                          __local uint *sums) {
  MASU_LOCAL_POINTER(uint, starts);
  MASU_LOCAL_POINTER(uint, places);
  MASU_LOCAL_POINTER(uint, sums);
  __global uint *counters = HISTOGRAM_AT(uint, counters_at);
  __global uint *begins = HISTOGRAM_AT(uint, begins_at);
  __global const uint *owners = HISTOGRAM_AT(const uint, owners_at);
  __global uint *order = HISTOGRAM_AT(uint, order_at);
  const uint lane = (uint)get_local_id(0);
  const uint each = (parts + MASU_GROUP - 1) / MASU_GROUP;
  const uint first = lane * each < parts ? lane * each : parts;
  const uint end = first + each < parts ? first + each : parts;
  uint sum = 0;
  for (uint p = first; p < end; ++p) sum += counters[p];
  uint all;
  uint begin = group_scan(sum, MASU_GROUP, sums, lane, &all) - sum;
  for (uint p = first; p < end; ++p) {
    starts[p] = begin;
    if (get_group_id(0) == 0) begins[p] = begin;
    begin += counters[p];
  }
  if (get_global_id(0) == 0) begins[parts] = all;
  for (uint some = (uint)get_group_id(0) * MASU_GROUP; some < blocks; some += (uint)get_num_groups(0) * MASU_GROUP) {
    for (uint p = lane; p < parts; p += MASU_GROUP) places[p] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint owner = some + lane < blocks ? owners[some + lane] : 0;
    const uint rank = owner != 0 ? atomic_inc(&places[owner >> 16]) : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint p = lane; p < parts; p += MASU_GROUP) {
      if (places[p] != 0) places[p] = starts[p] + atomic_add(&counters[parts + p], places[p]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (owner != 0) order[places[owner >> 16] + rank] = (some + lane) << 9 | (owner & 511);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
#endif

#if MASU_KERNEL == HISTOGRAM_KERNEL_PARTS
// `partitioned`, step 3: each work-group counts an equal share of the blocks, part by part, in a table of 2^shift slots in
// local memory. The share of a group is below 2^32 elements.
#define HISTOGRAM_BLOCK_VECTORS (MASU_BLOCK / 8)
#define HISTOGRAM_LOAD_BLOCKS(to, from)                                        \
  MASU_PRAGMA_UNROLL                                                           \
  for (int k = 0; k < MASU_UNROLL; ++k) {                                      \
    const uint one = (from) + k * MASU_GROUP;                                  \
    to[k] = one < vectors ? order[i + one / HISTOGRAM_BLOCK_VECTORS] : 0;      \
  }
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_parts(HISTOGRAM_TEMPORARY, const uint parts, const uint all_slots,
                                                          __global uint *totals, const ulong first_total,
                                                          __local uint *table) {
  MASU_LOCAL_POINTER(uint, table);
  __global const uint4 *sorted = HISTOGRAM_AT(const uint4, sorted_at);
  __global const uint *begins = HISTOGRAM_AT(const uint, begins_at);
  __global const uint *order = HISTOGRAM_AT(const uint, order_at);
  const uint lane = (uint)get_local_id(0);
  const ulong all = begins[parts];
  uint i = (uint)(all * get_group_id(0) / get_num_groups(0));
  const uint end = (uint)(all * (get_group_id(0) + 1) / get_num_groups(0));
  // The last part that begins at or before i.
  uint part = 0;
  for (uint length = parts; length > 1;) {
    const uint middle = length / 2;
    if (begins[part + middle] <= i) part += middle;
    length -= middle;
  }
  for (; i < end; ++part) {
    const uint next = begins[part + 1];
    const uint part_end = next < end ? next : end;
    if (part_end <= i) continue;
    const uint first = part << MASU_SLOT_SHIFT;
    const uint rest = all_slots - first;
    const uint slots = rest < 1u << MASU_SLOT_SHIFT ? rest : 1u << MASU_SLOT_SHIFT;
    for (uint s = lane; s < slots; s += MASU_GROUP) table[s] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint vectors = (part_end - i) * HISTOGRAM_BLOCK_VECTORS;
    uint block[MASU_UNROLL];
    uint next_block[MASU_UNROLL];  // loaded while the blocks before are counted
    HISTOGRAM_LOAD_BLOCKS(next_block, lane)
    for (uint v = lane; v < vectors; v += MASU_UNROLL * MASU_GROUP) {
      uint4 loaded[MASU_UNROLL];
      MASU_PRAGMA_UNROLL
      for (int k = 0; k < MASU_UNROLL; ++k) block[k] = next_block[k];
      MASU_PRAGMA_UNROLL
      for (int k = 0; k < MASU_UNROLL; ++k) {
        const uint in_block = (v + k * MASU_GROUP) % HISTOGRAM_BLOCK_VECTORS;
        loaded[k] = masu_load_streaming(sorted + (block[k] >> 9) * HISTOGRAM_BLOCK_VECTORS + in_block);
      }
      HISTOGRAM_LOAD_BLOCKS(next_block, v + MASU_UNROLL * MASU_GROUP)
      MASU_PRAGMA_UNROLL
      for (int k = 0; k < MASU_UNROLL; ++k) {
        const uint at = (v + k * MASU_GROUP) % HISTOGRAM_BLOCK_VECTORS * 8;
        uint words[4];
        words_of_vector(loaded[k], words);
        MASU_PRAGMA_UNROLL
        for (uint e = 0; e < 8; ++e) {
          if (at + e < (block[k] & 511)) atomic_inc(&table[words[e / 2] >> 16 * (e % 2) & 65535]);
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = lane; s < slots; s += MASU_GROUP) {
      if (table[s] != 0) add_total(&totals[2 * (first_total + first + s)], table[s]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    i = part_end;
  }
}
#endif

#if MASU_KERNEL == HISTOGRAM_KERNEL_RANGE
// The least and the greatest finite value: two values for each work-group, `least` > `greatest` where it met none.
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_range(__global const uchar *data, const ulong byte_offset,
                                                          const ulong count, const MASU_VALUE highest,
                                                          const MASU_VALUE lowest, __global MASU_VALUE *result,
                                                          __local MASU_VALUE *least, __local MASU_VALUE *greatest) {
  MASU_LOCAL_POINTER(MASU_VALUE, least);
  MASU_LOCAL_POINTER(MASU_VALUE, greatest);
  const uint lane = (uint)get_local_id(0);
  MASU_VALUE lo = highest;
  MASU_VALUE hi = lowest;
  for (size_t i = get_global_id(0); i < count; i += get_global_size(0)) {
    const MASU_VALUE x = value_at(data + byte_offset, i);
    if (x >= lowest && x <= highest) {  // false for NaN and the infinities: `lowest` and `highest` are finite
      lo = x < lo ? x : lo;
      hi = x > hi ? x : hi;
    }
  }
  least[lane] = lo;
  greatest[lane] = hi;
  for (uint distance = MASU_GROUP / 2; distance > 0; distance /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < distance) {
      const MASU_VALUE other_lo = least[lane + distance];
      const MASU_VALUE other_hi = greatest[lane + distance];
      if (other_lo < least[lane]) least[lane] = other_lo;
      if (other_hi > greatest[lane]) greatest[lane] = other_hi;
    }
  }
  if (lane == 0) {
    result[2 * get_group_id(0)] = least[0];
    result[2 * get_group_id(0) + 1] = greatest[0];
  }
}
#endif
