// SPDX-License-Identifier: Apache-2.0
// Zeros and NaNs, which keep the order of the input, beside the sorts of sort_keys.cl and sort_fill.cl, in OpenCL C 1.2 (and,
// after the CUDA prelude, in CUDA C++). Their places are known when keys_count or sort_offsets has counted them; keys_first leaves
// them where they are, sort_fill fetches them, and nothing else comes to their places.
//   special_count    counts them, chunk by chunk, unless keys_count has listed all that move
//   special_move     brings them to their places in `parted`: from the lists, or chunk by chunk, in order
//   special_restore  copies them to their places in the result
// Zeros that all have one sign are not moved but written, and so are, counted, NaNs that all have the same bits. sort_key.cl,
// group_scan.cl and sort_lists.cl stand in front of this file.
//
// kernels.md has the parameters, which sort_special.h gives.

enum { special_keys = 8 };  // that a work-item reads at once

// What moves: zeros of both signs, and NaNs.
inline bool zeros_move(__global const uint *header) { return header[header_zeros] != 0 && header[header_minuses] != 0; }
inline uint moved_nans(__global const uint *header) {
  return header[header_nans] == header[header_one_nan] ? 0 : header[header_nans];
}
inline bool all_listed(__global const uint *header) {
  return moved_nans(header) <= MASU_MOST_LISTED &&
         (!zeros_move(header) || header[header_zeros] + header[header_minuses] <= MASU_MOST_LISTED);
}

__kernel MASU_WORK_GROUP(MASU_GROUP) void special_count(__global const uchar *restrict keys, const ulong keys_at,
                                                        __global uchar *workspace, const ulong header_at,
                                                        const ulong chunks_at, const uint count, __local uint *sums) {
  MASU_LOCAL_POINTER(uint, sums);
  if (all_listed(SORT_AT(const uint, header_at))) return;
  const uint lid = (uint)get_local_id(0);
  __global const MASU_ELEMENT *const from = (__global const MASU_ELEMENT *)(keys + keys_at);
  const ulong chunk = (count + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong end = min((ulong)count, (get_group_id(0) + 1) * chunk);
  uint zeros = 0;
  uint nans = 0;
  for (ulong first = get_group_id(0) * chunk + lid; first < end; first += special_keys * MASU_GROUP) {
    MASU_BITS bits[special_keys];
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < special_keys; ++k) bits[k] = first + k * MASU_GROUP < end ? from[first + k * MASU_GROUP] : 1;
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < special_keys; ++k) {
      if (!SORT_IS_SPECIAL(bits[k])) continue;
      if (is_nan(bits[k])) ++nans;
      else ++zeros;
    }
  }
  if (lid < 2) sums[lid] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (zeros != 0) atomic_add(&sums[0], zeros);
  if (nans != 0) atomic_add(&sums[1], nans);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lid < 2) SORT_AT(uint, chunks_at)[2 * get_group_id(0) + lid] = sums[lid];
}

// The place of the first NaN among all keys.
inline uint first_nan(__global const uint *header, const uint count, const uint flipped) {
  return flipped != 0 ? 0 : count - header[header_nans];
}

// Brings each of `number` keys, whose places are listed in any order, to its place among those that begin at `to`.
inline void move_listed(__global const MASU_ELEMENT *from, __global MASU_ELEMENT *to, __global const uint *list,
                        const uint number) {
  for (uint i = (uint)get_global_id(0); i < number; i += (uint)get_global_size(0)) {
    const uint own = list[i];
    uint before = 0;
    for (uint k = 0; k < number; ++k) before += list[k] < own ? 1 : 0;
    to[before] = from[own];
  }
}

