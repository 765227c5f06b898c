// SPDX-License-Identifier: Apache-2.0
// Page-locked host memory.
#pragma once

#include "backends/cuda/context.h"
#include "runtime/backend.h"

#include <cstdint>
#include <memory>

namespace masu::cuda {

// Locked for every context of the process.
class HostMemory final : public runtime::HostMemory {
 public:
  HostMemory(std::shared_ptr<Context> context, std::uint64_t bytes);
  ~HostMemory() override;

 private:
  std::shared_ptr<Context> context_;
};

// Whether the driver knows all of the range as page-locked host memory, whoever allocated or registered it.
bool is_page_locked(const Context& context, const void* data, std::uint64_t bytes) noexcept;

}  // namespace masu::cuda
