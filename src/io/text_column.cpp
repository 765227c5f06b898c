// SPDX-License-Identifier: Apache-2.0
#include "io/text_column.h"

#include <masu/error.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

namespace masu::io {
namespace {

constexpr std::uint64_t whole_in_f64 = std::uint64_t{1} << 53;  // all of them up to it are
constexpr std::uint64_t most_signed = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t minus_zero = std::uint64_t{1} << 63;
constexpr std::uint64_t first_words = 1024;
constexpr std::uint64_t largest_spill = std::uint64_t{1} << 16;  // words that are written at once

std::uint64_t bits_of_double(double value) noexcept {
  return std::bit_cast<std::uint64_t>(value);
}

}  // namespace

TextColumn::TextColumn(std::string name, std::string tmpdir, std::uint64_t memory, bool spool)
    : name_(std::move(name)),
      limit_(std::max(memory / sizeof(std::uint64_t), first_words)),
      spool_(spool),
      file_(std::move(tmpdir)) {}

void TextColumn::add(const TextNumber& number, const Field& field) {
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
  if (whole && number.magnitude > whole_in_f64) {
    if (!wide_from_) wide_from_ = count_;
    note(!exact_in_f64(number.magnitude), inexact_);
  }
  note(signs && number.magnitude != 0, negative_);
  note(whole && !signs && number.magnitude > most_signed, unsigned_);
  if (!whole) return push(bits_of_double(number.value));
  if (floats_from_) {
    const auto value = static_cast<double>(number.magnitude);
    return push(bits_of_double(signs ? -value : value));
  }
  if (signs && number.magnitude == 0) return push(wide_from_ ? 0 : minus_zero);
  push(signs ? std::uint64_t{0} - number.magnitude : number.magnitude);
}

void TextColumn::end() {
  dtype_ = floats_from_ ? Dtype::f64 : unsigned_ ? Dtype::u64 : Dtype::i64;
  if (!file_.exists()) return;
  file_.append(words_.get(), held_ * sizeof(std::uint64_t));
  words_.reset();
}

void TextColumn::retype(Dtype dtype) {
  const auto refuse = [&](const std::optional<Place>& place) {
    if (place) fail("line {}: {} does not fit {}", place->line, place->text, to_string(dtype));
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

std::uint64_t TextColumn::read(std::uint64_t first, void* target, std::uint64_t count) {
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

const std::uint64_t* TextColumn::at(std::uint64_t first) {
  if (file_.exists() || !kept_) return nullptr;
  if (!std::exchange(settled_, true)) settle(0, words_.get(), count_);
  return words_.get() + first;
}

// Whether f64 is needed from the next number on, and whether it changes none.
void TextColumn::check_together() {
  if ((decimal_ || (negative_ && unsigned_)) && !floats_from_) floats_from_ = count_;
  if (!floats_from_ || !inexact_) return;
  if (decimal_) {
    fail("line {} has {}, which needs f64, and line {} has {}: f64 holds no such whole number (--dtype f64 rounds it)",
         decimal_->line, decimal_->text, inexact_->line, inexact_->text);
  }
  fail(
      "line {} has {} and line {} has {}: no integer of 64 bits holds both, and f64 does not hold {} of line {} "
      "(--dtype f64 rounds it)",
      negative_->line, negative_->text, unsigned_->line, unsigned_->text, inexact_->text, inexact_->line);
}

void TextColumn::push(std::uint64_t word) {
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
void TextColumn::settle(std::uint64_t first, std::uint64_t* words, std::uint64_t count) const noexcept {
  const std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t integers = std::min(floats_from_.value_or(none), first + count);
  const std::uint64_t zeros = wide_from_.value_or(none);  // -0 stands in front of it
  const bool no_signs = unsigned_ && unsigned_->index < floats_from_.value_or(none);
  for (std::uint64_t i = first; i < integers; ++i) {
    std::uint64_t& word = words[i - first];
    const bool zero = word == minus_zero && i < zeros;
    if (floats_from_) {
      const double value =
          no_signs ? static_cast<double>(word) : static_cast<double>(std::bit_cast<std::int64_t>(word));
      word = bits_of_double(zero ? -0.0 : value);
    } else if (zero) {
      word = 0;
    } else if (i >= zeros) {
      break;
    }
  }
}

namespace {

constexpr std::uint64_t block_gaps = 256;
constexpr std::uint64_t least_gaps = 4096;  // in memory
constexpr std::uint64_t most_gaps = std::uint64_t{1} << 20;

}  // namespace

Gaps::Gaps(std::string tmpdir, std::uint64_t memory)
    : tmpdir_(std::move(tmpdir)),
      most_(std::clamp(memory / 16 / sizeof(Source::Gap) / block_gaps * block_gaps, least_gaps, most_gaps)),
      file_(tmpdir_) {}

void Gaps::add(std::uint64_t numbers, std::uint64_t places) {
  missing_ += places;
  if (!gaps_.empty() && gaps_.back().number == numbers) {
    gaps_.back().missing = missing_;
    return;
  }
  if (gaps_.size() == most_) {
    for (std::uint64_t i = 0; i < most_; i += block_gaps) blocks_.push_back(gaps_[i].number);
    file_.append(gaps_.data(), most_ * sizeof(Source::Gap));
    gaps_.clear();
  }
  gaps_.push_back({numbers, missing_});
}

void Gaps::clear() {
  file_ = SpoolFile(tmpdir_);
  blocks_.clear();
  gaps_.clear();
  block_.clear();
  missing_ = 0;
}

std::uint64_t Gaps::read(std::uint64_t first, std::span<Source::Gap> target) const {
  std::uint64_t done = 0;
  for (; done < target.size() && first + done < in_file(); ++done) {
    file_.read(&target[done], sizeof target[done], (first + done) * sizeof target[done]);
  }
  for (; done < target.size() && first + done - in_file() < gaps_.size(); ++done) {
    target[done] = gaps_[first + done - in_file()];
  }
  return done;
}

// How many places are missing in front of a number.
std::uint64_t Gaps::before(std::uint64_t number) {
  const auto last_of = [&](const std::vector<Source::Gap>& gaps) -> std::optional<std::uint64_t> {
    const auto behind = std::upper_bound(gaps.begin(), gaps.end(), number,
                                         [](std::uint64_t n, const Source::Gap& gap) { return n < gap.number; });
    return behind == gaps.begin() ? std::nullopt : std::optional((behind - 1)->missing);
  };
  if (const auto found = last_of(gaps_)) return *found;
  const auto behind = std::upper_bound(blocks_.begin(), blocks_.end(), number);
  if (behind == blocks_.begin()) return 0;
  const auto block = static_cast<std::uint64_t>(behind - blocks_.begin() - 1);
  if (block_.empty() || block_number_ != block) {
    block_.resize(block_gaps);
    file_.read(block_.data(), block_gaps * sizeof(Source::Gap), block * block_gaps * sizeof(Source::Gap));
    block_number_ = block;
  }
  return last_of(block_).value_or(0);
}

void Gaps::to_places(std::span<std::uint64_t> indices) {
  if (missing_ == 0) return;
  for (std::uint64_t& index : indices) index += before(index);
}

}  // namespace masu::io
