// SPDX-License-Identifier: Apache-2.0
// Entries of a text that are no numbers: texts, counted in a dictionary and given as their places in its order, and
// dates. Files are read in parts, each on a thread.
#include "io/counted_texts.h"
#include "io/instants.h"
#include "io/rows.h"
#include "io/sources.h"
#include "io/text_column.h"
#include "runtime/environment.h"
#include "runtime/parallel.h"

#include <fmt/format.h>
#include <masu/device.h>
#include <masu/interrupt.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace masu::io {
namespace {

constexpr std::uint64_t looked_at = 2048;                     // entries that one thread reads before others are started
constexpr std::uint64_t least_part = std::uint64_t{2} << 20;  // bytes for a thread
constexpr unsigned part_shift = 48;  // entries of a part are fewer, so places grow from part to part
constexpr std::uint64_t least_memory = std::uint64_t{1} << 20;  // so that few texts in front of a number always fit
constexpr std::uint64_t unknown_memory = std::uint64_t{1} << 30;

// What the entries are, as far as they are known; later ones stand over earlier ones.
enum class Kind { texts, instants, numbers };

class Texts final : public ValueNames {
 public:
  // After texts.put_in_order().
  explicit Texts(std::unique_ptr<const CountedTexts> texts)
      : ValueNames(ValueNames::Kind::texts), texts_(std::move(texts)), counts_(texts_->size()) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] = texts_->count(i);
  }
  [[nodiscard]] std::string operator()(std::int64_t value) const override {
    return std::string((*texts_)[static_cast<std::uint64_t>(value)]);
  }
  [[nodiscard]] std::span<const std::uint64_t> counts() const noexcept override { return counts_; }

 private:
  std::unique_ptr<const CountedTexts> texts_;
  std::vector<std::uint64_t> counts_;
};

class Instants final : public ValueNames {
 public:
  explicit Instants(InstantForm least) : ValueNames(ValueNames::Kind::instants), least_(least) {}
  [[nodiscard]] std::string operator()(std::int64_t value) const override { return instant_text(value, least_); }

 private:
  InstantForm least_;
};

// Adds the report of the part that follows.
void append(TextReport& all, const TextReport& part) {
  const std::uint64_t before = part.lines_known ? 0 : all.end_line - part.begin_line;
  for (std::size_t i = 0; i < all.left_out.size(); ++i) {
    TextReport::Kind& kind = all.left_out[i];
    const TextReport::Kind& more = part.left_out[i];
    if (kind.count == 0 && more.count != 0) kind = {0, more.line + before, more.first};
    kind.count += more.count;
  }
  all.places += part.places;
  all.lines += part.lines;
  all.comment_lines += part.comment_lines;
  all.end_line = part.end_line + before;
}

// The entries of some of the lines.
struct Found {
  explicit Found(const SourceOptions& options) : gaps(options.tmpdir, options.memory) {}
  std::vector<std::uint32_t> ids;  // of texts
  std::vector<std::int64_t> instants;
  InstantForm form = InstantForm::day;
  std::uint64_t count = 0;    // entries that were read
  std::uint64_t missing = 0;  // and left out in front of the last of them
  Gaps gaps;
  TextReport report;
  std::exception_ptr error;
};

// Reads entries, which are taken to be of a kind until one shows that all are of another.
class EntryReader {
 public:
  EntryReader(Rows& rows, const SourceOptions& options, std::atomic<Kind>& kind, Found& found, CountedTexts& texts,
              std::uint64_t part)
      : rows_(rows), options_(options), kind_(kind), found_(found), texts_(texts, writer_options(part)) {}

  // Up to `most` more; false after the last one.
  bool read(std::uint64_t most) {
    const std::uint64_t end = found_.count + most;
    const bool more = kind_ == Kind::texts ? read_texts(end) : read_instants(end);
    found_.report = rows_.report();
    return more;
  }
  // So that the kind is the one that all entries show.
  void flush() { texts_.flush(); }

 private:
  [[nodiscard]] bool by_line() const noexcept { return rows_.fields().empty(); }
  [[nodiscard]] std::string_view entry() const noexcept { return by_line() ? rows_.text() : rows_.fields().front(); }

