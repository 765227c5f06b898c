// SPDX-License-Identifier: Apache-2.0
// The OpenCL devices of this machine.
#pragma once

#include <masu/device.h>

#include "backends/opencl/loader.h"

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

}  // namespace masu::opencl
