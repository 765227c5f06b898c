// SPDX-License-Identifier: Apache-2.0
// NVRTC without a device: the prelude, masu's own kernels, errors, images.
#include "backends/cuda/module.h"
#include "expect_error.h"
#include "runtime/kernel_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace masu::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* own_options = "--std=c++17 --fmad=false -default-device";
constexpr const char* prelude_path = "src/backends/cuda/prelude.cuh";

class NvrtcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc().usable()) GTEST_SKIP() << "NVRTC is not here: " << nvrtc().why;
  }
};

// Every name of the prelude that masu's kernels may use.
constexpr const char* vocabulary = R"(
inline uint helper(__local const uint *words, __private uint i) { return words[i]; }
__kernel MASU_WORK_GROUP(64) void words(__global const uchar *restrict bytes, __global uint *result, const ulong count,
                                        __local uint *table, __local float *floats) {
  MASU_LOCAL_POINTER(uint, table);
  MASU_LOCAL_POINTER(float, floats);
  const size_t id = get_global_id(0) + get_global_offset(0);
  const uint lane = (uint)get_local_id(0);
  table[lane] = 0;
  floats[lane] = as_float(lane);
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  mem_fence(CLK_LOCAL_MEM_FENCE);
  read_mem_fence(CLK_GLOBAL_MEM_FENCE);
  write_mem_fence(CLK_LOCAL_MEM_FENCE);
  const uint4 v = masu_load_streaming((__global const uint4 *)bytes + id);
  MASU_PRAGMA_UNROLL
  for (int k = 0; k < 4; ++k) atomic_inc(&table[(v.x >> 8 * k) & 63]);
  atomic_add(&result[0], 2);
  atomic_sub(&result[1], 1u);
  atomic_dec(&result[1]);
  atomic_min(&result[2], lane);
  atomic_max(&result[3], lane);
  atomic_and(&result[4], lane);
  atomic_or(&result[5], lane);
  atomic_xor(&result[6], lane);
  atomic_xchg(&result[7], lane);
  atomic_xchg(&floats[0], 1.0f);
  atomic_cmpxchg(&result[8], 0, lane);
  atomic_add((volatile __global int *)result, -1);
  atom_add((__global ulong *)result, count);
  atom_inc((__global ulong *)result);
  const uchar4 b = vload4(lane, bytes);
  vstore4(make_uint4(b.x, b.y, b.z, b.w), lane, result + 1);
  const uint2 pair = vload2(0, result);
  vstore2(pair, 1, result);
  const uint x = clamp(lane, 1u, 7u) + min(lane, 3u) + max(lane, 9u) + mad24(lane, 3u, 1u) + mul24(lane, 2u);
  const uint y = popcount(x) + clz(x) + rotate(x, 5u) + mul_hi(x, x) + select(x, lane, lane > 3);
  const ulong z = popcount(count) + clz(count) + rotate(count, (ulong)9) + mul_hi(count, count);
  const double d = as_double(z) + convert_double(as_float(y));
  if (isnan(d) || d == (double)INFINITY) result[9] = convert_uint_rtz(as_float(as_int(y)));
  result[10] = as_uint(NAN) + (uint)as_ulong(d) + (uint)as_long(d) + UINT_MAX + (uint)INT_MAX + (uint)ULONG_MAX;
  result[11] = (uint)(get_global_size(0) + get_local_size(1) + get_num_groups(2) + get_group_id(0));
  result[12] = helper(table, lane);
}
#ifdef __OPENCL_VERSION__
#error "this is CUDA"
#endif
#if !MASU_CUDA
#error "MASU_CUDA must be 1"
#endif
)";

TEST_F(NvrtcTest, CompilesTheVocabularyOfThePrelude) {
  const std::string text = runtime::kernel_text(prelude_path) + vocabulary;
  for (const int architecture : {75, 80, 90}) {
    SCOPED_TRACE(architecture);
    const Compiled compiled = compile(nvrtc(), architecture, text, own_options);
    EXPECT_EQ(compiled.log, "");
    EXPECT_FALSE(compiled.image.ptx);
    EXPECT_EQ(compiled.image.local, LocalConvention::offset);
    EXPECT_THAT(entry_names(compiled.image), ElementsAre("words"));
  }
}

TEST_F(NvrtcTest, LocalAtomicsAndWideLoadsStayInTheirAddressSpace) {
  const std::string text = runtime::kernel_text(prelude_path) + R"(
__kernel void count(__global const uint4 *values, __global uint *result, __local uint *first, __local uint *second) {
  MASU_LOCAL_POINTER(uint, first);
  MASU_LOCAL_POINTER(uint, second);
  atomic_inc(&first[values[get_global_id(0)].x & 63]);
  atomic_inc(&second[masu_load_streaming(values + get_global_id(0)).y & 63]);
  barrier(CLK_LOCAL_MEM_FENCE);
  result[get_local_id(0)] = first[get_local_id(0)] + second[get_local_id(0)];
})";
  const std::string options = std::string(own_options) + " --gpu-architecture=compute_80";
  const Compiled compiled = compile(nvrtc(), 90, text, options);
  ASSERT_TRUE(compiled.image.ptx);
  EXPECT_THAT(entry_names(compiled.image), ElementsAre("count"));
  const std::string& ptx = compiled.image.bytes;
  EXPECT_THAT(ptx, HasSubstr("shared.add.u32"));
  EXPECT_THAT(ptx, HasSubstr("ld.shared.u32"));
  EXPECT_THAT(ptx, HasSubstr("ld.global.nc.L1::no_allocate.v4.u32"));
  EXPECT_THAT(ptx, ::testing::Not(HasSubstr("atom.add")));  // a generic one
}

