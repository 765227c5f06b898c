// SPDX-License-Identifier: Apache-2.0
// The greatest of a row, found by a work-group, or by the work-groups of a cluster, each of which has a part of the row: eight bits
// of the ranks at a time, the first ones first, then of the indices. With MASU_HELD the row is read once, and its ranks lie in
// local memory; else each step reads it, or, with MASU_SAMPLED, a sample of it. After elements.cl, order.cl and group_scan.cl.
// kernels.md has the parameters.

// A rank is an unsigned number that is the greater the earlier an element comes; elements of one rank are equal and come
// by index.
#define SELECT_NAN_RANK (MASU_NAN_FIRST ? MASU_ALL_BITS : (MASU_BITS)0)
#define SELECT_FLIP (MASU_LARGEST ? (MASU_BITS)0 : MASU_ALL_BITS)
inline MASU_BITS rank_of(const MASU_BITS bits) {
  const MASU_BITS key = ordered_key(bits);
#if MASU_FLOAT
  if (key == MASU_ALL_BITS) return SELECT_NAN_RANK;
#endif
  return key ^ SELECT_FLIP;
}
// The bits of the element with a rank that is not NaN's.
inline MASU_BITS bits_of_rank(const MASU_BITS rank) { return bits_of_key(rank ^ SELECT_FLIP); }

// Words of a row's `state`.
#define row_digit 0      // that was found
#define row_above 1      // entries with a greater one
#define row_same 2       // entries that have it
#define row_taken 3      // entries that the work-group takes
#define row_differing 4  // two words: in which bits ranks differ
#define row_seen 6       // of elements, as in order.cl
#define row_none 7       // ranks of 0
#define row_next 8       // two words: the least rank above
#define row_minus 10     // two words: whether zeros that were found have a sign
#define row_words 16

#if MASU_CLUSTER > 1
#define SELECT_CLUSTERS MASU_CLUSTERS(MASU_CLUSTER)
#define SELECT_ROW_BARRIER masu_cluster_barrier();
#define SELECT_OF_GROUP(p, group) masu_of_group(p, group)
#else
#define SELECT_CLUSTERS
#define SELECT_ROW_BARRIER barrier(CLK_LOCAL_MEM_FENCE);
#define SELECT_OF_GROUP(p, group) (p)
#endif
// A number of all work-groups of a row: of the words at `p` in their local memories.
#define SELECT_JOIN(number, p, operation) \
  for (uint group = 0; group < MASU_CLUSTER; ++group) number operation *SELECT_OF_GROUP(p, group);
#define SELECT_PART ((uint)get_group_id(0) % MASU_CLUSTER)  // of the row

#define SELECT_ROW_DIGITS 256u
inline void clear_words(__local uint *words, const uint count) {
  for (uint i = (uint)get_local_id(0); i < count; i += MASU_GROUP) words[i] = 0;
}
inline void count_digit(__local uint *table, const uint digit) {
  atomic_inc(&table[digit]);
}

