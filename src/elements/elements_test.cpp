// SPDX-License-Identifier: Apache-2.0
// The kernels' half of elements, their order and group scans against the host's half, on every device with kernels.
#include "elements/elements.h"
#include "call/launcher.h"
#include "each_device.h"
#include "elements/order.h"
#include "runtime/backend.h"
#include "runtime/kernel_source.h"
#include "runtime/program_cache.h"

#include <gtest/gtest.h>
#include <masu/program.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace masu {
namespace {

constexpr unsigned group = 64;

constexpr std::string_view kernels = R"(
__kernel MASU_WORK_GROUP(MASU_GROUP) void order(__global const uchar *data, __global ulong *keys, __global uchar *back,
                                                const uint count) {
  for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
    keys[i] = ordered_key(element_at(data, i));
    set_element(back, i, bits_of_key((MASU_BITS)keys[i]));
  }
}
// Vectors as bytes: whole ones from element `first` on, then those of `count` elements.
__kernel MASU_WORK_GROUP(MASU_GROUP) void vectors(__global const uchar *memory, const uint first, const uint count,
                                                  __global uint *whole, __global uint *cut) {
  __global const uchar *data = memory + first * MASU_ELEMENT_BYTES;
  const uint i = (uint)get_global_id(0);
  const uint4 a = load_elements(data + i * 16);
  whole[4 * i] = a.x, whole[4 * i + 1] = a.y, whole[4 * i + 2] = a.z, whole[4 * i + 3] = a.w;
  const uint4 b = load_vector(data, gap_of(data), count, i);
  cut[4 * i] = b.x, cut[4 * i + 1] = b.y, cut[4 * i + 2] = b.z, cut[4 * i + 3] = b.w;
}
#if MASU_STORED
__kernel MASU_WORK_GROUP(MASU_GROUP) void values(__global float *out) {
  for (uint i = (uint)get_global_id(0); i < 65536; i += (uint)get_global_size(0)) out[i] = masu_stored_value(i);
}
#endif
__kernel MASU_WORK_GROUP(MASU_GROUP) void scan(__global const uint *in, __global uint *out, __global uint *totals,
                                               __local uint *sums) {
  MASU_LOCAL_POINTER(uint, sums);
  for (uint round = 0; round < 2; ++round) {
    uint all;
    out[round * MASU_GROUP + get_local_id(0)] =
        group_scan(in[round * MASU_GROUP + get_local_id(0)], MASU_GROUP, sums, (uint)get_local_id(0), &all);
    barrier(CLK_LOCAL_MEM_FENCE);
    add_total(totals, all + ((ulong)1 << 33));
  }
}
)";

class ElementsTest : public test::EachDevice {
 protected:
  Kernel kernel(Dtype dtype, std::string_view name) const {
    return kernel(element_defines(dtype, {{"MASU_GROUP", group}}), name);
  }
  Kernel kernel(const std::vector<runtime::Define>& defines, std::string_view name) const {
    constexpr std::array<std::string_view, 4> files = {"src/elements/elements.cl", "src/elements/order.cl",
                                                       "src/elements/group_scan.cl", "src/elements/totals.cl"};
    runtime::Device& implementation = *device.implementation();
    const std::string text = runtime::own_program_text(implementation.prelude(), files, defines) + std::string(kernels);
    return Kernel(runtime::cached_program(implementation, text, implementation.kernel_options())->kernel(name));
  }
};
MASU_ON_EACH_KERNEL_DEVICE(ElementsTest);

