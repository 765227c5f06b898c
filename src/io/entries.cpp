// SPDX-License-Identifier: Apache-2.0
// Entries of a text that are no numbers: texts, counted in a dictionary and given as their places in its order, and
// dates. Files are read in parts, each on a thread.
#include "io/entry_column.h"
#include "io/sources.h"
#include "runtime/environment.h"
#include "runtime/parallel.h"

#include <fmt/format.h>
#include <masu/device.h>
#include <masu/interrupt.h>
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace masu::io {
namespace {

constexpr std::uint64_t looked_at = 2048;                     // entries that one thread reads before others are started
constexpr std::uint64_t least_part = std::uint64_t{2} << 20;  // bytes for a thread
constexpr std::uint64_t least_memory = std::uint64_t{1} << 20;  // so that few texts in front of a number always fit
constexpr std::uint64_t unknown_memory = std::uint64_t{1} << 30;

class Texts final : public ValueNames {
 public:
  // After texts.put_in_order().
  explicit Texts(std::unique_ptr<const CountedTexts> texts)
      : ValueNames(ValueNames::Kind::texts), texts_(std::move(texts)) {}
  [[nodiscard]] std::string operator()(std::int64_t value) const override {
    return std::string((*texts_)[static_cast<std::uint64_t>(value)]);
  }
  [[nodiscard]] std::span<const std::uint64_t> counts() const noexcept override { return texts_->counts(); }

 private:
  std::unique_ptr<const CountedTexts> texts_;
};

class Instants final : public ValueNames {
 public:
  explicit Instants(InstantForm least) : ValueNames(ValueNames::Kind::instants), least_(least) {}
  [[nodiscard]] std::string operator()(std::int64_t value) const override { return instant_text(value, least_); }

 private:
  InstantForm least_;
};

// A column that is wanted, or the whole lines.
struct Wanted {
  explicit Wanted(SourceOptions given)
      : options(std::move(given)), kind(options.entries == Entries::numbers ? EntryKind::numbers : EntryKind::texts) {}
  SourceOptions options;
  std::atomic<EntryKind> kind;
  std::vector<FoundEntries> parts;
  std::unique_ptr<CountedTexts> texts;  // of all parts

  // Each part may take `memory` bytes.
  void begin(std::uint64_t count, std::uint64_t memory, const std::string& name) {
    SourceOptions of_part = options;
    of_part.memory = memory;
    parts.clear();
    for (std::uint64_t i = 0; i < count; ++i) parts.emplace_back(of_part, name);
    texts = std::make_unique<CountedTexts>(Dictionary::Rules{options.memory, options.ignore_case, name});
  }
};

bool same_kinds(const std::deque<Wanted>& wanted, std::span<const EntryKind> kinds) {
  return std::ranges::equal(wanted, kinds, {}, [](const Wanted& each) { return each.kind.load(); });
}

// Reads rows for all columns at once.
class TableReader {
 public:
  TableReader(Rows& rows, std::deque<Wanted>& wanted, const std::deque<SourceOptions>& options, std::uint64_t part)
      : rows_(rows) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::optional<std::size_t> column = rows.fields().empty() ? std::nullopt : std::optional(i);
      columns_.push_back(std::make_unique<EntryColumn>(rows, column, options[i], wanted[i].kind, wanted[i].parts[part],
                                                       *wanted[i].texts, part));
    }
  }
  // Up to `most` more rows; false after the last one. Ends early where a column turns out to be of another kind.
  bool read(std::uint64_t most) {
    bool more = true;
    bool same = true;
    EntryColumn& first = *columns_.front();
    const std::span others = std::span(columns_).subspan(1);
    for (; same && most != 0 && (more = rows_.next()); --most) {
      same = first.take();
      for (const auto& column : others) same = column->take() && same;
    }
    for (const auto& column : columns_) column->end(more);
    return more;
  }
  void flush() {
    for (const auto& column : columns_) column->flush();
  }

 private:
  Rows& rows_;
  std::vector<std::unique_ptr<EntryColumn>> columns_;
};

class EntrySource final : public Source {
 public:
  EntrySource(SourceInfo info, SourceOptions options)
      : info_(std::move(info)), options_(std::move(options)), gaps_(options_.tmpdir, options_.memory) {}

