// SPDX-License-Identifier: Apache-2.0
// Compiled programs, and what is checked before a launch: drivers differ in what they notice, and some crash.
#include "backends/opencl/module.h"

#include "backends/opencl/memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

namespace masu::opencl {
namespace {

std::string build_log(cl_program program, cl_device_id device) {
  return without_noise(info_text(api().clGetProgramBuildInfo, program, device, CL_PROGRAM_BUILD_LOG));
}

// What stands before a line's number in the messages of a compiler that does not heed #line.
std::string_view line_marker(cl_device_id device) {
  const std::string name = info_text(api().clGetDeviceInfo, device, CL_DEVICE_NAME);
  return name.starts_with("Oclgrind") ? "input.cl:" : "<kernel>:";
}

// Has the driver remember what kind each argument is, which Kernel checks.
std::string with_argument_info(std::string_view options) {
  return std::string(options) + (options.empty() ? "" : " ") + "-cl-kernel-arg-info";
}

}  // namespace

std::shared_ptr<Module> build_source(std::shared_ptr<const Limits> limits, std::string_view text,
                                     std::string_view options) {
  const char* source = text.data();
  const std::size_t size = text.size();
  cl_int code = CL_SUCCESS;
  Handle<cl_program> program(api().clCreateProgramWithSource(limits->context, 1, &source, &size, &code));
  check(code, "Program", limits->id, "clCreateProgramWithSource");
  code = api().clBuildProgram(program.get(), 1, &limits->device, with_argument_info(options).c_str(), nullptr, nullptr);
  if (code == CL_BUILD_PROGRAM_FAILURE && build_log(program.get(), limits->device).find("ptxas") != std::string::npos) {
    // NVIDIA's driver (580, 2026-11) makes invalid PTX of kernels without arguments where it is to tell of arguments.
    code = api().clBuildProgram(program.get(), 1, &limits->device, std::string(options).c_str(), nullptr, nullptr);
  }
  std::string log = with_presumed_lines(build_log(program.get(), limits->device), text, line_marker(limits->device));
  if (code != CL_SUCCESS) {
    const ErrorCode meaning = error_code(code);
    throw Error(meaning == ErrorCode::invalid_argument ? ErrorCode::build_failed : meaning,
                fmt::format("Program: {}: the source does not compile with options \"{}\" ({})\n{}", limits->id,
                            options, error_name(code), log));
  }
  auto module = std::make_shared<Module>(std::move(program), std::move(limits));
  module->take_notes(std::move(log));
  return module;
}

std::shared_ptr<Module> build_binary(std::shared_ptr<const Limits> limits, std::string_view binary) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  const std::size_t size = binary.size();
  cl_int code = CL_SUCCESS;
  Handle<cl_program> program(
      api().clCreateProgramWithBinary(limits->context, 1, &limits->device, &size, &bytes, nullptr, &code));
  if (code != CL_SUCCESS) return nullptr;
  // Without options: those that the binary was made with.
  code = api().clBuildProgram(program.get(), 1, &limits->device, nullptr, nullptr, nullptr);
  if (code != CL_SUCCESS) return nullptr;
  return std::make_shared<Module>(std::move(program), std::move(limits));
}

std::shared_ptr<runtime::Kernel> Module::kernel(std::string_view name) {
  if (name.find('\0') != std::string_view::npos) refuse_name(name);
  std::string text(name);
  cl_int code = CL_SUCCESS;
  Handle<cl_kernel> kernel(api().clCreateKernel(program_.get(), text.c_str(), &code));
  if (code == CL_INVALID_KERNEL_NAME) refuse_name(name);
  check(code, "Program::kernel", limits_->id, "clCreateKernel");
  const auto noted = notes_.parameters.find(name);
  return std::make_shared<Kernel>(std::move(kernel), std::move(text), limits_,
                                  noted != notes_.parameters.end() ? noted->second : std::vector<KernelParameter>());
}

