// SPDX-License-Identifier: Apache-2.0
// Exact scans of sums of floats, each prefix rounded once, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++).
// After scan_prefix.cl. No work-group waits for another.
//
// A chunk is what one work-group takes, tile after tile. First every chunk's total is found, as a wide number, unless it is
// whole rows; then the totals are scanned, each word separately, without carries; then every chunk is scanned from the prefix
// before it. Where the tile's first prefixes (scan_prefix.cl) do not decide what one rounds to, the tile is scanned again with
// lower bits, as far down as needed.
//
// The totals lie by words: SCAN_TOTAL_ROWS rows with one 64-bit word for each chunk, and after them a word of each row
// with the prefix before the first chunk, and after the last chunk the total.

// kernels.md has the parameters.

// The words of the number, how many elements are NaN, infinity and minus infinity, and whether a segment began.
#define SCAN_STATE_ROWS (MASU_WIDE_WORDS + 3)
#define SCAN_TOTAL_ROWS (SCAN_STATE_ROWS + 1)

#if MASU_SEGMENTED
// Where the last segment of elements `first` to `end` begins; `first` where none does. *began: whether one does.
inline ulong last_begin(const ulong first, const ulong end, const ulong row, __global const uchar *flags,
                        const uint has_flags, __local uint *found, uint *began) {
  const ulong row_begin = (end - 1) / row * row;
  const ulong from = max(first, row_begin);
  *began = row_begin >= first;
  if (has_flags == 0) return from;
  // From the end on, by tiles.
  for (ulong to = end; to > from; to -= min(to - from, (ulong)SCAN_TILE)) {
    const ulong low = to - min(to - from, (ulong)SCAN_TILE);
    for (ulong i = low + get_local_id(0); i < to; i += MASU_GROUP) {
      if (flags[i] != 0) atomic_max(found + SCAN_LAST_HEAD, (uint)(i - first) + 1);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint last = found[SCAN_LAST_HEAD];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (last != 0) {
      *began = 1;
      return first + last - 1;
    }
  }
  return from;
}
#endif

// Whether a work-item first adds its elements in a window, whose unit it changes where they do not fit.
#define SCAN_BY_WINDOWS (SCAN_FIXED || (MASU_FP64 && !SCAN_PAIRS))
#define SCAN_CUTTER_BITS 49  // of an element above the unit, where an addition to a double makes it an integer

#if SCAN_PAIRS
// Adds a work-item's elements of a tile to two doubles, which mostly have the whole sum. Gives whether they have it; else nothing
// is added.
MASU_INLINE bool add_to_pair(double *sum, double *error, const uint *words) {
  double new_sum = *sum;
  double new_error = *error;
  double lost = 0;
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < SCAN_ITEMS; ++k) add_double(&new_sum, &new_error, &lost, as_double(element_of(words, k)));
  if (lost != 0) return false;  // or something is infinite or no number
  *sum = new_sum;
  *error = new_error;
  return true;
}
#endif

