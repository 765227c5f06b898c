// SPDX-License-Identifier: Apache-2.0
// barrier and the fences, each with every flag, and what may be built on them: work-items that exchange data within a
// group; the last of many groups that reads what all have left.
#include "each_type.h"

#include <fmt/format.h>
#include <masu/program.h>

namespace masu::vocabulary {
namespace {

constexpr std::size_t lanes = 64;
constexpr std::size_t groups = 8;
constexpr std::size_t items = lanes * groups;

class Synchronisation : public EachOpenCl {};
MASU_ON_EACH_OPENCL(Synchronisation);

TEST_P(Synchronisation, BarriersAndFences) {
  Batch made{.family = "synchronisation"};
  made.lanes = lanes;
  made.groups = groups;
  made.prologue =
      "  const uint id = (uint)get_global_id(0);\n  __global volatile uint *cells = (__global volatile uint *)0;\n"
      "  __local volatile uint *shared = (__local volatile uint *)pool;";

  const auto add = [&](std::string name, std::string code, const std::vector<std::uint32_t>& expected,
                       const std::vector<std::uint32_t>& initial) {
    made.cases.push_back({.name = std::move(name),
                          .code = "    cells = (__global volatile uint *)out;\n" + std::move(code),
                          .expected = bytes_of(expected),
                          .initial = bytes_of(initial)});
  };
  struct Flags {
    const char* text;
    bool local;
    bool global;
  };
  const Flags all_flags[] = {{"CLK_LOCAL_MEM_FENCE", true, false},
                             {"CLK_GLOBAL_MEM_FENCE", false, true},
                             {"CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE", true, true}};
  for (const Flags& flags : all_flags) {
    // Each work-item reads what its mirror image in the group has written.
    const std::vector<std::uint32_t> untouched(items, 0);
    if (flags.local) {
      std::vector<std::uint32_t> expected(items);
      for (std::size_t i = 0; i < items; ++i)
        expected[i] = static_cast<std::uint32_t>(i / lanes * lanes + lanes - 1 - i % lanes);
      add(fmt::format("barrier({}) for local memory", flags.text),
          fmt::format(
              "    shared[lane] = id;\n    barrier({0});\n    cells[id] = shared[lanes - 1 - lane];\n    barrier({0});",
              flags.text),
          expected, untouched);
    }
    if (flags.global) {
      std::vector<std::uint32_t> expected(2 * items);
      for (std::size_t i = 0; i < items; ++i) {
        expected[i] = static_cast<std::uint32_t>(i);
        expected[items + i] = static_cast<std::uint32_t>(i / lanes * lanes + lanes - 1 - i % lanes);
      }
      add(fmt::format("barrier({}) for global memory", flags.text),
          fmt::format(
              "    cells[id] = id;\n    barrier({});\n    cells[{} + id] = cells[id - lane + lanes - 1 - lane];",
              flags.text, items),
          expected, std::vector<std::uint32_t>(2 * items, 0));
    }
    // Barriers in a loop that every work-item walks equally often: a sum of the group by halving.
    if (flags.local) {
      std::vector<std::uint32_t> sums(groups);
      for (std::size_t i = 0; i < items; ++i) sums[i / lanes] += static_cast<std::uint32_t>(i * i);
      add(fmt::format("barrier({}) in a loop", flags.text),
          fmt::format(R"(    shared[lane] = id * id;
    for (uint half_of = lanes / 2; half_of > 0; half_of /= 2) {{
      barrier({0});
      if (lane < half_of) shared[lane] += shared[lane + half_of];
    }}
    if (lane == 0) cells[group] = shared[0];
    barrier({0});)",
                      flags.text),
          sums, std::vector<std::uint32_t>(groups, 0));
    }
    for (const char* fence : {"mem_fence", "read_mem_fence", "write_mem_fence"}) {
      // Within a work-item: what it wrote it reads, on both sides of a fence.
      std::vector<std::uint32_t> expected(items);
      for (std::size_t i = 0; i < items; ++i) expected[i] = static_cast<std::uint32_t>(3 * i + 1);
      add(fmt::format("{}({}) within a work-item", fence, flags.text),
          fmt::format("    shared[lane] = id;\n    cells[id] = 2 * id;\n    {}({});\n    cells[id] += shared[lane] + "
                      "1;\n    barrier(CLK_LOCAL_MEM_FENCE);",
                      fence, flags.text),
          expected, std::vector<std::uint32_t>(items, 0));
    }
  }
  // The last work-group to arrive reads what the first work-items of all groups have left. Nobody waits. Payload and
  // counter are atomic; the fences keep them in order.
  std::vector<std::uint32_t> expected(groups + 2);
  for (std::size_t g = 0; g < groups; ++g)
    expected[g] = static_cast<std::uint32_t>(100 + g), expected[groups + 1] += expected[g];
  expected[groups] = groups;
  add("write_mem_fence and read_mem_fence around a counter",
      fmt::format(R"(    if (lane == 0) {{
      __global volatile uint *counter = cells + {0};
      atomic_xchg(cells + group, 100 + group);
      write_mem_fence(CLK_GLOBAL_MEM_FENCE);
      if (atomic_inc(counter) == {0} - 1) {{
        read_mem_fence(CLK_GLOBAL_MEM_FENCE);
        uint sum = 0;
        for (uint g = 0; g < {0}; g++) sum += atomic_or(cells + g, 0);
        cells[{0} + 1] = sum;
      }}
    }})",
                  groups),
      expected, std::vector<std::uint32_t>(groups + 2, 0));
  run(device, made);
}

// A __local array of the kernel and several __local arguments do not overlap.
TEST_P(Synchronisation, LocalArraysAndArguments) {
  const Program program = Program::from_source(device, R"(
__kernel void apart(__global uint *out, __local uint *a, __local ushort *b) {
  __local uint c[33];
  __local uchar d[5];
  const uint i = (uint)get_local_id(0);
  a[i] = 1000 + i;
  b[i] = (ushort)(2000 + i);
  c[i] = 3000 + i;
  if (i < 5) d[i] = (uchar)(40 + i);
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint j = (i + 1) % (uint)get_local_size(0);
  out[get_global_id(0)] = a[j] + b[j] + c[j] + d[j % 5];
}
)");
  Stream stream(device);
  Buffer<std::uint32_t> out = device.allocate<std::uint32_t>(64);
  program.kernel("apart")(stream, {64, 32}, out, LocalMemory{32 * 4}, LocalMemory{32 * 2});
  stream.finish();
  std::string complaint;
  const std::vector<std::uint32_t> got = out.read();
  for (std::uint32_t i = 0; i < 64; ++i) {
    const std::uint32_t j = (i + 1) % 32;
    const std::uint32_t want = 6000 + 3 * j + 40 + j % 5;
    if (got[i] != want) complaint = fmt::format("work-item {}: expected {}, got {}", i, want, got[i]);
  }
  judge(device, "synchronisation", "", "__local arrays and arguments", complaint);
}

}  // namespace
}  // namespace masu::vocabulary
