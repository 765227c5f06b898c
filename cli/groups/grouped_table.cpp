// SPDX-License-Identifier: Apache-2.0
#include "cli/groups/grouped_table.h"

#include "io/instants.h"
#include "io/numbers.h"
#include "io/reader.h"
#include "io/text_column.h"
#include "options.h"
#include "ranks.h"
#include "text.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace masu::cli {
namespace {

constexpr std::uint64_t least_part = std::uint64_t{1} << 20U;  // bytes of a text that are worth a thread
constexpr std::uint64_t rows_between = 4096;                   // looks at the memory

std::string_view entry_in(std::string_view key, std::size_t entry, std::size_t entries) {
  for (std::size_t i = 0;; ++i) {
    if (i + 1 == entries) return key;
    std::uint32_t size = 0;
    std::memcpy(&size, key.data(), sizeof size);
    if (i == entry) return key.substr(sizeof size, size);
    key.remove_prefix(sizeof size + size);
  }
}

template <class T>
void append_bytes(std::vector<std::byte>& to, const T& value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}

// What the header calls a column that was asked for.
std::string column_name(const std::string& column, std::span<const std::string> names) {
  constexpr std::string_view by_name = "name:";
  constexpr std::string_view by_number = "number:";
  if (column.starts_with(by_name)) return column.substr(by_name.size());
  std::string number = column.starts_with(by_number) ? column.substr(by_number.size()) : column;
  if (is_column_name(number) || names.empty()) return number;
  return names[std::stoull(number) - 1];
}

// NaNs are the last.
bool comes_before(const io::TextNumber& a, const io::TextNumber& b) {
  const auto rounded = [](const io::TextNumber& number) {
    if (number.kind != io::TextNumber::whole) return number.value;
    const auto value = static_cast<double>(number.magnitude);
    return number.negative ? -value : value;
  };
  const double left = rounded(a);
  const double right = rounded(b);
  if (std::isnan(left) || std::isnan(right)) return !std::isnan(left) && std::isnan(right);
  if (left < right || right < left) return left < right;
  if (a.kind != io::TextNumber::whole || b.kind != io::TextNumber::whole) return false;
  return a.negative ? a.magnitude > b.magnitude : a.magnitude < b.magnitude;
}

}  // namespace

// The sizes of all but the last stand in front of them.
std::string_view group_of(std::span<const std::string_view> entries, std::string& room) {
  if (entries.size() == 1) return entries.front();
  room.clear();
  for (const std::string_view& entry : entries) {
    const auto size = static_cast<std::uint32_t>(entry.size());
    if (&entry != &entries.back()) room.append(reinterpret_cast<const char*>(&size), sizeof size);
    room += entry;
  }
  return room;
}

// What one thread reads of a column of values.
struct GroupedTable::PartColumn {
  std::vector<std::uint32_t, io::LargePages<std::uint32_t>> ids;  // of the rows that have a value
  std::vector<std::uint64_t> places;                              // of these
  std::vector<std::uint64_t> missing;                             // rows without one, by id
  std::optional<io::TextColumn> numbers;                          // whose dtype they decide
  std::vector<std::byte> values;  // of a dtype that was asked for; instants; ids of `words`
  std::optional<io::Dictionary> words;
  io::InstantForm form = io::InstantForm::day;
};

// What one thread reads.
struct GroupedTable::Part {
  Part(io::Dictionary::Rules rules, std::size_t columns) : entries(std::move(rules)), columns(columns) {}
  io::Dictionary entries;
  std::vector<std::uint64_t> counts;  // of them, once all are read
  std::vector<PartColumn> columns;
  io::TextReport report;

  // What its rows take in the end: the values are held twice.
  [[nodiscard]] std::uint64_t memory_bytes(bool with_places) const {
    std::uint64_t bytes = entries.memory_bytes();
    for (const PartColumn& column : columns) {
      bytes += column.ids.size() * (with_places ? 40 : 24) + (column.words ? column.words->memory_bytes() : 0);
    }
    return bytes;
  }
};

struct GroupedTable::OtherKind {
  std::size_t column;
  Kind kind;
};

