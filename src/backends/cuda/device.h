// SPDX-License-Identifier: Apache-2.0
// A CUDA device in a context.
#pragma once

#include "backends/cuda/context.h"
#include "backends/cuda/loader.h"
#include "backends/cuda/module.h"
#include "runtime/backend.h"

namespace masu::cuda {

// A device as the driver numbers it.
struct Listed {
  int ordinal;
  DeviceInfo info;
};

// Every device of the driver's; "cuda:N" counts the usable ones. One unusable entry that says why where there is none.
std::vector<Listed> list_devices(const Loaded<Driver>& driver);

class Device final : public runtime::Device {
 public:
  Device(std::shared_ptr<Context> context, DeviceInfo info);

  [[nodiscard]] void* native_context() const noexcept override { return context_->handle(); }
  [[nodiscard]] void* native_device() const noexcept override;
  std::shared_ptr<runtime::Memory> allocate(std::uint64_t bytes) override;
  std::shared_ptr<runtime::Memory> wrap_host(void* data, std::uint64_t bytes, bool read_only) override;
  std::shared_ptr<runtime::Memory> wrap_native(void* handle, std::uint64_t bytes) override;
  std::shared_ptr<runtime::HostMemory> allocate_host(std::uint64_t bytes) override;
  [[nodiscard]] bool is_page_locked(const void* data, std::uint64_t bytes) const noexcept override;
  std::unique_ptr<runtime::Stream> make_stream(Timing timing) override;
  std::unique_ptr<runtime::Stream> wrap_stream(void* native, Timing timing) override;
  void synchronize() override;
  std::unique_ptr<runtime::Recorder> make_recorder() override;
  void trim() override;
  std::shared_ptr<runtime::Module> compile(std::string_view text, std::string_view options) override;
  std::shared_ptr<runtime::Module> load(std::string_view binary) override;
  [[nodiscard]] std::string cache_identity() const override;
  [[nodiscard]] std::string_view prelude() const noexcept override { return prelude_; }
  [[nodiscard]] std::string_view kernel_options() const noexcept override;

 private:
  std::shared_ptr<Context> context_;
  LaunchLimits limits_;
  int architecture_ = 0;  // 90 for sm_90
  std::string prelude_;
};

}  // namespace masu::cuda
