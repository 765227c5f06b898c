// SPDX-License-Identifier: Apache-2.0
// select, bitselect, any, all, and the comparisons of floats: scalars ask for non-zero, vectors for the top bit.
#include "each_type.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace masu::vocabulary {
namespace {

constexpr std::size_t lanes = 4;

bool top_bit(std::span<const std::byte> value) {
  return (value.back() & std::byte{0x80}) != std::byte{0};
}
bool non_zero(std::span<const std::byte> value) {
  return std::ranges::any_of(value, [](std::byte b) { return b != std::byte{0}; });
}

class Select : public EachType {};
MASU_ON_EACH_TYPE(Select, types);

TEST_P(Select, ScalarAndVector) {
  constexpr std::size_t count = 16 * lanes;
  const Bytes a = values(type, count, 1);
  const Bytes b = values(type, count, 2);
  Bytes condition;  // 0, 1, all but the top bit, the top bit alone, anything
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t top = std::uint64_t{1} << (8 * type.size - 1);
    const std::uint64_t all[] = {0, 1, top - 1, top, hash(i), ~std::uint64_t{0}, 0};
    append_bytes(condition, element(bytes_of(std::vector<std::uint64_t>{all[i % 7]}), type.size, 0));
  }
  Batch made{.family = "select", .type = type.name};
  made.lanes = lanes;
  for (const Bytes& part : {a, b, condition}) append_bytes(made.input, part);
  made.preamble = fmt::format("typedef {} T;\n", type.name);
  made.prologue = fmt::format(
      "  __global const T *a = (__global const T *)in, *b = a + {0};\n"
      "  __global const uchar *c = (__global const uchar *)(b + {0});",
      count);
  for (const std::size_t width : widths_and_scalar) {
    for (const char* mask : {type.signed_integer, type.unsigned_integer}) {
      Case one{.name = fmt::format("select of {} by {}", vector_name(type.name, width), vector_name(mask, width))};
      const std::string call = fmt::format("select({}, {}, {})", load(width, "lane", "a"), load(width, "lane", "b"),
                                           load(width, "lane", fmt::format("(__global const {} *)c", mask)));
      one.code = "    " + store(width, call, "lane", "(__global T *)out");
      for (std::size_t i = 0; i < width * lanes; ++i) {
        const auto c = element(condition, type.size, i);
        append_bytes(one.expected, element((width == 1 ? non_zero(c) : top_bit(c)) ? b : a, type.size, i));
      }
      made.cases.push_back(one);
    }
    Case bits{.name = fmt::format("bitselect of {}", vector_name(type.name, width))};
    bits.code = "    " + store(width,
                               fmt::format("bitselect({}, {}, {})", load(width, "lane", "a"), load(width, "lane", "b"),
                                           load(width, "lane", "(__global const T *)a + 1")),
                               "lane", "(__global T *)out");
    for (std::size_t i = 0; i < width * lanes * type.size; ++i) {
      const std::byte chosen = made.input[i + type.size];
      bits.expected.push_back((a[i] & ~chosen) | (b[i] & chosen));
    }
    made.cases.push_back(bits);
    if (type.floating || std::string_view(type.name) != type.signed_integer) continue;
    for (const char* name : {"any", "all"}) {
      Case one{.name = fmt::format("{} of {}", name, vector_name(type.name, width))};
      one.code =
          fmt::format("    ((__global int *)out)[lane] = {}({});", name, load(width, "lane", "(__global const T *)c"));
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        std::size_t set = 0;
        for (std::size_t i = 0; i < width; ++i)
          set += top_bit(element(condition, type.size, lane * width + i)) ? 1U : 0U;
        append(one.expected, std::int32_t{*name == 'a' && name[1] == 'n' ? set > 0 : set == width});
      }
      made.cases.push_back(one);
    }
  }
  run_or_skip(made);
}