GroupedTable::GroupedTable(const ArrayOptions& asked, const Use& use)
    : asked_(asked), use_(use), memory_(memory_budget(asked.common)), device_(Device::open("cpu")) {
  const InputOptions& input = asked.input;
  const std::string_view what = asked.group.empty() ? "more than one --column" : "--group";
  if (ranks().several()) usage_error("{} is for one process", what);
  if (!asked.rows.empty()) usage_error("{} and --rows exclude each other", what);
  if (input.columns.size() != 1 && (!use.several || input.columns.empty()))
    usage_error("--group needs {} --column, which has the values", use.several ? "a" : "one");
  if (input.format != "auto" && input.format != "text") usage_error("{} takes a text, not {}", what, input.format);
  if (!asked.group.empty()) columns_ = split(asked.group);
  keys_ = columns_.size();
  options_ = source_options(input, asked.common);
  options_.header = options_.header || std::ranges::any_of(columns_, is_column_name);
  columns_.insert(columns_.end(), input.columns.begin(), input.columns.end());
  const bool numbers = options_.dtype || options_.entries == io::Entries::numbers;
  const bool instants = options_.entries == io::Entries::instants;
  kinds_.resize(input.columns.size(), numbers ? Kind::numbers : instants ? Kind::instants : Kind::texts);
  read();
  const std::uint64_t bytes = values().count() * size_of(values().dtype) / groups();
  device_ = device_of_rank(asked.common.device, use.work, bytes);
}

template <class T>
bool GroupedTable::take_number(io::Rows& rows, std::size_t field, std::vector<std::byte>& to) const {
  T value{};
  const io::Fit fit = rows.number(field, value);
  if (fit == io::Fit::misfit)
    rows.fail("{} does not fit {}", io::printable(rows.fields()[field]), to_string(*options_.dtype));
  if (fit == io::Fit::no_number) return false;
  append_bytes(to, value);
  return true;
}

// For a column without a number so far.
bool GroupedTable::take_text(io::Rows& rows, std::size_t column, PartColumn& to) const {
  const std::size_t field = keys_ + column;
  const std::string_view entry = rows.fields()[field];
  const std::string_view text = io::trimmed(entry);
  const bool dates = kinds_[column] == Kind::instants;
  const std::uint32_t known = dates || text.empty() ? 0 : to.words->size();
  if (!dates && !text.empty()) append_bytes(to.values, to.words->add(entry));
  const bool is_new = dates ? !text.empty() : to.words->size() != known;
  std::optional<io::Instant> instant;
  if (is_new && options_.entries != io::Entries::texts) {
    instant = io::parse_instant(text);
    if ((!dates || !instant) && rows.number(field).kind != io::TextNumber::no_number)
      throw OtherKind{column, Kind::numbers};
    if (!dates && instant) throw OtherKind{column, Kind::instants};
  }
  if (dates && instant) {
    append_bytes(to.values, instant->us);
    to.form = std::max(to.form, instant->form);
  }
  if (dates ? instant.has_value() : !text.empty()) return true;
  rows.leave_out(entry, dates ? "a date or a time" : "a text");
  return false;
}

// Whether the row has a value there; else it is counted as left out.
bool GroupedTable::take(io::Rows& rows, std::size_t column, PartColumn& to) const {
  if (kinds_[column] != Kind::numbers) return take_text(rows, column, to);
  const std::size_t field = keys_ + column;
  bool read = false;
  if (options_.dtype) {
    dispatch(*options_.dtype, [&]<class T>(TypeTag<T>) { read = take_number<T>(rows, field, to.values); });
  } else {
    const io::TextNumber number = rows.number(field);
    read = number.kind != io::TextNumber::no_number;
    io::Field is;
    is.line = rows.line();
    is.text = rows.fields()[field];
    if (read) to.numbers->add(number, is);
  }
  if (!read) rows.leave_out(field);
  return read;
}

