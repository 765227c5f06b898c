// SPDX-License-Identifier: Apache-2.0
// Which elements stand at given places of the sorted order, found digit by digit in passes over the data, on the CPU or
// a device. Everything is a count, so neither the order nor the pieces of the data matter.
#pragma once

#include "call/state_bytes.h"
#include "topk/digit_counter.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/quantile.h>

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
  // What is known of the key at a place: its front, and the place among the keys with that front.
  struct Known {
    std::uint64_t prefix = 0;
    std::uint64_t rest = 0;
    friend bool operator==(const Known&, const Known&) = default;
  };
  void add_here(const ArrayView& data);
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
  std::map<std::uint64_t, Known> found_;
  std::optional<topk_plan::Plan> plan_;
  std::optional<DigitCounter> counter_;
  Times times_;
};

}  // namespace masu

namespace masu::cpu {

// What selection from data that comes in pieces needs on the CPU: counted digits and collected keys.

// The digit of a key is its `width` bits from bit `shift` on; a prefix is what is above them. Prefixes ascend.
struct DigitPass {
  unsigned shift;
  unsigned width;
  std::span<const std::uint64_t> prefixes;
};
// Adds to a table of 2^width counts for each prefix, on all threads.
void count_digits(const ArrayView& data, const DigitPass& pass, std::span<std::uint64_t> tables);
// Appends the keys whose bits from `shift` on are one of the prefixes.
void collect_keys(const ArrayView& data, unsigned shift, std::span<const std::uint64_t> prefixes,
                  std::vector<std::uint64_t>& keys);

}  // namespace masu::cpu
