// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <map>
#include <set>

#include "elements/stored_float.h"
#include "io/test_files.h"

namespace masu::io::test {
namespace {

template <class T>
std::vector<T> made(const std::string& text) {
  const auto source = open(text);
  EXPECT_EQ(source->info().dtype, dtype_of<T>) << text;
  return values<T>(*source);
}

// The numbers come from an independent program written after docs/generators.md.
TEST(Generator, GoldenValues) {
  using testing::ElementsAre;
  EXPECT_THAT(made<std::uint8_t>("random:u8:10"), ElementsAre(111, 126, 25, 77, 47, 221, 6, 167, 94, 79));
  EXPECT_THAT(made<std::uint16_t>("random:u16:6:seed=7"), ElementsAre(52805, 32427, 49815, 47284, 51454, 13198));
  EXPECT_THAT(made<std::int64_t>("random:i64:2:seed=1"), ElementsAre(6791897765849424158, -1041056189838986770));
  EXPECT_THAT(made<std::uint8_t>("random:u8:12:lo=0:hi=9"), ElementsAre(6, 7, 3, 6, 7, 1, 7, 2, 3, 5, 4, 1));
  EXPECT_THAT(made<double>("random:f64:3"), ElementsAre(0.6524484863740322, 0.7012121095215252, 0.3871241409757855));
  EXPECT_THAT(made<float>("random:f32:3"), ElementsAre(0.6524484753608704F, 0.7012121081352234F, 0.38712412118911743F));
  EXPECT_THAT(made<std::uint8_t>("random:u8:12:dist=normal"),
              ElementsAre(166, 132, 139, 162, 112, 119, 157, 104, 144, 127, 103, 139));
  EXPECT_THAT(made<double>("random:f64:3:dist=normal"),
              ElementsAre(1.8168187140486243, 0.22597303415047065, 0.536365568595933));
  EXPECT_THAT(made<std::uint8_t>("random:u8:12:dist=zipf"), ElementsAre(30, 40, 5, 30, 69, 0, 65, 2, 5, 17, 6, 0));
  EXPECT_THAT(made<std::uint32_t>("random:u32:8:dist=zipf"), ElementsAre(1135, 2006, 50, 1189, 5518, 2, 4952, 11));
  EXPECT_THAT(made<std::uint8_t>("random:u8:12:dist=few"),
              ElementsAre(112, 112, 16, 80, 48, 208, 16, 176, 80, 80, 80, 240));
  EXPECT_THAT(made<std::int8_t>("random:i8:7:dist=sorted"), ElementsAre(-128, -92, -55, -19, 18, 54, 91));
  EXPECT_THAT(made<std::int8_t>("random:i8:7:dist=reversed"), ElementsAre(91, 54, 18, -19, -55, -92, -128));
  EXPECT_THAT(made<double>("random:f64:4:dist=sorted:lo=1:hi=2"), ElementsAre(1, 1.25, 1.5, 1.75));
  EXPECT_THAT(made<std::int16_t>("random:i16:3:dist=constant:lo=-7"), ElementsAre(-7, -7, -7));
  EXPECT_THAT(made<float>("random:f32:2:dist=constant"), ElementsAre(42, 42));
  EXPECT_THAT(made<std::uint8_t>("iota:u8:3"), ElementsAre(0, 1, 2));
  EXPECT_EQ(made<std::uint8_t>("iota:u8:300")[299], 43);
  EXPECT_THAT(made<double>("zeros:f64:2"), ElementsAre(0, 0));
  const auto runs = made<std::uint8_t>("random:u8:1000:dist=runs");
  std::map<std::size_t, int> borders;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (i == 0 || runs[i] != runs[i - 1]) borders[i] = runs[i];
  EXPECT_EQ(borders, (std::map<std::size_t, int>{{0, 179}, {111, 168}, {279, 37}, {699, 67}, {958, 145}}));
}

TEST(Generator, PiecesAndRewindGiveTheSame) {
  for (const std::string dist : {"uniform", "constant", "normal", "zipf", "sorted", "reversed", "runs", "few"}) {
    for (const Dtype dtype :
         {Dtype::u8, Dtype::i16, Dtype::u32, Dtype::i64, Dtype::u64, Dtype::f16, Dtype::f32, Dtype::f64}) {
      const std::string text = "random:" + std::string(to_string(dtype)) + ":5003:seed=3:dist=" + dist;
      dispatch(dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        const auto source = open(text);
        const auto whole = values<T>(*source);
        EXPECT_EQ(whole.size(), 5003U) << text;
        source->rewind();
        const auto pieces = values_in_pieces<T>(*source);
        EXPECT_EQ(std::memcmp(pieces.data(), whole.data(), whole.size() * sizeof(T)), 0) << text;
      });
    }
  }
}

TEST(Generator, RangesHold) {
  for (const std::string dist : {"uniform", "normal", "zipf", "sorted", "reversed", "runs", "few"}) {
    for (const std::int32_t v : made<std::int32_t>("random:i32:2000:lo=-3:hi=4:dist=" + dist)) {
      ASSERT_GE(v, -3) << dist;
      ASSERT_LE(v, 4) << dist;
    }
    for (const float v : made<float>("random:f32:2000:lo=-1:hi=-0.5:dist=" + dist)) {
      ASSERT_GE(v, -1) << dist;
      ASSERT_LT(v, -0.5F) << dist;
    }
    // The narrowest ranges: one value.
    for (const std::uint64_t v : made<std::uint64_t>("random:u64:50:lo=9:hi=9:dist=" + dist)) ASSERT_EQ(v, 9U) << dist;
    for (const float v : made<float>("random:f32:50:lo=1:hi=1.0000001:dist=" + dist)) ASSERT_EQ(v, 1.0F) << dist;
    for (const Half v : made<Half>("random:f16:50:lo=1:hi=1.001:dist=" + dist)) ASSERT_EQ(v.bits, 0x3c00) << dist;
  }
}

TEST(Generator, DistributionsLookLikeTheirNames) {
  const auto uniform = made<std::uint8_t>("random:u8:1Mi:seed=5");
  std::array<double, 256> counts{};
  for (const auto v : uniform) ++counts[v];
  double chi = 0;
  for (const double c : counts) chi += (c - 4096) * (c - 4096) / 4096;
  EXPECT_GT(chi, 160);  // 255 degrees of freedom
  EXPECT_LT(chi, 360);
  double sum = 0;
  double squares = 0;
  const auto normal = made<double>("random:f64:200k:dist=normal");
  for (const double v : normal) {
    sum += v;
    squares += v * v;
  }
  EXPECT_NEAR(sum / 200000, 0, 0.01);
  EXPECT_NEAR(squares / 200000, 1, 0.02);
  std::array<double, 256> ranks{};
  for (const auto v : made<std::uint8_t>("random:u8:1Mi:dist=zipf")) ++ranks[v];
  EXPECT_NEAR(ranks[0] / ranks[1], 2, 0.05);
  EXPECT_NEAR(ranks[0] / ranks[9], 10, 0.5);
  const auto sorted = made<std::int32_t>("random:i32:10007:dist=sorted");
  EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
  const auto few = made<std::int32_t>("random:i32:10007:dist=few");
  EXPECT_EQ(std::set<std::int32_t>(few.begin(), few.end()).size(), 8U);
  EXPECT_NE(made<std::uint64_t>("random:u64:1:seed=1"), made<std::uint64_t>("random:u64:2:seed=0"));
}

TEST(Generator, EmptyAndWrongTexts) {
  EXPECT_TRUE(made<std::uint8_t>("random:u8:0:dist=reversed").empty());
  EXPECT_TRUE(made<float>("random:f32:0:dist=sorted").empty());
  EXPECT_TRUE(made<std::uint8_t>("iota:u8:0").empty());
  for (const std::string text : {"random:",
                                 "random:u8",
                                 "random:u9:1",
                                 "random:u8:x",
                                 "random:u8:-1",
                                 "random:u8:1:dist=foo",
                                 "random:u8:1:dist",
                                 "random:u8:1:lo=",
                                 "random:u8:1:lo=256",
                                 "random:i8:1:lo=-129",
                                 "random:u8:1:lo=2:hi=1",
                                 "random:f32:1:lo=1:hi=1",
                                 "random:f32:1:lo=nan",
                                 "random:f32:1:lo=1e39",
                                 "random:f64:1:lo=-1e308:hi=1e308",
                                 "random:u8:1:seed=-1",
                                 "random:u8:1:seed=1:seed=2",
                                 "random:u8:1:foo=1",
                                 "random:u8:16T:hi=x",
                                 "iota:u8:1:seed=1",
                                 "zeros:u8:1:lo=3",
                                 "random:u8:1Ei",
                                 "random:u8:1:dist=constant:hi=3",
                                 "random:u8:300T"})
    expect_error(ErrorCode::invalid_argument, "", [&] { open(text); });
  expect_error(ErrorCode::invalid_argument, "its own dtype", [] {
    SourceOptions options;
    options.dtype = Dtype::f32;
    open("random:u8:1", options);
  });
  expect_error(ErrorCode::out_of_memory, "limit", [] { read_all(*open("zeros:u8:1Mi"), 1000); });
}

TEST(Half, EveryValueThereAndBack) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const double value = to_double(half);
    if (std::isnan(value)) EXPECT_TRUE(std::isnan(to_double(rounded_to<Half>(value))));
    else EXPECT_EQ(rounded_to<Half>(value).bits, bits);
    // Half way to the next one goes to the even one, the neighbours of the middle to their side.
    if ((bits & 0x7fff) >= 0x7bff) continue;
    const double next = to_double(Half{static_cast<std::uint16_t>(bits + 1)});
    const double middle = value / 2 + next / 2;
    EXPECT_EQ(rounded_to<Half>(middle).bits, bits % 2 == 0 ? bits : bits + 1);
    EXPECT_EQ(rounded_to<Half>(std::nextafter(middle, value)).bits, bits);
    EXPECT_EQ(rounded_to<Half>(std::nextafter(middle, next)).bits, bits + 1);
  }
  EXPECT_EQ(rounded_to<Half>(65520).bits, 0x7c00);
  EXPECT_EQ(rounded_to<Half>(std::nextafter(65520, 0)).bits, 0x7bff);
  EXPECT_EQ(rounded_to<Half>(-1e300).bits, 0xfc00);
}

}  // namespace
}  // namespace masu::io::test
