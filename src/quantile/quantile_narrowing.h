// SPDX-License-Identifier: Apache-2.0
// Quantiles of held data, of which there may be several parts: a sample of all parts tells in which ranges of the order
// the places lie in all likelihood, one pass over each part counts what is below these and lists what is within, and
// the passes of quantile_places.h find the places in the lists. Where the sample misleads, or much would be listed, the
// passes go over all data.
#pragma once

#include "call/state_bytes.h"
#include "quantile/quantile_places.h"
#include "quantile/selection_plan.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace masu {

// Data that stays where it is between passes: samples of it, and passes that count what lies below and within ranges of
// the sorted order and list the latter, on the CPU or a device.

// Keys from `low` to `high`; what has one is counted, and listed where it says so.
struct KeyRange {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool listed = false;
  friend bool operator==(const KeyRange&, const KeyRange&) = default;
};

// What a pass finds: of each range the elements below it, and those not above it. Nothing holds where there is a NaN.
struct RangeCounts {
  std::vector<std::uint64_t> below;
  std::vector<std::uint64_t> upto;
  bool nan = false;
  friend bool operator==(const RangeCounts&, const RangeCounts&) = default;
};

class HeldData {
 public:
  HeldData(const Device& device, const ArrayView& data) : device_(device), dtype_(data.dtype), host_(data) {}
  HeldData(const BufferBase& data, Dtype dtype);

  [[nodiscard]] std::uint64_t count() const noexcept { return host_.count; }
  // The keys of so many elements, at most all, each of one of as many equal parts.
  [[nodiscard]] std::vector<std::uint64_t> sample(std::uint64_t samples) const;
  // Of elements of 4 and 8 bytes, and at most selection_plan::most_ranges ranges. The list has room for `capacity`
  // elements, and is of no use where more are within listed ranges.
  [[nodiscard]] RangeCounts pass(std::span<const KeyRange> ranges, std::uint64_t capacity);
  // Gives all elements, or those of the list.
  void give_all(PlaceFinder& finder) const;
  void give_list(PlaceFinder& finder) const;
  void clear_list();

 private:
  void pass_here(std::span<const KeyRange> ranges, std::uint64_t capacity, RangeCounts& counts);
  void pass_there(std::span<const KeyRange> ranges, std::uint64_t capacity, RangeCounts& counts);

  Device device_;
  Dtype dtype_;
  ArrayView host_;                                // null in device memory
  std::optional<Buffer<const std::byte>> there_;  // the data in device memory
  std::uint64_t listed_ = 0;
  std::vector<std::byte> list_;  // on the CPU
  std::optional<Buffer<std::byte>> list_there_;
};

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
