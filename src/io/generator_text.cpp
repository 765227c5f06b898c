// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "io/generator.h"
#include "io/sources.h"
#include "runtime/half.h"

namespace masu::io {
namespace {

constexpr std::array<std::string_view, 8> distributions = {"uniform", "constant", "normal", "zipf",
                                                           "sorted",  "reversed", "runs",   "few"};
constexpr std::uint64_t most_elements = std::uint64_t{1} << 48;

[[noreturn]] void refuse(const std::string& reason) {
  throw Error(ErrorCode::invalid_argument, "generator: " + reason);
}

template <class T>
bool parse_whole(std::string_view text, T& value) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// An end of the range as an integer of the dtype, in two's complement.
std::uint64_t integer_end(std::string_view key, std::string_view text, Dtype dtype) {
  return dispatch(dtype, [&](auto tag) -> std::uint64_t {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      T value = 0;
      if (!parse_whole(text, value))
        refuse(fmt::format("{} must be a number that fits {}, got '{}'", key, to_string(dtype), printable(text)));
      return static_cast<std::uint64_t>(value);
    } else {
      return 0;
    }
  });
}

double float_end(std::string_view key, std::string_view text, Dtype dtype) {
  double value = 0;
  if (!parse_whole(text, value) || !std::isfinite(value))
    refuse(fmt::format("{} must be a finite number, got '{}'", key, printable(text)));
  if (dtype == Dtype::f16) value = runtime::to_double(runtime::to_half(value));
  if (dtype == Dtype::f32) value = static_cast<double>(static_cast<float>(value));
  if (!std::isfinite(value)) refuse(fmt::format("{} must fit {}, got '{}'", key, to_string(dtype), printable(text)));
  return value;
}

void set_integer_range(GeneratorSpec& spec, std::string_view lo, std::string_view hi) {
  const auto [least, most] = dispatch(spec.dtype, [](auto tag) {
    using T = typename decltype(tag)::type;
    using L = std::numeric_limits<std::conditional_t<std::is_integral_v<T>, T, int>>;
    return std::pair(static_cast<std::uint64_t>(L::min()), static_cast<std::uint64_t>(L::max()));
  });
  spec.lo = lo.empty() ? least : integer_end("lo", lo, spec.dtype);
  const std::uint64_t last = hi.empty() ? most : integer_end("hi", hi, spec.dtype);
  const bool falls =
      is_signed(spec.dtype) ? static_cast<std::int64_t>(last) < static_cast<std::int64_t>(spec.lo) : last < spec.lo;
  if (falls) refuse("lo must be <= hi");
  spec.span = last - spec.lo + 1;
}

void set_float_range(GeneratorSpec& spec, std::string_view lo, std::string_view hi) {
  // The bell is the standard one unless its ends are given.
  spec.from = lo.empty() ? (spec.shape == Shape::normal ? -6 : 0) : float_end("lo", lo, spec.dtype);
  spec.to = hi.empty() ? (spec.shape == Shape::normal ? 6 : 1) : float_end("hi", hi, spec.dtype);
  if (!(spec.from < spec.to)) refuse("lo must be < hi");
  if (!std::isfinite(spec.to - spec.from)) refuse("hi - lo must be finite");
}

}  // namespace

bool is_generator(std::string_view text) noexcept {
  return text.starts_with("random:") || text.starts_with("iota:") || text.starts_with("zeros:");
}

GeneratorSpec parse_generator(const std::string& text) {
  std::vector<std::string_view> parts;
  for (std::string_view rest = text;;) {
    const std::size_t colon = rest.find(':');
    parts.push_back(rest.substr(0, colon));
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  GeneratorSpec spec;
  spec.kind = parts[0];
  if (parts.size() < 3 || !is_generator(text))
    refuse(fmt::format("must be KIND:DTYPE:N with KIND random, iota or zeros, got '{}'", printable(text)));
  spec.dtype = dtype_from_name(parts[1]);
  spec.count = parse_size(parts[2]);
  if (spec.count > most_elements) refuse(fmt::format("N must be <= 2^48, got {}", spec.count));
  if (spec.kind != "random") {
    spec.shape = spec.kind == "iota" ? Shape::iota : Shape::zeros;
    if (parts.size() > 3) refuse(fmt::format("{} has no option '{}'", spec.kind, printable(parts[3])));
    return spec;
  }
  std::array<std::string_view, 4> values;
  constexpr std::array<std::string_view, 4> keys = {"dist", "lo", "hi", "seed"};
  for (std::size_t i = 3; i < parts.size(); ++i) {
    const std::size_t equals = std::min(parts[i].find('='), parts[i].size());
    const auto key = std::find(keys.begin(), keys.end(), parts[i].substr(0, equals));
    if (key == keys.end() || equals + 1 >= parts[i].size())
      refuse(fmt::format("options are dist=, lo=, hi=, seed=, got '{}'", printable(parts[i])));
    std::string_view& value = values[static_cast<std::size_t>(key - keys.begin())];
    if (!value.empty()) refuse(fmt::format("{} is given twice", *key));
    value = parts[i].substr(equals + 1);
  }
  const auto [dist, lo, hi, seed] = values;
  if (!dist.empty()) {
    const auto found = std::find(distributions.begin(), distributions.end(), dist);
    if (found == distributions.end())
      refuse(fmt::format("dist must be one of {}, got '{}'", fmt::join(distributions, ", "), printable(dist)));
    spec.shape = static_cast<Shape>(found - distributions.begin());
  }
  if (!seed.empty() && !parse_whole(seed, spec.seed))
    refuse(fmt::format("seed must be 0 to 2^64 - 1, got '{}'", printable(seed)));
  if (spec.shape == Shape::constant) {
    if (!hi.empty()) refuse("dist=constant takes its value from lo and has no hi");
    const std::string_view value = lo.empty() ? "42" : lo;
    if (is_float(spec.dtype)) spec.from = float_end("lo", value, spec.dtype);
    else spec.lo = integer_end("lo", value, spec.dtype);
  } else if (is_float(spec.dtype)) {
    set_float_range(spec, lo, hi);
  } else {
    set_integer_range(spec, lo, hi);
  }
  return spec;
}

}  // namespace masu::io
