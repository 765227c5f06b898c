// SPDX-License-Identifier: Apache-2.0
// Lines of JSON, and arrays of objects, beside what they say.
#include "io/rows.h"
#include "io/test_files.h"

#include <cmath>
#include <limits>

namespace masu::io::test {
namespace {

using I = std::vector<std::int64_t>;
using D = std::vector<double>;

SourceOptions key(const std::string& name) {
  SourceOptions options;
  options.column = name;
  options.header = true;  // as the command says it of a column with a name
  return options;
}

TEST(Json, KeysOfLines) {
  const Bytes lines =
      "{\"a\": 1, \"b\": {\"c\": -2.5, \"d.e\": 7}, \"f\": [3, {\"g\": 4}]}\n"
      "{\"f\": [5, {\"g\": 6}], \"b\": {\"d.e\": 8, \"c\": 1e2}, \"a\": 2}\r\n\n"
      "  {\"a\":3,\"b\":{\"c\":0,\"d.e\":9},\"f\":[7,{\"g\":8}]}";
  expect_values<std::int64_t>(lines, I{1, 2, 3}, key("a"));
  expect_values<std::int64_t>(lines, I{1, 2, 3}, key("name:a"));
  expect_values<double>(lines, D{-2.5, 100, 0}, key("b.c"));
  expect_values<std::int64_t>(lines, I{7, 8, 9}, key("b.d.e"));
  expect_values<std::int64_t>(lines, I{3, 5, 7}, key("f.0"));
  expect_values<std::int64_t>(lines, I{4, 6, 8}, key("f.1.g"));
  expect_values<std::int64_t>("\xef\xbb\xbf{\"a\":1}\n", I{1}, key("a"));
  expect_values<std::int64_t>("{\"a\":1}{\"a\":2} {\"a\":3}", I{1, 2, 3}, key("a"));
  expect_values<std::int64_t>("{\"a\":1,\"a\":2}", I{2}, key("a"));  // the last of equal keys
}

TEST(Json, TheOnlyKeyNeedsNoName) {
  expect_values<std::int64_t>("{\"x\":{\"y\":5}}\n{\"x\":{\"y\":6}}\n", I{5, 6});
  expect_bad("{\"a\":1,\"b\":{\"c\":2}}\n",
             "holds objects of JSON with the keys a, b.c: say which, as in --column NAME");
  expect_bad("{}\n{\"a\":1}\n", "with no keys of values");
  expect_bad("{\"a\":1,\"b\":2}\n", "no object has the key 'x'; the first one has a, b", key("x"));
  expect_bad("{\"ab\":1}\n", "no object has the key 'a'", key("a"));
  expect_bad("{\"a\":{\"b\":1}}\n", "no object has the key 'a.'", key("a."));
}

TEST(Json, ArraysOfObjects) {
  expect_values<std::int64_t>("[{\"a\":1},{\"a\":2}]", I{1, 2}, key("a"));
  expect_values<std::int64_t>(" [\n  {\n    \"a\": 1\n  },\n  {\n    \"a\": 2\n  }\n]\n", I{1, 2}, key("a"));
  for (const char* bad : {"[{\"a\":1} {\"a\":2}]", "[{\"a\":1},]", "[{\"a\":1},2]", "[{\"a\":1}] 5"})
    expect_bad(bad, "line 1: is no JSON", key("a"));
  expect_bad("[{\"a\":1}", "truncated: the file ends inside", key("a"));
  expect_bad("[{\"a\":1},", "truncated: the file ends inside", key("a"));
}

// They were read as lines of text: of [1,2,3] the 2 alone is a number between commas.
TEST(Json, ArraysOfNumbersAreRefused) {
  for (const char* bad : {"[1,2,3]", "[\n  1,\n  2\n]\n", "\xef\xbb\xbf [[1,2],[3,4]]\n", "[1e5, -2", "[]"})
    expect_bad(bad, "is an array of JSON without objects");
  SourceOptions column;  // with a column it is text, as with other options of text
  column.column = "2";
  expect_values<std::int64_t>("[1,2,3]", I{2}, column);
  expect_values<std::int64_t>("[1]\n2\n", I{2});
}

// As written, and none is rounded on the way.
TEST(Json, NumbersStayExact) {
  expect_values<std::int64_t>("{\"a\":9007199254740993}\n{\"a\":-9223372036854775808}\n",
                              I{9007199254740993, std::numeric_limits<std::int64_t>::min()}, key("a"));
  expect_values<std::uint64_t>("{\"a\":18446744073709551615}", {18446744073709551615U}, key("a"));
  expect_values<double>("{\"a\":0.1}\n{\"a\":1E-3}\n{\"a\":-0.0}\n{\"a\":2.5e+1}", D{0.1, 1e-3, -0.0, 25}, key("a"));
  const double inf = std::numeric_limits<double>::infinity();
  expect_values<double>("{\"a\":Infinity}\n{\"a\":-Infinity}\n", D{inf, -inf}, key("a"));
  const Bytes nan = "{\"a\":NaN}";
  EXPECT_TRUE(std::isnan(values<double>(*open_bytes(nan, key("a"))).at(0)));
  expect_values<std::int64_t>("{\"a\":\"12\"}\n", I{12}, key("a"));  // numbers in strings are numbers
}

TEST(Json, WhatIsMissingHasAPlace) {
  SourceOptions options = key("a");
  options.places = true;
  const Bytes lines = "{\"a\":1}\n{\"b\":2}\n{\"a\":null}\n\n{\"a\":\"x\\ny\"}\n{\"a\":true}\n{\"a\":[1]}\n{\"a\":7}\n";
  const auto source = open_bytes(lines, options);
  EXPECT_EQ(values<std::int64_t>(*source), (I{1, 7}));
  const TextReport report = source->report();
  EXPECT_EQ(report[LeftOut::empty].count, 2U);
  EXPECT_EQ(report[LeftOut::empty].line, 2U);
  EXPECT_EQ(report[LeftOut::not_a_number].count, 3U);
  EXPECT_EQ(report[LeftOut::not_a_number].line, 5U);
  EXPECT_EQ(report.how_cut, "the key of the JSON is 'a'");
  std::uint64_t places[] = {0, 1};
  source->to_places(places);
  EXPECT_EQ(places[1], 6U);
  options.strict = true;
  expect_bad(lines, "line 2: the entry '' is empty; the key of the JSON is 'a'", options);
  expect_bad("{\"a\":\n\n\"x\"}\n{\"a\":\"y\"}", "line 1: the entry 'x' is not a number", key("a"));
  expect_bad("\n\n[\n{\"a\":1},\n{\n\"a\":2.5},\n{\"a\":\"#\"}]", "line 7: the entry '#' is not", options);
}

TEST(Json, Strings) {
  SourceOptions options = key("k\"\xc3\xa4\xf0\x9f\x98\x80\n\xef\xbf\xbd");
  expect_values<std::int64_t>(R"({"\u006b\"\u00e4\ud83d\ude00\n\ud83d":1})", I{1}, options);
  expect_values<std::int64_t>("{\"/\\b\\f\\r\\t\\\\\":1,\"z\":2}", I{1}, key("/\b\f\r\t\\"));
  options = key("a");
  options.strict = true;
  expect_bad(R"({"a":"say \"x\", y"})", "the entry 'say \"x\", y' is not a number", options);
  expect_bad("{\"a\":\"" + Bytes(40'000, 'x') + "\"}", "is not a number", options);
  expect_values<std::int64_t>("{\"" + Bytes(1 << 20, 'x') + "\":5,\"a\":6}", I{6}, key("a"));
}

TEST(Json, WhatIsNoJson) {
  for (const char* bad : {"{\"a\":01}",     "{\"a\":1.}",        "{\"a\":.5}",
                          "{\"a\":+1}",     "{\"a\":1e}",        "{\"a\":-}",
                          "{\"a\":nul}",    "{\"a\":nulls}",     "{\"a\" 1}",
                          "{\"a\":1,}",     "{\"a\":1 \"b\":2}", "{\"a\":[1 2]}",
                          "{\"a\":[1,]}",   "{\"a\":\"\\x\"}",   "{\"a\":\"\\u12g4\"}",
                          "{\"a\":\"\t\"}", "{\"a\":1}]",        "{\"a\":1}\t,{\"a\":1}",
                          "{\"a\":-NaN}",   "{\"a\":0x1}"})
    expect_bad("{\"a\":5}\n" + Bytes(bad), "line 2: is no JSON", key("a"));
  expect_bad("{\"a\":1}\n7\n", "line 2: is no JSON: an object should stand where '7' does", key("a"));
  for (const int depth : {500, 600, 100'000}) {
    const Bytes deep = "{\"b\":" + Bytes(depth, '[') + Bytes(depth, ']') + ",\"a\":1}";
    if (depth < 512) expect_values<std::int64_t>(deep, I{1}, key("a"));
    else expect_bad(deep, "nested deeper than 512", key("a"));
  }
}

TEST(Json, EveryCutIsAnError) {
  const Bytes line = "{\"b\":[1,{\"c\":\"\\u00e4\\n\"}],\"a\":-1.5e3,\"d\":null}";
  for (std::size_t length = 4; length < line.size(); ++length) {
    for (const bool known_size : {true, false})
      expect_bad("{\"a\":1}\n" + line.substr(0, length),
                 "truncated: the file ends inside the object that begins in line 2", key("a"), known_size);
  }
}

// Whatever stands in one place, it ends, with values or with an error.
TEST(Json, EveryByteMayBeAnother) {
  const Bytes line = "{\"b\":[1,{\"c\":\"\\u00e4\\n\"}],\"a\":-1.5e3,\"d\":null}\n{\"a\":2}\n";
  for (std::size_t i = 2; i < line.size(); ++i) {
    for (int other = 0; other < 256; ++other) {
      Bytes changed = line;
      changed[i] = static_cast<char>(other);
      try {
        (void)read_all(*open_bytes(changed, key("a")));
      } catch (const Error&) {
        continue;
      }
    }
  }
}

TEST(Json, LongerThanAnyBuffer) {
  Bytes lines;
  I expected;
  for (int i = 0; i < 20'000; ++i) {
    lines += "{\"pad\":\"" + Bytes(static_cast<std::size_t>(i % 97), 'x') +
             "\",\"a\":{\"b\":" + std::to_string(i * 7919) + "}}\n";
    expected.push_back(i * 7919);
  }
  expect_values<std::int64_t>(lines, expected, key("a.b"));
  expect_values<std::int64_t>(gzip(lines), expected, key("a.b"));
}

TEST(Json, RowsOfSeveralKeys) {
  const Folder folder;
  const std::string path = folder.write(
      "t.jsonl", "{\"a\":1,\"b\":{\"c\":\"x\\ty\"}}\n\n{\"b\":{\"c\":\"\\\"\"},\"a\":2.5}\n{\"a\":null}\n");
  const std::vector<std::string> columns = {"b.c", "a", "b.c"};
  Rows rows(path, key("a"), columns);
  std::vector<std::vector<std::string>> found;
  std::vector<std::uint64_t> lines;
  while (rows.next()) {
    found.emplace_back(rows.fields().begin(), rows.fields().end());
    lines.push_back(rows.line());
  }
  EXPECT_EQ(found, (std::vector<std::vector<std::string>>{{"x\ty", "1", "x\ty"}, {"\"", "2.5", "\""}, {"", "", ""}}));
  EXPECT_EQ(lines, (std::vector<std::uint64_t>{1, 3, 4}));
  expect_error(ErrorCode::io, "is JSON, of which keys are read", [&] { Rows(path, key("a"), columns, true); });
  const std::vector<std::string> others = {"a", "z"};
  expect_error(ErrorCode::io, "no object has the key 'z'; the first one has a, b.c", [&] {
    Rows none(path, key("a"), others);
    while (none.next()) {
    }
  });
}

TEST(Json, IsAskedForOrSeen) {
  SourceOptions options = key("a");
  options.format = InputFormat::json;
  expect_values<std::int64_t>("{\"a\":1}", I{1}, options);
  expect_bad("a\n1\n", "line 1: is no JSON: an object should stand where 'a' does", options);
  options.format = InputFormat::text;
  options.header = false;
  options.column = "1";
  expect_bad("{\"a\":1}\n", "has no number", options);
  options = {};
  expect_values<std::int64_t>("{1\n2\n", I{2}, options);  // a text
  options.delimiter = "comma";
  expect_bad("{\"a\":1}\n", "the delimiter is comma", options);
  EXPECT_EQ(input_format_from_name("json"), InputFormat::json);
  options.format = InputFormat::json;
  expect_error(ErrorCode::invalid_argument, "JSON has no --delimiter", [&] { open_bytes("{\"a\":1}", options); });
  expect_error(ErrorCode::invalid_argument, "keys of JSON have names",
               [&] { open_bytes("{\"a\":1}", key("number:1")); });
}

}  // namespace
}  // namespace masu::io::test