  // What the parts have found becomes the values.
  void take(std::vector<FoundEntries> parts, std::unique_ptr<CountedTexts> texts, EntryKind kind) {
    InstantForm form = InstantForm::day;
    std::uint64_t count = 0;
    report_ = parts.front().report;
    std::vector<Source::Gap> gaps(1);
    std::vector<std::uint64_t> lines(1);
    for (const FoundEntries& part : parts) {
      if (&part != &parts.front()) lines.push_back(append(report_, part.report));
      for (std::uint64_t i = 0, before = 0; part.gaps.read(i, gaps) != 0; ++i) {
        gaps_.add(count + gaps.front().number, gaps.front().missing - std::exchange(before, gaps.front().missing));
      }
      const std::uint64_t after = part.report.places - part.count - part.missing;
      count += part.count;
      if (options_.places && after != 0) gaps_.add(count, after);
      form = std::max(form, part.form);
    }
    report_.texts = kind == EntryKind::numbers ? options_.entries == Entries::any : kind == EntryKind::instants;
    report_.instants = kind == EntryKind::instants;
    info_.count = count;
    if (kind == EntryKind::instants) take_instants(parts, form);
    else if (kind == EntryKind::texts) take_texts(parts, std::move(texts));
    else take_numbers(parts, lines);
  }

