// SPDX-License-Identifier: Apache-2.0
// The numbers of a text without a given dtype, and the places of numbers that were left out.
#pragma once

#include "io/blocks.h"
#include "io/fields.h"
#include "io/numbers.h"
#include "io/reader.h"

#include <masu/dtype.h>
#include <masu/io.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace masu::io {

inline constexpr std::uint64_t whole_in_f64 = std::uint64_t{1} << 53;  // f64 holds every whole number up to this
inline constexpr std::uint64_t most_signed = std::numeric_limits<std::int64_t>::max();
inline constexpr std::uint64_t minus_zero = std::uint64_t{1} << 63;
inline constexpr std::uint64_t first_words = 1024;
inline constexpr std::uint64_t largest_spill = std::uint64_t{1} << 16;  // words that are written at once

// Numbers that are parsed once and kept. The dtype is i64 where all are whole, u64 where some are beyond i64, f64 where
// some have a fraction or no integer type holds all. A number that this dtype does not hold exactly is an error.
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
      fail_io(name_, "line {}: {} does not fit 64 bits (--dtype f64 rounds it)", field.line, printable(field.text));
    }
    if (number.kind == TextNumber::beyond_f64) {
      fail_io(name_, "line {}: {} does not fit f64", field.line, printable(field.text));
    }
    const bool whole = number.kind == TextNumber::whole;
    if (!whole && decimal_) return push(std::bit_cast<std::uint64_t>(number.value));
    const bool signs = whole && number.negative;
    const auto note = [&](bool met, std::optional<Place>& first) {
      if (!met || first) return;
      first = Place{count_, field.line, printable(field.text)};
      check_together();
    };
    note(!whole, decimal_);
    if (whole && number.magnitude > whole_in_f64) {
      if (!wide_from_) wide_from_ = count_;
      note(!exact_in_f64(number.magnitude), inexact_);
    }
    note(signs && number.magnitude != 0, negative_);
    note(whole && !signs && number.magnitude > most_signed, unsigned_);
    if (!whole) return push(std::bit_cast<std::uint64_t>(number.value));
    if (floats_from_) {
      const auto value = static_cast<double>(number.magnitude);
      return push(std::bit_cast<std::uint64_t>(signs ? -value : value));
    }
    if (signs && number.magnitude == 0) return push(wide_from_ ? 0 : minus_zero);
    push(signs ? std::uint64_t{0} - number.magnitude : number.magnitude);
  }

  // The same for many, whose lines begin with `line`. False, and no change, where they must be added one by one.
  bool add(const LineRun& run, std::uint64_t line) {
    const bool floats = run.floats_from < run.count;
    if (unsigned_ || (floats && !decimal_ && run.decimal.index != run.floats_from)) return false;
    const auto note = [&](const LineRun::Fact& fact, std::optional<Place>& first) {
      if (fact.index == LineRun::none || first) return;
      first = Place{count_ + fact.index, line + fact.line, fact.text};
    };
    note(run.inexact, inexact_);
    note(run.negative, negative_);
    if (run.wide != LineRun::none && !wide_from_) wide_from_ = count_ + run.wide;
    note(run.decimal, decimal_);
    if (decimal_ && !floats_from_) floats_from_ = decimal_->index;
    check_together();
    const auto* words = reinterpret_cast<const std::uint64_t*>(run.values);
    const std::uint64_t integers = std::min(run.floats_from, run.count);
    std::uint64_t first = 0;
    for (; floats_from_ && *floats_from_ <= count_ && first < integers; ++first)
      push(std::bit_cast<std::uint64_t>(static_cast<double>(std::bit_cast<std::int64_t>(words[first]))));
    push(words + first, run.count - first);
    return true;
  }

  // Called after the last number.
  void end() {
    dtype_ = floats_from_ ? Dtype::f64 : unsigned_ ? Dtype::u64 : Dtype::i64;
    if (!file_.exists()) return;
    file_.append(words_.get(), held_ * sizeof(std::uint64_t));
    words_.reset();
  }

  // Adds to the lines that messages name.
  void shift_lines(std::uint64_t lines) noexcept {
    for (auto* place : {&decimal_, &inexact_, &negative_, &unsigned_}) {
      if (*place) (*place)->line += lines;
    }
  }

  [[nodiscard]] Dtype dtype() const noexcept { return dtype_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] bool kept() const noexcept { return kept_; }
  // Changes the dtype to i64, u64 or f64, before the first number is read. Throws io where a number does not fit.
  void retype(Dtype dtype) {
    const auto refuse = [&](const std::optional<Place>& place) {
      if (place) fail_io(name_, "line {}: {} does not fit {}", place->line, place->text, to_string(dtype));
    };
    if (dtype == dtype_) return;
    if (dtype == Dtype::f64) {
      refuse(inexact_);
      floats_from_ = count_;
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
  // Decides whether f64 is needed from the next number on. Throws io where f64 would change a number.
  void check_together() {
    if ((decimal_ || (negative_ && unsigned_)) && !floats_from_) floats_from_ = count_;
    if (!floats_from_ || !inexact_) return;
    if (decimal_) {
      fail_io(
          name_,
          "line {} has {}, which needs f64, and line {} has {}: f64 holds no such whole number (--dtype f64 rounds it)",
          decimal_->line, decimal_->text, inexact_->line, inexact_->text);
    }
    fail_io(name_,
            "line {} has {} and line {} has {}: no integer of 64 bits holds both, and f64 does not hold {} of line {} "
            "(--dtype f64 rounds it)",
            negative_->line, negative_->text, unsigned_->line, unsigned_->text, inexact_->text, inexact_->line);
  }
  void push(std::uint64_t word) {
    if (held_ == room_) return push(&word, 1);
    words_[held_++] = word;
    ++count_;
  }
  void push(const std::uint64_t* words, std::uint64_t count) {
    count_ += count;
    while (count != 0 && kept_) {
      if (held_ == room_ && !make_room()) return;
      const std::uint64_t part = std::min(count, room_ - held_);
      std::memcpy(words_.get() + held_, words, part * sizeof *words);
      held_ += part;
      words += part;
      count -= part;
    }
  }
  // False where the words are given up.
  bool make_room() {
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
    }
    return kept_;
  }
  // Converts words to elements of dtype_.
  void settle(std::uint64_t first, std::uint64_t* words, std::uint64_t count) const noexcept {
    const std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t integers = std::min(floats_from_.value_or(none), first + count);
    const std::uint64_t zeros = wide_from_.value_or(none);  // only before it, a word stands for -0
    const bool no_signs = unsigned_ && unsigned_->index < floats_from_.value_or(none);
    for (std::uint64_t i = first; i < integers; ++i) {
      std::uint64_t& word = words[i - first];
      const bool zero = word == minus_zero && i < zeros;
      if (floats_from_) {
        const double value =
            no_signs ? static_cast<double>(word) : static_cast<double>(std::bit_cast<std::int64_t>(word));
        word = std::bit_cast<std::uint64_t>(zero ? -0.0 : value);
      } else if (zero) {
        word = 0;
      } else if (i >= zeros) {
        break;
      }
    }
  }

  std::string name_;
  std::uint64_t limit_;  // words in memory
  bool spool_;
  bool kept_ = true;
  bool settled_ = false;  // the words in memory are elements of dtype_
  Dtype dtype_ = Dtype::i64;
  std::uint64_t count_ = 0;
  // Words: integers up to the number that made f64 needed, f64 from it on. In front of the first number beyond 2^53,
  // the least i64 stands for -0, which is 0 or -0.0 in the end.
  std::unique_ptr<std::uint64_t[], Free> words_;
  std::uint64_t room_ = 0;
  std::uint64_t held_ = 0;
  SpoolFile file_;
  std::optional<std::uint64_t> floats_from_;
  std::optional<std::uint64_t> wide_from_;  // the first whole one beyond 2^53
  std::optional<Place> decimal_;            // the first one
  std::optional<Place> inexact_;            // whole, and not as it is in f64
  std::optional<Place> negative_;           // whole, below 0
  std::optional<Place> unsigned_;           // whole, beyond i64
};

