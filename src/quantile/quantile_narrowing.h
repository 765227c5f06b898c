// SPDX-License-Identifier: Apache-2.0
// Quantiles of held data, of which there may be several parts: a sample of all parts tells in which ranges of the order
// the places lie in all likelihood, one pass over each part counts what is below these and lists what is within, and
// the passes of quantile_places.h find the places in the lists. Where the sample misleads, or much would be listed, the
// passes go over all data.
#pragma once

#include "call/state_bytes.h"
#include "quantile/quantile_held.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace masu {

class Narrowing {
 public:
  // What is given in this pass: pieces of the data, or all that is held; a sample; counts; lists.
  enum class Phase : std::uint8_t { all, sample, counts, lists };

  explicit Narrowing(Dtype dtype) : dtype_(dtype) {}
  // Begins with a sample of so many elements, with none where `samples` is 0.
  void hold(HeldData data, std::uint64_t samples, PlaceFinder& finder);
  [[nodiscard]] bool holds() const noexcept { return data_.has_value(); }
  [[nodiscard]] Phase phase() const noexcept { return phase_; }
  // Elements of all parts, but where `phase` is all.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  // False where the other is in another pass.
  [[nodiscard]] bool merge(const Narrowing& other);
  void write(call::StateWriter& to) const;
  void read(call::StateReader& from);

  // Ends a pass other than the finder's; `places` ascend. True when a pass goes on, with what `finder` was given.
  bool next_pass(std::span<const std::uint64_t> places, bool last_is_for_nan, PlaceFinder& finder);
  // Gives what the next pass of the finder needs.
  void give(PlaceFinder& finder) const;
  // In the last phase: the places among what is listed, ascending, and the key at a place of all.
  [[nodiscard]] std::vector<std::uint64_t> listed_places(std::span<const std::uint64_t> places) const;
  [[nodiscard]] std::uint64_t key(std::uint64_t place, const PlaceFinder& finder) const;

 private:
  struct At {
    std::size_t range;
    std::uint64_t place;  // among what is listed
  };
  [[nodiscard]] bool choose_ranges(std::span<const std::uint64_t> places);
  [[nodiscard]] std::uint64_t capacity() const;
  [[nodiscard]] std::optional<At> find(std::uint64_t place) const;
  void give_up(PlaceFinder& finder);
  [[nodiscard]] std::uint64_t most_key() const;

  Dtype dtype_;
  Phase phase_ = Phase::all;
  std::uint64_t count_ = 0;
  std::vector<std::uint64_t> sample_;  // keys; once ranges are chosen, sorted
  std::vector<KeyRange> ranges_;       // ascending
  RangeCounts counts_;
  bool missed_ = false;  // some part has more than its list takes
  // Of this part alone.
  std::optional<HeldData> data_;
  std::vector<std::uint64_t> own_sample_;  // some of it
};

}  // namespace masu
