// SPDX-License-Identifier: Apache-2.0
// Dates and times of ISO 8601 as instants: microseconds since 1970-01-01T00:00Z, in the Gregorian calendar also before
// it was made, without leap seconds.
#pragma once

#include <masu/io.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace masu::io {

inline constexpr std::int64_t second_us = 1'000'000;
inline constexpr std::int64_t minute_us = 60 * second_us;
inline constexpr std::int64_t hour_us = 60 * minute_us;
inline constexpr std::int64_t day_us = 24 * hour_us;

struct Date {
  std::int64_t year = 1970;  // 1 to 9999
  unsigned month = 1;        // 1 to 12
  unsigned day = 1;          // 1 to 31
};

// Days since 1970-01-01.
std::int64_t days_of(const Date& date) noexcept;
Date date_of_days(std::int64_t days) noexcept;

// The finest part that is written.
enum class InstantForm : std::uint8_t { day, second, microsecond };

struct Instant {
  std::int64_t us = 0;
  InstantForm form = InstantForm::day;  // that it was written in; minutes are seconds
  std::uint16_t ns = 0;                 // what the microseconds leave, up to 999
};

// 2026-01-31, 2026-01-31T12:30, …:45, …:45.123456; a blank or t in place of T; Z, z, +02:00, +0200 or +02 after a time
// say the zone, else it is UTC. Nothing for all else: a day or an hour that there is not, a year beyond 1 to 9999 in
// UTC, a fraction that microseconds do not hold. White space around it must be gone.
std::optional<Instant> parse_instant(std::string_view text) noexcept;
// The same with a fraction of up to nine digits.
std::optional<Instant> parse_fine_instant(std::string_view text) noexcept;

// 2026-01-31, or 2026-01-31T12:30:45Z, or with six decimals: at least in this form, finer where the instant is.
std::string instant_text(std::int64_t us, InstantForm least);

// The texts of instants at least in this form.
std::shared_ptr<const ValueNames> names_of_instants(InstantForm least);

}  // namespace masu::io