struct Comparison {
  const char* name;
  bool (*holds)(double, double);
};
constexpr Comparison comparisons[] = {
    {"isequal", [](double x, double y) { return x == y; }},
    {"isnotequal", [](double x, double y) { return !(x == y); }},
    {"isgreater", [](double x, double y) { return x > y; }},
    {"isgreaterequal", [](double x, double y) { return x >= y; }},
    {"isless", [](double x, double y) { return x < y; }},
    {"islessequal", [](double x, double y) { return x <= y; }},
    {"islessgreater", [](double x, double y) { return x < y || x > y; }},
    {"isordered", [](double x, double y) { return x == x && y == y; }},
    {"isunordered", [](double x, double y) { return x != x || y != y; }},
};
struct Classification {
  const char* name;
  bool (*holds)(double, bool normal);  // `normal` in its own type
};
constexpr Classification classifications[] = {
    {"isfinite", [](double x, bool) { return std::isfinite(x); }},
    {"isinf", [](double x, bool) { return std::isinf(x); }},
    {"isnan", [](double x, bool) { return std::isnan(x); }},
    {"isnormal", [](double, bool normal) { return normal; }},
    {"signbit", [](double x, bool) { return std::signbit(x); }},
};

class Compare : public EachType {
 protected:
  template <class T>
  void add_all(Batch& made) const {
    using Limits = std::numeric_limits<T>;
    std::vector<T> specials;
    for (const T x : {T{0}, T{1}, std::nextafter(T{1}, T{2}), Limits::min(), Limits::denorm_min(), Limits::max(),
                      Limits::infinity(), Limits::quiet_NaN()}) {
      specials.push_back(x);
      specials.push_back(-x);
    }
    std::vector<T> x;
    std::vector<T> y;
    for (const T first : specials) {
      for (const T second : specials) x.push_back(first), y.push_back(second);
    }
    for (std::size_t i = 0; i < 16; ++i) x.push_back(T{0}), y.push_back(T{1});  // what the last vector of 3 reaches
    made.input = bytes_of(x);
    append_bytes(made.input, bytes_of(y));
    made.prologue = fmt::format("  __global const T *x = (__global const T *)in, *y = x + {};", x.size());
    for (const std::size_t width : widths_and_scalar) {
      const auto add = [&](const std::string& name, const std::string& arguments, const auto& holds) {
        Case one{.name = fmt::format("{} of {}", name, vector_name(type.name, width))};
        // Scalars answer with an int, vectors with integers of their elements' size.
        const char* answer = width == 1 ? "int" : type.signed_integer;
        const std::size_t n = 256 / width;
        one.code = fmt::format(
            "    for (uint i = lane; i < {}; i += lanes) {}", n,
            store(width, fmt::format("{}({})", name, arguments), "i", fmt::format("(__global {} *)out", answer)));
        for (std::size_t i = 0; i < n * width; ++i) {
          const std::int64_t yes = width == 1 ? 1 : -1;
          const std::int64_t result = holds(i) ? yes : 0;
          if (width == 1 || type.size == 4) append(one.expected, static_cast<std::int32_t>(result));
          else append(one.expected, result);
        }
        made.cases.push_back(one);
      };
      const std::string both = load(width, "i", "x") + ", " + load(width, "i", "y");
      for (const Comparison& c : comparisons) {
        add(c.name, both, [&](std::size_t i) { return c.holds(x[i], y[i]); });
      }
      for (const Classification& c : classifications) {
        add(c.name, load(width, "i", "y"), [&](std::size_t i) { return c.holds(y[i], std::isnormal(y[i])); });
      }
    }
  }
};
const std::vector<Type> floats(types.end() - 2, types.end());
MASU_ON_EACH_TYPE(Compare, floats);

TEST_P(Compare, EveryPairOfSpecialNumbers) {
  Batch made{.family = "relational", .type = type.name};
  made.lanes = lanes;
  made.preamble = fmt::format("typedef {} T;\n", type.name);
  if (type.size == 4) add_all<float>(made);
  else add_all<double>(made);
  run_or_skip(made);
}

}  // namespace
}  // namespace masu::vocabulary
