// SPDX-License-Identifier: Apache-2.0
#include "io/blocks.h"

#include "elements/dtypes.h"
#include "io/numbers.h"
#include "io/quick_number.h"
#include "runtime/parallel.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

namespace masu::io {

namespace {

constexpr std::size_t fast_block = std::size_t{1} << 18;
constexpr std::size_t least_block = std::size_t{1} << 14;
constexpr std::size_t longest_number = 1024;  // longer ones are left to TextFields

constexpr std::uint64_t count_of_bytes(std::uint64_t bits) noexcept {
  return (bits >> 7) * 0x0101010101010101U >> 56;
}

// Puts a number where `target` has elements of T; false where that takes more care.
template <class T>
bool put_element(void* target, std::uint64_t index, const QuickNumber& number, std::string_view text) {
  T value{};
  if constexpr (std::is_same_v<T, double>) {
    value = number.value;
    if (number.whole) {
      const auto magnitude = static_cast<double>(number.magnitude);
      value = number.negative ? -magnitude : magnitude;
    }
  } else {
    if (parse_number(text, value) != Fit::number) return false;
  }
  static_cast<T*>(target)[index] = value;
  return true;
}

using Put = bool (*)(void*, std::uint64_t, const QuickNumber&, std::string_view);

Put put_of(Dtype dtype) {
  Put put = nullptr;
  dispatch(dtype, [&]<class T>(TypeTag<T>) { put = put_element<T>; });
  return put;
}

}  // namespace

LineCut::LineCut(const TextFields& text, const SourceOptions& options, std::optional<std::uint64_t> column)
    : delimiter(text.delimiter()),
      point(options.decimal == "," ? ',' : '.'),
      hash(text.skips_hash()),
      comment(text.comment()),
      skip(column.value_or(0) + (text.row_names() ? 1 : 0)),
      numbers(column           ? 1
              : options.header ? text.names()
                               : 0),
      fields(options.header ? text.names() + (text.row_names() ? 1 : 0) : 0) {}

bool LineCut::clear() const noexcept {
  return delimiter != point && std::string_view("0123456789+-.eE").find(delimiter) == std::string_view::npos;
}

// Parses the lines of one block. The text ends with a line end, and Reader::excess bytes after it may be looked at.
class LineParser {
 public:
  LineParser(const LineCut& cut, std::string_view text, std::uint64_t position, LineBlocks::Block& block)
      : cut_(cut),
        text_(text),
        position_(position),
        block_(block),
        put_(cut.dtype ? put_of(*cut.dtype) : nullptr),
        has_quotes_(text.find('"') != std::string_view::npos),
        has_comments_(!cut.comment.empty() && text.find(cut.comment) != std::string_view::npos),
        has_returns_(text.find('\r') != std::string_view::npos),
        looks_ahead_(cut.numbers != 0 || has_comments_ || has_returns_) {
    const std::size_t room = text.size() / 2 + 1;  // a number and what follows it
    if (block.room < room) {
      block.words = std::make_unique_for_overwrite<std::uint64_t[]>(room);
      block.room = room;
    }
    block.runs.clear();
  }

  void parse() {
    const char* const end = text_.data() + text_.size();
    for (const char* line = text_.data(); line != end;) {
      // Where fields are left out, the next line is looked for first, so that a processor works on several lines. Where
      // all are numbers, their parsing finds it sooner.
      line_end_ = looks_ahead_ ? quick::first_of('\n', '\n', line) : nullptr;
      const std::uint64_t first = count_;
      const bool empty = *line == '\n' && run_.plain;
      at_ = line;
      const bool plain = empty || take_line();
      if (!plain) forget(first);
      if (plain != run_.plain || run_.end == run_.begin) open(plain, line, first);
      if (line_end_ == nullptr) line_end_ = quick::first_of('\n', '\n', plain ? at_ : line);
      line = line_end_ + 1;
      run_.end = offset(line);
      if (!plain) continue;
      if (!empty && run_.ragged == LineRun::none && cut_.numbers == 0 && fields_ != cut_.columns)
        run_.ragged = run_.lines;
      ++run_.lines;
      if (!empty) ++run_.filled;
    }
    close();
  }

