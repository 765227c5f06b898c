// SPDX-License-Identifier: Apache-2.0
// Numbers in text. Entries are taken from a window of the file, so memory does not depend on the length of a line.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "io/half.h"
#include "io/sources.h"
#include "io/text_fields.h"

namespace masu::io {
namespace {

// A decimal that is too large or too small for T: infinity or zero, as rounding has it.
template <class T>
T beyond_range(std::string_view text) noexcept {
  const bool negative = text.starts_with('-');
  std::int64_t magnitude = 0;  // decimal exponent of the first digit that is not 0
  bool point = false;
  bool digits = false;
  std::size_t i = negative ? 1 : 0;
  for (; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
    if (text[i] == '.') {
      point = true;
      continue;
    }
    digits = digits || text[i] != '0';
    if (digits && !point) ++magnitude;
    if (!digits && point) --magnitude;
  }
  std::int64_t exponent = 0;
  if (i < text.size()) {
    std::string_view rest = text.substr(i + 1);
    if (rest.starts_with('+')) rest.remove_prefix(1);
    if (std::from_chars(rest.data(), rest.data() + rest.size(), exponent).ec == std::errc::result_out_of_range)
      exponent = rest.starts_with('-') ? -(std::int64_t{1} << 40) : std::int64_t{1} << 40;
  }
  const T value = digits && magnitude + exponent > 0 ? std::numeric_limits<T>::infinity() : T{0};
  return negative ? -value : value;
}

template <class T>
bool parse_number(std::string_view text, T& value) noexcept {
  if constexpr (std::is_same_v<T, Half>) {
    double wide = 0;
    if (!parse_number(text, wide)) return false;
    value = to_half(wide);
    return true;
  } else {
    if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end != text.data() + text.size()) return false;
    if constexpr (std::is_floating_point_v<T>) {
      if (error == std::errc::result_out_of_range) value = beyond_range<T>(text);
      else if (std::isnan(value)) value = std::numeric_limits<T>::quiet_NaN();
      return error == std::errc() || error == std::errc::result_out_of_range;
    } else {
      return error == std::errc();
    }
  }
}

class TextSource final : public Source {
 public:
  explicit TextSource(Input input) : strict_(input.options.strict), fields_(std::move(input.reader), input.options) {
    info_.name = fields_.reader().name();
    info_.format = "text";
    info_.dtype = input.options.dtype.value_or(Dtype::f64);
    if (input.options.header) fields_.read_header();
    if (!input.options.column.empty()) column_ = fields_.find_column(input.options.column);
    start_ = fields_.mark();
  }

  [[nodiscard]] const SourceInfo& info() const noexcept override { return info_; }
  [[nodiscard]] std::uint64_t bad_lines() const noexcept override { return bad_; }
  void keep_for_rewind() override { keep_ = true; }
  void rewind() override {
    fields_.go_to(start_);
    found_ = false;
    bad_ = 0;
  }

  std::uint64_t read(void* target, std::uint64_t count) override {
    if (!started_) {
      started_ = true;
      if (!keep_) fields_.reader().forget();
    }
    return dispatch(info_.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      auto* out = static_cast<T*>(target);
      std::uint64_t done = 0;
      while (done < count && next(out[done])) ++done;
      return done;
    });
  }

 private:
  // The next readable entry.
  template <class T>
  bool next(T& value) {
    for (;;) {
      const Field field = fields_.next();
      switch (field.kind) {
        case Field::end: return false;
        case Field::line_end:
          if (column_ && field.index != 0 && !found_) bad("has no such column", field);
          found_ = false;
          continue;
        case Field::entry: break;
      }
      if (column_) {
        if (field.index != *column_) continue;
        found_ = true;
      }
      if (!field.too_long && parse_number(field.text, value)) return true;
      bad(field.text.empty() ? "is empty" : fmt::format("is not a number of dtype {}", to_string(info_.dtype)), field);
    }
  }

  void bad(std::string_view why, const Field& field) {
    if (strict_)
      fields_.reader().fail(fmt::format("text: line {}: the entry '{}' {}", field.line, printable(field.text), why));
    ++bad_;
  }

  SourceInfo info_;
  bool strict_;
  bool started_ = false;
  bool keep_ = false;
  bool found_ = false;  // the column, in this line
  std::uint64_t bad_ = 0;
  std::optional<std::uint64_t> column_;
  TextFields fields_;
  TextFields::Mark start_;
};

}  // namespace

std::unique_ptr<Source> open_text(Input input) {
  return std::make_unique<TextSource>(std::move(input));
}

}  // namespace masu::io
