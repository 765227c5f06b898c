// SPDX-License-Identifier: Apache-2.0
// Counting element by element, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++): what does not take whole
// vectors of one column. That is joint histograms, whose points have a coordinate in each of several columns, and bins
// that are partitioned because no table in local memory holds them. histogram_slots.cl and group_scan.cl stand in front of
// this file.
//
// Defines beside those of histogram_slots.cl, all given by histogram_plan.cpp:
// - MASU_KERNEL      which one kernel to compile: one of the six below, or one of weighted_histogram.cl
// - MASU_GROUP       work-items in a work-group, a power of two
// - MASU_UNROLL      elements in flight for each work-item
// - MASU_COPIES      copies of the table in local memory, a power of two
// - MASU_CHANNELS    interleaved channels, each with slots of its own
// - MASU_COLUMNS     columns of a joint histogram; 0: one column, not joint
// - MASU_CLAMP       1: coordinates below and above belong to the first and the last bin
// - MASU_SLOT_SHIFT  a part of the bins is 2^this slots

#define MASU_KERNEL_LOCAL 0
#define MASU_KERNEL_GLOBAL 1
#define MASU_KERNEL_SIZES 2
#define MASU_KERNEL_SCAN 3
#define MASU_KERNEL_SCATTER 4
#define MASU_KERNEL_PARTS 5

// A slot where MASU_CLAMP moves what lies below to the first bin, and what lies above to the last one.
inline uint clamped_slot(const uint slot, const uint bins) {
  return slot == bins ? 0 : slot == bins + 1 ? bins - 1 : slot;
}
#if MASU_CLAMP
#define MASU_CLAMPED(slot, bins) clamped_slot(slot, bins)
#else
#define MASU_CLAMPED(slot, bins) (slot)
#endif

#if MASU_COLUMNS == 0
#define MASU_INPUT                                                                                           \
  __global const uchar *restrict data, const ulong byte_offset, const ulong count, const ulong row_elements, \
      const ulong pitch, const uint slots, MASU_RULE_PARAMETERS(0)
// The value of element e; rows of `row_elements` lie `pitch` bytes apart, pitch 0: there is one row. Loads stand apart
// from finding slots, so that many are in flight.
inline MASU_VALUE element_value(__global const uchar *bytes, const ulong e, const ulong row_elements,
                                const ulong pitch) {
  const ulong row = pitch == 0 ? 0 : e / row_elements;
  return value_at(bytes + row * pitch, (size_t)(e - row * row_elements));
}
#define MASU_DECLARE_VALUES(n) MASU_VALUE values[n];
#define MASU_LOAD_VALUES(e, k) values[k] = element_value(data + byte_offset, e, row_elements, pitch);
// Declares `slot`, that of element e, whose value is number k of those loaded.
#define MASU_FIND_SLOT(e, k, slot)                                                   \
  bool sure = true;                                                                  \
  const uint tried = MASU_TRY(values[k], &sure, MASU_RULE(0));                       \
  const uint slot = (MASU_CHANNELS == 1 ? 0 : (uint)((e) % MASU_CHANNELS) * slots) + \
                    (sure ? tried : MASU_CLAMPED(MASU_SLOT(values[k], MASU_RULE(0)), bins0));
#else
// The columns of a joint histogram. `slots` is two more than the cells: points outside of the bins, and with a NaN.
#define MASU_NONE()
#define MASU_COMMA() ,
#define MASU_EACH_1(f, between) f(0)
#define MASU_EACH_2(f, between) MASU_EACH_1(f, between) between() f(1)
#define MASU_EACH_3(f, between) MASU_EACH_2(f, between) between() f(2)
#define MASU_EACH_4(f, between) MASU_EACH_3(f, between) between() f(3)
#define MASU_EACH_5(f, between) MASU_EACH_4(f, between) between() f(4)
#define MASU_EACH_6(f, between) MASU_EACH_5(f, between) between() f(5)
#define MASU_EACH_7(f, between) MASU_EACH_6(f, between) between() f(6)
#define MASU_EACH_8(f, between) MASU_EACH_7(f, between) between() f(7)
#define MASU_PASTE(a, b) a##b
#define MASU_EACH_TO(n) MASU_PASTE(MASU_EACH_, n)
#define MASU_EACH_COLUMN(f, between) MASU_EACH_TO(MASU_COLUMNS)(f, between)

