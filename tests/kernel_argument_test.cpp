// SPDX-License-Identifier: Apache-2.0
// Arguments of every kind and width on every device that runs kernels, what kernels tell of themselves, and what the
// program cache keeps of that.
#include <masu/program.h>

#include "each_device.h"
#include "expect_error.h"
#include "runtime/kernel_signature.h"
#include "scoped_env.h"
#include "temporary_directory.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace masu {
namespace {

using ::testing::HasSubstr;
using Kind = KernelParameter::Kind;

constexpr const char* opencl_text = R"(
#warning masu says hello
typedef struct { float x; int y; } pair;
kernel void scale(global float4* data, const float factor, const uint n, local float* part, constant uchar* bytes) {
  const size_t i = get_global_id(0);
  part[get_local_id(0)] = factor;
  if (i < n) data[i] = data[i] * part[get_local_id(0)] + bytes[0];
}
kernel void both(global float* out, pair p, float3 v) { out[0] = p.x + p.y + v.x + 2 * v.y + 3 * v.z; }
)";

// The first kernel is C++ to CUDA, so its symbol has its types.
constexpr const char* cuda_text = R"(
#warning masu says hello
struct pair { float x; int y; };
__global__ void scale(float4* data, const float factor, const unsigned n, const unsigned char* bytes) {
  extern __shared__ float part[];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = factor;
  if (i >= n) return;
  data[i].x = data[i].x * part[threadIdx.x] + bytes[0];
  data[i].y = data[i].y * part[threadIdx.x] + bytes[0];
  data[i].z = data[i].z * part[threadIdx.x] + bytes[0];
  data[i].w = data[i].w * part[threadIdx.x] + bytes[0];
}
extern "C" __global__ void both(float* out, pair p, float3 v) { out[0] = p.x + p.y + v.x + 2 * v.y + 3 * v.z; }
)";

class KernelArgumentTest : public test::EachDevice {
 protected:
  [[nodiscard]] bool opencl() const { return device.kind() == DeviceKind::opencl; }
  [[nodiscard]] const char* text() const { return opencl() ? opencl_text : cuda_text; }
  // The same device with nothing in its memory: it has programs from the disk.
  [[nodiscard]] Device next_process() const {
    return opencl() ? Device::wrap_opencl(device.native_context(), device.native_device())
                    : Device::wrap_cuda(device.native_context());
  }
  // Local memory is the fourth argument of `scale`, everywhere.
  Event scale(Kernel& kernel, const KernelArgument& data, const KernelArgument& factor, const KernelArgument& n,
              const KernelArgument& bytes) {
    const std::array<KernelArgument, 5> arguments{data, factor, n, LocalMemory{32 * sizeof(float)}, bytes};
    return kernel.launch(stream, {64, 32}, arguments);
  }
  Stream stream{device};
};
MASU_ON_EACH_KERNEL_DEVICE(KernelArgumentTest);

TEST_P(KernelArgumentTest, ParametersAndLogAreToldByTheCacheToo) {
  const test::TemporaryDirectory root;
  const test::ScopedEnv xdg("XDG_CACHE_HOME", root.path().c_str());
  const test::ScopedEnv on("MASU_CACHE", nullptr);
  const Program compiled = Program::from_source(next_process(), text());
  const Program loaded = Program::from_source(next_process(), text());
  // NVIDIA's OpenCL driver has a cache of its own, and no log of what comes from there.
  if (!opencl() || device.info().vendor.find("NVIDIA") == std::string::npos) {
    EXPECT_THAT(compiled.log(), HasSubstr("masu says hello"));
  }
  EXPECT_EQ(loaded.log(), compiled.log());
  EXPECT_THAT(loaded.kernel_names(), ::testing::UnorderedElementsAre("scale", "both"));
  for (const char* name : {"scale", "both"}) {
    EXPECT_EQ(loaded.kernel(name).parameters(), compiled.kernel(name).parameters()) << name;
  }
  const Kernel kernel = loaded.kernel("scale");
  const std::vector<KernelParameter>& told = kernel.parameters();
  std::vector<KernelParameter> wanted;
  const auto want = [&](Kind kind, const char* type, const char* name, std::size_t bytes) {
    wanted.push_back({kind, type, opencl() ? name : "", bytes});
  };
  const std::size_t pointer = opencl() ? 0 : sizeof(void*);
  want(Kind::buffer, "float4*", "data", pointer);
  want(Kind::value, "float", "factor", 4);
  want(Kind::value, "unsigned int", "n", 4);
  if (opencl()) want(Kind::local, "float*", "part", 0);
  want(Kind::buffer, "unsigned char*", "bytes", pointer);
  ASSERT_EQ(told.size(), wanted.size());
  for (std::size_t i = 0; i < told.size(); ++i) {  // drivers write types with other spaces and qualifiers
    const runtime::DeclaredType type = runtime::declared_type(told[i].type);
    EXPECT_EQ(type.scalar_or_vector, runtime::declared_type(wanted[i].type).scalar_or_vector) << told[i].type;
    EXPECT_EQ(type.pointer, runtime::declared_type(wanted[i].type).pointer) << told[i].type;
    EXPECT_EQ(told[i].kind, wanted[i].kind) << i;
    EXPECT_EQ(told[i].name, wanted[i].name);
    EXPECT_EQ(told[i].bytes == 0 ? wanted[i].bytes : told[i].bytes, wanted[i].bytes) << i;  // an old driver tells none
  }
}

