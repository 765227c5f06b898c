// SPDX-License-Identifier: Apache-2.0
#include "cli/groups/grouped_table.h"

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

// Several entries are one text: the sizes of all but the last stand in front of them.
void append_entry(std::string& key, std::string_view text, bool last) {
  const auto size = static_cast<std::uint32_t>(text.size());
  if (!last) key.append(reinterpret_cast<const char*>(&size), sizeof size);
  key += text;
}

std::string_view entry_in(std::string_view key, std::size_t entry, std::size_t entries) {
  for (std::size_t i = 0;; ++i) {
    if (i + 1 == entries) return key;
    std::uint32_t size = 0;
    std::memcpy(&size, key.data(), sizeof size);
    if (i == entry) return key.substr(sizeof size, size);
    key.remove_prefix(sizeof size + size);
  }
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

// What one thread reads.
struct GroupedTable::Part {
  explicit Part(io::Dictionary::Rules rules) : entries(std::move(rules)) {}
  io::Dictionary entries;
  std::vector<std::uint32_t, io::LargePages<std::uint32_t>> ids;
  std::vector<std::uint64_t> places;
  std::optional<io::TextColumn> numbers;  // whose dtype they decide
  std::vector<std::byte> values;          // of a dtype that was asked for
  io::TextReport report;

  // What its rows take in the end: the values are held twice.
  [[nodiscard]] std::uint64_t memory_bytes(bool with_places) const {
    return ids.size() * (with_places ? 40 : 24) + entries.memory_bytes();
  }
};

GroupedTable::GroupedTable(const ArrayOptions& asked, Work work, bool places)
    : asked_(asked),
      with_places_(places),
      memory_(memory_budget(asked.common)),
      columns_(split(asked.group)),
      device_(Device::open("cpu")) {
  const InputOptions& input = asked.input;
  if (ranks().several()) usage_error("--group is for one process");
  if (!asked.rows.empty()) usage_error("--group and --rows exclude each other");
  if (input.columns.size() != 1) usage_error("--group needs one --column, which has the values");
  if (input.format != "auto" && input.format != "text") usage_error("--group takes a text, not {}", input.format);
  options_ = source_options(input, asked.common);
  options_.header = options_.header || std::ranges::any_of(columns_, is_column_name);
  columns_.push_back(input.columns.front());
  read();
  const std::uint64_t bytes = count() * size_of(dtype()) / groups();
  device_ = device_of_rank(asked.common.device, work, bytes);
}

template <class T>
bool GroupedTable::take_number(io::Rows& rows, std::vector<std::byte>& to) const {
  T value{};
  const std::size_t field = columns_.size() - 1;
  const io::Fit fit = rows.number(field, value);
  if (fit == io::Fit::misfit)
    rows.fail("{} does not fit {}", io::printable(rows.fields()[field]), to_string(*options_.dtype));
  if (fit == io::Fit::no_number) return false;
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
  return true;
}

void GroupedTable::read_part(io::Rows& rows, Part& part, std::uint64_t memory) const {
  const std::size_t value = columns_.size() - 1;
  if (!options_.dtype) part.numbers.emplace(rows.name(), options_.tmpdir, memory, false);
  const auto check_memory = [&] {
    const bool kept = !part.numbers || part.numbers->kept();
    if (kept && part.memory_bytes(with_places_) <= memory) return;
    throw Error(ErrorCode::out_of_memory,
                fmt::format("{}: {} rows of {} groups need more than the {} KiB that --group may take (--memory)",
                            rows.name(), part.ids.size(), part.entries.size(), memory >> 10U));
  };
  std::string key;
  io::Field field;
  while (rows.next()) {
    bool read = false;
    if (options_.dtype) {
      dispatch(*options_.dtype, [&]<class T>(TypeTag<T>) { read = take_number<T>(rows, part.values); });
    } else {
      const io::TextNumber number = rows.number(value);
      read = number.kind != io::TextNumber::no_number;
      if (read) {
        field.line = rows.line();
        field.text = rows.fields()[value];
        part.numbers->add(number, field);
      }
    }
    if (!read) {
      rows.leave_out(value);
      continue;
    }
    if (value == 1) {
      part.ids.push_back(part.entries.add(rows.fields().front()));
    } else {
      key.clear();
      for (std::size_t i = 0; i < value; ++i) append_entry(key, rows.fields()[i], i + 1 == value);
      part.ids.push_back(part.entries.add(key));
    }
    if (with_places_) part.places.push_back(rows.place());
    if (part.ids.size() % rows_between == 0) check_memory();
  }
  check_memory();
  if (part.numbers) part.numbers->end();
  part.report = rows.report();
}

// A file is read by several threads, each its part of the lines.
void GroupedTable::read_input(const std::string& input, std::uint64_t threads, std::vector<Part>& parts) {
  io::Rows rows(input, options_, columns_);
  if (names_.empty()) {
    for (std::size_t i = 0; i + 1 < columns_.size(); ++i) names_.push_back(column_name(columns_[i], rows.names()));
  }
  threads = std::clamp<std::uint64_t>(rows.size().value_or(0) / least_part, 1, threads);
  std::uint64_t used = 0;
  for (const Part& part : parts) used += part.memory_bytes(with_places_);
  const std::uint64_t memory = (memory_ - std::min(memory_, used)) / threads;
  const std::size_t before = parts.size();
  for (std::uint64_t i = 0; i < threads; ++i) {
    parts.emplace_back(io::Dictionary::Rules{std::max<std::uint64_t>(memory, 1), false, rows.name()});
  }
  if (threads == 1) {
    read_part(rows, parts.back(), memory);
  } else {
    split_ = true;
    runtime::parallel_tasks(threads, [&](std::uint64_t i) {
      io::SourceOptions options = options_;
      options.part = i;
      options.parts = threads;
      io::Rows some(input, options, columns_);
      read_part(some, parts[before + i], memory);
    });
  }
  std::vector<io::TextReport> reports;
  for (std::size_t i = before; i < parts.size(); ++i) reports.push_back(parts[i].report);
  reports_.emplace_back(rows.name(), join_reports(reports));
}

void GroupedTable::read_inputs(std::uint64_t threads) {
  Progress progress(progress_mode(asked_.common));
  progress.start("reading", std::nullopt);
  std::vector<Part> parts;
  reports_.clear();
  for (const std::string& input : asked_.input.inputs) read_input(input, threads, parts);
  report_ = join_inputs(reports_);
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
  try {
    read_inputs(pipes == 0 ? cpu_threads() : 1);
  } catch (const Error& error) {
    // Only one thread that reads everything knows the fault's line, or that the memory of a part was too small.
    if (!split_ || error.code() == ErrorCode::interrupted) throw;
    read_inputs(1);
  }
}

// Makes the parts one, and brings the values of each group together.
void GroupedTable::join(std::vector<Part>& parts) {
  std::uint64_t count = 0;
  Dtype dtype = options_.dtype.value_or(Dtype::i64);
  for (const Part& part : parts) {
    count += part.ids.size();
    if (!part.numbers) continue;
    const Dtype own = part.numbers->dtype();
    if (own == Dtype::f64 || (own == Dtype::u64 && dtype == Dtype::i64)) dtype = own;
  }
  if (count == 0) {
    data_error("{}: column {} has no number; {}", info_.name, io::printable(columns_.back()), report_.how_cut);
  }
  info_.dtype = dtype;
  info_.count = count;

  // Where each part's ids stand among those of all, and then among the groups.
  std::vector<std::vector<std::uint32_t>> groups(parts.size());
  std::vector<std::uint64_t> first_counts(parts.front().entries.size());
  for (std::uint32_t id = 0; id < first_counts.size(); ++id) first_counts[id] = parts.front().entries.count(id);
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

  offsets_.assign(groups_.size() + 1, 0);
  for (std::uint64_t i = 0; i < groups_.size(); ++i) offsets_[i + 1] = offsets_[i] + entries_->count(groups_[i]);
  values_.resize(count * size_of(dtype));
  if (with_places_) places_.resize(count);
  // Where the part's first value of each id goes.
  std::vector<std::vector<std::uint64_t>> starts;
  std::vector<std::uint64_t> before(offsets_.begin(), offsets_.end() - 1);
  std::vector<std::uint64_t> rows;  // in front of each part
  for (std::size_t i = 0; i < parts.size(); ++i) {
    rows.push_back(i == 0 ? 0 : rows.back() + parts[i - 1].report.places);
    std::vector<std::uint64_t>& start = starts.emplace_back(groups[i].size());
    for (std::uint32_t id = 0; id < start.size(); ++id) {
      start[id] = before[groups[i][id]];
      before[groups[i][id]] += i == 0 ? first_counts[id] : parts[i].entries.count(id);
    }
  }
  runtime::parallel_tasks(parts.size(), [&](std::uint64_t i) {
    Part& part = parts[i];
    if (part.ids.empty()) return;
    if (part.numbers) part.numbers->retype(dtype);
    const void* const from = part.numbers ? static_cast<const void*>(part.numbers->at(0)) : part.values.data();
    dispatch(dtype, [&]<class T>(TypeTag<T>) {
      const T* const values = static_cast<const T*>(from);
      T* const to = reinterpret_cast<T*>(values_.data());
      for (std::uint64_t row = 0; row < part.ids.size(); ++row) {
        const std::uint64_t place = starts[i][part.ids[row]]++;
        to[place] = values[row];
        if (with_places_) places_[place] = part.places[row] + rows[i];
      }
    });
  });
  reading_ = since(began_);
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

std::string GroupedTable::title(std::uint64_t group) const {
  std::string text;
  for (std::size_t i = 0; i < names_.size(); ++i) text += (i == 0 ? "" : ", ") + std::string(entry(group, i));
  return text.empty() ? "\"\"" : text;
}

void GroupedTable::label(ColumnsResult& result, std::vector<std::uint64_t> entries) const {
  result.rows = std::move(entries);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    result.labels.push_back({names_[i], [this, i](std::uint64_t group) { return std::string(entry(group, i)); }});
  }
}

Seconds GroupedTable::seconds(const Times& times) const {
  return {reading_, times.transfer, times.compute, since(began_)};
}

std::string GroupedTable::json_end(const Seconds& seconds, const std::string& more) const {
  return fmt::format(R"("device":{}{}{},{})", json_string(device_.id()), more, json_report(report_),
                     json_seconds(seconds));
}

void GroupedTable::tell(const Seconds& seconds) const {
  const CommonOptions& common = asked_.common;
  if (!common.quiet) note_report(info_.name, report_);
  if (common.verify && !common.quiet) note(fmt::format("verified: {} values of {} groups", count(), groups()));
  if (common.time) note_times(seconds, count() * size_of(dtype()));
}

}  // namespace masu::cli