  CountedTexts::Writer::Options writer_options(std::uint64_t part) {
    CountedTexts::Writer::Options options{part << part_shift, options_.any_order ? nullptr : &found_.ids, {}};
    if (options_.entries != Entries::texts) options.look = [this](std::string_view text) { look_at(text); };
    return options;
  }
  bool read_texts(std::uint64_t end) {
    while (found_.count < end) {
      if (!rows_.next()) {
        texts_.finish();
        return false;
      }
      const std::string_view text = entry();
      if (text.empty() || (is_blank(text.front()) && trimmed(text).empty())) {
        if (options_.strict || !options_.needed_by.empty()) flush();  // it may be an error of another kind's
        if (kind_ != Kind::texts) return true;
        rows_.leave_out(text, "a text");
        continue;
      }
      add_place();
      if (!options_.any_order) check_memory(found_.ids, 1);
      texts_.add(text);
      if (kind_ != Kind::texts) return true;
    }
    return true;
  }
  // Whether a new text shows that the entries are something else.
  void look_at(std::string_view text) {
    Kind is = parse_instant(trimmed(text)) ? Kind::instants : Kind::texts;
    if (has_number(text)) is = Kind::numbers;
    for (Kind known = kind_; known < is && !kind_.compare_exchange_weak(known, is);) {
    }
  }
  bool has_number(std::string_view text) {
    const char delimiter = rows_.delimiter();
    for (std::size_t at = 0; at <= text.size();) {
      const auto is_end = [&](char c) { return delimiter == '\0' ? is_blank(c) : c == delimiter; };
      std::size_t end = text.size();
      if (by_line()) end = static_cast<std::size_t>(std::find_if(text.begin() + at, text.end(), is_end) - text.begin());
      std::string_view field = text.substr(at, end - at);
      if (by_line() && field.size() > 1 && field.front() == '"' && field.back() == '"')
        field = field.substr(1, field.size() - 2);
      if (parse_any_number(number_text(field, options_.decimal == ",", pointed_)).kind != TextNumber::no_number)
        return true;
      if (end == text.size()) return false;
      at = end + 1;
    }
    return false;
  }

  bool read_instants(std::uint64_t end) {
    while (found_.count < end) {
      if (!rows_.next()) return false;
      const std::string_view text = trimmed(entry());
      const std::optional<Instant> instant = parse_instant(text);
      if (!instant) {
        if (!text.empty() && has_number(text)) {
          kind_ = Kind::numbers;
          return true;
        }
        rows_.leave_out(entry(), "a date or a time");
        continue;
      }
      add_place();
      check_memory(found_.instants, 1);
      found_.instants.push_back(instant->us);
      found_.form = std::max(found_.form, instant->form);
      if (found_.count % looked_at == 0 && kind_ != Kind::instants) return true;
    }
    return true;
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
  const SourceOptions& options_;
  std::atomic<Kind>& kind_;
  Found& found_;
  CountedTexts::Writer texts_;
  std::string pointed_;
};

class EntrySource final : public Source {
 public:
  EntrySource(SourceInfo info, SourceOptions options)
      : info_(std::move(info)), options_(std::move(options)), gaps_(options_.tmpdir, options_.memory) {}

  // What the parts have found becomes the values.
  void take(std::vector<Found> parts, std::unique_ptr<CountedTexts> texts, Kind kind) {
    InstantForm form = InstantForm::day;
    std::uint64_t count = 0;
    report_ = parts.front().report;
    std::vector<Source::Gap> gaps(1);
    for (const Found& part : parts) {
      if (&part != &parts.front()) append(report_, part.report);
      for (std::uint64_t i = 0, before = 0; part.gaps.read(i, gaps) != 0; ++i) {
        gaps_.add(count + gaps.front().number, gaps.front().missing - std::exchange(before, gaps.front().missing));
      }
      const std::uint64_t after = part.report.places - part.count - part.missing;
      count += part.count;
      if (options_.places && after != 0) gaps_.add(count, after);
      form = std::max(form, part.form);
    }
    report_.instants = report_.texts = kind == Kind::instants;
    info_.count = count;
    if (kind == Kind::instants) take_instants(parts, form);
    else take_texts(parts, std::move(texts));
  }

