// SPDX-License-Identifier: Apache-2.0
// Running sums of lines of any shape, side by side and one by one, beside those of a plain loop over each line.
#include "scan/scan_cpu.h"

#include <gtest/gtest.h>

#include "each_device.h"
#include "each_instruction_set.h"
#include "scan/scan_device.h"
#include "scan/scan_reference.h"
#include "sum/sum_test_data.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace masu {
namespace {

template <class T>
class RunningSumsTest : public ::testing::Test {
 protected:
  struct Shape {
    std::size_t outer;
    std::size_t length;
    std::size_t inner;
  };
  static std::vector<T> plain(const std::vector<T>& x, const Shape& shape, bool exclusive) {
    std::vector<T> y(x.size());
    for (std::size_t line = 0; line < shape.outer * shape.inner; ++line) {
      std::size_t at = line / shape.inner * shape.length * shape.inner + line % shape.inner;
      ExactSum sum;
      for (std::size_t i = 0; i < shape.length; ++i, at += shape.inner) {
        if (!exclusive) sum.add(reference::number(x[at]));
        y[at] = rounded_to<T>(sum.sum(dtype_of<T>));
        if (exclusive) sum.add(reference::number(x[at]));
      }
    }
    return y;
  }
};
using RunningSumsTypes = ::testing::Types<Half, Bfloat16, float, double>;
TYPED_TEST_SUITE(RunningSumsTest, RunningSumsTypes);

TYPED_TEST(RunningSumsTest, AreExactAlongAnyAxis) {
  using T = TypeParam;
  test::each_instruction_set([&] {
    for (const auto& shape : std::initializer_list<typename TestFixture::Shape>{{1, 1, 1},
                                                                                {1, 2000, 1},
                                                                                {7, 3, 1},
                                                                                {37, 70, 1},
                                                                                {1, 130, 8},
                                                                                {1, 65, 19},
                                                                                {3, 66, 2},
                                                                                {2, 70, 5},
                                                                                {2, 9, 33}}) {
      for (const std::string& name : test::sum_data_names()) {
        SCOPED_TRACE(name + " " + std::to_string(shape.outer) + " x " + std::to_string(shape.length) + " x " +
                     std::to_string(shape.inner));
        std::vector<T> x = test::sum_data<T>(name, shape.outer * shape.length * shape.inner);
        const std::vector<T> right = this->plain(x, shape, false);
        std::vector<T> y(x.size());
        running_sums(ArrayView(x), y.data(), shape.outer, shape.length, shape.inner);
        EXPECT_TRUE(reference::same_bits<T>(y, right));
        run_lines(x.data(), y.data(), shape.outer, shape.length, shape.inner, true);
        EXPECT_TRUE(reference::same_bits<T>(y, this->plain(x, shape, true)));
        if (shape.inner != 1) continue;
        run_lines(x.data(), x.data(), shape.outer, shape.length, 1, false);  // in place
        EXPECT_TRUE(reference::same_bits<T>(x, right));
      }
    }
  });
}

// A line that nothing proves leaves those beside it as they are.
TYPED_TEST(RunningSumsTest, LinesThatAreNotFinite) {
  using T = TypeParam;
  const typename TestFixture::Shape shape{1, 40, 20};
  std::vector<T> x = test::sum_data<T>("normal", 800);
  x[13 * 20 + 5] = rounded_to<T>(std::numeric_limits<double>::infinity());
  x[17 * 20 + 5] = rounded_to<T>(-std::numeric_limits<double>::infinity());
  std::vector<T> y(x.size());
  running_sums(ArrayView(x), y.data(), shape.outer, shape.length, shape.inner);
  EXPECT_TRUE(reference::same_bits<T>(y, this->plain(x, shape, false)));
}

// So many lines of few elements that a device's work-items hold them, to other memory and in place.
class ShortRunningSums : public test::EachDevice {};
MASU_ON_EACH_DEVICE(ShortRunningSums);

TEST_P(ShortRunningSums, AreThoseOfTheHost) {
  const std::uint64_t lines = device.info().gpu ? 300007 : 70001;
  const auto check = [&]<class T>(T, std::uint64_t outer, std::uint64_t length, std::uint64_t inner) {
    if (std::is_same_v<T, double> && !device.info().fp64) return;
    for (const std::string name : {"normal", "wide", "zeros", "extremes"}) {
      SCOPED_TRACE(name + " " + std::to_string(outer) + " x " + std::to_string(length) + " x " + std::to_string(inner));
      std::vector<T> x = test::sum_data<T>(name, outer * length * inner);
      using Wide = std::conditional_t<test::is_real<T>, T, std::int64_t>;
      std::vector<Wide> right(x.size());
      if constexpr (test::is_real<T>) {
        // In front of and after as many elements as a work-item holds, both infinities in some columns.
        const double infinity = std::numeric_limits<double>::infinity();
        const double special[] = {infinity, std::numeric_limits<double>::quiet_NaN(), -infinity};
        for (std::size_t i = 7; name == "normal" && i < x.size(); i += 1009) x[i] = rounded_to<T>(special[i % 3]);
        running_sums(ArrayView(x), right.data(), outer, length, inner);
      } else {
        for (std::size_t i = 0; i < x.size(); ++i) {
          right[i] = static_cast<Wide>(static_cast<std::uint64_t>(x[i]) +
                                       (i / inner % length == 0 ? 0 : static_cast<std::uint64_t>(right[i - inner])));
        }
      }
      const Buffer<T> data = device.upload(x);
      const Buffer<Wide> sums(device, x.size());
      Stream stream(device);
      const bool held = running_sums(stream, data, dtype_of<T>, sums, outer, length, inner);
      EXPECT_EQ(held, device.kind() != DeviceKind::cpu);
      if (!held) return;
      const bool in_place =
          sizeof(T) == sizeof(Wide) && running_sums(stream, data, dtype_of<T>, data, outer, length, inner);
      const bool little = inner > 1 && x.size() * sizeof(Wide) <= (sizeof(Wide) == 8 ? 1 << 22 : 1 << 20);
      EXPECT_EQ(in_place, sizeof(T) == sizeof(Wide) && (little || length <= (sizeof(T) == 8 ? 4 : 8)));
      stream.finish();
      EXPECT_EQ(std::memcmp(sums.read().data(), right.data(), right.size() * sizeof(Wide)), 0);
      if (in_place) {
        EXPECT_EQ(std::memcmp(data.read().data(), right.data(), x.size() * sizeof(T)), 0);
      }
    }
  };
  check(float{}, 1, 3, lines);
  check(float{}, lines, 2, 1);
  check(Half{}, lines / 31, 5, 31);
  check(double{}, 1, 2, lines);
  check(std::int16_t{}, 1, 3, lines);
  check(std::uint64_t{}, lines, 2, 1);
  // Longer columns, which are not taken in place.
  check(float{}, 1, 33, lines);
  check(Half{}, 1, 40, lines);
  check(Half{}, lines / 101, 9, 101);
  check(double{}, 1, 9, lines);
  check(std::int32_t{}, 1, 17, lines);
}

// Little data, whose columns a scan takes where they lie, from an odd place on.
TEST_P(ShortRunningSums, LittleDataAlongAnyAxis) {
  const auto check = [&]<class T>(T, std::uint64_t outer, std::uint64_t length, std::uint64_t inner) {
    if (device.kind() == DeviceKind::cpu || (std::is_same_v<T, double> && !device.info().fp64)) return;
    using Wide = std::conditional_t<test::is_real<T>, T, std::int64_t>;
    for (const std::string name : {"normal", "wide", "zeros", "extremes"}) {
      SCOPED_TRACE(name + " " + std::to_string(outer) + " x " + std::to_string(length) + " x " + std::to_string(inner));
      std::vector<T> x = test::sum_data<T>(name, outer * length * inner);
      std::vector<Wide> right(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        if constexpr (test::is_real<T>) continue;
        else
          right[i] = static_cast<Wide>(static_cast<std::uint64_t>(x[i]) +
                                       (i / inner % length == 0 ? 0 : static_cast<std::uint64_t>(right[i - inner])));
      }
      if constexpr (test::is_real<T>) running_sums(ArrayView(x), right.data(), outer, length, inner);
      std::vector<T> padded(1);
      padded.insert(padded.end(), x.begin(), x.end());
      const Buffer<T> data = device.upload(padded).slice(1, x.size());
      const Buffer<Wide> sums(device, x.size());
      Stream stream(device);
      EXPECT_TRUE(running_sums(stream, data, dtype_of<T>, sums, outer, length, inner));
      if (sizeof(T) == sizeof(Wide)) {
        EXPECT_TRUE(running_sums(stream, data, dtype_of<T>, data, outer, length, inner));
      }
      stream.finish();
      EXPECT_EQ(std::memcmp(sums.read().data(), right.data(), right.size() * sizeof(Wide)), 0);
      if (sizeof(T) == sizeof(Wide)) {
        EXPECT_EQ(std::memcmp(data.read().data(), right.data(), right.size() * sizeof(Wide)), 0);
      }
    }
  };
  check(float{}, 1, 2, 2);
  check(float{}, 1, 16, 256);
  check(float{}, 7, 2, 3);
  check(float{}, 2, 511, 13);
  check(double{}, 1, 1025, 3);
  check(double{}, 3, 97, 42);
  check(std::uint8_t{}, 3, 32, 128);
  if (!device.info().gpu) return;  // a compiler that takes seconds for each kind
  check(Half{}, 1, 257, 31);
  check(Bfloat16{}, 5, 33, 7);
  check(std::int64_t{}, 1, 4, 1023);
  check(std::int64_t{}, 1, 2049, 2);
}

}  // namespace
}  // namespace masu
