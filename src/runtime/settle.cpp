// SPDX-License-Identifier: Apache-2.0
#include "runtime/settle.h"

#include <masu/error.h>

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

namespace masu::runtime {

bool waits_for_launches() {
  static const bool wanted = [] {
    const char* value = std::getenv("MASU_SYNC");
    return value != nullptr && *value != '\0' && std::string_view(value) != "0";
  }();
  return wanted;
}

void settle(Stream& stream, const Kernel& kernel) {
  if (!waits_for_launches() || stream.capturing()) return;
  try {
    stream.finish();
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("MASU_SYNC: the kernel {}: {}", kernel.name(), error.what()));
  }
}

}  // namespace masu::runtime
