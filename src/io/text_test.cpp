// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "io/test_files.h"

namespace masu::io::test {
namespace {

using D = std::vector<double>;

SourceOptions text(const std::string& column = "", bool header = false, const std::string& delimiter = "") {
  SourceOptions options;
  options.format = InputFormat::text;
  options.column = column;
  options.header = header;
  options.delimiter = delimiter;
  return options;
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
  expect_text("", {}, 0);
  expect_text("\n\n  \n", {}, 0);
  expect_text("1", {1}, 0);
  expect_text("1 2\t3\n4,5;6\r\n7\n", {1, 2, 3, 4, 5, 6, 7}, 0);
  expect_text("1, 2, 3,\n4", {1, 2, 3, 4}, 0);
  expect_text("1,,2\n,3\n", {1, 2, 3}, 2);
  expect_text("1 abc 2x 3", {1, 3}, 2);
  expect_text("-1 +2 1e3 .5 5. -0x1 ++1 +-1", {-1, 2, 1000, 0.5, 5}, 3);
  expect_text("1 # 2 3\n#4\n5#6", {1, 5}, 0);
  expect_text(
      "\xef\xbb\xbf"
      "1 2",
      {1, 2}, 0);
  expect_text("\"1\" \"2\",\"3", {1, 2}, 1);
}

TEST(Text, FloatsBeyondTheRange) {
  const double inf = std::numeric_limits<double>::infinity();
  expect_text("inf -inf infinity 1e400 -1e400 1e-400 -0.001e-7", {inf, -inf, inf, inf, -inf, 0, -1e-10}, 0);
  expect_text("1e99999999999999999999 1e-99999999999999999999 0e99999999999999999999", {inf, 0, 0}, 0);
  const Bytes many = "0." + Bytes(2000, '0') + "1e2001 1" + Bytes(400, '0');
  expect_text(many, {1, inf}, 0);
  const Bytes nans = "nan NaN -nan";
  const auto source = open_bytes(nans, text());
  for (const double v : values<double>(*source)) EXPECT_TRUE(std::isnan(v));
}

TEST(Text, Dtypes) {
  SourceOptions options = text();
  options.dtype = Dtype::u8;
  expect_values<std::uint8_t>("0 255 256 -1 3.0 1e2", {0, 255}, options);
  options.dtype = Dtype::i64;
  expect_values<std::int64_t>("-9223372036854775808 9223372036854775807 9223372036854775808", {INT64_MIN, INT64_MAX},
                              options);
  options.dtype = Dtype::u64;
  expect_values<std::uint64_t>("18446744073709551615", {UINT64_MAX}, options);
  options.dtype = Dtype::f32;
  expect_values<float>("0.1 1e39 16777217", {0.1F, std::numeric_limits<float>::infinity(), 16777216.0F}, options);
  options.dtype = Dtype::f16;
  expect_values<Half>("1 65504 65520", {Half{0x3c00}, Half{0x7bff}, Half{0x7c00}}, options);
}

TEST(Text, Columns) {
  const Bytes table = "a,b,c\n1,2,3\n4,,6\n7\n\n8,x,9\n10, 11 ,12\n";
  expect_text(table, {2, 11}, 3, text("b", true));
  expect_text(table, {1, 4, 7, 8, 10}, 0, text("1", true));
  expect_text(table, {1, 4, 7, 8, 10}, 1, text("1"));
  expect_text("x y\n1 2\n3 4\n", {2, 4}, 0, text("y", true));
  expect_text("first one;second\n1 2;3\n4;5\n", {3, 5}, 0, text("second", true, ";"));
  expect_text("\"a,1\",b\n\"1\",2\n", {2}, 0, text("b", true, ","));
  expect_text("a\tb\n1\t2\n\t3\n", {1}, 1, text("a", true, "\t"));
  expect_text("1  2\n", {1, 2}, 1, text("", false, " "));
  expect_text("7 3\n7 4\n", {3, 4}, 0, text("2"));
  for (const auto& [column, header] :
       {std::pair<std::string, bool>{"0", false}, {"b", false}, {"z", true}, {"-1", true}})
    expect_error(ErrorCode::invalid_argument, "", [&, c = column, h = header] { open_bytes(table, text(c, h)); });
  expect_error(ErrorCode::invalid_argument, "there are: a, b, c", [&] { open_bytes(table, text("z", true)); });
  expect_error(ErrorCode::invalid_argument, "one character", [&] { open_bytes(table, text("", false, "ab")); });
}

TEST(Text, StrictNamesTheLine) {
  SourceOptions options = text();
  options.strict = true;
  expect_bad("1\n2 x\n", "line 2: the entry 'x' is not a number of dtype f64", options);
  expect_bad("1\n\n1,,2\n", "line 3: the entry '' is empty", options);
  options.column = "2";
  expect_bad("1 2\n# c\n3\n", "line 3", options);
  expect_values<double>("1 2\n\n3 4", {2, 4}, options);
}

TEST(Text, CommentMarks) {
  SourceOptions options = text();
  options.comment = "//";
  expect_text("1 // 2\n/ 3//\n", {1, 3}, 1, options);
  options.comment = "";
  expect_text("# 1\n", {1}, 1, options);
}

TEST(Text, LongLinesAndEntries) {
  // Entries across every border of the buffer, on one line of megabytes.
  Bytes bytes;
  D expected;
  for (int i = 0; i < 200000; ++i) {
    bytes += std::to_string(i) + (i % 3 == 0 ? "," : " ");
    expected.push_back(i);
  }
  expect_text(bytes, expected, 0);
  expect_text("1 " + Bytes(1000000, '9') + " 2\n" + Bytes(300000, 'x') + ",3", {1, 2, 3}, 2);
  expect_text("1 #" + Bytes(1000000, ' ') + "\n2" + Bytes(1000000, ' ') + "3", {1, 2, 3}, 0);
}

}  // namespace
}  // namespace masu::io::test