// The chunks' totals.
__kernel MASU_WORK_GROUPS(MASU_GROUP, 4) void exact_chunks(__global const uchar *restrict memory, const ulong memory_at,
                                                           SCAN_CHUNK_PARAMETERS,
                                                           __global uchar *total_memory, const ulong totals_at,
                                                           __local ulong *sums, __local uint *wide) {
  MASU_LOCAL_POINTER(ulong, sums);  // 2 * MASU_WIDE_WORDS
  MASU_LOCAL_POINTER(uint, wide);   // MASU_WIDE_WORDS + MASU_FOUND + MASU_TABLE_ROWS * MASU_COLUMNS
  const uint lane = (uint)get_local_id(0);
  __local uint *found = wide + MASU_WIDE_WORDS;
  __local uint *table = found + MASU_FOUND;
  __local uint *column = table + lane % MASU_COLUMNS;
  __global const uchar *data = memory + memory_at;
  ulong first = get_group_id(0) * chunk;
  const ulong end = min(count, first + chunk);
  uint began = 0;
  clear_table(table, sums);
  for (uint i = lane; i < MASU_WIDE_WORDS + MASU_FOUND; i += MASU_GROUP) wide[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
#if MASU_SEGMENTED
  first = last_begin(first, end, row, flag_memory + flags_at, has_flags, found, &began);
#endif
  uint kinds = 0;
#if SCAN_PAIRS
  double sum = 0;
  double error = 0;
#elif SCAN_BY_WINDOWS
  Window sum = window_of(0);
  Span span = {0, 0, 0, 1};
  Window cutters = cutters_of(span);
  uint lowest = SCAN_FIXED ? 0 : 0xffffffffU;  // the least magnitude that the unit fits, less 1
  uint above = MASU_INFINITY_BITS;  // and what is too great
#endif
  ulong whole = is_aligned(data + first * MASU_ELEMENT_BYTES) ? (end - first) / SCAN_TILE * SCAN_TILE : 0;  // from its end on
  for (ulong i = first + whole + lane; i < end; i += MASU_GROUP) kinds |= add_element(column, element_at(data, i));
  while (whole != 0) {
    whole -= SCAN_TILE;
    uint words[SCAN_ITEM_WORDS];
    load_words(data, first + whole, words);
#if SCAN_PAIRS
    if (add_to_pair(&sum, &error, words)) continue;
#elif SCAN_BY_WINDOWS
    uint most;
    uint least;
    find_magnitudes(words, &most, &least);
    uint fits = most < above && least >= lowest;
    if (!SCAN_FIXED && fits == 0 && most < MASU_INFINITY_BITS) {
      // A unit that leaves places above, as the next elements may be greater.
      const uint end_place = SCAN_PLACE(most) + SCAN_PRECISION;
      add_digits(column, span.unit, (long)first_whole(sum, span), 5);
      sum = window_of(0);
      span.unit = end_place > SCAN_CUTTER_BITS - 10 ? end_place + 10 - SCAN_CUTTER_BITS : 0;
      cutters = cutters_of(span);
      lowest = span.unit == 0 ? 0 : ((span.unit + 1) << MASU_FRACTION) - 1;
      above = min((span.unit + (SCAN_CUTTER_BITS + 2 - SCAN_PRECISION)) << MASU_FRACTION, (uint)MASU_INFINITY_BITS);
      fits = least >= lowest;
    }
    if (fits != 0) {
      MASU_PRAGMA_UNROLL
      for (uint k = 0; k < SCAN_ITEMS; ++k) sum += first_part(element_of(words, k), span, cutters);
      continue;
    }
#endif
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < SCAN_ITEMS; ++k) kinds |= add_element(column, element_of(words, k));
  }
#if SCAN_PAIRS
  add_element(column, as_ulong(sum));
  add_element(column, as_ulong(error));
#elif SCAN_BY_WINDOWS
  add_digits(column, span.unit, (long)first_whole(sum, span), 5);
#endif
  if (kinds != 0) atomic_or(found + SCAN_KINDS, kinds);
  barrier(CLK_LOCAL_MEM_FENCE);
  add_rows(table, sums);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane == 0) add_sums(wide, sums);
  barrier(CLK_LOCAL_MEM_FENCE);
  __global ulong *totals = (__global ulong *)(total_memory + totals_at) + get_group_id(0);
  for (uint i = lane; i < SCAN_TOTAL_ROWS; i += MASU_GROUP) {
    totals[i * get_num_groups(0)] = i < MASU_WIDE_WORDS - 1    ? wide[i]
                                    : i == MASU_WIDE_WORDS - 1 ? (ulong)(long)as_int(wide[i])
                                    : i < SCAN_STATE_ROWS      ? found[SCAN_KINDS] >> (i - MASU_WIDE_WORDS) & 1
                                                               : began;
  }
}