#define MASU_COLUMN(d) __global const uchar *restrict data##d, const ulong byte_offset##d, MASU_RULE_PARAMETERS(d)
#define MASU_INPUT const ulong count, const uint slots, MASU_EACH_COLUMN(MASU_COLUMN, MASU_COMMA)
#define MASU_DECLARE_COLUMN(d) MASU_VALUE values##d[MASU_UNROLL];
#define MASU_DECLARE_VALUES(n) MASU_EACH_COLUMN(MASU_DECLARE_COLUMN, MASU_NONE)
#define MASU_LOAD_COLUMN(d) values##d[in_flight] = value_at(data##d + byte_offset##d, (size_t)element);
#define MASU_LOAD_VALUES(e, k)                  \
  {                                             \
    const ulong element = (e);                  \
    const int in_flight = (k);                  \
    MASU_EACH_COLUMN(MASU_LOAD_COLUMN, MASU_NONE) \
  }
// Adds a coordinate of a point to its cell, the last column's bins next to each other.
#define MASU_ADD_COLUMN(d)                                                                                         \
  {                                                                                                                \
    const uint bin = MASU_CLAMPED(MASU_SLOT_##d(values##d[in_flight], MASU_RULE(d)), bins##d);                     \
    outside = outside || bin >= bins##d;                                                                           \
    nan = nan || bin == bins##d + 2;                                                                               \
    cell = cell * bins##d + bin;                                                                                   \
  }
#define MASU_TRY_COLUMN(d) \
  cell = cell * bins##d + MASU_TRY_##d(values##d[in_flight], &sure, MASU_RULE(d));
// Declares `slot`, that of point number k of those loaded: quickly where all its coordinates lie in bins.
#define MASU_FIND_SLOT(e, k, slot)                           \
  const int in_flight = (k);                                 \
  uint cell = 0;                                             \
  bool sure = true;                                          \
  MASU_EACH_COLUMN(MASU_TRY_COLUMN, MASU_NONE)               \
  if (!sure) {                                               \
    bool outside = false;                                    \
    bool nan = false;                                        \
    cell = 0;                                                \
    MASU_EACH_COLUMN(MASU_ADD_COLUMN, MASU_NONE)             \
    cell = nan ? slots - 1 : outside ? slots - 2 : cell;     \
  }                                                          \
  const uint slot = cell;
#endif

// Does ONE(slot) for every element, MASU_UNROLL of each work-item in flight.
#define MASU_EACH_ELEMENT(MASU_ONE)                                                 \
  {                                                                                 \
    const size_t stride = get_global_size(0);                                       \
    size_t e = get_global_id(0);                                                    \
    MASU_DECLARE_VALUES(MASU_UNROLL)                                                \
    for (; e + (MASU_UNROLL - 1) * stride < count; e += MASU_UNROLL * stride) {     \
      MASU_PRAGMA_UNROLL                                                            \
      for (int k = 0; k < MASU_UNROLL; ++k) {                                       \
        MASU_LOAD_VALUES(e + k * stride, k)                                         \
      }                                                                             \
      MASU_PRAGMA_UNROLL                                                            \
      for (int k = 0; k < MASU_UNROLL; ++k) {                                       \
        MASU_FIND_SLOT(e + k * stride, k, of_element)                               \
        MASU_ONE(of_element);                                                       \
      }                                                                             \
    }                                                                               \
    for (; e < count; e += stride) {                                                \
      MASU_LOAD_VALUES(e, 0)                                                        \
      MASU_FIND_SLOT(e, 0, of_element)                                              \
      MASU_ONE(of_element);                                                         \
    }                                                                               \
  }

// The temporary memory of `partitioned`, from its byte `at` on.
#define MASU_TEMPORARY __global uchar *temporary, const ulong sizes_at, const ulong begins_at, const ulong sorted_at
#define MASU_AT(type, at) ((__global type *)(temporary + (at)))

#if MASU_KERNEL == MASU_KERNEL_LOCAL || MASU_KERNEL == MASU_KERNEL_SIZES
// `local` and `lanes`, as in histogram.cl. With MASU_SLOT_SHIFT it counts how many elements each part of the bins has.
#if MASU_KERNEL == MASU_KERNEL_SIZES
#define MASU_RESULT MASU_TEMPORARY
#else
#define MASU_RESULT __global uint *totals, const ulong first_total
#endif
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_elements_local(MASU_INPUT, MASU_RESULT, __local uint *table) {
  MASU_LOCAL_POINTER(uint, table);
  const uint lane = (uint)get_local_id(0);
  const uint copy = lane & (MASU_COPIES - 1);
  const uint parts = ((slots * MASU_CHANNELS - 1) >> MASU_SLOT_SHIFT) + 1;
  for (uint w = lane; w < parts * MASU_COPIES; w += MASU_GROUP) table[w] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
#define MASU_ONE(slot) atomic_inc(&table[((slot) >> MASU_SLOT_SHIFT) * MASU_COPIES + copy])
  MASU_EACH_ELEMENT(MASU_ONE)
#undef MASU_ONE
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint s = lane; s < parts; s += MASU_GROUP) {
    uint sum = 0;
    for (uint c = 0; c < MASU_COPIES; ++c) sum += table[s * MASU_COPIES + ((c + lane) & (MASU_COPIES - 1))];
#if MASU_KERNEL == MASU_KERNEL_SIZES
    if (sum != 0) atomic_add(&MASU_AT(uint, sizes_at)[s], sum);
#else
    if (sum != 0) add_total(&totals[2 * (first_total + s)], sum);
#endif
  }
}
#endif

