// SPDX-License-Identifier: Apache-2.0
// One work-group tells another something, by memory, without waiting for it.
//
// What OpenCL 1.2 promises: mem_fence(CLK_GLOBAL_MEM_FENCE) orders the loads and stores of one work-item: those before
// it are committed to global memory before those after it (section 6.12.9). It makes nothing visible to others, and
// between work-groups nothing about plain loads and stores is promised before the kernel ends (section 3.3.1). Atomic
// functions read, change and write a place in memory as one step (section 6.12.11). So here
//   - the message itself is written and read by atomics, never by plain loads and stores;
//   - a fence stands between the message and the flag, and between the flag and the message;
//   - nobody waits: who comes second does the work. Groups need not run at the same time, so one that waits for another
//     may wait for ever.

// The sum of `mine` over the work-group. `sums` has room for one value for each item.
ulong sum_of_group(ulong mine, __local ulong* sums) {
  const uint item = (uint)get_local_id(0);
  sums[item] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint left = (uint)get_local_size(0); left > 1;) {
    const uint lower = (left + 1) / 2;
    if (item < left - lower) sums[item] += sums[item + lower];
    barrier(CLK_LOCAL_MEM_FENCE);
    left = lower;
  }
  return sums[0];
}

// The sum of all values in one kernel: each group leaves its own in partial[g], and the group that arrives last adds
// them. `arrived` must be 0 before. A partial sum travels as two words, as 32-bit atomics are what every device has.
__kernel void sum_by_last_group(__global const uint* values, ulong n, __local ulong* sums, __global ulong* partial,
                                __global uint* arrived, __global ulong* total) {
  __local bool last;
  __global uint* words = (__global uint*)partial;
  const uint item = (uint)get_local_id(0);
  const uint groups = (uint)get_num_groups(0);

  ulong mine = 0;
  for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) mine += values[i];
  const ulong sum = sum_of_group(mine, sums);
  if (item == 0) {
    const size_t group = get_group_id(0);
    atomic_xchg(&words[2 * group], (uint)sum);
    atomic_xchg(&words[2 * group + 1], (uint)(sum >> 32));
    mem_fence(CLK_GLOBAL_MEM_FENCE);            // the sum is in memory before the group is counted
    last = atomic_inc(arrived) == groups - 1;   // true in one group: all others have been counted, so theirs are there
    mem_fence(CLK_GLOBAL_MEM_FENCE);            // and before the sums are read
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (!last) return;  // the whole group or none of it, so the barriers below are reached by all of its items

  mine = 0;
  for (uint g = item; g < groups; g += (uint)get_local_size(0)) {
    const uint low = atomic_or(&words[2 * g], 0u);  // reads by an atomic that changes nothing
    mine += (ulong)atomic_or(&words[2 * g + 1], 0u) << 32 | low;
  }
  const ulong all = sum_of_group(mine, sums);
  if (item == 0) *total = all;
}

// Word w of the message of work-item i; not 0.
uint message(ulong i, uint w) { return (uint)(i * 4 + w) * 2654435761u | 1u; }

// Items i and i + pairs are a pair, as a rule of different groups. Each writes a message of four words into its box and
// raises the flag of the pair. Who finds it raised reads the other's message: it is there, and whole. So one of the two
// messages arrives, whoever is first. Boxes, flags and what was received are 0 before.
__kernel void pass_messages(ulong pairs, __global uint* boxes, __global uint* flags, __global uint* received) {
  const ulong i = get_global_id(0);
  if (i >= 2 * pairs) return;
  const bool upper = i >= pairs;
  const ulong other = upper ? i - pairs : i + pairs;
  for (uint w = 0; w < 4; ++w) atomic_xchg(&boxes[4 * i + w], message(i, w));
  mem_fence(CLK_GLOBAL_MEM_FENCE);  // the message before the flag
  if (atomic_xchg(&flags[upper ? other : i], 1u) == 0) return;
  mem_fence(CLK_GLOBAL_MEM_FENCE);  // the flag before the message
  for (uint w = 0; w < 4; ++w) received[4 * i + w] = atomic_or(&boxes[4 * other + w], 0u);
}
