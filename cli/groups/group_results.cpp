// SPDX-License-Identifier: Apache-2.0
// Reports about groups, and their results as columns.
#include "cli/groups/grouped_table.h"

#include "text.h"

#include <fmt/format.h>
#include <algorithm>
#include <limits>

namespace masu::cli {

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

std::string GroupedTable::json_counts() const {
  if (values_.size() == 1) return fmt::format(R"("n":{},"dtype":"{}")", values().count(), type_name(info_));
  std::vector<std::string> names;
  std::vector<std::uint64_t> counts;
  std::vector<std::string_view> types;
  for (const Values& column : values_) {
    names.push_back(json_string(column.name));
    counts.push_back(column.count());
    types.push_back(column.names ? "instant" : to_string(column.dtype));
  }
  return fmt::format(R"("columns":[{}],"n":[{}],"dtype":["{}"])", fmt::join(names, ","), fmt::join(counts, ","),
                     fmt::join(types, R"(",")"));
}

std::string GroupedTable::json_end(const Seconds& seconds, const std::string& more) const {
  return fmt::format(R"("device":{}{}{},{})", json_string(device_.id()), more, json_report(report_),
                     json_seconds(seconds));
}

void GroupedTable::tell(const Seconds& seconds) const {
  const CommonOptions& common = asked_.common;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  for (const Values& values : values_) {
    count += values.count();
    bytes += values.view().count * size_of(values.dtype);
  }
  if (!common.quiet) note_report(info_.name, report_);
  if (common.verify && !common.quiet) note(fmt::format("verified: {} values of {} groups", count, groups()));
  if (common.time) note_times(seconds, bytes);
}

void GroupResults::add(std::size_t column, std::size_t result, const ArrayView* value, const io::ValueNames* names) {
  Cells& cells = cells_[column * names_.size() + result];
  cells.names.push_back(value != nullptr ? names : no_value());
  const auto append_nothing = [&](std::uint64_t times) {
    const Dtype dtype = cells.values.dtype;
    const std::uint64_t none = is_float(dtype) ? bits_of(std::numeric_limits<double>::quiet_NaN(), dtype) : 0;
    for (; times > 0; --times) cells.values.append({dtype, &none, 1});
  };
  if (value != nullptr && cells.values.bytes.empty()) {
    cells.values.dtype = value->dtype;
    append_nothing(cells.without);
  }
  if (value != nullptr) cells.values.append(*value);
  else if (!cells.values.bytes.empty()) append_nothing(1);
  else ++cells.without;
}

ColumnsResult GroupResults::table() {
  const auto columns = table_.columns();
  const bool grouped = !table_.names().empty();
  ColumnsResult result;
  result.flat = true;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    Cells& cells = cells_[i];
    // A result that no group has.
    const double none = std::numeric_limits<double>::quiet_NaN();
    if (cells.values.bytes.empty())
      for (std::uint64_t group = 0; group < cells.without; ++group) cells.values.append({Dtype::f64, &none, 1});
    const std::string& name = names_[i % names_.size()];
    const std::string head = columns.size() == 1 ? name : columns[i / names_.size()].name + "_" + name;
    if (grouped) result.heads.push_back({head, head, false, nullptr, cells.names});
    else if (i < names_.size()) result.heads.push_back({name, name});
    if (!grouped) result.heads[i % names_.size()].each.push_back(cells.names.front());
  }
  if (grouped) {
    table_.label(result, std::vector<std::uint64_t>(table_.groups(), 1));
  } else {
    result.rows.assign(columns.size(), 1);
    result.labels.push_back({"column", [columns](std::uint64_t row) { return columns[row].name; }});
    result.json_labels = false;
  }
  result.pieces = [this, width = result.heads.size()](const ColumnsResult::Taker& take) {
    for (std::size_t first = 0; first < cells_.size(); first += width) {
      std::vector<ArrayView> views;
      for (std::size_t i = 0; i < width; ++i) views.push_back(cells_[first + i].values.view());
      take(views);
    }
  };
  return result;
}

}  // namespace masu::cli
