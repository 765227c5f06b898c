// SPDX-License-Identifier: Apache-2.0
#include "cli/sort/lines.h"
#include "io/instants.h"
#include "text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

namespace masu::cli {
namespace {

// Behind the keys of all floats, of which the greatest is that of NaN, 0xfff8…, in both directions.
constexpr std::string_view date_mark = "\xff\xf9";
constexpr std::string_view other_mark = "\xff\xfa";
constexpr std::string_view empty_mark = "\xff\xfb";
constexpr std::string_view text_end("\0\0", 2);  // a NUL in a text is followed by 0xff

struct KeyWord {
  std::string_view name;
  std::optional<LineKey::Kind> kind;
  std::optional<bool> descending;
};
constexpr KeyWord key_words[] = {{"number", LineKey::Kind::number, {}},
                                 {"n", LineKey::Kind::number, {}},
                                 {"g", LineKey::Kind::number, {}},
                                 {"text", LineKey::Kind::text, {}},
                                 {"desc", {}, true},
                                 {"descending", {}, true},
                                 {"r", {}, true},
                                 {"asc", {}, false},
                                 {"ascending", {}, false}};

// Takes what a word says; false where it says nothing.
bool take_word(LineKey& key, std::string_view word) {
  const auto* const found = std::ranges::find(key_words, word, &KeyWord::name);
  if (found == std::end(key_words)) return false;
  key.kind = found->kind.value_or(key.kind);
  key.descending = found->descending.value_or(key.descending);
  return true;
}

LineKey parse_line_key(std::string text, LineKey key) {
  for (std::size_t colon = text.rfind(':'); colon != std::string::npos && colon != 0; colon = text.rfind(':')) {
    if (!take_word(key, std::string_view(text).substr(colon + 1))) break;
    text.resize(colon);
  }
  const std::size_t letters = text.find_first_not_of("0123456789");
  if (letters != 0 && letters != std::string::npos && text.find_first_not_of("ngr", letters) == std::string::npos) {
    for (std::size_t i = letters; i < text.size(); ++i) take_word(key, std::string_view(text).substr(i, 1));
    text.resize(letters);
  }
  if (text.empty()) usage_error("--key takes COLUMN[:desc][:number|:text], several with commas, got an empty name");
  key.column = std::move(text);
  return key;
}

void put_big(std::string& key, std::uint64_t word, unsigned bytes, bool reversed) {
  std::array<char, sizeof word> big{};
  for (unsigned i = 0; i < bytes; ++i) big[i] = static_cast<char>((reversed ? ~word : word) >> (8 * (bytes - 1 - i)));
  key.append(big.data(), bytes);
}

}  // namespace

std::vector<LineKey> parse_line_keys(std::span<const std::string> asked, const LineKey& usual) {
  std::vector<LineKey> keys;
  for (const std::string& some : asked)
    for (const std::string& one : split(some)) keys.push_back(parse_line_key(one, usual));
  if (keys.empty()) keys.push_back(usual);
  return keys;
}

std::vector<std::string> LineKeys::columns() const {
  std::vector<std::string> columns;
  for (const LineKey& key : keys_)
    if (!key.column.empty()) columns.push_back(key.column);
  return columns;
}

std::string_view LineKeys::of(io::Rows& rows, bool strict) {
  key_.clear();
  nan_ = false;
  seen_.resize(keys_.size());
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const LineKey& key = keys_[i];
    const std::string_view entry = key.column.empty() ? rows.text() : rows.fields()[i];
    const std::size_t begin = key_.size();
    if (key.kind == LineKey::Kind::text) {
      put_text(entry);
    } else {
      const io::TextNumber number = key.column.empty() ? io::parse_any_number(io::trimmed(entry)) : rows.number(i);
      if (number.kind == io::TextNumber::beyond_64_bits || number.kind == io::TextNumber::beyond_f64) {
        rows.fail("{} does not fit {}; --key COLUMN:text sorts by the bytes", io::printable(entry),
                  number.kind == io::TextNumber::beyond_f64 ? "f64" : "64 bits");
      }
      if (number.kind != io::TextNumber::no_number) {
        ++seen_[i].numbers;
        nan_ = nan_ || (i == 0 && number.kind == io::TextNumber::decimal && std::isnan(number.value));
        put_number(number, key.descending);
        continue;
      }
      put_other(key, seen_[i], rows, entry, strict);
      if (key_.size() == begin + 2) continue;  // nothing to turn round
    }
    if (!key.descending) continue;
    const std::size_t from = begin + (key.kind == LineKey::Kind::text ? 0 : other_mark.size());
    for (std::size_t at = from; at < key_.size(); ++at) key_[at] = static_cast<char>(~key_[at]);
  }
  return key_;
}

