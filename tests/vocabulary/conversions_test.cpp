// SPDX-License-Identifier: Apache-2.0
// convert_T: from every type to every type, saturated and not, in every rounding.
#include "each_type.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace masu::vocabulary {
namespace {

constexpr std::size_t lanes = 4;
constexpr std::size_t count = 240;  // values of a type: a multiple of every width
constexpr std::array<std::string_view, 5> roundings{"", "_rte", "_rtz", "_rtp", "_rtn"};

__extension__ using Wide = __int128;

template <class T>
using Limits = std::numeric_limits<T>;

// A number as an integer, in a rounding; none is towards zero.
long double rounded(long double x, std::string_view rounding) {
  if (rounding == "_rte") return std::nearbyint(x);
  if (rounding == "_rtp") return std::ceil(x);
  return rounding == "_rtn" ? std::floor(x) : std::trunc(x);
}

// A number as a float or double, in a rounding; none is to nearest. A long double holds every number here.
template <class T>
T narrowed(long double x, std::string_view rounding) {
  const T nearest = static_cast<T>(x);
  if (rounding.empty() || rounding == "_rte" || std::isnan(x) || nearest == x) return nearest;
  const bool down = rounding == "_rtn" || (rounding == "_rtz" && x > 0);
  if (down) return nearest > x ? std::nextafter(nearest, -Limits<T>::infinity()) : nearest;
  return nearest < x ? std::nextafter(nearest, Limits<T>::infinity()) : nearest;
}

template <class T, class S>
T converted(S x, bool saturated, std::string_view rounding) {
  if constexpr (!Limits<T>::is_integer) {
    return narrowed<T>(static_cast<long double>(x), rounding);
  } else {
    if constexpr (!Limits<S>::is_integer) {
      const long double whole = rounded(x, rounding);
      if (whole < static_cast<long double>(Limits<T>::min())) return Limits<T>::min();
      if (whole > static_cast<long double>(Limits<T>::max())) return Limits<T>::max();
      return static_cast<T>(whole);
    } else {
      const Wide wide = x;
      if (!saturated) return static_cast<T>(wide);
      return static_cast<T>(std::clamp<Wide>(wide, Limits<T>::min(), Limits<T>::max()));
    }
  }
}

// Whether OpenCL C settles what becomes of a number: a NaN "should" become 0 by saturated conversions, out of range it
// depends on the device, and subnormal floats may be flushed.
template <class T, class S>
bool settled(S x, bool saturated) {
  const long double wide = x;
  if constexpr (!Limits<T>::is_integer) {
    const long double size = std::fabs(wide);
    return size == 0 || !(size < 2 * static_cast<long double>(Limits<T>::min()));
  } else {
    if (saturated) return !std::isnan(wide);
    if (Limits<S>::is_integer && !Limits<T>::is_signed) return true;
    return std::floor(wide) >= static_cast<long double>(Limits<T>::min()) &&
           std::ceil(wide) <= static_cast<long double>(Limits<T>::max());
  }
}

// Powers of two and the limits of all integer types with their neighbours, and what looks random.
template <class S>
std::vector<S> numbers() {
  std::vector<S> result;
  const auto add = [&](S x) {
    if (result.size() < count) result.push_back(x);
  };
  if constexpr (Limits<S>::is_integer) {
    for (unsigned bit = 0; bit < sizeof(S) * 8; ++bit) {
      const std::uint64_t power = std::uint64_t{1} << bit;
      for (const std::uint64_t x : {power, power - 1, ~power + 1}) add(static_cast<S>(x));
    }
  } else {
    for (const S x : {Limits<S>::infinity(), Limits<S>::max(), Limits<S>::min(), Limits<S>::quiet_NaN(), S{0}, S{0.5},
                      S{1.5}, S{2.5}, S{2.75}}) {
      add(x);
      add(-x);
    }
    for (const int bit : {7, 8, 15, 16, 31, 32, 63, 64}) {
      const S limit = std::ldexp(S{1}, bit);
      for (const S x : {limit, std::nextafter(limit, S{0}), std::nextafter(limit, Limits<S>::max()), limit - S{0.5},
                        limit - S{1}, limit - S{1.5}, limit + S{0.5}, limit + S{1}}) {
        add(x);
        add(-x);
      }
    }
  }
  for (std::uint64_t i = 0; result.size() < count; ++i) {
    const auto bits = static_cast<std::int64_t>(hash(i)) >> (hash(i + 1000) % 63);
    if constexpr (Limits<S>::is_integer) add(static_cast<S>(bits));
    else add(static_cast<S>(static_cast<double>(bits) / 8));
  }
  return result;
}

// Intel's compilers before 2026 end by internal errors at some vectors.
bool scalars_alone(const DeviceInfo& info) {
  return info.driver.find("Intel") != std::string::npos && info.driver.find("2026.") == std::string::npos;
}

class Convert : public EachType {};
MASU_ON_EACH_TYPE(Convert, types);

TEST_P(Convert, EveryTypeAndRounding) {
  Batch made{.family = "conversion", .type = type.name};
  made.lanes = lanes;
  std::size_t turn = 0;
  with_type(type.name, [&](auto from) {
    using S = decltype(from);
    for (const Type& to : types) {
      if (std::string_view(to.name) == "double" && !device.info().fp64) continue;
      with_type(to.name, [&](auto value) {
        using T = decltype(value);
        for (const bool saturated : {false, true}) {
          if (saturated && to.floating) continue;
          std::vector<S> input = numbers<S>();
          std::ranges::replace_if(
              input, [&](S x) { return !settled<T>(x, saturated); }, S{1});
          const std::size_t at = made.input.size();
          append_bytes(made.input, bytes_of(input));
          for (const std::string_view rounding : roundings) {
            std::vector<T> expected;
            for (const S x : input) expected.push_back(converted<T>(x, saturated, rounding));
            for (const std::size_t width : some_widths(turn++)) {
              if (width > 1 && scalars_alone(device.info())) continue;
              Case one{.name = fmt::format("convert_{}{}{} of {}", vector_name(to.name, width), saturated ? "_sat" : "",
                                           rounding, vector_name(type.name, width))};
              const std::string call =
                  fmt::format("{}({})", one.name.substr(0, one.name.find(' ')),
                              load(width, "i", fmt::format("(__global const {} *)(in + {})", type.name, at)));
              one.code = fmt::format("    for (uint i = lane; i < {}; i += lanes) {}", count / width,
                                     store(width, call, "i", fmt::format("(__global {} *)out", to.name)));
              one.expected = bytes_of(expected);
              one.match = match_of<T>;
              made.cases.push_back(one);
            }
          }
        }
      });
    }
  });
  run_or_skip(made);
}

}  // namespace
}  // namespace masu::vocabulary
