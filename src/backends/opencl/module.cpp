// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/module.h"

#include <fmt/format.h>

#include "backends/opencl/error.h"

#include <algorithm>

namespace masu::opencl {
namespace {

std::string build_log(cl_program program, cl_device_id device) {
  std::size_t size = 0;
  if (api().clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) != CL_SUCCESS) return {};
  std::string log(size, '\0');
  if (api().clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr) != CL_SUCCESS) {
    return {};
  }
  while (!log.empty() && log.back() == '\0') log.pop_back();
  return without_noise(log);
}

// What stands before a line's number in the messages of a compiler that does not heed #line.
std::string_view line_marker(cl_device_id device) {
  char name[256] = {};
  api().clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name) - 1, name, nullptr);
  return std::string_view(name).starts_with("Oclgrind") ? "input.cl:" : "<kernel>:";
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
  // Asked for the names of no kernels, NVIDIA's driver (580, 2026-11) crashes.
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

}  // namespace masu::opencl