// `bytes`: of its text, about; 0: unknown.
void GroupedTable::read_part(io::Rows& rows, Part& part, std::uint64_t memory, std::uint64_t bytes) const {
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    PartColumn& column = part.columns[i];
    if (kinds_[i] == Kind::texts)
      column.words.emplace(io::Dictionary::Rules{memory, options_.ignore_case, rows.name()});
    else if (kinds_[i] == Kind::numbers && !options_.dtype)
      column.numbers.emplace(rows.name(), options_.tmpdir, memory, false);
  }
  std::uint64_t read = 0;
  const auto check_memory = [&] {
    const bool kept = std::ranges::all_of(
        part.columns, [](const PartColumn& column) { return !column.numbers || column.numbers->kept(); });
    if (kept && part.memory_bytes(use_.places) <= memory) return;
    throw Error(ErrorCode::out_of_memory,
                keys_ == 0
                    ? fmt::format("{}: {} rows of {} columns need more than the {} KiB that they may take (--memory)",
                                  rows.name(), read, kinds_.size(), memory >> 10U)
                    : fmt::format("{}: {} rows of {} groups need more than the {} KiB that --group may take "
                                  "(--memory)",
                                  rows.name(), read, part.entries.size(), memory >> 10U));
  };
  std::string key;
  const std::uint64_t begin = rows.position();
  while (rows.next()) {
    const std::uint32_t id = part.entries.add(group_of(rows.fields().first(keys_), key));
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      PartColumn& column = part.columns[i];
      if (take(rows, i, column)) {
        column.ids.push_back(id);
        if (use_.places) column.places.push_back(rows.place());
      } else {
        if (column.missing.size() <= id) column.missing.resize(id + 1);
        ++column.missing[id];
      }
    }
    if (++read % rows_between == 0) check_memory();
    // Tables that grow would be copied, and their pages be touched twice.
    if (read != rows_between || bytes == 0) continue;
    const std::uint64_t expected = (bytes / (rows.position() - begin) + 1) * rows_between;
    for (PartColumn& column : part.columns) column.ids.reserve(std::min(expected, memory / size_of(Dtype::u64)));
  }
  check_memory();
  for (PartColumn& column : part.columns) {
    if (column.numbers) column.numbers->end();
    column.missing.resize(part.entries.size());
  }
  for (std::uint32_t id = 0; id < part.entries.size(); ++id) part.counts.push_back(part.entries.count(id));
  part.report = rows.report();
}

// A file is read by several threads, each its part of the lines. A stream is kept as long as a column may be of another
// kind.
void GroupedTable::read_input(std::size_t input, std::uint64_t threads, std::vector<Part>& parts) {
  const std::string& path = asked_.input.inputs[input];
  const bool decided = options_.entries == io::Entries::texts ||
                       std::ranges::all_of(kinds_, [](Kind kind) { return kind == Kind::numbers; });
  const auto held = streams_.find(input);
  std::optional<io::Rows> opened;
  if (held == streams_.end()) opened.emplace(path, options_, columns_);
  else held->second.rewind();
  io::Rows& rows = opened ? *opened : held->second;
  const bool again = opened && !decided && !rows.reader().is_file();
  if (again) rows.keep_for_rewind();
  else if (!opened && decided) rows.reader().forget();
  io::Rows& from = again ? streams_.emplace(input, std::move(*opened)).first->second : rows;
  if (values_.empty()) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string name = column_name(columns_[i], from.names());
      const bool is_key = i < keys_;
      if (is_key ? std::ranges::count(names_, name) != 0 : std::ranges::count(values_, name, &Values::name) != 0)
        usage_error("--{} has {} twice", is_key ? "group" : "column", io::printable(name));
      if (is_key) names_.push_back(name);
      else values_.emplace_back().name = name;
    }
  }
  threads = std::clamp<std::uint64_t>(from.size().value_or(0) / least_part, 1, threads);
  std::uint64_t used = 0;
  for (const Part& part : parts) used += part.memory_bytes(use_.places);
  const std::uint64_t memory = (memory_ - std::min(memory_, used)) / threads;
  const std::size_t before = parts.size();
  for (std::uint64_t i = 0; i < threads; ++i) {
    parts.emplace_back(io::Dictionary::Rules{std::max<std::uint64_t>(memory, 1), false, from.name()}, kinds_.size());
  }
  if (threads == 1) {
    read_part(from, parts.back(), memory, from.size().value_or(0));
  } else {
    split_ = true;
    runtime::parallel_tasks(threads, [&](std::uint64_t i) {
      io::SourceOptions options = options_;
      options.part = i;
      options.parts = threads;
      io::Rows some(path, options, columns_);
      if (some.size() != from.size()) some.reader().fail("the file changed while it was read");
      read_part(some, parts[before + i], memory, *some.size() / threads);
    });
  }
  std::vector<io::TextReport> reports;
  for (std::size_t i = before; i < parts.size(); ++i) reports.push_back(parts[i].report);
  reports_.emplace_back(from.name(), join_reports(reports));
}

