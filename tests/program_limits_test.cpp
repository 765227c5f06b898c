// SPDX-License-Identifier: Apache-2.0
// Bad input to programs and launches, on every device that runs kernels: each is an error that says what to do, and the
// device works on.
#include <masu/program.h>

#include "each_device.h"
#include "expect_error.h"
#include "scoped_env.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace masu {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

constexpr const char* limits_opencl = R"(
kernel void mark(global uint* out, uint n) {
  const uint i = get_global_id(0) + get_global_size(0) * (get_global_id(1) + get_global_size(1) * get_global_id(2));
  if (i < n) out[i] = 1 + get_local_size(0) + 100 * get_local_size(1) + 10000 * get_local_size(2);
}
kernel __attribute__((reqd_work_group_size(8, 2, 1))) void fixed(global uint* out) {
  out[get_global_id(1) * get_global_size(0) + get_global_id(0)] = get_local_size(0);
}
kernel void hungry(global uint* out, local uint* more) {
  local uint own[2048];
  const uint i = get_local_id(0);
  own[i] = i;
  more[i] = 2 * i;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = own[get_local_size(0) - 1 - i] + more[i];
}
)";

constexpr const char* limits_cuda = R"(
extern "C" __global__ void mark(unsigned* out, unsigned n) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
  const unsigned i = x + gridDim.x * blockDim.x * (y + gridDim.y * blockDim.y * z);
  if (i < n) out[i] = 1 + blockDim.x + 100 * blockDim.y + 10000 * blockDim.z;
}
extern "C" __global__ void hungry(unsigned* out) {
  __shared__ unsigned own[2048];
  extern __shared__ unsigned more[];
  const unsigned i = threadIdx.x;
  own[i] = i;
  more[i] = 2 * i;
  __syncthreads();
  out[i] = own[blockDim.x - 1 - i] + more[i];
}
)";

class ProgramLimitsTest : public test::EachDevice {
 protected:
  [[nodiscard]] bool opencl() const { return device.kind() == DeviceKind::opencl; }
  [[nodiscard]] std::string text() const { return opencl() ? limits_opencl : limits_cuda; }
  [[nodiscard]] Kernel kernel(std::string_view name) const { return Program::from_source(device, text()).kernel(name); }
  Stream stream{device};
};
MASU_ON_EACH_KERNEL_DEVICE(ProgramLimitsTest);

TEST_P(ProgramLimitsTest, SizesFromLists) {
  Kernel mark = kernel("mark");
  const std::vector<std::size_t> global{6, 4, 2};
  const std::vector<std::size_t> local{3, 2, 1};
  Buffer<std::uint32_t> out = device.allocate<std::uint32_t>(48);
  out.fill(0);
  mark(stream, NDRange::of(global, local), out, 48U).wait();
  EXPECT_EQ(out.read(), std::vector<std::uint32_t>(48, 10204));
  for (std::size_t dimensions = 1; dimensions <= 3; ++dimensions) {  // the device chooses
    out.fill(0);
    mark(stream, NDRange::of(std::span(global).first(dimensions)), out, 48U).wait();
    const std::vector<std::uint32_t> got = out.read();
    const std::size_t items = dimensions == 1 ? 6 : dimensions == 2 ? 24 : 48;
    EXPECT_EQ(std::ranges::count(got, 0U), static_cast<std::ptrdiff_t>(48 - items));
  }
  MASU_EXPECT_ERROR(NDRange::of(std::vector<std::size_t>{}), invalid_argument, "1 to 3 sizes");
  MASU_EXPECT_ERROR(NDRange::of(std::vector<std::size_t>(4, 1)), invalid_argument, "got 4 and 0");
  MASU_EXPECT_ERROR(NDRange::of(global, std::span(local).first(2)), invalid_argument, "got 3 and 2");
  NDRange wild(1);
  for (const unsigned dimensions : {0U, 4U, 1000U}) {
    wild.dimensions = dimensions;
    MASU_EXPECT_ERROR(mark(stream, wild, out, 1U), invalid_argument, "dimensions must be 1 to 3");
  }
}

TEST_P(ProgramLimitsTest, GlobalSizesThatAreNoMultiple) {
  Kernel mark = kernel("mark");
  Buffer<std::uint32_t> out = device.allocate<std::uint32_t>(1021);
  out.fill(0);
  mark(stream, 1021, out, 1021U).wait();  // a prime; the device chooses
  const std::vector<std::uint32_t> before = out.read();
  EXPECT_EQ(std::ranges::count(before, 0U), 0);
  try {
    mark(stream, {1021, 64}, out, 1021U).wait();
    EXPECT_EQ(std::ranges::count(out.read(), 0U), 0);  // the device can
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.what(), HasSubstr("got 1021 and 64 in dimension 0: round it up to 1024 and let"));
    EXPECT_EQ(out.read(), before);
  }
  out.fill(0);
  mark(stream, {1024, 64}, out, 1021U).wait();
  EXPECT_EQ(out.read(), std::vector<std::uint32_t>(1021, 10165));
}

