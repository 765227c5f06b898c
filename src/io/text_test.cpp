// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "io/test_files.h"

namespace masu::io::test {
namespace {

using D = std::vector<double>;

SourceOptions raw_options(Dtype dtype) {
  SourceOptions options;
  options.format = InputFormat::raw;
  options.dtype = dtype;
  return options;
}

SourceOptions text(const std::string& column = "", bool header = false, const std::string& delimiter = "",
                   std::optional<Dtype> dtype = Dtype::f64) {
  SourceOptions options;
  options.format = InputFormat::text;
  options.dtype = dtype;
  options.column = column;
  options.header = header;
  options.delimiter = delimiter;
  return options;
}

// The numbers decide the dtype.
SourceOptions untyped() {
  return text("", false, "", std::nullopt);
}

void expect_text(const Bytes& bytes, const D& expected, std::uint64_t bad, const SourceOptions& options = text()) {
  expect_values<double>(bytes, expected, options);
  for (const bool known_size : {true, false}) {
    const auto source = open_bytes(bytes, options, known_size);
    read_all(*source);
    EXPECT_EQ(source->bad_lines(), bad) << bytes;
  }
}

TEST(Text, Tokens) {
  expect_text("1", {1}, 0);
  expect_text("1 2  3\n 4 5\v6 \r\n7\n", {1, 2, 3, 4, 5, 6, 7}, 0);
  expect_text("1, 2, 3\n4", {1, 2, 3, 4}, 0);
  expect_text("1,2,\n4", {1, 2, 4}, 1);  // an empty entry at the end of the first line
  expect_text("1,,2\n,3\n", {1, 2, 3}, 2);
  expect_text("1 abc 2x 3", {1, 3}, 2);
  expect_text("-1 +2 1e3 .5 5. -0x1 ++1 +-1", {-1, 2, 1000, 0.5, 5}, 3);
  expect_text("#4\n1 # 2 3\n#4\n5#6", {1, 2, 3}, 2);
  expect_text(
      "\xef\xbb\xbf"
      "1 2",
      {1, 2}, 0);
  expect_text("\"1\" \"2\" \" 3 \"", {1, 2, 3}, 0);
}

TEST(Text, FloatsBeyondTheRange) {
  const double inf = std::numeric_limits<double>::infinity();
  expect_text("inf -inf infinity 1e-400 -0.001e-7", {inf, -inf, inf, 0, -1e-10}, 0);
  expect_text("1e-99999999999999999999 0e99999999999999999999", {0, 0}, 0);
  expect_text("0." + Bytes(2000, '0') + "1e2001", {1}, 0);
  for (const char* large : {"1e400", "-1e400", "1e99999999999999999999", "1.8e308"}) {
    expect_bad(Bytes("1.5\n") + large + " 2", fmt::format("line 2: {} does not fit f64", large), text());
    expect_bad(Bytes("1.5\n") + large + " 2", fmt::format("line 2: {} does not fit f64", large), untyped());
  }
  expect_bad("1" + Bytes(400, '0'), "line 1: 1000", text());
  const Bytes nans = "nan NaN -nan";
  const auto source = open_bytes(nans, text());
  for (const double v : values<double>(*source)) EXPECT_TRUE(std::isnan(v));
}

TEST(Text, Dtypes) {
  SourceOptions options = text();
  options.dtype = Dtype::u8;
  expect_values<std::uint8_t>("0 255 x 3.0 1e2 -0 25500e-2 -0.0", {0, 255, 3, 100, 0, 255, 0}, options);
  for (const char* misfit : {"256", "-1", "1.5", "nan", "-inf", "1e99", "1e400", "-0.5", "1e-400", "2550e-3"})
    expect_bad(Bytes("1\n\n7 ") + misfit, fmt::format("line 3: {} does not fit u8", misfit), options);
  options.dtype = Dtype::i64;
  expect_values<std::int64_t>("-9223372036854775808 9223372036854775807 -9.223372036854775808e18 9007199254740993.0",
                              {INT64_MIN, INT64_MAX, INT64_MIN, 9007199254740993}, options);
  expect_bad("9223372036854775808", "line 1: 9223372036854775808 does not fit i64", options);
  expect_bad("4503599627370497.1", "does not fit i64", options);
  options.dtype = Dtype::u64;
  expect_values<std::uint64_t>("18446744073709551615", {UINT64_MAX}, options);
  options.dtype = Dtype::f32;
  expect_values<float>("0.1 16777217 inf", {0.1F, 16777216.0F, std::numeric_limits<float>::infinity()}, options);
  expect_bad("1e39", "1e39 does not fit f32", options);
  options.dtype = Dtype::f16;
  expect_values<Half>("1 65504 -inf", {Half{0x3c00}, Half{0x7bff}, Half{0xfc00}}, options);
  expect_bad("65520", "65520 does not fit f16", options);
}

TEST(Text, TheNumbersDecideTheDtype) {
  using I = std::vector<std::int64_t>;
  using U = std::vector<std::uint64_t>;
  expect_values<std::int64_t>("1 -2 +3 -0 007", I{1, -2, 3, 0, 7}, untyped());
  expect_values<std::int64_t>("9007199254740993 9007199254740992 x", I{9007199254740993, 9007199254740992}, untyped());
  expect_values<std::int64_t>("-0 -9223372036854775808 -0 9223372036854775807", I{0, INT64_MIN, 0, INT64_MAX},
                              untyped());
  expect_values<std::uint64_t>("1 -0 18446744073709551615 9223372036854775808 -0",
                               U{1, 0, UINT64_MAX, std::uint64_t{1} << 63, 0}, untyped());
  expect_values<double>("1 9007199254740992 -9007199254740992 0.5 3 1e300", D{1, 0x1p53, -0x1p53, 0.5, 3, 1e300},
                        untyped());
  expect_values<double>("5.0", D{5}, untyped());
  expect_values<double>("1e3", D{1000}, untyped());
  const auto zeros = open_bytes("-0 0 -0.0 -0 0.5", untyped());
  for (const bool negative : {true, false, true, true, false}) {
    double value = 1;
    ASSERT_EQ(zeros->read(&value, 1), 1U);
    EXPECT_EQ(std::signbit(value), negative);
  }
}

TEST(Text, NumbersThatNoDtypeHoldsTogether) {
  const std::string rounds = "(--dtype f64 rounds";
  for (const Bytes wide : {"9007199254740993", "-9007199254740993", "18446744073709551615"}) {
    for (const Bytes other : {"0.5", "nan", "1e3", "inf"}) {
      expect_bad(fmt::format("1\n{}\n{}", wide, other), fmt::format("line 2 has {}: f64 holds no such", wide),
                 untyped());
      expect_bad(fmt::format("1\n{}\n{}", other, wide), fmt::format("line 2 has {}, which needs f64", other),
                 untyped());
      expect_bad(fmt::format("{}\n{}", other, wide), rounds, untyped());
    }
  }
  expect_bad("-1\n9223372036854775809", "line 1 has -1 and line 2 has 9223372036854775809", untyped());
  expect_bad("9223372036854775808\n-9007199254740993", "f64 does not hold -9007199254740993 of line 2", untyped());
  expect_bad("9223372036854775808\n9007199254740993\n-1", rounds, untyped());
  expect_bad("18446744073709551617", "line 1: 18446744073709551617 does not fit 64 bits " + rounds, untyped());
  expect_bad("9007199254740993\n36893488147419103232", "line 2 has 36893488147419103232, which needs f64", untyped());
  expect_bad("0.5\n-9223372036854775809", "line 2: -9223372036854775809 does not fit 64 bits", untyped());
  expect_text("9007199254740993 0.5 18446744073709551616", {0x1p53, 0.5, 0x1p64}, 0);  // with a dtype
}

TEST(Text, NumbersThatF64HoldsStayBesideDecimals) {
  for (const Bytes wide :
       {"9007199254740994", "-9007199254740994", "1152921504606846976", "-9223372036854775808", "9223372036854775808",
        "18446744073709549568", "18446744073709551616", "-36893488147419103232", "+0036893488147419103232"}) {
    const double value = std::strtod(wide.c_str(), nullptr);
    expect_values<double>(wide + "\n1.5", {value, 1.5}, untyped());
    expect_values<double>("1.5\n" + wide, {1.5, value}, untyped());
    expect_values<double>("-0\n7\n" + wide + "\n3\n.5", {-0.0, 7, value, 3, .5}, untyped());
  }
  // No integer of 64 bits holds both.
  expect_values<double>("-1\n9223372036854775808\n-2\n3", {-1, 0x1p63, -2, 3}, untyped());
  expect_values<double>("9223372036854775808\n5\n-1", {0x1p63, 5, -1}, untyped());
  expect_values<double>("-9223372036854775808\n9223372036854775808", {-0x1p63, 0x1p63}, untyped());
}

TEST(Text, MoreThanMemoryHolds) {
  Bytes whole;
  Bytes mixed;
  std::vector<std::int64_t> integers;
  D floats;
  for (int i = 0; i < 300000; ++i) {
    integers.push_back(i % 1000 == 7 ? 0 : std::int64_t{i} - 1000);
    floats.push_back(i < 200000 ? static_cast<double>(integers.back()) : i + 0.25);
    const std::string text = i % 1000 == 7 ? "-0" : std::to_string(integers.back());
    whole += text + "\n";
    mixed += i < 200000 ? text + "\n" : fmt::format("{}\n", floats.back());
  }
  const Folder folder;
  SourceOptions options = untyped();
  options.memory = 1 << 16;
  options.tmpdir = folder / "";
  expect_values<std::int64_t>(whole, integers, options);
  expect_values<double>(mixed, floats, options);
  EXPECT_EQ(folder.files(), 0U);
}

TEST(Text, OneDtypeForSeveral) {
  const auto dtypes = [](const std::vector<Bytes>& texts, std::optional<Dtype> fixed = {}) {
    std::vector<std::unique_ptr<Source>> sources;
    const Bytes raw(16, '\0');
    for (const Bytes& bytes : texts) sources.push_back(open_bytes(bytes, untyped()));
    if (fixed) sources.push_back(open_bytes(raw, raw_options(*fixed)));
    unify_dtypes(sources);
    for (const auto& source : sources) EXPECT_EQ(source->info().dtype, sources.back()->info().dtype);
    if (sources.front()->info().dtype == Dtype::f64) {
      EXPECT_EQ(values<double>(*sources.front()), D{1});
    } else {
      EXPECT_EQ(values<std::int64_t>(*sources.front()), std::vector<std::int64_t>{1});
    }
    return sources.front()->info().dtype;
  };
  EXPECT_EQ(dtypes({"1", "2"}), Dtype::i64);
  EXPECT_EQ(dtypes({"1", "0.5"}), Dtype::f64);
  EXPECT_EQ(dtypes({"1", "9223372036854775808"}), Dtype::u64);
  EXPECT_EQ(dtypes({"1", "-2"}, Dtype::f64), Dtype::f64);
  EXPECT_EQ(dtypes({"1"}, Dtype::u64), Dtype::u64);
  EXPECT_EQ(dtypes({"1", "-2", "9223372036854775808"}), Dtype::f64);
  expect_error(ErrorCode::io, "line 1: 9007199254740993 does not fit f64", [&] { dtypes({"9007199254740993", ".5"}); });
  expect_error(ErrorCode::io, "line 1: -1 does not fit u64", [&] { dtypes({"-1"}, Dtype::u64); });
  expect_error(ErrorCode::io, "line 1: 0.5 does not fit i64", [&] { dtypes({"0.5"}, Dtype::i64); });
}

TEST(Text, NoNumberIsAnError) {
  for (const auto& options : {untyped(), text()}) {
    expect_bad("", "has no number", options);
    expect_bad("\n\n  \n", "has no number", options);
    expect_bad("# 1\n", "has no number", options);
    expect_bad("abc\nd", "has no number; line 1: the entry 'abc' is not a number", options);
  }
  SourceOptions column = text("b", true);
  expect_bad("a,b\n1,x\n2,\n", "column b has no number; line 2: the entry 'x' is not a number", column);
  column.dtype.reset();
  expect_bad("a,b\n", "column b has no number", column);
}

TEST(Text, Columns) {
  const Bytes table = "a,b,c\n1,2,3\n4,,6\n7\n\n8,x,9\n10, 11 ,12\n";
  expect_text(table, {2, 11}, 3, text("b", true));
  expect_text(table, {1, 4, 8, 10}, 1, text("1", true));  // a line with one entry is no line of the table
  expect_text(table, {1, 4, 7, 8, 10}, 1, text("1"));
  expect_text("x y\n1 2\n3 4\n", {2, 4}, 0, text("y", true));
  expect_text("first one;second\n1 2;3\n4;5\n", {3, 5}, 0, text("second", true, ";"));
  expect_text("\"a,1\",b\n\"1\",2\n", {2}, 0, text("b", true, ","));
  expect_text("a\tb\n1\t2\n\t3\n", {1}, 1, text("a", true, "\t"));
  expect_text("1  2\n", {1, 2}, 1, text("", false, " "));
  expect_text("7 3\n7 4\n", {3, 4}, 0, text("2"));
  for (const auto& [column, header] :
       {std::pair<std::string, bool>{"0", false}, {"b", false}, {"z", true}, {"-1", true}, {"4", true}, {"0", true}})
    expect_error(ErrorCode::invalid_argument, "", [&, c = column, h = header] { open_bytes(table, text(c, h)); });
  expect_error(ErrorCode::invalid_argument, "there are: a, b, c (the delimiter is comma",
               [&] { open_bytes(table, text("z", true)); });
  expect_error(ErrorCode::invalid_argument, "one character", [&] { open_bytes(table, text("", false, "ab")); });
}

TEST(Text, StrictNamesTheLine) {
  SourceOptions options = text();
  options.strict = true;
  expect_bad("1\n2 x\n", "line 2: the entry 'x' is not a number", options);
  expect_bad("1,x\n\n1,,2\n", "line 1: the entry 'x' is not a number", options);
  expect_bad("1,2,3\n\n1,,2\n", "line 3: the entry '' is empty", options);
  options.column = "2";
  expect_bad("1 2\n# c\n3\n", "line 3 has 1 fields, so no column 2", options);
  expect_values<double>("1 2\n\n3 4", {2, 4}, options);
  options.header = true;
  for (const char* line : {"3", "3,4,5"}) {
    expect_bad(fmt::format("a,b\n1,2\n{}\n", line), "line 3 has ", options);
    expect_bad(fmt::format("a,b\n1,2\n{}\n", line), "the delimiter is comma, the first line has 'a', 'b'", options);
  }
}

TEST(Text, CommentMarks) {
  SourceOptions options = text();
  options.comment = "//";
  expect_text("// 9,9\n1 // 2\n/ 3 //4,5\n  // 5\n6//7\n", {1, 3}, 2, options);
  options.comment = "#";
  expect_text("1.#QNAN\n5#3\n2 # 1\n# 4\n", {2}, 2, options);
  expect_text("a,b\n1,#2\n3,4\n#5,6\n7, # 8\n", {1, 3, 7}, 0, [] {
    SourceOptions named = text("a", true);
    named.comment = "#";
    return named;
  }());
  options.comment = "";
  expect_text("# 1\n", {1}, 1, options);
  // Only lines that begin with # are comments, and only without a header.
  const auto source = open_bytes("# a\n1\n#2\n 3\n", text());
  EXPECT_EQ(values<double>(*source), (D{1, 3}));
  EXPECT_EQ(source->report().comment_lines, 2U);
  EXPECT_EQ(source->bad_lines(), 0U);
  expect_text("1.#QNAN\n2\n", {2}, 1);
  expect_text("1\n5#3\n", {1}, 1);
  expect_text("color,v\n#ff0000,5\nred,7\n", {5, 7}, 0, text("v", true));
  expect_text("id,tag,v\n1,#x,5\n2,y,6\n", {5, 6}, 0, text("v", true));
  for (const Bytes& mark : {Bytes(256, '#'), Bytes("a\nb")}) {
    options.comment = mark;
    expect_error(ErrorCode::invalid_argument, "at most 255 characters", [&] { open_bytes("1", options); });
  }
}

TEST(Text, LongLinesAndEntries) {
  // Entries across every border of the buffer, on one line of megabytes.
  Bytes bytes;
  D expected;
  for (int i = 0; i < 200000; ++i) {
    bytes += std::to_string(i) + (i % 3 == 0 ? "  " : " ");
    expected.push_back(i);
  }
  expect_text(bytes, expected, 0);
  expect_text("1 " + Bytes(1000000, '9') + " 2\n" + Bytes(300000, 'x') + " 3", {1, 2, 3}, 2);
  expect_text("1,2\n" + Bytes(300000, 'x') + ",3\n\"" + Bytes(300000, '\n') + "\",4", {1, 2, 3, 4}, 2);
  expect_text("1 " + Bytes(1000000, ' ') + "\n2" + Bytes(1000000, ' ') + "3\n" + Bytes(1000000, ' '), {1, 2, 3}, 0);
  expect_text("#" + Bytes(1000000, 'x') + "\n1 2\n#" + Bytes(1000000, 'x') + "\n3", {1, 2, 3}, 0);
}

}  // namespace
}  // namespace masu::io::test