TEST_F(NvrtcTest, CompilesAKernelAlone) {
  const std::string text = runtime::kernel_text(prelude_path) + R"(
inline uint helper(__local const uint *words) { return words[1]; }
__kernel MASU_WORK_GROUPS(64, 2) MASU_CLUSTERS(2) void first(__global uint *restrict data, __local uint *words) {
  MASU_LOCAL_POINTER(uint, words);
  data[0] = helper(words);
}
__kernel void second(__global uint *data) { data[0] = 1; }
)";
  for (const char* name : {"first", "second"}) {
    const Compiled compiled = compile(nvrtc(), 90, runtime::with_kernel_alone(text, name), own_options);
    EXPECT_EQ(compiled.log, "");
    EXPECT_THAT(entry_names(compiled.image), ElementsAre(name));
  }
}

TEST_F(NvrtcTest, AnErrorNamesTheLineAndTheFile) {
  const std::string text =
      runtime::kernel_text(prelude_path) + "\n#line 1 \"src/some/file.cl\"\n__kernel void k() {\n  oops;\n}\n";
  try {
    compile(nvrtc(), 90, text, own_options);
    FAIL() << "it compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::build_failed);
    EXPECT_THAT(error.what(), HasSubstr("src/some/file.cl(2): error"));
    EXPECT_THAT(error.what(), HasSubstr("oops"));
  }
}

TEST_F(NvrtcTest, AWrongOptionIsABuildError) {
  MASU_EXPECT_ERROR(compile(nvrtc(), 90, "extern \"C\" __global__ void k() {}", "--no-such-option"), build_failed,
                    "--no-such-option");
}

TEST_F(NvrtcTest, KernelNamesComeFromCubinsAndPtx) {
  const char* text =
      "__device__ __noinline__ int f(int x) { return x * x; }\n"
      "extern \"C\" __global__ void b(int *p) { *p = f(*p); }\n"
      "extern \"C\" __global__ void a() {}\n"
      "template <class T> __global__ void t(T *p) { *p = 0; }\n"
      "template __global__ void t<int>(int *);\n";
  for (const char* options : {"", "--gpu-architecture=compute_90"}) {
    const Compiled compiled = compile(nvrtc(), 90, text, options);
    EXPECT_EQ(compiled.image.ptx, *options != '\0');
    EXPECT_EQ(compiled.image.local, LocalConvention::dynamic);
    EXPECT_THAT(entry_names(compiled.image), ElementsAre("_Z1tIiEvPT_", "a", "b"));
  }
}

TEST_F(NvrtcTest, ADeviceNewerThanTheCompilerGetsPtx) {
  const char* text = "extern \"C\" __global__ void k() {}";
  EXPECT_TRUE(compile(nvrtc(), 999, text, "").image.ptx);
  MASU_EXPECT_ERROR(compile(nvrtc(), 20, text, ""), unsupported, "sm_20");
}

TEST_F(NvrtcTest, DefinesWithSpacesReachTheCompiler) {
  const char* text = "extern \"C\" __global__ void NAME(TYPE *p) { *p = 1; }";
  const Compiled compiled = compile(nvrtc(), 90, text, "-D NAME=k '-DTYPE=unsigned int'");
  EXPECT_THAT(entry_names(compiled.image), ElementsAre("k"));
}

TEST(NvrtcLoaderTest, AMissingPlaceIsNamed) {
  const Loaded<Nvrtc> missing = load_nvrtc("/nowhere/libnvrtc.so");
  EXPECT_FALSE(missing.usable());
  EXPECT_THAT(missing.why, HasSubstr("/nowhere/libnvrtc.so"));
  EXPECT_EQ(compiler_identity(missing), "no NVRTC");
  MASU_EXPECT_ERROR(compile(missing, 90, "", ""), unsupported, "NVRTC must be present");
}

TEST(CudaOptionsTest, SplitsAsAShellDoes) {
  EXPECT_THAT(split_options(""), ElementsAre());
  EXPECT_THAT(split_options("  -a   -b\t-c\n"), ElementsAre("-a", "-b", "-c"));
  EXPECT_THAT(split_options("-DX='a b' \"-D Y=\\\"z\\\"\" ''"), ElementsAre("-DX=a b", "-D Y=\"z\"", ""));
  EXPECT_THAT(split_options("a\\ b"), ElementsAre("a b"));
}

TEST(CudaImageTest, PacksAndUnpacks) {
  for (const bool ptx : {false, true}) {
    for (const LocalConvention local : {LocalConvention::dynamic, LocalConvention::offset}) {
      const Image image{ptx, local,
                        std::string("\x7f"
                                    "ELF\0\n bytes",
                                    12)};
      const std::optional<Image> again = unpack(pack(image));
      ASSERT_TRUE(again);
      EXPECT_EQ(again->ptx, ptx);
      EXPECT_EQ(again->local, local);
      EXPECT_EQ(again->bytes, image.bytes);
    }
  }
  EXPECT_FALSE(unpack(""));
  EXPECT_FALSE(unpack("masu-cuda-1 cubin dynamic\n"));
  EXPECT_FALSE(unpack("masu-cuda-2 cubin dynamic\nELF"));
  EXPECT_FALSE(unpack(std::string(100, '\0')));
}

TEST(CudaImageTest, NamesOfADamagedCubinAreNone) {
  EXPECT_THAT(entry_names({false, LocalConvention::dynamic,
                           "\x7f"
                           "ELF"}),
              ElementsAre());
  EXPECT_THAT(entry_names({false, LocalConvention::dynamic,
                           "\x7f"
                           "ELF" +
                               std::string(500, '\xff')}),
              ElementsAre());
  EXPECT_THAT(entry_names({true, LocalConvention::dynamic, ".entry"}), ElementsAre());
}

}  // namespace
}  // namespace masu::cuda
