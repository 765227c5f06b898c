// SPDX-License-Identifier: Apache-2.0
// The text of a program, its language, and which kernel of it to run.
#include "cli/run/run_job.h"
#include "errors.h"
#include "io/reader.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace masu::cli {
namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 20U;

std::string read_text(const std::string& path, const std::string& name) {
  const std::unique_ptr<io::ByteStream> stream = io::open_stream(path, name, "");
  std::string text;
  std::array<std::byte, 65536> block{};
  while (const std::size_t bytes = stream->read(block.data(), block.size())) {
    text.append(reinterpret_cast<const char*>(block.data()), bytes);
    if (text.size() > most_bytes) io::fail_io(name, fmt::format("is no kernel: more than {} bytes", most_bytes));
  }
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // the mark of UTF-8
  if (text.find('\0') != std::string::npos) io::fail_io(name, "is no kernel: it has zero bytes");
  if (text.find_first_not_of(" \t\r\n\f\v") == std::string::npos) io::fail_io(name, "has no kernel: it is empty");
  return text;
}

std::optional<DeviceKind> kind_of_device(std::string_view id) {
  const std::string_view kind = id.substr(0, id.find(':'));
  for (const DeviceKind known : {DeviceKind::cpu, DeviceKind::opencl, DeviceKind::cuda}) {
    if (kind == to_string(known)) return known;
  }
  return std::nullopt;
}

std::string_view preset_device() {
  const char* preset = std::getenv("MASU_DEVICE");
  return preset != nullptr ? preset : "";
}

std::string_view language_name(DeviceKind kind) {
  constexpr std::string_view names[] = {"", "OpenCL C", "CUDA C++"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace

DeviceKind kernel_language(const std::string& path, const std::string& language, const std::string& device) {
  if (language == "opencl") return DeviceKind::opencl;
  if (language == "cuda") return DeviceKind::cuda;
  if (!language.empty()) usage_error("--language takes opencl or cuda, got '" + language + "'");
  if (path.ends_with(".cl")) return DeviceKind::opencl;
  if (path.ends_with(".cu")) return DeviceKind::cuda;
  const std::optional<DeviceKind> kind = kind_of_device(device.empty() ? preset_device() : device);
  if (kind && *kind != DeviceKind::cpu) return *kind;
  usage_error(fmt::format("{} ends neither in .cl nor in .cu; say --language opencl or cuda", path));
}

KernelText read_kernel(const std::string& path, DeviceKind language) {
  KernelText kernel;
  kernel.language = language;
  kernel.name = path == "-" ? "<stdin>" : path;
  kernel.text = read_text(path, path == "-" ? "standard input" : path);
  return kernel;
}

std::string with_file_name(const KernelText& kernel) {
  std::string line = "#line 1 \"";
  for (const char c : kernel.name) {
    if (c == '"' || c == '\\') line += '\\';
    line += static_cast<unsigned char>(c) < ' ' ? '?' : c;
  }
  return line + "\"\n" + kernel.text;
}

bool includes_files(const KernelText& kernel) {
  constexpr std::string_view word = "include";
  const std::string_view text = kernel.text;
  for (std::size_t at = text.find('#'); at != std::string_view::npos; at = text.find('#', at + 1)) {
    const std::size_t next = text.find_first_not_of(" \t", at + 1);
    if (next != std::string_view::npos && text.substr(next).starts_with(word)) return true;
  }
  return false;
}

std::string device_for(DeviceKind language, const std::string& asked, const std::string& file) {
  if (asked.empty() || asked == "auto") {
    const std::string_view preset = asked.empty() ? preset_device() : "";
    return std::string(kind_of_device(preset) == language ? preset : to_string(language));
  }
  const std::optional<DeviceKind> kind = kind_of_device(asked);
  if (kind && *kind != language) {
    usage_error(fmt::format("{} is {}, which {} does not run; --device takes {}", file, language_name(language), asked,
                            language == DeviceKind::opencl ? "opencl or opencl:N" : "cuda or cuda:N"));
  }
  return asked;  // of no known kind: opening it says so
}

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
