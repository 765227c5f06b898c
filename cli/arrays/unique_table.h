// SPDX-License-Identifier: Apache-2.0
// Distinct values with their counts, of data of any size.
#pragma once

#include "cli/sort/external_sort.h"
#include "numbered_values.h"

#include <masu/unique.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace masu::cli {

// Counts distinct values piece by piece. When there are more than memory holds, what was found is put into a file as a
// sorted run, and the runs are merged at the end.
class UniqueTable {
 public:
  struct Request {
    Device device;
    Dtype dtype = Dtype::u8;
    std::uint64_t memory = 0;
    std::string tmpdir;
  };
  explicit UniqueTable(Request request);

  void add(const ArrayView& piece);
  struct Result {
    NumberedValues entries;
    std::uint64_t distinct = 0;  // entries without the limit
  };
  // The distinct values of all ranks in order, or those of the greatest counts first; at most `limit` of them. On the
  // first rank, the others have none. Only once.
  Result finish(bool by_count, std::uint64_t limit);

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t runs() const noexcept { return run_count_; }
  [[nodiscard]] const Times& times() const noexcept { return times_; }

 private:
  using Sink = std::function<void(const ArrayView& values, const std::uint64_t* counts)>;
  void spill();
  void give_all(const Sink& sink);
  void merge_runs(const Sink& sink);
  // Makes what all ranks have the first one's.
  void gather();
  void add_times();

  Request request_;
  std::optional<UniqueAccumulator> accumulator_;
  ExternalRuns runs_;
  std::uint64_t count_ = 0;
  std::uint64_t run_count_ = 0;
  Times times_;
};

}  // namespace masu::cli
