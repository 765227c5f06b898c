// SPDX-License-Identifier: Apache-2.0
// The entries of a column, taken row by row: texts, dates or numbers.
#pragma once

#include "io/counted_texts.h"
#include "io/fields.h"
#include "io/instants.h"
#include "io/numbers.h"
#include "io/rows.h"
#include "io/text_column.h"

#include <masu/io.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace masu::io {

inline constexpr unsigned part_shift = 48;  // entries of a part are fewer, so places grow from part to part

// What the entries are, as far as they are known; later ones stand over earlier ones.
enum class EntryKind { texts, instants, numbers };

// The entries of some of the lines.
struct FoundEntries {
  FoundEntries(const SourceOptions& options, const std::string& name)
      : numbers(name, options.tmpdir, options.memory, true), gaps(options.tmpdir, options.memory) {}
  std::vector<std::uint32_t> ids;  // of texts
  std::vector<std::int64_t> instants;
  InstantForm form = InstantForm::day;
  TextColumn numbers;
  std::uint64_t count = 0;    // entries that were read
  std::uint64_t missing = 0;  // and left out in front of the last of them
  Gaps gaps;
  TextReport report;
  std::exception_ptr error;
};

// Takes the entries of a column, or whole lines, which are taken to be of a kind until one shows that all are of
// another.
class EntryColumn {
 public:
  EntryColumn(Rows& rows, std::optional<std::size_t> column, const SourceOptions& options, std::atomic<EntryKind>& kind,
              FoundEntries& found, CountedTexts& texts, std::uint64_t part)
      : rows_(rows),
        column_(column),
        options_(options),
        kind_(kind),
        begun_(kind),
        found_(found),
        texts_(texts, writer_options(part)) {}
  EntryColumn(const EntryColumn&) = delete;  // texts_ calls it
  EntryColumn& operator=(const EntryColumn&) = delete;

  // Takes the row's entry. False where all entries must be read again, as another kind.
  bool take() {
    if (begun_ == EntryKind::texts) take_text();
    else if (begun_ == EntryKind::instants) take_instant();
    else take_number();
    return kind_ == begun_;
  }
  // So that the kind is the one that all entries show.
  void flush() { texts_.flush(); }
  // After some rows, the last ones where there are no `more`: what was taken is in FoundEntries.
  void end(bool more) {
    if (!more) texts_.finish();
    found_.report = rows_.report();
    for (const LeftOut kind : {LeftOut::empty, LeftOut::not_a_number})
      found_.report.left_out[static_cast<std::size_t>(kind)] = left_out_.kinds[static_cast<std::size_t>(kind)];
  }

 private:
  [[nodiscard]] std::string_view entry() const noexcept { return column_ ? rows_.fields()[*column_] : rows_.text(); }
  void leave_out(std::string_view wanted) { rows_.leave_out(entry(), wanted, left_out_); }

  CountedTexts::Writer::Options writer_options(std::uint64_t part) {
    CountedTexts::Writer::Options options{part << part_shift, options_.any_order ? nullptr : &found_.ids, {}};
    if (options_.entries != Entries::texts) options.look = [this](std::string_view text) { look_at(text); };
    return options;
  }
  void take_text() {
    const std::string_view text = entry();
    if (text.empty() || (is_blank(text.front()) && trimmed(text).empty())) {
      if (options_.strict || !options_.needed_by.empty()) flush();  // it may be an error of another kind's
      if (kind_ == begun_) leave_out("a text");
      return;
    }
    add_place();
    if (!options_.any_order) check_memory(found_.ids, 1);
    texts_.add(text);
  }
  // Whether a new text shows that the entries are something else.
  void look_at(std::string_view text) {
    EntryKind is = parse_instant(trimmed(text)) ? EntryKind::instants : EntryKind::texts;
    if (has_number(text)) is = EntryKind::numbers;
    for (EntryKind known = kind_; known < is && !kind_.compare_exchange_weak(known, is);) {
    }
  }
  bool has_number(std::string_view text) {
    const char delimiter = rows_.delimiter();
    for (std::size_t at = 0; at <= text.size();) {
      const auto is_end = [&](char c) { return delimiter == '\0' ? is_blank(c) : c == delimiter; };
      std::size_t end = text.size();
      if (!column_) end = static_cast<std::size_t>(std::find_if(text.begin() + at, text.end(), is_end) - text.begin());
      std::string_view field = text.substr(at, end - at);
      if (!column_ && field.size() > 1 && field.front() == '"' && field.back() == '"')
        field = field.substr(1, field.size() - 2);
      if (parse_any_number(number_text(field, options_.decimal == ",", pointed_)).kind != TextNumber::no_number)
        return true;
      if (end == text.size()) return false;
      at = end + 1;
    }
    return false;
  }

  void take_instant() {
    const std::string_view text = trimmed(entry());
    const std::optional<Instant> instant = parse_instant(text);
    if (!instant) {
      if (!text.empty() && has_number(text)) kind_ = EntryKind::numbers;
      else leave_out("a date or a time");
      return;
    }
    add_place();
    check_memory(found_.instants, 1);
    found_.instants.push_back(instant->us);
    found_.form = std::max(found_.form, instant->form);
  }

  void take_number() {
    const TextNumber number = rows_.number(*column_);
    if (number.kind == TextNumber::no_number) return leave_out("a number");
    add_place();
    field_.text = entry();
    field_.line = rows_.line();
    found_.numbers.add(number, field_);
  }

  void add_place() {
    if (options_.places && rows_.place() - found_.count != found_.missing) {
      const std::uint64_t missing = rows_.place() - found_.count;
      found_.gaps.add(found_.count, missing - found_.missing);
      found_.missing = missing;
    }
    ++found_.count;
  }
  template <class T>
  void check_memory(const std::vector<T>& values, std::size_t more) const {
    if ((values.size() + more) * sizeof(T) <= options_.memory) return;
    throw Error(ErrorCode::out_of_memory,
                fmt::format("{}: its entries take more than {} MiB (--memory)", rows_.name(), options_.memory >> 20));
  }

  Rows& rows_;
  std::optional<std::size_t> column_;
  const SourceOptions& options_;
  std::atomic<EntryKind>& kind_;
  EntryKind begun_;
  FoundEntries& found_;
  CountedTexts::Writer texts_;
  LeftOutCounts left_out_;
  std::string pointed_;
  Field field_;
};

}  // namespace masu::io
