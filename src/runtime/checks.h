// SPDX-License-Identifier: Apache-2.0
// Checks that several public classes share.
#pragma once

#include <masu/buffer.h>

namespace masu {

// Throws invalid_argument when the two differ in size or overlap.
void check_copy(const BufferBase& target, const BufferBase& source);

namespace runtime {
// Whether two views of devices of one kind share memory: one handle of OpenCL, else by their addresses.
[[nodiscard]] bool overlap(const BufferBase& a, const BufferBase& b) noexcept;
}  // namespace runtime

}  // namespace masu
