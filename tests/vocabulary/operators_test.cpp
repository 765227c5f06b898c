// SPDX-License-Identifier: Apache-2.0
// Operators on scalars and vectors: comparisons give 1 and -1, a scalar is spread over a vector.
#include "functions.h"

#include <cmath>

namespace masu::vocabulary {
namespace {

class Operators : public EachType {};
MASU_ON_EACH_TYPE(Operators, types);

// Comparisons of vectors give integers of their elements' size, -1 for true.
template <class T, class I, class Holds>
void add_comparison(Functions<T>& made, const Type& type, const std::string& symbol, const Holds& holds) {
  const auto answer = [&](T a, T b, T) { return static_cast<I>(holds(a, b) ? -1 : 0); };
  made.add("vector " + symbol + " vector", "$A " + symbol + " $B", type.signed_integer, answer, false);
  made.add("vector " + symbol + " scalar", "$A " + symbol + " $b", type.signed_integer, answer, false);
  made.add("scalar " + symbol + " vector", "$a " + symbol + " $B", type.signed_integer, answer, false);
}

template <class T>
void add_operators(Functions<T>& made, const Type& type) {
  using I = std::conditional_t<
      sizeof(T) == 1, std::int8_t,
      std::conditional_t<sizeof(T) == 2, std::int16_t, std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>>;
  for (std::size_t i = 0; i < operand_count; i += 4) made.b[i] = made.a[i];
  add_comparison<T, I>(made, type, "<", [](T a, T b) { return a < b; });
  add_comparison<T, I>(made, type, "<=", [](T a, T b) { return a <= b; });
  add_comparison<T, I>(made, type, ">", [](T a, T b) { return a > b; });
  add_comparison<T, I>(made, type, ">=", [](T a, T b) { return a >= b; });
  add_comparison<T, I>(made, type, "==", [](T a, T b) { return a == b; });
  add_comparison<T, I>(made, type, "!=", [](T a, T b) { return a != b; });
  add_comparison<T, I>(made, type, "&&", [](T a, T b) { return a != T{0} && b != T{0}; });
  add_comparison<T, I>(made, type, "||", [](T a, T b) { return a != T{0} || b != T{0}; });
  made.add(
      "not", "!$A", type.signed_integer, [](T a, T, T) { return static_cast<I>(a == T{0} ? -1 : 0); }, false);
  made.add("choice by a comparison", "$A > $b ? $C : $A", type.name, [](T a, T b, T c) { return a > b ? c : a; });
  // How a vector counts: what is true is subtracted.
  made.add(
      "count", fmt::format("({0})0 - ($A > $b)", type.signed_integer), type.signed_integer,
      [](T a, T b, T) { return static_cast<I>(a > b ? 1 : 0); }, false);
}

template <class T>
void add_arithmetic(Functions<T>& made, const Type& type) {
  if constexpr (std::is_floating_point_v<T>) {
    made.add("+", "$A + $B", type.name, [](T a, T b, T) { return a + b; });
    made.add("- scalar", "$A - $b", type.name, [](T a, T b, T) { return a - b; });
    made.add("*", "$A * $B", type.name, [](T a, T b, T) { return a * b; });
  } else {
    using U = std::make_unsigned_t<T>;
    constexpr unsigned bits = sizeof(T) * 8;
    // Sums and products that wrap are settled for unsigned numbers; a product of two ushort is one of two int.
    if constexpr (std::is_unsigned_v<T>) {
      made.add("+", "$A + $B", type.name, [](T a, T b, T) { return static_cast<T>(a + b); });
      made.add("- scalar", "$A - $b", type.name, [](T a, T b, T) { return static_cast<T>(a - b); });
      made.add(
          "*", "$A * $B", type.name, [](T a, T b, T) { return static_cast<T>(std::uint64_t{a} * b); }, bits != 16);
    }
    made.add("&", "$A & $B", type.name, [](T a, T b, T) { return static_cast<T>(a & b); });
    made.add("| scalar", "$A | $b", type.name, [](T a, T b, T) { return static_cast<T>(a | b); });
    made.add("^", "$A ^ $B", type.name, [](T a, T b, T) { return static_cast<T>(a ^ b); });
    made.add("~", "~$A", type.name, [](T a, T, T) { return static_cast<T>(~a); });
    // A shift counts modulo the width of its left side, which of a scalar is an int's at least.
    made.add(
        "<<", "$A << $B", type.name,
        [](T a, T b, T) { return static_cast<T>(static_cast<U>(a) << static_cast<U>(b) % bits); }, bits >= 32);
    made.add(
        ">>", "$A >> $B", type.name, [](T a, T b, T) { return static_cast<T>(a >> static_cast<U>(b) % bits); },
        bits >= 32);
    for (T& value : made.b) value = static_cast<T>((value & 63) + 1);
    made.add("/", "$A / $B", type.name, [](T a, T b, T) { return static_cast<T>(a / b); });
    made.add("% scalar", "$A % $b", type.name, [](T a, T b, T) { return static_cast<T>(a % b); });
  }
}

TEST_P(Operators, VectorsAndScalars) {
  with_type(type.name, [&](auto value) {
    using T = decltype(value);
    Functions<T> made("operators", type);
    add_operators(made, type);
    add_arithmetic(made, type);
    run_or_skip(made.batch());
  });
}

}  // namespace
}  // namespace masu::vocabulary
