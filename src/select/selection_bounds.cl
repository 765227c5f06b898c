// SPDX-License-Identifier: Apache-2.0
// The bounds of a search from a sample, by one work-group. After selection.cl and selection_row.cl.

// The bounds lie at two places of the sample, or a little outwards: between a bound and the element at its place are at most so many
// samples. So an element that is met often is a bound itself.
#define SELECT_FEW_SAMPLES 8u
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_bounds(__global uchar *work, const ulong control_at,
                                                           const ulong list_at, const uint samples, const uint lower,
                                                           const uint upper, const uint has, __local uint *words,
                                                           const uint share, __local uint4 *held) {
  MASU_LOCAL_POINTER(uint, words);
  MASU_LOCAL_POINTER(uint4, held);
  __local uint *partial = words + 2 * SELECT_ROW_DIGITS;
  __local uint *state = partial + MASU_GROUP;
  __global uint *bounds = (__global uint *)(work + control_at) + control_bounds;
  const uint lane = (uint)get_local_id(0);
  Row row;
  row.held = held;
  row.bytes = work + list_at;
  row.entries = samples;
  row.index_bits = 0;
  take_part(&row, share);
  if (lane < row_words) state[lane] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  const MASU_BITS one = rank_of(element_at(row.bytes, 0));
  const MASU_BITS differing = look_at_row(row, one, false, words, state);
  const MASU_BITS least = MASU_FLOAT ? MASU_SIGN - MASU_INFINITY_BITS : 0;
  const MASU_BITS greatest = MASU_FLOAT ? MASU_SIGN + MASU_INFINITY_BITS : MASU_ALL_BITS;
  bool nan = false;
  for (uint which = 0; which < 2; ++which) {
    const bool is_there = (has & (which == 0 ? SELECT_HAS_LOWER : SELECT_HAS_UPPER)) != 0;
    clear_words(words, SELECT_ROW_DIGITS);
    barrier(CLK_LOCAL_MEM_FENCE);
    SELECT_FOR_ENTRIES(0)
      count_digit(words, (uint)(rank >> SELECT_FIRST_SHIFT));
    SELECT_END
    barrier(CLK_LOCAL_MEM_FENCE);
    Selected found;
    select_greatest(row, samples - (which == 0 ? lower : upper), SELECT_FEW_SAMPLES, true, one, differing, words, partial,
                    state, &found);
    // Outwards, where bits are unknown.
    MASU_BITS bound = max(found.least, least);
    if (which == 1) bound = found.least | (((MASU_BITS)1 << found.unknown) - 1);
    if (is_there && bound > greatest) nan = true;
    if (!is_there) bound = which == 0 ? 0 : MASU_ALL_BITS;
    if (lane == 0) {
      bounds[2 * which] = (uint)bound;
      bounds[2 * which + 1] = (uint)((ulong)bound >> 32);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0) bounds[4] = nan ? SELECT_IS_NAN : has;
}
