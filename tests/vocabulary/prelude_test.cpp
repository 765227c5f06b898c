// SPDX-License-Identifier: Apache-2.0
// The names that masu's own kernels use, in the one language they are written in: OpenCL C behind masu's preludes. The
// same kernels and oracles on OpenCL and on CUDA; without a GPU they are compiled for several architectures.
#include "backends/cuda/module.h"
#include "backends/opencl/device.h"
#include "each_type.h"
#include "half.h"
#include "runtime/kernel_source.h"
#include "runtime/program_cache.h"

#include <fmt/format.h>
#include <masu/program.h>

#include <bit>
#include <cmath>
#include <limits>

namespace masu::vocabulary {
namespace {

constexpr std::size_t lanes = 64;
constexpr const char* family = "masu prelude";
const std::vector<Type> vector_types{types[1], types[3], types[4], types[5], types[8]};

Batch batch_of(std::string type) {
  Batch made{.family = family, .type = std::move(type)};
  made.lanes = lanes;
  made.language = Language::prelude;
  return made;
}

Batch vectors_of(const Type& type) {
  Batch made = batch_of(type.name);
  made.input = values(type, 1 + 4 * lanes);
  made.preamble = fmt::format("typedef {} T;\n", type.name);
  made.prologue = fmt::format(
      "  for (uint i = lane; i < {}; i += lanes) ((__local T *)pool)[i] = ((__global const T *)in)[i];\n  "
      "barrier(CLK_LOCAL_MEM_FENCE);",
      1 + 4 * lanes);
  for (const std::size_t width : {2, 4}) {
    const std::string vector = vector_name(type.name, width);
    const char* members = width == 2 ? "o[0] = v.x; o[1] = v.y;" : "o[0] = v.x; o[1] = v.y; o[2] = v.z; o[3] = v.w;";
    for (const auto& [space, pointer] :
         {std::pair{"global", "(__global const T *)in"}, {"local", "(__local const T *)pool"}}) {
      Case load{.name = fmt::format("vload{} from {}", width, space)};
      load.code = fmt::format(
          "    const {0} v = vload{1}(lane, {2} + 1);\n    __global T *o = (__global T *)out + {1} * lane;\n    {3}",
          vector, width, pointer, members);
      append_bytes(load.expected, std::span(made.input).subspan(type.size, width * lanes * type.size));
      made.cases.push_back(load);
    }
    Case store{.name = fmt::format("vstore{} to global", width)};
    store.code = fmt::format(
        "    {0} v;\n    __global const T *p = (__global const T *)in + {1} * lane;\n    v.x = p[0], v.y = p[1];\n{2}  "
        "  vstore{1}(v, lane, (__global T *)out + 1);",
        vector, width, width == 4 ? "    v.z = p[2], v.w = p[3];\n" : "");
    store.expected.assign((2 + width * lanes) * type.size, std::byte{0xa5});
    std::copy_n(made.input.begin(), width * lanes * type.size,
                store.expected.begin() + static_cast<std::ptrdiff_t>(type.size));
    made.cases.push_back(store);
  }
  return made;
}

// `expression` of x and y of a type in every work-item.
template <class T, class F>
void add(Batch& made, const std::string& expression, const char* type, const char* result, const F& oracle) {
  Case one{.name = fmt::format("{} of {}", expression, type)};
  one.code = fmt::format(
      "    const {0} x = ((__global const {0} *)in)[lane], y = ((__global const {0} *)in)[lanes + lane];\n    "
      "(void)y;\n    ((__global {1} *)out)[lane] = {2};",
      type, result, expression);
  for (std::size_t i = 0; i < lanes; ++i) {
    append(one.expected, oracle(value_at<T>(made.input, i), value_at<T>(made.input, lanes + i)));
  }
  made.cases.push_back(one);
}

template <class T>
Batch integers_of(const char* type, const char* other) {
  using S = std::make_signed_t<T>;
  Batch made = batch_of(type);
  for (std::size_t i = 0; i < 2 * lanes; ++i) append(made.input, static_cast<T>(hash(i) >> (i % 61)));
  add<T>(made, "popcount(x)", type, type, [](T x, T) { return static_cast<T>(std::popcount(x)); });
  add<T>(made, "clz(x)", type, type, [](T x, T) { return static_cast<T>(std::countl_zero(x)); });
  add<T>(made, fmt::format("rotate(x, y & ({})63)", type), type, type,
         [](T x, T y) { return std::rotl(x, static_cast<int>(y & 63U)); });
  add<T>(made, "mul_hi(x, y)", type, type, [](T x, T y) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<T>(static_cast<Wide>(x) * y >> (8 * sizeof(T)));
  });
  add<T>(made, "min(x, y)", type, type, [](T x, T y) { return std::min(x, y); });
  add<T>(made, "max(x, y)", type, type, [](T x, T y) { return std::max(x, y); });
  add<T>(made, fmt::format("clamp(x, ({0})100, ({0})100000)", type), type, type,
         [](T x, T) { return std::clamp(x, T{100}, T{100000}); });
  add<T>(made, fmt::format("select(x, y, ({})(x & 1))", type), type, type,
         [](T x, T y) { return (x & 1U) != 0 ? y : x; });
  add<T>(made, fmt::format("as_{}(x)", other), type, other, [](T x, T) { return static_cast<S>(x); });
  add<T>(made, "convert_uchar(x & 255)", type, "uchar", [](T x, T) { return static_cast<std::uint8_t>(x); });
  add<T>(made, "convert_float(x & 0xffffff)", type, "float", [](T x, T) { return static_cast<float>(x & 0xffffffU); });
  if (sizeof(T) == 4) {
    add<T>(made, "mul24(x & 0xfff, y & 0xfff)", type, type, [](T x, T y) { return (x & 0xfffU) * (y & 0xfffU); });
    add<T>(made, "mad24(x & 0xfff, y & 0xfff, x)", type, type,
           [](T x, T y) { return (x & 0xfffU) * (y & 0xfffU) + x; });
  }
  return made;
}

Batch floats() {
  Batch made = batch_of("float");
  const float infinity = std::numeric_limits<float>::infinity();
  const float specials[] = {0, -0.0F, 1, -1.5F, infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), 3e9F};
  for (std::size_t i = 0; i < 2 * lanes; ++i) append(made.input, specials[(i < lanes ? i : i / 8) % 8]);
  const auto truth = [&](const std::string& expression, auto oracle) {
    add<float>(made, expression, "float", "int", [&](float x, float y) { return std::int32_t{oracle(x, y)}; });
  };
  truth("isnan(x) ? 1 : 0", [](float x, float) { return std::isnan(x); });
  truth("isinf(x) ? 1 : 0", [](float x, float) { return std::isinf(x); });
  truth("x == INFINITY", [=](float x, float) { return x == infinity; });
  truth("NAN == NAN", [](float, float) { return false; });
  truth("x < y", [](float x, float y) { return x < y; });
  add<float>(made, "as_uint(x)", "float", "uint", [](float x, float) { return std::bit_cast<std::uint32_t>(x); });
  add<float>(made, "convert_uint_rtz(clamp(x, 0.0f, 2e9f))", "float", "uint",
             [](float x, float) { return std::isnan(x) ? 0U : static_cast<std::uint32_t>(std::clamp(x, 0.0F, 2e9F)); });
  made.cases.pop_back();  // of NaN clamp is undefined
  add<float>(made, "convert_int_rtz(x > -2.0f && x < 2.0f ? x : 7.9f)", "float", "int",
             [](float x, float) { return static_cast<std::int32_t>(x > -2 && x < 2 ? x : 7.9F); });
  return made;
}