// As f64; where that may have been rounded, what rounding took decides.
void LineKeys::put_number(const io::TextNumber& number, bool descending) {
  const bool whole = number.kind == io::TextNumber::whole;
  double value = whole ? static_cast<double>(number.magnitude) : number.value;
  if (whole && number.negative) value = -value;
  if (value == 0) value = 0;  // -0 and 0 are equal
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const bool negative = bits >> 63 != 0;
  put_big(key_, negative ? ~bits : bits | std::uint64_t{1} << 63, 8, descending);
  if (!(std::fabs(value) >= 0x1p53 && std::fabs(value) <= 0x1p64)) return;
  __extension__ using Wide = __int128;
  Wide lost = whole ? static_cast<Wide>(number.magnitude) - static_cast<Wide>(std::fabs(value)) : 0;
  if (negative) lost = -lost;
  put_big(key_, static_cast<std::uint64_t>(lost + 0x8000), 2, descending);
}

void LineKeys::put_text(std::string_view text) {
  for (std::size_t nul = text.find('\0'); nul != std::string_view::npos; nul = text.find('\0')) {
    key_ += text.substr(0, nul + 1);
    key_ += '\xff';
    text.remove_prefix(nul + 1);
  }
  key_ += text;
  if (ignore_case_) {
    for (auto c = key_.end() - static_cast<std::ptrdiff_t>(text.size()); c != key_.end(); ++c)
      if (*c >= 'A' && *c <= 'Z') *c = static_cast<char>(*c - 'A' + 'a');
  }
  key_ += text_end;
}

void LineKeys::put_other(const LineKey& key, Seen& seen, io::Rows& rows, std::string_view entry, bool strict) {
  const bool empty = io::trimmed(entry).empty();
  if (key.kind == LineKey::Kind::number && strict) {
    rows.fail("the entry '{}' is {}", io::printable(entry), empty ? "empty" : "not a number");
  }
  if (seen.others++ == 0) {
    seen.line = rows.line();
    seen.first = empty ? "" : fmt::format(": '{}'", io::printable(entry));
  }
  if (empty || key.kind == LineKey::Kind::number) {
    key_ += empty_mark;
  } else if (const std::optional<io::Instant> instant = io::parse_fine_instant(io::trimmed(entry))) {
    key_ += date_mark;
    put_big(key_, static_cast<std::uint64_t>(instant->us) ^ std::uint64_t{1} << 63, 8, false);
    put_big(key_, instant->ns, 2, false);
  } else {
    key_ += other_mark;
    put_text(entry);
  }
}

std::vector<std::string> LineKeys::notes() const {
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const Seen& seen = seen_[i];
    if (seen.others == 0 || (seen.numbers == 0 && keys_[i].kind == LineKey::Kind::any)) continue;
    const std::string name = keys_[i].column.empty() ? "lines" : "key " + io::printable(keys_[i].column);
    notes.push_back(fmt::format("{}: {} of {} are no number (line {}{}) and come last{}", name, seen.others,
                                seen.numbers + seen.others, seen.line, seen.first,
                                seen.others == 1 && seen.line == 1 ? "; --header leaves a header on top" : ""));
  }
  return notes;
}

}  // namespace masu::cli
