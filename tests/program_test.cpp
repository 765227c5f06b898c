// SPDX-License-Identifier: Apache-2.0
// Programs on every device that runs kernels, each in its own language.
#include <masu/program.h>

#include "each_device.h"
#include "expect_error.h"
#include "runtime/backend.h"
#include "scoped_env.h"
#include "temporary_directory.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace masu {
namespace {

using ::testing::HasSubstr;

constexpr const char* opencl_program = R"(
kernel void add(global uint* data, uint value) { data[get_global_id(0)] += value; }
kernel void where(global uint* out, uint width) {
  out[get_global_id(1) * width + get_global_id(0)] = 1000 * get_global_size(0) + get_local_size(1);
}
kernel void reverse(global uint* data, local uint* shared) {
  const uint i = get_local_id(0);
  const uint n = get_local_size(0);
  shared[i] = data[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  data[get_global_id(0)] = shared[n - 1 - i];
}
kernel void vector(global float* out, float4 v) { out[0] = v.x + 2 * v.y + 3 * v.z + 4 * v.w; }
)";

constexpr const char* cuda_program = R"(
typedef unsigned int uint;
extern "C" __global__ void add(uint* data, uint value) { data[blockIdx.x * blockDim.x + threadIdx.x] += value; }
extern "C" __global__ void where(uint* out, uint width) {
  out[(blockIdx.y * blockDim.y + threadIdx.y) * width + blockIdx.x * blockDim.x + threadIdx.x] =
      1000 * gridDim.x * blockDim.x + blockDim.y;
}
extern "C" __global__ void reverse(uint* data) {
  extern __shared__ uint shared[];
  const uint i = threadIdx.x;
  const uint n = blockDim.x;
  shared[i] = data[blockIdx.x * n + i];
  __syncthreads();
  data[blockIdx.x * n + i] = shared[n - 1 - i];
}
extern "C" __global__ void vector(float* out, float4 v) { out[0] = v.x + 2 * v.y + 3 * v.z + 4 * v.w; }
)";

class ProgramTest : public test::EachDevice {
 protected:
  [[nodiscard]] bool opencl() const { return device.kind() == DeviceKind::opencl; }
  [[nodiscard]] Program program() const {
    return Program::from_source(device, opencl() ? opencl_program : cuda_program);
  }
  [[nodiscard]] static std::vector<std::uint32_t> numbers(std::size_t count) {
    std::vector<std::uint32_t> values(count);
    std::iota(values.begin(), values.end(), 0U);
    return values;
  }
};
MASU_ON_EACH_KERNEL_DEVICE(ProgramTest);

TEST_P(ProgramTest, LaunchesKernels) {
  Kernel add = program().kernel("add");
  EXPECT_EQ(add.name(), "add");
  EXPECT_GE(add.max_work_group_size(), 1U);
  Stream stream(device);
  std::vector<std::uint32_t> values = numbers(1 << 16);
  Buffer<std::uint32_t> buffer = device.upload(values);
  const Event event = add(stream, {values.size(), 64}, buffer, 3U);
  add(stream, values.size(), buffer, 4U);  // the device chooses the local size
  EXPECT_GT(event.seconds(), 0);
  stream.finish();
  for (std::uint32_t& value : values) value += 7;
  EXPECT_EQ(buffer.read(), values);
}

TEST_P(ProgramTest, TwoDimensionsInWorkItems) {
  Stream stream(device);
  Buffer<std::uint32_t> buffer = device.allocate<std::uint32_t>(32 * 8);
  buffer.fill(0);
  program().kernel("where")(stream, NDRange::of({32, 8}, {16, 4}), buffer, 32U).wait();
  EXPECT_EQ(buffer.read(), std::vector<std::uint32_t>(32 * 8, 32004));
}

TEST_P(ProgramTest, LocalMemoryAndVectors) {
  Stream stream(device);
  Buffer<std::uint32_t> buffer = device.upload(numbers(256));
  program().kernel("reverse")(stream, {256, 64}, buffer, LocalMemory{64 * 4}).wait();
  const std::vector<std::uint32_t> got = buffer.read();
  for (std::uint32_t i = 0; i < 256; ++i) ASSERT_EQ(got[i], i / 64 * 64 + 63 - i % 64);
  struct alignas(16) Float4 {
    float x, y, z, w;
  };
  Buffer<float> sum = device.allocate<float>(1);
  program().kernel("vector")(stream, 1, sum, Float4{1, 10, 100, 1000}).wait();
  EXPECT_EQ(sum.read().at(0), 4321.0F);
}

TEST_P(ProgramTest, SubViewsAreSeenFromTheirStart) {
  Kernel add = program().kernel("add");
  Stream stream(device);
  std::vector<std::uint32_t> values = numbers(4096);
  Buffer<std::uint32_t> buffer = device.upload(values);
  Buffer<std::uint32_t> aligned = buffer.slice(2048, 64);  // 8 KiB: aligned on any device
  add(stream, 64, aligned, 1000U).wait();
  for (std::size_t i = 2048; i < 2048 + 64; ++i) values[i] += 1000;
  EXPECT_EQ(buffer.read(), values);
  Buffer<std::uint32_t> misaligned = buffer.slice(1, 64);
  if (opencl()) {
    MASU_EXPECT_ERROR(add(stream, 64, misaligned, 1U), invalid_argument, "multiple of");
  } else {
    add(stream, 64, misaligned, 1U).wait();
    for (std::size_t i = 1; i < 65; ++i) values[i] += 1;
  }
  EXPECT_EQ(buffer.read(), values);
}

