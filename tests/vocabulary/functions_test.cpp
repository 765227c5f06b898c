// SPDX-License-Identifier: Apache-2.0
// The functions of integers; min, max and clamp of every type, fmin and fmax.
#include "functions.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace masu::vocabulary {
namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

template <class T>
T clamped(Wide x) {
  return static_cast<T>(std::clamp<Wide>(x, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

// Orders b below c, as clamp wants its limits.
template <class T>
void order_limits(Functions<T>& functions) {
  for (std::size_t i = 0; i < operand_count; ++i) {
    if (functions.c[i] < functions.b[i]) std::swap(functions.b[i], functions.c[i]);
  }
}

template <class T>
void add_integer_functions(Functions<T>& made, const Type& type) {
  using U = std::make_unsigned_t<T>;
  constexpr unsigned bits = sizeof(T) * 8;
  const char* same = type.name;
  const char* other = type.unsigned_integer;
  made.add("add_sat", "add_sat($A, $B)", same, [](T a, T b, T) { return clamped<T>(Wide{a} + b); });
  made.add("sub_sat", "sub_sat($A, $B)", same, [](T a, T b, T) { return clamped<T>(Wide{a} - b); });
  made.add("hadd", "hadd($A, $B)", same, [](T a, T b, T) { return static_cast<T>((Wide{a} + b) >> 1); });
  made.add("rhadd", "rhadd($A, $B)", same, [](T a, T b, T) { return static_cast<T>((Wide{a} + b + 1) >> 1); });
  const auto high = [](T a, T b) {
    using Product = std::conditional_t<std::is_signed_v<T>, Wide, UnsignedWide>;
    return static_cast<T>((static_cast<Product>(a) * static_cast<Product>(b)) >> bits);
  };
  made.add("mul_hi", "mul_hi($A, $B)", same, [&](T a, T b, T) { return high(a, b); });
  made.add("abs", "abs($A)", other, [](T a, T, T) { return static_cast<U>(a < 0 ? -Wide{a} : Wide{a}); });
  made.add("abs_diff", "abs_diff($A, $B)", other,
           [](T a, T b, T) { return static_cast<U>(a < b ? Wide{b} - a : Wide{a} - b); });
  made.add("clz", "clz($A)", same, [](T a, T, T) { return static_cast<T>(std::countl_zero(static_cast<U>(a))); });
  made.add("popcount", "popcount($A)", same,
           [](T a, T, T) { return static_cast<T>(std::popcount(static_cast<U>(a))); });
  made.add("rotate", "rotate($A, $B)", same, [](T a, T b, T) {
    return static_cast<T>(std::rotl(static_cast<U>(a), static_cast<int>(static_cast<U>(b) % bits)));
  });
  // The product of two 64-bit numbers and a third fits 128 bits with a sign, but that of ulong needs all of them.
  made.add("mad_sat", "mad_sat($A, $B, $C)", same, [](T a, T b, T c) {
    if constexpr (std::is_signed_v<T>) return clamped<T>(Wide{a} * b + c);
    const auto product = static_cast<UnsignedWide>(a) * b + c;
    return static_cast<T>(std::min<UnsignedWide>(product, std::numeric_limits<T>::max()));
  });
  if (std::is_signed_v<T>) {  // a sum that fits
    for (T& value : made.c) value = static_cast<T>(value >> 2);
  }
  made.add("mad_hi", "mad_hi($A, $B, $C)", same,
           [&](T a, T b, T c) { return static_cast<T>(static_cast<U>(high(a, b)) + static_cast<U>(c)); });
}

class IntegerFunctions : public EachType {};
const std::vector<Type> integers(types.begin(), types.end() - 2);
MASU_ON_EACH_TYPE(IntegerFunctions, integers);

TEST_P(IntegerFunctions, AsInWideIntegers) {
  with_type(type.name, [&](auto value) {
    using T = decltype(value);
    if constexpr (std::is_integral_v<T>) {
      Functions<T> made("integers", type);
      add_integer_functions(made, type);
      run(device, made.batch());
    }
  });
}

// mul24 and mad24 of numbers of 24 bits whose product has 32, which is what is settled.
class Integers24 : public EachType {};
const std::vector<Type> words{types[4], types[5]};
MASU_ON_EACH_TYPE(Integers24, words);

TEST_P(Integers24, ProductsOf32Bits) {
  with_type(type.name, [&](auto value) {
    using T = decltype(value);
    if constexpr (std::is_integral_v<T>) {
      Functions<T> made("integers", type);
      for (std::size_t i = 0; i < operand_count; ++i) {
        made.a[i] = static_cast<T>(hash(i)) >> 8;  // 24 bits, with the sign
        made.b[i] = static_cast<T>(hash(i + 999)) >> 25;
        made.c[i] = static_cast<T>(made.c[i] >> 4);
        if (i % 2 != 0) std::swap(made.a[i], made.b[i]);
      }
      made.add("mul24", "mul24($A, $B)", type.name, [](T a, T b, T) { return static_cast<T>(Wide{a} * b); });
      for (std::size_t i = 0; i < operand_count; ++i) made.b[i] = static_cast<T>(made.b[i] / 4);
      made.add("mad24", "mad24($A, $B, $C)", type.name, [](T a, T b, T c) { return static_cast<T>(Wide{a} * b + c); });
      run(device, made.batch());
    }
  });
}

// upsample joins a high half and an unsigned low one.
class Upsample : public EachType {};
const std::vector<Type> halves(types.begin(), types.begin() + 6);
MASU_ON_EACH_TYPE(Upsample, halves);

TEST_P(Upsample, TwoHalves) {
  const Bytes high = values(type, operand_count, 1);
  const Bytes low = values(type, operand_count, 2);
  Batch made{.family = "integers", .type = type.name};
  made.input = high;
  append_bytes(made.input, low);
  const std::size_t wider = static_cast<std::size_t>(
      std::ranges::find(types, std::string_view(type.name), [](const Type& t) { return std::string_view(t.name); }) -
      types.begin() + 2);
  for (const std::size_t width : widths_and_scalar) {
    Case one{.name = "upsample of " + vector_name(type.name, width)};
    one.code = fmt::format(
        "    for (uint i = lane; i < {}; i += lanes) {}", operand_count / width,
        store(width,
              fmt::format(
                  "upsample({}, {})", load(width, "i", fmt::format("(__global const {} *)in", type.name)),
                  load(width, "i", fmt::format("(__global const {} *)(in + {})", type.unsigned_integer, high.size()))),
              "i", fmt::format("(__global {} *)out", types[wider].name)));
    for (std::size_t i = 0; i < operand_count; ++i) {
      append_bytes(one.expected, element(low, type.size, i));
      append_bytes(one.expected, element(high, type.size, i));
    }
    made.cases.push_back(one);
  }
  run(device, made);
}

class MinAndMax : public EachType {};
MASU_ON_EACH_TYPE(MinAndMax, types);

TEST_P(MinAndMax, VectorsAndScalars) {
  with_type(type.name, [&](auto value) {
    using T = decltype(value);
    Functions<T> made("min and max", type);
    // Zeros of both signs are equal: which comes out is not settled.
    const auto lesser = [](T a, T b, T) { return b < a ? b : a; };
    const auto greater = [](T a, T b, T) { return a < b ? b : a; };
    made.add("min", "min($A, $B)", type.name, lesser);
    made.add("max", "max($A, $B)", type.name, greater);
    made.add("min with a scalar", "min($A, $b)", type.name, lesser, false);
    made.add("max with a scalar", "max($A, $b)", type.name, greater, false);
    order_limits(made);
    const auto between = [](T a, T b, T c) { return std::clamp(a, b, c); };
    made.add("clamp", "clamp($A, $B, $C)", type.name, between);
    for (std::size_t i = 0; i < operand_count; ++i) {  // a scalar pair serves a vector
      made.b[i] = made.b[i / 48 * 48];
      made.c[i] = made.c[i / 48 * 48];
    }
    made.add("clamp between scalars", "clamp($A, $b, $c)", type.name, between, false);
    if constexpr (std::is_floating_point_v<T>) {
      using Limits = std::numeric_limits<T>;
      made.b = operands<T>(5);
      for (std::size_t i = 0; i < operand_count; ++i) {
        if (i % 5 == 0) made.a[i] = i % 2 == 0 ? Limits::quiet_NaN() : -Limits::infinity();
        if (i % 7 == 0) made.b[i] = i % 3 == 0 ? Limits::infinity() : Limits::quiet_NaN();
      }
      const auto least = [](T a, T b, T) { return std::fmin(a, b); };
      const auto most = [](T a, T b, T) { return std::fmax(a, b); };
      made.add("fmin", "fmin($A, $B)", type.name, least);
      made.add("fmax", "fmax($A, $B)", type.name, most);
      made.add("fmin with a scalar", "fmin($A, $b)", type.name, least, false);
      made.add("fmax with a scalar", "fmax($A, $b)", type.name, most, false);
    }
    run_or_skip(made.batch());
  });
}

}  // namespace
}  // namespace masu::vocabulary
