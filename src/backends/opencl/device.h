// SPDX-License-Identifier: Apache-2.0
// The OpenCL devices of this machine, and queues of one.
#pragma once

#include "backends/opencl/api.h"
#include "runtime/backend.h"

#include <masu/device.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace masu::opencl {

struct FoundDevice {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  DeviceInfo info;
};

struct Found {
  std::vector<FoundDevice> usable;  // number N is element N: GPUs first, then CPUs, then others, each in loader order
  std::vector<DeviceInfo> unusable;
};

// Asks every platform once in the life of the process.
const Found& found_devices();

// What a device says of itself; `info.usable` and `info.why` say whether masu can use it. `info.id` is empty.
DeviceInfo describe(cl_device_id device);

// A text that a device gives; empty when it does not.
std::string device_text(cl_device_id device, cl_device_info name);

// A number that a device gives; `otherwise` when it does not.
template <class T>
T device_value(cl_device_id device, cl_device_info name, T otherwise = T{}) {
  T value{};
  return api().clGetDeviceInfo(device, name, sizeof(T), &value, nullptr) == CL_SUCCESS ? value : otherwise;
}

// The queues that are in use on a device, so that it can wait for all of them.
class Queues {
 public:
  void add(cl_command_queue queue);
  void remove(cl_command_queue queue) noexcept;
  void finish(const std::string& device);

 private:
  std::mutex mutex_;
  std::vector<cl_command_queue> queues_;
};

// An in-order queue as a stream. `info` is the device's.
std::unique_ptr<runtime::Stream> make_stream(cl_context context, Handle<cl_command_queue> queue, const DeviceInfo& info,
                                             std::shared_ptr<Queues> queues);

}  // namespace masu::opencl
