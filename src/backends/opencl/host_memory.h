// SPDX-License-Identifier: Apache-2.0
// Host memory of the driver's own, kept mapped: drivers that lock pages give locked ones.
#pragma once

#include "backends/opencl/handle.h"
#include "runtime/backend.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace masu::opencl {

// The host memory of a device that is in use: OpenCL cannot be asked what an address is.
class HostRanges {
 public:
  void add(const void* first, std::uint64_t bytes);
  void remove(const void* first) noexcept;
  [[nodiscard]] bool contain(const void* first, std::uint64_t bytes) const noexcept;

 private:
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, std::uint64_t> ranges_;
};

class HostMemory final : public runtime::HostMemory {
 public:
  HostMemory(cl_context context, cl_device_id device, const DeviceInfo& info, std::shared_ptr<HostRanges> ranges,
             std::uint64_t bytes);
  ~HostMemory() override;

 private:
  Handle<cl_command_queue> queue_;
  Handle<cl_mem> object_;
  std::shared_ptr<HostRanges> ranges_;
};

}  // namespace masu::opencl