// A work-group for each row: each chunk's word becomes that of all chunks before it. A work-item takes some neighbours.
#define SCAN_CHUNKS 8
__kernel MASU_WORK_GROUP(MASU_GROUP) void exact_totals(const ulong chunks, const uint has_state,
                                                       __global uchar *total_memory, const ulong totals_at,
                                                       __local ulong *totals) {
  MASU_LOCAL_POINTER(ulong, totals);  // (MASU_GROUP + SCAN_SPANS) * (SCAN_STATE_WORDS + 1)
  const uint lane = (uint)get_local_id(0);
  __global ulong *rows = (__global ulong *)(total_memory + totals_at);
  __global ulong *row = rows + get_group_id(0) * chunks;
  __global const ulong *began = rows + SCAN_STATE_ROWS * chunks;
  __global ulong *state = rows + SCAN_TOTAL_ROWS * chunks + get_group_id(0);
  Total sum = nothing();
  if (has_state != 0) sum.value = window_of((long)*state);
  for (ulong begin = 0; begin < chunks; begin += MASU_GROUP * SCAN_CHUNKS) {
    const ulong first = begin + lane * SCAN_CHUNKS;
    Total earlier[SCAN_CHUNKS];  // of this work-item's
    Total own = nothing();
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < SCAN_CHUNKS; ++k) {
      earlier[k] = own;
      if (first + k >= chunks) continue;
      Total one;
      one.value = window_of((long)row[first + k]);
      one.reset = (uint)began[first + k];
      own = joined(own, one);
    }
    Total all;
    const Total before = joined(sum, total_before(own, &all, totals));
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < SCAN_CHUNKS; ++k) {
      if (first + k < chunks) row[first + k] = window_integer(joined(before, earlier[k]).value);
    }
    sum = joined(sum, all);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0) *state = window_integer(sum.value);
}

inline Window sign_of(const Window x) {
  return window_negative(x) != 0 ? window_of(-1) : window_of(window_is_zero(x) != 0 ? 0 : 1);
}

// What a prefix with this window rounds to. `cut`: elements have bits below the unit; `more`: the number before has, so
// there is less than a unit more than the window. Sets *open where that does not decide it.
MASU_INLINE MASU_BITS result_of(const Window value, const uint unit, const uint cut, const uint more, uint *open) {
  if (cut == 0 && more != 0) {
    if (is_small(value)) *open = 1;
    return rounded(window_sum(window_left(value, 1), window_of(1)), unit - 1);
  }
  const MASU_BITS result = rounded(value, unit);
  if (cut != 0 && result != rounded(window_sum(value, window_of(SCAN_ERROR)), unit)) *open = 1;
  return result;
}

// How many of a work-item's elements come before the first that begins a segment.
inline uint before_heads(const uint heads) {
  return MASU_SEGMENTED && heads != 0 ? 31 - clz(heads & (0 - heads)) : 32;
}

// The prefixes of a work-item's parts alone, and their total. `part` is an expression in k.
#define SCAN_PREFIXES(part)                                                       \
  for (uint k = 0; k < SCAN_ITEMS; ++k) {                                         \
    if (MASU_SEGMENTED && (heads >> k & 1) != 0) own.value = identity();          \
    if (MASU_EXCLUSIVE) prefix[k] = own.value;                                    \
    own.value = combine(own.value, part);                                         \
    if (!MASU_EXCLUSIVE) prefix[k] = own.value;                                   \
  }                                                                               \
  own.reset = MASU_SEGMENTED && heads != 0;

inline uint kinds_of(const Window counts) {
  const ulong n = window_integer(counts);
  return ((n & 0x1fffff) != 0 ? SCAN_NAN : 0) | ((n >> 21 & 0x1fffff) != 0 ? SCAN_INFINITY : 0) |
         (n >> 42 != 0 ? SCAN_MINUS_INFINITY : 0);
}
// A term of the kinds' counts: as many as a tile has fit 21 bits each.
inline Window kind_count(const MASU_BITS bits) {
  if (!is_special(bits)) return window_of(0);
  const uint kind = kind_of(bits);
  return window_of(kind == SCAN_NAN ? 1L : kind == SCAN_INFINITY ? 1L << 21 : 1L << 42);
}

