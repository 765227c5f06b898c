// SPDX-License-Identifier: Apache-2.0
// Compiled programs, kept in memory for the device's life and on disk between processes.
#pragma once

#include "runtime/backend.h"

#include <memory>
#include <string_view>

namespace masu::runtime {

// The program of a complete source text, compiled once; one that includes files is compiled anew each time.
// Thread-safe; two threads that ask for the same program at once compile it once.
std::shared_ptr<Module> cached_program(Device& device, std::string_view text, std::string_view options);

}  // namespace masu::runtime