TEST_P(KernelArgumentTest, TypesAreComparedBeforeTheLaunch) {
  Kernel kernel = Program::from_source(device, text()).kernel("scale");
  const std::vector<float> ones(256, 1.0F);
  const Buffer<float> data = device.upload(ones);
  const Buffer<std::uint8_t> bytes = device.upload(std::vector<std::uint8_t>(4, 3));
  const Buffer<std::uint32_t> words = device.upload(std::vector<std::uint32_t>(256, 0));
  MASU_EXPECT_ERROR(scale(kernel, data, 2, 64, bytes), invalid_argument, " of scale is float, got i32");
  MASU_EXPECT_ERROR(scale(kernel, data, 2.0, 64, bytes), invalid_argument, " of scale is float, got f64");
  MASU_EXPECT_ERROR(scale(kernel, data, 2.0F, 64.0F, bytes), invalid_argument, "got f32");
  MASU_EXPECT_ERROR(scale(kernel, data, 2.0F, std::size_t{64}, bytes), invalid_argument, "got u64");
  MASU_EXPECT_ERROR(scale(kernel, words, 2.0F, 64, bytes), invalid_argument, "got a buffer of u32");
  MASU_EXPECT_ERROR(scale(kernel, data, 2.0F, 64, words), invalid_argument, "got a buffer of u32");
  MASU_EXPECT_ERROR(scale(kernel, data, Vector<float, 2>{1, 2}, 64, bytes), invalid_argument, "got f32x2");
  MASU_EXPECT_ERROR(scale(kernel, data, bytes, 64, bytes), invalid_argument, "got a buffer of u8");
  MASU_EXPECT_ERROR(kernel.launch(stream, 64, {}), invalid_argument, "scale takes");
  EXPECT_EQ(data.read(), ones);
  scale(kernel, data, 2.0F, 64, bytes).wait();  // the literal is signed, the buffer is of floats
  EXPECT_EQ(data.read(), std::vector<float>(256, 5.0F));
  const Buffer<Vector<float, 4>> vectors = device.upload(std::vector<Vector<float, 4>>(64));
  scale(kernel, vectors, 2.0F, 64U, static_cast<const BufferBase&>(words)).wait();
}

TEST_P(KernelArgumentTest, StructuresAndVectorsOfThree) {
  struct Pair {
    float x;
    std::int32_t y;
  };
  Kernel both = Program::from_source(device, text()).kernel("both");
  Buffer<float> out = device.allocate<float>(1);
  both(stream, 1, out, Pair{0.5F, 2}, Vector<float, 3>{10, 100, 1000}).wait();
  EXPECT_EQ(out.read().at(0), 3212.5F);
  MASU_EXPECT_ERROR(both(stream, 1, out, Pair{0.5F, 2}, std::array<float, 5>{}), invalid_argument, "argument 2");
}

