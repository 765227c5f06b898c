// SPDX-License-Identifier: Apache-2.0
// The sums of segments of any lengths, after sum_round.cl in place of sum_rows.cl. All work is cut into equal parts, one
// for each unit of work-items, wherever segments begin: an element counts 1, a segment `weight` more. The teams of a unit
// take neighbouring segments, or all together a long one. What crosses the ends of a part leaves pieces: the head, of a
// segment that began before, and the tail, of one that goes on. The work-group joins those of its units,
// sum_segments_join those of all work-groups. What no bound proves is listed, and added exactly: by the work-group, or by
// all that have a piece of it.
//
// kernels.md has the parameters, which sum_plan.cpp gives.

// Loads of a work-item of a team from which on a segment is long, if others are in the unit.
#define SUM_LONG_LOADS (8 * MASU_UNROLL)
// Whether a unit goes on without others: no barrier is in the joining of parts.
#define SUM_UNITS_APART (SUM_JOINS_LANES || MASU_ALONE || !MASU_QUICK)
// The most additions that an element of `count` of a team goes through.
#define SUM_TEAM_DEPTH(count) (SUM_DEPTH((count) >> team_bits) + 2 * MASU_PER_VECTOR + 2 * unit_bits + 4)
// For a piece, which others are added to twice.
#define SUM_PIECE_DEPTH (SUM_TEAM_DEPTH(SUM_LONGEST) + 2 * SUM_GROUP_BITS + 4)

// Cuts of `cut` parts, where each begins and the last one ends, by column: twice the segment, with 1 more where it began
// before; the element; then the words of heads, and of tails.
#define SUM_CUT(word, i) cuts[(word) * (cut + 1) + (i)]
#define SUM_HEAD 2
#define SUM_TAIL (2 + SUM_PART_WORDS)
#define SUM_CUT_WORDS (2 + 2 * SUM_PART_WORDS)

// Offsets that decrease, or lie beyond all elements, make segments that have fewer elements, or none.
#define SUM_BEGIN(s) min(offsets[s], elements)
#define SUM_END(s) max(SUM_BEGIN(s), SUM_BEGIN((s) + 1))

// Where part `number` of `all` begins, in the first of 2^unit_bits neighbours, which look at as many places at a time. For any
// offsets the segment is no less than that of the part before.
inline void find_cut(__global const ulong *offsets, const ulong elements, const ulong segments, const ulong weight,
                     const ulong number, const ulong all, __local ulong *at, __local ulong *element) {
  const ulong begin = SUM_BEGIN(0);
  const ulong each = (max(begin, SUM_BEGIN(segments)) - begin + weight * segments) / all + 1;
  const ulong key = begin + number * each;
  const uint lane = SUM_JOINS_LANES ? (uint)get_local_id(0) % MASU_SHUFFLE_LANES : 0;
  ulong low = 0;
  ulong high = segments;
  while (high - low > 1) {
    const ulong step = (high - low + MASU_SHUFFLE_LANES) / (MASU_SHUFFLE_LANES + 1);
    const ulong place = low + (lane + 1) * step;
    uint up = place < high && SUM_BEGIN(min(place, segments)) + weight * place <= key ? 1 : 0;
#if SUM_JOINS_LANES
    up = masu_sum_lanes(up);
#endif
    low += up * step;
    high = min(high, low + step);
  }
  const ulong place = key - weight * low;
  const bool goes_on = place < SUM_END(low);
  const ulong found = goes_on ? 2 * low + (place > SUM_BEGIN(low) ? 1 : 0) : 2 * low + 2;
  if (lane == 0) {
    *at = number == 0 ? 0 : number == all ? 2 * segments : found;
    *element = place;
  }
}

// A team's part of `count` elements from x_at on.
inline void segment_part(__global const uchar *restrict x, const ulong x_at, const ulong count, const uint team_bits,
                         ulong *part, __local ulong *parts) {
#if MASU_QUICK
  const size_t row = 0;
  const ulong y_at = 0;
  (void)y_at;
  const size_t stride = (size_t)1 << team_bits;
  const size_t first = SUM_TEAM_LANE((uint)get_local_id(0), team_bits);
  SUM_ROW
  SUM_START_PART
  SUM_ADD_VECTORS(first, vectors)
  SUM_ADD_EDGES
  SUM_END_PART
#if !MASU_ALONE
  join_parts(part, team_bits, parts);
#endif
#endif
}

