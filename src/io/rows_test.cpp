// SPDX-License-Identifier: Apache-2.0
// Texts row by row: fields and whole lines, against tables that the tests write themselves.
#include "io/rows.h"

#include <fmt/format.h>
#include <masu/error.h>

#include <deque>
#include <random>

#include "io/test_files.h"

namespace masu::io::test {
namespace {

using Strings = std::vector<std::string>;

struct Taken {
  Strings fields;  // of all rows
  Strings lines;
  std::vector<std::uint64_t> places;
  std::vector<std::uint64_t> numbers;  // of the lines
  bool operator==(const Taken&) const = default;
};

Taken take(Rows& rows) {
  Taken taken;
  while (rows.next()) {
    for (const std::string_view field : rows.fields()) taken.fields.emplace_back(field);
    taken.lines.emplace_back(rows.text());
    taken.places.push_back(rows.place());
    taken.numbers.push_back(rows.line());
  }
  return taken;
}

// Keeps the bytes until the end of all tests.
Reader reader(Bytes bytes, bool known_size = true) {
  static std::deque<Bytes> kept;
  return {"memory", memory_stream(std::as_bytes(std::span(kept.emplace_back(std::move(bytes)))), known_size)};
}

SourceOptions asked(bool header, std::string delimiter = {}) {
  SourceOptions options;
  options.header = header;
  options.delimiter = std::move(delimiter);
  return options;
}

std::string failure(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Rows, GivesFieldsAndLines) {
  const Bytes bytes = "\xef\xbb\xbfname,\"a, b\",c\r\nx,\"1\"\"2\",3\r\n\r\n\"y\r\nz\",4,5\r\n,,\r\nlast,6,7";
  Rows rows(reader(bytes), asked(true), Strings{"c", "name", "a, b", "c"}, true);
  EXPECT_EQ(rows.header(), "name,\"a, b\",c");
  EXPECT_EQ(rows.names(), (Strings{"name", "a, b", "c"}));
  EXPECT_EQ(rows.line_end(), "\r\n");
  rows.keep_for_rewind();
  const Taken expected = {{"3", "x", "1\"2", "3", "5", "y\r\nz", "4", "5", "", "", "", "", "7", "last", "6", "7"},
                          {"x,\"1\"\"2\",3", "\"y\r\nz\",4,5", ",,", "last,6,7"},
                          {0, 1, 2, 3},
                          {2, 4, 6, 7}};
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_EQ(take(rows), expected);
    EXPECT_EQ(rows.report().places, 4U);
    rows.rewind();
  }
}

TEST(Rows, TakesNumbersByTheRuleOfTexts) {
  const Bytes bytes = "1;\"2,5\";x\n-3; 4 ;\"5\"6\n";
  SourceOptions options = asked(false, "semicolon");
  options.decimal = ",";
  Rows rows(reader(bytes), options, Strings{"1", "2", "3"});
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.number(0).magnitude, 1U);
  EXPECT_EQ(rows.number(1).value, 2.5);
  EXPECT_EQ(rows.number(2).kind, TextNumber::no_number);
  ASSERT_TRUE(rows.next());
  float value = 0;
  EXPECT_EQ(rows.number(1, value), Fit::number);
  EXPECT_EQ(value, 4);
  EXPECT_TRUE(rows.number(0).negative);
  EXPECT_EQ(rows.number(2).kind, TextNumber::no_number);  // other characters follow the closing quote
  rows.leave_out(2);
  EXPECT_EQ(rows.report()[LeftOut::not_a_number].first, "'56'");
  EXPECT_FALSE(rows.next());
}