  [[nodiscard]] const SourceInfo& info() const noexcept override { return info_; }
  std::uint64_t read(void* target, std::uint64_t count) override {
    count = std::min(count, *info_.count - position_);
    if (options_.any_order && !instants_given()) read_counted(static_cast<std::uint32_t*>(target), count);
    else if (count != 0) std::memcpy(target, at(position_), count * size_of(info_.dtype));
    position_ += count;
    return count;
  }
  std::optional<ArrayView> view(std::uint64_t count) override {
    if (options_.any_order && !instants_given()) return std::nullopt;
    count = std::min(count, *info_.count - position_);
    const std::uint64_t first = std::exchange(position_, position_ + count);
    return ArrayView(info_.dtype, at(first), count);
  }
  void rewind() override { position_ = counted_ = within_ = 0; }
  [[nodiscard]] TextReport report() const override { return report_; }
  [[nodiscard]] std::uint64_t bad_lines() const noexcept override {
    std::uint64_t sum = 0;
    for (const TextReport::Kind& kind : report_.left_out) sum += kind.count;
    return sum;
  }
  void to_places(std::span<std::uint64_t> indices) override { gaps_.to_places(indices); }
  std::uint64_t gaps(std::uint64_t first, std::span<Gap> target) override { return gaps_.read(first, target); }

 private:
  [[nodiscard]] bool instants_given() const noexcept { return info_.dtype == Dtype::i64; }
  [[nodiscard]] const void* at(std::uint64_t first) const noexcept {
    return instants_given() ? static_cast<const void*>(instants_.data() + first) : values_.data() + first;
  }
  void take_instants(std::vector<Found>& parts, InstantForm form) {
    instants_ = std::move(parts.front().instants);
    for (std::size_t i = 1; i < parts.size(); ++i) {
      instants_.insert(instants_.end(), parts[i].instants.begin(), parts[i].instants.end());
      parts[i].instants = {};
    }
    info_.dtype = Dtype::i64;
    info_.names = std::make_shared<Instants>(form);
  }
  void take_texts(std::vector<Found>& parts, std::unique_ptr<CountedTexts> texts) {
    const std::vector<std::uint32_t> of_id = texts->put_in_order(!options_.any_order);
    info_.dtype = Dtype::u32;
    info_.names = std::make_shared<Texts>(std::move(texts));
    if (options_.any_order) return;
    std::vector<std::uint64_t> firsts;
    std::uint64_t count = 0;
    for (const Found& part : parts) count += (firsts.emplace_back(count), part.ids.size());
    values_.resize(count);
    runtime::parallel_tasks(parts.size(), [&](std::uint64_t i) {
      for (std::uint64_t j = 0; j < parts[i].ids.size(); ++j) values_[firsts[i] + j] = of_id[parts[i].ids[j]];
      parts[i].ids = {};
    });
  }
  // The values in order.
  void read_counted(std::uint32_t* target, std::uint64_t count) {
    const auto counts = info_.names->counts();
    while (count != 0) {
      const std::uint64_t some = std::min(count, counts[counted_] - within_);
      target = std::fill_n(target, some, static_cast<std::uint32_t>(counted_));
      count -= some;
      within_ += some;
      if (within_ != counts[counted_]) continue;
      ++counted_;
      within_ = 0;
    }
  }

  SourceInfo info_;
  SourceOptions options_;
  TextReport report_;
  Gaps gaps_;
  std::vector<std::uint32_t> values_;
  std::vector<std::int64_t> instants_;
  std::uint64_t position_ = 0;
  std::uint64_t counted_ = 0;  // read_counted: the value, and how many of it were given
  std::uint64_t within_ = 0;
};

// Reads the lines on several threads.
std::vector<Found> read_parts(const Input& input, const SourceOptions& options, std::span<const std::string> columns,
                              std::uint64_t parts, std::atomic<Kind>& kind, CountedTexts& texts) {
  std::vector<Found> found;
  SourceOptions of_part = options;
  of_part.memory = std::max(of_part.memory / parts, least_memory);
  for (std::uint64_t i = 0; i < parts; ++i) found.emplace_back(of_part);
  runtime::parallel_tasks(parts, [&](std::uint64_t i) {
    try {
      SourceOptions own = of_part;
      own.format = InputFormat::text;
      own.part = i;
      own.parts = parts;
      Rows rows(input.path, own, columns, columns.empty());
      EntryReader reader(rows, of_part, kind, found[i], texts, i);
      const Kind begun = kind;
      while (kind == begun && reader.read(looked_at)) check_interrupted();
    } catch (...) {
      found[i].error = std::current_exception();
    }
  });
  return found;
}

}  // namespace