Batch atomics_of(const char* type, bool has_64_bit) {
  Batch made = batch_of(type);
  made.groups = 4;
  made.preamble = fmt::format(
      "#ifdef cl_khr_int64_base_atomics\n#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n#endif\ntypedef "
      "{} T;\n",
      type);
  const auto all = static_cast<std::int32_t>(lanes * made.groups);
  const std::int32_t sum = all * (all - 1) / 2;
  struct Operation {
    const char* call;
    std::int32_t start;
    std::int32_t end;
  };
  const Operation operations[] = {
      {"atomic_add(cell, id)", 5, 5 + sum},
      {"atomic_sub(cell, id)", 5, 5 - sum},
      {"atomic_inc(cell)", 5, 5 + all},
      {"atomic_dec(cell)", 5, 5 - all},
      {"atomic_min(cell, id)", 77, 0},
      {"atomic_max(cell, id)", 5, all - 1},
      {"atomic_or(cell, id)", 0, all - 1},
      {"atomic_and(cell, ~id)", -1, ~(all - 1)},
      {"atomic_xor(cell, id)", 5, 5},
      {"atomic_xchg(cell, (T)9)", 5, 9},
      {"atomic_cmpxchg(cell, (T)5, (T)100 + id / 1000)", 5, 100},
  };
  for (const Operation& operation : operations) {
    Case global{.name = fmt::format("{} on global memory", operation.call)};
    global.code = fmt::format(
        "    const T id = (T)get_global_id(0);\n    __global volatile T *cell = (__global volatile T *)out;\n    "
        "(void)id;\n    {};",
        operation.call);
    append(global.initial, operation.start);
    append(global.expected, operation.end);
    made.cases.push_back(global);
    Case local{.name = fmt::format("{} on local memory", operation.call)};  // the ids of all groups, in each group
    local.code = fmt::format(
        "    __local volatile T *cell = (__local volatile T *)pool;\n    if (lane == 0) *cell = (T){};\n    "
        "barrier(CLK_LOCAL_MEM_FENCE);\n    for (uint k = 0; k < {}; k++) {{\n      const T id = (T)(k * lanes + "
        "lane);\n      (void)id;\n      {};\n    }}\n    barrier(CLK_LOCAL_MEM_FENCE);\n    if (lane == 0) ((__global "
        "T *)out)[group] = *cell;\n    barrier(CLK_LOCAL_MEM_FENCE);",
        operation.start, made.groups, operation.call);
    for (std::size_t g = 0; g < made.groups; ++g) append(local.expected, operation.end);
    made.cases.push_back(local);
  }
  Case exchange{.name = "atomic_xchg of float"};
  exchange.code =
      "    if (get_global_id(0) == 0) ((__global float *)out)[1] = atomic_xchg((__global volatile float *)out, 2.5f);";
  exchange.initial = bytes_of(std::vector<float>{-1.25F, 0});
  exchange.expected = bytes_of(std::vector<float>{2.5F, -1.25F});
  made.cases.push_back(exchange);
  if (has_64_bit) {
    Case wide{.name = "atom_add and atom_inc of ulong"};
    wide.code =
        "    atom_add((__global volatile ulong *)out, 0x123456789UL);\n    atom_inc((__global volatile ulong *)out + "
        "1);";
    wide.initial = bytes_of(std::vector<std::uint64_t>{1, ~std::uint64_t{0}});
    wide.expected = bytes_of(std::vector<std::uint64_t>{1 + 0x123456789U * static_cast<std::uint64_t>(all),
                                                        static_cast<std::uint64_t>(all) - 1});
    made.cases.push_back(wide);
  }
  return made;
}

