// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/driver_api.h"

#include <gtest/gtest.h>

namespace masu::cuda {
namespace {

TEST(CudaErrors, TheDriverNamesThem) {
  Driver driver;
  driver.get_error_name = [](CUresult, const char** name) -> CUresult {
    *name = "CUDA_ERROR_OF_TOMORROW";
    return success;
  };
  driver.get_error_string = [](CUresult, const char** text) -> CUresult {
    *text = "it broke";
    return success;
  };
  EXPECT_EQ(error_text(driver, 12345), "it broke (CUDA_ERROR_OF_TOMORROW, 12345)");
}

TEST(CudaErrors, WhereTheDriverDoesNotTell) {
  Driver silent;
  silent.get_error_name = [](CUresult, const char**) -> CUresult { return error_invalid_value; };
  silent.get_error_string = [](CUresult, const char**) -> CUresult { return error_invalid_value; };
  EXPECT_EQ(error_text(silent, 700), "unknown error (CUDA error, 700)");
  EXPECT_EQ(error_text(silent, 34), "unknown error (CUDA_ERROR_STUB_LIBRARY, 34)");
}

}  // namespace
}  // namespace masu::cuda
