// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/event.h"

#include "backends/opencl/error.h"

namespace masu::opencl {

cl_int Event::status() const {
  cl_int status = CL_QUEUED;
  check(api().clGetEventInfo(last_.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr), "Event",
        device_, "clGetEventInfo");
  return status;
}

bool Event::ready() {
  return status() <= CL_COMPLETE;  // an error, which is negative, is an end too
}

void Event::wait() {
  const cl_event event = last_.get();
  const cl_int code = api().clWaitForEvents(1, &event);
  // The event's own error says more than "some event failed".
  if (const cl_int own = status(); own < 0) fail(own, "Event::wait", device_, "the command");
  check(code, "Event::wait", device_, "clWaitForEvents");
}

cl_ulong Event::time(cl_event event, cl_profiling_info which) const {
  cl_ulong nanoseconds = 0;
  const cl_int code = api().clGetEventProfilingInfo(event, which, sizeof(nanoseconds), &nanoseconds, nullptr);
  if (code == CL_PROFILING_INFO_NOT_AVAILABLE) {
    throw Error(
        ErrorCode::unsupported,
        "Event::seconds: the stream must be made with Timing::on, a wrapped queue with CL_QUEUE_PROFILING_ENABLE");
  }
  check(code, "Event::seconds", device_, "clGetEventProfilingInfo");
  return nanoseconds;
}

double Event::seconds() {
  wait();
  const cl_ulong start = time(first_ ? first_.get() : last_.get(), CL_PROFILING_COMMAND_START);
  const cl_ulong end = time(last_.get(), CL_PROFILING_COMMAND_END);
  return static_cast<double>(end - start) * 1e-9;
}

double Event::seconds_since(const runtime::Event& earlier) {
  const auto* other = dynamic_cast<const Event*>(&earlier);
  if (other == nullptr || other->device_ != device_) {
    throw Error(ErrorCode::invalid_argument, "Event::seconds_since: both events must be of one device, got two");
  }
  wait();
  const auto end = static_cast<std::int64_t>(time(last_.get(), CL_PROFILING_COMMAND_END));
  const auto start = static_cast<std::int64_t>(time(other->last_.get(), CL_PROFILING_COMMAND_END));
  return static_cast<double>(end - start) * 1e-9;
}

}  // namespace masu::opencl