Batch places() {
  Batch made = batch_of("");
  made.groups = 4;
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  made.input = bytes_of(halves);
  const std::size_t items = lanes * made.groups;
  const auto in_all = [&](std::string name, std::string code, auto oracle, Match match = Match::bits) {
    Case one{.name = std::move(name), .code = std::move(code), .match = match};
    for (std::size_t i = 0; i < items; ++i) append(one.expected, oracle(i));
    made.cases.push_back(one);
  };
  in_all("work-item functions",
         "    ((__global uint *)out)[get_global_id(0)] = (uint)(get_group_id(0) * 1000000 + get_local_id(0) * 1000 + "
         "get_num_groups(0) * 100 + get_local_size(1) * 10 + get_global_size(0) / get_local_size(0)) + "
         "(uint)get_global_offset(0);",
         [&](std::size_t i) { return static_cast<std::uint32_t>(i / lanes * 1000000 + i % lanes * 1000 + 410 + 4); });
  in_all("barrier and local memory",
         "    ((__local uint *)pool)[lane] = (uint)get_global_id(0);\n    barrier(CLK_LOCAL_MEM_FENCE | "
         "CLK_GLOBAL_MEM_FENCE);\n    ((__global uint *)out)[get_global_id(0)] = ((__local uint *)pool)[lanes - 1 - "
         "lane];",
         [&](std::size_t i) { return static_cast<std::uint32_t>(i / lanes * lanes + lanes - 1 - i % lanes); });
  in_all("masu_load_streaming",
         "    const uint4 v = masu_load_streaming((__global const uint4 *)in + get_global_id(0));\n    ((__global uint "
         "*)out)[get_global_id(0)] = v.x ^ v.w;",
         [&](std::size_t i) {
           return value_at<std::uint32_t>(made.input, 4 * i) ^ value_at<std::uint32_t>(made.input, 4 * i + 3);
         });
  Case half{.name = "masu_half_value of every half", .match = Match::f32};
  half.code =
      "    for (uint i = (uint)get_global_id(0); i < 65536; i += (uint)get_global_size(0)) {\n      ((__global float "
      "*)out)[i] = masu_half_value(((__global const ushort *)in)[i]);\n    }";
  for (const std::uint16_t bits : halves) append(half.expected, static_cast<float>(half_value(bits)));
  made.cases.push_back(half);
  Case last{.name = "fences around a counter"};
  last.code = R"(    __global volatile uint *cells = (__global volatile uint *)out;
    if (lane == 0) {
      atomic_xchg(cells + 2 + group, 100u + group);
      mem_fence(CLK_GLOBAL_MEM_FENCE);
      if (atomic_inc(cells) == 3) {
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        uint sum = 0;
        for (uint g = 0; g < 4; g++) sum += atomic_or(cells + 2 + g, 0u);
        cells[1] = sum;
      }
    }
    read_mem_fence(CLK_LOCAL_MEM_FENCE);
    write_mem_fence(CLK_LOCAL_MEM_FENCE);)";
  last.initial = bytes_of(std::vector<std::uint32_t>(6, 0));
  last.expected = bytes_of(std::vector<std::uint32_t>{4, 406, 100, 101, 102, 103});
  made.cases.push_back(last);
  Case limits{.name = "UINT_MAX and its like"};
  limits.code = R"(    if (get_global_id(0) == 0) {
      __global ulong *o = (__global ulong *)out;
      o[0] = UINT_MAX, o[1] = INT_MAX, o[2] = (ulong)(long)INT_MIN, o[3] = ULONG_MAX, o[4] = LONG_MAX, o[5] = (ulong)LONG_MIN;
    })";
  limits.expected = bytes_of(std::vector<std::uint64_t>{0xffffffffU, 0x7fffffffU, 0xffffffff80000000U,
                                                        ~std::uint64_t{0}, 0x7fffffffffffffffU, 0x8000000000000000U});
  made.cases.push_back(limits);
  return made;
}