// A number is read where it lies, so what follows must not become a part of it.
TEST(Rows, TakesNumbersBesideAnyDelimiter) {
  const Strings fields{"1", "", "-2", "x", " 7 ", "12346789", "+3", "-", "1234678901234678"};
  Strings columns;
  for (std::size_t i = 1; i <= fields.size(); ++i) columns.push_back(std::to_string(i));
  for (const std::string delimiter : {"e", "E", ".", "5", ";"}) {
    const std::string line = fmt::format("{}\n", fmt::join(fields, delimiter));
    for (const bool last_end : {false, true}) {
      const std::string all = line + line + (last_end ? line : line.substr(0, line.size() - 1));
      Rows rows(reader(all), asked(false, delimiter), columns);
      std::size_t count = 0;
      for (; rows.next(); ++count) {
        for (std::size_t i = 0; i < fields.size(); ++i) {
          const TextNumber number = rows.number(i);
          const TextNumber expected = parse_any_number(trimmed(fields[i]));
          EXPECT_EQ(number.kind, expected.kind) << delimiter << " " << fields[i];
          EXPECT_EQ(number.negative, expected.negative) << delimiter << " " << fields[i];
          EXPECT_EQ(number.magnitude, expected.magnitude) << delimiter << " " << fields[i];
        }
      }
      EXPECT_EQ(count, 3U);
    }
  }
}

TEST(Rows, LeavesOutWhatTheReaderLeavesOut) {
  const Bytes bytes = "a,b\n1,2\n3\n4,5,6\n7," + Bytes(longest_entry + 1, 'x') + "\n8,9\n";
  Rows rows(reader(bytes), asked(true), Strings{"b"}, true);
  EXPECT_EQ(take(rows), (Taken{{"2", "9"}, {"1,2", "8,9"}, {0, 4}, {2, 6}}));
  EXPECT_EQ(rows.report()[LeftOut::wrong_fields].count, 2U);
  EXPECT_EQ(rows.report()[LeftOut::wrong_fields].line, 3U);
  EXPECT_EQ(rows.report()[LeftOut::too_long].count, 1U);
  Rows numbered(reader("1 2\n3\n 4  5 6 \n# 7 8\n\t\n9 9\n"), asked(false), Strings{"2"}, true);
  EXPECT_EQ(take(numbered), (Taken{{"2", "5", "9"}, {"1 2", " 4  5 6 ", "9 9"}, {0, 2, 3}, {1, 3, 6}}));
  EXPECT_EQ(numbered.report()[LeftOut::no_column].count, 1U);
  EXPECT_EQ(numbered.report().comment_lines, 1U);
  SourceOptions strict = asked(true);
  strict.strict = true;
  Rows refused(reader(bytes), strict, Strings{"b"});
  EXPECT_THAT(failure([&] { take(refused); }), testing::HasSubstr("line 3 has 1 fields, the header 2"));
}

TEST(Columns, AreThoseOfTheFirstLineOrObject) {
  const auto names = [](const Bytes& bytes, const SourceOptions& options = {}) {
    const Folder folder;
    return columns(folder.write("table", bytes), options);
  };
  EXPECT_EQ(names("\na,\"b, c\",,a\n1,2,3,4\n"), (Strings{"a", "b, c", "", "a"}));
  EXPECT_EQ(names("a\n"), Strings{"a"});
  EXPECT_EQ(names("a,b;c\n", asked(false, "semicolon")), (Strings{"a,b", "c"}));
  EXPECT_EQ(names(""), Strings{});
  EXPECT_EQ(names("[{\"a\": 1, \"b\": {\"c\": null, \"d\": [2]}}]"), (Strings{"a", "b.c"}));
  EXPECT_EQ(names("{}"), Strings{});
  SourceOptions text;
  text.format = InputFormat::text;
  EXPECT_EQ(names("{\"a\":1,\"b\":2}\n", text), (Strings{"{\"a\":1", "b:2}"}));
  EXPECT_NE(failure([&] { (void)names("{\"a\" 1}"); }).find("is no JSON: a colon"), std::string::npos);
  EXPECT_NE(failure([&] { (void)names(Bytes("\x93NUMPY\1\0", 8)); }).find("is a .npy file"), std::string::npos);
  EXPECT_NE(failure([] { (void)columns("iota:u8:5"); }).find("is a generator"), std::string::npos);
}

TEST(Rows, NamesOfRowsAreNoColumn) {
  Rows rows(reader("a b\nx 1 2\ny 3 4\n"), asked(true), Strings{"b"}, true);
  EXPECT_EQ(take(rows), (Taken{{"2", "4"}, {"x 1 2", "y 3 4"}, {0, 1}, {2, 3}}));
}

