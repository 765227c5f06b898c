// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel_signature.h"

#include "expect_error.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace masu::runtime {
namespace {

using Kind = KernelParameter::Kind;

struct Pair {
  float x, y;
};

TEST(DeclaredType, ReadsTypesOfBothLanguages) {
  const std::vector<std::pair<std::string, DeclaredType>> cases{
      {"float", {false, {Dtype::f32, 1}}},
      {"uint*", {true, {Dtype::u32, 1}}},
      {"uint *", {true, {Dtype::u32, 1}}},
      {"const unsigned char", {false, {Dtype::u8, 1}}},
      {"unsigned int*", {true, {Dtype::u32, 1}}},
      {"float const*", {true, {Dtype::f32, 1}}},
      {"__global const float4 * restrict", {true, {Dtype::f32, 4}}},
      {"double16", {false, {Dtype::f64, 16}}},
      {"half3*", {true, {Dtype::f16, 3}}},
      {"unsigned long long", {false, {Dtype::u64, 1}}},
      {"ulong2", {false, {Dtype::u64, 2}}},
      {"bool", {false, {Dtype::u8, 1}}},
      {"void*", {true, {}}},
      {"float**", {true, {}}},
      {"float5", {false, {}}},
      {"float44444444444444444444", {false, {}}},
      {"float32", {false, {}}},
      {"struct pair", {false, {}}},
      {"struct pair*", {true, {}}},
      {"image2d_t", {false, {}}},
      {"", {false, {}}},
      {"4", {false, {}}},
      {"*", {true, {}}},
  };
  for (const auto& [text, wanted] : cases) {
    const DeclaredType got = declared_type(text);
    EXPECT_EQ(got.pointer, wanted.pointer) << text;
    EXPECT_EQ(got.scalar_or_vector, wanted.scalar_or_vector) << text;
  }
}

TEST(KernelSignature, NothingKnownTakesAnything) {
  const KernelSignature nothing;
  EXPECT_FALSE(nothing.known());
  nothing.check_count("f", 17);
  nothing.check("f", 16, KernelArgument(1.0F));
}

// Whether a value is taken for a parameter of that type.
template <class T>
bool takes(const std::string& type, const T& value) {
  const KernelSignature signature({{Kind::value, type, "x", 0}});
  try {
    signature.check("f", 0, KernelArgument(value));
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return false;
  }
}

TEST(KernelSignature, ValuesHaveTheSizeTheClassAndTheWidth) {
  EXPECT_TRUE(takes("int", 1));
  EXPECT_TRUE(takes("uint", 1));  // the literals of C++ are signed
  EXPECT_TRUE(takes("int", 1U));
  EXPECT_TRUE(takes("ulong", std::size_t{1}));
  EXPECT_TRUE(takes("long", 1LL));
  EXPECT_TRUE(takes("uchar", 'x'));
  EXPECT_TRUE(takes("bool", true));
  EXPECT_TRUE(takes("half", Half{0x3c00}));
  EXPECT_TRUE(takes("float", 1.0F));
  EXPECT_FALSE(takes("float", 1));
  EXPECT_FALSE(takes("int", 1.0F));
  EXPECT_FALSE(takes("float", 1.0));
  EXPECT_FALSE(takes("double", std::int64_t{1}));
  EXPECT_FALSE(takes("ulong", 1));
  EXPECT_FALSE(takes("half", std::uint16_t{1}));
  EXPECT_FALSE(takes("ushort", Half{0}));
  EXPECT_TRUE(takes("float4", Vector<float, 4>{1, 2, 3, 4}));
  EXPECT_TRUE(takes("uint4", Vector<int, 4>{1, 2, 3, 4}));
  EXPECT_FALSE(takes("float4", Vector<float, 3>{1, 2, 3}));  // of one size
  EXPECT_FALSE(takes("float4", Vector<int, 4>{1, 2, 3, 4}));
  EXPECT_FALSE(takes("float4", Vector<double, 2>{1, 2}));
  EXPECT_FALSE(takes("float4", 1.0F));
  EXPECT_FALSE(takes("float", Vector<float, 2>{1, 2}));
  EXPECT_TRUE(takes("double16", Vector<double, 16>{}));
  enum class Colour : std::uint32_t { red };
  EXPECT_TRUE(takes("uint", Colour::red));
  EXPECT_FALSE(takes("float", Colour::red));
}

TEST(KernelSignature, StructuresNeedTheSizeAlone) {
  EXPECT_TRUE(takes("float2", Pair{1, 2}));
  EXPECT_FALSE(takes("float4", Pair{1, 2}));
  EXPECT_TRUE(takes("struct whatever", Pair{1, 2}));
  EXPECT_TRUE(takes("struct whatever", 1));
  EXPECT_TRUE(takes("uchar", std::byte{1}));
  EXPECT_FALSE(takes("ushort", std::byte{1}));
}

TEST(KernelSignature, StarsBetweenBracketsAreNoPointer) {
  for (const char* text : {"Span<float*>", "Pair<int, char const*>", "Call<void (*)(int*)>"}) {
    EXPECT_FALSE(declared_type(text).pointer) << text;
    EXPECT_FALSE(declared_type(text).scalar_or_vector.known()) << text;
  }
  EXPECT_TRUE(declared_type("Span<float>*").pointer);
}

TEST(KernelSignature, BuffersHaveTheScalarOfThePointer) {
  const masu::Device cpu = masu::Device::open("cpu");
  const auto takes_buffer = [](const std::string& type, const KernelArgument& argument) {
    const KernelSignature signature({{Kind::buffer, type, "x", 0}});
    try {
      signature.check("f", 0, argument);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  const auto floats = cpu.allocate<float>(16);
  const auto vectors = cpu.allocate<Vector<float, 4>>(4);
  const auto words = cpu.allocate<std::uint32_t>(16);
  const auto bytes = cpu.allocate<std::byte>(16);
  const auto pairs = cpu.allocate<Pair>(4);
  for (const char* type : {"float*", "const float*", "float4*", "void*", "struct pair*", "float**"}) {
    EXPECT_TRUE(takes_buffer(type, floats)) << type;
    EXPECT_TRUE(takes_buffer(type, floats.read_only())) << type;
    EXPECT_TRUE(takes_buffer(type, vectors)) << type;
    EXPECT_TRUE(takes_buffer(type, bytes)) << type;
    EXPECT_TRUE(takes_buffer(type, pairs)) << type;
    EXPECT_TRUE(takes_buffer(type, static_cast<const BufferBase&>(words))) << type;
    EXPECT_FALSE(takes_buffer(type, 1.0F)) << type;
    EXPECT_FALSE(takes_buffer(type, LocalMemory{4})) << type;
  }
  EXPECT_FALSE(takes_buffer("float*", words));
  EXPECT_FALSE(takes_buffer("double*", floats));
  EXPECT_FALSE(takes_buffer("uchar*", words));
  EXPECT_TRUE(takes_buffer("int4*", words));
  EXPECT_TRUE(takes_buffer("float*", KernelArgument(bytes, {Dtype::f32, 1})));
  EXPECT_FALSE(takes_buffer("float*", KernelArgument(bytes, {Dtype::u32, 1})));
}

TEST(KernelSignature, SizesWhereTheDriverTellsNothingElse) {
  const masu::Device cpu = masu::Device::open("cpu");
  const auto buffer = cpu.allocate<float>(1);
  const KernelSignature sizes({{Kind::other, "", "", 8}, {Kind::other, "", "", 4}, {Kind::other, "", "", 12}});
  sizes.check("f", 0, buffer);
  sizes.check("f", 0, std::uint64_t{1});
  sizes.check("f", 1, 1.0F);
  sizes.check("f", 1, 1);
  sizes.check("f", 2, Vector<float, 3>{1, 2, 3});  // CUDA's float3
  MASU_EXPECT_ERROR(sizes.check("f", 1, 1.0), invalid_argument,
                    "Kernel::launch: argument 1 of f is 4 bytes, got f64 (8 bytes)");
  MASU_EXPECT_ERROR(sizes.check("f", 1, buffer), invalid_argument,
                    "argument 1 of f is 4 bytes, got a buffer of f32 (8 bytes)");
  MASU_EXPECT_ERROR(sizes.check("f", 2, Vector<float, 4>{}), invalid_argument,
                    "argument 2 of f is 12 bytes, got f32x4 (16 bytes)");
}

TEST(KernelSignature, MessagesNameWhatIsWantedAndGiven) {
  const KernelSignature saxpy({{Kind::buffer, "float*", "y", 0},
                               {Kind::value, "float", "scale", 0},
                               {Kind::local, "float*", "part", 0},
                               {Kind::value, "pair", "p", 8}});
  EXPECT_EQ(saxpy.parameters()[1].bytes, 4U);
  MASU_EXPECT_ERROR(saxpy.check("saxpy", 1, 2), invalid_argument,
                    "Kernel::launch: argument 1 (scale) of saxpy is float, got i32");
  MASU_EXPECT_ERROR(saxpy.check("saxpy", 0, 2.0), invalid_argument,
                    "argument 0 (y) of saxpy is a buffer (float*), got f64");
  MASU_EXPECT_ERROR(saxpy.check("saxpy", 1, LocalMemory{4}), invalid_argument,
                    "argument 1 (scale) of saxpy is float, got local memory");
  MASU_EXPECT_ERROR(saxpy.check("saxpy", 2, Vector<int, 2>{}), invalid_argument,
                    "argument 2 (part) of saxpy is local memory (float*), got i32x2");
  MASU_EXPECT_ERROR(saxpy.check("saxpy", 1, Pair{}), invalid_argument,
                    "argument 1 (scale) of saxpy is float, got a value of 8 bytes");
  MASU_EXPECT_ERROR(saxpy.check("saxpy", 3, 1), invalid_argument, "argument 3 (p) of saxpy is pair (8 bytes), got i32");
  MASU_EXPECT_ERROR(saxpy.check_count("saxpy", 1), invalid_argument,
                    "saxpy takes 4 arguments (float* y, float scale, float* part, pair p), got 1");
  const KernelSignature none{std::vector<KernelParameter>()};
  MASU_EXPECT_ERROR(none.check_count("f", 2), invalid_argument, "f takes 0 arguments, got 2");
}

TEST(KernelArgument, ValuesWithATypeKnownAtRunTime) {
  const std::array<std::int16_t, 3> elements{1, -2, 3};
  const KernelArgument vector = KernelArgument::value({Dtype::i16, 3}, elements.data());
  EXPECT_EQ(vector.size(), 8U);
  EXPECT_EQ(vector.type(), (ArgumentType{Dtype::i16, 3}));
  EXPECT_EQ(std::memcmp(vector.bytes(), elements.data(), 6), 0);
  const double pi = 3.14;
  EXPECT_EQ(KernelArgument::value({Dtype::f64, 1}, &pi).kind(), KernelArgument::Kind::value);
  for (const std::uint8_t width : std::initializer_list<std::uint8_t>{0, 5, 7, 17, 255}) {
    MASU_EXPECT_ERROR(KernelArgument::value({Dtype::u8, width}, elements.data()), invalid_argument,
                      "KernelArgument::value: a width");
  }
}

TEST(Vector, HasTheLayoutOfOpenClC) {
  static_assert(sizeof(Vector<float, 4>) == 16 && alignof(Vector<float, 4>) == 16);
  static_assert(sizeof(Vector<float, 3>) == 16 && alignof(Vector<float, 3>) == 16);
  static_assert(sizeof(Vector<double, 16>) == 128 && alignof(Vector<double, 16>) == 128);
  static_assert(sizeof(Vector<std::uint8_t, 2>) == 2 && sizeof(Vector<Half, 8>) == 16);
  static_assert(std::is_trivially_copyable_v<Vector<float, 3>>);
  Vector<int, 3> v{1, 2, 3};
  v[1] = 7;
  EXPECT_EQ(v, (Vector<int, 3>{1, 7, 3}));
  EXPECT_NE(v, (Vector<int, 3>{1, 2, 3}));
  EXPECT_EQ(v.size(), 3U);
}

}  // namespace
}  // namespace masu::runtime
