// SPDX-License-Identifier: Apache-2.0
#include "each_device.h"
#include "expect_error.h"
#include "sum/sum_reference.h"
#include "sum/sum_test_data.h"

#include <gtest/gtest.h>
#include <masu/sum.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace masu {
namespace {

using test::sum_data;



class Sum : public test::EachDevice {
 protected:
  template <class T>
  [[nodiscard]] bool can() const {
    return !std::is_same_v<T, double> || device.info().fp64;
  }
  // All five functions of device memory that begins `shift` elements behind an alignment, y's twice that.
  template <class T>
  void check(const std::vector<T>& x, const std::vector<T>& y, std::size_t shift, Dtype result, bool all) {
    std::vector<T> shifted(shift, T{});
    shifted.insert(shifted.end(), x.begin(), x.end());
    std::vector<T> other(2 * shift, T{});
    other.insert(other.end(), y.begin(), y.end());
    const Buffer<T> whole_x = device.upload(shifted);
    const Buffer<T> whole_y = device.upload(other);
    const Buffer<T> on_x = whole_x.slice(shift, x.size());
    const Buffer<T> on_y = whole_y.slice(2 * shift, y.size());
    const reference::Total total = reference::sum(x);
    const reference::Total products = reference::dot(x, y);
    const SumOptions options{.result = result};
    constexpr Dtype dtype = dtype_of<T>;
    const Natural one(1);
    if constexpr (test::is_real<T>) {
      EXPECT_TRUE(reference::is_quotient(total, one, sum(on_x, dtype, options).value(), result));
      EXPECT_TRUE(reference::is_quotient(products, one, dot(on_x, on_y, dtype, options).value(), result));
    } else {
      const auto equals = [&](const reference::Total& expected, SumType<T> got) {
        reference::Total difference = expected;
        const bool negative = got < 0;
        const auto bits = static_cast<std::uint64_t>(got);
        difference.add(!negative, Natural(negative ? 0 - bits : bits, reference::scale));
        return difference.plus == difference.minus;
      };
      EXPECT_TRUE(equals(total, sum(on_x)));
      EXPECT_TRUE(equals(products, dot(on_x, on_y)));
    }
    if (!all || x.size() < 2) return;
    const std::uint64_t n = x.size();
    const reference::Total squares = reference::dot(x, x);
    EXPECT_TRUE(reference::is_quotient(total, Natural(n), mean(on_x, dtype, options).value(), result));
    EXPECT_TRUE(reference::is_root(squares, norm2(on_x, dtype, options).value(), result));
    SumOptions sample = options;
    sample.ddof = 1;
    EXPECT_TRUE(reference::is_variance(total, squares, n, 1, variance(on_x, dtype, sample).value(), result));
  }
};
MASU_ON_EACH_DEVICE(Sum);

template <class T, class F>
void each_data(const F& check) {
  for (const std::string& name : test::sum_data_names()) {
    if (!test::is_real<T> && name != "wide" && name != "equal" && name != "zeros") continue;
    SCOPED_TRACE(std::string(to_string(dtype_of<T>)) + " " + name);
    check(name);
  }
}

TEST_P(Sum, FloatsAreRoundedOnce) {
  const auto check_type = [&]<class T>(T) {
    if (!can<T>()) return;
    each_data<T>([&](const std::string& name) {
      for (const std::size_t count : {1, 2, 3, 300}) {
        const std::vector<T> x = sum_data<T>(name, count);
        check(x, sum_data<T>(name, count, 2), count % 4,
              count == 2   ? Dtype::f32
              : count == 1 ? Dtype::f16
                           : Dtype::f64,
              true);
      }
      check(sum_data<T>(name, 1531), sum_data<T>(name == "equal" ? "normal" : name, 1531, 3), 1, Dtype::f32, false);
    });
  };
  check_type(Half{});
  check_type(float{});
  check_type(double{});
}

TEST_P(Sum, IntegersAreExact) {
  const auto check_type = [&]<class T>(T) {
    each_data<T>([&](const std::string& name) {
      for (const std::size_t count : {1, 2, 77}) {
        check(sum_data<T>(name, count), sum_data<T>(name, count, 2), count % 5, Dtype::f64, sizeof(T) >= 4);
      }
      check(sum_data<T>(name, 1531), sum_data<T>(name, 1531, 3), 1, Dtype::f32, false);
    });
  };
  check_type(std::uint8_t{});
  check_type(std::int8_t{});
  check_type(std::uint16_t{});
  check_type(std::int16_t{});
  check_type(std::uint32_t{});
  check_type(std::int32_t{});
  check_type(std::uint64_t{});
  check_type(std::int64_t{});
}

}  // namespace
}  // namespace masu