// After a barrier, with counted tables: which digit has the `rest`-th greatest, 1 to all that were counted. Ends with a
// barrier.
#define SELECT_ROW_SHARE (MASU_GROUP < 256 ? 256 / MASU_GROUP : 1)
MASU_INLINE void find_digit(__local uint *table, __local uint *partial, __local uint *state, const uint rest) {
  const uint lane = (uint)get_local_id(0);
  const uint first = lane * SELECT_ROW_SHARE;  // from the greatest digit on
  uint counts[SELECT_ROW_SHARE];
  uint sum = 0;
  MASU_UNROLLED
  for (uint i = 0; i < SELECT_ROW_SHARE; ++i) {
    counts[i] = 0;
    if (first < SELECT_ROW_DIGITS) {
      SELECT_JOIN(counts[i], table + (SELECT_ROW_DIGITS - 1 - first - i), +=)
    }
    sum += counts[i];
  }
  uint all;
  uint above = group_scan(sum, MASU_GROUP, partial, lane, &all) - sum;
  MASU_UNROLLED
  for (uint i = 0; i < SELECT_ROW_SHARE; ++i) {
    if (above < rest && rest - above <= counts[i]) {
      state[row_digit] = SELECT_ROW_DIGITS - 1 - first - i;
      state[row_above] = above;
      state[row_same] = counts[i];
    }
    above += counts[i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

#ifdef MASU_HELD
// Work-groups of a compute unit, so that work-items have registers.
#define SELECT_ROW_GROUPS (MASU_GROUP < 1024 ? 1024 / MASU_GROUP : 1)

// The entries: elements of a row, or, where MASU_FROM_ROWS is 0, the keys and indices that were gathered. The work-group has
// `vectors` of the vectors that a row fills, from `first` on. What it holds of the last one after the row's end are ranks of 0.
typedef struct {
  __global const uchar *bytes;
  __global const ulong *keys;
  __global const uint *indices;
  __local uint4 *held;
  uint entries;
  uint first;
  uint vectors;
  uint whole;  // of these, those that the row fills whole
  uint index_bits;  // of the greatest index
  bool sampled;  // with MASU_SAMPLED: the entries are a sample of the row, which is held
} Row;

// The part of the row that a work-group has, of parts of `most_share` vectors at most.
MASU_INLINE void take_part(Row *row, const uint most_share) {
  const uint whole = row->entries / MASU_PER_VECTOR;
  const uint all = whole + (row->entries % MASU_PER_VECTOR != 0 ? 1 : 0);
#if MASU_CLUSTER > 1
  const uint share = min(most_share, (all + MASU_CLUSTER - 1) / MASU_CLUSTER);
  row->first = min(all, SELECT_PART * share);
  row->vectors = min(all - row->first, share);
  row->whole = min(whole - min(whole, row->first), share);
#else
  row->first = 0;
  row->vectors = all;
  row->whole = whole;
#endif
}

// Between SELECT_FOR_ENTRIES and SELECT_END stands what is done with the `rank` and `index` of each entry of `row` whose rank is
// `low` or more, and of others. Every work-item goes round as often: PoCL 3.1 goes astray else, between barriers (2026-11). For its
// sake, too, no barrier stands in a branch, and there is no `continue`.
#if MASU_HELD
#define SELECT_FOR_ENTRIES(low)                                                \
  for (uint round = 0; round < row.vectors; round += MASU_GROUP) {             \
    const uint v = round + (uint)get_local_id(0);                              \
    uint held_words[4] = {0, 0, 0, 0};                                         \
    if (v < row.vectors) words_of_vector(row.held[v], held_words);             \
    if (v < row.vectors && any_reaches(held_words, low)) {                     \
      MASU_UNROLLED                                                            \
      for (uint e = 0; e < MASU_PER_VECTOR; ++e) {                             \
        const MASU_BITS rank = element_of(held_words, e);                      \
        const uint index = (row.first + v) * MASU_PER_VECTOR + e;              \
        (void)index;
#define SELECT_END }}}

// Whether any rank of a vector may be `low` or more.
MASU_INLINE bool any_reaches(const uint *words, const MASU_BITS low) {
#if MASU_ELEMENT_BYTES == 8
  return max(element_of(words, 0), element_of(words, 1)) >= low;
#elif MASU_ELEMENT_BYTES == 4
  return max(max(words[0], words[1]), max(words[2], words[3])) >= low;
#elif MASU_ELEMENT_BYTES == 2
  const uint pair = masu_max_pair(masu_max_pair(words[0], words[1]), masu_max_pair(words[2], words[3]));
  return max(pair & 65535U, pair >> 16) >= low;
#else
  return true;
#endif
}
#else
#if MASU_FROM_ROWS
#define SELECT_ENTRY MASU_BITS
#if MASU_SAMPLED
// The entries of a sample lie in local memory.
#define SELECT_LOAD(i)                                                                                                \
  (row.sampled ? ((__local const MASU_ELEMENT *)row.held)[(i) - row.first * MASU_PER_VECTOR] : element_at(row.bytes, i))
#else
#define SELECT_LOAD(i) element_at(row.bytes, i)
#endif
#define SELECT_OPEN(entry, i)             \
  const MASU_BITS rank = rank_of(entry);  \
  const uint index = i;
#define SELECT_END_OF_PART min(row.entries, (row.first + row.vectors) * MASU_PER_VECTOR)
#else
#define SELECT_ENTRY ulong
#define SELECT_LOAD(i) row.keys[i]
#if MASU_ELEMENT_BYTES == 8
#define SELECT_OPEN(entry, i)    \
  const MASU_BITS rank = entry;  \
  const uint index = row.indices[i];
#else
#define SELECT_OPEN(entry, i)                         \
  const MASU_BITS rank = (MASU_BITS)((entry) >> 32);  \
  const uint index = ~(uint)(entry);
#endif
#define SELECT_END_OF_PART row.entries
#endif
#define SELECT_FOR_ENTRIES(low)                                                                 \
  for (uint round = row.first * MASU_PER_VECTOR; round < SELECT_END_OF_PART;                    \
       round += MASU_GROUP * MASU_BATCH) {                                                      \
    SELECT_ENTRY batch[MASU_BATCH];                                                             \
    MASU_UNROLLED                                                                               \
    for (uint b = 0; b < MASU_BATCH; ++b) {                                                     \
      const uint i = round + b * MASU_GROUP + (uint)get_local_id(0);                            \
      batch[b] = i < SELECT_END_OF_PART ? SELECT_LOAD(i) : 0;                                   \
    }                                                                                           \
    MASU_UNROLLED                                                                               \
    for (uint b = 0; b < MASU_BATCH; ++b) {                                                     \
      const uint i = round + b * MASU_GROUP + (uint)get_local_id(0);                            \
      if (i < SELECT_END_OF_PART) {                                                             \
        SELECT_OPEN(batch[b], i)                                                                \
        (void)index;
#define SELECT_END }}}
#endif

// What the first look at entries finds, in registers of a work-item.
typedef struct {
  MASU_BITS differing;
  uint none;
  uint seen;
} Look;
#define SELECT_FIRST_SHIFT (8 * MASU_ELEMENT_BYTES - 8)
MASU_INLINE void look_at(Look *look, const MASU_BITS rank, const MASU_BITS one, __local uint *table) {
  look->differing |= rank ^ one;
  if (MASU_SKIP != 0 && rank == 0) ++look->none;
  count_digit(table, (uint)(rank >> SELECT_FIRST_SHIFT));
}

// The first look, which holds the work-group's part where MASU_HELD is 1: counts the first digits in a table, and leaves in the state
// what is seen, if that is wanted. The result: in which bits ranks differ from `one`, which is one of them. The state and the table
// are cleared.
MASU_INLINE MASU_BITS look_at_row(const Row row, const MASU_BITS one, const bool sees, __local uint *table,
                                  __local uint *state) {
  Look look;
  look.differing = 0;
  look.none = 0;
  look.seen = 0;
#if MASU_HELD
  const uint lane = (uint)get_local_id(0);
  const bool aligned = gap_of(row.bytes) == 0;
  const uint whole = row.whole;
  __global const uchar *bytes = row.bytes + (size_t)row.first * 16;
  for (uint round = 0; round < whole; round += MASU_GROUP * MASU_BATCH) {
    uint4 batch[MASU_BATCH];  // all on their way at once
    MASU_UNROLLED
    for (uint b = 0; b < MASU_BATCH; ++b) {
      __global const uchar *at = bytes + (size_t)min(round + b * MASU_GROUP + lane, whole - 1) * 16;
      batch[b] = aligned ? masu_load_streaming((__global const uint4 *)at) : load_elements(at);
    }
    MASU_UNROLLED
    for (uint b = 0; b < MASU_BATCH; ++b) {
      const uint v = round + b * MASU_GROUP + lane;
      if (v < whole) {
        uint words[4];
        uint ranks[4] = {0, 0, 0, 0};
        words_of_vector(batch[b], words);
        MASU_UNROLLED
        for (uint e = 0; e < MASU_PER_VECTOR; ++e) {
          const MASU_BITS bits = element_of(words, e);
          const MASU_BITS rank = rank_of(bits);
          if (sees) look.seen |= seen_of(bits);
          look_at(&look, rank, one, table);
          put_part_of(ranks, e, MASU_ELEMENT_BYTES, rank);
        }
        row.held[v] = vector_of(ranks);
      }
    }
  }
  // What does not fill a vector.
  if (whole < row.vectors && lane < MASU_PER_VECTOR) {
    const uint e = row.entries / MASU_PER_VECTOR * MASU_PER_VECTOR + lane;
    MASU_BITS rank = 0;
    if (e < row.entries) {
      const MASU_BITS bits = element_at(row.bytes, e);
      rank = rank_of(bits);
      if (sees) look.seen |= seen_of(bits);
      look_at(&look, rank, one, table);
    }
    ((__local MASU_ELEMENT *)(row.held + whole))[lane] = (MASU_ELEMENT)rank;
  }
#else
  SELECT_FOR_ENTRIES(0)
    look_at(&look, rank, one, table);
    if (sees) look.seen |= seen_of((MASU_BITS)batch[b]);
  SELECT_END
#endif
  const ulong differing = look.differing;
  if ((uint)differing != 0) atomic_or(&state[row_differing], (uint)differing);
  if (differing >> 32 != 0) atomic_or(&state[row_differing + 1], (uint)(differing >> 32));
  if (sees && look.seen != 0) atomic_or(&state[row_seen], look.seen);
  if (look.none != 0) atomic_add(&state[row_none], look.none);
  SELECT_ROW_BARRIER
  uint low = 0;
  uint high = 0;
  SELECT_JOIN(low, state + row_differing, |=)
  SELECT_JOIN(high, state + row_differing + 1, |=)
  return (MASU_BITS)((ulong)high << 32 | low);
}

typedef struct {
  MASU_BITS least;
  uint least_index;
  uint rest;  // the place among those that are equal to it, 1 to `same`
  uint same;
  uint unknown;  // bits of `least`
} Selected;

// The entries of rank above `least`, and those of it with a ~index of at least `least_index`, are the first `wanted`, or more if
// these are no more than `places`. `exact`: least is the rank of the last one, and no index is looked at; where no more than `places`
// have the bits that are known, the others may be unknown. `tables`: two, the first one counted.
MASU_INLINE void select_greatest(const Row row, const uint wanted, const uint places, const bool exact, const MASU_BITS one,
                                 const MASU_BITS differing, __local uint *tables, __local uint *partial,
                                 __local uint *state, Selected *result) {
  // Above the bits in which ranks differ all have the digits of `one`; no index has bits above the greatest one's.
  const uint top = (71 - (uint)clz((ulong)differing)) / 8 * 8;
  const uint index_top = (row.index_bits + 7) / 8 * 8;
  const MASU_BITS no_index = (MASU_BITS)(index_top < 32 ? 0xffffffffU >> index_top : 0);
  const bool all = !exact && wanted == row.entries;
  Selected found;
  found.least_index = 0;
  find_digit(tables, partial, state, wanted);
  found.rest = wanted - state[row_above];
  found.same = state[row_same];
  uint shift = min(top, (uint)SELECT_FIRST_SHIFT);
  // What all that are still looked at have above a digit.
  MASU_BITS prefix = top > SELECT_FIRST_SHIFT ? (MASU_BITS)state[row_digit] : one >> shift;
  found.least = all ? 0 : prefix << shift;
#define SELECT_ENOUGH (found.same == found.rest || wanted - found.rest + found.same <= places)
  bool done = all || (exact ? shift == 0 || found.same <= places : SELECT_ENOUGH);
  found.unknown = shift;
  bool by_index = shift == 0;
  if (by_index) {
    shift = index_top;
    prefix = no_index;
  }
  for (uint turn = 1; !done; ++turn) {
    __local uint *table = tables + turn % 2 * SELECT_ROW_DIGITS;  // others may still read the other one
    shift -= 8;
    const MASU_BITS base = prefix << 8;
    clear_words(table, SELECT_ROW_DIGITS);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!by_index) {
      SELECT_FOR_ENTRIES(base << shift)
        const MASU_BITS digit = (rank >> shift) - base;
        if (digit < SELECT_ROW_DIGITS) count_digit(table, (uint)digit);
      SELECT_END
    } else {
      SELECT_FOR_ENTRIES(found.least)
        const MASU_BITS digit = (MASU_BITS)(~index >> shift) - base;
        if (rank == found.least && digit < SELECT_ROW_DIGITS) count_digit(table, (uint)digit);
      SELECT_END
    }
    SELECT_ROW_BARRIER
    find_digit(table, partial, state, found.rest);
    prefix = base | state[row_digit];
    found.rest -= state[row_above];
    found.same = state[row_same];
    if (by_index) found.least_index = (uint)prefix << shift;
    else found.least = prefix << shift;
    found.unknown = shift;
    done = exact ? shift == 0 || found.same <= places : SELECT_ENOUGH || (by_index && shift == 0);
    if (shift == 0) {
      by_index = true;
      shift = index_top;
      prefix = no_index;
    }
  }
  *result = found;
}

#define SELECT_RANK_WORDS (MASU_ELEMENT_BYTES == 8 ? 2 : 1)
// The ranks at two neighbouring places of the ascending order.
typedef struct {
  MASU_BITS rank0, rank1;
  uint equal0, equal1;  // their places among the equal ones
  uint seen;
} Pair;

// The least of what the work-items of all work-groups found; a word of the state is UINT_MAX before.
MASU_INLINE uint least_of_all(const uint mine, __local uint *word) {
  if (mine != UINT_MAX) atomic_min(word, mine);
  SELECT_ROW_BARRIER
  uint least = UINT_MAX;
  for (uint group = 0; group < MASU_CLUSTER; ++group) least = min(least, *SELECT_OF_GROUP(word, group));
  return least;
}

MASU_INLINE void select_pair(const Row row, const uint place0, const uint place1, __local uint *words, Pair *result) {
  __local uint *tables = words;
  __local uint *partial = tables + 2 * SELECT_ROW_DIGITS;
  __local uint *state = partial + MASU_GROUP;
  const uint lane = (uint)get_local_id(0);
  if (lane < row_words) state[lane] = lane == row_next || lane == row_next + 1 ? UINT_MAX : 0;
  clear_words(tables, SELECT_ROW_DIGITS);
  barrier(CLK_LOCAL_MEM_FENCE);
  const MASU_BITS one = rank_of(element_at(row.bytes, 0));
  const MASU_BITS differing = look_at_row(row, one, true, tables, state);
  Selected found;
  select_greatest(row, row.entries - place0, 0, true, one, differing, tables, partial, state, &found);
  Pair pair;
  pair.seen = 0;
  SELECT_JOIN(pair.seen, state + row_seen, |=)
  pair.rank0 = found.least;
  pair.equal0 = found.same - found.rest;
  pair.rank1 = found.least;
  pair.equal1 = pair.equal0 + (place1 - place0);
  // The next one is another: the least rank above, its upper word first where it has two.
  const bool other = pair.equal1 >= found.same;
  uint least[2];
  for (uint word = other ? 0 : SELECT_RANK_WORDS; word < SELECT_RANK_WORDS; ++word) {
    const uint shift = word + 1 < SELECT_RANK_WORDS ? 32 : 0;
    uint mine = UINT_MAX;
    SELECT_FOR_ENTRIES(found.least)
      if (rank > found.least && (word == 0 || (uint)((ulong)rank >> 32) == least[0])) mine = min(mine, (uint)(rank >> shift));
    SELECT_END
    least[word] = least_of_all(mine, state + row_next + word);
  }
  if (other) {
    pair.rank1 = (MASU_BITS)(SELECT_RANK_WORDS == 2 ? (ulong)least[0] << 32 | least[1] : least[0]);
    pair.equal1 = 0;
  }
  *result = pair;
}
#endif
