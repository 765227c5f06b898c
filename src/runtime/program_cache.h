// SPDX-License-Identifier: Apache-2.0
// Compiled programs, kept in memory for the device's life and on disk between processes.
#pragma once

#include "runtime/backend.h"
#include "runtime/define.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace masu::runtime {

// masu's own kernel files at `paths` for a device: prelude, defines, then each file behind its "#line 1 path"; compiled
// once per device and set of defines. Thread-safe; two threads that ask for the same program at once compile it once.
std::shared_ptr<Module> own_program(Device& device, std::span<const std::string_view> paths,
                                    std::span<const Define> defines);

// Any complete source text, through the same cache; one that includes files is compiled anew each time.
std::shared_ptr<Module> cached_program(Device& device, std::string_view text, std::string_view options);

// The text that own_program would compile: for tests that compile kernels without a device.
std::string own_program_text(std::string_view prelude, std::span<const std::string_view> paths,
                             std::span<const Define> defines);
inline std::string own_program_text(std::string_view prelude, std::string_view path, std::span<const Define> defines) {
  return own_program_text(prelude, std::span(&path, 1), defines);
}

}  // namespace masu::runtime
