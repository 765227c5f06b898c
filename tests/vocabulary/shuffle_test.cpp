// SPDX-License-Identifier: Apache-2.0
// shuffle and shuffle2: every type, every length of source and result; only the low bits of a mask count.
#include "each_type.h"

#include <fmt/format.h>

#include <array>

namespace masu::vocabulary {
namespace {

constexpr std::size_t lanes = 4;
constexpr std::array<std::size_t, 4> lengths{2, 4, 8, 16};

class Shuffle : public EachType {};
MASU_ON_EACH_TYPE(Shuffle, types);

TEST_P(Shuffle, EveryLength) {
  const Type mask_type{type.unsigned_integer, type.size, false, type.signed_integer, type.unsigned_integer};
  const Bytes elements = values(type, 32);
  const Bytes masks = values(mask_type, 16 * lanes, 1);  // any bits: the high ones must not count
  Batch made{.family = "shuffle", .type = type.name};
  made.lanes = lanes;
  made.input = elements;
  append_bytes(made.input, masks);
  made.preamble = fmt::format("typedef {} T;\ntypedef {} U;\n", type.name, mask_type.name);
  made.prologue =
      "  __global const T *x = (__global const T *)in;\n  __global const U *masks = (__global const U *)(x + 32);";
  for (const std::size_t sources : {1, 2}) {
    for (const std::size_t from : lengths) {
      for (const std::size_t to : lengths) {
        const char* name = sources == 1 ? "shuffle" : "shuffle2";
        Case one{
            .name = fmt::format("{} of {} by {}", name, vector_name(type.name, from), vector_name(mask_type.name, to))};
        const std::string second = sources == 1 ? "" : fmt::format("vload{}(1, x), ", from);
        one.code = fmt::format("    vstore{0}({1}(vload{2}(0, x), {3}vload{0}(lane, masks)), lane, (__global T *)out);",
                               to, name, from, second);
        for (std::size_t i = 0; i < to * lanes; ++i) {
          const auto low = std::to_integer<std::size_t>(element(masks, type.size, i)[0]);
          append_bytes(one.expected, element(elements, type.size, low % (from * sources)));
        }
        made.cases.push_back(one);
      }
    }
  }
  for (const std::size_t from : lengths) {  // the same masks as literals, which compilers fold
    Case one{.name = fmt::format("shuffle of {} by a literal of high bits", vector_name(type.name, from))};
    std::string mask;
    for (std::size_t i = 0; i < from; ++i) {
      mask += fmt::format("{}{}", i == 0 ? "" : ", ", from + from - 1 - i);
      append_bytes(one.expected, element(elements, type.size, from - 1 - i));
    }
    one.code = fmt::format("    vstore{0}(shuffle(vload{0}(0, x), ({1})({2})), 0, (__global T *)out);", from,
                           vector_name(mask_type.name, from), mask);
    made.cases.push_back(one);
  }
  run_or_skip(made);
}

// The two shuffles that the mission's textbook prints.
class ShuffleOfFloats : public EachOpenCl {};
MASU_ON_EACH_OPENCL(ShuffleOfFloats);

TEST_P(ShuffleOfFloats, TextbookExample) {
  Batch made{.family = "shuffle", .type = "float"};
  made.lanes = 4;
  made.prologue = "  const float4 a = (float4)(1.5f, 15.0f, 5.0f, 7.5f), b = (float4)(-20.0f, -5.0f, 1.0f, 100.0f);";
  made.cases.push_back({.name = "shuffle, literal mask",
                        .code = "    vstore4(shuffle(a, (uint4)(0, 3, 2, 1)), 0, (__global float *)out);",
                        .expected = bytes_of(std::vector<float>{1.5F, 7.5F, 5, 15})});
  made.cases.push_back(
      {.name = "shuffle2, literal mask",
       .code = "    vstore8(shuffle2(a, b, (uint8)(0, 3, 2, 1, 5, 4, 7, 6)), 0, (__global float *)out);",
       .expected = bytes_of(std::vector<float>{1.5F, 7.5F, 5, 15, -5, -20, 100, 1})});
  run(device, made);
}

}  // namespace
}  // namespace masu::vocabulary
