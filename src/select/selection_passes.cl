// SPDX-License-Identifier: Apache-2.0
// Selection from a long row: each pass over it is a launch. Its work-groups all compute from the counts of the launch before
// what is known, and count the digits that follow. Before that, where it pays, a filter leaves what lies between bounds
// from a sample. Behind selection.cl and scrambled.cl. kernels.md has the parameters.

// An element of each of `samples` equal parts, to the list; clears `cleared` words of control and of what follows it.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_sample(SELECT_DATA, SELECT_WORK, const uint samples, const uint cleared) {
  __global uint *control = (__global uint *)(work + control_at);
  const uint step = (uint)get_global_size(0);
  for (uint i = (uint)get_global_id(0); i < cleared; i += step) control[i] = 0;
  const uint width = count / samples;
  for (uint i = (uint)get_global_id(0); i < samples; i += step) {
    const ulong at = (ulong)i * count / samples + ((ulong)scrambled(i) * width >> 32);
    set_element(work + list_at, i, element_at(data + byte_offset, (size_t)at));
  }
}

// Counts the keys below, on and between the bounds, and lists those between; in any order, as only their keys matter. What
// it finds in each tile goes to `filtered_at`, as selection.cl has it. Elements are compared as values, of which bounds
// that are NaN know nothing: then nothing is done.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void selection_filter(SELECT_DATA, SELECT_WORK,
                                                                                const ulong filtered_at,
                                                                                __local uint4 *held) {
  MASU_LOCAL_POINTER(uint4, held);  // a work-item's vectors of a tile
  __local uint *words = (__local uint *)(held + MASU_GROUP * MASU_UNROLL);
  __local uint *below = words;  // as in `filtered`, of three tiles in turns
  __local uint *above = words + 3;
  __local uint *base = words + 6;
  __local uint *totals = words + 7;  // as in control
  __global uint *control = (__global uint *)(work + control_at);
  __global uchar *list = work + list_at;
  __global const uchar *bytes = data + byte_offset;
  const Bounds bounds = bounds_of(control);
  const bool no_lower = (bounds.has & SELECT_HAS_LOWER) == 0;
  const bool no_upper = (bounds.has & SELECT_HAS_UPPER) == 0;
#if MASU_FLOAT
  const MASU_BITS lower_bits = no_lower ? MASU_SIGN | MASU_INFINITY_BITS : bits_of_key(bounds.lower);
#else
  const MASU_BITS lower_bits = bits_of_key(bounds.lower);
#endif
  const MASU_VALUE lower = MASU_AS_VALUE(lower_bits);
  const MASU_VALUE upper = MASU_AS_VALUE(bits_of_key(bounds.upper));  // NaN where there is none
#if MASU_FLOAT
  const MASU_VALUE most = no_upper ? MASU_AS_VALUE((MASU_BITS)MASU_INFINITY_BITS) : upper;
#else
  const MASU_VALUE most = upper;
#endif
// Element number n of a work-item's part of a tile, unless it is `special`: on a bound or a NaN.
#define SELECT_CLASSIFY_PLAIN(bits, n)                                                                       \
  {                                                                                                          \
    const MASU_VALUE x = MASU_AS_VALUE(bits);                                                                \
    const bool over = x > lower;                                                                             \
    own_below += over ? 0u : 1u;                                                                             \
    mask |= over && x < most ? 1u << (n) : 0u;                                                               \
    special |= !(over || x < lower) || x == most;                                                            \
  }
// Any element.
#define SELECT_CLASSIFY(bits, n)                                                                             \
  {                                                                                                          \
    const MASU_VALUE x = MASU_AS_VALUE(bits);                                                                \
    own_below += x < lower ? 1u : 0u;                                                                        \
    own_below += x == lower ? 1u << 16 : 0u;                                                                 \
    own_above += x == upper ? 1u : 0u;                                                                       \
    mask |= (no_lower || !(x <= lower)) && (no_upper || x < upper) ? 1u << (n) : 0u;                         \
    nan |= x != x;                                                                                           \
  }
  const uint lane = (uint)get_local_id(0);
  if (lane < 12) words[lane] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint gap = gap_of(bytes);
  const ulong vectors = (bounds.has & SELECT_IS_NAN) != 0 ? 0 : ((ulong)gap + count + MASU_PER_VECTOR - 1) / MASU_PER_VECTOR;
  const ulong tile_vectors = (ulong)MASU_GROUP * MASU_UNROLL;
  // A zero with a sign matters where a zero may be found.
  const MASU_BITS zero_key = ordered_key(0);
  const bool zeros = MASU_FLOAT && bounds.lower <= zero_key && zero_key <= bounds.upper;
  bool nan = false;
  bool minus = false;
  bool exact = false;  // the work-item had something special in the tile before, so it expects that again
  uint turn = 0;
  for (ulong tile = get_group_id(0) * tile_vectors; tile < vectors; tile += get_num_groups(0) * tile_vectors) {
    const bool whole = tile * MASU_PER_VECTOR >= gap && (tile + tile_vectors) * MASU_PER_VECTOR <= (ulong)gap + count;
    const uint first_element = (uint)((tile + lane) * MASU_PER_VECTOR) - gap;
    uint4 loaded[MASU_UNROLL];
    if (whole) {
      __global const uint4 *body = (__global const uint4 *)(bytes - gap * MASU_ELEMENT_BYTES) + tile + lane;
      MASU_UNROLLED
      for (int k = 0; k < MASU_UNROLL; ++k) loaded[k] = masu_load_streaming(body + k * MASU_GROUP);
    } else {
      MASU_UNROLLED
      for (int k = 0; k < MASU_UNROLL; ++k) {
        const ulong vector = tile + lane + (ulong)(k * MASU_GROUP);
        loaded[k] = load_vector(bytes, gap, vector < vectors ? count : 0, vector);
      }
    }
    uint own_below = 0;
    uint own_above = 0;
    uint mask = 0;  // which elements are listed
    bool special = exact || !whole;
    if (!special) {
      MASU_UNROLLED
      for (int k = 0; k < MASU_UNROLL; ++k) {
        const uint4 v = loaded[k];
#define MASU_EACH(bits, number) SELECT_CLASSIFY_PLAIN(bits, k *MASU_PER_VECTOR + number)
        MASU_EACH_OF(v)
#undef MASU_EACH
      }
    }
    if (special) {
      own_below = 0;
      mask = 0;
      MASU_UNROLLED
      for (int k = 0; k < MASU_UNROLL; ++k) {
        const uint4 v = loaded[k];
        const uint e = first_element + k * MASU_GROUP * MASU_PER_VECTOR;
        if (whole) {
#define MASU_EACH(bits, number) SELECT_CLASSIFY(bits, k *MASU_PER_VECTOR + number)
          MASU_EACH_OF(v)
#undef MASU_EACH
        } else {
#define MASU_EACH(bits, number) \
  if (e + number < count) SELECT_CLASSIFY(bits, k *MASU_PER_VECTOR + number)
          MASU_EACH_OF(v)
#undef MASU_EACH
        }
      }
    }
    exact = special && (own_below >> 16 != 0 || own_above != 0 || nan);
    if (zeros) {
      MASU_UNROLLED
      for (int k = 0; k < MASU_UNROLL; ++k) {
        const uint4 v = loaded[k];
        const uint e = first_element + k * MASU_GROUP * MASU_PER_VECTOR;
#define MASU_EACH(bits, number) minus |= e + number < count && (bits) == MASU_SIGN;
        MASU_EACH_OF(v)
#undef MASU_EACH
      }
    }
    if (bounds.some == 0) mask = 0;
    hold_listed(mask, loaded, held);
    own_above |= (uint)popcount(mask) << 16;
    const uint all_below = masu_sum_lanes(own_below);
    const uint upto = masu_scan_lanes(own_above);
    uint place = 0;
    if (lane % MASU_SHUFFLE_LANES == MASU_SHUFFLE_LANES - 1) {
      if (all_below != 0) atomic_add(&below[turn], all_below);
      if (upto != 0) place = atomic_add(&above[turn], upto) >> 16;
    }
    place = masu_last_lane(place) + ((upto - own_above) >> 16);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint next = next_turn(turn);
    if (lane == 0) {
      const uint number = above[turn] >> 16;
      __global uint *entry = (__global uint *)(work + filtered_at) + tile / tile_vectors * filtered_words;
      base[0] = number != 0 ? atomic_add(&control[control_between], number) : 0;
      entry[filtered_begin] = base[0];
      entry[filtered_below] = below[turn];
      entry[filtered_above] = above[turn];
      totals[control_less] += below[turn] & 0xffffu;
      totals[control_lower] += below[turn] >> 16;
      totals[control_upper] += above[turn] & 0xffffu;
      below[next_turn(next)] = 0;
      above[next_turn(next)] = 0;
    }
    turn = next;
    barrier(CLK_LOCAL_MEM_FENCE);
    place += base[0];
    for (; mask != 0; mask &= mask - 1) {
      if (place < capacity) set_element(list, place, ordered_key(first_listed(mask, held)));
      ++place;
    }
  }
  const uint seen = (nan ? ORDER_SEEN_NAN : 0u) | (minus ? ORDER_SEEN_MINUS : 0u);
  if (seen != 0) atomic_or(&totals[control_seen], seen);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane < control_seen && totals[lane] != 0) atomic_add(&control[lane], totals[lane]);
  if (lane == control_seen && totals[lane] != 0) atomic_or(&control[lane], totals[lane]);
}

