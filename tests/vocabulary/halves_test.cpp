// SPDX-License-Identifier: Apache-2.0
// vload_half and vstore_half with their vectors, aligned forms and roundings. They need no extension.
#include "each_type.h"
#include "half.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

namespace masu::vocabulary {
namespace {

constexpr std::size_t lanes = 64;
constexpr std::size_t all = 65536;
constexpr std::size_t some = 2048;  // of them, from every binade: what small memories hold

const std::vector<Type> floats(types.end() - 2, types.end());

std::string suffix(std::size_t width) {
  return width == 1 ? "" : std::to_string(width);
}

// How many elements apart two vectors lie.
std::size_t stride(std::size_t width, bool aligned) {
  return aligned && width == 3 ? 4 : width;
}

std::size_t vectors(std::size_t elements, std::size_t step) {
  return (elements + step - 1) / step;
}

class LoadHalf : public EachOpenCl {};
MASU_ON_EACH_OPENCL(LoadHalf);

TEST_P(LoadHalf, EveryHalf) {
  // All halves, then 16 zeros for the last vector of 3; in the small memories every 32nd and its neighbourhood.
  std::vector<std::uint16_t> halves(all + 16);
  for (std::size_t i = 0; i < all; ++i) halves[i] = static_cast<std::uint16_t>(i);
  std::vector<std::uint16_t> few(some + 16);
  for (std::size_t i = 0; i < some; ++i) few[i] = static_cast<std::uint16_t>(i * 32 + i % 32);

  Batch made{.family = "half load", .type = "float"};
  made.lanes = lanes;
  made.input = bytes_of(halves);
  made.constant_input = bytes_of(few);
  made.prologue = fmt::format(R"(
  for (uint i = lane; i < {0}; i += lanes) ((__local ushort *)pool)[i] = ((__constant ushort *)constants)[i];
  barrier(CLK_LOCAL_MEM_FENCE);)",
                              some + 16);
  struct Space {
    const char* name;
    const char* code;  // before each load
    const char* pointer;
    const std::vector<std::uint16_t>& halves;
    std::size_t count;
  };
  const Space spaces[] = {
      {"global", "", "(__global const half *)in", halves, all},
      {"local", "", "(__local const half *)pool", few, some},
      {"constant", "", "(__constant half *)constants", few, some},
      {"private",
       "      ushort16 own = (ushort16)(0);\n      for (uint k = 0; k < {1}; k++) ((ushort *)&own)[k] = "
       "((__constant ushort *)constants)[i * {1} + k];\n",
       "(const half *)&own", few, some}};
  for (const Space& space : spaces) {
    for (const bool aligned : {false, true}) {
      for (const std::size_t width : widths_and_scalar) {
        if (aligned && width == 1) continue;
        const std::size_t step = stride(width, aligned);
        const std::size_t n = vectors(space.count, step);
        const std::string function = fmt::format("vload{}_half{}", aligned ? "a" : "", suffix(width));
        Case one{.name = fmt::format("{} from {}", function, space.name), .match = Match::f32};
        const bool own = std::string_view(space.name) == "private";
        const std::string store = width == 1 ? "((__global float *)out)[i] = v;"
                                             : fmt::format("vstore{}(v, i, (__global float *)out);", width);
        one.code = fmt::format("    for (uint i = lane; i < {}; i += lanes) {{\n", n) +
                   fmt::format(fmt::runtime(space.code), 0, step) +
                   fmt::format("      const {} v = {}({}, {});\n      {}\n    }}", vector_name("float", width),
                               function, own ? "0" : "i", space.pointer, store);
        for (std::size_t i = 0; i < n; ++i) {
          for (std::size_t k = 0; k < width; ++k) {
            append(one.expected, static_cast<float>(half_value(space.halves[i * step + k])));
          }
        }
        made.cases.push_back(one);
      }
    }
  }
  run(device, made);
}

// Every half, the middle between it and the next, and what lies closest to that middle, of both signs; beyond the
// largest half; subnormals of the wide type; infinities and NaN.
template <class T>
std::vector<T> hard_numbers() {
  std::vector<T> numbers;
  const T infinity = std::numeric_limits<T>::infinity();
  for (std::uint16_t bits = 0; bits < 0x7c00; ++bits) {
    const double value = half_value(bits);
    const double next = bits == 0x7bff ? 65536 : half_value(static_cast<std::uint16_t>(bits + 1));
    const T exact = static_cast<T>(value);
    const T middle = static_cast<T>((value + next) / 2);
    for (const T x : {exact, std::nextafter(exact, infinity), std::nextafter(middle, T{0}), middle,
                      std::nextafter(middle, infinity), std::nextafter(static_cast<T>(next), T{0})}) {
      numbers.push_back(x);
      numbers.push_back(-x);
    }
  }
  const T one_up = std::nextafter(T{65536}, infinity);
  for (const T x : {T{65536}, one_up, T{1e30F}, std::numeric_limits<T>::max(), std::numeric_limits<T>::min(),
                    std::numeric_limits<T>::denorm_min(), infinity, std::numeric_limits<T>::quiet_NaN()}) {
    numbers.push_back(x);
    numbers.push_back(-x);
  }
  return numbers;
}

class StoreHalf : public EachType {
 protected:
  struct Mode {
    const char* suffix;
    Rounding rounding;
  };
  static constexpr std::array modes{Mode{"", Rounding::to_nearest_even}, Mode{"_rte", Rounding::to_nearest_even},
                                    Mode{"_rtz", Rounding::towards_zero}, Mode{"_rtp", Rounding::up},
                                    Mode{"_rtn", Rounding::down}};

