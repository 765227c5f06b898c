// SPDX-License-Identifier: Apache-2.0
// BinEstimator: bins from passes over data.
#include "histogram/bins/bin_estimator_state.h"

namespace masu {

BinEstimator::BinEstimator(Dtype dtype, const Bins& bins) : state_(std::make_unique<State>(dtype, bins)) {}
BinEstimator::BinEstimator(BinEstimator&&) noexcept = default;
BinEstimator& BinEstimator::operator=(BinEstimator&&) noexcept = default;
BinEstimator::~BinEstimator() = default;

void BinEstimator::add(const ArrayView& data) {
  State& s = *state_;
  if (data.dtype != s.dtype) {
    throw Error(ErrorCode::invalid_argument, fmt::format("BinEstimator::add: data must be {} as before, got {}",
                                                         to_string(s.dtype), to_string(data.dtype)));
  }
  if (s.done) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("BinEstimator::add: no pass is left, got {} values more", data.count));
  }
  if (!s.automatic) {  // only the range is asked for: there is a faster way
    s.range = masu::merge(s.range, finite_range(s.cpu, data));
    return;
  }
  if (s.stone) return s.stone->add(data);
  add_to_tally(s.pass, data, *s.tally);
}

bool BinEstimator::next_pass() {
  return !state_->done && state_->next_pass();
}

double BinEstimator::bins_found() const {
  if (!state_->done) {
    throw Error(ErrorCode::invalid_argument,
                "BinEstimator::bins_found: passes must be given until next_pass() is false");
  }
  return state_->found();
}

Bins BinEstimator::bins() const {
  if (!state_->done) {
    throw Error(ErrorCode::invalid_argument, "BinEstimator::bins: passes must be given until next_pass() is false");
  }
  return state_->result();
}

}  // namespace masu