std::vector<Batch> batches(bool has_64_bit) {
  std::vector<Batch> all;
  for (const Type& type : vector_types) all.push_back(vectors_of(type));
  all.push_back(integers_of<std::uint32_t>("uint", "int"));
  all.push_back(integers_of<std::uint64_t>("ulong", "long"));
  all.push_back(floats());
  all.push_back(atomics_of("int", has_64_bit));
  all.push_back(atomics_of("uint", false));
  all.push_back(places());
  return all;
}

class Prelude : public test::EachDevice {};
MASU_ON_EACH_KERNEL_DEVICE(Prelude);

TEST_P(Prelude, SameNamesSameBits) {
  const bool has_64_bit = device.kind() == DeviceKind::cuda ||
                          opencl::device_text(static_cast<cl_device_id>(device.native_device()), CL_DEVICE_EXTENSIONS)
                                  .find("cl_khr_int64_base_atomics") != std::string::npos;
  for (const Batch& batch : batches(has_64_bit)) run(device, batch);
}

TEST_P(Prelude, ThreeDimensions) {
  runtime::Device& implementation = *device.implementation();
  const std::string text = std::string(implementation.prelude()) + R"(
__kernel void place(__global uint *out) {
  const size_t at = (get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0);
  out[at] = (uint)(get_local_id(0) + 10 * get_local_id(1) + 100 * get_local_id(2) + 1000 * get_group_id(0) +
                   10000 * get_group_id(1) + 100000 * get_group_id(2));
}
)";
  Kernel place(runtime::cached_program(implementation, text, implementation.kernel_options())->kernel("place"));
  Stream stream(device);
  Buffer<std::uint32_t> out = device.allocate<std::uint32_t>(12 * 6 * 4);
  place(stream, NDRange::of({12, 6, 4}, {4, 3, 2}), out);
  stream.finish();
  const std::vector<std::uint32_t> got = out.read();
  std::string complaint;
  for (std::uint32_t i = 0; i < got.size(); ++i) {
    const std::uint32_t x = i % 12;
    const std::uint32_t y = i / 12 % 6;
    const std::uint32_t z = i / 72;
    const std::uint32_t want =
        x % 4 + 10 * (y % 3) + 100 * (z % 2) + 1000 * (x / 4) + 10000 * (y / 3) + 100000 * (z / 2);
    if (got[i] != want) complaint = fmt::format("work-item {}: expected {}, got {}", i, want, got[i]);
  }
  judge(device, family, "", "work-item functions in three dimensions", complaint);
}

TEST(PreludeOnCuda, CompilesWithoutAGpu) {
  if (!cuda::nvrtc().usable()) GTEST_SKIP() << "NVRTC is not here: " << cuda::nvrtc().why;
  const std::string prelude = runtime::kernel_text("src/backends/cuda/prelude.cuh");
  for (const int architecture : {75, 90}) {
    for (const Batch& batch : batches(true)) {
      try {
        (void)cuda::compile(cuda::nvrtc(), architecture, prelude + kernel_text(batch, batch.cases, true, true),
                            "--std=c++17 --fmad=false -default-device");
      } catch (const Error& error) {
        ADD_FAILURE() << batch.type << ", sm_" << architecture << ": " << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace masu::vocabulary
