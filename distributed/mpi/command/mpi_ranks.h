// SPDX-License-Identifier: Apache-2.0
// The ranks of MPI_COMM_WORLD.
#pragma once

#include "cli/ranks.h"

#include <masu/mpi/call.h>

namespace masu::cli {

class MpiRanks final : public Ranks {
 public:
  // After MPI_Init_thread.
  MpiRanks();
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] int local_rank() const override { return local_rank_; }
  [[nodiscard]] int local_size() const override { return local_size_; }
  // Open MPI's launcher gives each rank a terminal of its own, whatever the user's standard output is.
  [[nodiscard]] bool has_terminal() const override { return false; }

  Bytes merge(std::string_view what, Bytes mine, const Merge& merge) override;
  std::vector<Bytes> from_each(std::string_view what, Bytes mine) override;
  void agree(std::string_view what) override;
  void add(std::string_view what, std::span<std::uint64_t> numbers) override;
  void to_first(std::string_view what, const std::function<void(const Send&)>& give, const Take& take) override;
  Ending end(Ending mine) override;
  void sort(const Device& device, MutableArrayView keys, const RecordsView* values,
            const SortOptions& options) override;
  void order(const Device& device, const ArrayView& keys, std::span<std::uint64_t> indices,
             const SortOptions& options) override;

 private:
  void share_processors(MPI_Comm here) const;
  template <class F>
  auto together(std::string_view function, std::string_view what, const F& work);
  template <class F>
  auto noted(const F& work);

  int rank_ = 0;
  int size_ = 1;
  int local_rank_ = 0;
  int local_size_ = 1;
  bool agreed_ = false;  // all ranks have the error that was thrown
};

}  // namespace masu::cli
