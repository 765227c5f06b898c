// SPDX-License-Identifier: Apache-2.0
#include "io/instants.h"

#include <fmt/format.h>
#include <algorithm>

namespace masu::io {
namespace {

constexpr std::int64_t days_of_400_years = 146097;
constexpr std::int64_t days_to_1970 = 719468;  // from 0000-03-01
constexpr std::int64_t last_year = 9999;
constexpr std::size_t most_decimals = 9;

constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept {
  return a / b - (a % b < 0 ? 1 : 0);
}

constexpr bool is_leap(std::int64_t year) noexcept {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

constexpr unsigned days_in(std::int64_t year, unsigned month) noexcept {
  if (month == 2) return is_leap(year) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

// Takes parts of a text from its beginning; once one is not there, none is.
class Cutter {
 public:
  explicit Cutter(std::string_view text) : text_(text) {}
  [[nodiscard]] bool ended() const noexcept { return text_.empty(); }
  [[nodiscard]] bool good() const noexcept { return good_; }
  [[nodiscard]] bool digit_follows() const noexcept {
    return !text_.empty() && text_.front() >= '0' && text_.front() <= '9';
  }
  // As many digits as that.
  std::int64_t number(std::size_t digits, std::int64_t least, std::int64_t most) noexcept {
    std::int64_t value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (!digit_follows()) good_ = false;
      if (!good_) return 0;
      value = value * 10 + (text_.front() - '0');
      text_.remove_prefix(1);
    }
    good_ = good_ && value >= least && value <= most;
    return value;
  }
  // One of these characters, if it follows.
  char take(std::string_view any_of) noexcept {
    if (text_.empty() || any_of.find(text_.front()) == std::string_view::npos) return '\0';
    const char found = text_.front();
    text_.remove_prefix(1);
    return found;
  }
  void need(std::string_view any_of) noexcept { good_ = take(any_of) != '\0' && good_; }
  void refuse() noexcept { good_ = false; }

 private:
  std::string_view text_;
  bool good_ = true;
};

std::int64_t nanoseconds(Cutter& cut) noexcept {
  std::int64_t value = 0;
  std::size_t digits = 0;
  for (; digits < most_decimals && cut.digit_follows(); ++digits) value = value * 10 + cut.number(1, 0, 9);
  if (digits == 0) cut.refuse();
  for (; digits < most_decimals; ++digits) value *= 10;
  return value;
}

// How far local time is ahead of UTC.
std::int64_t zone(Cutter& cut) noexcept {
  if (cut.ended() || cut.take("Zz") != '\0') return 0;
  const char sign = cut.take("+-");
  if (sign == '\0') cut.refuse();
  std::int64_t ahead = cut.number(2, 0, 23) * hour_us;
  if (!cut.ended()) {
    (void)cut.take(":");
    ahead += cut.number(2, 0, 59) * minute_us;
  }
  return sign == '-' ? -ahead : ahead;
}

}  // namespace

// Years begin in March here, so that a leap day is the last of its year.
std::int64_t days_of(const Date& date) noexcept {
  const std::int64_t year = date.year - (date.month <= 2 ? 1 : 0);
  const std::int64_t cycle = floor_div(year, 400);
  const std::int64_t in_cycle = year - cycle * 400;
  const std::int64_t month = (date.month + 9) % 12;  // from March
  const std::int64_t in_year = (153 * month + 2) / 5 + date.day - 1;
  return cycle * days_of_400_years + in_cycle * 365 + in_cycle / 4 - in_cycle / 100 + in_year - days_to_1970;
}

Date date_of_days(std::int64_t days) noexcept {
  days += days_to_1970;
  const std::int64_t cycle = floor_div(days, days_of_400_years);
  const std::int64_t in_cycle = days - cycle * days_of_400_years;
  const std::int64_t year = (in_cycle - in_cycle / 1460 + in_cycle / 36524 - in_cycle / 146096) / 365;
  const std::int64_t in_year = in_cycle - (year * 365 + year / 4 - year / 100);
  const std::int64_t month = (5 * in_year + 2) / 153;
  const std::int64_t day = in_year - (153 * month + 2) / 5 + 1;
  return {cycle * 400 + year + (month >= 10 ? 1 : 0), static_cast<unsigned>(month < 10 ? month + 3 : month - 9),
          static_cast<unsigned>(day)};
}

std::optional<Instant> parse_instant(std::string_view text) noexcept {
  const std::optional<Instant> instant = parse_fine_instant(text);
  return instant && instant->ns != 0 ? std::nullopt : instant;
}

std::optional<Instant> parse_fine_instant(std::string_view text) noexcept {
  Cutter cut(text);
  Date date;
  Instant instant;
  date.year = cut.number(4, 1, last_year);
  cut.need("-");
  date.month = static_cast<unsigned>(cut.number(2, 1, 12));
  cut.need("-");
  date.day = static_cast<unsigned>(cut.number(2, 1, 31));
  if (!cut.good() || date.day > days_in(date.year, date.month)) return std::nullopt;
  instant.us = days_of(date) * day_us;
  if (cut.ended()) return instant;
  instant.form = InstantForm::second;
  cut.need("Tt ");
  instant.us += cut.number(2, 0, 23) * hour_us;
  cut.need(":");
  instant.us += cut.number(2, 0, 59) * minute_us;
  if (cut.take(":") != '\0') {
    instant.us += cut.number(2, 0, 59) * second_us;
    if (cut.take(".,") != '\0') {
      const std::int64_t ns = nanoseconds(cut);
      instant.us += ns / 1000;
      instant.ns = static_cast<std::uint16_t>(ns % 1000);
      instant.form = InstantForm::microsecond;
    }
  }
  instant.us -= zone(cut);
  if (!cut.good() || !cut.ended()) return std::nullopt;
  constexpr Date first{1, 1, 1};
  constexpr Date after{last_year + 1, 1, 1};
  if (instant.us < days_of(first) * day_us || instant.us >= days_of(after) * day_us) return std::nullopt;
  return instant;
}

std::string instant_text(std::int64_t us, InstantForm least) {
  const std::int64_t days = floor_div(us, day_us);
  const std::int64_t in_day = us - days * day_us;
  const Date date = date_of_days(days);
  InstantForm form = std::max(least, in_day == 0 ? InstantForm::day : InstantForm::second);
  if (in_day % second_us != 0) form = InstantForm::microsecond;
  std::string text = fmt::format("{:04}-{:02}-{:02}", date.year, date.month, date.day);
  if (form == InstantForm::day) return text;
  text += fmt::format("T{:02}:{:02}:{:02}", in_day / hour_us, in_day / minute_us % 60, in_day / second_us % 60);
  if (form == InstantForm::microsecond) text += fmt::format(".{:06}", in_day % second_us);
  return text + "Z";
}

}  // namespace masu::io