// `zero_at`: where the place after the last zero stands.
__kernel MASU_WORK_GROUP(MASU_GROUP) void special_move(__global const uchar *restrict keys, const ulong keys_at,
                                                       __global uchar *parted, const ulong parted_at,
                                                       __global uchar *workspace, const ulong header_at,
                                                       const ulong chunks_at, const ulong listed_at,
                                                       const ulong zero_at, const uint count, const uint flipped,
                                                       __local uint *shared) {
  MASU_LOCAL_POINTER(uint, shared);
  __global const uint *const header = SORT_AT(const uint, header_at);
  const bool with_zeros = zeros_move(header);
  const uint all_zeros = header[header_zeros] + header[header_minuses];
  __local uint *const partial = shared + 2;
  const uint lid = (uint)get_local_id(0);
  const uint group = (uint)get_group_id(0);
  __global const uint *const chunks = SORT_AT(const uint, chunks_at);
  __global const MASU_ELEMENT *const from = (__global const MASU_ELEMENT *)(keys + keys_at);
  __global MASU_ELEMENT *const to = (__global MASU_ELEMENT *)(parted + parted_at);
  __global MASU_ELEMENT *const zeros_to = to + (SORT_AT(const uint, zero_at)[0] - all_zeros);
  __global MASU_ELEMENT *const nans_to = to + first_nan(header, count, flipped);
  if (all_listed(header)) {
    __global const uint *const lists = SORT_AT(const uint, listed_at);
    if (with_zeros) move_listed(from, zeros_to, lists, all_zeros);
    move_listed(from, nans_to, lists + MASU_MOST_LISTED, moved_nans(header));
    return;
  }
  if (chunks[2 * group] + chunks[2 * group + 1] == 0) return;
  uint zeros = 0;
  uint nans = 0;
  for (uint i = lid; i < group; i += MASU_GROUP) {
    zeros += chunks[2 * i];
    nans += chunks[2 * i + 1];
  }
  if (lid < 2) shared[lid] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&shared[0], zeros);
  atomic_add(&shared[1], nans);
  barrier(CLK_LOCAL_MEM_FENCE);
  uint zero_place = shared[0];
  uint nan_place = shared[1];
  const ulong chunk = (count + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong end = min((ulong)count, (group + 1) * chunk);
  for (ulong i = group * chunk; i < end; i += special_keys * MASU_GROUP) {
    const ulong first = i + special_keys * lid;
    MASU_BITS bits[special_keys];
    uint own = 0;  // counters of 16 bits: zeros in the lower one, NaNs in the upper one
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < special_keys; ++k) {
      bits[k] = first + k < end ? from[first + k] : 1;
      own += !SORT_IS_SPECIAL(bits[k]) ? 0 : is_nan(bits[k]) ? 0x10000 : 1;
    }
    uint total;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint before = group_scan(own, MASU_GROUP, partial, lid, &total) - own;
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < special_keys; ++k) {
      if (!SORT_IS_SPECIAL(bits[k])) continue;
      const bool nan = is_nan(bits[k]);
      if (nan) nans_to[nan_place + (before >> 16)] = (MASU_ELEMENT)bits[k];
      else if (with_zeros) zeros_to[zero_place + (before & 0xffff)] = (MASU_ELEMENT)bits[k];
      before += nan ? 0x10000 : 1;
    }
    zero_place += total & 0xffff;
    nan_place += total >> 16;
  }
}

__kernel MASU_WORK_GROUP(MASU_GROUP) void special_restore(__global const uchar *restrict parted, const ulong parted_at,
                                                          __global uchar *sorted, const ulong sorted_at,
                                                          __global const uchar *restrict workspace, const ulong header_at,
                                                          const ulong zero_at, const uint count, const uint flipped) {
  __global const uint *const header = SORT_AT(const uint, header_at);
  __global const MASU_ELEMENT *const from = (__global const MASU_ELEMENT *)(parted + parted_at);
  __global MASU_ELEMENT *const to = (__global MASU_ELEMENT *)(sorted + sorted_at);
  const ulong stride = get_global_size(0);
  const uint zeros = header[header_zeros] + header[header_minuses];
  const ulong zero_place = SORT_AT(const uint, zero_at)[0] - zeros;
  const bool moved = zeros_move(header);
  const MASU_ELEMENT zero = (MASU_ELEMENT)(header[header_zeros] != 0 ? 0 : MASU_SIGN);
  for (ulong i = get_global_id(0); i < zeros; i += stride) {
    to[zero_place + i] = moved ? from[zero_place + i] : zero;
  }
  const ulong nan_place = first_nan(header, count, flipped);
  for (ulong i = get_global_id(0); i < header[header_nans]; i += stride) to[nan_place + i] = from[nan_place + i];
}