// What is left of a tile after its windows: passes of lower and lower bits until every prefix is decided, then one that
// puts in the results of prefixes with elements that are not finite. All work-items take the same passes, each with the
// same barriers.
inline void finish(__local const uint4 *tile, const uint heads, const Span span, const uint special,
                   __local const uint *wide, __local uint *found, __local ulong *totals, uint *out) {
  uint words[SCAN_ITEM_WORDS];
  uint results[SCAN_ITEM_WORDS];  // apart from `out`, which is in registers
  Window prefix[SCAN_ITEMS];
  Window value[SCAN_ITEMS];  // of units 2^scale
  Window rest[SCAN_ITEMS];   // beside a settled value: less than one of it, in the present units; of any sign
  uint scale[SCAN_ITEMS];
  uint settled = 0;  // those whose value has bits enough
  uint open = found[SCAN_UNDECIDED] != 0 ? 0xffffffffU >> (32 - SCAN_ITEMS) : 0;
  uint bits_left = open != 0;
  uint unit = span.unit;
  uint width = 0;  // of the bits that are new; 0: the windows
  for (uint i = 0; i < SCAN_ITEM_WORDS; ++i) results[i] = out[i];
  const uint in_front = found[SCAN_KINDS];
  uint pass = 0;
  uint again;
  do {
    Total own = nothing();
    Window front = window_of(0);
    if (bits_left != 0) {
      load_finite(tile, words);
      const Window mask = width == 0 ? window_of(-1) : window_sum(window_left(window_of(1), width), window_of(-1));
      front = window_and(wide_part(wide, unit), mask);
      MASU_PRAGMA_UNROLL
      SCAN_PREFIXES(window_and(part_of(element_of(words, k), unit), mask))
    } else {
      load_item(tile, words);
      SCAN_PREFIXES(kind_count(element_of(words, k)))
    }
    Total all;
    const Total before = total_before(own, &all, totals);
    front = before.reset != 0 ? before.value : combine(before.value, front);
    for (uint k = 0; k < SCAN_ITEMS; ++k) {
      const uint continues = k < before_heads(heads);
      const uint carried = continues && before.reset == 0;
      const Window here = continues ? combine(front, prefix[k]) : prefix[k];
      if (bits_left == 0) {
        const uint kinds = kinds_of(here) | (carried ? in_front : 0);
        if (kinds != 0) set_element_of(results, k, special_sum(kinds));
        continue;
      }
      if ((open >> k & 1) == 0) continue;
      if (width == 0) {
        value[k] = here;
        rest[k] = window_of(0);
        scale[k] = unit;
      } else if ((settled >> k & 1) != 0) {
        rest[k] = window_sum(window_left(rest[k], width), here);
      } else if (is_small(value[k])) {
        value[k] = window_sum(window_left(value[k], width), here);
        scale[k] = unit;
      } else {
        const Window whole = window_right(window_sum(here, window_left(window_of(1), width - 1)), width);
        value[k] = window_sum(value[k], whole);
        rest[k] = window_sum(here, window_negated(window_left(whole, width)));
        settled |= 1U << k;
      }
      const uint cut = span.least < unit;
      const uint more = carried && span.low < unit;
      uint undecided = 0;
      MASU_BITS result = 0;
      if ((settled >> k & 1) == 0) {
        // One that is small is next to others that round differently.
        if (cut != 0 && is_small(value[k])) continue;
        result = result_of(value[k], unit, cut, more, &undecided);
      } else {
        // Only the sign of what is beside the value matters: of its least, and of its greatest if that is another.
        const Window twice = window_left(value[k], 1);
        Window least = rest[k];
        if (cut == 0 && more != 0) least = window_sum(window_left(least, 1), window_of(1));
        result = rounded(window_sum(twice, sign_of(least)), scale[k] - 1);
        const Window most = window_sum(rest[k], window_of(SCAN_ERROR));
        const uint positive = window_negative(rest[k]) == 0 && window_is_zero(rest[k]) == 0;
        if (cut != 0 && positive == 0 && window_negative(most) == 0) {
          undecided = result != rounded(window_sum(twice, sign_of(most)), scale[k] - 1);
        }
      }
      if (undecided != 0) continue;
      set_element_of(results, k, result);
      open &= ~(1U << k);
    }
    // One of two words by turns: the other is read no more.
    if (open != 0) found[SCAN_UNDECIDED + (~pass & 1)] = 1;
    if (get_local_id(0) == 0) {
      found[SCAN_UNDECIDED + (pass & 1)] = 0;
      if (bits_left == 0) found[SCAN_KINDS] = kinds_of(all.value) | (all.reset == 0 ? in_front : 0);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    // One way out, as compilers for processors need it.
    again = bits_left != 0 && (found[SCAN_UNDECIDED + (~pass & 1)] != 0 || special != 0);
    bits_left = found[SCAN_UNDECIDED + (~pass & 1)];
    width = min(unit, (uint)SCAN_STEP);
    unit -= width;
    ++pass;
  } while (again != 0);
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < SCAN_ITEM_WORDS; ++i) out[i] = results[i];
}

