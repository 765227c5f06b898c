// SPDX-License-Identifier: Apache-2.0
// The end of one command, or of several that do one thing together.
#pragma once

#include "backends/opencl/handle.h"
#include "runtime/backend.h"

#include <string>
#include <utility>

namespace masu::opencl {

class Event final : public runtime::Event {
 public:
  // `first` is the first of several commands; empty when there is only one. `device` is its id, for messages.
  Event(Handle<cl_event> first, Handle<cl_event> last, std::string device)
      : first_(std::move(first)), last_(std::move(last)), device_(std::move(device)) {}
  [[nodiscard]] cl_event get() const noexcept { return last_.get(); }
  bool ready() override;
  void wait() override;
  double seconds() override;
  double seconds_since(const runtime::Event& earlier) override;

 private:
  [[nodiscard]] cl_ulong time(cl_event event, cl_profiling_info which) const;
  [[nodiscard]] cl_int status() const;
  Handle<cl_event> first_;
  Handle<cl_event> last_;
  std::string device_;
};

}  // namespace masu::opencl
