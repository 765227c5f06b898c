// SPDX-License-Identifier: Apache-2.0
// An OpenCL device in a context.
#pragma once

#include "backends/opencl/handle.h"
#include "backends/opencl/memory.h"
#include "backends/opencl/module.h"
#include "backends/opencl/stream.h"
#include "runtime/backend.h"

#include <memory>
#include <string>

namespace masu::opencl {

class Device final : public runtime::Device {
 public:
  // Takes over one reference of the context.
  Device(Handle<cl_context> context, cl_device_id device, DeviceInfo info);
  ~Device() override { release_kept(); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] void* native_context() const noexcept override { return context_.get(); }
  [[nodiscard]] void* native_device() const noexcept override { return device_; }
  std::shared_ptr<runtime::Memory> allocate(std::uint64_t bytes) override;
  std::shared_ptr<runtime::Memory> wrap_host(void* data, std::uint64_t bytes, bool read_only) override;
  std::shared_ptr<runtime::Memory> wrap_native(void* handle, std::uint64_t bytes) override;
  std::shared_ptr<runtime::HostMemory> allocate_host(std::uint64_t bytes) override;
  [[nodiscard]] bool is_page_locked(const void* data, std::uint64_t bytes) const noexcept override;
  std::unique_ptr<runtime::Stream> make_stream(Timing timing) override;
  std::unique_ptr<runtime::Stream> wrap_stream(void* native, Timing timing) override;
  void synchronize() override;
  std::shared_ptr<runtime::Module> compile(std::string_view text, std::string_view options) override;
  std::shared_ptr<runtime::Module> load(std::string_view binary) override;
  [[nodiscard]] std::string cache_identity() const override;
  [[nodiscard]] std::string_view prelude() const noexcept override { return prelude_; }
  [[nodiscard]] std::string_view kernel_options() const noexcept override { return "-cl-std=CL1.2"; }

 private:
  Handle<cl_context> context_;
  cl_device_id device_;
  std::shared_ptr<const Limits> limits_;
  std::shared_ptr<Queues> queues_ = std::make_shared<Queues>();
  std::shared_ptr<HostRanges> host_ranges_ = std::make_shared<HostRanges>();
  std::string prelude_;
};

}  // namespace masu::opencl
