// SPDX-License-Identifier: Apache-2.0
// Stone's rule: among 1 … K bins, the number whose histogram has the least estimated error. K is the root of the number
// of values, but at least 100.
#pragma once

#include <masu/histogram.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace masu {

// Throws invalid_argument: a pass has more values than those before.
[[noreturn]] void refuse_more_values(std::uint64_t got, std::uint64_t before);

class StoneRule {
 public:
  // `make(k)`: k bins over the range; `spread`: how far apart the least and the greatest of the n values are.
  StoneRule(Dtype dtype, std::uint64_t n, double spread, std::function<Bins(std::uint64_t)> make);

  // All at once, from each value's key (elements/order.h) and how often it occurs.
  void count_values(std::span<const std::uint64_t> counts);
  // Or in passes over data: as many candidates together as fit into 2 MiB of counters.
  void add(const ArrayView& data);
  // Ends a pass; false when all candidates have been counted.
  bool next_pass();
  // The number of bins found.
  std::uint64_t best() const noexcept { return best_; }

  // Between passes: which candidates are next, and what was found so far. What this pass has counted: the bins of all
  // its candidates, one behind the other.
  struct Progress {
    std::uint64_t first = 1;
    std::uint64_t best = 1;
    double least = 0;
  };
  Progress progress() const noexcept { return {first_, best_, least_}; }
  std::uint64_t candidates() const noexcept { return candidates_; }
  void go_on(const Progress& progress);
  std::vector<std::uint64_t> counts() const;
  // How many numbers that are.
  std::uint64_t counters() const noexcept;
  // Adds what counts() of another one in the same pass is.
  void add_counts(std::span<const std::uint64_t> counts);

 private:
  void start_pass();
  void judge(std::uint64_t bins, double squares);

  Dtype dtype_;
  std::uint64_t n_;
  double spread_;
  std::function<Bins(std::uint64_t)> make_;
  std::uint64_t candidates_;
  std::uint64_t first_ = 1;  // the first candidate of this pass
  std::vector<HistogramAccumulator> pass_;
  std::vector<std::uint64_t> added_;  // by add_counts(); empty: nothing
  std::uint64_t best_ = 1;
  double least_ = 0;
};

}  // namespace masu
