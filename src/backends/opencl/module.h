// SPDX-License-Identifier: Apache-2.0
// Compiled programs and their kernels.
#pragma once

#include "backends/opencl/api.h"
#include "runtime/backend.h"

#include <array>
#include <cstddef>
#include <cstdint>
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
  // `noted`: the parameters as noted when this program was compiled. Where they do not belong to this kernel, the
  // driver is asked.
  Kernel(Handle<cl_kernel> kernel, std::string name, std::shared_ptr<const Limits> limits,
         std::vector<KernelParameter> noted);
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  std::size_t max_work_group_size() override { return max_items_; }
  [[nodiscard]] cl_kernel get() const noexcept { return kernel_.get(); }
  [[nodiscard]] cl_context context() const noexcept { return limits_->context; }

  // The local size to launch with, null where the driver chooses. Throws invalid_argument for sizes that the device
  // cannot run.
  [[nodiscard]] const std::size_t* local_size(const NDRange& range) const;
  // Sets the arguments. Sub-views that are not kept are returned; they must live until the launch is queued.
  [[nodiscard]] std::vector<Handle<cl_mem>> set_arguments(std::span<const KernelArgument> arguments);
  // Throws for a launch that the driver has refused.
  [[noreturn]] void refuse_launch(const NDRange& range, cl_int code) const;

 private:
  // What an argument was last set to: setting the same again is left out.
  struct SetTo {
    std::uint64_t serial = 0;              // of a buffer's memory
    std::array<std::uint64_t, 2> place{};  // of a part of it: offset and bytes
    std::size_t size = 0;                  // of a value or of local memory; 0 when it must be set
    bool local = false;
    std::array<std::byte, KernelArgument::most_bytes> bytes{};
  };
  template <class T>
  [[nodiscard]] T work_group_value(cl_kernel_work_group_info name) const;
  void set(cl_uint index, std::size_t size, const void* value, const KernelArgument& argument);
  void set_buffer(cl_uint index, const KernelArgument& argument, std::vector<Handle<cl_mem>>& views);
  void set_plain(cl_uint index, const KernelArgument& argument);
  void check_local(std::uint64_t bytes) const;
  Handle<cl_kernel> kernel_;
  std::string name_;
  std::shared_ptr<const Limits> limits_;
  std::array<std::size_t, 3> fixed_{};  // the only local size that it can run with; 0 when there is a choice
  std::size_t max_items_ = 0;
  std::uint64_t own_local_ = 0;  // bytes that the kernel declares itself
  std::vector<SetTo> set_to_;
};

class Module final : public runtime::Module {
 public:
  Module(Handle<cl_program> program, std::shared_ptr<const Limits> limits)
      : program_(std::move(program)), limits_(std::move(limits)) {}
  std::shared_ptr<runtime::Kernel> kernel(std::string_view name) override;
  std::vector<std::string> kernel_names() override;
  std::string binary() override;
  // Has the driver tell what it may forget when it loads the binary.
  void take_notes(std::string log);

 private:
  Handle<cl_program> program_;
  std::shared_ptr<const Limits> limits_;
};

// What the driver tells of a kernel's parameters; `other` and no names for one that it does not tell.
std::vector<KernelParameter> told_parameters(cl_kernel kernel, const Limits& limits);

// Throws build_failed with the compiler's log.
std::shared_ptr<Module> build_source(std::shared_ptr<const Limits> limits, std::string_view text,
                                     std::string_view options);
// nullptr when the driver does not take the binary.
std::shared_ptr<Module> build_binary(std::shared_ptr<const Limits> limits, std::string_view binary);

}  // namespace masu::opencl
