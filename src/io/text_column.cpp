// SPDX-License-Identifier: Apache-2.0
#include "io/text_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

namespace masu::io {
namespace {

constexpr std::uint64_t exact_in_f64 = std::uint64_t{1} << 53;
constexpr std::uint64_t most_signed = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t minus_zero = std::uint64_t{1} << 63;
constexpr std::uint64_t first_words = 1024;
constexpr std::uint64_t largest_spill = std::uint64_t{1} << 16;  // words that are written at once

std::uint64_t bits_of_double(double value) noexcept {
  return std::bit_cast<std::uint64_t>(value);
}

}  // namespace

TextColumn::TextColumn(std::string name, std::string tmpdir, std::uint64_t memory, bool spool)
    : name_(name),
      limit_(std::max(memory / sizeof(std::uint64_t), first_words)),
      spool_(spool),
      file_(std::move(name), std::move(tmpdir)) {}

void TextColumn::fail(const std::string& reason) const {
  fail_io(name_, reason);
}

void TextColumn::check_together() const {
  if (decimal_ && wide_) {
    fail(fmt::format(
        "line {} has {}, which needs f64, and line {} has {}: f64 holds whole numbers up to 2^53 only (--dtype f64 "
        "rounds them)",
        decimal_->line, decimal_->text, wide_->line, wide_->text));
  }
  if (negative_ && unsigned_) {
    fail(fmt::format("line {} has {} and line {} has {}: no integer of 64 bits holds both (--dtype f64 rounds them)",
                     negative_->line, negative_->text, unsigned_->line, unsigned_->text));
  }
}

void TextColumn::add(const TextNumber& number, const Field& field) {
  if (number.kind == TextNumber::beyond_64_bits) {
    fail(fmt::format("line {}: {} does not fit 64 bits (--dtype f64 rounds it)", field.line, printable(field.text)));
  }
  if (number.kind == TextNumber::beyond_f64) {
    fail(fmt::format("line {}: {} does not fit f64", field.line, printable(field.text)));
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

void TextColumn::end() {
  dtype_ = decimal_ ? Dtype::f64 : unsigned_ ? Dtype::u64 : Dtype::i64;
  if (!file_.exists()) return;
  file_.append(words_.get(), held_ * sizeof(std::uint64_t));
  words_.reset();
}

void TextColumn::retype(Dtype dtype) {
  const auto refuse = [&](const std::optional<Place>& place) {
    if (place) fail(fmt::format("line {}: {} does not fit {}", place->line, place->text, to_string(dtype)));
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

// Makes words what they are in the end.
void TextColumn::settle(std::uint64_t first, std::uint64_t* words, std::uint64_t count) const noexcept {
  const std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t end = std::min(decimal_ ? decimal_->index : wide_ ? wide_->index : none, first + count);
  for (std::uint64_t i = first; i < end; ++i) {
    std::uint64_t& word = words[i - first];
    const bool zero = word == minus_zero;
    if (decimal_) word = bits_of_double(zero ? -0.0 : static_cast<double>(std::bit_cast<std::int64_t>(word)));
    else if (zero) word = 0;
  }
}

const std::uint64_t* TextColumn::at(std::uint64_t first) {
  if (file_.exists() || !kept_) return nullptr;
  if (!std::exchange(settled_, true)) settle(0, words_.get(), count_);
  return words_.get() + first;
}

std::uint64_t TextColumn::read(std::uint64_t first, void* target, std::uint64_t count) {
  count = std::min(count, count_ - first);
  if (count == 0) return 0;
  if (const std::uint64_t* words = at(first)) {
    std::memcpy(target, words, count * sizeof *words);
    return count;
  }
  auto* to = static_cast<std::byte*>(target);
  const std::uint64_t bytes = count * sizeof(std::uint64_t);
  for (std::uint64_t done = 0; done < bytes;)
    done += file_.read(to + done, bytes - done, first * sizeof(std::uint64_t) + done);
  settle(first, static_cast<std::uint64_t*>(target), count);
  return count;
}

}  // namespace masu::io
