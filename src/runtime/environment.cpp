// SPDX-License-Identifier: Apache-2.0
#include "runtime/environment.h"

#include "runtime/program_cache.h"

#include <cstdlib>
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
  all.cache_directory = DiskCache::default_directory();
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

const Environment& environment() {
  static const Environment& all = *new Environment(read_all());  // destructors of a program's objects may still use it
  return all;
}

}  // namespace masu::runtime
