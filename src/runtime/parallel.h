// SPDX-License-Identifier: Apache-2.0
// CPU threads: how many, and a loop over them.
#pragma once

#include <masu/export.h>

#include <cstdint>
#include <functional>

namespace masu::runtime {

// Runs body(task) for every task in [0, tasks) on up to cpu_threads() threads of oneTBB. With one thread, or one task,
// it runs in the caller and starts no thread. The caller's arena and its limit are honoured. Exceptions reach the
// caller. Where the caller's InterruptScope says so, it ends with an Error of code interrupted. Exported for masu's
// other libraries.
MASU_EXPORT void parallel_tasks(std::uint64_t tasks, const std::function<void(std::uint64_t)>& body);

}  // namespace masu::runtime