// More parts, of two buffers in turns, than a backend may keep for later launches; and of buffers that follow each
// other.
TEST_P(ProgramTest, ManyPartsAreArgumentsAgainAndAgain) {
  Kernel add = program().kernel("add");
  Stream stream(device);
  constexpr std::size_t part = 2048;  // 8 KiB: aligned on any device
  constexpr std::size_t parts = 40;
  std::vector<std::uint32_t> values[] = {numbers(part * parts), numbers(part * parts)};
  std::vector<Buffer<std::uint32_t>> buffers;
  for (const auto& each : values) buffers.push_back(device.upload(each));
  for (std::uint32_t round = 0; round < 3; ++round) {
    for (std::size_t p = 0; p < parts; ++p) {
      for (std::size_t b = 0; b < 2; ++b) {
        const std::size_t count = 64 * (1 + (p + round) % 2);
        Buffer<std::uint32_t> slice = buffers[b].slice(p * part, count);
        for (int again = 0; again < 2; ++again) add(stream, count, slice, round + 1).wait();
        for (std::size_t i = p * part; i < p * part + count; ++i) values[b][i] += 2 * (round + 1);
      }
    }
  }
  for (std::size_t b = 0; b < 2; ++b) EXPECT_EQ(buffers[b].read(), values[b]);
  for (std::uint32_t b = 0; b < 20; ++b) {
    Buffer<std::uint32_t> next = device.upload(std::vector<std::uint32_t>(2 * part, b));
    add(stream, part, next.slice(part, part), 7U).wait();
    EXPECT_EQ(next.read().at(part), b + 7);
    EXPECT_EQ(next.read().at(part - 1), b);
  }
}

TEST_P(ProgramTest, WrongArgumentsAreErrors) {
  const Program made = program();
  Kernel add = made.kernel("add");
  Stream stream(device);
  Buffer<std::uint32_t> buffer = device.upload(numbers(64));
  MASU_EXPECT_ERROR(add(stream, 64, buffer), invalid_argument, "add");
  MASU_EXPECT_ERROR(add(stream, 64, buffer, 1U, 2U), invalid_argument, "add");
  MASU_EXPECT_ERROR(add(stream, 64, buffer, std::uint64_t{1}), invalid_argument, "argument 1");
  MASU_EXPECT_ERROR(add(stream, 64, buffer, std::uint8_t{1}), invalid_argument, "argument 1");
  EXPECT_EQ(buffer.read(), numbers(64));
  MASU_EXPECT_ERROR((void)made.kernel("none"), invalid_argument, "none");
}

TEST_P(ProgramTest, OpenClKindsOfArgumentsAreChecked) {
  if (!opencl()) GTEST_SKIP() << "CUDA tells no kinds";
  const test::ScopedEnv off("MASU_CACHE", "off");  // a program that was loaded need not tell its kinds
  const Program made = Program::from_source(Device::wrap_opencl(device.native_context(), device.native_device()),
                                            std::string("// compiled here\n") + opencl_program);
  Stream stream(device);
  Buffer<std::uint32_t> buffer = device.upload(numbers(64));
  Kernel add = made.kernel("add");
  MASU_EXPECT_ERROR(add(stream, 64, std::uint64_t{0}, 1U), invalid_argument,
                    "argument 0 (data) of add is a buffer (uint*), got u64");
  MASU_EXPECT_ERROR(add(stream, 64, buffer, buffer), invalid_argument,
                    "argument 1 (value) of add is uint, got a buffer of u32");
  Kernel reverse = made.kernel("reverse");
  MASU_EXPECT_ERROR(reverse(stream, 64, buffer, buffer), invalid_argument,
                    "argument 1 (shared) of reverse is local memory (uint*), got a buffer of u32");
}

TEST_P(ProgramTest, WrongSizesAreErrors) {
  const Program made = program();
  Kernel add = made.kernel("add");
  Stream stream(device);
  Buffer<std::uint32_t> buffer = device.upload(numbers(64));
  const std::size_t too_many = std::size_t{1} << 20;
  MASU_EXPECT_ERROR(add(stream, {too_many, too_many}, buffer, 1U), invalid_argument, "1048576");
  MASU_EXPECT_ERROR(add(stream, 0, buffer, 1U), invalid_argument, "global 0");
  MASU_EXPECT_ERROR(add(stream, NDRange::of({64, 2}, {8, 0}), buffer, 1U), invalid_argument, "local 0");
  Kernel reverse = made.kernel("reverse");
  MASU_EXPECT_ERROR(reverse(stream, {64, 64}, buffer, LocalMemory{std::size_t{1} << 30}), invalid_argument,
                    "1073741824");
  if (opencl()) MASU_EXPECT_ERROR(add(stream, {64, 48}, buffer, 1U), invalid_argument, "48");
  EXPECT_EQ(buffer.read(), numbers(64));
}