// Adds a tile's elements, from the last that begins a segment on, to the table.
inline void add_tile(__local const uint4 *tile, const uint last_head, __local uint *table) {
  const uint lane = (uint)get_local_id(0);
  __local uint *column = table + lane % MASU_COLUMNS;
  uint words[SCAN_ITEM_WORDS];
  load_finite(tile, words);
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < SCAN_ITEMS; ++k) {
    if (MASU_SEGMENTED && lane * SCAN_ITEMS + k + 1 < last_head) set_element_of(words, k, 0);
  }
#if SCAN_PAIRS
  double sum = 0;
  double error = 0;
  const bool added = add_to_pair(&sum, &error, words);
  add_element(column, as_ulong(sum));
  add_element(column, as_ulong(error));
  if (added) return;
#endif
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < SCAN_ITEMS; ++k) add_element(column, element_of(words, k));
}

// Puts a work-item's results in the place of its elements; `result` is an expression in `value`.
#define SCAN_RESULTS(result)                                                                       \
  MASU_PRAGMA_UNROLL                                                                               \
  for (uint k = 0; k < SCAN_ITEMS; ++k) {                                                          \
    if (MASU_SEGMENTED && (heads >> k & 1) != 0) {                                                 \
      running = identity();                                                                        \
      more = 0;                                                                                    \
    }                                                                                              \
    const Window next = first_sum(running, first_part(element_of(words, k), span, cutters));       \
    const Window value = MASU_EXCLUSIVE ? running : next;                                          \
    set_element_of(words, k, result);                                                              \
    running = next;                                                                                \
  }