void GroupedTable::read_inputs(std::uint64_t threads) {
  Progress progress(progress_mode(asked_.common));
  progress.start("reading", std::nullopt);
  std::vector<Part> parts;
  reports_.clear();
  names_.clear();
  values_.clear();
  split_ = false;
  for (std::size_t i = 0; i < asked_.input.inputs.size(); ++i) read_input(i, threads, parts);
  report_ = join_inputs(reports_);
  report_.instants = std::ranges::count(kinds_, Kind::instants) != 0;
  report_.texts = options_.entries == io::Entries::any;
  if (kinds_.size() > 1) {
    report_.rows = false;
    report_.places *= kinds_.size();
  }
  info_.name = reports_.front().first;
  if (reports_.size() > 1) info_.name += fmt::format(" and {} more", reports_.size() - 1);
  info_.format = "text";
  join(parts);
  progress.finish();
}

void GroupedTable::read() {
  const std::vector<std::string>& inputs = asked_.input.inputs;
  const auto pipes = std::ranges::count(inputs, "-");
  if (pipes > 1) usage_error("standard input can be one INPUT only");
  for (std::uint64_t threads = pipes == 0 ? cpu_threads() : 1;;) {
    try {
      return read_inputs(threads);
    } catch (const OtherKind& other) {
      kinds_[other.column] = std::max(kinds_[other.column], other.kind);
    } catch (const Error& error) {
      // Only one thread that reads everything knows the fault's line, or that the memory of a part was too small.
      if (!split_ || error.code() == ErrorCode::interrupted) throw;
      threads = 1;
    }
  }
}

// Makes the parts one, and brings the values of each group together.
void GroupedTable::join(std::vector<Part>& parts) {
  // Where each part's ids stand among those of all, and then among the groups.
  std::vector<std::vector<std::uint32_t>> groups(parts.size());
  entries_.emplace(std::move(parts.front().entries));
  const std::uint32_t own = entries_->size();
  for (std::size_t i = 1; i < parts.size(); ++i) groups[i] = entries_->merge(parts[i].entries);
  groups_.resize(entries_->size());
  std::iota(groups_.begin(), groups_.end(), 0U);
  groups.front().assign(groups_.begin(), groups_.begin() + own);
  if (is_second("--group-order", asked_.group_order, "first", "sorted")) {
    groups_ = sorted_order();
    std::vector<std::uint32_t> rank(groups_.size());
    for (std::uint32_t i = 0; i < groups_.size(); ++i) rank[groups_[i]] = i;
    for (std::vector<std::uint32_t>& part : groups)
      for (std::uint32_t& id : part) id = rank[id];
  }
  for (std::size_t i = 0; i < kinds_.size(); ++i) join_column(i, parts, groups);
  info_.dtype = values().dtype;
  info_.names = values().names;
  info_.count = values().count();
  reading_ = since(began_);
}