// Where a place lies, by what the filter has counted. False where the sample misled.
inline bool place_between(const uint place, const uint which, __global const uint *control, const Bounds bounds,
                          const uint capacity, __local uint *state) {
  const uint on_lower = (bounds.has & SELECT_HAS_LOWER) != 0 ? control[control_lower] : 0;
  const uint on_upper = (bounds.has & SELECT_HAS_UPPER) != 0 ? control[control_upper] : 0;
  const uint between = control[control_between];
  if (place < control[control_less]) return false;
  uint rest = place - control[control_less];
  if (rest < on_lower) {
    set_target(state, which, 2, rest, bounds.lower);
    return true;
  }
  rest -= on_lower;
  if (rest < between) {
    set_target(state, which, bounds.span == 0 ? 1 : 0, rest, 0);
    return between <= capacity;
  }
  rest -= between;
  set_target(state, which, 2, rest, bounds.upper);
  return rest < on_upper;
}

// What is known before pass number `pass`, by all work-groups in the same way.
MASU_INLINE void resume(const uint pass, const uint count, const uint place0, const uint place1, const uint bounded,
                        __global const uint *control, const uint capacity, __local uint *state, __local uint *partial) {
  const uint lane = (uint)get_local_id(0);
  if (pass == 0) {
    if (lane == 0) {
      bool found = false;
      const Bounds bounds = bounds_of(control);
      if (bounded != 0 && bounds.has != SELECT_IS_NAN) {
        state[state_listed] = 1;
        state[state_left] = control[control_between];
        state[state_bits] = 64u - (uint)clz((ulong)bounds.span);
        set_wide(state + state_base, bounds.first);
        found = place_between(place0, 0, control, bounds, capacity, state);
        found = place_between(place1, 1, control, bounds, capacity, state) && found;
      }
      if (!found) begin_state(state, count, place0, place1);
    }
  } else {
    for (uint i = lane; i < state_words; i += MASU_GROUP) state[i] = control[control_states + (pass - 1) * state_words + i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint last = pass == 0 ? 0 : pass - 1;
  const Wanted wanted = wanted_of(state, last);
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint tables = pass == 0 || wanted.left == 0 ? 0 : 1 + wanted.two;
  for (uint table = 0; table < tables; ++table) {
    __global const uint *counts = control + control_words + (2 * last + table) * SELECT_DIGITS;
    uint share[SELECT_SHARE];
    for (uint i = 0; i < SELECT_SHARE; ++i) share[i] = counts[lane * SELECT_SHARE + i];
    add_digits(share, last, table, wanted.two, state, partial);
  }
}

// Counts the digits of one pass.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_digits(SELECT_DATA, SELECT_WORK, const uint pass, __local uint *tables,
                                                           __local uint *partial, __local uint *state) {
  MASU_LOCAL_POINTER(uint, tables);
  MASU_LOCAL_POINTER(uint, partial);
  MASU_LOCAL_POINTER(uint, state);
  __global uint *control = (__global uint *)(work + control_at);
  const uint lane = (uint)get_local_id(0);
  resume(pass, count, place0, place1, bounded, control, capacity, state, partial);
  if (get_group_id(0) == 0) {
    for (uint i = lane; i < state_words; i += MASU_GROUP) control[control_states + pass * state_words + i] = state[i];
  }
  const Wanted wanted = wanted_of(state, pass);
  const uint cleared = wanted.left != 0 ? 2 * SELECT_DIGITS : 0;
  for (uint i = lane; i < cleared; i += MASU_GROUP) tables[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  __global const uchar *bytes = wanted.listed != 0 ? work + list_at : data + byte_offset;
  const uint gap = gap_of(bytes);
  const ulong vectors = wanted.left != 0 ? ((ulong)gap + wanted.left + MASU_PER_VECTOR - 1) / MASU_PER_VECTOR : 0;
  const ulong step = get_global_size(0);
  uint seen = 0;
  for (ulong first = get_global_id(0); first < vectors; first += MASU_UNROLL * step) {
    uint4 loaded[MASU_UNROLL];
    MASU_UNROLLED
    for (int k = 0; k < MASU_UNROLL; ++k) {
      const ulong vector = first + k * step;
      loaded[k] = load_vector(bytes, gap, vector < vectors ? wanted.left : 0, vector);
    }
    MASU_UNROLLED
    for (int k = 0; k < MASU_UNROLL; ++k) {
      const uint4 v = loaded[k];
      // After the last vector there is none of them; it may be so far beyond that 32 bits do not say.
      const uint e = (uint)((first + k * step) * MASU_PER_VECTOR) - gap;
      const uint left = first + k * step < vectors ? wanted.left : 0;
#define MASU_EACH(bits, number)                                                        \
  if (e + number < left) {                                                             \
    count_key(wanted.listed != 0 ? (bits) : ordered_key(bits), wanted, tables);        \
    seen |= seen_of(bits);                                                             \
  }
      MASU_EACH_OF(v)
#undef MASU_EACH
    }
  }
  if (seen != 0 && pass == 0 && wanted.listed == 0) atomic_or(&control[control_seen], seen);
  barrier(CLK_LOCAL_MEM_FENCE);
  __global uint *counts = control + control_words + 2 * pass * SELECT_DIGITS;
  for (uint i = lane; i < cleared; i += MASU_GROUP) {
    if (tables[i] != 0) atomic_add(&counts[i], tables[i]);
  }
}

// Behind the counts of the passes: how many zeros each of the work-groups of selection_zeros has seen.
#define SELECT_ZEROS (control_words + 2 * SELECT_PASSES * SELECT_DIGITS)
// Elements that each of them takes.
inline uint zeros_share(const uint count, const uint groups) { return (uint)(((ulong)count + groups - 1) / groups); }

// If a zero was found and there are some with a sign: counts those of either kind, a part of the data for each work-group.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_zeros(SELECT_DATA, SELECT_WORK, __local uint *partial,
                                                          __local uint *state) {
  MASU_LOCAL_POINTER(uint, partial);
  MASU_LOCAL_POINTER(uint, state);
  __global uint *control = (__global uint *)(work + control_at);
  const uint lane = (uint)get_local_id(0);
  resume(SELECT_PASSES, count, place0, place1, bounded, control, capacity, state, partial);
  const bool wanted = (control[control_seen] & ORDER_SEEN_MINUS) != 0 &&
                      (is_zero_key(key_at(state, 0)) || is_zero_key(key_at(state, 1)));
  const uint share = zeros_share(count, (uint)get_num_groups(0));
  const uint first = min(count, (uint)get_group_id(0) * share);
  const uint end = wanted ? min(count, first + share) : first;
  uint zeros = 0;
  for (uint e = first + lane; e < end; e += MASU_GROUP) {
    zeros += (element_at(data + byte_offset, e) & (MASU_BITS)(MASU_ALL_BITS ^ MASU_SIGN)) == 0 ? 1 : 0;
  }
  uint all;
  barrier(CLK_LOCAL_MEM_FENCE);
  group_scan(zeros, MASU_GROUP, partial, lane, &all);
  if (lane == 0) control[SELECT_ZEROS + get_group_id(0)] = all;
}

// One work-group: the result. `groups`: those of selection_zeros, at most MASU_GROUP.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_finish(SELECT_DATA, SELECT_WORK, SELECT_RESULT, const uint groups,
                                                           __local uint *partial, __local uint *state) {
  MASU_LOCAL_POINTER(uint, partial);
  MASU_LOCAL_POINTER(uint, state);
  __local uint *minus = state + state_words;
  __global const uint *control = (__global const uint *)(work + control_at);
  const uint lane = (uint)get_local_id(0);
  resume(SELECT_PASSES, count, place0, place1, bounded, control, capacity, state, partial);
  const uint seen = control[control_seen];
#if MASU_FLOAT
  __local uint *part = minus + 2;  // that has the zero, and the zero's number in it
  const uint mine = groups != 0 && lane < groups ? control[SELECT_ZEROS + lane] : 0;
  for (uint which = 0; which < 2; ++which) {
    const uint rest = rest_at(state, which);
    const bool wanted = groups != 0 && is_zero_key(key_at(state, which)) && (seen & ORDER_SEEN_MINUS) != 0;
    if (lane == 0) minus[which] = 0;
    uint all;
    const uint before = group_scan(mine, MASU_GROUP, partial, lane, &all) - mine;
    if (wanted && rest >= before && rest - before < mine) {
      part[0] = lane;
      part[1] = rest - before;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint share = zeros_share(count, groups != 0 ? groups : 1);
    const uint first = wanted ? part[0] * share : 0;
    const uint number = wanted ? part[1] : 0;
    find_zero(data + byte_offset, first, min(count, first + share), number, wanted, partial, &minus[which]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#endif
  if (lane == 0) {
    store_result(key_at(state, 0), key_at(state, 1), seen, minus, place0 == place1, what, results + results_at, first,
                 second, mark);
  }
}
