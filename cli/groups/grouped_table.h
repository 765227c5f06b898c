// SPDX-License-Identifier: Apache-2.0
// --group: the values of a text's column, by the distinct entries of other columns.
#pragma once

#include "cli/arrays/array_stream.h"
#include "io/dictionary.h"
#include "io/rows.h"
#include "runtime/parallel.h"

#include <masu/device.h>
#include <masu/io.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::cli {

// What groups a row: its entries as one text, valid as long as both.
std::string_view group_of(std::span<const std::string_view> entries, std::string& room);

// A text that is read once and held: the values of each column lie group by group, each group's in their order. Every
// row is of a group; one whose entry cannot be read adds no value. Without --group all rows are one group.
class GroupedTable {
 public:
  // The work that the values of each group are for.
  struct Use {
    Work work = Work::reading;
    bool places = false;   // are asked for
    bool several = false;  // columns of values are taken
  };
  GroupedTable(const ArrayOptions& asked, const Use& use);

  // The values of one --column.
  struct Values {
    std::string name;  // of the column
    Dtype dtype = Dtype::i64;
    std::shared_ptr<const io::ValueNames> names;  // what they stand for; null: they are numbers
    std::vector<std::uint64_t> offsets;           // of each group's
    std::shared_ptr<std::byte> data;
    std::vector<std::uint64_t> places;
    [[nodiscard]] std::uint64_t count() const { return offsets.back(); }
    // All of them, and those of a group.
    [[nodiscard]] ArrayView view() const { return {dtype, data.get(), count()}; }
    [[nodiscard]] ArrayView view(std::uint64_t group) const {
      return part_of(view(), offsets[group], offsets[group + 1] - offsets[group]);
    }
    // Turns indices in a group into places in the text (see Places).
    void to_places(std::uint64_t group, std::span<std::uint64_t> indices) const {
      for (std::uint64_t& index : indices) index = places[offsets[group] + index];
    }
  };
  [[nodiscard]] std::span<const Values> columns() const { return values_; }
  // The first of them, which is the only one where Use::several is not set.
  [[nodiscard]] const Values& values() const { return values_.front(); }
  // The input; dtype and names are those of values().
  [[nodiscard]] const io::SourceInfo& info() const { return info_; }
  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] std::uint64_t groups() const { return groups_.size(); }
  // Rows of a group that have no such value.
  [[nodiscard]] std::uint64_t skipped(std::uint64_t group, const Values& of) const {
    return entries_->count(groups_[group]) - of.view(group).count;
  }
  // Bytes that results may take.
  [[nodiscard]] std::uint64_t memory() const { return memory_; }
  // The names of the columns that group, and their entries.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] std::string_view entry(std::uint64_t group, std::size_t column) const;
  // Entries of a group in one text, for errors and legends.
  [[nodiscard]] std::string title(std::uint64_t group) const;

  // find(group) for all groups, on all threads, whose results take(group, result) gets in their order.
  template <class Find, class Take>
  void each(const Find& find, const Take& take) const {
    using Result = decltype(find(std::uint64_t{0}));
    std::vector<std::optional<Result>> results(std::min(groups(), a_round));
    for (std::uint64_t first = 0; first < groups(); first += a_round) {
      const std::uint64_t round = std::min(a_round, groups() - first);
      runtime::parallel_parts(round, a_task, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) results[i].emplace(find(first + i));
      });
      for (std::uint64_t i = 0; i < round; ++i) take(first + i, std::move(*results[i]));
    }
  }

  // Says of which groups the rows of a result are: `entries` of each.
  void label(ColumnsResult& result, std::vector<std::uint64_t> entries) const;
  // As ArrayStream has them.
  [[nodiscard]] const io::TextReport& report() const { return report_; }
  [[nodiscard]] Seconds seconds(const Times& times) const;
  // "n" and "dtype" of JSON; lists in the order of "columns" where there are several.
  [[nodiscard]] std::string json_counts() const;
  [[nodiscard]] std::string json_end(const Seconds& seconds, const std::string& more = "") const;
  void tell(const Seconds& seconds) const;

 private:
  // What the entries of a column are, as far as they are known; later ones stand over earlier ones.
  enum class Kind { texts, instants, numbers };
  struct Part;
  struct PartColumn;
  struct OtherKind;  // thrown where an entry shows that its column is of another kind
  void read();
  void read_inputs(std::uint64_t threads);
  void read_input(std::size_t input, std::uint64_t threads, std::vector<Part>& parts);
  void read_part(io::Rows& rows, Part& part, std::uint64_t memory, std::uint64_t bytes) const;
  bool take(io::Rows& rows, std::size_t column, PartColumn& to) const;
  template <class T>
  bool take_number(io::Rows& rows, std::size_t field, std::vector<std::byte>& to) const;
  [[nodiscard]] bool take_text(io::Rows& rows, std::size_t column, PartColumn& to) const;
  void join(std::vector<Part>& parts);
  void join_column(std::size_t column, std::vector<Part>& parts, std::span<const std::vector<std::uint32_t>> groups);
  std::vector<std::uint32_t> sorted_order() const;

  static constexpr std::uint64_t a_round = 1 << 14;  // groups
  static constexpr std::uint64_t a_task = 16;

  Clock::time_point began_ = Clock::now();
  const ArrayOptions& asked_;
  Use use_;
  std::uint64_t memory_;
  io::SourceOptions options_;
  std::vector<std::string> columns_;  // those that group, and those with the values
  std::size_t keys_ = 0;              // how many group
  std::vector<Kind> kinds_;           // of the others
  io::SourceInfo info_;
  std::map<std::size_t, io::Rows> streams_;                      // inputs that cannot be opened again
  std::vector<std::pair<std::string, io::TextReport>> reports_;  // of each input
  io::TextReport report_;
  bool split_ = false;  // whether several threads read an input
  std::vector<std::string> names_;
  std::optional<io::Dictionary> entries_;
  std::vector<std::uint32_t> groups_;  // ids of the entries, in the order of the groups
  std::vector<Values> values_;
  double reading_ = 0;
  Device device_;
};

// What a command found: results with names, for each group and column of values.
class GroupResults {
 public:
  GroupResults(const GroupedTable& table, std::vector<std::string> names)
      : table_(table), names_(std::move(names)), cells_(table.columns().size() * names_.size()) {}

  // The next group's; null: it has none.
  void add(std::size_t column, std::size_t result, const ArrayView* value, const io::ValueNames* names = nullptr);
  // A line a group, with a column for each result: NAME, or COLUMN_NAME where there are several columns of values.
  // Without --group a line for each of these. Both live as long as the result.
  [[nodiscard]] ColumnsResult table();
  // The results of one column in all groups.
  [[nodiscard]] const Column& of(std::size_t column, std::size_t result) const { return cell(column, result).values; }
  [[nodiscard]] const std::vector<const io::ValueNames*>& names_of(std::size_t column, std::size_t result) const {
    return cell(column, result).names;
  }

 private:
  struct Cells {
    Column values;
    std::vector<const io::ValueNames*> names;
    std::uint64_t without = 0;  // in front of the first value, which has the dtype
  };
  [[nodiscard]] const Cells& cell(std::size_t column, std::size_t result) const {
    return cells_[column * names_.size() + result];
  }
  const GroupedTable& table_;
  std::vector<std::string> names_;
  std::vector<Cells> cells_;
};

}  // namespace masu::cli
