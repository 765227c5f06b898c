// SPDX-License-Identifier: Apache-2.0
// vloadn and vstoren: every width and type, every address space, at element alignment only.
#include "each_type.h"

#include <fmt/format.h>

namespace masu::vocabulary {
namespace {

constexpr std::size_t lanes = 4;
constexpr std::size_t count = 1 + 16 * lanes;  // elements: what lane 3 reaches with 16 behind the first

// "o[0] = v.s0; o[1] = v.s1; …"
std::string store_members(std::size_t width) {
  std::string text;
  for (std::size_t i = 0; i < width; ++i) text += fmt::format(" o[{}] = v.{};", i, member(i));
  return text;
}

// "(float4)(p[0], p[1], p[2], p[3])"
std::string from_members(const Type& type, std::size_t width) {
  std::string text = fmt::format("({})(", vector_name(type.name, width));
  for (std::size_t i = 0; i < width; ++i) text += fmt::format("{}p[{}]", i == 0 ? "" : ", ", i);
  return text + ")";
}

class VectorLoadStore : public EachType {
 protected:
  [[nodiscard]] Batch batch(std::string family) const {
    Batch made{.family = std::move(family), .type = type.name};
    made.input = made.constant_input = values(type, count);
    made.lanes = lanes;
    const std::string table = [&] {
      std::string text;
      for (std::size_t i = 0; i < count; ++i) text += fmt::format("{}, ", table_value(i));
      return text;
    }();
    made.preamble = fmt::format("typedef {} T;\n__constant T table[{}] = {{{}}};\n", type.name, count, table);
    made.prologue = fmt::format(R"(
  T mine[{0}];
  for (uint i = 0; i < {0}; i++) mine[i] = ((__global const T *)in)[i];
  for (uint i = lane; i < {0}; i += lanes) ((__local T *)pool)[i] = ((__global const T *)in)[i];
  barrier(CLK_LOCAL_MEM_FENCE);)",
                                count);
    return made;
  }
  static std::size_t table_value(std::size_t i) { return i * 7 % 101; }
};
MASU_ON_EACH_TYPE(VectorLoadStore, types);

TEST_P(VectorLoadStore, Loads) {
  struct Space {
    const char* name;
    std::string pointer;
  };
  const Space spaces[] = {{"global", "(__global const T *)in"},
                          {"local", "(__local const T *)pool"},
                          {"constant", "(__constant T *)constants"},
                          {"private", "(const T *)mine"},
                          {"program-scope constant", "table"}};
  Batch made = batch("vector load");
  Bytes table;
  for (std::size_t i = 0; i < count; ++i) {
    if (type.floating && type.size == 8) append(table, static_cast<double>(table_value(i)));
    else if (type.floating) append(table, static_cast<float>(table_value(i)));
    else append_bytes(table, element(bytes_of(std::vector<std::uint64_t>{table_value(i)}), type.size, 0));
  }
  for (const Space& space : spaces) {
    const Bytes& source = space.pointer == "table" ? table : made.input;
    for (const std::size_t width : widths) {
      Case one{.name = fmt::format("vload{} from {}", width, space.name)};
      one.code = fmt::format(
          "    const {0} v = vload{1}(lane, {2} + 1);\n    __global T *o = (__global T *)out + {1} * lane;\n   {3}",
          vector_name(type.name, width), width, space.pointer, store_members(width));
      append_bytes(one.expected, std::span(source).subspan(type.size, width * lanes * type.size));
      made.cases.push_back(one);
    }
  }
  run_or_skip(made);
}

TEST_P(VectorLoadStore, Stores) {
  Batch made = batch("vector store");
  made.prologue.clear();  // the sources are global
  for (const std::size_t width : widths) {
    const std::string vector =
        fmt::format("    __global const T *p = (__global const T *)in + {} * lane;\n    const {} v = {};\n", width,
                    vector_name(type.name, width), from_members(type, width));
    const std::size_t elements = 2 + width * lanes;  // one before and one behind stay as they are
    Case global{.name = fmt::format("vstore{} to global", width)};
    global.code = vector + fmt::format("    vstore{}(v, lane, (__global T *)out + 1);", width);
    global.expected.assign(elements * type.size, std::byte{0xa5});
    std::copy_n(made.input.begin(), width * lanes * type.size,
                global.expected.begin() + static_cast<std::ptrdiff_t>(type.size));
    made.cases.push_back(global);

    // In local and private memory every work-item has a place of its own, so that no barrier is needed.
    Bytes expected;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      Bytes target(made.input.begin(), made.input.begin() + static_cast<std::ptrdiff_t>((2 + 2 * width) * type.size));
      std::copy_n(made.input.begin() + static_cast<std::ptrdiff_t>(width * lane * type.size), width * type.size,
                  target.begin() + static_cast<std::ptrdiff_t>((1 + (lane & 1) * width) * type.size));
      append_bytes(expected, target);
    }
    const std::pair<const char*, std::string> places[] = {
        {"local", fmt::format("__local T *target = (__local T *)(pool + 4096) + {} * lane;", 2 + 2 * width)},
        {"private", fmt::format("T target[{}];", 2 + 2 * width)}};
    for (const auto& [name, target] : places) {
      Case own{.name = fmt::format("vstore{} to {}", width, name), .expected = expected};
      own.code = vector + fmt::format(R"(    {2}
    for (uint i = 0; i < {0}; i++) target[i] = ((__global const T *)in)[i];
    vstore{1}(v, lane & 1, target + 1);
    for (uint i = 0; i < {0}; i++) ((__global T *)out)[{0} * lane + i] = target[i];)",
                                      2 + 2 * width, width, target);
      made.cases.push_back(own);
    }
  }
  run_or_skip(made);
}

}  // namespace
}  // namespace masu::vocabulary