void GroupedTable::join_column(std::size_t column, std::vector<Part>& parts,
                               std::span<const std::vector<std::uint32_t>> groups) {
  Values& to = values_[column];
  to.dtype = kinds_[column] == Kind::texts ? Dtype::u32 : options_.dtype.value_or(Dtype::i64);
  std::uint64_t count = 0;
  io::InstantForm form = io::InstantForm::day;
  for (const Part& part : parts) {
    const PartColumn& from = part.columns[column];
    count += from.ids.size();
    form = std::max(form, from.form);
    const Dtype own = from.numbers ? from.numbers->dtype() : to.dtype;
    if (own == Dtype::f64 || (own == Dtype::u64 && to.dtype == Dtype::i64)) to.dtype = own;
  }
  if (count == 0) {
    const io::TextReport::Kind& bad = report_[io::LeftOut::not_a_number];
    const std::string first =
        values_.size() == 1 && bad.count != 0 ? fmt::format("line {}: {} is none; ", bad.line, bad.first) : "";
    data_error("{}: column {} has no {}; {}{}", info_.name, io::printable(columns_[keys_ + column]),
               kinds_[column] == Kind::texts ? "text" : "number", first, report_.how_cut);
  }
  if (kinds_[column] == Kind::instants) to.names = io::names_of_instants(form);
  if (kinds_[column] == Kind::texts) {
    std::vector<std::vector<std::uint32_t>> ids(parts.size());
    io::Dictionary& all = *parts.front().columns[column].words;
    for (std::size_t i = 1; i < parts.size(); ++i) ids[i] = all.merge(*parts[i].columns[column].words);
    std::vector<std::uint32_t> of_id;
    to.names = io::names_of_texts(all, {memory_, options_.ignore_case, info_.name}, of_id);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::vector<std::byte>& bytes = parts[i].columns[column].values;
      auto* words = reinterpret_cast<std::uint32_t*>(bytes.data());
      for (std::uint32_t& word : std::span(words, bytes.size() / sizeof *words))
        word = of_id[i == 0 ? word : ids[i][word]];
    }
  }

  // Where the part's first value of each id goes.
  std::vector<std::vector<std::uint64_t>> starts;
  std::vector<std::uint64_t> rows;  // in front of each part
  to.offsets.assign(groups_.size() + 1, 0);
  const auto each_id = [&](std::size_t part, const auto& take) {
    for (std::uint32_t id = 0; id < parts[part].counts.size(); ++id)
      take(id, groups[part][id], parts[part].counts[id] - parts[part].columns[column].missing[id]);
  };
  for (std::size_t i = 0; i < parts.size(); ++i)
    each_id(i, [&](std::uint32_t, std::uint32_t group, std::uint64_t values) { to.offsets[group + 1] += values; });
  std::partial_sum(to.offsets.begin(), to.offsets.end(), to.offsets.begin());
  std::vector<std::uint64_t> before(to.offsets.begin(), to.offsets.end() - 1);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    rows.push_back(i == 0 ? 0 : rows.back() + parts[i - 1].report.places);
    std::vector<std::uint64_t>& start = starts.emplace_back(parts[i].counts.size());
    each_id(i, [&](std::uint32_t id, std::uint32_t group, std::uint64_t values) {
      start[id] = before[group];
      before[group] += values;
    });
  }
  const std::uint64_t bytes = count * size_of(to.dtype);
  to.data = {static_cast<std::byte*>(io::allocate_pages(bytes)), [bytes](void* at) { io::free_pages(at, bytes); }};
  if (use_.places) to.places.resize(count);
  runtime::parallel_tasks(parts.size(), [&](std::uint64_t i) {
    PartColumn& part = parts[i].columns[column];
    if (part.ids.empty()) return;
    if (part.numbers) part.numbers->retype(to.dtype);
    const void* const from = part.numbers ? static_cast<const void*>(part.numbers->at(0)) : part.values.data();
    dispatch(to.dtype, [&]<class T>(TypeTag<T>) {
      const T* const values = static_cast<const T*>(from);
      T* const target = reinterpret_cast<T*>(to.data.get());
      for (std::uint64_t row = 0; row < part.ids.size(); ++row) {
        const std::uint64_t place = starts[i][part.ids[row]]++;
        target[place] = values[row];
        if (use_.places) to.places[place] = part.places[row] + rows[i];
      }
    });
  });
}

// Columns of which all entries are numbers go by these, others by their bytes.
std::vector<std::uint32_t> GroupedTable::sorted_order() const {
  std::vector<std::vector<io::TextNumber>> numbers(names_.size());
  for (std::size_t column = 0; column < names_.size(); ++column) {
    for (std::uint64_t group = 0; group < groups(); ++group) {
      const io::TextNumber number = io::parse_any_number(io::trimmed(entry(group, column)));
      const bool is_number = number.kind == io::TextNumber::whole || number.kind == io::TextNumber::decimal;
      if (!is_number) {
        numbers[column].clear();
        break;
      }
      numbers[column].push_back(number);
    }
  }
  std::vector<std::uint32_t> order = groups_;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    for (std::size_t column = 0; column < names_.size(); ++column) {
      const auto& own = numbers[column];
      if (own.empty() ? entry(a, column) < entry(b, column) : comes_before(own[a], own[b])) return true;
      if (own.empty() ? entry(b, column) < entry(a, column) : comes_before(own[b], own[a])) return false;
    }
    return false;
  });
  return order;
}

std::string_view GroupedTable::entry(std::uint64_t group, std::size_t column) const {
  return entry_in((*entries_)[groups_[group]], column, names_.size());
}

}  // namespace masu::cli