TEST(Rows, TextsWithoutRows) {
  for (const Bytes& bytes : {Bytes(), Bytes("\n \n\r\n"), Bytes("# only\n")}) {
    Rows rows(reader(bytes), asked(false), {}, true);
    EXPECT_FALSE(rows.next());
    EXPECT_FALSE(rows.next());
  }
  Rows header(reader("a,b"), asked(true), Strings{"a"}, true);
  EXPECT_FALSE(header.next());
  EXPECT_EQ(header.header(), "a,b");
}

TEST(Rows, RefusesWhatCannotBe) {
  EXPECT_THAT(failure([] { Rows(reader("a,b\n"), asked(true), Strings{"c"}); }),
              testing::HasSubstr("no column is named 'c'; there are: a, b"));
  Rows open(reader("a,b\n1,\"2\n3,4\n"), asked(true), Strings{"a"}, true);
  EXPECT_THAT(failure([&] { take(open); }), testing::HasSubstr("line 2: a quote is opened and never closed"));
  const Folder folder;
  const auto open_file = [&](std::string_view bytes) {
    const std::string path = folder.write("input", bytes);
    return failure([&] { Rows(path, {}, {}); });
  };
  EXPECT_THAT(open_file("\x93NUMPY\1"), testing::HasSubstr("is a .npy file, but lines of text are needed"));
  EXPECT_THAT(open_file(std::string_view("a\0b\n", 4)), testing::HasSubstr("is no text"));
  EXPECT_THAT(failure([] { Rows("iota:u8:3", {}, {}); }), testing::HasSubstr("a generator"));
}

TEST(Rows, KeepsBytesAndLongLines) {
  const Bytes odd("\0\xff\x80\x01;x", 6);
  const Bytes wide = Bytes(300000, 'w');  // longer than what is read at a time
  Bytes many;
  for (int i = 0; i < 100000; ++i) many += "f,";
  Rows rows(reader(odd + "\n" + wide.substr(0, 9) + ";y\n\"" + odd + "\";" + wide + "\n"), asked(false, "semicolon"),
            Strings{"1"}, true);
  EXPECT_EQ(take(rows), (Taken{{odd.substr(0, 4), wide.substr(0, 9), odd},
                               {odd, wide.substr(0, 9) + ";y", "\"" + odd + "\";" + wide},
                               {0, 1, 2},
                               {1, 2, 3}}));
  Rows columns(reader(many + "g\n" + many + "h\n"), asked(false, "comma"), Strings{"100001", "1"}, true);
  EXPECT_EQ(take(columns).fields, (Strings{"g", "f", "h", "f"}));
}

// Random tables in every dialect; in parts too, whose rows are those of the whole.
TEST(Rows, RandomTables) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const Folder folder;
  for (int round = 0; round < 120; ++round) {
    const char delimiter = ",;\t|"[below(4)];
    const std::string_view end = below(2) != 0 ? "\n" : "\r\n";
    const std::size_t columns = 1 + below(6);
    const std::size_t quotes = below(3) == 0 ? 0 : 1 + below(40);  // percent
    const std::size_t count = std::array<std::size_t, 6>{0, 1, 2, 7, 97, 5000}[below(6)];
    Bytes text;
    for (std::size_t i = 0; i < columns; ++i) text += fmt::format("{}n{}", i != 0 ? std::string(1, delimiter) : "", i);
    text += end;
    Strings wanted;
    for (std::size_t i = below(4); i != 0; --i) wanted.push_back("n" + std::to_string(below(columns)));
    Taken expected;
    std::uint64_t line = 2;
    for (std::size_t row = 0; row < count; ++row) {
      Strings fields;
      Bytes whole;
      std::uint64_t more = 1;
      for (std::size_t i = 0; i < columns; ++i) {
        std::string field;
        for (std::size_t length = below(9); length != 0; --length) field += "abz 019.-_"[below(10)];
        if (i == 0) field.insert(0, "k");  // no empty line
        const bool quoted = below(100) < quotes;
        std::string shown = field;
        if (quoted) {
          field += "\"" + std::string(1, delimiter) + (below(4) == 0 ? "\n" : "");
          more += field.ends_with('\n') ? 1 : 0;
          shown = "\"" + field.substr(0, shown.size()) + "\"" + field.substr(shown.size()) + "\"";
        }
        whole += (i != 0 ? std::string(1, delimiter) : "") + shown;
        fields.push_back(field);
      }
      text += whole;
      if (row + 1 != count || below(2) != 0) text += end;
      for (const std::string& name : wanted) expected.fields.push_back(fields[std::stoul(name.substr(1))]);
      expected.lines.push_back(whole);
      expected.places.push_back(row);
      expected.numbers.push_back(line);
      line += more;
    }
    const SourceOptions options = asked(true, std::string(1, delimiter));
    for (const bool known_size : {true, false}) {
      Rows rows(reader(text, known_size), options, wanted, true);
      ASSERT_EQ(take(rows), expected) << round;
    }
    Rows fields(reader(text), options, wanted);
    ASSERT_EQ(take(fields).fields, expected.fields) << round;
    const std::string path = folder.write("table", text);
    Taken joined;
    std::uint64_t places = 0;
    constexpr std::uint64_t parts = 5;
    for (std::uint64_t part = 0; part < parts; ++part) {
      SourceOptions some = options;
      some.part = part;
      some.parts = parts;
      Rows rows(path, some, wanted, true);
      Taken one = take(rows);
      joined.fields.insert(joined.fields.end(), one.fields.begin(), one.fields.end());
      joined.lines.insert(joined.lines.end(), one.lines.begin(), one.lines.end());
      places += rows.report().places;
    }
    ASSERT_EQ(joined.fields, expected.fields) << round;
    ASSERT_EQ(joined.lines, expected.lines) << round;
    ASSERT_EQ(places, count) << round;
  }
}

