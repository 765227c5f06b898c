// SPDX-License-Identifier: Apache-2.0
// Drivers do not work in a process that was forked after they were opened, because their threads do not exist there. So
// every function of such a driver, also those that release objects, is replaced there by one that fails at once.
#pragma once

#include <pthread.h>

#include <string_view>
#include <tuple>
#include <type_traits>

namespace masu::runtime {

inline constexpr int forked_code = -88001;  // which no driver returns
inline constexpr std::string_view forked_why =
    "the driver was opened before this process was forked, and drivers do not survive a fork (start processes by "
    "spawn, "
    "or open devices only in the child; the device \"cpu\" works)";

// The replacement. It returns forked_code; a function that returns a pointer returns null and writes forked_code to its
// last argument.
template <class Function>
struct Refused;
template <class R, class... A>
struct Refused<R (*)(A...)> {
  static R call(A... arguments) {
    if constexpr (std::is_pointer_v<R>) {
      auto* const code = std::get<sizeof...(A) - 1>(std::tuple(arguments...));
      if (code != nullptr) *code = forked_code;
      return nullptr;
    } else {
      return forked_code;
    }
  }
};

// Runs `refuse` first in every process that is forked from now on. It must only write to memory.
inline void in_forked_children(void (*refuse)()) {
  ::pthread_atfork(nullptr, nullptr, refuse);
}

}  // namespace masu::runtime