TEST_P(KernelArgumentTest, KernelsWithoutArguments) {
  const char* source = opencl() ? "kernel void none(void) {}" : "extern \"C\" __global__ void none() {}";
  Kernel none = Program::from_source(device, source).kernel("none");
  EXPECT_TRUE(none.parameters().empty());
  none(stream, NDRange::of(std::vector<std::size_t>{4, 2, 3}, std::vector<std::size_t>{2, 2, 1})).wait();
  MASU_EXPECT_ERROR(none(stream, 1, 1), invalid_argument, "none takes 0 arguments, got 1");
}

// A kernel writes back the elements of a vector that it was given.
template <class T, std::size_t N>
void expect_passes(const Device& device, Stream& stream, const std::string& scalar) {
  const std::string vector = scalar + std::to_string(N);
  const bool opencl = device.kind() == DeviceKind::opencl;
  std::string text = opencl ? "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\nkernel void f(global " + scalar +
                                  "* out, " + vector + " v) {\n"
                            : "extern \"C\" __global__ void f(" + scalar + "* out, " + vector + " v) {\n";
  for (std::size_t i = 0; i < N; ++i) {
    const std::string member = opencl ? std::string("s") + "0123456789abcdef"[i] : std::string(1, "xyzw"[i]);
    text += "  out[" + std::to_string(i) + "] = v." + member + ";\n";
  }
  Kernel kernel = Program::from_source(device, text + "}\n").kernel("f");
  Vector<T, N> v;
  for (std::size_t i = 0; i < N; ++i) v[i] = static_cast<T>(3 * i + 1);
  Buffer<T> out = device.allocate<T>(N);
  kernel(stream, 1, out, v).wait();
  EXPECT_EQ(out.read(), std::vector<T>(v.elements, v.elements + N)) << vector;
}

TEST_P(KernelArgumentTest, VectorsOfEveryWidth) {
  expect_passes<float, 2>(device, stream, "float");
  expect_passes<float, 3>(device, stream, "float");
  expect_passes<float, 4>(device, stream, "float");
  expect_passes<std::int16_t, 3>(device, stream, "short");
  if (device.info().fp64) expect_passes<double, 2>(device, stream, "double");
  if (!opencl()) return;
  expect_passes<float, 8>(device, stream, "float");
  expect_passes<float, 16>(device, stream, "float");
  expect_passes<std::int8_t, 2>(device, stream, "char");
  expect_passes<std::uint8_t, 3>(device, stream, "uchar");
  expect_passes<std::uint16_t, 8>(device, stream, "ushort");
  expect_passes<std::int32_t, 16>(device, stream, "int");
  expect_passes<std::uint32_t, 3>(device, stream, "uint");
  expect_passes<std::int64_t, 4>(device, stream, "long");
  expect_passes<std::uint64_t, 16>(device, stream, "ulong");
  if (device.info().fp64) expect_passes<double, 16>(device, stream, "double");
}

// A launch leaves out what is set already; new memory may have the address of memory that is gone.
TEST_P(KernelArgumentTest, WhatWasSetBeforeIsNotMistakenForTheNew) {
  const Program program = Program::from_source(
      device, opencl() ? "kernel void f(global uint* x, uint by) { x[get_global_id(0)] += by; }"
                       : "extern \"C\" __global__ void f(unsigned* x, unsigned by) { x[threadIdx.x] += by; }");
  Kernel kernel = program.kernel("f");
  std::optional<Buffer<std::uint32_t>> buffer;
  std::uint32_t first = 0;  // what the two launches' elements should hold
  std::uint32_t middle = 0;
  for (std::uint32_t round = 0; round < 60; ++round) {
    if (round % 3 == 0) {
      buffer.reset();
      buffer.emplace(device.upload(std::vector<std::uint32_t>(2048, round)));
      first = middle = round;
    }
    Buffer<std::uint32_t> end = buffer->slice(1024, 1024);
    const std::uint32_t by = round / 2;
    kernel(stream, {64, 64}, *buffer, by);
    kernel(stream, {64, 64}, end, by + 1);
    kernel(stream, {64, 64}, *buffer, by + 1);
    first += 2 * by + 1;
    middle += by + 1;
    stream.finish();
    const std::vector<std::uint32_t> got = buffer->read();
    ASSERT_EQ(got[0], first) << round;
    ASSERT_EQ(got[1024], middle) << round;
    ASSERT_EQ(got.back(), round / 3 * 3) << round;
  }
}

}  // namespace
}  // namespace masu
