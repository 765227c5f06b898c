// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <masu/error.h>

// Expects masu::Error with a code and a text in its message.
#define MASU_EXPECT_ERROR(statement, expected_code, text)      \
  try {                                                        \
    statement;                                                 \
    ADD_FAILURE() << "no error from " #statement;              \
  } catch (const ::masu::Error& error) {                       \
    EXPECT_EQ(error.code(), ::masu::ErrorCode::expected_code); \
    EXPECT_THAT(error.what(), ::testing::HasSubstr(text));     \
  }                                                            \
  static_assert(true)
