// SPDX-License-Identifier: Apache-2.0
// Every result of the installed CUDA and NVRTC headers has its name, whether or not a driver is there to ask.
#include "backends/cuda/error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>

namespace masu::cuda {
namespace {

// The constants of the enumeration that ends with `end`; empty where the header is absent.
std::map<std::string, int> constants(const std::string& header, const std::string& end, const std::string& prefix) {
  constexpr std::array<const char*, 3> folders{"/usr/local/cuda/include/", "/usr/local/include/", "/usr/include/"};
  std::map<std::string, int> result;
  for (const char* folder : folders) {
    std::ifstream file(folder + header);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::size_t last = text.find(end);
    if (last == std::string::npos) continue;
    const std::string body = text.substr(0, last).substr(text.rfind("typedef enum", last));
    const std::regex constant(prefix + R"((\w+)\s*=\s*(\d+))");
    for (auto it = std::sregex_iterator(body.begin(), body.end(), constant); it != std::sregex_iterator(); ++it) {
      result.emplace(prefix + (*it)[1].str(), std::stoi((*it)[2]));
    }
    break;
  }
  return result;
}

TEST(CudaErrors, EveryResultOfTheHeaderHasItsName) {
  const auto known = constants("cuda.h", "} CUresult;", "CUDA_");
  if (known.empty()) GTEST_SKIP() << "no CUDA toolkit";
  EXPECT_GE(known.size(), 60U);
  for (const auto& [name, code] : known) EXPECT_EQ(error_name(code), name);
}

TEST(CudaErrors, EveryResultOfNvrtcHasItsName) {
  const auto known = constants("nvrtc.h", "} nvrtcResult;", "NVRTC_");
  if (known.empty()) GTEST_SKIP() << "no CUDA toolkit";
  EXPECT_GE(known.size(), 11U);
  for (const auto& [name, code] : known) EXPECT_EQ(nvrtc_error_name(code), name);
}

TEST(CudaErrors, TheNameIsThereWhenTheDriverDoesNotTell) {
  Driver silent;
  silent.get_error_name = [](CUresult, const char**) -> CUresult { return error_invalid_value; };
  silent.get_error_string = [](CUresult, const char**) -> CUresult { return error_invalid_value; };
  EXPECT_EQ(error_text(silent, 700), "unknown error (CUDA_ERROR_ILLEGAL_ADDRESS, 700)");
  EXPECT_EQ(error_text(silent, 12345), "unknown error (CUDA error, 12345)");
  silent.get_error_name = [](CUresult, const char** name) -> CUresult {
    *name = "CUDA_ERROR_OF_TOMORROW";
    return success;
  };
  EXPECT_EQ(error_text(silent, 12345), "unknown error (CUDA_ERROR_OF_TOMORROW, 12345)");
}

}  // namespace
}  // namespace masu::cuda
