// SPDX-License-Identifier: Apache-2.0
// Page-locked memory for what the host and the kernels of a call tell each other. It is kept for later calls. With the
// GIL.
#pragma once

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/stream.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace masu_python {

class Locked {
 public:
  // At least so many bytes, from a multiple of 64 on. Throws masu::Error.
  Locked(const masu::Device& device, std::int32_t ordinal, std::uint64_t bytes);
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  // Of a call that was interrupted or failed: work that it was lent to may still use the memory, so that it is neither
  // used again nor freed, which waits for the device.
  ~Locked();
  [[nodiscard]] std::byte* data() const noexcept { return memory_->data(); }
  // Work may use it from here on.
  void lend() noexcept { lent_ = true; }
  // No work uses it any more.
  void keep();
  // The last work that uses it ends with `work`, and needs `also` until then.
  void keep_after(masu::Event work, std::shared_ptr<void> also);

 private:
  using Memory = masu::HostBuffer<std::byte>;
  struct Pool;
  static Pool& pool_of(std::int32_t ordinal);
  Pool& pool_;
  std::optional<Memory> memory_;
  bool lent_ = false;
};

}  // namespace masu_python
