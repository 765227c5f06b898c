// SPDX-License-Identifier: Apache-2.0
// Device memory: allocated, the caller's, or host memory that the device reaches.
#pragma once

#include "backends/cuda/context.h"
#include "runtime/backend.h"

#include <atomic>
#include <cstdint>
#include <memory>

namespace masu::cuda {

// Host memory that is page-locked and mapped for the devices while it is in use. Registering a range twice is an error
// of the driver, so uses of one range share one registration.
class HostRegistration {
 public:
  HostRegistration(std::shared_ptr<Context> context, void* data, std::uint64_t bytes, bool read_only);
  ~HostRegistration();
  HostRegistration(const HostRegistration&) = delete;
  HostRegistration& operator=(const HostRegistration&) = delete;
  [[nodiscard]] CUdeviceptr device_address() const noexcept { return address_; }
  [[nodiscard]] void* host() const noexcept { return data_; }

 private:
  std::shared_ptr<Context> context_;
  void* data_;
  bool shared_;  // an entry of the process's list; false for a range that the caller registered
  CUdeviceptr address_ = 0;
};

class Memory final : public runtime::Memory {
 public:
  static std::shared_ptr<Memory> allocate(const std::shared_ptr<Context>& context, std::uint64_t bytes);
  static std::shared_ptr<Memory> wrap(const std::shared_ptr<Context>& context, void* handle, std::uint64_t bytes);
  static std::shared_ptr<Memory> wrap_host(const std::shared_ptr<Context>& context, void* data, std::uint64_t bytes,
                                           bool read_only);
  // Memory that is not there, at an address of its own: for calls that are recorded.
  static std::shared_ptr<Memory> imagine(const std::shared_ptr<Context>& context, std::uint64_t bytes,
                                         unsigned misaligned = 0);
  ~Memory() override;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] void* native() const noexcept override;
  [[nodiscard]] std::uintptr_t place() const noexcept override { return static_cast<std::uintptr_t>(address_); }
  [[nodiscard]] CUdeviceptr address() const noexcept { return address_; }
  [[nodiscard]] bool imagined() const noexcept { return imagined_; }
  // The host range that this is, or null.
  [[nodiscard]] void* host() const noexcept { return registration_ ? registration_->host() : nullptr; }
  [[nodiscard]] const std::shared_ptr<Context>& context() const noexcept { return context_; }

 private:
  Memory(std::shared_ptr<Context> context, CUdeviceptr address, std::uint64_t bytes, bool read_only)
      : runtime::Memory(bytes, read_only), context_(std::move(context)), address_(address) {}

  std::shared_ptr<Context> context_;
  CUdeviceptr address_;
  bool owned_ = false;
  bool imagined_ = false;
  mutable std::atomic<bool> exposed_ = false;  // the address has been given away
  std::unique_ptr<HostRegistration> registration_;
};

// The memory of this backend from its interface; throws invalid_argument for memory that is not of `context`.
Memory& own_memory(runtime::Memory& memory, const Context& context, std::string_view function);

// Page-locked host memory.

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