 private:
  struct Note {
    std::uint64_t index = LineRun::none;
    std::string_view text;
    std::uint64_t line = 0;  // of the block
  };

  [[nodiscard]] std::uint64_t offset(const char* at) const noexcept {
    return position_ + static_cast<std::uint64_t>(at - text_.data());
  }
  [[nodiscard]] bool is_gap(char c) const noexcept { return is_blank(c) && c != cut_.delimiter; }
  [[nodiscard]] bool is_end(char c) const noexcept { return c == '\n' || c == '\r'; }
  [[nodiscard]] bool is_stop(char c) const noexcept {
    return is_end(c) || (cut_.delimiter == '\0' ? is_blank(c) : c == cut_.delimiter);
  }

  void open(bool plain, const char* line, std::uint64_t first) {
    close();
    run_ = {};
    run_.plain = plain;
    run_.begin = offset(line);
    run_first_ = first;
  }
  void close() {
    if (run_.end == run_.begin) return;
    if (run_.plain) {
      run_.count = count_ - run_first_;
      const std::size_t size = cut_.dtype ? size_of(*cut_.dtype) : sizeof(std::uint64_t);
      run_.values = reinterpret_cast<const std::byte*>(block_.words.get()) + run_first_ * size;
      if (floats_) run_.floats_from = decimal_.index - std::min(decimal_.index, run_first_);
      tell(decimal_, run_.decimal);
      tell(std::exchange(negative_, {}), run_.negative);
      tell(std::exchange(inexact_, {}), run_.inexact);
      if (wide_ != LineRun::none) run_.wide = std::exchange(wide_, LineRun::none) - run_first_;
    }
    block_.runs.push_back(std::move(run_));
  }
  void tell(const Note& note, LineRun::Fact& fact) const {
    if (note.index == LineRun::none || note.index < run_first_) return;
    fact = {note.index - run_first_, note.line, printable(note.text)};
  }
  // Takes the numbers of an unfinished line back.
  void forget(std::uint64_t first) {
    count_ = first;
    const auto drop = [&](Note& note) {
      if (note.index != LineRun::none && note.index >= first) note = {};
    };
    floats_ = floats_ && decimal_.index < first;
    drop(decimal_);
    drop(negative_);
    drop(inexact_);
    if (wide_ != LineRun::none && wide_ >= first) wide_ = LineRun::none;
  }

  // Takes the line at at_: goes to its end, or leaves what follows the numbers out. False, with at_ anywhere, where it
  // needs TextFields.
  bool take_line() {
    const char* const line = at_;
    if (is_end(*line) || (cut_.hash && *line == '#')) return false;
    if (has_comments_ || has_returns_) {
      const std::string_view all(line, static_cast<std::size_t>(line_end_ - line));
      if (has_comments_ && all.find(cut_.comment) != std::string_view::npos) return false;
      const std::size_t back = all.find('\r');
      if (has_returns_ && back != std::string_view::npos && back + 1 != all.size()) return false;
    }
    fields_ = 0;
    last_ = false;
    if (cut_.delimiter == '\0') skip_gap();
    while (fields_ < cut_.skip) {
      if (last_ || !skip_field()) return false;
    }
    const std::uint64_t until = cut_.numbers == 0 ? LineRun::none : cut_.skip + cut_.numbers;
    do {
      if (last_ || !take_number()) return false;
    } while (fields_ != until && !(last_ && cut_.numbers == 0));
    if (!last_ && !skip_rest()) return false;
    return cut_.fields == 0 || fields_ == cut_.fields;
  }

