// SPDX-License-Identifier: Apache-2.0
// Views of files in place, and files that become shorter under them.
#include "io/reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "io/test_files.h"

namespace masu::io::test {
namespace {

SourceOptions mapped(Dtype dtype, std::uint64_t offset = 0) {
  SourceOptions options;
  options.format = InputFormat::raw;
  options.dtype = dtype;
  options.offset = offset;
  options.map = true;
  return options;
}

Bytes counting(std::size_t bytes) {
  Bytes out(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<char>(i * 2654435761U >> 13);
  return out;
}

Bytes text_of(const ArrayView& view) {
  return {static_cast<const char*>(view.data), static_cast<std::size_t>(view.count) * size_of(view.dtype)};
}

// Everything that the views give, `step` elements at a time.
Bytes viewed(Source& source, std::uint64_t step) {
  Bytes out;
  for (;;) {
    const auto view = source.view(step);
    if (!view) return "no view";
    if (view->count == 0) return out;
    EXPECT_LE(view->count, step);
    out += text_of(*view);
  }
}

const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

class MappingTest : public ::testing::Test {
 protected:
  const Folder folder;
};

TEST_F(MappingTest, ViewsAreTheFile) {
  const Bytes bytes = counting(5 * page + 40);
  const std::string path = folder.write("a.raw", bytes);
  for (const std::uint64_t step : {1U, 7U, 1000U, 1U << 20}) {
    const auto source = open(path, mapped(Dtype::u32));
    EXPECT_EQ(viewed(*source, step), bytes);
    EXPECT_EQ(source->view(step)->count, 0U);
    source->rewind();
    EXPECT_EQ(viewed(*source, step), bytes);
  }
  SourceOptions some = mapped(Dtype::u16, 2 * page + 6);
  some.count = 9;
  EXPECT_EQ(viewed(*open(path, some), 4), bytes.substr(2 * page + 6, 18));
  const Bytes header = npy_header(Dtype::f64, std::vector<std::uint64_t>{3});
  const std::string array = folder.write("a.npy", header + bytes.substr(0, 24));
  SourceOptions npy;
  npy.map = true;
  EXPECT_EQ(viewed(*open(array, npy), 2), bytes.substr(0, 24));
}

TEST_F(MappingTest, ReadsAndViewsMix) {
  const Bytes bytes = counting(700'001);
  const auto source = open(folder.write("a.raw", bytes), mapped(Dtype::u8));
  Bytes read(300'000, '\0');
  EXPECT_EQ(source->read(read.data(), 1000), 1000U);
  EXPECT_EQ(text_of(*source->view(5)), bytes.substr(1000, 5));
  EXPECT_EQ(source->read(read.data(), 300'000), 300'000U);
  EXPECT_EQ(read, bytes.substr(1005, 300'000));
  EXPECT_EQ(text_of(*source->view(10)), bytes.substr(301'005, 10));
  source->rewind();
  EXPECT_EQ(source->read(read.data(), 3), 3U);
  EXPECT_EQ(read.substr(0, 3), bytes.substr(0, 3));
  EXPECT_EQ(viewed(*source, 1 << 20), bytes.substr(3));
  EXPECT_EQ(source->read(read.data(), 1), 0U);
}

TEST_F(MappingTest, NoViewWhereElementsDoNotLieAsInMemory) {
  const std::string path = folder.write("a.raw", counting(801));
  SourceOptions unmapped = mapped(Dtype::u8);
  unmapped.map = false;
  EXPECT_EQ(viewed(*open(path, unmapped), 10), "no view");
  SourceOptions big = mapped(Dtype::u16, 1);
  big.endian = Endian::big;
  EXPECT_EQ(viewed(*open(path, big), 10), "no view");
  const auto odd = open(path, mapped(Dtype::u16, 1));
  EXPECT_EQ(viewed(*odd, 10), "no view");
  EXPECT_EQ(values<std::uint16_t>(*odd).size(), 400U);
  EXPECT_EQ(viewed(*open_bytes("abcd", mapped(Dtype::u8)), 10), "no view");
  EXPECT_EQ(viewed(*open_bytes("abcd", mapped(Dtype::u8), false), 10), "no view");
  SourceOptions only_map;
  only_map.map = true;
  EXPECT_EQ(viewed(*open("zeros:u8:10", only_map), 1), "no view");
  EXPECT_EQ(values<std::uint8_t>(*open(folder.write("empty", ""), mapped(Dtype::u8))).size(), 0U);
  SourceOptions none = mapped(Dtype::u8, 801);
  EXPECT_EQ(viewed(*open(path, none), 10), "");
}

// Threads touch the pages of a file that was cut; they find zeros, and the source says what happened.
TEST_F(MappingTest, AFileThatShrinksIsAnError) {
  const Bytes bytes = counting(64 * page);
  for (const std::size_t left : {std::size_t{0}, std::size_t{1}, page, page + 100, 64 * page - 100}) {
    const std::string path = folder.write("a.raw", bytes);
    const auto source = open(path, mapped(Dtype::u8));
    const auto view = source->view(64 * page);
    std::filesystem::resize_file(path, left);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        const auto* data = static_cast<const volatile char*>(view->data);
        for (std::size_t i = 0; i < bytes.size(); ++i) {
          const std::size_t at = (i + t * 16 * page) % bytes.size();
          const char expected = at < left ? bytes[at] : '\0';
          if (data[at] != expected && data[at] != '\0') ADD_FAILURE() << at;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    const std::string sizes = "to " + std::to_string(left) + " of " + std::to_string(bytes.size()) + " bytes";
    expect_error(ErrorCode::io, sizes, [&] { (void)source->view(1); });
    expect_error(ErrorCode::io, path + ": the file shrank while it was read", [&] { source->rewind(); });
    char byte = 0;
    expect_error(ErrorCode::io, "shrank", [&] { (void)source->read(&byte, 1); });
  }
}

TEST_F(MappingTest, AFileThatShrankAndGrewAgainIsAnErrorToo) {
  const Bytes bytes = counting(8 * page);
  const std::string path = folder.write("a.raw", bytes);
  const auto source = open(path, mapped(Dtype::u8));
  const auto view = source->view(8 * page);
  std::filesystem::resize_file(path, page);
  EXPECT_EQ(static_cast<const volatile char*>(view->data)[5 * page], '\0');
  EXPECT_EQ(folder.write("a.raw", bytes), path);
  expect_error(ErrorCode::io, "reading failed", [&] { (void)source->view(1); });
  EXPECT_EQ(viewed(*open(path, mapped(Dtype::u8)), 1000), bytes);
}

TEST_F(MappingTest, AFileThatShrinksWhileItIsReadIsAnError) {
  const std::string path = folder.write("a.raw", counting(1 << 20));
  SourceOptions options = mapped(Dtype::u16);
  options.map = false;
  const auto source = open(path, options);
  std::vector<std::uint16_t> some(1 << 19);
  EXPECT_EQ(source->read(some.data(), 1000), 1000U);
  std::filesystem::resize_file(path, 700'000);
  expect_error(ErrorCode::io, "ends early: the file shrank while it was read, to 700000 of 1048576 bytes",
               [&] { source->read(some.data(), some.size()); });
}

TEST_F(MappingTest, WithoutAPlaceTheFileIsRead) {
  const Bytes bytes = counting(100);
  const std::string path = folder.write("a.raw", bytes);
  std::vector<std::unique_ptr<Source>> sources;
  for (std::size_t i = 0; i < FileMapping::most_files; ++i) {
    sources.push_back(open(path, mapped(Dtype::u8)));
    ASSERT_EQ(text_of(*sources.back()->view(100)), bytes) << i;
  }
  const auto one_more = open(path, mapped(Dtype::u8));
  EXPECT_EQ(viewed(*one_more, 100), "no view");
  EXPECT_EQ(values<char>(*one_more).size(), 100U);
  sources.pop_back();
  EXPECT_EQ(viewed(*open(path, mapped(Dtype::u8)), 30), bytes);
}

// A page that the file does not have, of a mapping that is not masu's.
void touch_foreign_page(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY);
  void* address = ::mmap(nullptr, 8 * page, PROT_READ, MAP_SHARED, fd, 0);
  const volatile char byte = static_cast<const volatile char*>(address)[7 * page];
  (void)byte;
}

using MappingDeathTest = MappingTest;

TEST_F(MappingDeathTest, OtherFaultsStayWhatTheyWere) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        const auto source = open(folder.write("a.raw", counting(page)), mapped(Dtype::u8));
        if (source->view(1)) touch_foreign_page(folder / "a.raw");
      },
      "");
}

TEST_F(MappingDeathTest, AnEarlierHandlerGetsOtherFaults) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        struct sigaction action {};
        action.sa_handler = [](int) { ::_exit(42); };
        ::sigaction(SIGBUS, &action, nullptr);
        const auto source = open(folder.write("a.raw", counting(page)), mapped(Dtype::u8));
        if (source->view(1)) touch_foreign_page(folder / "a.raw");
      },
      ::testing::ExitedWithCode(42), "");
  EXPECT_EXIT(
      {
        struct sigaction action {};
        action.sa_flags = SA_SIGINFO;
        action.sa_sigaction = [](int, siginfo_t* info, void*) { ::_exit(info->si_code == SI_USER ? 43 : 44); };
        ::sigaction(SIGBUS, &action, nullptr);
        const auto source = open(folder.write("a.raw", counting(page)), mapped(Dtype::u8));
        if (source->view(1)) ::kill(::getpid(), SIGBUS);
        ::pause();
      },
      ::testing::ExitedWithCode(43), "");
}

}  // namespace
}  // namespace masu::io::test
