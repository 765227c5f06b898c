// SPDX-License-Identifier: Apache-2.0
// Numbers in text. Entries are taken from a window of the file, so memory does not depend on the length of a line. With
// a dtype they are parsed as they are read; without one all are parsed first, since the last may decide what the first
// is.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/sources.h"
#include "io/text_column.h"
#include "io/text_fields.h"
#include "io/text_numbers.h"

namespace masu::io {
namespace {

constexpr std::uint64_t default_memory = std::uint64_t{1} << 30;

class TextSource final : public Source {
 public:
  explicit TextSource(Input input)
      : strict_(input.options.strict), told_(input.options.dtype), fields_(std::move(input.reader), input.options) {
    info_.name = fields_.reader().name();
    info_.format = "text";
    if (input.options.header) fields_.read_header();
    if (!input.options.column.empty()) column_ = fields_.find_column(input.options.column);
    column_name_ = input.options.column;
    start_ = fields_.mark();
    if (told_) info_.dtype = *told_;
    else look(input.options);
  }

  [[nodiscard]] const SourceInfo& info() const noexcept override { return info_; }
  [[nodiscard]] std::uint64_t bad_lines() const noexcept override { return bad_; }
  void keep_for_rewind() override { keep_ = true; }
  void rewind() override {
    position_ = 0;
    if (!kept()) go_back();
  }

  bool retype(Dtype dtype) override {
    if (told_ || (dtype != Dtype::i64 && dtype != Dtype::u64 && dtype != Dtype::f64)) return false;
    numbers_->retype(dtype);
    info_.dtype = dtype;
    return true;
  }

  std::uint64_t read(void* target, std::uint64_t count) override {
    if (kept()) {
      count = numbers_->read(position_, target, count);
      position_ += count;
      return count;
    }
    if (!started_) {
      started_ = true;
      if (!keep_) fields_.reader().forget();
    }
    return dispatch(info_.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      auto* out = static_cast<T*>(target);
      std::uint64_t done = 0;
      while (done < count && next(out[done])) ++done;
      position_ += done;
      if (done < count && position_ == 0) refuse_nothing();
      return done;
    });
  }

  std::optional<ArrayView> view(std::uint64_t count) override {
    const std::uint64_t* words = kept() ? numbers_->at(position_) : nullptr;
    if (words == nullptr) return std::nullopt;
    count = std::min(count, numbers_->count() - position_);
    position_ += count;
    return ArrayView(info_.dtype, words, count);
  }

 private:
  [[nodiscard]] bool kept() const noexcept { return numbers_ && numbers_->kept(); }

  void go_back() {
    fields_.go_to(start_);
    found_ = false;
    bad_ = 0;
    first_bad_.clear();
  }

  // Parses all to know the dtype. What can be read again need not be kept whole.
  void look(const SourceOptions& options) {
    Reader& reader = fields_.reader();
    const bool again = reader.size().has_value();
    if (!again) reader.forget();
    numbers_.emplace(info_.name, options.tmpdir, options.memory != 0 ? options.memory : default_memory, !again);
    Field field;
    while (next_entry(field)) {
      const TextNumber number = field.too_long ? TextNumber() : parse_any_number(field.text);
      if (number.kind == TextNumber::no_number) bad("is not a number", field);
      else numbers_->add(number, field);
    }
    numbers_->end();
    if (numbers_->count() == 0) refuse_nothing();
    info_.dtype = numbers_->dtype();
    info_.count = numbers_->count();
    if (!kept()) go_back();
  }

  // The next entry that is of the column.
  bool next_entry(Field& field) {
    for (;;) {
      field = fields_.next();
      switch (field.kind) {
        case Field::end: return false;
        case Field::line_end:
          if (column_ && field.index != 0 && !found_) bad("has no such column", field);
          found_ = false;
          continue;
        case Field::entry: break;
      }
      if (!column_) return true;
      if (field.index != *column_) continue;
      found_ = true;
      return true;
    }
  }

  // The next number.
  template <class T>
  bool next(T& value) {
    Field field;
    while (next_entry(field)) {
      const Fit fit = field.too_long ? Fit::no_number : parse_number(field.text, value);
      if (fit == Fit::number) return true;
      if (fit == Fit::misfit)
        fields_.reader().fail(
            fmt::format("line {}: {} does not fit {}", field.line, printable(field.text), to_string(info_.dtype)));
      bad("is not a number", field);
    }
    return false;
  }

  void bad(std::string_view why, const Field& field) {
    const auto what = [&] {
      return fmt::format("line {}: the entry '{}' {}", field.line, printable(field.text),
                         field.kind == Field::entry && field.text.empty() ? "is empty" : why);
    };
    if (strict_) fields_.reader().fail(what());
    if (bad_++ == 0) first_bad_ = what();
  }

  [[noreturn]] void refuse_nothing() const {
    const std::string where = column_name_.empty() ? "" : fmt::format("column {} ", printable(column_name_));
    fail_io(info_.name, where + "has no number" + (first_bad_.empty() ? "" : "; " + first_bad_));
  }

  SourceInfo info_;
  bool strict_;
  std::optional<Dtype> told_;
  bool started_ = false;
  bool keep_ = false;
  bool found_ = false;  // the column, in this line
  std::uint64_t bad_ = 0;
  std::string first_bad_;
  std::uint64_t position_ = 0;  // in elements
  std::optional<std::uint64_t> column_;
  std::string column_name_;
  TextFields fields_;
  TextFields::Mark start_;
  std::optional<TextColumn> numbers_;  // without a dtype
};

}  // namespace

std::unique_ptr<Source> open_text(Input input) {
  return std::make_unique<TextSource>(std::move(input));
}

}  // namespace masu::io
