// SPDX-License-Identifier: Apache-2.0
// Numbers in text. Entries are taken from a window of the file, so memory does not depend on the length of a line. With
// a dtype they are parsed as they are read; without one all are parsed first, since the last may decide what the first
// is.
#include "io/numbers.h"
#include "io/reader.h"
#include "io/sources.h"

#include <fmt/format.h>
#include <masu/dtype.h>
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace masu::io {
namespace {

// The numbers of a text whose dtype they decide themselves, parsed once and kept: i64 where all are whole, u64 where
// some lie beyond it, f64 where some have a fraction. What no such dtype holds exactly is an error.

constexpr std::uint64_t exact_in_f64 = std::uint64_t{1} << 53;
constexpr std::uint64_t most_signed = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t minus_zero = std::uint64_t{1} << 63;
constexpr std::uint64_t first_words = 1024;
constexpr std::uint64_t largest_spill = std::uint64_t{1} << 16;  // words that are written at once

std::uint64_t bits_of_double(double value) noexcept {
  return std::bit_cast<std::uint64_t>(value);
}

class TextColumn {
 public:
  // Holds about `memory` bytes of the numbers. More of them go to a file in `tmpdir` where `spool` is set, else they
  // are given up: kept() is false then.
  TextColumn(std::string name, std::string tmpdir, std::uint64_t memory, bool spool)
      : name_(std::move(name)),
        limit_(std::max(memory / sizeof(std::uint64_t), first_words)),
        spool_(spool),
        file_(std::move(tmpdir)) {}

  // Throws io, naming lines and values, for numbers that no dtype holds together.
  void add(const TextNumber& number, const Field& field) {
    if (number.kind == TextNumber::beyond_64_bits) {
      fail("line {}: {} does not fit 64 bits (--dtype f64 rounds it)", field.line, printable(field.text));
    }
    if (number.kind == TextNumber::beyond_f64) {
      fail("line {}: {} does not fit f64", field.line, printable(field.text));
    }
    const bool whole = number.kind == TextNumber::whole;
    const bool signs = whole && number.negative;
    const auto note = [&](bool met, std::optional<Place>& first) {
      if (!met || first) return;
      first = Place{count_, field.line, printable(field.text)};
      check_together();
    };
    note(!whole, decimal_);
    note(whole && number.magnitude > exact_in_f64, wide_);
    note(signs && number.magnitude != 0, negative_);
    note(whole && !signs && number.magnitude > most_signed, unsigned_);
    if (!whole) return push(bits_of_double(number.value));
    if (decimal_) {
      const auto value = static_cast<double>(number.magnitude);
      return push(bits_of_double(signs ? -value : value));
    }
    if (signs && number.magnitude == 0) return push(wide_ ? 0 : minus_zero);
    push(signs ? std::uint64_t{0} - number.magnitude : number.magnitude);
  }
  // After the last one.
  void end() {
    dtype_ = decimal_ ? Dtype::f64 : unsigned_ ? Dtype::u64 : Dtype::i64;
    if (!file_.exists()) return;
    file_.append(words_.get(), held_ * sizeof(std::uint64_t));
    words_.reset();
  }

  [[nodiscard]] Dtype dtype() const noexcept { return dtype_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] bool kept() const noexcept { return kept_; }
  // Before the first number is taken: i64, u64 or f64 instead. Throws io where a number does not fit.
  void retype(Dtype dtype) {
    const auto refuse = [&](const std::optional<Place>& place) {
      if (place) fail("line {}: {} does not fit {}", place->line, place->text, to_string(dtype));
    };
    if (dtype == dtype_) return;
    if (dtype == Dtype::f64) {
      refuse(wide_);
      decimal_ = Place{count_, 0, ""};
    } else {
      refuse(decimal_);
      refuse(dtype == Dtype::u64 ? negative_ : unsigned_);
    }
    dtype_ = dtype;
  }

  // Elements of dtype() from `first` on; fewer only at the end.
  std::uint64_t read(std::uint64_t first, void* target, std::uint64_t count) {
    count = std::min(count, count_ - first);
    if (count == 0) return 0;
    if (const std::uint64_t* words = at(first)) {
      std::memcpy(target, words, count * sizeof *words);
      return count;
    }
    file_.read(target, count * sizeof(std::uint64_t), first * sizeof(std::uint64_t));
    settle(first, static_cast<std::uint64_t*>(target), count);
    return count;
  }
  // The same in place; null where they are in a file.
  const std::uint64_t* at(std::uint64_t first) {
    if (file_.exists() || !kept_) return nullptr;
    if (!std::exchange(settled_, true)) settle(0, words_.get(), count_);
    return words_.get() + first;
  }

 private:
  struct Place {
    std::uint64_t index = 0;
    std::uint64_t line = 0;
    std::string text;
  };
  struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };
  void check_together() const {
    if (decimal_ && wide_) {
      fail(
          "line {} has {}, which needs f64, and line {} has {}: f64 holds whole numbers up to 2^53 only (--dtype f64 "
          "rounds them)",
          decimal_->line, decimal_->text, wide_->line, wide_->text);
    }
    if (negative_ && unsigned_) {
      fail("line {} has {} and line {} has {}: no integer of 64 bits holds both (--dtype f64 rounds them)",
           negative_->line, negative_->text, unsigned_->line, unsigned_->text);
    }
  }
  void push(std::uint64_t word) {
    ++count_;
    if (!kept_) return;
    if (held_ == room_) {
      if (room_ < limit_ && !file_.exists()) {
        room_ = std::min(limit_, std::max(first_words, room_ + room_ / 2));
        auto* grown = static_cast<std::uint64_t*>(std::realloc(words_.get(), room_ * sizeof(std::uint64_t)));
        if (grown == nullptr) throw Error(ErrorCode::out_of_memory, name_ + ": no memory for its numbers");
        (void)words_.release();
        words_.reset(grown);
      } else if (spool_) {
        file_.append(words_.get(), held_ * sizeof(std::uint64_t));
        held_ = 0;
        room_ = std::min(room_, largest_spill);
      } else {
        kept_ = false;
        words_.reset();
        return;
      }
    }
    words_[held_++] = word;
  }
  // Makes words what they are in the end.
  void settle(std::uint64_t first, std::uint64_t* words, std::uint64_t count) const noexcept {
    const std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t end = std::min(decimal_ ? decimal_->index : wide_ ? wide_->index : none, first + count);
    for (std::uint64_t i = first; i < end; ++i) {
      std::uint64_t& word = words[i - first];
      const bool zero = word == minus_zero;
      if (decimal_) word = bits_of_double(zero ? -0.0 : static_cast<double>(std::bit_cast<std::int64_t>(word)));
      else if (zero) word = 0;
    }
  }
  template <class... Values>
  [[noreturn]] void fail(fmt::format_string<Values...> reason, Values&&... values) const {
    fail_io(name_, fmt::format(reason, std::forward<Values>(values)...));
  }

  std::string name_;
  std::uint64_t limit_;  // words in memory
  bool spool_;
  bool kept_ = true;
  bool settled_ = false;  // the words in memory are elements of dtype_
  Dtype dtype_ = Dtype::i64;
  std::uint64_t count_ = 0;
  // Words: two's complement up to the first decimal, f64 from it on. In front of the first number beyond 2^53, the
  // least i64 stands for -0, which is 0 or -0.0 in the end.
  std::unique_ptr<std::uint64_t[], Free> words_;
  std::uint64_t room_ = 0;
  std::uint64_t held_ = 0;
  SpoolFile file_;
  std::optional<Place> decimal_;   // the first one
  std::optional<Place> wide_;      // whole, beyond 2^53
  std::optional<Place> negative_;  // whole, below 0
  std::optional<Place> unsigned_;  // whole, beyond i64
};

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
    const FloatingPointScope usual;
    if (told_ || (dtype != Dtype::i64 && dtype != Dtype::u64 && dtype != Dtype::f64)) return false;
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
    if (!reader.is_file() && !reader.peek(1).empty()) reader.fail("text is read in parts from a file only");
    const std::uint64_t size = reader.measured_size();  // of compressed text, all of it is read to know
    const std::uint64_t begin = reader.position();
    const auto border = [&](std::uint64_t part) {
      __extension__ using Wide = unsigned __int128;
      return begin + static_cast<std::uint64_t>(Wide{size - std::min(begin, size)} * part / options.parts);
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
        fields_.reader().fail("line {}: {} does not fit {}", field.line, printable(field.text), to_string(info_.dtype));
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
