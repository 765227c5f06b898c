// SPDX-License-Identifier: Apache-2.0
// Tables in text: one delimiter a file, quotes, line ends, headers, row names, decimal commas, places.
#include <fmt/format.h>

#include <numeric>

#include "io/test_files.h"

namespace masu::io::test {
namespace {

using D = std::vector<double>;
using I = std::vector<std::int64_t>;

struct Table {
  std::string column{};
  bool header = false;
  std::string delimiter{};
  std::string decimal{};
};

SourceOptions table(const Table& asked, std::optional<Dtype> dtype = Dtype::f64) {
  SourceOptions options;
  options.format = InputFormat::text;
  options.dtype = dtype;
  options.column = asked.column;
  options.header = asked.header;
  options.delimiter = asked.delimiter;
  options.decimal = asked.decimal;
  options.places = true;
  return options;
}

// With a dtype and without one, from a file and from a pipe, twice; and where the numbers were.
void expect_table(const Bytes& bytes, const Table& asked, const D& expected, const std::vector<std::uint64_t>& places,
                  std::uint64_t bad = 0) {
  for (const bool told : {true, false}) {
    for (const bool known_size : {true, false}) {
      const auto options = table(asked, told ? std::optional(Dtype::f64) : std::nullopt);
      const auto source = open_bytes(bytes, options, known_size);
      source->keep_for_rewind();
      (void)source->retype(Dtype::f64);
      for (int pass = 0; pass < 2; ++pass) {
        EXPECT_EQ(values<double>(*source), expected) << bytes;
        EXPECT_EQ(source->bad_lines(), bad) << bytes;
        std::vector<std::uint64_t> found(expected.size());
        std::iota(found.begin(), found.end(), std::uint64_t{0});
        source->to_places(found);
        EXPECT_EQ(found, places) << bytes;
        source->rewind();
      }
    }
  }
}

TEST(Table, TheFirstLineDecidesTheDelimiter) {
  const Table price{"price", true};
  expect_table("place,price\nRoom 12,5.5\nRoom 13,6.5\nHall 7,8\n", price, {5.5, 6.5, 8}, {0, 1, 2});
  expect_table("date;price\nJan 1, 2020;39\nFeb 1;43\n", price, {39, 43}, {0, 1});
  expect_table("place\tprice\nA, B;C\t1\n\t2\n", price, {1, 2}, {0, 1});
  expect_table("place|price\nA b|1\n|2\n", price, {1, 2}, {0, 1});
  expect_table("place   price\n A  1\n B\t2 \n", price, {1, 2}, {0, 1});
  expect_table("\"a, b\" price\n1 2\n", price, {2}, {0});
  expect_table("1 \"Smith, John\" 3\n4 x 6\n", {"3"}, {3, 6}, {0, 1});
  expect_table("5\" x,3\n6\" y,4\n", {"2"}, {3, 4}, {0, 1});
  expect_table("a;b,c\n1;2,3\n", {"2"}, {3}, {1}, 1);  // comma before semicolon
  expect_table("\n\n  \n# 1,2\n#\n1 2\n3 4\n", {"2"}, {2, 4}, {0, 1});
  expect_table("\xef\xbb\xbf\"a\",price\n1,2\n", price, {2}, {0});
  expect_table("a,b;c\n1,2;3\n", {"a", true, "comma"}, {1}, {0});
  expect_table("a;b\tc\n1;x\n", {"a", true, "semicolon"}, {1}, {0});
  expect_table("a|b\tc\n1|x,y\n", {"a", true, "pipe"}, {1}, {0});
  expect_table("a,b\tc\n1,2\t3\n", {"c", true, "tab"}, {3}, {0});
  expect_table("a b\n1 2,3\n", {"a", true, "blanks"}, {1}, {0});
  expect_table("a b  c\n1 2  3\n", {"c", true, "space"}, {3}, {0});
  expect_table("a:b\n1:2\n", {"b", true, ":"}, {2}, {0});
}

TEST(Table, EmptyFieldsAreMissing) {
  expect_table("a\tb\tc\n1\t\t2\n3\t4\t5\n", {"b", true}, {4}, {1}, 1);
  expect_table("a\tb\tc\n1\t\t\n3\t\t5\n", {"c", true}, {5}, {1}, 1);
  expect_table("a,b\n,1\n , 2\n\"\",3\n4,\n", {"a", true}, {4}, {3}, 3);
  expect_table("x\n1\n\"\"\n\n2\n", {"x", true}, {1, 2}, {0, 2}, 1);  // an empty line is no row
  expect_table("1,,3\n,5,\n", {}, {1, 3, 5}, {0, 2, 4}, 3);
}

TEST(Table, LinesEndAtEach) {
  for (const Bytes end : {"\n", "\r\n", "\r"}) {
    const auto text = [&](Bytes lines) {
      Bytes out;
      for (const char c : lines) out += c == '|' ? end : Bytes(1, c);
      return out;
    };
    expect_table(text("1,10|2,20|3,30|"), {"1"}, {1, 2, 3}, {0, 1, 2});
    expect_table(text("a,b|1,10||2,20|3,30"), {"b", true}, {10, 20, 30}, {0, 1, 2});
    expect_table(text("1|# x|2|"), {}, {1, 2}, {0, 1});
    expect_table(text("1|\"a|b\"|2|x|"), {}, {1, 2}, {0, 2}, 2);
    expect_bad(text("1|\"a|b\"|2|1e9|"), "line 5: 1e9 does not fit u8", table({}, Dtype::u8));
  }
  // The end of a line across the border of the reader's buffer.
  for (std::size_t size = (1 << 18) - 3; size < (1 << 18) + 3; ++size) {
    Bytes bytes;
    while (bytes.size() + 2 < size) bytes += "1\n";
    bytes.resize(size, '1');
    bytes += "\r\n2\r\nx";
    const auto source = open_bytes(bytes, table({}));
    EXPECT_EQ(values<double>(*source).back(), 2) << size;
    EXPECT_EQ(source->report()[LeftOut::not_a_number].line, source->report().lines);
  }
}

TEST(Table, Quotes) {
  expect_table("\"a\"\"1\",3\n\"b\",4\n", {"2", false, ","}, {3, 4}, {0, 1});
  expect_table("3,\"a\n1,2\"\n5,6\n", {"1", false, ","}, {3, 5}, {0, 1});
  expect_table("\"x\n,y\",z\n\"1\",\"2\"\n", {"z", true}, {2}, {0});
  expect_table("\"x \"\"q\"\"\",z\n1,2\n", {"x \"q\"", true}, {1}, {0});
  expect_table("\"1\" ,\"2\"\n\"3\",\" 4\"\n", {}, {1, 2, 3, 4}, {0, 1, 2, 3});
  expect_table("1,2\n\"1\"2,\"3\"\"\"\n4,5\n", {}, {1, 2, 4, 5}, {0, 1, 4, 5}, 2);  // never a number
  expect_table("1,2\n 3,4\"\n5,6\n", {}, {1, 2, 3, 5, 6}, {0, 1, 2, 4, 5}, 1);
  // A quote that opens inside an entry is none.
  expect_table("a,b\nx \"y,1\nz,2\n", {"b", true}, {1, 2}, {0, 1});
  for (const Bytes open : {"1,2\n3,\"4\n5,6\n", "1,2\n3,\"4\"\"", "1,2\r3,\"", "1,2\n3,\"\"\"4\n"}) {
    for (const auto& dtype : {std::optional(Dtype::f64), std::optional<Dtype>()})
      expect_bad(open, "line 2: a quote is opened and never closed", table({}, dtype));
  }
  expect_bad("a,b\n1," + Bytes(1, '"') + Bytes(1 << 20, 'x'), "line 2: a quote is opened", table({"a", true}));
  // Across every border of the reader's buffer.
  for (std::size_t size = (1 << 18) - 12; size < (1 << 18); ++size) {
    const Bytes bytes = Bytes(size, '1') + "\n\"2\"\n\"3\"\"\"\n\"4\r\n5\"\n6\n";
    const auto source = open_bytes(bytes, table({}));
    EXPECT_EQ(values<double>(*source), (D{2, 6})) << size;
    EXPECT_EQ(source->report().lines, 5U);
  }
}

TEST(Table, LinesThatAreNoneOfTheTable) {
  const Bytes bytes = "x\n1,234\n5\n";
  expect_table(bytes, {"x", true}, {5}, {1}, 1);
  expect_table("a,b\n1,2,3\n4,5\n6\n7,8\n", {"b", true}, {5, 8}, {1, 3}, 2);
  expect_table("a,b\n1,2\n3\n5,6\n", {"", true}, {1, 2, 5, 6}, {0, 1, 4, 5}, 1);
  expect_table("1,2\n3\n5,6,7\n", {"2"}, {2, 6}, {0, 2}, 1);
  const Bytes mixed = "a,b\n1,2\n3,x\n4\n5,\n6,7,8\n9,10\n";
  const auto source = open_bytes(mixed, table({"b", true}));
  EXPECT_EQ(values<double>(*source), (D{2, 10}));
  const TextReport report = source->report();
  EXPECT_EQ(report.places, 6U);
  EXPECT_TRUE(report.rows);
  EXPECT_EQ(report[LeftOut::empty].count, 1U);
  EXPECT_EQ(report[LeftOut::empty].line, 5U);
  EXPECT_EQ(report[LeftOut::not_a_number].line, 3U);
  EXPECT_EQ(report[LeftOut::not_a_number].first, "'x'");
  EXPECT_EQ(report[LeftOut::wrong_fields].count, 2U);
  EXPECT_EQ(report[LeftOut::wrong_fields].first, "1 instead of 2");
  EXPECT_EQ(report.how_cut, "the delimiter is comma, the first line has 'a', 'b'");
  EXPECT_EQ(report.delimiter, ',');
}

TEST(Table, RowNames) {
  expect_table("x,y\n1,10,100\n2,20,200\n", {"x", true}, {10, 20}, {0, 1});
  expect_table("x y\n\"r 1\" 10 100\nb 20 200\n", {"y", true}, {100, 200}, {0, 1});
  expect_table("x,y\n1,10,100\n2,20,200\n", {"2", true}, {100, 200}, {0, 1});
  expect_table("x,y\nr,10,100\ns,20\tz,200\n", {"", true}, {10, 100, 200}, {0, 1, 3}, 1);
  EXPECT_TRUE(open_bytes("x,y\n1,10,100\n", table({"x", true}))->report().row_names);
  expect_table("x,y\n1,10,100\n2,20\n", {"x", true}, {2}, {1}, 1);  // not of all lines
  Bytes late = "x,y\n";
  for (int i = 0; i < 20000; ++i) late += "1,10,100\n";
  expect_bad(late + "2,20\n", "line 20002 has as many fields as the header has names", table({"x", true}));
  // An empty entry at the end, or one name alone, are none.
  expect_bad("x,y\n1,2,\n3,4,\n", "has no number; line 2 has 3 fields, the header 2", table({"x", true}));
  expect_bad("x\n1 10\n2 20\n", "line 2: the entry '1 10' is not a number; the delimiter is tab", table({"x", true}));
}

TEST(Table, NumbersThatAreNames) {
  const Bytes bytes = "name,3,x\n10,20,30\n";
  expect_error(ErrorCode::invalid_argument, "give name:3 or number:3", [&] { open_bytes(bytes, table({"3", true})); });
  expect_table(bytes, {"name:3", true}, {20}, {0});
  expect_table(bytes, {"number:3", true}, {30}, {0});
  expect_table(bytes, {"number:3"}, {30}, {1}, 1);
  expect_table("a,b,3\n1,2,4\n", {"3", true}, {4}, {0});
  expect_table("a,2020\n1,2\n", {"2020", true}, {2}, {0});  // no column has that number
  expect_table("a,name:b\n1,2\n", {"name:b", true}, {2}, {0});
  expect_error(ErrorCode::invalid_argument, "columns 1 and 3 are both named 'a'", [&] {
    open_bytes("a,b,a\n1,2,3\n", table({"a", true}));
  });
  expect_table("unit price,qty\n9.5,2\n1.5,3\n", {"unit price", true}, {9.5, 1.5}, {0, 1});
  expect_table("a, b\n1,2\n", {"b", true}, {2}, {0});
  expect_table("b, b\n1,2\n", {" b", true}, {2}, {0});
  expect_error(ErrorCode::invalid_argument, "no column is named 'price'", [&] {
    open_bytes("unit price,qty\n9.5,2\n", table({"price", true}));
  });
}

TEST(Table, DecimalCommas) {
  expect_table("1,5\n2,25\n-3\n", {"", false, "", ","}, {1.5, 2.25, -3}, {0, 1, 2});
  expect_table("a;b\n1,5;2\n3;4,25\n", {"b", true, "", ","}, {2, 4.25}, {0, 1});
  expect_table("1,5 2,5\n1.5 1.234,5\n", {"", false, "", ","}, {1.5, 2.5}, {0, 1}, 2);
  expect_error(ErrorCode::invalid_argument, "both the delimiter and the decimal mark", [] {
    open_bytes("1,2", table({"", false, "comma", ","}));
  });
  expect_error(ErrorCode::invalid_argument, "decimal mark must be", [] {
    open_bytes("1,2", table({"", false, "", ";"}));
  });
  for (const auto& dtype : {std::optional(Dtype::f64), std::optional<Dtype>()}) {
    for (const Bytes text : {"1,5\n2,5\n", "1,5", "-1,50\r\n+2,5\r\n", "# x\n1,5\n\n2,5\n"}) {
      expect_bad(text, "--decimal ,", table({}, dtype));
      expect_bad(text, "--delimiter comma", table({}, dtype));
    }
  }
  const D all{1, 5, 2, 5};
  expect_table("1,5\n2,5\n", {"", false, "comma"}, all, {0, 1, 2, 3});
  expect_table("1,5\n2,5\n", {"", false, "", "."}, all, {0, 1, 2, 3});
  expect_table("1,5\n2,5\n", {"2"}, {5, 5}, {0, 1});
  expect_table("1,5\n2,5\n3\n", {}, {1, 5, 2, 5, 3}, {0, 1, 2, 3, 4});
  expect_table("1,5\n2,-5\n", {}, {1, 5, 2, -5}, {0, 1, 2, 3});
  expect_bad("price\n1,5\n", "(--decimal , reads decimal commas)", table({"price", true}));
}

TEST(Table, MatricesAndTheirPlaces) {
  expect_table("1 2 3\n4 x 6\n", {}, {1, 2, 3, 4, 6}, {0, 1, 2, 3, 5}, 1);
  const auto columns = [](const Bytes& bytes, const Table& asked = {}) {
    const auto source = open_bytes(bytes, table(asked));
    read_all(*source);
    return std::pair(source->report().columns, source->report().ragged_line);
  };
  EXPECT_EQ(columns("1 2 3\n\n4 5 6"), (std::pair<std::uint64_t, std::uint64_t>{3, 0}));
  EXPECT_EQ(columns("1 2 3\n4 5\n6 7 8\n9\n"), (std::pair<std::uint64_t, std::uint64_t>{0, 2}));
  EXPECT_EQ(columns("a,b\n1,2\n", {"", true}), (std::pair<std::uint64_t, std::uint64_t>{2, 0}));
}

TEST(Table, ManyGaps) {
  Bytes bytes = "x\n";
  I expected;
  std::vector<std::uint64_t> places;
  for (std::uint64_t i = 0; i < 40000; ++i) {
    const bool missing = i % 3 == 1 || (i > 20000 && i < 20100);
    bytes += missing ? "?\n" : fmt::format("{}\n", i);
    if (!missing) expected.push_back(static_cast<std::int64_t>(i));
    if (!missing) places.push_back(i);
  }
  const Folder folder;
  SourceOptions options = table({"x", true}, std::nullopt);
  options.memory = 1 << 16;
  options.tmpdir = folder / "";
  const auto source = open_bytes(bytes, options, false);
  EXPECT_EQ(values<std::int64_t>(*source), expected);
  std::vector<std::uint64_t> found(places.size());
  std::iota(found.begin(), found.end(), std::uint64_t{0});
  source->to_places(found);
  EXPECT_EQ(found, places);
  std::vector<Source::Gap> gaps(20000);
  gaps.resize(source->gaps(0, gaps));
  EXPECT_EQ(gaps.back().number + gaps.back().missing, 39998U);
  EXPECT_EQ(source->gaps(gaps.size() - 1, gaps), 1U);
  options.places = false;
  const auto without = open_bytes(bytes, options);
  EXPECT_EQ(without->gaps(0, gaps), 0U);
}

TEST(Table, ChangesBetweenTwoReadingsAreAnError) {
  const Folder folder;
  Bytes bytes;
  for (int i = 0; i < 400000; ++i) bytes += "1\n";
  const std::string path = folder.write("t.txt", bytes);
  SourceOptions options = table({}, std::nullopt);
  options.memory = 1;
  const auto source = open(path, options);
  for (std::size_t i = 0; i < 1000; ++i) bytes[2 * i + 600000] = ' ';
  (void)folder.write("t.txt", bytes);
  expect_error(ErrorCode::io, "changed while it was read", [&] { read_all(*source); });
}

}  // namespace
}  // namespace masu::io::test