// Scans the chunks; input and output may be the same memory. has_totals: whether there are totals, and not one chunk alone or chunks of
// whole rows.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void exact_tiles(
    __global const uchar *memory, const ulong memory_at, __global uchar *output_memory, const ulong output_at,
    SCAN_CHUNK_PARAMETERS, __global const uchar *restrict total_memory, const ulong totals_at, const uint has_totals,
    __local uint4 *tile, __local ulong *totals, __local ulong *sums, __local uint *wide) {
  MASU_LOCAL_POINTER(uint4, tile);    // MASU_GROUP * MASU_ITEM_VECTORS
  MASU_LOCAL_POINTER(ulong, totals);  // (MASU_GROUP + SCAN_SPANS) * (SCAN_STATE_WORDS + 1)
  MASU_LOCAL_POINTER(ulong, sums);    // 2 * MASU_WIDE_WORDS
  MASU_LOCAL_POINTER(uint, wide);     // MASU_WIDE_WORDS + MASU_FOUND + MASU_TABLE_ROWS * MASU_COLUMNS
  const uint lane = (uint)get_local_id(0);
  __local uint *found = wide + MASU_WIDE_WORDS;
  __local uint *table = found + MASU_FOUND;
  // The number before the tile.
  __global const ulong *before_chunk = (__global const ulong *)(total_memory + totals_at) + get_group_id(0);
  for (uint i = lane; i < MASU_WIDE_WORDS; i += MASU_GROUP) {
    wide[i] = 0;
    sums[2 * i] = has_totals != 0 ? before_chunk[i * get_num_groups(0)] : 0;
    sums[2 * i + 1] = 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane == 0) {
    uint kinds = 0;
    if (has_totals != 0) add_sums(wide, sums);
    for (uint i = 0; i < 3 && has_totals != 0; ++i) {
      if (before_chunk[(MASU_WIDE_WORDS + i) * get_num_groups(0)] != 0) kinds |= 1U << i;
    }
    found[SCAN_KINDS] = kinds;
  }
  const ulong end = min(count, (get_group_id(0) + 1) * chunk);
  for (ulong first = get_group_id(0) * chunk; first < end; first += SCAN_TILE) {
    load_tile(memory + memory_at, first, end, row, columns, tile);
    if (lane == 0) {
      found[SCAN_MOST] = 0;
      found[SCAN_LEAST] = 0xffffffffU;
      found[SCAN_HIGHEST] = 0;
      found[SCAN_LOWEST] = 0xffffffffU;
      found[SCAN_UNDECIDED] = 0;
      found[SCAN_UNDECIDED + 1] = 0;
      found[SCAN_LAST_HEAD] = 0;
      found[SCAN_SPECIAL] = 0;
      found[SCAN_LOST] = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (first + 2 * SCAN_TILE <= end) prefetch(memory + memory_at + (first + SCAN_TILE + lane * SCAN_ITEMS) * MASU_ELEMENT_BYTES, 1);
    const uint heads = heads_of(first + lane * SCAN_ITEMS, end, row, flag_memory + flags_at, has_flags);
    uint words[SCAN_ITEM_WORDS];
    uint most;
    uint least;
    load_item(tile, words);
    find_magnitudes(words, &most, &least);
    if (most >= SCAN_UPPER(MASU_INFINITY_BITS)) {
      load_finite(tile, words);
      find_magnitudes(words, &most, &least);
      found[SCAN_SPECIAL] = 1;
    }
    if (MASU_SEGMENTED && heads != 0) atomic_max(found + SCAN_LAST_HEAD, lane * SCAN_ITEMS + 32 - clz(heads));
#if SCAN_FIXED
    Span span = {0, 0xffffffffU, 0xffffffffU, 1};
    barrier(CLK_LOCAL_MEM_FENCE);
#else
    find_span(most, least, wide, found);
    barrier(CLK_LOCAL_MEM_FENCE);
    Span span = span_of(wide, found);
    // Elements that reach below the unit mostly end in zeros there.
    if (span.least < span.unit) {
      uint lost = 0;
      MASU_PRAGMA_UNROLL
      for (uint k = 0; k < SCAN_ITEMS; ++k) lost |= loses_bits(element_of(words, k), span.unit);
      if (lost != 0) found[SCAN_LOST] = 1;
    }
#endif
    const uint special = found[SCAN_SPECIAL] | found[SCAN_KINDS];
    const Window cutters = cutters_of(span);
    Total own = nothing();
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < SCAN_ITEMS; ++k) {
      if (MASU_SEGMENTED && (heads >> k & 1) != 0) own.value = identity();
      own.value = first_sum(own.value, first_part(element_of(words, k), span, cutters));
    }
    own.reset = MASU_SEGMENTED && heads != 0;
    Total all;
    const Total before = total_before_as(1, own, &all, totals);
    Window running = before.reset != 0 ? before.value : first_sum(before.value, first_front(wide, span));
    const uint lost = found[SCAN_LOST];
    if (lost == 0) span.least = 0xffffffffU;
    uint more = before.reset == 0 && span.low < span.unit;
    uint open = span.fits == 0;
#if !SCAN_FIXED
    if (SCAN_RARE(span, lost)) {
      uint undecided = 0;  // in memory
      SCAN_RESULTS(result_rarely(value, span.unit, lost, more, &undecided))
      open |= undecided;
    } else
#endif
    {
      const SCAN_NUMBER scale = SCAN_SCALE(span.unit);
      SCAN_RESULTS(first_result(value, scale, more, &open))
    }
    const uint cut = lost | !span.fits;
    if (open != 0) found[SCAN_UNDECIDED] = 1;
    store_item(tile, words);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint undecided = special | found[SCAN_UNDECIDED];
    // Without sub-groups, always: compilers for processors copy the code after a barrier that is passed under a
    // condition.
    if (MASU_SHUFFLE_LANES == 1 || (undecided | cut) != 0) {
      load_tile(memory + memory_at, first, end, row, columns, tile);
      barrier(CLK_LOCAL_MEM_FENCE);
      if (MASU_SHUFFLE_LANES == 1 || undecided != 0) finish(tile, heads, span, special, wide, found, totals, words);
      clear_table(table, sums);
      barrier(CLK_LOCAL_MEM_FENCE);
      if (cut != 0) add_tile(tile, found[SCAN_LAST_HEAD], table);
      barrier(CLK_LOCAL_MEM_FENCE);
      add_rows(table, sums);
      store_item(tile, words);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    store_tile(output_memory + output_at, first, end, row, columns, tile);
    // The number before the next tile.
    if (lane == 0 && first + SCAN_TILE < end) {
      for (uint i = 0; MASU_SEGMENTED && found[SCAN_LAST_HEAD] != 0 && i < MASU_WIDE_WORDS; ++i) wide[i] = 0;
      if (cut != 0) {
        add_sums(wide, sums);
      } else {
        add_window(wide, first_whole(all.value, span), span.unit);
      }
    }
  }
}
