// SPDX-License-Identifier: Apache-2.0
// Several columns that are read at once, against each of them alone.
#include <fmt/format.h>
#include <masu/device.h>
#include <masu/error.h>
#include <masu/io.h>
#include <sys/stat.h>

#include <array>
#include <random>
#include <stdexcept>
#include <thread>

#include "io/test_files.h"

namespace masu::io::test {
namespace {

// All that a source says, "" where it gives an error.
std::string written(Source& source, bool as_f64) {
  const SourceInfo& info = source.info();
  if (as_f64 && info.names == nullptr) {
    try {
      source.retype(Dtype::f64);
    } catch (const Error& error) {
      return error.what();
    }
  }
  std::string text = fmt::format("{} {} {} {} ", info.name, info.format, to_string(info.dtype), info.count.value_or(0));
  const std::vector<std::byte> bytes = read_all(source);
  text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  source.rewind();
  EXPECT_EQ(read_all(source), bytes);
  if (info.names != nullptr) {
    for (std::size_t i = 0; i < info.names->counts().size(); ++i)
      text += (*info.names)(static_cast<std::int64_t>(i)) + fmt::format(" {},", info.names->counts()[i]);
  }
  const TextReport report = source.report();
  text +=
      fmt::format(" places {} rows {} columns {} begin {} end {} comments {} names {} texts {} instants {} ({}) bad {}",
                  report.places, report.rows, report.columns, report.begin_line, report.end_line, report.comment_lines,
                  report.row_names, report.texts, report.instants,
                  report.how_cut.starts_with("the key") ? "keys" : report.how_cut, source.bad_lines());
  for (const TextReport::Kind& kind : report.left_out)
    text += fmt::format(" {} from {} '{}'", kind.count, kind.line, kind.first);
  std::array<Source::Gap, 1000> gaps;
  for (std::uint64_t first = 0, got = gaps.size(); got == gaps.size(); first += got) {
    got = source.gaps(first, gaps);
    for (std::size_t i = 0; i < got; ++i) text += fmt::format(" {}+{}", gaps[i].number, gaps[i].missing);
  }
  return text;
}

void expect_as_alone(const std::string& path, const SourceOptions& options, const std::vector<ColumnChoice>& columns) {
  for (const bool as_f64 : {false, true}) {
    std::string expected;
    std::string found;
    try {
      for (const ColumnChoice& each : columns) {
        SourceOptions own = options;
        own.column = each.column;
        own.entries = each.entries;
        expected += written(*open(path, own), as_f64) + "\n";
      }
    } catch (const Error& error) {
      expected = error.what();
    }
    try {
      const auto sources = open_columns(path, options, columns);
      ASSERT_EQ(sources.size(), columns.size());
      for (const auto& source : sources) found += written(*source, as_f64) + "\n";
    } catch (const Error& error) {
      found = error.what();
    }
    ASSERT_TRUE(found == expected) << found.substr(0, 2000) << "\nalone:\n" << expected.substr(0, 2000);
  }
}

class ColumnsTest : public testing::Test {
 protected:
  ~ColumnsTest() override { set_cpu_threads(0); }
  Folder folder_;
};

// A table whose columns have mostly entries of one kind.
std::string random_table(std::mt19937_64& random, std::uint64_t rows, bool header, char delimiter) {
  const auto any = [&](std::uint64_t n) { return random() % n; };
  constexpr std::array<std::string_view, 12> odd = {"",        "x",   "\"a\"\"b\"", "-0", "9007199254740993",     "1e3",
                                                    "2026-01", "nan", "\"5\"",      "+7", "18446744073709551615", "-5"};
  std::string text = header ? fmt::format("a{0}b{0}c{0}d\n", delimiter) : "";
  const std::uint64_t holes = std::array<std::uint64_t, 4>{0, 3, 50, 5000}[any(4)];
  const std::uint64_t short_lines = any(4) == 0 ? 20 : 0;
  std::array<std::uint64_t, 4> kinds{};
  for (std::uint64_t& kind : kinds) kind = any(5);
  const std::string_view end = any(2) == 0 ? "\n" : "\r\n";
  for (std::uint64_t i = 0; i < rows; ++i) {
    const std::uint64_t fields = short_lines != 0 && any(short_lines) == 0 ? 1 + any(5) : 4;
    for (std::uint64_t f = 0; f < fields; ++f) {
      if (f != 0) text += delimiter;
      const std::uint64_t kind = kinds[f % 4];
      if (holes != 0 && any(holes) == 0) text += odd[any(odd.size())];
      else if (kind == 0) text += fmt::format("{}", static_cast<int>(any(2000)) - 1000);
      else if (kind == 1) text += fmt::format("{}", static_cast<double>(any(1U << 20)) / 1000);
      else if (kind == 2) text += fmt::format("w{}", any(30));
      else if (kind == 3) text += fmt::format("2026-{:02}-{:02}T10:20:30", 1 + any(12), 1 + any(28));
      else if (i > rows / 2) text += any(2) == 0 ? "17" : "2.5";  // known late
      else text += any(2) == 0 ? "late" : "2026-05-05";
    }
    text += end;
  }
  return text;
}

TEST_F(ColumnsTest, AsEachAlone) {
  std::mt19937_64 random(44);
  for (int i = 0; i < 150; ++i) {
    const bool header = random() % 2 == 0;
    const char delimiter = random() % 2 == 0 ? ',' : '\t';
    const std::uint64_t rows = std::array<std::uint64_t, 6>{0, 1, 2, 67, 2047, 5000}[random() % 6];
    const std::string path = folder_.write("t.csv", random_table(random, rows, header, delimiter));
    SourceOptions options;
    options.header = header;
    options.delimiter = delimiter == ',' ? "comma" : "tab";
    options.places = random() % 4 != 0;
    options.strict = random() % 5 == 0;
    std::vector<ColumnChoice> columns;
    for (std::uint64_t count = 2 + random() % 3; count != 0; --count) {
      constexpr std::array<Entries, 5> entries = {Entries::any, Entries::any, Entries::numbers, Entries::instants,
                                                  Entries::texts};
      columns.push_back({fmt::format("{}", 1 + random() % 4), entries[random() % entries.size()]});
    }
    expect_as_alone(path, options, columns);
    if (HasFatalFailure()) FAIL() << "table " << i;
  }
}

// Larger files are read in parts.
TEST_F(ColumnsTest, OnSeveralThreads) {
  std::mt19937_64 random(45);
  for (int i = 0; i < 6; ++i) {
    const std::string path = folder_.write("t.csv", random_table(random, 200000, i % 2 == 0, ','));
    SourceOptions options;
    options.header = i % 2 == 0;
    options.delimiter = "comma";
    options.places = true;
    set_cpu_threads(3);
    expect_as_alone(path, options,
                    {{"3", Entries::any}, {"1", Entries::any}, {"4", i == 5 ? Entries::texts : Entries::any}});
    if (HasFatalFailure()) FAIL() << "table " << i;
  }
}

// Numbers of which the parts have other dtypes.
TEST_F(ColumnsTest, OneDtypeForAllParts) {
  set_cpu_threads(2);
  constexpr int rows = 400000;
  const std::vector<std::array<std::string_view, 2>> ends = {{"5", "2.5"},
                                                             {"-1", "18446744073709551615"},
                                                             {"9007199254740993", "0.5"},
                                                             {"18446744073709551615", "7"},
                                                             {"-0", "0.5"}};
  for (const auto& [first, last] : ends) {
    std::string text = fmt::format("{},a\n", first);
    for (int i = 0; i < rows; ++i) text += "123456789,b\n";
    text += fmt::format("{},c\n", last);
    SourceOptions options;
    options.places = true;
    expect_as_alone(folder_.write("t.csv", text), options, {{"1", Entries::any}, {"2", Entries::any}});
  }
}

TEST_F(ColumnsTest, Streams) {
  const std::string path = folder_ / "pipe";
  const auto read = [&](const std::string& text) {
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    std::thread writer([&] { std::ofstream(path, std::ios::binary) << text; });
    SourceOptions options;
    options.header = true;
    std::vector<std::unique_ptr<Source>> sources;
    std::string error;
    try {
      sources = open_columns(path, options, std::vector<ColumnChoice>{{"b"}, {"a", Entries::any}});
    } catch (const Error& refused) {
      error = refused.what();
    }
    writer.join();
    std::filesystem::remove(path);
    if (!error.empty()) throw Error(ErrorCode::io, error);
    EXPECT_EQ(values<double>(*sources[0]), (std::vector<double>{1.5, 2}));
    EXPECT_EQ(values<std::uint32_t>(*sources[1]), (std::vector<std::uint32_t>{1, 0}));
  };
  read("a,b\nx,1.5\nw,2\n");
  EXPECT_THAT([&] { read("a,b\nx,y\n"); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("column b must be read alone")));
}

TEST_F(ColumnsTest, ProgressGrowsAndEnds) {
  std::mt19937_64 random(46);
  const std::string text = random_table(random, 200000, true, ',');
  const std::string path = folder_.write("t.csv", text);
  std::uint64_t before = 0;
  SourceOptions options;
  options.header = true;
  options.reading = [&](std::uint64_t read, std::uint64_t all) {
    EXPECT_EQ(all, text.size());
    EXPECT_TRUE(before <= read && read <= all);
    before = read;
  };
  const std::vector<ColumnChoice> columns = {{"a", Entries::texts}, {"b", Entries::texts}};
  (void)open_columns(path, options, columns);
  EXPECT_GT(before, text.size() / 4);
  options.reading = [](std::uint64_t, std::uint64_t) { throw std::out_of_range("enough"); };
  EXPECT_THROW((void)open_columns(path, options, columns), std::out_of_range);
}

TEST_F(ColumnsTest, WhatIsNoTable) {
  const std::string raw = folder_.write("x.raw", std::string("\0\1\2", 3));
  const std::string json = folder_.write("x.json", "{\"a\": 1, \"b\": {\"c\": \"x\"}}\n{\"a\": 2.5}\n");
  const std::vector<ColumnChoice> columns = {{"a", Entries::any}, {"b", Entries::any}};
  for (const std::string& path : {raw, folder_ / "none", folder_ / "none.npz:x", std::string("random:u8:5")})
    expect_as_alone(path, {}, columns);
  expect_as_alone(json, {}, {{"name:a", Entries::any}, {"b.c", Entries::any}});
  SourceOptions options;
  options.header = true;
  expect_as_alone(folder_.write("t.csv", "a,c\n1,2\n"), options, columns);
  options.dtype = Dtype::f32;
  expect_as_alone(folder_.write("t.csv", "a,b\n1,2\n"), options, columns);
  EXPECT_TRUE(open_columns(raw, {}, {}).empty());
}

}  // namespace
}  // namespace masu::io::test