// Joins the pieces of each segment, if `joins`. Whether this work-item's part of the work has a tail; then `part` is the sum of that
// and of all heads of the segment. All work-items of the group come here.
inline bool join_pieces(const bool joins, const uint cut, __local ulong *cuts, ulong *part) {
  const uint me = (uint)get_local_id(0);
#if MASU_QUICK
  // The heads of the same segment from each on: as many as `distance`, then twice as many.
  for (uint distance = joins ? 1 : cut; distance < cut; distance <<= 1) {
    const uint other = me + distance;
    const bool adds = other < cut && (SUM_CUT(0, me) & 1) != 0 && SUM_CUT(0, me) == SUM_CUT(0, other);
    ulong more[SUM_PART_WORDS];
    for (int w = 0; w < SUM_PART_WORDS; ++w) {
      part[w] = adds ? SUM_CUT(SUM_HEAD + w, me) : 0;
      more[w] = adds ? SUM_CUT(SUM_HEAD + w, other) : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (adds) {
      add_part(part, more);
      for (int w = 0; w < SUM_PART_WORDS; ++w) SUM_CUT(SUM_HEAD + w, me) = part[w];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#endif
  if (!joins || me >= cut || (SUM_CUT(0, me + 1) & 1) == 0 || SUM_CUT(0, me + 1) == SUM_CUT(0, me)) return false;
#if MASU_QUICK
  ulong more[SUM_PART_WORDS];
  for (int w = 0; w < SUM_PART_WORDS; ++w) {
    part[w] = SUM_CUT(SUM_TAIL + w, me);
    more[w] = me + 1 < cut ? SUM_CUT(SUM_HEAD + w, me + 1) : 0;
  }
  if (me + 1 < cut) add_part(part, more);
#endif
  return true;
}

#define SUM_SEGMENT_PARAMETERS                                                                                        \
  __global const uchar *restrict data, const ulong data_at, __global const uchar *restrict offset_memory,             \
      const ulong offsets_at, const ulong elements, const ulong segments, __global uint *totals, const ulong totals_at,\
      const ulong flags_at, const ulong kept_at, SUM_RESULT_PARAMETERS, const uint team_bits,                         \
      const ulong weight, const uint steps, __local uint *table, SUM_FINISH_PARAMETERS, __local ulong *parts,         \
      __local uint *listed, __local ulong *cuts
#define SUM_SEGMENT_POINTERS                                                                                          \
  MASU_LOCAL_POINTER(uint, table);                                                                                    \
  SUM_FINISH_POINTERS                                                                                                 \
  MASU_LOCAL_POINTER(ulong, parts);  /* SUM_PART_WORDS * MASU_GROUP with MASU_QUICK */                                \
  MASU_LOCAL_POINTER(uint, listed);  /* 2, and `steps` for each team, 2 at least */                                   \
  MASU_LOCAL_POINTER(ulong, cuts);   /* SUM_CUT_WORDS for each part, and for its end */                               \
  __global const ulong *const offsets = (__global const ulong *)(offset_memory + offsets_at);                         \
  const uint me = (uint)get_local_id(0);                                                                              \
  const uint unit_bits = SUM_JOINS_LANES ? max(team_bits, SUM_LANE_BITS) : team_bits;
#define SUM_KEPT ((__global ulong *)(totals + kept_at / 4))
// The most work of a part.
#define SUM_LONGEST ((elements + weight * segments) / (get_num_groups(0) * (MASU_GROUP >> unit_bits)) + 1)
// The totals of work-group `group`, and two words beside them.
#define SUM_TOTALS_OF(group) (totals + totals_at / 4 + (group) * SUM_ROW_WORDS)
#define SUM_KINDS_OF(group) (totals + flags_at / 4 + 2 * (group))
// Adds segment s exactly, or share `unit` of `shares` of it, to the totals of a work-group.
#define SUM_ADD_SEGMENT(s, group, shares, unit)                                                                         \
  add_and_finish(data, data_at + SUM_BEGIN(s) * MASU_ELEMENT_BYTES, data, 0, SUM_END(s) - SUM_BEGIN(s), 1, 1, shares, unit, \
                 table, SUM_TOTALS_OF(group), SUM_KINDS_OF(group), SUM_KINDS_OF(group) + 1, what, divisor, precision, least, \
                 bits, results, results_at + (s) * (bits / 8), status, status_at, SUM_FINISH_ARGUMENTS);
// The elements of segment s that are this unit's, and how many.
inline ulong share_of(__global const ulong *offsets, const ulong elements, const ulong segments, const ulong s,
                      const uint cut, __local const ulong *cuts, const uint unit, ulong *from) {
  const ulong at = min(s, segments - 1);
  const ulong begin = SUM_BEGIN(at);
  const ulong end = max(begin, SUM_BEGIN(at + 1));
  *from = SUM_CUT(0, unit) == 2 * s + 1 ? SUM_CUT(1, unit) : begin;
  const ulong to = SUM_CUT(0, unit + 1) == 2 * s + 1 ? SUM_CUT(1, unit + 1) : end;
  return to > *from ? to - *from : 0;
}

// Segment s is elements [offsets[s], offsets[s + 1]) of `elements`. A unit is a
// sub-group, where there are shuffles, or a team. After each of so many `steps` of the units what is listed is added; at
// last pieces are joined.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void sum_segments(SUM_SEGMENT_PARAMETERS) {
  SUM_SEGMENT_POINTERS
  const uint cut = MASU_GROUP >> unit_bits;
  const size_t group = get_group_id(0);
  const size_t groups = get_num_groups(0);
  const uint unit = me >> unit_bits;
  for (uint i = SUM_JOINS_LANES ? unit : me; i <= cut; i += SUM_JOINS_LANES ? cut : MASU_GROUP) {
    find_cut(offsets, elements, segments, weight, group * cut + i, groups * cut, &SUM_CUT(0, i), &SUM_CUT(1, i));
  }
  if (me == 0) listed[0] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint teams = 1u << (unit_bits - team_bits);
  const uint team = me >> team_bits & (teams - 1);
  const ulong first = SUM_CUT(0, 0) / 2;
  const ulong own = (SUM_CUT(0, unit + 1) + 1) / 2;  // before which the unit's segments end
  ulong s = SUM_CUT(0, unit) / 2;
  ulong part[SUM_PART_WORDS] = {0};
  // The work left: 2, or 1 where only pieces are left. The first word after the list has it next.
  __local uint *left = listed + 1 + steps * (MASU_GROUP >> team_bits);
  for (uint to_do = 2; to_do != 0; to_do = *left) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (me == 0) *left = to_do - 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < steps && (!SUM_UNITS_APART || s < own); ++k) {
      ulong mine = s + team;
      ulong from;
      ulong count = mine < own ? share_of(offsets, elements, segments, mine, cut, cuts, unit, &from) : 0;
      uint bits_here = team_bits;
      uint taken = teams;
#if SUM_UNITS_APART && SUM_JOINS_LANES
      if (teams > 1) {
        // Up to the first long one, or that one.
        taken = count / SUM_LOADED >> team_bits > SUM_LONG_LOADS ? team : teams;
        for (uint distance = 1; distance < MASU_SHUFFLE_LANES; distance <<= 1) taken = min(taken, masu_shuffle_xor(taken, distance));
        if (taken == 0) {
          taken = 1;
          bits_here = unit_bits;
          mine = s;
          count = share_of(offsets, elements, segments, mine, cut, cuts, unit, &from);
        }
      }
#endif
      const bool is_mine = mine < own && mine - s < taken;
      if (!is_mine) count = 0;
      segment_part(data, data_at + (count == 0 ? 0 : from) * MASU_ELEMENT_BYTES, count, bits_here, part, parts);
      if (is_mine && SUM_TEAM_LANE(me, bits_here) == 0) {
        const bool begun = SUM_CUT(0, unit) == 2 * mine + 1;
        if (begun || SUM_CUT(0, unit + 1) == 2 * mine + 1) {
          for (int w = 0; w < SUM_PART_WORDS; ++w) SUM_CUT((begun ? SUM_HEAD : SUM_TAIL) + w, unit) = part[w];
        } else {
          round_row(count, SUM_RESULT_ARGUMENTS, first, mine, part, SUM_TEAM_DEPTH(count), listed);
        }
      }
      s += taken;
    }
    if (s < own) *left = 2;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (join_pieces(to_do == 1, cut, cuts, part)) {
      const ulong at = SUM_CUT(0, me + 1);
      if (at == SUM_CUT(0, cut)) {
        for (int w = 0; w < SUM_PART_WORDS; ++w) SUM_KEPT[(SUM_TAIL + w) * groups + group] = part[w];
      } else {
        round_row(SUM_END(at / 2) - SUM_BEGIN(at / 2), SUM_RESULT_ARGUMENTS, first, at / 2, part, SUM_PIECE_DEPTH, listed);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    // A loop, not a condition: PoCL 3.1 runs the code after a barrier inside of a condition for all work-items.
    for (uint u = 0; u < listed[0]; ++u) {
      const ulong again = first + listed[1 + u];
      clear_row(SUM_TOTALS_OF(group), SUM_KINDS_OF(group), SUM_KINDS_OF(group) + 1, SUM_KINDS_OF(group) + 1, true);
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
      SUM_ADD_SEGMENT(again, group, 1, 0)
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (me == 0) listed[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (me == 0) {
    for (int w = 0; w < SUM_TAIL; ++w) SUM_KEPT[w * groups + group] = SUM_CUT(w, 0);
  }
  clear_row(SUM_TOTALS_OF(group), SUM_KINDS_OF(group), SUM_KINDS_OF(group) + 1, SUM_KINDS_OF(group) + 1, true);
}

// Ends the segments of which several work-groups, as many as now, left pieces. All of them join the same; each stores the result of
// its tail.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void sum_segments_join(SUM_SEGMENT_PARAMETERS) {
  SUM_SEGMENT_POINTERS
  const uint cut = (uint)get_num_groups(0);
  const uint group = (uint)get_group_id(0);
  for (uint i = me; i < SUM_CUT_WORDS * cut; i += MASU_GROUP) SUM_CUT(i / cut, i % cut) = SUM_KEPT[i];
  if (me == 0) {
    SUM_CUT(0, cut) = 2 * segments;
    listed[0] = 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  ulong part[SUM_PART_WORDS] = {0};
  if (join_pieces(true, cut, cuts, part)) {
    const ulong s = SUM_CUT(0, me + 1) / 2;
    bool sure = false;
#if MASU_QUICK
    ulong found = 0;
    bool fits = true;
    sure = result_of(part, SUM_END(s) - SUM_BEGIN(s), SUM_PIECE_DEPTH, what, divisor, precision, least, bits, &found, &fits);
    if (sure && me == group) store_result(results + results_at + s * (bits / 8), bits, found);
    if (!fits && me == group) atomic_or((__global uint *)(status + status_at), 1u);
#endif
    // This work-group has a piece of those that begin in it, or go on in it.
    if (!sure && (me == group || SUM_CUT(0, me + 1) == SUM_CUT(0, group))) listed[1 + atomic_inc(listed)] = me;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint l = 0; l < listed[0]; ++l) {
    const uint owner = listed[1 + l];
    const ulong at = SUM_CUT(0, owner + 1);
    uint members = 1;
    while (SUM_CUT(0, owner + members) == at) ++members;
    SUM_ADD_SEGMENT(at / 2, owner, members, group - owner)
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
}

// Few elements, in one launch: each team adds a segment, and the work-group, one after the other, what is long for a team
// or not certain.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void sum_segments_few(SUM_SEGMENT_PARAMETERS) {
  SUM_SEGMENT_POINTERS
  const size_t group = get_group_id(0);
  const uint teams = MASU_GROUP >> team_bits;
  __local uint *const unsure = listed + 1 + teams;  // of the one that the work-group adds
  ulong part[SUM_PART_WORDS] = {0};
  for (size_t begin = group * teams; begin < segments; begin += get_num_groups(0) * teams) {
    if (me == 0) listed[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const size_t mine = begin + SUM_TEAM(me, team_bits);
    const ulong from = mine < segments ? SUM_BEGIN(mine) : 0;
    const ulong all = mine < segments ? SUM_END(mine) - from : 0;
    const bool is_long = teams > 1 && all / SUM_LOADED >> team_bits > 4 * MASU_UNROLL;
    const ulong count = is_long ? 0 : all;
    segment_part(data, data_at + from * MASU_ELEMENT_BYTES, count, team_bits, part, parts);
    if (SUM_TEAM_LANE(me, team_bits) == 0 && mine < segments) {
      if (is_long) listed[1 + atomic_inc(listed)] = (uint)(mine - begin);
      else round_row(count, SUM_RESULT_ARGUMENTS, begin, mine, part, SUM_TEAM_DEPTH(count), listed);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint l = 0; l < listed[0]; ++l) {
      const size_t s = begin + listed[1 + l];
      const ulong length = SUM_END(s) - SUM_BEGIN(s);
      segment_part(data, data_at + SUM_BEGIN(s) * MASU_ELEMENT_BYTES, length, SUM_GROUP_BITS, part, parts);
      if (me == 0) {
        unsure[0] = 0;
        round_row(length, SUM_RESULT_ARGUMENTS, s, s, part, SUM_TEAM_DEPTH(length) + 2 * SUM_GROUP_BITS, unsure);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      for (uint u = 0; u < unsure[0]; ++u) {
        clear_row(SUM_TOTALS_OF(group), SUM_KINDS_OF(group), SUM_KINDS_OF(group) + 1, SUM_KINDS_OF(group) + 1, true);
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        SUM_ADD_SEGMENT(s, group, 1, 0)
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
