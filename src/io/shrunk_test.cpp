// SPDX-License-Identifier: Apache-2.0
// Files that become shorter while they are read as text.
#include "io/rows.h"
#include "io/test_files.h"

#include <unistd.h>

#include <string>
#include <vector>

namespace masu::io {
namespace {

constexpr std::uint64_t lines = 200'000;  // more than a reader holds
constexpr std::uint64_t left = 1'500'000;

std::string table() {
  std::string text = "name,value\n";
  for (std::uint64_t i = 0; i < lines; ++i) text += "n,1234567\n";
  return text;
}

SourceOptions second_column() {
  SourceOptions options;
  options.column = "value";
  options.header = true;
  return options;
}

void cut(const std::string& path, std::uint64_t bytes = left) {
  ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(bytes)), 0);
}

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

constexpr const char* said = "ends early: the file shrank while it was read, to 1500000 of 2000011 bytes";

TEST(Shrunk, NumbersAsTheyAreRead) {
  const test::Folder folder;
  const std::string path = folder.write("t.csv", table());
  SourceOptions options = second_column();
  options.dtype = Dtype::f64;
  const auto source = open(path, options);
  std::vector<double> values(lines);
  EXPECT_EQ(source->read(values.data(), 5), 5U);
  cut(path);
  EXPECT_THAT(message_of([&] {
                while (source->read(values.data(), lines) != 0) {
                }
              }),
              testing::HasSubstr(said));
}

TEST(Shrunk, NumbersThatAreReadAtOnce) {
  const test::Folder folder;
  const std::string path = folder.write("t.csv", table());
  SourceOptions options = second_column();
  bool first = true;
  options.reading = [&](std::uint64_t /*read*/, std::uint64_t /*all*/) {
    if (std::exchange(first, false)) cut(path);
  };
  EXPECT_THAT(message_of([&] { (void)open(path, options); }), testing::HasSubstr(said));
}

TEST(Shrunk, Rows) {
  const test::Folder folder;
  const std::string path = folder.write("t.csv", table());
  const std::vector<std::string> columns = {"name", "value"};
  SourceOptions options;
  options.header = true;
  for (const bool whole_lines : {false, true}) {
    (void)folder.write("t.csv", table());
    Rows rows(path, options, columns, whole_lines);
    ASSERT_TRUE(rows.next());
    cut(path);
    EXPECT_THAT(message_of([&] {
                  while (rows.next()) {
                  }
                }),
                testing::HasSubstr(said));
  }
}

TEST(Shrunk, AfterAllWasReadItIsNoFault) {
  const test::Folder folder;
  const std::string path = folder.write("t.csv", "name,value\na,1\nb,2\n");
  SourceOptions options = second_column();
  options.dtype = Dtype::f64;
  const auto source = open(path, options);
  std::vector<double> values(2);
  EXPECT_EQ(source->read(values.data(), 2), 2U);
  cut(path, 0);
  EXPECT_EQ(source->read(values.data(), 2), 0U);
}

TEST(Shrunk, AGrownFileIsReadOn) {
  const test::Folder folder;
  const std::string path = folder.write("t.csv", table());
  SourceOptions options = second_column();
  options.dtype = Dtype::f64;
  const auto source = open(path, options);
  std::vector<double> values(lines + 1);
  EXPECT_EQ(source->read(values.data(), 5), 5U);
  std::ofstream(path, std::ios::binary | std::ios::app) << "n,5\n";
  std::uint64_t count = 5;
  while (const std::uint64_t got = source->read(values.data(), lines)) count += got;
  EXPECT_EQ(count, lines + 1);
}

}  // namespace
}  // namespace masu::io
