// SPDX-License-Identifier: Apache-2.0
// Numbers in text. With a dtype they are parsed as they are read. Without one all are parsed first, since the last
// number may decide the dtype.
#include "io/blocks.h"
#include "io/fields.h"
#include "io/numbers.h"
#include "io/reader.h"
#include "io/sources.h"
#include "io/text_column.h"

#include <fmt/format.h>
#include <masu/dtype.h>
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::io {
namespace {

constexpr std::uint64_t default_memory = std::uint64_t{1} << 30;
constexpr std::uint64_t all = ~std::uint64_t{0};

class TextSource final : public Source {
 public:
  explicit TextSource(Input input)
      : options_(input.options),
        part_(options_.parts > 1 || options_.part > 0),
        fields_(std::move(input.reader), options_),
        blocks_(input.block_bytes, memory()),
        gaps_(options_.tmpdir, memory()) {
    info_.name = fields_.reader().name();
    info_.format = "text";
    first_ = fields_.mark();
    if (options_.header) fields_.read_header();
    if (!options_.column.empty()) column_ = fields_.find_column(options_.column);
    may_be_pairs_ = !options_.header && !column_ && fields_.delimiter_decided() && fields_.delimiter() == ',' &&
                    options_.decimal.empty();
    if (options_.one_column && !column_ && fields_.has_columns()) fields_.refuse_columns();
    if (part_) lines_known_ = fields_.take_part(options_.part, options_.parts);
    start_ = fields_.mark();
    limit_ = fields_.limit();
    cut_ = LineCut(fields_, options_, column_);
    begin_pass();
    if (options_.dtype) info_.dtype = *options_.dtype;
    else with_lines([&] { look(); });
  }

  [[nodiscard]] const SourceInfo& info() const noexcept override { return info_; }
  [[nodiscard]] std::uint64_t bad_lines() const noexcept override { return left_out_.all(); }
  [[nodiscard]] TextReport report() const override {
    TextReport report;
    report.left_out = left_out_.kinds;
    report.places = parsed_ + missing_;
    report.lines = lines_;
    report.ragged_line = column_ ? 0 : ragged_line_;
    report.columns = column_ ? 1 : options_.header ? fields_.names() : ragged_line_ != 0 && !part_ ? 0 : columns_;
    report.rows = column_ || (report.columns == 1 && report.ragged_line == 0) || lines_ == 0;
    report.begin_line = start_.line;
    report.end_line = end_line_;
    report.lines_known = lines_known_;
    report.comment_lines = fields_.comment_lines();
    report.row_names = fields_.row_names();
    report.texts = options_.entries == Entries::any;
    report.delimiter = fields_.delimiter();
    report.how_cut = fields_.how_cut();
    return report;
  }
  void to_places(std::span<std::uint64_t> indices) override { gaps_.to_places(indices); }
  std::uint64_t gaps(std::uint64_t first, std::span<Gap> target) override { return gaps_.read(first, target); }
  void keep_for_rewind() override { keep_ = true; }
  void rewind() override {
    position_ = 0;
    if (!kept()) go_back();
  }

  bool retype(Dtype dtype) override {
    const FloatingPointScope usual;
    if (options_.dtype || (dtype != Dtype::i64 && dtype != Dtype::u64 && dtype != Dtype::f64)) return false;
    numbers_->retype(dtype);
    info_.dtype = dtype;
    return true;
  }

  std::uint64_t read(void* target, std::uint64_t count) override {
    const FloatingPointScope usual;
    if (kept()) {
      count = numbers_->read(position_, target, count);
      position_ += count;
      return count;
    }
    if (!started_) {
      started_ = true;
      if (!keep_) fields_.reader().forget();
    }
    cut_.dtype = info_.dtype;
    std::uint64_t done = 0;
    with_lines([&] {
      dispatch(info_.dtype, [&]<class T>(TypeTag<T>) {
        auto* out = static_cast<T*>(target);
        done = 0;
        while (done < count) {
          if (const LineRun* run = next_run()) {
            const std::uint64_t part = std::min(count - done, run->count - run_done_);
            std::memcpy(out + done, run->values + run_done_ * sizeof(T), part * sizeof(T));
            done += part;
            pass_run(*run, part);
          } else if (next(out[done])) {
            ++done;
          } else if (!paused()) {
            break;
          }
        }
      });
    });
    position_ += done;
    if (numbers_ && (position_ > numbers_->count() || (done < count && position_ < numbers_->count()))) {
      fail_io(info_.name, "the file changed while it was read: it had {} numbers", numbers_->count());
    }
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
  // An entry of the current line after a header; its text is in held_text_.
  struct Held {
    Field field;
    std::size_t begin = 0;
    std::size_t size = 0;
  };

  [[nodiscard]] bool kept() const noexcept { return numbers_ && numbers_->kept(); }
  [[nodiscard]] std::uint64_t memory() const noexcept {
    return options_.memory != 0 ? options_.memory : default_memory;
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
      if (!options_.dtype) work();
      std::vector<std::byte> passed(1 << 16);
      while (read(passed.data(), passed.size() / size_of(info_.dtype)) != 0) {
      }
      throw;
    }
  }

  void go_back() {
    fields_.go_to(start_);
    begin_pass();
  }
  void begin_pass() {
    blocks_.clear();
    run_done_ = 0;
    one_by_one_until(cut_.clear() ? 0 : all);
    found_ = false;
    left_out_ = {};
    parsed_ = missing_ = lines_ = 0;
    pairs_ = may_be_pairs_;
    held_.clear();
    served_ = 0;
    gaps_.clear();
  }

  // Parses all to know the dtype. What can be read again need not be kept whole.
  void look() {
    Reader& reader = fields_.reader();
    const bool again = reader.size().has_value();
    if (!again) reader.forget();
    cut_.dtype.reset();
    numbers_.emplace(info_.name, options_.tmpdir, memory(), !again);
    Field field;
    for (;;) {
      if (const LineRun* run = next_run()) {
        if (numbers_->add(*run, fields_.mark().line)) pass_run(*run, run->count);
        else one_by_one_until(run->end);
        continue;
      }
      if (!next_entry(field)) {
        if (paused()) continue;
        break;
      }
      const TextNumber number = field.too_long || field.odd ? TextNumber() : parse_any_number(number_text(field.text));
      if (number.kind == TextNumber::no_number) {
        bad_entry(field);
        continue;
      }
      numbers_->add(number, field);
      ++parsed_;
    }
    numbers_->end();
    blocks_.release();
    if (numbers_->count() == 0) refuse_nothing();
    info_.dtype = numbers_->dtype();
    info_.count = numbers_->count();
    if (!kept()) go_back();
  }

  // The numbers that come next, if threads have parsed them; the first run_done_ are passed. next_entry() takes others.
  const LineRun* next_run() {
    if (run_ != nullptr) return run_;
    while (until_ != all && fields_.between_lines() && served_ == held_.size()) {
      const TextFields::Mark here = fields_.mark();
      if (here.position < until_) return nullptr;
      if (pairs_ || (cut_.numbers == 0 && columns_ == 0)) {
        one_by_one_until(here.position + 1);
        return nullptr;
      }
      const LineRun* run = blocks_.at(here.position);
      if (run == nullptr) {
        fields_.go_to(here);
        cut_.columns = columns_;
        const LineBlocks::Found found = blocks_.read(fields_.reader(), cut_, limit_);
        if (options_.reading && !cut_.dtype) options_.reading(here.position, fields_.reader().size().value_or(0));
        if (found != LineBlocks::Found::lines)
          one_by_one_until(found == LineBlocks::Found::rest ? all : here.position + 1);
      } else if (run->plain && run->begin == here.position) {
        return run_ = run;
      } else {
        one_by_one_until(run->end);
      }
    }
    return nullptr;
  }
  void pass_run(const LineRun& run, std::uint64_t numbers) {
    parsed_ += numbers;
    run_done_ += numbers;
    if (run_done_ != run.count) return;
    run_done_ = 0;
    run_ = nullptr;
    TextFields::Mark mark = fields_.mark();
    if (ragged_line_ == 0 && run.ragged != LineRun::none) ragged_line_ = mark.line + run.ragged;
    lines_ += run.filled;
    mark.position = run.end;
    mark.line += run.lines;
    fields_.go_to(mark);
  }
  void one_by_one_until(std::uint64_t position) {
    run_ = nullptr;
    until_ = position;
    fields_.set_limit(std::min(position, limit_));
  }
  // Whether next_entry() ended where parsed numbers may follow.
  [[nodiscard]] bool paused() const noexcept { return until_ != all && fields_.mark().position >= until_; }

  // The next entry that should be a number.
  bool next_entry(Field& field) {
    for (;;) {
      if (options_.header) {
        while (served_ == held_.size()) {
          if (!hold_line()) return ended();
        }
        const Held& held = held_[served_++];
        field = held.field;
        field.text = std::string_view(held_text_).substr(held.begin, held.size);
        return true;
      }
      if (!fields_.next(field)) return ended();
      if (!column_) {
        if (pairs_) look_at_pair(field);
        if (field.last) end_line(field);
        return true;
      }
      const bool is_it = field.index == *column_;
      found_ = found_ || is_it;
      if (field.last) {
        end_line(field);
        if (!std::exchange(found_, false)) {
          bad(LeftOut::no_column, field.line, 1, [&] { return no_column(field.line, field.index + 1, *column_ + 1); });
        }
      }
      if (is_it) return true;
    }
  }

  void look_at_pair(const Field& field) {
    pairs_ = is_of_pair(field);
    if (!pairs_ && options_.one_column && columns_ == 2) fields_.refuse_columns();
  }

  bool ended() {
    if (paused()) return false;
    end_line_ = fields_.mark().line;
    fields_.check_limit();
    if (pairs_ && lines_ != 0 && (!part_ || all_are_pairs())) {
      fields_.reader().fail(
          "each line is two whole numbers with a comma between: give --decimal , if it is a decimal mark, or "
          "--delimiter comma if it separates");
    }
    return false;
  }

  void end_line(const Field& field) {
    ++lines_;
    if (columns_ == field.index + 1) return;
    if (columns_ == 0) columns_ = field.index + 1;
    else if (ragged_line_ == 0) ragged_line_ = field.line;
  }

  // Whether the lines of all parts may be numbers with a decimal comma.
  bool all_are_pairs() {
    const TextFields::Mark here = fields_.mark();
    fields_.go_to(first_);
    fields_.set_limit(~std::uint64_t{0});
    Field field;
    bool pairs = true;
    while (pairs && fields_.next(field)) pairs = is_of_pair(field);
    fields_.go_to(here);
    fields_.set_limit(limit_);
    return pairs;
  }

  // Reads the next line after the header. An entry counts only after the whole line was read. False after the last
  // line.
  bool hold_line() {
    held_.clear();
    held_text_.clear();
    served_ = 0;
    Field field;
    if (!fields_.next(field)) return false;
    const std::uint64_t line = field.line;
    const std::uint64_t shift = fields_.row_names() ? 1 : 0;
    bool too_long = false;
    for (;;) {
      const std::uint64_t index = field.index - shift;  // wraps for a row's name, so it is no column's
      if (column_ ? index == *column_ : index < fields_.names()) {
        too_long = too_long || held_text_.size() > longest_line;
        if (!too_long) {
          held_.push_back({field, held_text_.size(), field.text.size()});
          held_text_ += field.text;
        }
      }
      if (field.last || !fields_.next(field)) break;
    }
    ++lines_;
    const std::uint64_t fields = field.index + 1;
    const std::uint64_t places = column_ ? 1 : fields_.names();
    if (fields == fields_.names() + shift && !too_long) return true;
    held_.clear();
    if (shift != 0 && fields == fields_.names()) fields_.refuse_row_name(line);
    const bool wrong = fields != fields_.names() + shift;
    bad(wrong ? LeftOut::wrong_fields : LeftOut::too_long, line, places,
        [&] { return wrong ? wrong_fields(line, fields, fields_.names(), shift != 0) : line_too_long(line); });
    return true;
  }

  std::string_view number_text(std::string_view text) {
    return io::number_text(text, options_.decimal == ",", pointed_);
  }

  // The next number.
  template <class T>
  bool next(T& value) {
    Field field;
    while (next_entry(field)) {
      const Fit fit = field.too_long || field.odd ? Fit::no_number : parse_number(number_text(field.text), value);
      if (fit == Fit::number) {
        ++parsed_;
        return true;
      }
      if (fit == Fit::misfit)
        fields_.reader().fail("line {}: {} does not fit {}", field.line, printable(field.text), to_string(info_.dtype));
      bad_entry(field);
    }
    return false;
  }

  template <class Say>
  void bad(LeftOut reason, std::uint64_t line, std::uint64_t places, const Say& say) {
    const bool gap = reason == LeftOut::empty && options_.places;
    if (options_.strict || (!options_.needed_by.empty() && !gap))
      fields_.refuse_left_out(say().error, options_.needed_by);
    if (bad_lines() == 0) first_bad_ = say().error;
    left_out_.add(reason, line, say);
    missing_ += places;
    if (options_.places) gaps_.add(parsed_, places);
  }
  void bad_entry(const Field& field) {
    const bool empty = trimmed(field.text).empty();
    bad(field.too_long ? LeftOut::too_long
        : empty        ? LeftOut::empty
                       : LeftOut::not_a_number,
        field.line, 1, [&] { return no_number(field.line, field.text); });
  }

  // A part may have no number.
  void refuse_nothing() const {
    if (part_) return;
    const std::string where = options_.column.empty() ? "" : fmt::format("column {} ", printable(options_.column));
    fail_io(info_.name, "{}has no number{}{}; {}", where, first_bad_.empty() ? "" : "; ", first_bad_,
            fields_.how_cut());
  }

  SourceInfo info_;
  SourceOptions options_;
  bool part_;  // of the lines
  bool started_ = false;
  bool keep_ = false;
  bool found_ = false;  // the column, in this line
  bool lines_known_ = true;
  bool may_be_pairs_ = false;
  bool pairs_ = false;   // each line so far may be a number with a decimal comma
  std::uint64_t limit_;  // of the part: no line of it begins there or later
  LeftOutCounts left_out_;
  std::string first_bad_;
  std::uint64_t parsed_ = 0;   // numbers of this pass
  std::uint64_t missing_ = 0;  // places that have none
  std::uint64_t lines_ = 0;    // with data
  std::uint64_t columns_ = 0;  // fields of the first of them
  std::uint64_t ragged_line_ = 0;
  std::uint64_t end_line_ = 1;
  std::uint64_t position_ = 0;  // in elements
  std::optional<std::uint64_t> column_;
  std::vector<Held> held_;
  std::string held_text_;
  std::size_t served_ = 0;
  std::string pointed_;
  LineCut cut_;
  const LineRun* run_ = nullptr;
  std::uint64_t run_done_ = 0;
  std::uint64_t until_ = 0;  // where parsed numbers may follow
  TextFields fields_;
  LineBlocks blocks_;
  TextFields::Mark first_;  // the first line
  TextFields::Mark start_;
  Gaps gaps_;
  std::optional<TextColumn> numbers_;  // without a dtype
};

}  // namespace

std::unique_ptr<Source> open_text(Input input) {
  if (input.options.boolean) refuse_text("bool is a dtype of raw data; 0 and 1 in a text are u8");
  if (input.options.entries != Entries::numbers && !input.options.dtype) {
    if (auto entries = open_entries(input)) return entries;
  }
  return std::make_unique<TextSource>(std::move(input));
}

}  // namespace masu::io
