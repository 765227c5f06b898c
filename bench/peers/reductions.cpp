// SPDX-License-Identifier: Apache-2.0
// Sums, extremes and scans as the standard library and a programmer write them: a loop over one variable, the loop that
// the compiler may turn into vectors (std::reduce(unseq)), Neumaier's compensated loop; std::min_element and its kin;
// std::partial_sum. Sums of floats round in every step.
#include <algorithm>
#include <cmath>
#include <execution>
#include <numeric>
#include <stdexcept>
#include <type_traits>

#include "loops.h"

namespace masu::bench {
namespace {

// A result that nobody uses would not be computed.
template <class T>
void use(const T& result) {
  asm volatile("" : : "m"(result) : "memory");
}

// once(x, y) gives the result.
template <class Once>
Reduced timed(const ReducingPeer::Task& task, const Once& once) {
  return with_type(task.x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto x = elements<T>(task.x);
    const auto y = elements<T>(task.y);
    return Reduced{time_repeats(task.repeats, [&] { use(once(x, y)); }), {}, 0};
  });
}

// Integers are added in 64 bits.
template <class T>
using Total = std::conditional_t<std::is_floating_point_v<T>, T,
                                 std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

Reduced loop(const ReducingPeer::Task& task) {
  const bool dot = task.what == "dot";
  return timed(task, [dot](auto x, auto y) {
    using T = typename decltype(x)::value_type;
    Total<T> sum = 0;
    if (dot) {
      for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<Total<T>>(x[i]) * static_cast<Total<T>>(y[i]);
    } else {
      for (const T value : x) sum += value;
    }
    return sum;
  });
}

Reduced vectors(const ReducingPeer::Task& task) {
  const bool dot = task.what == "dot";
  return timed(task, [dot](auto x, auto y) {
    using Sum = Total<typename decltype(x)::value_type>;
    return dot ? std::transform_reduce(std::execution::unseq, x.begin(), x.end(), y.begin(), Sum{0})
               : std::reduce(std::execution::unseq, x.begin(), x.end(), Sum{0});
  });
}

// Neumaier's sum: what each addition loses is added up apart. Products of dots lose nothing by fma.
Reduced compensated(const ReducingPeer::Task& task) {
  const bool dot = task.what == "dot";
  return timed(task, [dot](auto x, auto y) -> typename decltype(x)::value_type {
    using T = typename decltype(x)::value_type;
    if constexpr (!std::is_floating_point_v<T>) throw std::runtime_error("integers lose nothing");
    else {
      T sum = 0;
      T lost = 0;
      const auto add = [&](T value) {
        const T next = sum + value;
        lost += std::abs(sum) >= std::abs(value) ? (sum - next) + value : (value - next) + sum;
        sum = next;
      };
      for (std::size_t i = 0; i < x.size(); ++i) {
        const T product = dot ? x[i] * y[i] : x[i];
        if (dot) lost += std::fma(x[i], y[i], -product);
        add(product);
      }
      return sum + lost;
    }
  });
}

Reduced standard_extremes(const ReducingPeer::Task& task) {
  const std::string_view what = task.what;
  return timed(task, [what](auto x, auto) -> std::uint64_t {
    using T = typename decltype(x)::value_type;
    if (what == "count-nonzero") {
      return static_cast<std::uint64_t>(std::count_if(x.begin(), x.end(), [](T value) { return value != 0; }));
    }
    if (what == "minmax") {
      const auto [least, greatest] = std::minmax_element(x.begin(), x.end());
      return static_cast<std::uint64_t>(least - x.begin() + (greatest - x.begin()));
    }
    const auto found = what == "max" ? std::max_element(x.begin(), x.end()) : std::min_element(x.begin(), x.end());
    return static_cast<std::uint64_t>(found - x.begin());
  });
}

Reduced standard_scan(const ReducingPeer::Task& task) {
  return with_type(task.x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto x = elements<T>(task.x);
    std::vector<T> out(x.size());
    const auto add = [](T a, T b) {
      if constexpr (std::is_floating_point_v<T>) return a + b;
      else return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    };
    const auto once = [&] {
      std::partial_sum(x.begin(), x.end(), out.begin(), add);
      use(out.back());
    };
    return Reduced{time_repeats(task.repeats, once), {}, 0};
  });
}

}  // namespace

std::vector<PeerSuite> plain_reductions() {
  const std::vector<std::string> sums = {"f32-sum", "f64-sum", "i32-sum", "f32-dot", "f64-dot"};
  const std::vector<std::string> floats = {"f32-sum", "f64-sum", "f32-dot", "f64-dot"};
  const std::vector<std::string> extremes = {"f32-min",    "f32-max",           "f32-minmax",      "f64-min",
                                             "u8-max",     "u8-minmax",         "i32-max",         "u64-max",
                                             "f64-minmax", "f32-count-nonzero", "u8-count-nonzero"};
  const std::vector<std::string> scans = {"u32-sum", "i32-sum", "u64-sum", "f32-sum", "f64-sum"};
  return {reducing_peers("sum",
                         {{{"a loop", "cpu", sums, 1}, loop},
                          {{"std::reduce(unseq)", "cpu", sums, 1}, vectors},
                          {{"Neumaier's loop", "cpu", floats, 1}, compensated}},
                         {"16Mi"}),
          reducing_peers("reduce", {{{"std::min_element", "cpu", extremes, 1}, standard_extremes}}, {"16Mi"}),
          reducing_peers("scan", {{{"std::partial_sum", "cpu", scans, 1}, standard_scan}}, {"16Mi"})};
}

}  // namespace masu::bench