// All patterns of narrow types; of wide ones those around ends, zeros, infinities and NaNs.
template <class T>
std::vector<T> patterns() {
  std::vector<KeyOf<T>> bits;
  if constexpr (sizeof(T) < 4) {
    bits.resize(std::size_t{1} << (8 * sizeof(T)));
    std::iota(bits.begin(), bits.end(), KeyOf<T>{0});
  } else {
    const auto infinity = static_cast<KeyOf<T>>(infinity_bits<T>);
    for (const KeyOf<T> sign : {KeyOf<T>{0}, key_sign<T>}) {
      for (const KeyOf<T> near :
           {KeyOf<T>{0}, infinity, static_cast<KeyOf<T>>(infinity / 2), static_cast<KeyOf<T>>(key_sign<T> - 1)}) {
        for (int d = -3; d <= 3; ++d) bits.push_back(static_cast<KeyOf<T>>(sign ^ (near + static_cast<KeyOf<T>>(d))));
      }
    }
  }
  std::vector<T> result(bits.size());
  std::memcpy(result.data(), bits.data(), bits.size() * sizeof(T));
  return result;
}

template <class T>
bool stands_before(T a, T b) {  // in sort.h's words
  if constexpr (is_float_type<T>) {
    const double x = to_f64(a);
    const double y = to_f64(b);
    return x < y || (x == x && y != y);
  } else {
    return a < b;
  }
}

TEST(Order, KeysAreOrderedAsValuesAre) {
  const auto check = []<class T>(T) {
    std::vector<T> values = patterns<T>();
    for (const T value : values) {
      const KeyOf<T> key = ordered_key(value);
      EXPECT_EQ(ordered_key(value_of_key<T>(key)), key);
      EXPECT_EQ(is_float_type<T> && key == std::numeric_limits<KeyOf<T>>::max(),
                is_float_type<T> && to_f64(value) != to_f64(value));
    }
    std::sort(values.begin(), values.end(), [](T a, T b) { return ordered_key(a) < ordered_key(b); });
    for (std::size_t i = 1; i < values.size(); ++i) {
      EXPECT_FALSE(stands_before(values[i], values[i - 1]));
      EXPECT_EQ(ordered_key(values[i - 1]) == ordered_key(values[i]), !stands_before(values[i - 1], values[i]));
    }
  };
  check(std::uint8_t{}), check(std::int8_t{}), check(std::uint16_t{}), check(std::int16_t{});
  check(std::uint32_t{}), check(std::int32_t{}), check(std::uint64_t{}), check(std::int64_t{});
  check(Half{}), check(float{}), check(double{});
}

TEST_P(ElementsTest, OrderIsTheHosts) {
  for (const Dtype dtype : {Dtype::i8, Dtype::u16, Dtype::f16, Dtype::i32, Dtype::f32, Dtype::u64, Dtype::f64}) {
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const std::vector<T> values = patterns<T>();
      const Buffer<T> data = device.upload(values);
      Buffer<std::uint64_t> keys(device, values.size());
      Buffer<T> back(device, values.size());
      Stream stream(device);
      kernel(dtype, "order")(stream, {4 * group, group}, KernelArgument(data, {}), keys, KernelArgument(back, {}),
                             static_cast<std::uint32_t>(values.size()));
      stream.finish();
      const std::vector<std::uint64_t> found = keys.read();
      const std::vector<T> again = back.read();
      for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_EQ(found[i], ordered_key(values[i])) << to_string(dtype) << ' ' << i;
        if (found[i] != std::numeric_limits<KeyOf<T>>::max() || !is_float_type<T>) {
          EXPECT_EQ(std::bit_cast<KeyOf<T>>(again[i]), std::bit_cast<KeyOf<T>>(value_of_key<T>(found[i])))
              << to_string(dtype) << ' ' << i;
        }
      }
    });
  }
}

