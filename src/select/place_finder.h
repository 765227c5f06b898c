// SPDX-License-Identifier: Apache-2.0
// Which elements stand at given places of the sorted order, found digit by digit in passes over the data, on the CPU or
// a device. Everything is a count, so neither the order nor the pieces of the data matter.
#pragma once

#include "call/state_bytes.h"
#include "select/key_passes.h"
#include "select/selection_plan.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/stream.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace masu {

// Elements as keys in sorted order: NaNs have the greatest.
std::uint64_t greatest_key(Dtype dtype) noexcept;
// The bits of the element with that key: +0 for a zero, the quiet NaN for a NaN.
std::uint64_t bits_of_key(Dtype dtype, std::uint64_t key);

class PlaceFinder {
 public:
  // Bytes of device memory that one has.
  static constexpr std::uint64_t counting_bytes =
      selection_plan::most_prefixes * selection_plan::table_words * sizeof(std::uint64_t);
  PlaceFinder(const Device& device, Dtype dtype);

  // The data of this pass, in pieces.
  void add(const ArrayView& data);
  void add(const BufferBase& data, std::uint64_t byte_offset, std::uint64_t count);
  // Elements of a pass, once one has ended; until then, what came.
  [[nodiscard]] std::uint64_t count() const noexcept { return passes_ == 0 ? here_ : count_; }
  // Takes what another one in the same pass has taken in it; false where that pass is another.
  [[nodiscard]] bool merge(const PlaceFinder& other);
  void write(call::StateWriter& to) const;
  // `count`: of the elements of a pass, where one has ended. `places`: of those, as next_pass() has them.
  using Places = std::function<std::span<const std::uint64_t>(std::uint64_t count)>;
  void read(call::StateReader& from, const Places& places);
  // Ends a pass; `places` are below count(), and the same each time. True when the data is needed once more.
  bool next_pass(std::span<const std::uint64_t> places);
  // All passes have ended.
  [[nodiscard]] bool done() const noexcept { return left_ == 0; }
  void check_pass() const;  // throws invalid_argument unless there is one
  // The key at a place.
  [[nodiscard]] std::uint64_t key(std::uint64_t place) const { return found_.at(place).prefix; }
  [[nodiscard]] Times times() const noexcept { return times_; }

 private:
  using Prefixes = std::array<std::uint64_t, selection_plan::most_prefixes>;
  [[nodiscard]] DigitPass digits() const noexcept { return {left_ - width_, width_, prefixes_}; }
  void launch_counts(Stream& stream, const BufferBase& data, std::uint64_t byte_offset, std::uint64_t count,
                     const Prefixes& prefixes, std::size_t tables);
  void begin_pass();
  void end_passes();

  Device device_;
  Dtype dtype_;
  bool on_cpu_;
  std::uint64_t count_ = 0;
  std::uint64_t here_ = 0;  // elements of this pass so far
  unsigned passes_ = 0;
  unsigned left_;            // bits of the keys that are not known
  unsigned width_ = 0;       // bits that this pass finds
  bool collecting_ = false;  // this pass collects the keys with these fronts
  std::vector<std::uint64_t> prefixes_{0};
  std::vector<std::uint64_t> table_;
  std::vector<std::uint64_t> collected_;
  std::map<std::uint64_t, KnownKey> found_;
  selection_plan::Plan plan_;
  std::optional<Buffer<std::uint64_t>> totals_;  // counts on a device
  Times times_;
};

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
  // Takes elements of 4 and 8 bytes, and at most selection_plan::most_ranges ranges. The list has room for `capacity`
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

// What one part of the data knows in a search for places: pieces of it, or all of it, which it holds. A sample of all
// held parts tells in which ranges of the order the places lie in all likelihood, one pass over each part counts what
// is below these and lists what is within, and a PlaceFinder finds the places in the lists. Where the sample misleads,
// or much would be listed, and where there are pieces, it finds them in all data.
class PlaceState {
 public:
  PlaceState(const Device& device, Dtype dtype) : dtype_(dtype), finder_(device, dtype) {}
  // The data of this pass, in pieces.
  template <class... Data>
  void add(const Data&... data) {
    finder_.add(data...);
  }
  // Begins with a sample of so many elements, with none where `samples` is 0.
  void hold(HeldData data, std::uint64_t samples);
  [[nodiscard]] bool holds() const noexcept { return data_.has_value(); }
  // Elements of all parts, once a pass has ended; until then, what came.
  [[nodiscard]] std::uint64_t count() const noexcept { return phase_ == Phase::all ? finder_.count() : count_; }
  [[nodiscard]] bool done() const noexcept { return done_; }
  [[nodiscard]] Times times() const noexcept { return finder_.times(); }
  // Takes what another one in the same pass has taken in it; false where that pass is another.
  [[nodiscard]] bool merge(const PlaceState& other);
  void write(call::StateWriter& to) const;
  void read(call::StateReader& from, const PlaceFinder::Places& places);
  // Ends a pass. `places` ascend, are below count(), and the same each time; with `last_is_for_nan` the last one is
  // asked for only to be compared with NaN's key. True when there is another pass, for which held data has been given.
  bool next_pass(std::span<const std::uint64_t> places, bool last_is_for_nan);
  // The key at a place, once all passes have ended.
  [[nodiscard]] std::uint64_t key(std::uint64_t place) const;

 private:
  // What is given in this pass: pieces of the data, or all that is held; a sample; counts; lists.
  enum class Phase : std::uint8_t { all, sample, counts, lists };
  struct At {
    std::size_t range;
    std::uint64_t place;  // among what is listed
  };
  [[nodiscard]] bool narrow(bool last_is_for_nan);
  [[nodiscard]] bool merge_narrowed(const PlaceState& other);
  void read_ranges(call::StateReader& from);
  [[nodiscard]] bool choose_ranges(std::span<const std::uint64_t> places);
  [[nodiscard]] std::uint64_t capacity() const;
  [[nodiscard]] std::optional<At> find(std::uint64_t place) const;
  // Whether the finder has what this pass and the passes before it found; and the places that it looks for.
  [[nodiscard]] bool is_finders() const { return phase_ == Phase::all || !listed_places().empty(); }
  [[nodiscard]] std::vector<std::uint64_t> sought() const { return phase_ == Phase::all ? places_ : listed_places(); }
  [[nodiscard]] std::vector<std::uint64_t> listed_places() const;
  void give();
  void give_up();

  Dtype dtype_;
  PlaceFinder finder_;
  bool done_ = false;
  Phase phase_ = Phase::all;
  std::uint64_t count_ = 0;
  std::vector<std::uint64_t> places_;  // once a pass has ended
  std::vector<std::uint64_t> sample_;  // keys; once ranges are chosen, sorted
  std::vector<KeyRange> ranges_;       // ascending
  RangeCounts counts_;
  bool missed_ = false;  // some part has more than its list takes
  // What belongs to this part alone.
  std::optional<HeldData> data_;
  std::vector<std::uint64_t> own_sample_;  // keys of some of its elements
};

}  // namespace masu