#if MASU_KERNEL == MASU_KERNEL_GLOBAL
// `global`: every element is one atomic addition to the result.
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_elements_global(MASU_INPUT, __global uint *totals,
                                                                     const ulong first_total) {
#define MASU_ONE(slot) add_total(&totals[2 * (first_total + (slot))], 1)
  MASU_EACH_ELEMENT(MASU_ONE)
#undef MASU_ONE
}
#endif

#if MASU_KERNEL == MASU_KERNEL_SCAN
// `partitioned`, step 2: where each part begins among the sorted elements. One work-group; `sizes` becomes the place where
// the next element of the part goes.
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_scan(MASU_TEMPORARY, const uint parts, __local uint *sums) {
  MASU_LOCAL_POINTER(uint, sums);
  __global uint *sizes = MASU_AT(uint, sizes_at);
  __global uint *begins = MASU_AT(uint, begins_at);
  const uint lane = (uint)get_local_id(0);
  const uint each = (parts + MASU_GROUP - 1) / MASU_GROUP;
  const uint first = lane * each < parts ? lane * each : parts;
  const uint end = first + each < parts ? first + each : parts;
  uint sum = 0;
  for (uint p = first; p < end; ++p) sum += sizes[p];
  uint all;
  uint begin = group_scan(sum, MASU_GROUP, sums, lane, &all) - sum;
  for (uint p = first; p < end; ++p) {
    const uint size = sizes[p];
    begins[p] = begin;
    sizes[p] = begin;
    begin += size;
  }
  if (lane == MASU_GROUP - 1) begins[parts] = all;
}
#endif

