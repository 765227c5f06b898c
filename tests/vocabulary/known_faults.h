// SPDX-License-Identifier: Apache-2.0
// What drivers get wrong, each with the version where it was seen. docs/vocabulary.md has the reproducers.
#pragma once

#include <masu/device.h>

#include <span>
#include <string_view>

namespace masu::vocabulary {

struct KnownFault {
  std::string_view device;  // parts of DeviceInfo::name …
  std::string_view driver;  // … and of DeviceInfo::driver
  std::string_view family;
  std::string_view type;   // "" is any
  std::string_view name;   // of the case: `*` stands for any text, `?` for a character
  std::string_view fault;  // what happens
  bool optimised = false;  // only where the compiler optimises, so that it may not show
};

std::span<const KnownFault> known_faults();

// The fault of a case on a device, or nullptr.
const KnownFault* find_known_fault(const DeviceInfo& device, std::string_view family, std::string_view type,
                                   std::string_view name);

}  // namespace masu::vocabulary