void Module::take_notes(std::string log) {
  notes_.log = std::move(log);
  for (const std::string& name : kernel_names()) {
    cl_int code = CL_SUCCESS;
    const Handle<cl_kernel> kernel(api().clCreateKernel(program_.get(), name.c_str(), &code));
    if (code == CL_SUCCESS) notes_.parameters.emplace(name, told_parameters(kernel.get(), *limits_));
  }
}

std::vector<std::string> Module::kernel_names() {
  // The names are asked for only where there are some: NVIDIA's driver (580, 2026-11) needs that.
  std::size_t kernels = 0;
  check(api().clGetProgramInfo(program_.get(), CL_PROGRAM_NUM_KERNELS, sizeof(kernels), &kernels, nullptr),
        "Program::kernel_names", limits_->id, "clGetProgramInfo");
  if (kernels == 0) return {};
  std::size_t size = 0;
  check(api().clGetProgramInfo(program_.get(), CL_PROGRAM_KERNEL_NAMES, 0, nullptr, &size), "Program::kernel_names",
        limits_->id, "clGetProgramInfo");
  std::string text(size, '\0');
  check(api().clGetProgramInfo(program_.get(), CL_PROGRAM_KERNEL_NAMES, size, text.data(), nullptr),
        "Program::kernel_names", limits_->id, "clGetProgramInfo");
  std::vector<std::string> names(1);
  for (const char c : text) {
    if (c == ';') names.emplace_back();
    else if (c != '\0') names.back() += c;
  }
  std::erase(names, std::string());
  return names;
}

std::string Module::binary() {
  // The program was made for one device, so there is one binary. A driver that gives none is not an error.
  std::size_t size = 0;
  if (api().clGetProgramInfo(program_.get(), CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, nullptr) != CL_SUCCESS) {
    return {};
  }
  std::string bytes(size, '\0');
  char* target = bytes.data();
  if (size == 0 ||
      api().clGetProgramInfo(program_.get(), CL_PROGRAM_BINARIES, sizeof(target), &target, nullptr) != CL_SUCCESS) {
    return {};
  }
  return bytes;
}

namespace {

// What a driver tells of a kernel's parameters.

// Types of OpenCL C that are passed as handles.
bool is_handle(std::string_view type) {
  constexpr std::array<std::string_view, 5> starts{"image", "sampler_t", "pipe", "queue_t", "reserve_id_t"};
  return std::ranges::any_of(starts, [type](std::string_view start) { return type.find(start) == 0; });
}

KernelParameter::Kind kind_of(cl_kernel_arg_address_qualifier qualifier, std::string_view type) {
  if (is_handle(type)) return KernelParameter::Kind::other;
  switch (qualifier) {
    case CL_KERNEL_ARG_ADDRESS_GLOBAL:
    case CL_KERNEL_ARG_ADDRESS_CONSTANT: return KernelParameter::Kind::buffer;
    case CL_KERNEL_ARG_ADDRESS_LOCAL: return KernelParameter::Kind::local;
    case CL_KERNEL_ARG_ADDRESS_PRIVATE: return KernelParameter::Kind::value;
    default: return KernelParameter::Kind::other;
  }
}

}  // namespace

std::vector<KernelParameter> told_parameters(cl_kernel kernel, const Limits& limits) {
  cl_uint count = 0;
  check(api().clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(count), &count, nullptr), "Program::kernel", limits.id,
        "clGetKernelInfo");
  std::vector<KernelParameter> parameters(count);
  for (cl_uint i = 0; i < count; ++i) {
    cl_kernel_arg_address_qualifier qualifier = 0;
    if (api().clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(qualifier), &qualifier, nullptr) !=
        CL_SUCCESS) {
      continue;
    }
    parameters[i].type = info_text(api().clGetKernelArgInfo, kernel, i, CL_KERNEL_ARG_TYPE_NAME);
    parameters[i].name = info_text(api().clGetKernelArgInfo, kernel, i, CL_KERNEL_ARG_NAME);
    parameters[i].kind = kind_of(qualifier, parameters[i].type);
  }
  return parameters;
}