  [[nodiscard]] const SourceInfo& info() const noexcept override { return info_; }
  std::uint64_t read(void* target, std::uint64_t count) override {
    count = std::min(count, *info_.count - position_);
    if (!numbers_.empty()) read_numbers(static_cast<std::uint64_t*>(target), count);
    else if (options_.any_order && !instants_given()) read_counted(static_cast<std::uint32_t*>(target), count);
    else if (count != 0) std::memcpy(target, at(position_), count * size_of(info_.dtype));
    position_ += count;
    return count;
  }
  std::optional<ArrayView> view(std::uint64_t count) override {
    if (!numbers_.empty() || (options_.any_order && !instants_given())) return std::nullopt;
    count = std::min(count, *info_.count - position_);
    const std::uint64_t first = std::exchange(position_, position_ + count);
    return ArrayView(info_.dtype, at(first), count);
  }
  bool retype(Dtype dtype) override {
    if (numbers_.empty() || (dtype != Dtype::i64 && dtype != Dtype::u64 && dtype != Dtype::f64)) return false;
    const FloatingPointScope usual;
    for (TextColumn& part : numbers_) part.retype(dtype);
    info_.dtype = dtype;
    return true;
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
  void take_instants(std::vector<FoundEntries>& parts, InstantForm form) {
    instants_ = std::move(parts.front().instants);
    for (std::size_t i = 1; i < parts.size(); ++i) {
      instants_.insert(instants_.end(), parts[i].instants.begin(), parts[i].instants.end());
      parts[i].instants = {};
    }
    info_.dtype = Dtype::i64;
    info_.names = std::make_shared<Instants>(form);
  }
  // All parts get the dtype that their numbers need together.
  void take_numbers(std::vector<FoundEntries>& parts, std::span<const std::uint64_t> lines) {
    Dtype dtype = Dtype::i64;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      TextColumn& numbers = numbers_.emplace_back(std::move(parts[i].numbers));
      numbers.end();
      numbers.shift_lines(lines[i]);
      if (numbers.dtype() == Dtype::f64 || dtype == Dtype::i64) dtype = numbers.dtype();
    }
    retype(dtype);
  }
  void read_numbers(std::uint64_t* target, std::uint64_t count) {
    std::uint64_t first = position_;
    for (TextColumn& part : numbers_) {
      const std::uint64_t some = first < part.count() ? part.read(first, target, count) : 0;
      target += some;
      count -= some;
      first = some != 0 ? 0 : first - std::min(first, part.count());
    }
  }
  void take_texts(std::vector<FoundEntries>& parts, std::unique_ptr<CountedTexts> texts) {
    const std::vector<std::uint32_t> of_id = texts->put_in_order(!options_.any_order);
    info_.dtype = Dtype::u32;
    info_.names = std::make_shared<Texts>(std::move(texts));
    if (options_.any_order) return;
    std::vector<std::uint64_t> firsts;
    std::uint64_t count = 0;
    for (const FoundEntries& part : parts) count += (firsts.emplace_back(count), part.ids.size());
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
  std::vector<TextColumn> numbers_;  // of the parts
  std::uint64_t position_ = 0;
  std::uint64_t counted_ = 0;  // read_counted: the value, and how many of it were given
  std::uint64_t within_ = 0;
};

// A table whose columns are read at once.
struct Table {
  Rows& rows;
  const SourceOptions& options;
  std::string path;                         // of a text in a file
  std::span<const std::string> columns;     // none: lines
  bool stops_at_numbers;                    // another reader takes them
  std::deque<Wanted> wanted = {};           // one for each column
  std::atomic<std::uint64_t> position = 0;  // bytes of all parts that were read
};

// Tells how far the reading is, on the thread that opens.
void tell(Table& table, std::uint64_t bytes) {
  const std::uint64_t read = table.position += bytes;
  if (!table.options.reading) return;
  const std::uint64_t all = table.rows.size().value_or(0);
  table.options.reading(all != 0 ? std::min(read, all) : read, all);
}

// Reads the lines on several threads.
void read_parts(Table& table, std::uint64_t parts, std::span<const EntryKind> begun) {
  std::deque<SourceOptions> of_parts;
  for (Wanted& wanted : table.wanted) {
    SourceOptions& of_part = of_parts.emplace_back(wanted.options);
    of_part.memory = std::max(of_part.memory / parts, least_memory);
    wanted.begin(parts, of_part.memory, table.rows.name());
  }
  const std::thread::id opening = std::this_thread::get_id();
  runtime::parallel_tasks(parts, [&](std::uint64_t i) {
    try {
      SourceOptions own = table.options;
      own.format = InputFormat::text;
      own.part = i;
      own.parts = parts;
      Rows rows(table.path, own, table.columns, table.columns.empty());
      if (rows.size() != table.rows.size()) rows.reader().fail("the file changed while it was read");
      TableReader reader(rows, table.wanted, of_parts, i);
      std::uint64_t before = rows.position();
      for (bool more = true; more && same_kinds(table.wanted, begun);) {
        more = reader.read(looked_at);
        check_interrupted();
        const std::uint64_t bytes = rows.position() - std::exchange(before, rows.position());
        if (std::this_thread::get_id() == opening) tell(table, bytes);
        else table.position += bytes;
      }
    } catch (const Error&) {
      for (Wanted& wanted : table.wanted) wanted.parts[i].error = std::current_exception();
    }
  });
}

// Reads all rows, again where a column turns out to be of another kind.
void read_table(Table& table, std::uint64_t parts) {
  table.rows.keep_for_rewind();
  for (;;) {
    std::vector<EntryKind> begun;
    std::deque<SourceOptions> options;
    for (Wanted& wanted : table.wanted) {
      begun.push_back(wanted.kind);
      options.push_back(wanted.options);
      wanted.begin(1, wanted.options.memory, table.rows.name());
    }
    if (table.stops_at_numbers && begun.front() == EntryKind::numbers) return;
    TableReader reader(table.rows, table.wanted, options, 0);
    bool more = reader.read(looked_at);
    reader.flush();
    if (more && parts > 1 && same_kinds(table.wanted, begun)) {
      read_parts(table, parts, begun);
    } else {
      if (table.stops_at_numbers && table.options.entries == Entries::texts) table.rows.reader().forget();
      for (std::uint64_t before = 0; more && same_kinds(table.wanted, begun);) {
        more = reader.read(looked_at);
        check_interrupted();
        tell(table, table.rows.position() - std::exchange(before, table.rows.position()));
      }
    }
    if (same_kinds(table.wanted, begun)) return;
    table.rows.rewind();
  }
}

// How many threads read a file, and what its columns may take.
std::uint64_t parts_of(std::uint64_t bytes) {
  return std::min<std::uint64_t>(cpu_threads(), bytes / least_part);
}
void set_memory(SourceOptions& options) {
  if (options.memory == 0) options.memory = std::max(runtime::available_memory(), unknown_memory) / 2;
  options.memory = std::max(options.memory, least_memory);
}

// The source of a column that was read; null where it has no entry that was asked for, or an error.
std::unique_ptr<Source> source_of(Wanted& wanted, SourceInfo info) {
  const bool any = std::ranges::any_of(wanted.parts, [](const FoundEntries& part) { return part.count != 0; });
  for (const FoundEntries& part : wanted.parts) {
    if (part.error) std::rethrow_exception(part.error);
  }
  if (!any || (wanted.kind == EntryKind::texts && wanted.options.entries == Entries::instants)) return nullptr;
  auto source = std::make_unique<EntrySource>(std::move(info), wanted.options);
  source->take(std::move(wanted.parts), std::move(wanted.texts), wanted.kind);
  return source;
}

// Reads all columns in one pass. Leaves those out that must be read alone, which is possible where `again`.
void read_together(const std::string& input, const SourceOptions& options, std::span<const ColumnChoice> columns,
                   bool again, std::vector<std::unique_ptr<Source>>& sources) {
  std::vector<std::string> names;
  for (const ColumnChoice& each : columns) names.push_back(each.column);
  Rows rows(input, options, names);
  SourceOptions own = options;
  set_memory(own);
  const std::uint64_t bytes = rows.size().value_or(0);
  if (again && bytes > own.memory) return;
  own.memory = std::max(own.memory / columns.size(), least_memory);
  Table table{rows, own, input, names, false};
  for (const ColumnChoice& each : columns) {
    own.entries = each.entries;
    table.wanted.emplace_back(own);
  }
  read_table(table, again ? parts_of(bytes) : 1);
  SourceInfo info;
  info.name = rows.name();
  info.format = "text";
  // Lines that lack some of the columns have the others.
  const auto is_whole = [](const FoundEntries& part) {
    return part.report[LeftOut::no_column].count == 0 && part.report[LeftOut::too_long].count == 0;
  };
  const bool whole = std::ranges::all_of(table.wanted.front().parts, is_whole);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (whole) sources[i] = source_of(table.wanted[i], info);
    if (sources[i] == nullptr && !again)
      fail_io(info.name, "column {} must be read alone, which a stream cannot: write it to a file",
              printable(columns[i].column));
  }
}

}  // namespace

