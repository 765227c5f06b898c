// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/event.h"

#include <fmt/format.h>

namespace masu::cuda {

Event::~Event() {
  context_->give_event(start_);
  context_->give_event(end_);
}

void Event::record(CUevent& event, CUstream stream) {
  event = context_->take_event();
  context_->check(context_->driver().event_record(event, stream), "cuEventRecord");
}

bool Event::ready() {
  const ContextScope scope(*context_);
  const CUresult code = context_->driver().event_query(end_);
  if (code == error_not_ready) return false;
  context_->check(code, "cuEventQuery");
  return true;
}

void Event::wait() {
  const ContextScope scope(*context_);
  context_->check(context_->driver().event_synchronize(end_), "cuEventSynchronize");
}

double Event::elapsed(CUevent first, CUevent last) const {
  const ContextScope scope(*context_);
  float milliseconds = 0;
  context_->check(context_->driver().event_elapsed_time(&milliseconds, first, last), "cuEventElapsedTime");
  return static_cast<double>(milliseconds) / 1e3;
}

double Event::seconds() {
  if (timing_ == Timing::off) runtime::throw_untimed();
  wait();
  return start_ == nullptr ? 0.0 : elapsed(start_, end_);
}

double Event::seconds_since(const runtime::Event& earlier) {
  const Event& first = own_event(earlier, "seconds_since");
  if (timing_ == Timing::off || first.timing_ == Timing::off) runtime::throw_untimed();
  wait();
  return elapsed(first.end_, end_);
}

const Event& own_event(const runtime::Event& event, std::string_view function) {
  const auto* own = dynamic_cast<const Event*>(&event);
  if (own == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: the event must be of a CUDA stream, got one of another backend", function));
  }
  return *own;
}

}  // namespace masu::cuda
