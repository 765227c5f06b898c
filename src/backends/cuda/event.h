// SPDX-License-Identifier: Apache-2.0
// The end of a command in a stream, and its start where its time is wanted.
#pragma once

#include "backends/cuda/context.h"
#include "runtime/backend.h"

namespace masu::cuda {

class Event final : public runtime::Event {
 public:
  // The context must be current.
  Event(std::shared_ptr<Context> context, Timing timing) : context_(std::move(context)), timing_(timing) {}
  ~Event() override;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Each puts a mark into the stream; the context must be current.
  void record_start(CUstream stream) { record(start_, stream); }
  void record_end(CUstream stream) { record(end_, stream); }

  bool ready() override;
  void wait() override;
  double seconds() override;
  double seconds_since(const runtime::Event& earlier) override;
  [[nodiscard]] CUevent end() const noexcept { return end_; }

 private:
  void record(CUevent& event, CUstream stream);
  double elapsed(CUevent first, CUevent last) const;

  std::shared_ptr<Context> context_;
  CUevent start_ = nullptr;  // none for a mere point in a stream
  CUevent end_ = nullptr;
  Timing timing_;
};

// The event of this backend behind an interface; throws invalid_argument for another backend's.
const Event& own_event(const runtime::Event& event, std::string_view function);

}  // namespace masu::cuda
