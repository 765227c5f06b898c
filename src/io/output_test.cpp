// SPDX-License-Identifier: Apache-2.0
// Numbers as text, output files, opening by content, pipes.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <thread>

#include "elements/stored_float.h"
#include "io/test_files.h"

namespace masu::io::test {
namespace {

TEST(Numbers, Sizes) {
  EXPECT_EQ(parse_size("0"), 0U);
  EXPECT_EQ(parse_size("0e4294967295"), 0U);
  EXPECT_EQ(parse_size("42"), 42U);
  EXPECT_EQ(parse_size("64Ki"), 65536U);
  EXPECT_EQ(parse_size("100M"), 100000000U);
  EXPECT_EQ(parse_size("1Gi"), 1073741824U);
  EXPECT_EQ(parse_size("3Ti"), 3298534883328U);
  EXPECT_EQ(parse_size("2k"), 2000U);
  EXPECT_EQ(parse_size("10GiB"), 10737418240U);
  EXPECT_EQ(parse_size("10GB"), 10000000000U);
  EXPECT_EQ(parse_size("7B"), 7U);
  EXPECT_EQ(parse_size("1e6"), 1000000U);
  EXPECT_EQ(parse_size("25e0"), 25U);
  EXPECT_EQ(parse_size("0e99"), 0U);
  for (const std::string_view text : {"",
                                      "Ki",
                                      "-1",
                                      "+1",
                                      "1.5M",
                                      "1 k",
                                      "1K",
                                      "1KB",
                                      "B",
                                      "1BB",
                                      "1e",
                                      "1e-3",
                                      "1e6k",
                                      "1e6B",
                                      "e6",
                                      "1e19",
                                      "1e4294967296",
                                      "9999999999999999999999",
                                      "9300000000G",
                                      "18446744073709551615"})
    expect_error(ErrorCode::invalid_argument, "size: ", [&] { parse_size(text); });
}

TEST(Numbers, ShortestForms) {
  EXPECT_EQ(format_number(0.1), "0.1");
  EXPECT_EQ(format_number(0.1F, Dtype::f32), "0.1");
  EXPECT_EQ(format_number(255, Dtype::u8), "255");
  EXPECT_EQ(format_number(1e15, Dtype::i64), "1000000000000000");
  EXPECT_EQ(format_number(0x1p63, Dtype::u64), "9223372036854775808");
  EXPECT_EQ(format_number(2.5, Dtype::i32), "2.5");
  EXPECT_EQ(format_number(NAN), "nan");
  EXPECT_EQ(format_number(-NAN, Dtype::f32), "nan");
  EXPECT_EQ(format_number(-INFINITY), "-inf");
  EXPECT_EQ(format_number(-0.0), "-0");
  EXPECT_EQ(format_number(to_double(Half{0x2e66}), Dtype::f16), "0.1");
  EXPECT_EQ(format_number(65504, Dtype::f16), "65500");
  for (unsigned bits = 0; bits < 0x7c00; bits += 7) {
    const Half half{static_cast<std::uint16_t>(bits)};
    EXPECT_EQ(rounded_to<Half>(std::stod(format_number(to_double(half), Dtype::f16))), half);
  }
}

TEST(Numbers, WholeOnesHaveNoExponent) {
  for (const std::uint64_t whole : {1ULL, 100000ULL, 1000000ULL, 12345678900000ULL, 1ULL << 53}) {
    EXPECT_EQ(format_number(static_cast<double>(whole)), std::to_string(whole));
    EXPECT_EQ(format_number(-static_cast<double>(whole)), "-" + std::to_string(whole));
  }
  EXPECT_EQ(format_number(1e10, Dtype::f32), "10000000000");
  EXPECT_EQ(format_number(16777216, Dtype::f32), "16777216");
  EXPECT_EQ(format_number(30000, Dtype::f16), "30000");
  EXPECT_EQ(format_number(1e-5), "1e-05");
  EXPECT_EQ(format_number(123456.5), "123456.5");
  // Beyond 2^53 they always have one.
  EXPECT_EQ(format_number(0x1p53 + 2), "9.007199254740994e+15");
  EXPECT_EQ(format_number(-1e22), "-1e+22");
  EXPECT_EQ(format_number(0x1p64), "1.8446744073709552e+19");
  std::uint64_t bits = 1;
  for (int i = 0; i < 20000; ++i) {
    bits = bits * 6364136223846793005U + 1442695040888963407U;
    double wide = 0;
    float narrow = 0;
    std::memcpy(&wide, &bits, sizeof wide);
    std::memcpy(&narrow, &bits, sizeof narrow);
    const double whole = std::trunc(std::ldexp(wide - std::trunc(wide), i % 60));
    for (const double value : {wide, whole, static_cast<double>(narrow)}) {
      if (!std::isfinite(value)) continue;
      EXPECT_EQ(std::strtod(format_number(value).c_str(), nullptr), value);
    }
    if (std::isfinite(narrow)) {
      const std::string text = format_number(static_cast<double>(narrow), Dtype::f32);
      EXPECT_EQ(std::strtof(text.c_str(), nullptr), narrow);
    }
  }
}

TEST(Output, AppearsWholeOrNotAtAll) {
  const Folder folder;
  {
    OutputFile file(folder / "a");
    file.write("hello");
    EXPECT_FALSE(std::filesystem::exists(folder / "a"));
    EXPECT_LE(folder.files(), 1U);  // none where files without a name can be made
  }
  EXPECT_EQ(folder.files(), 0U);
  OutputFile file(folder / "a");
  file.write("hello ");
  file.write(Bytes(200000, 'x'));
  OutputFile moved(std::move(file));
  moved.commit();
  EXPECT_EQ(slurp(folder / "a"), "hello " + Bytes(200000, 'x'));
  EXPECT_EQ(folder.files(), 1U);
  expect_error(ErrorCode::invalid_argument, "committed twice", [&] { moved.commit(); });
}

TEST(Output, FinishedFilesAppearByCommit) {
  const Folder folder;
  const std::string path = folder.write("a", "old");
  OutputFile file(path);
  file.write("new");
  file.finish();
  EXPECT_EQ(slurp(path), "old");
  file.write("er");
  file.finish();
  file.commit();
  EXPECT_EQ(slurp(path), "newer");
  expect_error(ErrorCode::invalid_argument, "finished after commit", [&] { file.finish(); });
  OutputFile full("/dev/full");
  full.write("x");
  expect_error(ErrorCode::io, "/dev/full: writing failed", [&] { full.finish(); });
  OutputFile dropped(path);
  dropped.write("x");
  dropped.finish();
  { const OutputFile gone(std::move(dropped)); }
  EXPECT_EQ(slurp(path), "newer");
  EXPECT_EQ(folder.files(), 1U);
}

TEST(Output, ReplacesAndKeepsModeAndLink) {
  const Folder folder;
  const std::string path = folder.write("a", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  std::filesystem::create_symlink("a", folder / "link");
  OutputFile file(folder / "link");
  file.write("new");
  EXPECT_EQ(slurp(path), "old");
  file.commit();
  EXPECT_EQ(slurp(path), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(Output, MakesTheTargetOfADanglingLink) {
  const Folder folder;
  std::filesystem::create_directory(folder / "there");
  std::filesystem::create_symlink("there/file", folder / "one");
  std::filesystem::create_symlink(folder / "one", folder / "two");
  OutputFile file(folder / "two");
  file.write("new");
  file.commit();
  EXPECT_EQ(slurp(folder / "there/file"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "one"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "two"));
  EXPECT_EQ(folder.files(), 3U);
  std::filesystem::create_symlink("loop", folder / "loop");
  expect_error(ErrorCode::io, "loop: ", [&] { OutputFile(folder / "loop").commit(); });
  std::filesystem::create_symlink("no/such", folder / "nowhere");
  expect_error(ErrorCode::io, "No such file", [&] { OutputFile(folder / "nowhere").commit(); });
}

TEST(Output, KeepsTheOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  const Folder folder;
  const std::string path = folder.write("a", "old");
  ASSERT_EQ(::chown(path.c_str(), 1234, 2345), 0);
  ASSERT_EQ(::chmod(path.c_str(), 02751), 0);
  OutputFile file(path);
  file.write("new");
  file.commit();
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 1234U);
  EXPECT_EQ(status.st_gid, 2345U);
  EXPECT_EQ(status.st_mode & 07777U, 02751U);
  EXPECT_EQ(slurp(path), "new");
}

// Leaves this process without linkat, as on a file system that cannot give a name to a file without one.
bool linkat_fails_from_now_on() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_linkat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{std::size(filter), filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(Output, WhereFilesWithoutANameCannotGetOne) {
  const Folder folder;
  const std::string fresh = folder / "fresh";
  const std::string replaced = folder.write("replaced", "before");
  ASSERT_EQ(::chmod(replaced.c_str(), 0640), 0);
  const Bytes content(300'000, 'm');
  const auto child = [&] {
    if (!linkat_fails_from_now_on()) return 2;
    for (const std::string& path : {fresh, replaced}) {
      OutputFile file(path);
      file.write(content);
      file.commit();
    }
    return 0;
  };
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    int status = 1;
    try {
      status = child();
    } catch (const Error&) {
      status = 3;
    }
    ::_exit(status);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "no seccomp";
  ASSERT_EQ(WEXITSTATUS(status), 0);
  for (const std::string& path : {fresh, replaced}) EXPECT_EQ(slurp(path), content);
  struct stat found {};
  ASSERT_EQ(::stat(replaced.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0640U);
  EXPECT_EQ(folder.files(), 2U);
}

TEST(Output, UmaskAndUnfinished) {
  const Folder folder;
  const mode_t before = ::umask(027);
  OutputFile(folder / "a").commit();
  ::umask(before);
  struct stat status {};
  ASSERT_EQ(::stat((folder / "a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
  OutputFile b(folder / "b");
  OutputFile c(folder / "c");
  const std::size_t files = folder.files();
  EXPECT_TRUE(files == 1 || files == 3) << files;  // those that are made have no name, or another one
  remove_unfinished();
  EXPECT_EQ(folder.files(), 1U);
}

TEST(Output, WhatCannotBeWritten) {
  const Folder folder;
  expect_error(ErrorCode::io, "is a directory", [&] { OutputFile file(folder / "."); });
  expect_error(ErrorCode::io, "No such file", [&] { OutputFile file(folder / "no/such"); });
  expect_error(ErrorCode::io, "/dev/full: writing failed: No space", [&] {
    OutputFile file("/dev/full");
    file.write("x");
    file.commit();
  });
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(Output, AClosedPipeIsAnErrorAndNoSignal) {
  const Folder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const int reader = ::open((folder / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
  OutputFile file(folder / "pipe");
  ::close(reader);
  expect_error(ErrorCode::io, "(EPIPE)", [&] { file.write(Bytes(100000, 'x')); });
}

TEST(WriteArray, RoundTrips) {
  const Folder folder;
  const std::vector<float> data = {0.1F, -2, 1e30F, INFINITY, NAN, -0.0F};
  for (const std::string name : {"a.npy", "a.txt", "a.csv", "a.bin"}) {
    write_array(folder / name, ArrayView(data));
    SourceOptions options;
    if (!name.ends_with(".npy")) options.dtype = Dtype::f32;
    if (name == "a.txt" || name == "a.csv") options.format = InputFormat::text;
    const auto source = open(folder / name, options);
    const auto back = values<float>(*source);
    ASSERT_EQ(back.size(), data.size()) << name;
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(back[i], data[i]) << name;
    EXPECT_TRUE(std::isnan(back[4]));
    EXPECT_TRUE(std::signbit(back[5]));
  }
  EXPECT_EQ(slurp(folder / "a.txt"), "0.1\n-2\n1e+30\ninf\nnan\n-0\n");
  const std::vector<std::uint64_t> shape = {2, 3};
  write_array(folder / "b.npy", ArrayView(data), shape);
  EXPECT_EQ(open(folder / "b.npy")->info().shape, shape);
  const std::vector<std::int8_t> small = {-128, 0, 127};
  write_array(folder / "c.txt", ArrayView(small));
  EXPECT_EQ(slurp(folder / "c.txt"), "-128\n0\n127\n");
  expect_error(ErrorCode::invalid_argument, "6 elements",
               [&] { write_array(folder / "d.npy", ArrayView(data), std::vector<std::uint64_t>{7}); });
}

TEST(Open, TellsByContent) {
  const Folder folder;
  const auto format = [&](const Bytes& bytes, std::optional<Dtype> dtype = {}) {
    SourceOptions options;
    options.dtype = dtype;
    return open(folder.write("file", bytes), options)->info().format;
  };
  EXPECT_EQ(format("P5 1 1 255 a"), "pnm");
  EXPECT_EQ(format("1 2 3\n"), "text");
  EXPECT_EQ(format("BMW 1\n"), "text");
  EXPECT_EQ(format("12\n34\n", Dtype::u8), "text");
  EXPECT_EQ(format("12\n34\n", Dtype::i32), "text");
  EXPECT_EQ(format("caf\xc3\xa9,na\xc3\xafve\n1,2\n", Dtype::f32), "text");
  EXPECT_EQ(format("\xe6\x9e\xa1\xe6\x9e\xa1\n1\n", Dtype::f32), "text");
  EXPECT_EQ(format("caf\xe9 1 2 3 4\n", Dtype::f32), "text");  // Latin-1
  EXPECT_EQ(format("\xe6\x9e\xe6\x9e\xe6\x9e 1\n", Dtype::u8), "raw");
  EXPECT_EQ(format("", Dtype::u8), "raw");
  expect_error(ErrorCode::io, "file: has no number", [&] { format(""); });
  EXPECT_EQ(format(Bytes("\0\1\2\3", 4), Dtype::f32), "raw");
  EXPECT_EQ(format(npy_header(Dtype::u8, {}) + "x"), "npy");
  for (const std::string name : {"a.png", "a.JPEG", "a.tif", "a.npy"}) {
    expect_error(ErrorCode::io, "is named as a", [&] { open(folder.write(name, "1 2 3\n")); });
    SourceOptions options;
    options.format = InputFormat::text;
    EXPECT_EQ(open(folder / name, options)->info().format, "text");
  }
  expect_error(ErrorCode::io, "is a GIF image", [&] { open(folder.write("b.png", "GIF89a")); });
  expect_error(ErrorCode::io, "--dtype", [&] { format(Bytes("\0\1\2\3", 4)); });
  expect_error(ErrorCode::io, "GIF", [&] { format("GIF89a"); });
  expect_error(ErrorCode::io, "cannot be opened", [&] { open(folder / "none"); });
  expect_error(ErrorCode::io, "is a directory", [&] { open(folder / "."); });
  expect_error(ErrorCode::invalid_argument, "auto, raw, text", [] { input_format_from_name("foo"); });
  EXPECT_EQ(input_format_from_name("npy"), InputFormat::npy);
}

// A pipe is read again from memory, then from a spool file, of which nothing remains.
TEST(Open, PipesAreSpooled) {
  const Folder folder;
  for (const std::size_t size : {10UL, 1048576UL, 5000001UL}) {
    Bytes bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 2654435761U >> 11);
    for (const bool keep : {true, false}) {
      std::array<int, 2> ends{};
      ASSERT_EQ(::pipe(ends.data()), 0);
      std::thread writer([&] {
        std::size_t done = 0;
        while (done < size)
          done += static_cast<std::size_t>(std::max<ssize_t>(0, ::write(ends[1], bytes.data() + done, size - done)));
        ::close(ends[1]);
      });
      SourceOptions options;
      options.dtype = Dtype::u8;
      options.format = InputFormat::raw;
      const auto source = open_input(Input{Reader("pipe", spooled_pipe(ends[0], "pipe", folder / "")), options});
      if (keep) source->keep_for_rewind();
      const std::vector<std::uint8_t> expected(bytes.begin(), bytes.end());
      EXPECT_EQ(values<std::uint8_t>(*source), expected);
      writer.join();
      EXPECT_EQ(folder.files(), 0U);
      if (keep) {
        source->rewind();
        EXPECT_EQ(values_in_pieces<std::uint8_t>(*source), expected);
      } else if (size > 1000000) {
        expect_error(ErrorCode::io, "cannot be read twice", [&] { source->rewind(); });
      }
    }
  }
}

}  // namespace
}  // namespace masu::io::test
