// SPDX-License-Identifier: Apache-2.0
// Strided copies and lines as rows, against loops over the indices.
#include "transpose/strided.h"

#include "each_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace masu {
namespace {

using Memory = std::vector<std::byte>;
using Numbers = std::vector<std::int64_t>;

Memory numbered(std::size_t size) {
  Memory bytes(size);
  std::uint32_t state = 1;
  for (std::byte& one : bytes) one = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

// An array whose axes lie in memory in the order `order`, `gap` elements apart, some of them backwards.
struct Layout {
  Numbers strides;
  std::int64_t first = 0;  // bytes from the start of the memory to the element with the indices 0
  std::int64_t bytes = 0;
};
Layout layout_of(const Numbers& shape, const std::vector<std::size_t>& order, std::int64_t size, std::int64_t gap,
                 unsigned backwards) {
  Layout layout{Numbers(shape.size())};
  std::int64_t step = size * gap;
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::size_t axis = order[i];
    layout.strides[axis] = step;
    step *= shape[axis];
    if ((backwards >> axis & 1) != 0) {
      layout.first += (shape[axis] - 1) * layout.strides[axis];
      layout.strides[axis] = -layout.strides[axis];
    }
  }
  layout.bytes = step;
  return layout;
}

template <class F>
void each_index(const Numbers& shape, const F& f) {
  Numbers index(shape.size());
  if (std::ranges::count(shape, 0) != 0) return;
  for (;;) {
    f(index);
    std::size_t i = shape.size();
    while (i != 0 && ++index[i - 1] == shape[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}
std::int64_t place(const Layout& layout, const Numbers& index) {
  return std::inner_product(index.begin(), index.end(), layout.strides.begin(), layout.first);
}

void expect_copied(const Numbers& shape, std::size_t size, const Layout& from, const Layout& to) {
  std::string name = std::to_string(size) + " bytes:";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    name += " " + std::to_string(shape[i]) + " (" + std::to_string(from.strides[i]) + ", " +
            std::to_string(to.strides[i]) + ")";
  }
  const Memory data = numbered(static_cast<std::size_t>(from.bytes) + size);
  Memory expected(static_cast<std::size_t>(to.bytes) + size, std::byte{0xa5});
  Memory found = expected;
  each_index(shape, [&](const Numbers& index) {
    std::copy_n(data.data() + place(from, index), size, expected.data() + place(to, index));
  });
  copy_strided(size, {data.data() + from.first, shape, from.strides}, {found.data() + to.first, shape, to.strides});
  EXPECT_TRUE(found == expected) << name;
}

TEST(StridedTest, CopiesArraysThatLieInAnyWay) {
  std::mt19937 random(1);
  const std::array<std::int64_t, 9> lengths{0, 1, 1, 2, 3, 5, 8, 17, 33};
  for (int round = 0; round < 400; ++round) {
    const std::size_t size = std::array<std::size_t, 7>{1, 2, 4, 8, 3, 16, 24}[random() % 7];
    Numbers shape(random() % 5);
    for (std::int64_t& length : shape)
      length = lengths[random() % (round % 16 == 0 ? 9 : 8) + (round % 16 == 0 ? 0 : 1)];
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto some = [&] {
      std::ranges::shuffle(order, random);
      const std::int64_t gap = random() % 3 == 0 ? 1 + static_cast<std::int64_t>(random() % 3) : 1;
      return layout_of(shape, order, static_cast<std::int64_t>(size), gap,
                       random() % 3 == 0 ? static_cast<unsigned>(random()) : 0U);
    };
    const Layout from = some();
    expect_copied(shape, size, from, some());
  }
}

// More than one thread takes at a time: long lines, many lines, many small and few large matrices.
TEST(StridedTest, CopiesMuchData) {
  const auto check = [](const Numbers& shape, const std::vector<std::size_t>& order, std::int64_t gap) {
    std::vector<std::size_t> straight(shape.size());
    std::iota(straight.begin(), straight.end(), std::size_t{0});
    for (const std::int64_t size : {1, 8}) {
      const Layout to = layout_of(shape, straight, size, 1, 0);
      const Layout from = layout_of(shape, order, size, gap, 0);
      expect_copied(shape, static_cast<std::size_t>(size), from, to);
      expect_copied(shape, static_cast<std::size_t>(size), to, from);
    }
  };
  check({5'000'011}, {0}, 1);
  check({5'000'011}, {0}, 2);
  check({70'001, 73}, {0, 1}, 2);
  check({1003, 5011}, {1, 0}, 1);
  check({20'011, 31, 9}, {0, 2, 1}, 1);
  check({3, 1300, 1301}, {0, 2, 1}, 1);
}

TEST(StridedTest, BroadcastElementsAreReadAgain) {
  const std::array<std::uint16_t, 3> data{1, 2, 3};
  const Numbers shape{2, 3, 2};
  std::array<std::uint16_t, 12> found{};
  copy_elements(2, {reinterpret_cast<const std::byte*>(data.data()), shape, Numbers{0, 2, 0}}, found.data());
  EXPECT_EQ(found, (std::array<std::uint16_t, 12>{1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3}));
}

TEST(StridedTest, FindsLines) {
  const Numbers shape{2, 3, 1, 4, 5};
  call::Lines lines;
  ASSERT_TRUE(lines.find(shape, 0b01000));
  EXPECT_EQ((std::array{lines.outer, lines.first, lines.between, lines.second, lines.inner}),
            (std::array<std::uint64_t, 5>{6, 4, 1, 1, 5}));
  EXPECT_EQ(lines.length, 4U);
  EXPECT_EQ(lines.number(), 30U);
  EXPECT_FALSE(lines.are_rows());
  EXPECT_EQ(Numbers(lines.with(7).begin(), lines.with(7).end()), (Numbers{2, 3, 1, 7, 5}));
  lines = {};
  ASSERT_TRUE(lines.find(shape, 0b10010));  // two groups
  EXPECT_EQ((std::array{lines.outer, lines.first, lines.between, lines.second, lines.inner}),
            (std::array<std::uint64_t, 5>{2, 3, 4, 5, 1}));
  auto reduced = lines.reduced(false);
  EXPECT_EQ(Numbers(reduced.begin(), reduced.end()), (Numbers{2, 1, 4}));
  lines = {};
  ASSERT_TRUE(lines.find(shape, 0b00110));  // the axis of length 1 is of any group
  reduced = lines.reduced(true);
  EXPECT_EQ(Numbers(reduced.begin(), reduced.end()), (Numbers{2, 1, 1, 4, 5}));
  lines = {};
  EXPECT_FALSE(lines.find(Numbers{2, 3, 4, 5, 6}, 0b10101));
  lines = {};
  ASSERT_TRUE(lines.find_all(shape));
  EXPECT_EQ(lines.length, 120U);
  EXPECT_TRUE(lines.are_rows());
  EXPECT_TRUE(lines.reduced(false).empty());
  EXPECT_EQ(lines.alike().size(), 1U);
  lines = {};
  EXPECT_FALSE(lines.find_all(Numbers(33, 1)));
}

class StridedLinesTest : public test::EachDevice {};
MASU_ON_EACH_DEVICE(StridedLinesTest);

Memory read(const Buffer<std::byte>& buffer) {
  Memory bytes(buffer.size());
  buffer.read(bytes);
  return bytes;
}

// Rows by index, in host memory and in that of the device; put_rows() brings them back.
TEST_P(StridedLinesTest, LinesAsRows) {
  struct Case {
    Numbers shape;
    std::uint32_t axes;
  };
  const Case cases[] = {{{7, 5}, 0b01},         {{7, 5}, 0b10},         {{3, 50, 4}, 0b010},  {{60, 5, 9}, 0b010},
                        {{2, 3, 4, 5}, 0b0101}, {{2, 3, 4, 5}, 0b1010}, {{9, 1, 4}, 0b010},   {{600, 500}, 0b01},
                        {{40, 7, 30}, 0b010},   {{8, 64, 64}, 0b001},   {{4, 3, 5}, 0b00110}, {{11}, 0b1}};
  for (const auto& [shape, axes] : cases) {
    for (const std::size_t size : {1, 2, 4, 8}) {
      call::Lines lines;
      ASSERT_TRUE(lines.find(shape, axes));
      std::vector<std::size_t> order(shape.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      const Layout lying = layout_of(shape, order, static_cast<std::int64_t>(size), 1, 0);
      std::ranges::stable_partition(order, [&](std::size_t i) { return (axes >> i & 1) == 0; });
      const Layout wanted = layout_of(shape, order, static_cast<std::int64_t>(size), 1, 0);
      const Memory data = numbered(static_cast<std::size_t>(lying.bytes));
      Memory expected(data.size());
      each_index(shape, [&](const Numbers& index) {
        std::copy_n(data.data() + place(lying, index), size, expected.data() + place(wanted, index));
      });
      Memory memory;
      const auto* const rows = static_cast<const std::byte*>(as_rows(size, data.data(), lines, memory));
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), rows));

      Stream stream(device);
      const Buffer<std::byte> there = device.upload(data);
      std::optional<Buffer<std::byte>> held;
      const Buffer<std::byte>& rows_there = as_rows(stream, size, there, lines, held);
      stream.finish();
      EXPECT_TRUE(read(rows_there) == expected);

      if (lines.second != 1) continue;
      Memory back(data.size());
      by_lines(size, data.data(), lines, size, back.data(), [&](const void* rows, std::uint64_t count, void* to) {
        std::memcpy(to, rows, count * lines.length * size);
      });
      EXPECT_TRUE(back == data);
      Buffer<std::byte> back_there(device, data.size());
      put_rows(stream, size, back_there, lines, lines.length, [&](Buffer<std::byte>& to) { to.write(expected); });
      stream.finish();
      EXPECT_TRUE(read(back_there) == data);
    }
  }
}

}  // namespace
}  // namespace masu