  void skip_gap() {
    while (is_gap(*at_)) ++at_;
  }
  // After a field: goes to the next one, or to the line's end. False where something else follows.
  bool end_field() {
    ++fields_;
    const char* const from = at_;
    skip_gap();
    last_ = is_end(*at_);
    if (last_) return *at_ == '\n' || at_[1] == '\n';
    if (cut_.delimiter == '\0') return at_ != from;
    return *at_++ == cut_.delimiter;
  }

  bool take_number() {
    if (cut_.delimiter != '\0' && *at_ == '"') return take_other(at_);
    const char* const field = at_;
    if (cut_.delimiter != '\0') skip_gap();
    QuickNumber number;
    const char* end = take_quick_number(at_, cut_.point, number);
    if (end == nullptr || !(is_stop(*end) || is_gap(*end))) return take_other(field);
    const std::string_view text(at_, static_cast<std::size_t>(end - at_));
    at_ = end;
    if (cut_.delimiter != '\0') {
      while (is_gap(*end)) ++end;
    }
    const auto size = static_cast<std::size_t>(end - field);
    return size <= longest_number && end_field() && add(number, text, {field, size});
  }
  // nan, inf, +5, many digits, "5".
  bool take_other(const char* field) {
    if (cut_.point != '.') return false;
    const bool quoted = *field == '"';
    const char* end = field + (quoted ? 1 : 0);
    const char* const begin = end;
    while (!(quoted ? *end == '"' || is_end(*end) : is_stop(*end))) ++end;
    const std::string_view all(begin, static_cast<std::size_t>(end - begin));
    if (all.size() > longest_number || (quoted && *end != '"')) return false;
    const TextNumber number = parse_any_number(trimmed(all));
    if (number.kind != TextNumber::whole && number.kind != TextNumber::decimal) return false;
    at_ = end + (quoted ? 1 : 0);
    return end_field() &&
           add({number.kind == TextNumber::whole, number.negative, number.magnitude, number.value}, trimmed(all), all);
  }

  // `text` is the number, `field` all of its field.
  bool add(const QuickNumber& number, std::string_view text, std::string_view field) {
    if (put_ != nullptr) {
      if (!put_(block_.words.get(), count_, number, text)) return false;
      ++count_;
      return true;
    }
    std::uint64_t word = std::bit_cast<std::uint64_t>(number.value);
    if (!number.whole) {
      if (!std::exchange(floats_, true)) note(decimal_, field);
    } else if (floats_) {
      if (number.magnitude > quick::exact_whole) return false;
      const auto magnitude = static_cast<double>(number.magnitude);
      word = std::bit_cast<std::uint64_t>(number.negative ? -magnitude : magnitude);
    } else {
      constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
      if (number.magnitude > most || (number.negative && number.magnitude == 0)) return false;
      if (number.negative && negative_.index == LineRun::none) note(negative_, field);
      if (number.magnitude > quick::exact_whole) {
        wide_ = std::min(wide_, count_);
        if (inexact_.index == LineRun::none && !exact_in_f64(number.magnitude)) note(inexact_, field);
      }
      word = number.negative ? std::uint64_t{0} - number.magnitude : number.magnitude;
    }
    block_.words[count_++] = word;
    return true;
  }
  void note(Note& target, std::string_view field) const { target = {count_, field, run_.plain ? run_.lines : 0}; }

