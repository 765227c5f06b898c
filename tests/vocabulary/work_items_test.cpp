// SPDX-License-Identifier: Apache-2.0
// What a work-item is told of its place: 1 to 3 dimensions, every way to divide them, offsets.
#include "each_type.h"
#include "opencl_objects.h"

#include <fmt/format.h>
#include <masu/program.h>

#include <array>
#include <numeric>

namespace masu::vocabulary {
namespace {

// get_work_dim, then seven answers for each of three dimensions.
constexpr std::size_t answers = 1 + 3 * 7;
constexpr const char* text = R"(
__kernel void place(__global uint *out) {
  size_t at = 0;
  for (int d = 2; d >= 0; d--) at = at * get_global_size(d) + get_global_id(d) - get_global_offset(d);
  out += at * 22;
  *out++ = get_work_dim();
  for (uint d = 0; d < 3; d++) {
    *out++ = (uint)get_global_size(d);
    *out++ = (uint)get_global_id(d);
    *out++ = (uint)get_local_size(d);
    *out++ = (uint)get_local_id(d);
    *out++ = (uint)get_num_groups(d);
    *out++ = (uint)get_group_id(d);
    *out++ = (uint)get_global_offset(d);
  }
}
)";

using Sizes = std::array<std::size_t, 3>;
struct Launch {
  cl_uint dimensions;
  Sizes global;
  Sizes local;
  Sizes offset;
};
constexpr Launch launches[] = {
    {1, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},     {1, {96, 1, 1}, {32, 1, 1}, {0, 0, 0}},
    {1, {60, 1, 1}, {5, 1, 1}, {1000, 0, 0}}, {2, {12, 10, 1}, {4, 5, 1}, {0, 0, 0}},
    {2, {7, 6, 1}, {7, 1, 1}, {3, 11, 0}},    {3, {6, 4, 10}, {3, 2, 5}, {0, 0, 0}},
    {3, {4, 4, 4}, {1, 1, 1}, {5, 6, 7}},     {3, {2, 3, 5}, {2, 3, 5}, {0, 9, 0}},
};

std::string as_text(const Sizes& sizes, cl_uint dimensions) {
  return fmt::format("{}", fmt::join(sizes.begin(), sizes.begin() + dimensions, "x"));
}

class WorkItems : public EachOpenCl {};
MASU_ON_EACH_OPENCL(WorkItems);

TEST_P(WorkItems, KnowTheirPlace) {
  const opencl::Api& cl = opencl::api();
  const OpenClObjects objects(device, text, "place");
  ASSERT_EQ(objects.build_code, CL_SUCCESS) << objects.log;
  for (const Launch& launch : launches) {
    const std::size_t items = launch.global[0] * launch.global[1] * launch.global[2];
    std::vector<cl_uint> got(items * answers, 0xa5a5a5a5U);
    const auto buffer = objects.buffer(got.size() * sizeof(cl_uint), got.data());
    cl_mem memory = buffer.get();
    must(cl.clSetKernelArg(objects.kernel.get(), 0, sizeof memory, &memory), "clSetKernelArg");
    must(cl.clEnqueueNDRangeKernel(objects.queue.get(), objects.kernel.get(), launch.dimensions, launch.offset.data(),
                                   launch.global.data(), launch.local.data(), 0, nullptr, nullptr),
         "clEnqueueNDRangeKernel");
    must(cl.clEnqueueReadBuffer(objects.queue.get(), memory, CL_TRUE, 0, got.size() * sizeof(cl_uint), got.data(), 0,
                                nullptr, nullptr),
         "clEnqueueReadBuffer");
    std::string complaint;
    for (std::size_t i = 0; i < items && complaint.empty(); ++i) {
      std::vector<std::size_t> want{launch.dimensions};
      const Sizes position{i % launch.global[0], i / launch.global[0] % launch.global[1],
                           i / launch.global[0] / launch.global[1]};
      for (std::size_t d = 0; d < 3; ++d) {
        if (d >= launch.dimensions) {
          for (const std::size_t none : {1, 0, 1, 0, 1, 0, 0}) want.push_back(none);
          continue;
        }
        const std::size_t global = launch.global[d];
        const std::size_t local = launch.local[d];
        for (const std::size_t answer : {global, position[d] + launch.offset[d], local, position[d] % local,
                                         global / local, position[d] / local, launch.offset[d]}) {
          want.push_back(answer);
        }
      }
      for (std::size_t k = 0; k < answers && complaint.empty(); ++k) {
        if (got[i * answers + k] != want[k]) {
          complaint = fmt::format("work-item {}, answer {}: expected {}, got {}", i, k, want[k], got[i * answers + k]);
        }
      }
    }
    judge(device, "work-items", "",
          fmt::format("{} in groups of {}, offset {}", as_text(launch.global, launch.dimensions),
                      as_text(launch.local, launch.dimensions), as_text(launch.offset, launch.dimensions)),
          complaint);
  }
}

// A dimension that there is not: sizes are 1, places are 0.
TEST_P(WorkItems, DimensionsThatThereAreNot) {
  Batch made{.family = "work-items"};
  made.lanes = 1;
  for (const auto& [name, answer] : {std::pair{"get_global_size", 1U},
                                     {"get_global_id", 0U},
                                     {"get_local_size", 1U},
                                     {"get_local_id", 0U},
                                     {"get_num_groups", 1U},
                                     {"get_group_id", 0U},
                                     {"get_global_offset", 0U}}) {
    made.cases.push_back({.name = fmt::format("{}(3)", name),
                          .code = fmt::format("    ((__global uint *)out)[0] = (uint){}(3);", name),
                          .expected = bytes_of(std::vector<std::uint32_t>{answer})});
  }
  run(device, made);
}

// Without a local size the device chooses one that divides the global size.
TEST_P(WorkItems, GroupsThatTheDeviceChooses) {
  const Program program = Program::from_source(device, R"(
__kernel void count(__global uint *out) {
  out[get_global_id(0)] = (uint)(get_group_id(0) * get_local_size(0) + get_local_id(0));
}
)");
  Stream stream(device);
  for (const std::size_t items : {1, 2, 97, 1000, 4096}) {
    Buffer<std::uint32_t> out = device.allocate<std::uint32_t>(items);
    program.kernel("count")(stream, items, out);
    stream.finish();
    std::vector<std::uint32_t> want(items);
    std::iota(want.begin(), want.end(), 0U);
    judge(device, "work-items", "", fmt::format("{} items, the device chooses the groups", items),
          out.read() == want ? "" : "a work-item has a wrong place");
  }
}

}  // namespace
}  // namespace masu::vocabulary