TEST_P(ProgramLimitsTest, KernelsThatWereCompiledForOneSize) {
  if (!opencl()) GTEST_SKIP() << "CUDA C++ has no such attribute";
  Kernel fixed = kernel("fixed");
  EXPECT_EQ(fixed.max_work_group_size(), 16U);
  Buffer<std::uint32_t> out = device.allocate<std::uint32_t>(64);
  for (const NDRange& range : {NDRange::of({16, 4}), NDRange::of({16, 4}, {8, 2})}) {
    out.fill(0);
    fixed(stream, range, out).wait();
    EXPECT_EQ(out.read(), std::vector<std::uint32_t>(64, 8));
  }
  MASU_EXPECT_ERROR(fixed(stream, NDRange::of({16, 4}, {16, 1}), out), invalid_argument,
                    "fixed was compiled for a local size of 8x2x1, got 16x1");
  MASU_EXPECT_ERROR(fixed(stream, NDRange::of({20, 4}), out), invalid_argument, "got 20 and 8 in dimension 0");
}

TEST_P(ProgramLimitsTest, LocalMemoryCountsTheKernelsOwn) {
  Kernel hungry = kernel("hungry");
  Buffer<std::uint32_t> out = device.allocate<std::uint32_t>(64);
  hungry(stream, {64, 64}, out, LocalMemory{64 * 4}).wait();
  std::vector<std::uint32_t> wanted(64);
  for (std::uint32_t i = 0; i < 64; ++i) wanted[i] = 63 - i + 2 * i;
  EXPECT_EQ(out.read(), wanted);
  const std::size_t limit = device.info().local_bytes;
  for (const std::size_t bytes : {limit - 8192 + 4, limit, limit + 4, ~std::size_t{0}, ~std::size_t{0} - 8191}) {
    if (!opencl() && bytes <= limit) continue;  // CUDA's devices have more than they say at first
    MASU_EXPECT_ERROR(hungry(stream, {64, 64}, out, LocalMemory{bytes}), invalid_argument, "local memory");
  }
  hungry(stream, {64, 64}, out, LocalMemory{64 * 4}).wait();
  EXPECT_EQ(out.read(), wanted);
}

TEST_P(ProgramLimitsTest, WorkGroupsAboveTheLimit) {
  Kernel mark = kernel("mark");
  Buffer<std::uint32_t> out = device.allocate<std::uint32_t>(1);
  const std::size_t most = mark.max_work_group_size();
  MASU_EXPECT_ERROR(mark(stream, NDRange::of({2 * most, 2}, {most, 2}), out, 1U), invalid_argument, "work-items");
  EXPECT_THROW(mark(stream, {std::size_t{1} << 62, std::size_t{1} << 62}, out, 1U), Error);
  mark(stream, {most, most}, out, 1U).wait();
}

TEST_P(ProgramLimitsTest, KernelNames) {
  const Program program = Program::from_source(device, text());
  for (const std::string& name : {""s, "none"s, "mark "s, "mark\0"s, "mark\0x"s, "Mark"s, std::string(100000, 'x')}) {
    MASU_EXPECT_ERROR((void)program.kernel(name), invalid_argument, "mark");
  }
  const Program empty = Program::from_source(
      device, opencl() ? "int f(int x) { return x; }\n" : "__device__ int f(int x) { return x; }\n");
  EXPECT_TRUE(empty.kernel_names().empty());
  MASU_EXPECT_ERROR((void)empty.kernel("f"), invalid_argument, "the program has no kernels, got \"f\"");
}

TEST_P(ProgramLimitsTest, SourcesAndOptions) {
  const test::ScopedEnv off("MASU_CACHE", "off");
  MASU_EXPECT_ERROR((void)Program::from_source(device, ""), build_failed, "must not be empty");
  MASU_EXPECT_ERROR((void)Program::from_source(device, "int x;\nint\0 y;"s), build_failed,
                    "zero bytes, got one in line 2");
  MASU_EXPECT_ERROR((void)Program::from_source(device, text(), "-DA=1\0 --nonsense"s), build_failed, "after \"-DA=1\"");
  if (opencl()) {  // NVRTC takes it
    EXPECT_THROW((void)Program::from_source(device, "\xff\xfe\x01 not a program"), Error);
  }
  EXPECT_THROW((void)Program::from_source(device, text(), "--no-such-option=\xff"), Error);
  EXPECT_EQ(Program::from_source(device, text() + "// kept\n", " ").kernel_names().size(), opencl() ? 3U : 2U);
}

TEST_P(ProgramLimitsTest, LogsOfFailures) {
  const std::string line =
      opencl() ? "kernel void f(global int* x) { x[0] = y; }" : "__global__ void f(int* x) { x[0] = y; }";
  try {
    (void)Program::from_source(device, "\n\n\n\n" + line + "\n");
    ADD_FAILURE() << "it compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::build_failed);
    EXPECT_THAT(error.what(), ::testing::ContainsRegex("[:(]5"));
    EXPECT_THAT(error.what(), HasSubstr("y"));
  }
}

}  // namespace
}  // namespace masu
