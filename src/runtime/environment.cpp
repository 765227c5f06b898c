// SPDX-License-Identifier: Apache-2.0
#include "runtime/environment.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

namespace masu::runtime {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Environment read_all() {
  Environment all;
  all.kernel_directory = variable("MASU_KERNEL_DIR");
  all.cache_directory = cache_directory();
  all.cuda_library = variable("MASU_CUDA_LIBRARY");
  all.nvrtc = variable("MASU_NVRTC");
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (std::string value = variable(name); !value.empty()) all.toolkits.push_back(std::move(value));
  }
  const std::string sync = variable("MASU_SYNC");
  all.sync = !sync.empty() && sync != "0";
  return all;
}

}  // namespace

std::string cache_directory() {
  const std::string cache = variable("MASU_CACHE");
  const std::string xdg = variable("XDG_CACHE_HOME");
  const std::string home = variable("HOME");
  if (cache == "off") return {};
  if (xdg.starts_with('/')) return (std::filesystem::path(xdg) / "masu").string();
  if (home.starts_with('/')) return (std::filesystem::path(home) / ".cache" / "masu").string();
  return {};
}

const Environment& environment() {
  static const Environment& all = *new Environment(read_all());  // destructors of a program's objects may still use it
  return all;
}

}  // namespace masu::runtime