namespace {

constexpr std::string_view function = "Kernel::launch";

template <class... T>
[[noreturn]] void refuse(fmt::format_string<T...> format, T&&... values) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: {}", function, fmt::format(format, std::forward<T>(values)...)));
}

// "64x2".
std::string text_of(const std::array<std::size_t, 3>& sizes, unsigned dimensions) {
  return fmt::format("{}", fmt::join(std::span(sizes).first(dimensions), "x"));
}

}  // namespace

Kernel::Kernel(Handle<cl_kernel> kernel, std::string name, std::shared_ptr<const Limits> limits,
               std::vector<KernelParameter> noted)
    : kernel_(std::move(kernel)), name_(std::move(name)), limits_(std::move(limits)) {
  cl_uint count = 0;
  check(api().clGetKernelInfo(kernel_.get(), CL_KERNEL_NUM_ARGS, sizeof(count), &count, nullptr), "Program::kernel",
        limits_->id, "clGetKernelInfo");
  // To ask the driver for all of them costs more than a launch.
  signature_ =
      runtime::KernelSignature(noted.size() == count ? std::move(noted) : told_parameters(kernel_.get(), *limits_));
  set_to_.resize(signature_.parameters().size());
  fixed_ = work_group_value<std::array<std::size_t, 3>>(CL_KERNEL_COMPILE_WORK_GROUP_SIZE);
  // A kernel that was compiled for one size runs in that size. NVIDIA's driver (580, 2026-11) says 256 for it all the
  // same.
  max_items_ = fixed_[0] * fixed_[1] * fixed_[2];
  if (max_items_ == 0) max_items_ = work_group_value<std::size_t>(CL_KERNEL_WORK_GROUP_SIZE);
  own_local_ = work_group_value<cl_ulong>(CL_KERNEL_LOCAL_MEM_SIZE);  // arguments, which are not set yet, count as 0
}

template <class T>
T Kernel::work_group_value(cl_kernel_work_group_info name) const {
  T value{};
  check(api().clGetKernelWorkGroupInfo(kernel_.get(), limits_->device, name, sizeof(T), &value, nullptr), "Kernel",
        limits_->id, "clGetKernelWorkGroupInfo");
  return value;
}

const std::size_t* Kernel::local_size(const NDRange& range) const {
  if (range.dimensions > limits_->item_sizes.size()) {
    refuse("{} can have {} dimensions, got {}", limits_->id, limits_->item_sizes.size(), range.dimensions);
  }
  const bool fixed = fixed_[0] != 0;
  if (range.local[0] == 0 && !fixed) return nullptr;
  const std::array<std::size_t, 3>& local = range.local[0] == 0 ? fixed_ : range.local;
  std::size_t items = 1;
  for (unsigned i = 0; i < range.dimensions; ++i) {
    if (fixed && local[i] != fixed_[i]) {
      refuse("{} was compiled for a local size of {}, got {}", name_, text_of(fixed_, 3),
             text_of(local, range.dimensions));
    }
    if (local[i] > limits_->item_sizes[i]) {
      refuse("a local size of {} can be at most {} in dimension {}, got {}", limits_->id, limits_->item_sizes[i], i,
             local[i]);
    }
    if (limits_->uniform_groups && range.global[i] % local[i] != 0) refuse_launch(range, CL_INVALID_WORK_GROUP_SIZE);
    items *= local[i];
  }
  if (items > max_items_) {
    refuse("a work-group of {} can have at most {} work-items on {}, got {}", name_, max_items_, limits_->id, items);
  }
  return local.data();
}

