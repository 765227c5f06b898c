// SPDX-License-Identifier: Apache-2.0
// The result as a plain value: merging, and its bytes.
#include "call/operands.h"
#include "call/state_bytes.h"
#include "histogram/histogram_checks.h"

#include <masu/histogram.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace masu {

namespace {
constexpr call::StateName histogram_state{"Histogram", "MHIS"};
}  // namespace

std::vector<double> Histogram::edges() const {
  return rule_->all_edges();
}

double Histogram::edge(std::uint64_t i) const {
  if (i > size()) {
    call::refuse("Histogram::edge", fmt::format("i must be <= {}, got {}", size(), i));
  }
  return rule_->edge(i);
}

std::uint64_t Histogram::n() const noexcept {
  return std::accumulate(counts_.begin(), counts_.end(), below_ + above_ + nan_);
}

void Histogram::merge(const Histogram& other) {
  if (!rule_->same_edges(*other.rule_)) {
    call::refuse("Histogram::merge", fmt::format("both must have the same edges, got {} and {}",
                                                 rule_->text(*other.rule_), other.rule_->text(*rule_)));
  }
  (void)call::elements_of_both("Histogram::merge", n(), other.n());
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  below_ += other.below_;
  above_ += other.above_;
  nan_ += other.nan_;
}

bool operator==(const Histogram& a, const Histogram& b) {
  return a.counts_ == b.counts_ && a.below_ == b.below_ && a.above_ == b.above_ && a.nan_ == b.nan_ &&
         a.rule_->same_edges(*b.rule_);
}

std::vector<std::byte> Histogram::bytes() const {
  call::StateWriter to(histogram_state);
  to.dtype(dtype_);
  rule_->write(to);
  for (const std::uint64_t outside : {below_, above_, nan_}) to.number(outside);
  to.numbers(counts_);
  return to.finish();
}

Histogram Histogram::from_bytes(std::span<const std::byte> bytes) {
  call::StateReader from(histogram_state, bytes);
  Histogram h;
  h.dtype_ = from.dtype();
  h.rule_ = BinRule::read(from, h.dtype_, false);
  for (std::uint64_t* outside : {&h.below_, &h.above_, &h.nan_}) *outside = from.number();
  h.counts_ = from.numbers(h.rule_->n);
  from.end();
  from.require(call::total_of_counts({h.counts_, {&h.below_, 1}, {&h.above_, 1}, {&h.nan_, 1}}) <= call::most_in_state);
  return h;
}

std::vector<std::int64_t> Histogram::integers() const {
  std::vector<std::int64_t> result(counts_.begin(), counts_.end());
  for (const std::uint64_t outside : {below_, above_, nan_}) result.push_back(static_cast<std::int64_t>(outside));
  return result;
}

Histogram Histogram::with_integers(std::span<const std::int64_t> integers) const {
  check_integers("Histogram", size() + extra_slots, integers);
  Histogram h = *this;
  std::copy_n(integers.begin(), size(), h.counts_.begin());
  h.below_ = static_cast<std::uint64_t>(integers[size() + slot_below]);
  h.above_ = static_cast<std::uint64_t>(integers[size() + slot_above]);
  h.nan_ = static_cast<std::uint64_t>(integers[size() + slot_nan]);
  return h;
}

}  // namespace masu