std::shared_ptr<const ValueNames> names_of_instants(InstantForm least) {
  return std::make_shared<Instants>(least);
}

std::shared_ptr<const ValueNames> names_of_texts(const Dictionary& texts, const Dictionary::Rules& rules,
                                                 std::vector<std::uint32_t>& values) {
  auto all = std::make_unique<CountedTexts>(rules);
  for (std::uint32_t id = 0; id < texts.size(); ++id) values.push_back(all->add(texts[id], id, texts.count(id)));
  const std::vector<std::uint32_t> of_id = all->put_in_order(true);
  for (std::uint32_t& value : values) value = of_id[value];
  return std::make_shared<Texts>(std::move(all));
}

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
  set_memory(options);
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
  Table table{*rows, options, input.path, columns, true};
  Wanted& wanted = table.wanted.emplace_back(options);
  read_table(table, parts_of(bytes));
  std::unique_ptr<Source> source = wanted.kind == EntryKind::numbers ? nullptr : source_of(wanted, info);
  if (source == nullptr) {
    if (options.entries == Entries::texts) fail_io(info.name, "has no text");
    give_back();
    return nullptr;
  }
  if (columns.empty() && rows->names().size() > 1) rows->refuse_columns();
  return source;
}

std::vector<std::unique_ptr<Source>> open_columns(const std::string& input, const SourceOptions& options,
                                                  std::span<const ColumnChoice> columns) {
  const FloatingPointScope usual;
  std::vector<std::unique_ptr<Source>> sources(columns.size());
  const bool again = std::filesystem::is_regular_file(input);
  const bool rows_only = !options.dtype && options.part == 0 && options.parts == 1;
  if (columns.size() > 1 && rows_only && !is_generator(input) && file_and_array(input).second.empty()) {
    try {
      read_together(input, options, columns, again, sources);
    } catch (const Error& error) {
      // Each column alone names its own fault.
      if (!again || error.code() == ErrorCode::interrupted) throw;
    }
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (sources[i] != nullptr) continue;
    SourceOptions own = options;
    own.column = columns[i].column;
    own.entries = columns[i].entries;
    if (options.reading) {
      own.reading = [tell = options.reading, i, n = columns.size()](std::uint64_t read, std::uint64_t all) {
        tell(i * all + read, n * all);
      };
    }
    sources[i] = open(input, own);
  }
  return sources;
}

}  // namespace masu::io