  // False where quotes in the field are not around all of it.
  bool skip_field() {
    const char* const field = at_;
    if (has_quotes_ && *at_ == '"') {
      for (++at_; *at_ != '"' || at_[1] == '"'; ++at_) {
        if (is_end(*at_)) return false;
        if (*at_ == '"') ++at_;
      }
      ++at_;
      return is_stop(*at_) && end_field();
    }
    if (cut_.delimiter == '\0') {
      while (!is_stop(*at_)) ++at_;
    } else {
      at_ = quick::first_of(cut_.delimiter, '\n', at_);
      if (*at_ == '\n' && at_ != field && at_[-1] == '\r') --at_;
    }
    if (has_quotes_ && std::memchr(field, '"', static_cast<std::size_t>(at_ - field)) != nullptr) return false;
    return end_field();
  }
  bool skip_rest() {
    if (cut_.fields == 0 && !has_quotes_) return true;
    if (has_quotes_ || cut_.delimiter == '\0') {
      while (!last_) {
        if (!skip_field()) return false;
      }
      return true;
    }
    ++fields_;
    for (;; at_ += 8) {
      const std::uint64_t word = quick::load_eight(at_);
      const std::uint64_t ends = quick::bytes_that_are('\n', word);
      const std::uint64_t delimiters = quick::bytes_that_are(cut_.delimiter, word);
      fields_ += count_of_bytes(delimiters & (ends ^ (ends - 1)));  // those in front of the first end
      if (ends == 0) continue;
      at_ += std::countr_zero(ends) / 8;
      return true;
    }
  }

  const LineCut& cut_;
  std::string_view text_;
  std::uint64_t position_;
  LineBlocks::Block& block_;
  Put put_;
  bool has_quotes_;
  bool has_comments_;
  bool has_returns_;
  bool looks_ahead_;
  const char* at_ = nullptr;
  const char* line_end_ = nullptr;
  std::uint64_t fields_ = 0;  // of the line so far
  bool last_ = false;         // at_ is at the line's end
  std::uint64_t count_ = 0;   // numbers of the block
  bool floats_ = false;
  Note decimal_;
  Note negative_;
  Note inexact_;
  std::uint64_t wide_ = LineRun::none;
  LineRun run_;
  std::uint64_t run_first_ = 0;
};

LineBlocks::LineBlocks(std::size_t block_bytes, std::uint64_t memory)
    : block_bytes_(block_bytes != 0 ? block_bytes
                                    : std::clamp<std::uint64_t>(memory / (8 * most_blocks), least_block, fast_block)),
      list_(most_blocks) {}

LineBlocks::Found LineBlocks::read(Reader& reader, const LineCut& cut, std::uint64_t limit) {
  clear();
  const std::uint64_t start = reader.position();
  const std::uint64_t within = limit - std::min(limit, start);
  std::string_view text = reader.hold((blocks_ + 1) * block_bytes_ + Reader::excess);
  std::mutex lock;
  std::size_t cut_to = 0;  // where the next block begins
  bool more = true;        // bytes may follow
  const auto next_lines = [&] {
    while (more && text.size() - cut_to < block_bytes_ + Reader::excess) {
      const std::size_t before = text.size();
      text = reader.hold_more(block_bytes_);
      more = text.size() != before;
    }
    const std::string_view lines = text.substr(0, within).substr(cut_to, block_bytes_);
    return lines.substr(0, lines.rfind('\n') + 1);
  };
  if (next_lines().empty())
    return std::min<std::uint64_t>(text.size(), within) < block_bytes_ ? Found::rest : Found::long_line;
  const std::size_t tasks = more ? blocks_ : std::min(blocks_, text.size() / block_bytes_ + 1);
  runtime::parallel_tasks(tasks, [&](std::uint64_t) {
    std::unique_lock guard(lock);
    const std::string_view lines = next_lines();
    if (lines.empty()) return;
    const std::uint64_t position = start + cut_to;
    cut_to += lines.size();
    Block& block = list_[used_++];
    guard.unlock();
    LineParser(cut, lines, position, block).parse();
  });
  blocks_ = std::min(2 * blocks_, most_blocks);
  return Found::lines;
}

LineRun* LineBlocks::at(std::uint64_t position) noexcept {
  for (; block_ < used_; ++block_, run_ = 0) {
    std::vector<LineRun>& runs = list_[block_].runs;
    for (; run_ < runs.size(); ++run_) {
      if (runs[run_].end > position) return &runs[run_];
    }
  }
  return nullptr;
}

}  // namespace masu::io
