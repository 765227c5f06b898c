// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel_source.h"

#include <fmt/format.h>
#include <masu/error.h>

#include "runtime/backend.h"
#include "runtime/program_cache.h"

#include <fstream>
#include <iterator>
#include <mutex>
#include <utility>

namespace masu::runtime {

std::string kernel_text(std::string_view path, const std::string& directory) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path != path) continue;
    if (directory.empty()) return std::string(file.text);
    const std::string name = fmt::format("{}/{}", directory, path);
    std::ifstream stream(name, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(stream), {}};
    if (!stream) throw Error(ErrorCode::io, fmt::format("kernel_text: {}: cannot be read (MASU_KERNEL_DIR)", name));
    return text;
  }
  throw Error(ErrorCode::invalid_argument, fmt::format("kernel_text: the library carries no file \"{}\"", path));
}

std::string own_program_text(std::string_view prelude, std::span<const std::string_view> paths,
                             std::span<const Define> defines) {
  std::string text(prelude);
  if (!text.empty() && text.back() != '\n') text += '\n';
  for (const Define& define : defines) text += fmt::format("#define {} {}\n", define.name(), define.value());
  for (const std::string_view path : paths) {
    if (!text.empty() && text.back() != '\n') text += '\n';
    text += fmt::format("#line 1 \"{}\"\n", path);
    text += kernel_text(path);
  }
  return text;
}

// Making and hashing the text takes longer than a small kernel: what was asked for before is found without. While
// kernels are read from the source tree, they may change.
std::shared_ptr<Module> own_program(Device& device, std::span<const std::string_view> paths,
                                    std::span<const Define> defines) {
  const auto program = [&] {
    return cached_program(device, own_program_text(device.prelude(), paths, defines), device.kernel_options());
  };
  if (!environment().kernel_directory.empty()) return program();
  std::string name;
  for (const std::string_view path : paths) (name += path) += ' ';
  const std::size_t begin = name.size();
  name.resize(begin + defines.size() * Define::most_image);
  char* end = name.data() + begin;
  for (const Define& define : defines) end = define.image(end);
  name.resize(end - name.data());
  Kept& kept = device.kept();
  {
    const std::lock_guard lock(kept.mutex);
    if (const auto found = kept.own.find(name); found != kept.own.end()) return found->second;
  }
  std::shared_ptr<Module> module = program();
  const std::lock_guard lock(kept.mutex);
  if (kept.own.size() >= Kept::most_programs) kept.own.clear();
  kept.own.emplace(std::move(name), module);
  return module;
}

}  // namespace masu::runtime
