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
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace masu::cli {

// A text that is read once and held: its values lie group by group, each group's in their order. A row whose value
// cannot be read is of no group.
class GroupedTable {
 public:
  // `work` is what is done with each group's values. `places`: they are asked for.
  GroupedTable(const ArrayOptions& asked, Work work, bool places = false);

  [[nodiscard]] const io::SourceInfo& info() const { return info_; }
  [[nodiscard]] Dtype dtype() const { return info_.dtype; }
  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] std::uint64_t groups() const { return groups_.size(); }
  [[nodiscard]] std::uint64_t count() const { return offsets_.back(); }
  // Bytes that results may take.
  [[nodiscard]] std::uint64_t memory() const { return memory_; }
  // All of them, and those of a group.
  [[nodiscard]] ArrayView values() const { return {dtype(), values_.data(), count()}; }
  [[nodiscard]] ArrayView values(std::uint64_t group) const {
    return part_of(values(), offsets_[group], offsets_[group + 1] - offsets_[group]);
  }
  // Turns indices in a group into places in the text (see Places).
  void to_places(std::uint64_t group, std::span<std::uint64_t> indices) const {
    for (std::uint64_t& index : indices) index = places_[offsets_[group] + index];
  }
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
  [[nodiscard]] std::string json_end(const Seconds& seconds, const std::string& more = "") const;
  void tell(const Seconds& seconds) const;

 private:
  struct Part;
  void read();
  void read_inputs(std::uint64_t threads);
  void read_input(const std::string& input, std::uint64_t threads, std::vector<Part>& parts);
  void read_part(io::Rows& rows, Part& part, std::uint64_t memory) const;
  template <class T>
  bool take_number(io::Rows& rows, std::vector<std::byte>& to) const;
  void join(std::vector<Part>& parts);
  std::vector<std::uint32_t> sorted_order() const;

  static constexpr std::uint64_t a_round = 1 << 14;  // groups
  static constexpr std::uint64_t a_task = 16;

  Clock::time_point began_ = Clock::now();
  const ArrayOptions& asked_;
  bool with_places_;
  std::uint64_t memory_;
  io::SourceOptions options_;
  std::vector<std::string> columns_;  // those that group, and the one with the values
  io::SourceInfo info_;
  std::vector<std::pair<std::string, io::TextReport>> reports_;  // of each input
  io::TextReport report_;
  bool split_ = false;  // whether several threads read an input
  std::vector<std::string> names_;
  std::optional<io::Dictionary> entries_;
  std::vector<std::uint32_t> groups_;  // ids of the entries, in the order of the groups
  std::vector<std::uint64_t> offsets_;
  std::vector<std::byte, io::LargePages<std::byte>> values_;
  std::vector<std::uint64_t> places_;
  double reading_ = 0;
  Device device_;
};

}  // namespace masu::cli
