// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel_source.h"

#include "expect_error.h"
#include "temporary_directory.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

namespace masu::runtime {
namespace {

constexpr const char* prelude = "src/backends/opencl/prelude.cl";

TEST(KernelSource, EmbeddedFilesAreTheFilesOfTheTreeWithoutCommentsAndIndents) {
  for (const EmbeddedFile& file : embedded_files()) {
    std::ifstream stream(std::string(MASU_SOURCE_DIR) + "/" + std::string(file.path), std::ios::binary);
    std::string text;
    for (std::string line; std::getline(stream, line); text += '\n') {
      const std::size_t begin = line.find_first_not_of(" \t");
      if (begin == std::string::npos || line.compare(begin, 2, "//") == 0) continue;
      line.erase(0, begin);
      const std::size_t end = line.find_last_not_of(" \t", line.size() - 2);  // one blank is left before a backslash
      if (line.back() == '\\' && end + 2 < line.size()) line.replace(end + 1, std::string::npos, " \\");
      text += line;
    }
    EXPECT_EQ(kernel_text(file.path, ""), text) << file.path;
  }
}

TEST(KernelSource, ReadsFromADirectoryWhileDeveloping) {
  const test::TemporaryDirectory directory;
  MASU_EXPECT_ERROR(kernel_text(prelude, directory.path().string()), io, "prelude.cl");
  std::filesystem::create_directories(directory.path() / "src/backends/opencl");
  std::ofstream(directory.path() / prelude) << "// changed\n";
  EXPECT_EQ(kernel_text(prelude, directory.path().string()), "// changed\n");
}

TEST(KernelSource, UnknownFilesAreRefused) {
  MASU_EXPECT_ERROR(kernel_text("src/none.cl"), invalid_argument, "src/none.cl");
  MASU_EXPECT_ERROR(kernel_text("../../etc/passwd"), invalid_argument, "passwd");
}

TEST(KernelSource, OwnProgramsAreAssembledInOrder) {
  const Define defines[] = {{"A", "1"}, {"B", "x y"}};
  const std::string head = own_program_text("first", prelude, defines);
  EXPECT_EQ(head,
            "first\n#define A 1\n#define B x y\n#line 1 \"" + std::string(prelude) + "\"\n" + kernel_text(prelude));
  EXPECT_TRUE(own_program_text("", prelude, {}).starts_with("#line 1"));
}

TEST(KernelSource, OneKernelIsLeft) {
  const std::string text = "int f();\n__kernel void a(int x) {}\n__kernel MASU_WORK_GROUP(4) void ab(\n  int y) {}\n";
  EXPECT_EQ(with_kernel_alone(text, "ab"),
            "int f();\nMASU_LEFT_OUT void a(int x) {}\n__kernel MASU_WORK_GROUP(4) void ab(\n  int y) {}\n");
  EXPECT_EQ(with_kernel_alone("no kernels", "a"), "no kernels");
}

TEST(KernelSource, DefinesHaveNamesAndValues) {
  const Define defines[] = {{"A", true}, {"B", -7}, {"C", ~std::uint64_t{0}}, {"D", "x"}, {"E", ""}};
  std::string text;
  for (const Define& define : defines) text.append(define.name()).append("=").append(define.value()).append(" ");
  EXPECT_EQ(text, "A=1 B=-7 C=18446744073709551615 D=x E= ");
  const std::string longest(90, 'v');
  EXPECT_EQ(Define("NAME", longest).value(), longest);
  // Behind each other in memory of just their sizes.
  std::array<char, 2 * Define::most_image> image{};
  char* const middle = Define("NAME", "value").image(image.data());
  char* const end = Define("NAME", longest).image(middle);
  EXPECT_EQ(std::string_view(image.data(), middle), std::string_view("NAMEvalue\4\11"));
  EXPECT_EQ(std::string_view(middle, end), "NAME" + longest + "\4\136");
  MASU_EXPECT_ERROR(Define("NAMES", longest), invalid_argument, "at most 94 bytes");
  MASU_EXPECT_ERROR(Define(longest, 1), invalid_argument, "at most 94 bytes");
}

}  // namespace
}  // namespace masu::runtime
