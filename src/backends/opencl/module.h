// SPDX-License-Identifier: Apache-2.0
// Compiled programs and their kernels.
#pragma once

#include "backends/opencl/handle.h"
#include "runtime/backend.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace masu::opencl {

// What a launch must keep to; copied from the device, which a kernel may outlive.
struct Limits {
  cl_context context = nullptr;  // for comparisons; kept alive by the kernel
  cl_device_id device = nullptr;
  std::string id;
  std::uint64_t local_bytes = 0;
  std::uint64_t view_alignment = 1;  // bytes
  std::vector<std::size_t> item_sizes;
  bool uniform_groups = true;  // the global size must be a multiple of the local one
};

class Kernel final : public runtime::Kernel {
 public:
  Kernel(Handle<cl_kernel> kernel, std::string name, std::shared_ptr<const Limits> limits);
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  std::size_t max_work_group_size() override;
  [[nodiscard]] cl_kernel get() const noexcept { return kernel_.get(); }
  [[nodiscard]] cl_context context() const noexcept { return limits_->context; }

  // Throws invalid_argument for sizes that the device cannot run.
  void check_range(const NDRange& range);
  // Sets the arguments. The sub-views made for them are returned; they must live until the launch is queued.
  [[nodiscard]] std::vector<Handle<cl_mem>> set_arguments(std::span<const KernelArgument> arguments);

 private:
  template <class T>
  [[nodiscard]] T work_group_value(cl_kernel_work_group_info name) const;
  void check_local(std::uint64_t bytes) const;
  void check_kind(cl_uint index, KernelArgument::Kind kind) const;
  Handle<cl_kernel> kernel_;
  std::string name_;
  std::shared_ptr<const Limits> limits_;
  std::vector<cl_kernel_arg_address_qualifier> qualifiers_;  // of each argument; 0 where the driver does not tell
};

class Module final : public runtime::Module {
 public:
  Module(Handle<cl_program> program, std::shared_ptr<const Limits> limits, std::string log)
      : program_(std::move(program)), limits_(std::move(limits)) {
    log_ = std::move(log);
  }
  std::shared_ptr<runtime::Kernel> kernel(std::string_view name) override;
  std::vector<std::string> kernel_names() override;
  std::string binary() override;

 private:
  Handle<cl_program> program_;
  std::shared_ptr<const Limits> limits_;
};

// Throws build_failed with the compiler's log.
std::shared_ptr<Module> build_source(std::shared_ptr<const Limits> limits, std::string_view text,
                                     std::string_view options);
// nullptr when the driver does not take the binary.
std::shared_ptr<Module> build_binary(std::shared_ptr<const Limits> limits, std::string_view binary);

}  // namespace masu::opencl