// The places where entries of a text were left out. Many gaps go to a file.
class Gaps {
 public:
  Gaps(std::string tmpdir, std::uint64_t memory)
      : tmpdir_(std::move(tmpdir)), most_(std::max(memory / 8 / sizeof(Source::Gap), least_gaps)), file_(tmpdir_) {}

  // Adds a gap of `places` places after the first `numbers` numbers.
  void add(std::uint64_t numbers, std::uint64_t places) {
    missing_ += places;
    if (!gaps_.empty() && gaps_.back().number == numbers) gaps_.pop_back();
    if (gaps_.size() == most_) {
      file_.append(gaps_.data(), most_ * sizeof(Source::Gap));
      gaps_.clear();
    }
    gaps_.push_back({numbers, missing_});
  }
  void clear() {
    file_ = SpoolFile(tmpdir_);
    gaps_.clear();
    missing_ = 0;
  }
  void to_places(std::span<std::uint64_t> indices) const {
    for (std::uint64_t& index : indices) {
      std::uint64_t low = 0;
      for (std::uint64_t high = count(); low < high;) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (at(middle).number <= index) low = middle + 1;
        else high = middle;
      }
      if (low != 0) index += at(low - 1).missing;
    }
  }
  std::uint64_t read(std::uint64_t first, std::span<Source::Gap> target) const {
    std::uint64_t done = 0;
    for (; done < target.size() && first + done < count(); ++done) target[done] = at(first + done);
    return done;
  }

 private:
  [[nodiscard]] std::uint64_t in_file() const noexcept { return file_.size() / sizeof(Source::Gap); }
  [[nodiscard]] std::uint64_t count() const noexcept { return in_file() + gaps_.size(); }
  [[nodiscard]] Source::Gap at(std::uint64_t i) const {
    if (i >= in_file()) return gaps_[i - in_file()];
    Source::Gap gap;
    file_.read(&gap, sizeof gap, i * sizeof gap);
    return gap;
  }

  static constexpr std::uint64_t least_gaps = 4096;  // in memory
  std::string tmpdir_;
  std::uint64_t most_;
  SpoolFile file_;
  std::vector<Source::Gap> gaps_;
  std::uint64_t missing_ = 0;
};

}  // namespace masu::io