std::shared_ptr<const ValueNames> join_texts(std::span<const std::shared_ptr<const ValueNames>> parts,
                                             const SourceOptions& options,
                                             std::vector<std::vector<std::uint32_t>>& values) {
  auto all = std::make_unique<CountedTexts>(Dictionary::Rules{options.memory, options.ignore_case, "all inputs"});
  values.resize(parts.size());
  std::uint64_t place = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto counts = parts[i]->counts();
    for (std::size_t v = 0; v < counts.size(); ++v)
      values[i].push_back(all->add((*parts[i])(static_cast<std::int64_t>(v)), place++, counts[v]));
  }
  const std::vector<std::uint32_t> of_id = all->put_in_order(true);
  for (std::vector<std::uint32_t>& part : values) {
    for (std::uint32_t& value : part) value = of_id[value];
  }
  return std::make_shared<Texts>(std::move(all));
}

std::unique_ptr<Source> open_entries(Input& input) {
  SourceOptions options = input.options;
  if (options.memory == 0) options.memory = std::max(runtime::available_memory(), unknown_memory) / 2;
  options.memory = std::max(options.memory, least_memory);
  SourceInfo info;
  info.name = input.reader.name();
  info.format = "text";
  const std::uint64_t bytes = input.path.empty() || !input.reader.is_file() ? 0 : input.reader.size().value_or(0);
  std::vector<std::string> columns;
  if (!options.column.empty()) columns.push_back(options.column);
  std::optional<Rows> rows;
  const auto give_back = [&] {
    input.reader = std::move(rows->reader());
    input.reader.seek(0);
  };
  rows.emplace(std::move(input.reader), options, columns, columns.empty());
  if (columns.empty() && rows->names().size() == 1) {
    give_back();
    columns.emplace_back("number:1");
    rows.emplace(std::move(input.reader), options, columns);
  }
  rows->keep_for_rewind();
  std::atomic<Kind> kind{Kind::texts};
  std::vector<Found> found;
  std::unique_ptr<CountedTexts> texts;
  const std::uint64_t parts = std::min<std::uint64_t>(cpu_threads(), bytes / least_part);
  for (;;) {
    const Kind begun = kind;
    if (begun == Kind::numbers) break;
    const auto begin = [&] {
      found.clear();
      texts = std::make_unique<CountedTexts>(Dictionary::Rules{options.memory, options.ignore_case, info.name});
    };
    begin();
    found.emplace_back(options);
    EntryReader reader(*rows, options, kind, found.front(), *texts, 0);
    bool more = reader.read(looked_at);
    reader.flush();
    if (kind == begun && more && parts > 1) {
      begin();
      found = read_parts(input, options, columns, parts, kind, *texts);
    } else if (kind == begun) {
      if (options.entries == Entries::texts) rows->reader().forget();
      while (kind == begun && more && (more = reader.read(looked_at))) check_interrupted();
    }
    if (kind == begun) break;
    rows->rewind();
  }
  const bool any = std::any_of(found.begin(), found.end(), [](const Found& part) { return part.count != 0; });
  for (const Found& part : found) {
    if (kind != Kind::numbers && part.error) std::rethrow_exception(part.error);
  }
  if (kind == Kind::numbers || (!any && options.entries != Entries::texts) ||
      (kind == Kind::texts && options.entries == Entries::instants)) {
    give_back();
    return nullptr;
  }
  if (!any) fail_io(info.name, "has no text");
  if (columns.empty() && rows->names().size() > 1) rows->refuse_columns();
  auto source = std::make_unique<EntrySource>(std::move(info), std::move(options));
  source->take(std::move(found), std::move(texts), kind);
  return source;
}

}  // namespace masu::io