  // A batch for each rounding: a compiler's time grows faster than the kernel.
  template <class T>
  void run_all() {
    const std::vector<T> numbers = hard_numbers<T>();
    std::vector<T> few;
    for (std::size_t i = 0; i < some - 16; ++i) few.push_back(numbers[hash(i) % numbers.size()]);
    few.insert(few.end(), numbers.end() - 16, numbers.end());
    Batch made{.family = "half store", .type = type.name};
    made.lanes = lanes;
    made.input = bytes_of(numbers);
    append_bytes(made.input, bytes_of(few));
    // Every function in every address space takes a compiler too long for a daily test.
    const bool all_spaces = std::getenv("MASU_TEST_LONG") != nullptr;
    for (const Mode& mode : modes) {
      made.cases.clear();
      add<T>(made, mode, {}, false, "global", numbers, 0);
      for (const std::size_t width : widths_and_scalar) {
        for (const bool aligned : {false, true}) {
          if (aligned && width == 1) continue;
          for (const std::string_view space : {"global", "local", "private"}) {
            const bool default_mode = mode.suffix == modes[0].suffix;
            if (!all_spaces && space != "global" && !default_mode && width > 1) continue;
            add<T>(made, mode, width, aligned, space, few, numbers.size());
          }
        }
      }
      run_or_skip(made);
    }
  }

 private:
  // Without a width: the scalar function on every hard number.
  template <class T>
  void add(Batch& made, const Mode& mode, std::optional<std::size_t> only, bool aligned, std::string_view space,
           const std::vector<T>& numbers, std::size_t first) {
    const std::size_t width = only.value_or(1);
    const std::size_t step = stride(width, aligned);
    const std::size_t n = numbers.size() / width;
    const std::string function = fmt::format("vstore{}_half{}{}", aligned ? "a" : "", suffix(width), mode.suffix);
    Case one{.name = fmt::format("{} to {}{}", function, space, only ? "" : ", every hard number"),
             .match = Match::f16};
    const std::string load = width == 1
                                 ? fmt::format("((__global const {} *)in)[{} + i]", type.name, first)
                                 : fmt::format("vload{}(i, (__global const {} *)in + {})", width, type.name, first);
    const std::string head = fmt::format("    for (uint i = lane; i < {}; i += lanes) {{\n      const {} v = {};\n", n,
                                         vector_name(type.name, width), load);
    const std::size_t own = step == 1 ? 2 : step;  // halves that a work-item has to itself
    if (space == "global") {
      // What vstorea_half3 leaves in the fourth half of its room is not specified.
      const char* fourth = step == 4 && width == 3 ? "      ((__global ushort *)out)[i * 4 + 3] = 0xa5a5;\n" : "";
      one.code = head + fmt::format("      {}(v, i, (__global half *)out);\n{}    }}", function, fourth);
    } else {
      const std::string place = space == "local" ? "      __local ushort *own = (__local ushort *)pool + 16 * lane;\n"
                                                 : "      ushort16 room;\n      ushort *own = (ushort *)&room;\n";
      one.code = head + place +
                 fmt::format(
                     "      for (uint k = 0; k < {0}; k++) own[k] = 0xa5a5;\n      {1}(v, 0, ({2} half *)own);\n"
                     "      for (uint k = 0; k < {0}; k++) {{\n        ((__global ushort *)out)[i * {0} + k] = "
                     "k < {3} ? own[k] : 0xa5a5;\n      }}\n    }}",
                     own, function, space == "local" ? "__local" : "__private", width == 3 ? 3 : own);
    }
    const std::size_t apart = space == "global" ? step : own;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < apart; ++k) {
        const bool stored = k < width;
        append(one.expected,
               stored ? half_of(static_cast<double>(numbers[i * width + k]), mode.rounding) : std::uint16_t{0xa5a5});
      }
    }
    made.cases.push_back(one);
  }
};
MASU_ON_EACH_TYPE(StoreHalf, floats);

TEST_P(StoreHalf, EveryRounding) {
  if (type.size == 4) run_all<float>();
  else run_all<double>();
}

// The oracle itself, on values that IEEE 754 names.
TEST(HalfOracle, KnowsTheStandard) {
  EXPECT_EQ(half_value(0x3c00), 1);
  EXPECT_EQ(half_value(0x7bff), 65504);
  EXPECT_EQ(half_value(0x0001), std::ldexp(1, -24));
  EXPECT_EQ(half_of(65519.99, Rounding::to_nearest_even), 0x7bff);
  EXPECT_EQ(half_of(65520, Rounding::to_nearest_even), 0x7c00);
  EXPECT_EQ(half_of(1e300, Rounding::towards_zero), 0x7bff);
  EXPECT_EQ(half_of(-1e300, Rounding::up), 0xfbff);
  EXPECT_EQ(half_of(-1e300, Rounding::down), 0xfc00);
  EXPECT_EQ(half_of(std::ldexp(1, -25), Rounding::to_nearest_even), 0x0000);
  EXPECT_EQ(half_of(std::ldexp(3, -26), Rounding::to_nearest_even), 0x0001);
  EXPECT_EQ(half_of(5e-324, Rounding::up), 0x0001);
  EXPECT_EQ(half_of(-5e-324, Rounding::up), 0x8000);
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (std::isnan(half_value(half))) continue;
    for (const Rounding r : {Rounding::to_nearest_even, Rounding::towards_zero, Rounding::up, Rounding::down}) {
      ASSERT_EQ(half_of(half_value(half), r), half);
    }
  }
}

}  // namespace
}  // namespace masu::vocabulary
