// SPDX-License-Identifier: Apache-2.0
// Every error code that the system's cl.h defines has its name.
#include "backends/opencl/api.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <string>

namespace masu::opencl {
namespace {

// "#define CL_NAME -30" and the like. Other macros with negative values are states and limits of types.
std::map<std::string, int> codes_of(const std::string& header) {
  static const std::regex define(R"(#define\s+(CL_\w+)\s+\(?(-\d+)\)?\s*(/[/*].*)?)");
  static const std::regex other("CL_BUILD_.*|CL_[A-Z]+_(MIN|MAX)\\w*|CL_PARTITION_BY_NAMES_LIST_END_\\w+");
  std::map<std::string, int> codes;
  std::ifstream file(header);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::smatch found;
    const bool code = std::regex_match(line, found, define);
    if (!code || (found[1] != "CL_BUILD_PROGRAM_FAILURE" && std::regex_match(found[1].str(), other))) continue;
    codes.emplace(found[1], std::stoi(found[2]));
  }
  return codes;
}

TEST(OpenClErrors, EveryCodeOfTheHeaderHasItsName) {
  const std::map<std::string, int> codes = codes_of("/usr/include/CL/cl.h");
  if (codes.empty()) GTEST_SKIP() << "no OpenCL headers";
  for (const auto& [name, code] : codes) EXPECT_EQ(error_name(code), name);
  EXPECT_GE(codes.size(), 60U);
}

TEST(OpenClErrors, CodesThatAreNotOfTheStandard) {
  EXPECT_EQ(error_name(CL_INVALID_ARG_SIZE), "CL_INVALID_ARG_SIZE");
  EXPECT_EQ(error_name(-1001), "CL_PLATFORM_NOT_FOUND_KHR");
  EXPECT_EQ(error_name(-123456), "OpenCL error -123456");
  EXPECT_EQ(error_code(-123456), ErrorCode::device_lost);
  EXPECT_EQ(error_code(CL_MEM_OBJECT_ALLOCATION_FAILURE), ErrorCode::out_of_memory);
}

TEST(BuildLog, LinesAreThoseOfTheDirectives) {
  const char* source = "int a;\n#line 41 \"my/file.cl\"\nfirst\nsecond\n#line 7 \"other.cl\"\nthird";
  EXPECT_EQ(with_presumed_lines("<kernel>:4:10: error: b\n<kernel>:6:1: note: c\n1 error", source),
            "my/file.cl:42:10: error: b\nother.cl:7:1: note: c\n1 error");
}

TEST(BuildLog, AnotherMarker) {
  EXPECT_EQ(with_presumed_lines("input.cl:2:3: warning: a\n<kernel>:2: b", "#line 1 \"x.cl\"\nfirst", "input.cl:"),
            "x.cl:1:3: warning: a\n<kernel>:2: b");
}

TEST(BuildLog, OtherTextStays) {
  EXPECT_EQ(with_presumed_lines("<kernel>:1:2: error", "a\nb"), "<kernel>:1:2: error");
  EXPECT_EQ(with_presumed_lines("<kernel>:x <kernel>:", "#line 5 \"f\"\n"), "<kernel>:x <kernel>:");
  EXPECT_EQ(with_presumed_lines("<kernel>:99999999999999999999:", "#line 5 \"f\"\n"), "<kernel>:99999999999999999999:");
  EXPECT_EQ(with_presumed_lines("", ""), "");
  EXPECT_EQ(with_presumed_lines("real.cl:3: error", "#line 9 \"f\"\n"), "real.cl:3: error");
}

TEST(BuildLog, NoiseIsLeftOut) {
  const std::string noise =
      "(): Warning: Function f is a kernel, so overriding noinline attribute. The function may be inlined when called.";
  EXPECT_EQ(without_noise(noise + "\n" + noise + "\n\n"), "");
  EXPECT_EQ(without_noise("a: error\n" + noise + "\n\nb\n"), "a: error\n\nb");
  EXPECT_EQ(without_noise("a\n\n"), "a");
  EXPECT_EQ(without_noise(noise), "");
  EXPECT_EQ(without_noise(""), "");
}

TEST(BuildLog, OfIntelOnlyWarningsStay) {
  const std::string before = "Compilation started\n";
  const std::string after =
      "Compilation done\nLinking started\nLinking done\nDevice build started\n"
      "Options used by backend compiler: -cl-kernel-arg-info\nDevice build done\n"
      "remark: <unknown>:0:0: Kernel was 16-way vectorized\nKernel \"f\" was successfully vectorized (16)\nDone.";
  const std::string warning = "f.cl:1:9: warning: unused variable 'Done.'\n    1 | int Done.;\n      |     ^";
  EXPECT_EQ(without_noise(before + after), "");
  EXPECT_EQ(without_noise(before + warning + "\n" + after), warning);
  EXPECT_EQ(without_noise("f.cl:1:1: error: Linking started\n"), "f.cl:1:1: error: Linking started");
}

}  // namespace
}  // namespace masu::opencl
