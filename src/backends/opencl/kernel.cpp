// SPDX-License-Identifier: Apache-2.0
// What is checked before a launch: drivers differ in what they notice, and some crash.
#include <fmt/format.h>

#include "backends/opencl/error.h"
#include "backends/opencl/memory.h"
#include "backends/opencl/module.h"

namespace masu::opencl {
namespace {

constexpr std::string_view function = "Kernel::launch";

template <class... T>
[[noreturn]] void refuse(fmt::format_string<T...> format, T&&... values) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: {}", function, fmt::format(format, std::forward<T>(values)...)));
}

std::string_view kind_name(KernelArgument::Kind kind) {
  constexpr std::string_view names[] = {"a buffer", "a value", "local memory"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace

Kernel::Kernel(Handle<cl_kernel> kernel, std::string name, std::shared_ptr<const Limits> limits)
    : kernel_(std::move(kernel)), name_(std::move(name)), limits_(std::move(limits)) {
  cl_uint count = 0;
  check(api().clGetKernelInfo(kernel_.get(), CL_KERNEL_NUM_ARGS, sizeof(count), &count, nullptr), "Program::kernel",
        limits_->id, "clGetKernelInfo");
  qualifiers_.resize(count);
  for (cl_uint i = 0; i < count; ++i) {
    if (api().clGetKernelArgInfo(kernel_.get(), i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(qualifiers_[i]),
                                 &qualifiers_[i], nullptr) != CL_SUCCESS) {
      qualifiers_[i] = 0;
    }
  }
}

template <class T>
T Kernel::work_group_value(cl_kernel_work_group_info name) const {
  T value{};
  check(api().clGetKernelWorkGroupInfo(kernel_.get(), limits_->device, name, sizeof(T), &value, nullptr), "Kernel",
        limits_->id, "clGetKernelWorkGroupInfo");
  return value;
}

std::size_t Kernel::max_work_group_size() {
  // A kernel that was compiled for one size runs in that size. NVIDIA's driver (580, 2026-11) says 256 for it all the
  // same.
  const auto compiled = work_group_value<std::array<std::size_t, 3>>(CL_KERNEL_COMPILE_WORK_GROUP_SIZE);
  const std::size_t fixed = compiled[0] * compiled[1] * compiled[2];
  return fixed != 0 ? fixed : work_group_value<std::size_t>(CL_KERNEL_WORK_GROUP_SIZE);
}

void Kernel::check_range(const NDRange& range) {
  if (range.dimensions > limits_->item_sizes.size()) {
    refuse("{} can have {} dimensions, got {}", limits_->id, limits_->item_sizes.size(), range.dimensions);
  }
  if (range.local[0] == 0) return;
  std::size_t items = 1;
  for (unsigned i = 0; i < range.dimensions; ++i) {
    if (range.local[i] > limits_->item_sizes[i]) {
      refuse("a local size of {} can be at most {} in dimension {}, got {}", limits_->id, limits_->item_sizes[i], i,
             range.local[i]);
    }
    if (limits_->uniform_groups && range.global[i] % range.local[i] != 0) {
      refuse("the global size must be a multiple of the local size, got {} and {} in dimension {}", range.global[i],
             range.local[i], i);
    }
    items *= range.local[i];
  }
  if (const std::size_t most = max_work_group_size(); items > most) {
    refuse("a work-group of {} can have at most {} work-items on {}, got {}", name_, most, limits_->id, items);
  }
}

void Kernel::check_kind(cl_uint index, KernelArgument::Kind kind) const {
  const cl_kernel_arg_address_qualifier qualifier = qualifiers_[index];
  if (qualifier == 0) return;
  const KernelArgument::Kind wanted = qualifier == CL_KERNEL_ARG_ADDRESS_PRIVATE ? KernelArgument::Kind::value
                                      : qualifier == CL_KERNEL_ARG_ADDRESS_LOCAL ? KernelArgument::Kind::local
                                                                                 : KernelArgument::Kind::buffer;
  if (kind != wanted) {
    refuse("argument {} of {} is {}, got {}", index, name_, kind_name(wanted), kind_name(kind));
  }
}

void Kernel::check_local(std::uint64_t bytes) const {
  if (bytes <= limits_->local_bytes) return;
  refuse("a work-group can have {} bytes of local memory on {}, got {} for {}", limits_->local_bytes, limits_->id,
         bytes, name_);
}

std::vector<Handle<cl_mem>> Kernel::set_arguments(std::span<const KernelArgument> arguments) {
  if (arguments.size() != qualifiers_.size()) {
    refuse("{} takes {} arguments, got {}", name_, qualifiers_.size(), arguments.size());
  }
  std::vector<Handle<cl_mem>> views;
  std::uint64_t local = 0;
  for (cl_uint i = 0; i < arguments.size(); ++i) {
    const KernelArgument& argument = arguments[i];
    check_kind(i, argument.kind());
    cl_int code = CL_SUCCESS;
    if (argument.kind() == KernelArgument::Kind::buffer) {
      auto* memory = dynamic_cast<Memory*>(argument.memory());
      if (memory == nullptr || memory->context() != limits_->context) {
        refuse("argument {} of {} must be a buffer of {}, got one of another device", i, name_, limits_->id);
      }
      cl_mem object = memory->get();
      if (argument.offset() != 0) {
        views.push_back(memory->view(argument.offset(), argument.size(), limits_->view_alignment));
        object = views.back().get();
      }
      code = api().clSetKernelArg(kernel_.get(), i, sizeof(object), &object);
    } else {
      if (argument.kind() == KernelArgument::Kind::local) local += argument.size();
      check_local(local);
      code = api().clSetKernelArg(kernel_.get(), i, argument.size(),
                                  argument.kind() == KernelArgument::Kind::local ? nullptr : argument.bytes());
    }
    if (code == CL_INVALID_ARG_SIZE) {
      refuse("argument {} of {} has another size, got {} of {} bytes", i, name_, kind_name(argument.kind()),
             argument.size());
    }
    check(code, function, limits_->id, fmt::format("setting argument {} of {}", i, name_));
  }
  check_local(work_group_value<cl_ulong>(CL_KERNEL_LOCAL_MEM_SIZE));  // with the kernel's own
  return views;
}

}  // namespace masu::opencl
