// SPDX-License-Identifier: Apache-2.0
// Owners of OpenCL objects.
#pragma once

#include "backends/opencl/loader.h"

#include <utility>

namespace masu::opencl {

inline void release(cl_context object) noexcept {
  api().clReleaseContext(object);
}
inline void release(cl_command_queue object) noexcept {
  api().clReleaseCommandQueue(object);
}
inline void release(cl_mem object) noexcept {
  api().clReleaseMemObject(object);
}
inline void release(cl_event object) noexcept {
  api().clReleaseEvent(object);
}
inline void release(cl_program object) noexcept {
  api().clReleaseProgram(object);
}
inline void release(cl_kernel object) noexcept {
  api().clReleaseKernel(object);
}

// One reference to an object.
template <class T>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T object) noexcept : object_(object) {}
  Handle(Handle&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Handle() {
    if (object_ != nullptr) release(object_);
  }
  [[nodiscard]] T get() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  T object_ = nullptr;
};

}  // namespace masu::opencl
