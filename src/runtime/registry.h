// SPDX-License-Identifier: Apache-2.0
// Finds devices by the names that users give them.
#pragma once

#include "runtime/backend.h"

#include <memory>
#include <string_view>
#include <vector>

namespace masu::runtime {

// See masu::Device::open and masu::Device::list.
std::shared_ptr<Device> open_device(std::string_view id);
std::vector<DeviceInfo> list_devices();
std::vector<DeviceInfo> list_devices(DeviceKind kind);

}  // namespace masu::runtime
