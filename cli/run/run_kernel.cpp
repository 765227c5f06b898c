// SPDX-License-Identifier: Apache-2.0
#include "cli/run/run_kernel.h"

#include "errors.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <vector>

namespace masu::cli {
namespace {

// "_Z3addPfi" is add(float*, int) of the source: "add". Other names stay.
std::string unmangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  if (!name.starts_with("_Z") || status != 0 || !text) return name;
  const std::string whole = text.get();
  return whole.substr(0, whole.find('('));
}

std::string parameter_text(std::size_t number, const KernelParameter& parameter) {
  std::string text = parameter.kind == KernelParameter::Kind::local ? "local " : "";
  if (!parameter.type.empty()) text += parameter.type;
  else if (parameter.bytes != 0) text += fmt::format("{} bytes", parameter.bytes);
  if (!parameter.name.empty()) text += (text.empty() ? "" : " ") + parameter.name;
  return fmt::format("{}: {}", number, text.empty() ? "unknown" : text);
}

}  // namespace

Kernel find_kernel(const Program& program, const std::string& name, const std::string& file) {
  const std::vector<std::string> linked = program.kernel_names();
  std::vector<std::string> names;
  for (const std::string& known : linked) names.push_back(unmangled(known));
  if (names.empty()) {
    throw Error(ErrorCode::invalid_argument,
                file + " has no kernel: a function marked __kernel in OpenCL C, __global__ in CUDA C++");
  }
  if (name.empty() && names.size() == 1) return program.kernel(linked.front());
  if (name.empty()) {
    usage_error(fmt::format("{} has {} kernels; --kernel takes one of {}", file, names.size(), fmt::join(names, ", ")));
  }
  if (std::find(linked.begin(), linked.end(), name) != linked.end()) return program.kernel(name);
  const auto matching = std::count(names.begin(), names.end(), name);
  if (matching == 1) {
    return program.kernel(
        linked[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin())]);
  }
  // Overloads have one name in the source: those of the linker tell them apart.
  const std::string list = fmt::format("{}", fmt::join(matching > 1 ? linked : names, ", "));
  usage_error(fmt::format("{} has the kernel{} {}; --kernel got '{}'", file, names.size() == 1 ? "" : "s", list, name));
}

std::string source_name(const Kernel& kernel) {
  return unmangled(kernel.name());
}

void check_count(const Kernel& kernel, std::span<const KernelArgument> arguments, DeviceKind device) {
  const std::vector<KernelParameter>& parameters = kernel.parameters();
  // Dynamic shared memory takes no parameter of a CUDA kernel.
  const auto given = std::count_if(arguments.begin(), arguments.end(), [&](const KernelArgument& argument) {
    return device != DeviceKind::cuda || argument.kind() != KernelArgument::Kind::local;
  });
  if (parameters.empty() || parameters.size() == static_cast<std::size_t>(given)) return;
  std::vector<std::string> texts;
  for (const KernelParameter& parameter : parameters) texts.push_back(parameter_text(texts.size(), parameter));
  usage_error(fmt::format("{} takes {} argument{} ({}), got {} --arg", source_name(kernel), parameters.size(),
                          parameters.size() == 1 ? "" : "s", fmt::join(texts, ", "), given));
}

std::size_t argument_number(const Kernel& kernel, const std::string& text, std::size_t count) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number < count) return number;
  const std::vector<KernelParameter>& parameters = kernel.parameters();
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const KernelParameter& parameter) { return parameter.name == text; });
  const auto index = static_cast<std::size_t>(found - parameters.begin());
  if (found != parameters.end() && index < count) return index;
  usage_error(fmt::format("--expect: {} has {} argument{}, the first is number 0, got '{}'", source_name(kernel), count,
                          count == 1 ? "" : "s", text));
}

std::string argument_name(const Kernel& kernel, std::size_t number) {
  const std::vector<KernelParameter>& parameters = kernel.parameters();
  return number < parameters.size() ? parameters[number].name : "";
}

std::string argument_text(std::size_t number, const std::string& name) {
  return fmt::format("argument {}{}", number, name.empty() ? "" : " (" + name + ")");
}

}  // namespace masu::cli
