// SPDX-License-Identifier: Apache-2.0
#include "cli/run/run_source.h"

#include "errors.h"
#include "io/reader.h"

#include <fmt/format.h>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>

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

}  // namespace masu::cli