#if MASU_KERNEL == MASU_KERNEL_SCATTER
// `partitioned`, step 3: writes what is left of each slot within its part, 16 bits, among those of the same part. A tile of
// elements is brought into the order of its parts in local memory first, so that neighbours write to neighbours.
#define MASU_TILE (MASU_GROUP * MASU_UNROLL)
__kernel MASU_WORK_GROUPS(MASU_GROUP, 2) void histogram_scatter(MASU_INPUT, MASU_TEMPORARY, const uint parts,
                                                            __local uint *sizes, __local uint *begins,
                                                            __local uint *staged, __local uint *sums) {
  __global uint *places = MASU_AT(uint, sizes_at);
  __global ushort *sorted = MASU_AT(ushort, sorted_at);
  MASU_LOCAL_POINTER(uint, sizes);   // elements of each part in this tile
  MASU_LOCAL_POINTER(uint, begins);  // where they begin in `staged`, then minus where they go
  MASU_LOCAL_POINTER(uint, staged);
  MASU_LOCAL_POINTER(uint, sums);
  const uint lane = (uint)get_local_id(0);
  const uint each = (parts + MASU_GROUP - 1) / MASU_GROUP;
  const uint first = lane * each < parts ? lane * each : parts;
  const uint end = first + each < parts ? first + each : parts;
  for (ulong tile = (ulong)get_group_id(0) * MASU_TILE; tile < count; tile += (ulong)get_num_groups(0) * MASU_TILE) {
    for (uint p = lane; p < parts; p += MASU_GROUP) sizes[p] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint found[MASU_UNROLL];
    uint rank[MASU_UNROLL];
    {
      MASU_DECLARE_VALUES(MASU_UNROLL)
      MASU_PRAGMA_UNROLL
      for (int k = 0; k < MASU_UNROLL; ++k) {
        const ulong e = tile + k * MASU_GROUP + lane;
        if (e < count) {
          MASU_LOAD_VALUES(e, k)
        }
      }
      MASU_PRAGMA_UNROLL
      for (int k = 0; k < MASU_UNROLL; ++k) {
        const ulong e = tile + k * MASU_GROUP + lane;
        if (e < count) {
          MASU_FIND_SLOT(e, k, of_element)
          found[k] = of_element;
        }
      }
    }
    MASU_PRAGMA_UNROLL
    for (int k = 0; k < MASU_UNROLL; ++k) {
      if (tile + k * MASU_GROUP + lane < count) rank[k] = atomic_inc(&sizes[found[k] >> MASU_SLOT_SHIFT]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    // An exclusive scan of the sizes, some parts to each work-item.
    uint sum = 0;
    for (uint p = first; p < end; ++p) sum += sizes[p];
    uint all;
    uint begin = group_scan(sum, MASU_GROUP, sums, lane, &all) - sum;
    for (uint p = first; p < end; ++p) {
      begins[p] = begin;
      begin += sizes[p];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_PRAGMA_UNROLL
    for (int k = 0; k < MASU_UNROLL; ++k) {
      if (tile + k * MASU_GROUP + lane < count) {
        const uint part = found[k] >> MASU_SLOT_SHIFT;
        staged[begins[part] + rank[k]] = part << 16 | (found[k] & ((1u << MASU_SLOT_SHIFT) - 1));
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint p = lane; p < parts; p += MASU_GROUP) {
      if (sizes[p] != 0) begins[p] = atomic_add(&places[p], sizes[p]) - begins[p];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint length = count - tile < MASU_TILE ? (uint)(count - tile) : MASU_TILE;
    for (uint i = lane; i < length; i += MASU_GROUP) sorted[begins[staged[i] >> 16] + i] = (ushort)staged[i];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
#endif

#if MASU_KERNEL == MASU_KERNEL_PARTS
// `partitioned`, step 4: each work-group counts an equal share of the sorted elements, part by part, in a table of 2^shift
// slots in local memory. The share of a group is below 2^32.
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_parts(MASU_TEMPORARY, const uint parts, const uint all_slots,
                                                          __global uint *totals, const ulong first_total,
                                                          __local uint *table) {
  MASU_LOCAL_POINTER(uint, table);
  __global const ushort *sorted = MASU_AT(const ushort, sorted_at);
  __global const uint *begins = MASU_AT(const uint, begins_at);
  const uint lane = (uint)get_local_id(0);
  const ulong all = begins[parts];
  ulong i = all * get_group_id(0) / get_num_groups(0);
  const ulong end = all * (get_group_id(0) + 1) / get_num_groups(0);
  // The last part that begins at or before i.
  uint part = 0;
  for (uint length = parts; length > 1;) {
    const uint middle = length / 2;
    if (begins[part + middle] <= i) part += middle;
    length -= middle;
  }
  for (; i < end; ++part) {
    const ulong next = begins[part + 1];
    const ulong part_end = next < end ? next : end;
    if (part_end <= i) continue;
    const uint first = part << MASU_SLOT_SHIFT;
    const uint rest = all_slots - first;
    const uint slots = rest < 1u << MASU_SLOT_SHIFT ? rest : 1u << MASU_SLOT_SHIFT;
    for (uint s = lane; s < slots; s += MASU_GROUP) table[s] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    ulong e = i + lane;
    for (; e + (MASU_UNROLL - 1) * MASU_GROUP < part_end; e += MASU_UNROLL * MASU_GROUP) {
      ushort loaded[MASU_UNROLL];
      MASU_PRAGMA_UNROLL
      for (int k = 0; k < MASU_UNROLL; ++k) loaded[k] = sorted[e + k * MASU_GROUP];
      MASU_PRAGMA_UNROLL
      for (int k = 0; k < MASU_UNROLL; ++k) atomic_inc(&table[loaded[k]]);
    }
    for (; e < part_end; e += MASU_GROUP) atomic_inc(&table[sorted[e]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = lane; s < slots; s += MASU_GROUP) {
      if (table[s] != 0) add_total(&totals[2 * (first_total + first + s)], table[s]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    i = part_end;
  }
}
#endif