TEST_P(ElementsTest, VectorsAtAnyElement) {
  std::vector<std::uint8_t> memory((group + 2) * 16);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::uint8_t>(i * 37 + i / 251);
  const Buffer<std::uint8_t> data = device.upload(memory);
  for (const Dtype dtype : {Dtype::u8, Dtype::f16, Dtype::i32, Dtype::f64}) {
    const std::size_t size = size_of(dtype);
    Kernel vectors = kernel(dtype, "vectors");
    for (std::size_t first = 0; first * size <= 16; ++first) {
      const std::uint64_t count = (group * 16 - 16) / size - 3;
      Buffer<std::uint32_t> whole(device, group * 4);
      Buffer<std::uint32_t> cut(device, group * 4);
      Stream stream(device);
      vectors(stream, {group, group}, KernelArgument(data, {}), static_cast<std::uint32_t>(first),
              static_cast<std::uint32_t>(count), whole, cut);
      stream.finish();
      const std::size_t begin = first * size;
      const std::size_t gap = begin % 16;  // device memory begins at a multiple of 16
      std::vector<std::uint8_t> bytes(memory.begin() + static_cast<std::ptrdiff_t>(begin), memory.end());
      const std::vector<std::uint32_t> all = whole.read();
      EXPECT_EQ(std::memcmp(all.data(), bytes.data(), group * 16), 0) << to_string(dtype) << ' ' << first;
      bytes.resize(count * size);
      bytes.insert(bytes.begin(), gap, 0);
      bytes.resize(group * 16, 0);
      const std::vector<std::uint32_t> some = cut.read();
      EXPECT_EQ(std::memcmp(some.data(), bytes.data(), group * 16), 0) << to_string(dtype) << ' ' << first;
    }
  }
}

// Formats that have functions of their own, and others.
TEST_P(ElementsTest, ValuesOfStoredFloats) {
  for (const int exponent_bits : {4, 5, 6, 7, 8}) {
    const Buffer<float> values(device, 65536);
    Stream stream(device);
    kernel({{"MASU_GROUP", group},
            {"MASU_ELEMENT_BYTES", 2},
            {"MASU_ELEMENT_CLASS", 2},
            {"MASU_EXPONENT_BITS", exponent_bits}},
           "values")(stream, {4 * group, group}, values);
    stream.finish();
    const std::vector<float> found = values.read();
    const int fraction_bits = 15 - exponent_bits;
    const unsigned infinity = 0x8000U - (1U << fraction_bits);
    for (unsigned bits = 0; bits < found.size(); ++bits) {
      const unsigned magnitude = bits & 0x7fffU;
      const unsigned field = magnitude >> fraction_bits;
      const unsigned fraction = magnitude & ((1U << fraction_bits) - 1);
      const double significand = fraction + (field == 0 ? 0.0 : 1 << fraction_bits);
      const int exponent = static_cast<int>(std::max(field, 1U)) + 1 - (1 << (exponent_bits - 1)) - fraction_bits;
      const double value =
          magnitude < infinity ? std::ldexp(significand, exponent) : std::numeric_limits<double>::infinity();
      if (magnitude > infinity) ASSERT_TRUE(std::isnan(found[bits])) << exponent_bits << ' ' << bits;
      else
        ASSERT_EQ(std::bit_cast<std::uint32_t>(found[bits]),
                  std::bit_cast<std::uint32_t>(static_cast<float>(bits > 0x7fff ? -value : value)))
            << exponent_bits << ' ' << bits;
    }
  }
}

TEST_P(ElementsTest, ScansOfAGroup) {
  std::vector<std::uint32_t> in(2 * group);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint32_t>(i * 2654435761U);
  const Buffer<std::uint32_t> data = device.upload(in);
  Buffer<std::uint32_t> out(device, in.size());
  Buffer<std::uint32_t> totals(device, 2);
  totals.fill(0);
  Stream stream(device);
  kernel(Dtype::u32, "scan")(stream, {group, group}, data, out, totals, call::local<std::uint32_t>(group));
  stream.finish();
  std::uint64_t total = 0;
  std::vector<std::uint32_t> expected(in.size());
  for (std::size_t round = 0; round < 2; ++round) {
    const auto begin = static_cast<std::ptrdiff_t>(round * group);
    std::partial_sum(in.begin() + begin, in.begin() + begin + group, expected.begin() + begin);
    total += group * (expected[(round + 1) * group - 1] + (std::uint64_t{1} << 33));
  }
  EXPECT_EQ(out.read(), expected);
  const std::vector<std::uint32_t> words = totals.read();
  EXPECT_EQ(words[0] | std::uint64_t{words[1]} << 32, total);
}

}  // namespace
}  // namespace masu
