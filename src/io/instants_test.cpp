// SPDX-License-Identifier: Apache-2.0
#include "io/instants.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace masu::io::test {
namespace {

// Day by day through the calendar, against counting.
TEST(Instants, DaysAreThoseOfTheCalendar) {
  constexpr unsigned lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  std::int64_t days = days_of({1, 1, 1});
  EXPECT_EQ(days_of({1970, 1, 1}), 0);
  EXPECT_EQ(days_of({2000, 3, 1}), 11017);
  for (std::int64_t year = 1; year <= 9999; ++year) {
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    for (unsigned month = 1; month <= 12; ++month) {
      const unsigned length = lengths[month - 1] + (month == 2 && leap ? 1 : 0);
      for (unsigned day = 1; day <= length; ++day, ++days) {
        ASSERT_EQ(days_of({year, month, day}), days);
        const Date date = date_of_days(days);
        ASSERT_TRUE(date.year == year && date.month == month && date.day == day) << days;
      }
    }
  }
}

std::string written(std::string_view text) {
  const auto found = parse_instant(text);
  return found ? instant_text(found->us, found->form) : "none";
}

TEST(Instants, AreReadAndWritten) {
  const std::pair<const char*, const char*> pairs[] = {
      {"2026-01-31", "2026-01-31"},
      {"2024-02-29", "2024-02-29"},
      {"2026-01-31T12:30", "2026-01-31T12:30:00Z"},
      {"2026-01-31 12:30:45", "2026-01-31T12:30:45Z"},
      {"2026-01-31t12:30:45z", "2026-01-31T12:30:45Z"},
      {"2026-01-31T12:30:45.123456Z", "2026-01-31T12:30:45.123456Z"},
      {"2026-01-31T12:30:45,5", "2026-01-31T12:30:45.500000Z"},
      {"2026-01-31T12:30:45.123456000", "2026-01-31T12:30:45.123456Z"},
      {"2026-01-31T00:30+02:00", "2026-01-30T22:30:00Z"},
      {"2026-01-31T23:30-0130", "2026-02-01T01:00:00Z"},
      {"2026-01-31T23:30+02", "2026-01-31T21:30:00Z"},
      {"1969-12-31T23:59:59.999999", "1969-12-31T23:59:59.999999Z"},
      {"0001-01-01", "0001-01-01"},
      {"9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"},
  };
  for (const auto& [text, expected] : pairs) {
    EXPECT_EQ(written(text), expected) << text;
    EXPECT_EQ(written(expected), expected);
  }
  EXPECT_EQ(instant_text(0, InstantForm::day), "1970-01-01");
  EXPECT_EQ(instant_text(-1, InstantForm::day), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(instant_text(second_us, InstantForm::day), "1970-01-01T00:00:01Z");
  EXPECT_EQ(instant_text(0, InstantForm::microsecond), "1970-01-01T00:00:00.000000Z");
}

TEST(Instants, FineOnes) {
  const std::tuple<const char*, int, int> fine[] = {{"1970-01-01T00:00:01.123456789", 1123456, 789},
                                                    {"1970-01-01T00:00:01.1234560010Z", 0, -1},
                                                    {"1970-01-01T00:00:01.1234567+00", 1123456, 700},
                                                    {"1969-12-31T23:59:59.999999999", -1, 999},
                                                    {"1970-01-01T00:00:01.5", 1500000, 0},
                                                    {"1970-01-01T00:00:01.", 0, -1},
                                                    {"1970-01-01", 0, 0}};
  for (const auto& [text, us, ns] : fine) {
    const auto found = parse_fine_instant(text);
    EXPECT_EQ(found ? found->ns : -1, ns) << text;
    if (found) EXPECT_EQ(found->us, us) << text;
  }
}

TEST(Instants, AllElseIsNone) {
  for (const char* text : {"",
                           "2026-01-31T12:30:45.123456789",
                           "2026-01-31T12:30:45.1234567Z",
                           "2026-01-31T12:30:45.12345600000000000000",
                           "2026",
                           "2026-01",
                           "2026-1-31",
                           "26-01-31",
                           "2026-02-30",
                           "2025-02-29",
                           "1900-02-29",
                           "2026-13-01",
                           "2026-00-01",
                           "2026-01-00",
                           "2026-01-32",
                           "0000-01-01",
                           "2026-01-31T",
                           "2026-01-31 ",
                           "2026-01-31T1:30",
                           "2026-01-31T24:00",
                           "2026-01-31T12",
                           "2026-01-31T12:60",
                           "2026-01-31T12:30:60",
                           "2026-01-31T12:30:",
                           "2026-01-31T12:30:45.",
                           "2026-01-31T12:30:45.1234567",
                           "2026-01-31T12:30:45.0000000000",
                           "2026-01-31T12:30:45.1x",
                           "2026-01-31Z",
                           "2026-01-31T12:30+",
                           "2026-01-31T12:30+2",
                           "2026-01-31T12:30+24:00",
                           "2026-01-31T12:30+02:60",
                           "2026-01-31T12:30ZZ",
                           "2026-01-31T12:30 Z",
                           "0001-01-01T00:00+00:01",
                           "9999-12-31T23:59-00:01",
                           "2026/01/31",
                           "31.01.2026",
                           "-2026-01-31",
                           "2026-01-31T12.30"}) {
    EXPECT_EQ(written(text), "none") << text;
  }
  EXPECT_EQ(written(std::string_view("2026-01-31\0", 11)), "none");
}

}  // namespace
}  // namespace masu::io::test