TEST_P(ProgramTest, BuildErrorsNameTheLine) {
  const std::string head = opencl() ? "kernel void f(global int* x) {" : "extern \"C\" __global__ void f(int* x) {";
  for (const bool own_name : {false, true}) {
    const std::string line = own_name ? "#line 41 \"my/file.cl\"\n" : "\n";
    try {
      (void)Program::from_source(device, line + head + "\n  x[0] = nonsense;\n}\n");
      ADD_FAILURE() << "it compiled";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::build_failed);
      EXPECT_THAT(error.what(), HasSubstr("nonsense"));
      EXPECT_THAT(error.what(),
                  own_name ? ::testing::ContainsRegex("my/file.cl[:(]42") : ::testing::ContainsRegex("[:(]3"));
    }
  }
  MASU_EXPECT_ERROR((void)Program::from_source(device, ""), build_failed, "");
  MASU_EXPECT_ERROR((void)Program::from_source(device, opencl() ? opencl_program : cuda_program, "--no-such-option"),
                    build_failed, "--no-such-option");
}

TEST_P(ProgramTest, OptionsReachTheCompiler) {
  const std::string text = opencl() ? "kernel void f(global int* x) { x[0] = VALUE; }"
                                    : "extern \"C\" __global__ void f(int* x) { x[0] = VALUE; }";
  Stream stream(device);
  Buffer<int> buffer = device.allocate<int>(1);
  Program::from_source(device, text, "-DVALUE=77").kernel("f")(stream, 1, buffer).wait();
  EXPECT_EQ(buffer.read().at(0), 77);
}

TEST_P(ProgramTest, ListsItsKernels) {
  EXPECT_THAT(program().kernel_names(), ::testing::UnorderedElementsAre("add", "where", "reverse", "vector"));
}

TEST_P(ProgramTest, BinariesLoad) {
  runtime::Device& implementation = *device.implementation();
  const std::string binary = implementation.compile(opencl() ? opencl_program : cuda_program, "")->binary();
  if (binary.empty()) GTEST_SKIP() << "the driver gives no binary";
  const auto loaded = implementation.load(binary);
  ASSERT_NE(loaded, nullptr);
  Kernel add(loaded->kernel("add"));
  Stream stream(device);
  Buffer<std::uint32_t> buffer = device.upload(numbers(64));
  add(stream, 64, buffer, 1U).wait();
  EXPECT_EQ(buffer.read().at(63), 64U);
  MASU_EXPECT_ERROR(add(stream, 64, buffer), invalid_argument, "add");
  EXPECT_EQ(implementation.load("no binary of any driver"), nullptr);
}

TEST_P(ProgramTest, ThreadsShareADeviceAndAProgram) {
  const Program shared = program();
  std::vector<std::thread> threads;
  std::vector<int> good(4, 0);
  for (std::size_t t = 0; t < good.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::uint32_t round = 0; round < 20; ++round) {
        Kernel add = (round % 2 == 0 ? shared : program()).kernel("add");
        Stream stream(device);
        Buffer<std::uint32_t> buffer = device.upload(std::vector<std::uint32_t>(1000, round));
        add(stream, 1000, buffer, static_cast<std::uint32_t>(t));
        stream.finish();
        good[t] += buffer.read() == std::vector<std::uint32_t>(1000, round + static_cast<std::uint32_t>(t)) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, std::vector<int>(4, 20));
}

TEST_P(ProgramTest, OutlivesItsDevice) {
  std::optional<Kernel> kernel;
  {
    const Device other = Device::open(device.id());
    kernel.emplace(Program::from_source(other, opencl() ? opencl_program : cuda_program).kernel("add"));
  }
  Stream stream(device);
  Buffer<std::uint32_t> buffer = device.upload(numbers(64));
  (*kernel)(stream, 64, buffer, 1U).wait();
  EXPECT_EQ(buffer.read().at(0), 1U);
}

TEST(ProgramOnCpu, IsUnsupported) {
  const Device cpu = Device::open("cpu");
  MASU_EXPECT_ERROR((void)Program::from_source(cpu, opencl_program), unsupported, "cpu");
}

TEST(ProgramOnSeveralDevices, KernelsRefuseForeignBuffersAndStreams) {
  const Device cpu = Device::open("cpu");
  for (const std::string& id : test::kernel_device_ids()) {
    const Device device = test::open_once(id);
    Kernel add =
        Program::from_source(device, device.kind() == DeviceKind::opencl ? opencl_program : cuda_program).kernel("add");
    Stream stream(device);
    Stream foreign(cpu);
    Buffer<std::uint32_t> buffer = cpu.allocate<std::uint32_t>(64);
    MASU_EXPECT_ERROR(add(stream, 64, buffer, 1U), invalid_argument, "");
    Buffer<std::uint32_t> own = device.allocate<std::uint32_t>(64);
    EXPECT_THROW(add(foreign, 64, own, 1U), Error);
  }
}

}  // namespace
}  // namespace masu
