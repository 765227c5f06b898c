// SPDX-License-Identifier: Apache-2.0
// Cases of functions and operators of up to three operands of one type, in scalars and vectors.
#pragma once

#include "each_type.h"

#include <array>
#include <functional>
#include <limits>

namespace masu::vocabulary {

inline constexpr std::size_t operand_count = 240;  // a multiple of every width

// Limits, their neighbours, powers of two and what looks random, of either sign; floats are finite.
template <class T>
std::vector<T> operands(std::uint64_t seed) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> result;
  for (std::uint64_t i = 0; i < operand_count; ++i) {
    const std::uint64_t bits = hash(seed * 4096 + i);
    if constexpr (Limits::is_integer) {
      const std::array<T, 8> special{Limits::min(),
                                     Limits::max(),
                                     T{0},
                                     T{1},
                                     static_cast<T>(Limits::min() + 1),
                                     static_cast<T>(Limits::max() - 1),
                                     static_cast<T>(-1),
                                     static_cast<T>(T{1} << (bits % 7))};
      const auto other = static_cast<T>(static_cast<T>(bits) >> (bits >> 48) % (sizeof(T) * 8 - 1));
      result.push_back(i % 3 == 0 ? special[(bits >> 32) % special.size()] : other);
    } else {
      const std::array<T, 6> special{Limits::max(), Limits::lowest(), Limits::min(), T{0}, T{1}, T{-1}};
      const auto other = static_cast<T>(static_cast<double>(static_cast<std::int64_t>(bits) >> 40) / 8);
      result.push_back(i % 3 == 0 ? special[(bits >> 32) % special.size()] : other);
    }
  }
  return result;
}

template <class T>
class Functions {
 public:
  Functions(std::string family, const Type& type)
      : type_(type), batch_{.family = std::move(family), .type = type.name} {}

  // Three arrays of operands, $A, $B and $C in expressions; $a, $b and $c are scalars, of each vector the first
  // element.
  std::vector<T> a = operands<T>(1);
  std::vector<T> b = operands<T>(2);
  std::vector<T> c = operands<T>(3);

  // `oracle(a, b, c)` is an element of the expression, whose elements have the type `result_type` in OpenCL C.
  template <class Oracle>
  void add(const std::string& name, std::string_view expression, const char* result_type, const Oracle& oracle,
           bool scalars = true) {
    using R = decltype(oracle(T{}, T{}, T{}));
    const std::size_t at = batch_.input.size();
    for (const std::vector<T>* part : {&a, &b, &c}) append_bytes(batch_.input, bytes_of(*part));
    for (const std::size_t width : some_widths(turn_++)) {
      if (width == 1 && !scalars) continue;
      Case one{.name = fmt::format("{} of {}", name, vector_name(type_.name, width))};
      std::array<bool, 3> spread{};
      std::string text;
      for (std::size_t i = 0; i < expression.size(); ++i) {
        if (expression[i] != '$') {
          text += expression[i];
          continue;
        }
        const std::size_t operand = std::string_view("ABCabc").find(expression[++i]);
        const std::string array =
            fmt::format("(__global const {} *)(in + {})", type_.name, at + operand % 3 * operand_count * sizeof(T));
        spread[operand % 3] = operand >= 3;
        text += operand < 3 ? load(width, "i", array) : fmt::format("({})[i * {}]", array, width);
      }
      one.code = fmt::format("    for (uint i = lane; i < {}; i += lanes) {}", operand_count / width,
                             store(width, text, "i", fmt::format("(__global {} *)out", result_type)));
      std::vector<R> expected;
      for (std::size_t i = 0; i < operand_count; ++i) {
        const std::size_t first = i / width * width;
        expected.push_back(oracle(a[spread[0] ? first : i], b[spread[1] ? first : i], c[spread[2] ? first : i]));
      }
      one.expected = bytes_of(expected);
      one.match = match_of<R>;
      batch_.cases.push_back(one);
    }
  }
  [[nodiscard]] const Batch& batch() const { return batch_; }

 private:
  Type type_;
  Batch batch_;
  std::size_t turn_ = 0;
};

}  // namespace masu::vocabulary