// Every field as TextFields gives it, one by one.
std::string all_fields(const Bytes& bytes, const SourceOptions& options, std::size_t least) {
  std::string all;
  TextFields fields(reader(bytes), options);
  Strings row;
  for (Field field; fields.next(field);) {
    row.emplace_back(field.text);
    if (!field.last) continue;
    for (std::size_t i = 0; i < least && row.size() >= least; ++i) all += row[i] + ";";
    row.clear();
  }
  return all;
}

TEST(Rows, AnyBytesAreCutAsFieldByField) {
  std::mt19937 random(8);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  constexpr std::string_view letters("\n\n\n\r,,; \t\"#a1\0\xff", 15);
  for (int round = 0; round < 4000; ++round) {
    Bytes text;
    for (std::size_t size = below(60); size != 0; --size) text += letters[below(below(3) == 0 ? letters.size() : 9)];
    SourceOptions options = asked(false, std::array<const char*, 5>{"", ",", "blanks", ";", "space"}[below(5)]);
    if (below(3) == 0) options.comment = below(2) == 0 ? "" : "a";
    const std::size_t least = 1 + below(2);
    const Strings columns = least == 1 ? Strings{"1"} : Strings{"2", "1"};
    std::string expected;
    std::string found;
    const std::string expected_failure = failure([&] { expected = all_fields(text, options, least); });
    const std::string found_failure = failure([&] {
      Rows rows(reader(text), options, columns, below(2) == 0);
      while (rows.next()) {
        for (std::size_t i = least; i-- > 0;) found += std::string(rows.fields()[i]) + ";";
      }
    });
    ASSERT_EQ(expected_failure, found_failure) << testing::PrintToString(text);
    if (!found_failure.empty()) continue;
    ASSERT_EQ(found, expected) << testing::PrintToString(text);
  }
}

TEST(Rows, ErrorsOfPartsNameTheLine) {
  const Folder folder;
  Bytes text = "a,b\n";
  for (int i = 0; i < 40000; ++i) text += "1,2\n";
  const std::string path = folder.write("table.csv", text + "3\n" + "4,5\n");
  SourceOptions last = asked(true);
  last.part = 3;
  last.parts = 4;
  {
    Rows rows(path, last, Strings{"b"});
    while (rows.next() && rows.fields()[0] == "2") {
    }
    EXPECT_FALSE(rows.report().lines_known);
    EXPECT_THAT(failure([&] { rows.fail("{}", "why"); }), testing::HasSubstr("line 40003: why"));
  }
  last.strict = true;
  Rows rows(path, last, Strings{"b"});
  EXPECT_THAT(failure([&] { take(rows); }), testing::HasSubstr("line 40002 has 1 fields"));
}

}  // namespace
}  // namespace masu::io::test