void Kernel::refuse_launch(const NDRange& range, cl_int code) const {
  const std::array<std::size_t, 3>& local = range.local[0] == 0 ? fixed_ : range.local;
  for (unsigned i = 0; i < range.dimensions && code == CL_INVALID_WORK_GROUP_SIZE; ++i) {
    if (local[i] == 0 || range.global[i] % local[i] == 0) continue;
    refuse(
        "on {} the global size must be a multiple of the local size, got {} and {} in dimension {}: round it up to "
        "{} and let {} check its index{}{}",
        limits_->id, range.global[i], local[i], i, (range.global[i] / local[i] + 1) * local[i], name_,
        fixed_[0] != 0 ? "" : ", or leave the local size to the device",
        limits_->uniform_groups ? "" : ", or compile with -cl-std=CL2.0 or newer");
  }
  throw Error(code == CL_OUT_OF_RESOURCES ? ErrorCode::unsupported : ErrorCode::invalid_argument,
              fmt::format("{}: {} cannot run {} with global size {} and local size {} ({})", function, limits_->id,
                          name_, text_of(range.global, range.dimensions),
                          local[0] == 0 ? "of its choice" : text_of(local, range.dimensions), error_name(code)));
}

void Kernel::check_local(std::uint64_t bytes) const {
  if (bytes <= limits_->local_bytes) return;
  refuse("a work-group can have {} bytes of local memory on {}, got {} for {}", limits_->local_bytes, limits_->id,
         bytes, name_);
}

void Kernel::set(cl_uint index, std::size_t size, const void* value, const KernelArgument& argument) {
  set_to_[index].size = 0;  // unknown, should this fail
  set_to_[index].serial = 0;
  const cl_int code = api().clSetKernelArg(kernel_.get(), index, size, value);
  if (code == CL_SUCCESS) return;
  const std::string title = signature_.title(name_, index);
  if (code == CL_INVALID_ARG_SIZE) refuse("{} has another size, got {} bytes", title, argument.size());
  check(code, function, limits_->id, fmt::format("setting {}", title));
}

void Kernel::set_buffer(cl_uint index, const KernelArgument& argument, std::vector<Handle<cl_mem>>& views) {
  auto* memory = dynamic_cast<Memory*>(argument.memory());
  if (memory == nullptr || memory->context() != limits_->context) {
    refuse("{} must be a buffer of {}, got one of another device", signature_.title(name_, index), limits_->id);
  }
  Memory::View view{memory->get(), {}};
  const bool part = argument.offset() != 0 && argument.size() != 0;  // of an empty slice a kernel can use nothing
  if (part) view = memory->view(argument.offset(), argument.size(), limits_->view_alignment);
  SetTo& now = set_to_[index];
  const std::uint64_t serial = memory->serial();
  const std::array<std::uint64_t, 2> place =
      part ? std::array{argument.offset(), std::uint64_t{argument.size()}} : std::array<std::uint64_t, 2>{};
  if (now.serial == serial && now.place == place) return;
  set(index, sizeof(view.object), &view.object, argument);
  if (view.last) {
    views.push_back(std::move(view.last));
    return;
  }
  now.serial = serial;
  now.place = place;
}

void Kernel::set_plain(cl_uint index, const KernelArgument& argument) {
  const bool local = argument.kind() == KernelArgument::Kind::local;
  SetTo& now = set_to_[index];
  const bool same = now.size == argument.size() && now.local == local;
  if (same && (local || std::memcmp(now.bytes.data(), argument.bytes(), now.size) == 0)) return;
  set(index, argument.size(), local ? nullptr : argument.bytes(), argument);
  now.size = argument.size();
  now.local = local;
  if (!local) std::memcpy(now.bytes.data(), argument.bytes(), now.size);
}

std::vector<Handle<cl_mem>> Kernel::set_arguments(std::span<const KernelArgument> arguments) {
  signature_.check_count(name_, arguments.size());
  std::uint64_t local = own_local_;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const KernelArgument& argument = arguments[i];
    signature_.check(name_, i, argument);
    if (argument.kind() != KernelArgument::Kind::local) continue;
    check_local(argument.size());  // alone first: the sum may overflow
    local += argument.size();
    check_local(local);
  }
  std::vector<Handle<cl_mem>> views;
  for (cl_uint i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind() == KernelArgument::Kind::buffer) set_buffer(i, arguments[i], views);
    else set_plain(i, arguments[i]);
  }
  return views;
}

}  // namespace masu::opencl
