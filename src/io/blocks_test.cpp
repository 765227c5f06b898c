// SPDX-License-Identifier: Apache-2.0
// Blocks of lines, parsed by several threads, against the same text taken one field after another: a block of one byte
// has no line that is parsed ahead.
#include <fmt/format.h>
#include <masu/device.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <random>

#include "io/quick_number.h"
#include "io/test_files.h"

namespace masu::io::test {
namespace {

struct Facts {
  std::string error;
  Dtype dtype = Dtype::u8;
  std::vector<std::byte> values;
  std::uint64_t bad = 0;
  std::string report;
  std::vector<std::uint64_t> places;
  friend bool operator==(const Facts&, const Facts&) = default;
};

std::string written(const TextReport& report) {
  std::string text =
      fmt::format("places {} rows {} lines {} columns {} begin {} end {} known {} ragged {} comments {} names {} ({})",
                  report.places, report.rows, report.lines, report.columns, report.begin_line, report.end_line,
                  report.lines_known, report.ragged_line, report.comment_lines, report.row_names, report.how_cut);
  for (const TextReport::Kind& kind : report.left_out)
    text += fmt::format(" {} from {} '{}'", kind.count, kind.line, kind.first);
  return text;
}

// All that can be asked of a text; in pieces where `step` is not 0.
Facts facts_of(const Bytes& bytes, const SourceOptions& options, std::size_t block, bool known, std::uint64_t step) {
  Facts facts;
  try {
    const auto source =
        open_input(Input{Reader("memory", memory_stream(std::as_bytes(std::span(bytes)), known)), options, "", block});
    facts.dtype = source->info().dtype;
    source->keep_for_rewind();
    const std::size_t size = size_of(facts.dtype);
    for (const bool again : {false, true}) {
      if (again) source->rewind();
      facts.values.clear();
      for (std::uint64_t done = 0;;) {
        const std::uint64_t count = step == 0 ? bytes.size() + 1 : step;
        facts.values.resize((done + count) * size);
        const std::uint64_t got = source->read(facts.values.data() + done * size, count);
        done += got;
        facts.values.resize(done * size);
        if (got < count) break;
      }
    }
    facts.bad = source->bad_lines();
    facts.report = written(source->report());
    facts.places.resize(facts.values.size() / size);
    for (std::uint64_t i = 0; i < facts.places.size(); ++i) facts.places[i] = i;
    source->to_places(facts.places);
  } catch (const Error& error) {
    facts = {};
    facts.error = error.what();
  }
  return facts;
}

class TextBlocks : public testing::Test {
 protected:
  ~TextBlocks() override { set_cpu_threads(0); }
};

void expect_same(const Bytes& bytes, const SourceOptions& options) {
  static unsigned calls = 0;
  constexpr std::array<std::size_t, 7> blocks = {2, 5, 16, 61, 150, 300, 4096};
  const Facts expected = facts_of(bytes, options, 1, true, 0);
  for (int i = 0; i < 3; ++i) {
    const std::size_t block = blocks[++calls % blocks.size()];
    set_cpu_threads(1 + calls % 4);
    const Facts found = facts_of(bytes, options, block, options.parts > 1 || calls % 5 < 3, calls % 2 * 3);
    ASSERT_EQ(found.error, expected.error) << bytes;
    ASSERT_EQ(found.report, expected.report) << bytes << " in blocks of " << block;
    ASSERT_TRUE(found == expected) << bytes << " in blocks of " << block;
  }
}

SourceOptions with(const std::function<void(SourceOptions&)>& set) {
  SourceOptions options;
  options.format = InputFormat::text;
  options.places = true;
  set(options);
  return options;
}

const std::vector<SourceOptions>& all_options() {
  using O = SourceOptions;
  static const std::vector<SourceOptions> list = {
      with([](O&) {}),
      with([](O& o) { o.dtype = Dtype::f64; }),
      with([](O& o) { o.dtype = Dtype::f32; }),
      with([](O& o) { o.dtype = Dtype::i16; }),
      with([](O& o) { o.memory = 1; }),
      with([](O& o) { o.column = "2"; }),
      with([](O& o) { o.column = "1", o.header = true; }),
      with([](O& o) { o.header = true; }),
      with([](O& o) { o.column = "2", o.delimiter = "blanks"; }),
      with([](O& o) { o.column = "2", o.delimiter = "comma", o.comment = "#"; }),
      with([](O& o) { o.decimal = ",", o.delimiter = "semicolon"; }),
      with([](O& o) { o.delimiter = "tab", o.comment = ""; }),
      with([](O& o) { o.strict = true, o.delimiter = "comma"; }),
      with([](O& o) { o.delimiter = "5"; }),
      with([](O& o) { o.part = 1, o.parts = 3, o.delimiter = "comma"; }),
      with([](O& o) { o.column = "2", o.part = 2, o.parts = 3, o.dtype = Dtype::f64; }),
  };
  return list;
}

// Lines of which most are alike, in number of fields and kind of numbers.
Bytes table(std::mt19937& random, bool wild) {
  const auto one_of = [&](const std::vector<Bytes>& list) { return list[random() % list.size()]; };
  const std::vector<Bytes> whole = {"0", "7", "-3", "12345678", "123456789", "-40000", "007"};
  const std::vector<Bytes> decimal = {"0.5", "-1.25e-3", "3.14159265358979", "1e22", ".5", "5.", "12", "-0"};
  const std::vector<Bytes> others = {"",
                                     "x",
                                     "nan",
                                     "-inf",
                                     "+5",
                                     "\"5\"",
                                     "\"",
                                     "\"a\"\"b\"",
                                     "\"1\"2",
                                     " 6 ",
                                     "1e400",
                                     "-0",
                                     "9007199254740993",
                                     "9223372036854775808",
                                     "18446744073709551615",
                                     "-9223372036854775808",
                                     "a\"b",
                                     "\"q\nr\"",
                                     "\"s,t\"",
                                     "1,5",
                                     "#c",
                                     "0x1",
                                     "123456789012345678901",
                                     "4503599627370497.5",
                                     Bytes(1100, '0'),
                                     "1e-400"};
  const Bytes delimiter = one_of({",", ",", ";", "\t", " ", "5"});
  const Bytes end = one_of({"\n", "\n", "\r\n", "\r"});
  const std::size_t columns = 1 + random() % 4;
  const bool decimals = random() % 2 == 0;
  const unsigned rare = wild ? 4 : 60;
  Bytes text;
  for (std::size_t line = random() % 60; line-- > 0;) {
    if (random() % rare == 0) text += one_of({"#note", "", "  ", "# \"", "\t"}) + end;
    const std::size_t fields = random() % rare == 0 ? 1 + random() % 5 : columns;
    for (std::size_t i = 0; i < fields; ++i) {
      text += random() % rare == 0 ? one_of(others) : one_of(decimals ? decimal : whole);
      if (i + 1 < fields || random() % (rare * 2) == 0) text += delimiter;
    }
    text += random() % (rare * 4) == 0 ? one_of({"\r", "\n", "\r\n", " \n"}) : end;
  }
  if (random() % 3 == 0) text += one_of(whole);
  if (random() % 8 == 0) text = "\xef\xbb\xbf" + text;
  return text;
}

TEST_F(TextBlocks, RandomTablesAreReadTheSame) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const Bytes text = table(random, round % 2 == 0);
    for (const SourceOptions& options : all_options()) {
      expect_same(text, options);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(TextBlocks, QuotesAndCommentsAcrossBorders) {
  const SourceOptions second = with([](SourceOptions& o) { o.column = "2", o.dtype = Dtype::f64; });
  Bytes text;
  for (int i = 0; i < 200; ++i) {
    text += fmt::format("a{0},{0}.5,c\n", i);
    if (i % 7 == 0) text += fmt::format("\"open\nb,1,\"\"x\"\"\n\",{}\n", i);
    if (i % 11 == 0) text += "\"x\n\"y\",1\n";  // other characters follow the closing quote
    if (i % 13 == 0) text += "#a,2\r\nb,\"3\"\r\n";
  }
  expect_same(text, second);
  expect_same(text, with([](SourceOptions& o) { o.header = true, o.column = "2"; }));
  expect_same(text + "\"never closed,1\n2,3\n", second);
  expect_same(text + Bytes(5000, ' ') + "a,1\nb,2," + Bytes(40000, 'z') + "\nc," + Bytes(40000, '0') + "\nd,4", second);
}

TEST_F(TextBlocks, ManyBlocks) {
  std::mt19937_64 random(3);
  Bytes text;
  std::vector<double> expected;
  for (int i = 0; i < 300000; ++i) {
    const double value = std::bit_cast<double>((random() >> 12) | std::uint64_t{0x3ff} << 52) - 1.5;
    text += fmt::format("{}\n", value);
    expected.push_back(value);
  }
  for (const unsigned threads : {1U, 2U, 4U}) {
    set_cpu_threads(threads);
    for (const bool known : {true, false}) {
      const auto source = open_bytes(text, with([](SourceOptions&) {}), known);
      ASSERT_EQ(values<double>(*source), expected);
      EXPECT_EQ(source->report().lines, expected.size());
    }
  }
}

TEST_F(TextBlocks, HowMuchIsRead) {
  Bytes text;
  for (int i = 0; i < 1000; ++i) text += fmt::format("{}\n", i);
  for (const bool known : {true, false}) {
    std::vector<std::uint64_t> told;
    SourceOptions options = with([&](SourceOptions& o) {
      o.reading = [&](std::uint64_t read, std::uint64_t all) {
        EXPECT_EQ(all, known ? text.size() : 0);
        told.push_back(read);
      };
    });
    (void)facts_of(text, options, 61, known, 0);
    EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
    EXPECT_GE(told.size(), 2U);
    EXPECT_EQ(told.back(), text.size());
    options.reading = [](std::uint64_t, std::uint64_t) { throw Error(ErrorCode::interrupted, "enough"); };
    expect_error(ErrorCode::interrupted, "enough", [&] { (void)open_bytes(text, options, known); });
  }
}

// A failing read is an error after the numbers in front of it.
TEST_F(TextBlocks, AStreamThatFails) {
  Bytes text;
  for (int i = 0; i < 100000; ++i) text += "1234567\n";
  Bytes cut = gzip(text);
  cut.resize(cut.size() / 2);
  const SourceOptions options = with([](SourceOptions& o) { o.dtype = Dtype::f64; });
  const auto source = open_bytes(cut, options);
  std::vector<double> numbers(1000);
  EXPECT_EQ(source->read(numbers.data(), numbers.size()), numbers.size());
  EXPECT_EQ(numbers.back(), 1234567);
  expect_error(ErrorCode::io, "truncated", [&] { read_all(*source); });
  Bytes bad = "x\n" + text;
  Bytes cut_bad = gzip(bad);
  cut_bad.resize(cut_bad.size() / 2);
  expect_error(ErrorCode::io, "line 1: the entry 'x' is not a number",
               [&] { read_all(*open_bytes(cut_bad, with([](SourceOptions& o) { o.strict = true; }))); });
}

// Both give the same bits, or the quick way gives nothing.
void expect_quick(const std::string& text) {
  const std::string padded = text + "\n" + std::string(Reader::excess, '9');
  QuickNumber number;
  const char* const end = take_quick_number(padded.data(), '.', number);
  if (end == nullptr) return;
  ASSERT_EQ(end, padded.data() + text.size()) << text;
  double expected = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), expected);
  ASSERT_EQ(parsed.ptr, text.data() + text.size()) << text;
  double value = number.value;
  if (number.whole) value = (number.negative ? -1.0 : 1.0) * static_cast<double>(number.magnitude);
  ASSERT_EQ(std::bit_cast<std::uint64_t>(value), std::bit_cast<std::uint64_t>(expected)) << text;
}

TEST(QuickNumber, TheNearestDouble) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 200000; ++i) {
    const std::uint64_t digits = random() >> random() % 64;
    const auto exponent = static_cast<int>(random() % 70) - 35;
    std::string whole = fmt::format("{}", digits);
    expect_quick(fmt::format("{}{}e{}", i % 2 == 0 ? "-" : "", whole, exponent));
    expect_quick(whole);
    const std::size_t point = random() % (whole.size() + 1);
    expect_quick(whole.substr(0, point) + "." + whole.substr(point));
    // As near to a half between two doubles as 19 digits are.
    const double below = std::bit_cast<double>(std::uint64_t{0x3ff} << 52 | random() >> 12);
    const double half = (below - 1) * 0.5 + (std::nextafter(below, 2) - 1) * 0.5;
    expect_quick(fmt::format("{:.{}f}", half, 10 + random() % 12));
    expect_quick(fmt::format("{:.17g}", half));
    if (HasFatalFailure()) return;
  }
  for (const char* text : {"0",
                           "-0",
                           "0.0",
                           "-0.0",
                           "0e5",
                           ".5",
                           "5.",
                           "1e22",
                           "1e23",
                           "9007199254740993",
                           "9007199254740993.0",
                           "9007199254740992.5",
                           "0.000000000000000000001",
                           "00000000000000000001.5",
                           "1e9999",
                           "1e-9999",
                           "9999999999999999999",
                           "18446744073709551615.",
                           "1e+5",
                           "1E-5"})
    expect_quick(text);
}

TEST(QuickNumber, WhatIsNone) {
  for (const std::string text :
       {"", "-", ".", "-.", "e5", "1e", "1e+", "+1", "--1", "nan", "1e99999", "x", "18446744073709551616"}) {
    const std::string padded = text + "\n" + std::string(Reader::excess, '9');
    QuickNumber number;
    const char* const end = take_quick_number(padded.data(), '.', number);
    EXPECT_TRUE(end == nullptr || *end != '\n') << text;
  }
}

}  // namespace
}  // namespace masu::io::test
