// SPDX-License-Identifier: Apache-2.0
// Inputs that several processes read in parts, and files that several write.
#include <fmt/format.h>

#include <numeric>

#include "io/test_files.h"

namespace masu::io::test {
namespace {

template <class T>
std::vector<T> rest_of(Source& source) {
  const std::vector<std::byte> bytes = read_all(source);
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// Every part of elements, by reading and in place, twice.
void expect_parts(const std::string& input, SourceOptions options) {
  const auto all = rest_of<std::uint16_t>(*open(input, options));
  for (const bool map : {false, true}) {
    options.map = map;
    for (std::uint64_t first = 0; first <= all.size(); first += 3) {
      for (std::uint64_t count = 0; first + count <= all.size(); count += 4) {
        const auto source = open(input, options);
        ASSERT_TRUE(source->take_part(first, count));
        EXPECT_EQ(source->info().count, count);
        const std::vector<std::uint16_t> expected(all.begin() + static_cast<std::ptrdiff_t>(first),
                                                  all.begin() + static_cast<std::ptrdiff_t>(first + count));
        source->keep_for_rewind();
        if (const auto view = map ? source->view(count + 1) : std::nullopt; view && view->count != 0) {
          EXPECT_EQ(std::memcmp(view->data, expected.data(), count * 2), 0);
          EXPECT_EQ(source->view(1)->count, 0);
          source->rewind();
        }
        EXPECT_EQ(rest_of<std::uint16_t>(*source), expected) << input << " " << first << " " << count;
      }
    }
  }
  const auto source = open(input, options);
  EXPECT_THROW(source->take_part(all.size(), 1), Error);
  EXPECT_THROW(source->take_part(all.size() + 1, 0), Error);
}

TEST(Parts, OfElements) {
  const Folder folder;
  std::vector<std::uint16_t> values(23);
  std::iota(values.begin(), values.end(), std::uint16_t{1000});
  write_array(folder / "a.npy", ArrayView(values));
  write_array(folder / "a.raw", ArrayView(values));
  expect_parts(folder / "a.npy", {});
  expect_parts(folder / "a.raw", {.dtype = Dtype::u16});
  expect_parts(folder / "a.raw", {.dtype = Dtype::u16, .offset = 6, .count = 11});
  expect_parts(folder / "a.raw", {.dtype = Dtype::u16, .endian = Endian::big});
  for (const char* text : {"random:u16:23", "random:u16:23:dist=runs", "random:u16:23:dist=reversed", "iota:u16:23"}) {
    expect_parts(text, {});
  }
  EXPECT_FALSE(open(folder.write("t.txt", "1 2 3"))->take_part(0, 1));
}

TEST(Parts, OfLines) {
  const Folder folder;
  const std::string texts[] = {"1\n2\n3\n4\n5\n",
                               "1\r\n2\r\n\r\n3\r\n4",
                               "\n\n\n1\n\n\n2 3 4 5 6 7 8 9 10 11 12 13 14 15\n\n3",
                               "# a\n1\nx\n2 # b\n,\n  3",
                               "1\r2\r\r3\r4",
                               "\"1\"\n\"2\n\n3\"\n4\n\"5\r\n\"\"6\n\n\n\"\n7\n",
                               "1 \"a\n2 3\" 4\n# \"\n5 6\n\"7\n\n\n8\n9 10\"\n11",
                               "\xef\xbb\xbf"
                               "7\n8",
                               "1 2 3 4 5 6 7 8",
                               "5"};
  for (const std::string& text : texts) {
    const std::string path = folder.write("t.txt", text);
    for (const bool told : {false, true}) {
      SourceOptions options;
      options.format = InputFormat::text;
      if (told) options.dtype = Dtype::i64;
      const auto whole = open(path, options);
      const auto expected = rest_of<std::int64_t>(*whole);
      for (const std::uint64_t parts : {2, 3, 7, 40}) {
        std::vector<std::int64_t> found;
        std::uint64_t bad = 0;
        options.parts = parts;
        for (options.part = 0; options.part <= parts; ++options.part) {
          const auto source = open(path, options);
          const auto part = rest_of<std::int64_t>(*source);
          if (options.part == parts) EXPECT_TRUE(part.empty());
          found.insert(found.end(), part.begin(), part.end());
          bad += source->bad_lines();
        }
        EXPECT_EQ(found, expected) << text << " in " << parts;
        EXPECT_EQ(bad, whole->bad_lines()) << text << " in " << parts;
      }
    }
  }
}

TEST(Parts, OfAnEmptyFile) {
  const Folder folder;
  const std::string path = folder.write("t.txt", "");
  SourceOptions options;
  options.format = InputFormat::text;
  options.parts = 3;
  for (options.part = 0; options.part < 3; ++options.part) {
    EXPECT_TRUE(rest_of<std::int64_t>(*open(path, options)).empty());
  }
}

// A stream, which cannot be measured without being kept, is refused before it is read to its end; a file that is
// compressed is read.
TEST(Parts, OfLinesOfFilesAlone) {
  const Folder folder;
  SourceOptions options;
  options.parts = 2;
  const Bytes text = "1\n2\n3\n";
  for (const Bytes& bytes : {text, gzip(text)}) {
    expect_error(ErrorCode::io, "in parts from a file only", [&] { open_bytes(bytes, options, false); });
    std::vector<std::int64_t> found;
    for (options.part = 0; options.part < 2; ++options.part) {
      const auto part = rest_of<std::int64_t>(*open(folder.write("t", bytes), options));
      found.insert(found.end(), part.begin(), part.end());
    }
    EXPECT_EQ(found, (std::vector<std::int64_t>{1, 2, 3}));
    options.part = 0;
  }
}

TEST(Parts, OfLinesBehindAHeader) {
  const Folder folder;
  const std::string path = folder.write("t.csv", "a,b\n1,10\n2,20\n3,30\n");
  SourceOptions options;
  options.header = true;
  options.column = "b";
  options.parts = 3;
  std::vector<std::int64_t> found;
  for (options.part = 0; options.part < 3; ++options.part) {
    const auto part = rest_of<std::int64_t>(*open(path, options));
    found.insert(found.end(), part.begin(), part.end());
  }
  EXPECT_EQ(found, (std::vector<std::int64_t>{10, 20, 30}));
}

// A line end in quotes ends no line, also where quotes are far from the border: then it is an error.
TEST(Parts, OfLinesInQuotes) {
  const Folder folder;
  std::string text = "a,b\n";
  std::vector<std::int64_t> expected;
  for (int i = 0; i < 2000; ++i) {
    text += i % 7 == 3 ? fmt::format("\"{}\n9,9\n\",{}\n", std::string(static_cast<std::size_t>(i), 'x'), i)
                       : fmt::format("x,{}\n", i);
    expected.push_back(i);
  }
  SourceOptions options;
  options.header = true;
  options.column = "b";
  options.parts = 13;
  std::vector<std::int64_t> found;
  for (options.part = 0; options.part < options.parts; ++options.part) {
    const auto part = rest_of<std::int64_t>(*open(folder.write("t.csv", text), options));
    found.insert(found.end(), part.begin(), part.end());
  }
  EXPECT_EQ(found, expected);
  std::string lines;
  for (int i = 0; i < 100000; ++i) lines += "9,9\n";
  const std::string path = folder.write("t.csv", "a,b\n1,2\n\"" + lines + "\",3\n");
  options.parts = 2;
  options.part = 0;
  expect_error(ErrorCode::io, "lies across the border of two parts", [&] { read_all(*open(path, options)); });
}

TEST(Parts, DecimalCommasOfAllLines) {
  const Folder folder;
  std::string pairs;
  for (int i = 0; i < 100; ++i) pairs += fmt::format("{},5\n", i);
  SourceOptions options;
  options.format = InputFormat::text;
  options.parts = 3;
  for (const std::string& end : {"", "1\n"}) {
    std::size_t numbers = 0;
    for (options.part = 0; options.part < 3; ++options.part) {
      const auto read = [&] { numbers += read_all(*open(folder.write("t.txt", pairs + end), options)).size() / 8; };
      if (end.empty()) expect_error(ErrorCode::io, "--decimal ,", read);
      else read();
    }
    EXPECT_EQ(numbers, end.empty() ? 0U : 201U);
  }
}

TEST(Parts, LinesCountFromTheBeginningOfTheFile) {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 100; ++i) text += i == 90 ? "x\n" : fmt::format("{}\n", i);
  const std::string path = folder.write("t.txt", text);
  for (const bool told : {false, true}) {
    SourceOptions options;
    options.strict = true;
    if (told) options.dtype = Dtype::f32;
    options.part = 3;
    options.parts = 4;
    try {
      read_all(*open(path, options));
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("line 91: the entry 'x'"), std::string::npos) << error.what();
    }
  }
}

TEST(Parts, OfOneFileWritten) {
  for (const bool named : {false, true}) {
    const Folder folder;
    for (const bool commit : {false, true}) {
      {
        OutputFile file(folder / "out");
        const std::string place = file.place(named);
        OutputPart part(place);
        part.write_at(3, "def", 3);
        file.write_at(0, "abc", 3);
        part.finish();
        EXPECT_FALSE(std::filesystem::exists(folder / "out"));
        if (named) EXPECT_EQ(folder.files(), 1U);
        // Another file in its place is found out.
        const std::size_t before = place.find(' ', place.find(' ') + 1);
        EXPECT_THROW(OutputPart(place.substr(0, before) + " 1" + place.substr(place.find(' ', before + 1))), Error);
        if (commit) file.commit();
      }
      EXPECT_EQ(folder.files(), commit ? 1U : 0U);
    }
    EXPECT_EQ(slurp(folder / "out"), "abcdef");
  }
  EXPECT_EQ(OutputFile("-").place(false), "");
  EXPECT_EQ(OutputFile("/dev/null").place(true), "");
  EXPECT_THROW(OutputPart("nonsense"), Error);
  EXPECT_THROW(OutputPart("elsewhere 1 2 /tmp"), Error);
}

}  // namespace
}  // namespace masu::io::test
