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
      : strict_(input.options.strict),
        part_(input.options.parts > 1 || input.options.part > 0),
        told_(input.options.dtype),
        fields_(std::move(input.reader), input.options) {
    info_.name = fields_.reader().name();
    info_.format = "text";
    if (input.options.header) fields_.read_header();
    if (!input.options.column.empty()) column_ = fields_.find_column(input.options.column);
    column_name_ = input.options.column;
    if (part_) find_part(input.options);
    start_ = fields_.mark();
    if (told_) info_.dtype = *told_;
    else with_lines([&] { look(input.options); });
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
    std::uint64_t done = 0;
    with_lines([&] {
      dispatch(info_.dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        auto* out = static_cast<T*>(target);
        done = 0;
        while (done < count && next(out[done])) ++done;
      });
    });
    position_ += done;
    if (done < count && position_ == 0) refuse_nothing();
    return done;
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

  // The lines that begin in the part's bytes of what is behind the header.
  void find_part(const SourceOptions& options) {
    Reader& reader = fields_.reader();
    const std::optional<std::uint64_t> size = reader.size();
    if (!size) reader.fail("text is read in parts from a file only");
    const std::uint64_t begin = reader.position();
    const auto border = [&](std::uint64_t part) {
      __extension__ using Wide = unsigned __int128;
      return begin + static_cast<std::uint64_t>(Wide{*size - std::min(begin, *size)} * part / options.parts);
    };
    end_ = border(std::min(options.part, options.parts) + 1);
    fields_.go_to_line_at(border(std::min(options.part, options.parts)));
    lines_known_ = options.part == 0;
  }

  // A part does not know how many lines are in front of it until a message wants them: then all is done once more.
  template <class F>
  void with_lines(const F& work) {
    try {
      work();
    } catch (const Error&) {
      if (!part_ || std::exchange(lines_known_, true)) throw;
      start_.line = fields_.lines_before(start_.position) + 1;
      go_back();
      if (!told_) work();
      std::vector<std::byte> passed(1 << 16);
      while (read(passed.data(), passed.size() / size_of(info_.dtype)) != 0) {
      }
      throw;
    }
  }

  void go_back() {
    fields_.go_to(start_);
    between_ = true;
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
      if (end_ && between_ && fields_.mark().position >= *end_) return false;
      field = fields_.next();
      between_ = field.kind == Field::line_end;
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

  // A part may have no number.
  void refuse_nothing() const {
    if (part_) return;
    const std::string where = column_name_.empty() ? "" : fmt::format("column {} ", printable(column_name_));
    fail_io(info_.name, where + "has no number" + (first_bad_.empty() ? "" : "; " + first_bad_));
  }

  SourceInfo info_;
  bool strict_;
  bool part_;  // of the lines
  std::optional<Dtype> told_;
  bool started_ = false;
  bool keep_ = false;
  bool found_ = false;   // the column, in this line
  bool between_ = true;  // lines
  bool lines_known_ = true;
  std::optional<std::uint64_t> end_;  // of the part: no line begins there or behind
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
