// SPDX-License-Identifier: Apache-2.0
// Where the stand-ins for the CUDA driver are: beside the test program, wherever it was carried to.
#pragma once

#include <dlfcn.h>

#include <cstring>
#include <filesystem>
#include <string>

namespace masu::cuda {

inline std::string beside_this_program(const char* name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name).string();
}
inline const std::string fake_driver = beside_this_program(MASU_FAKE_CUDA);
inline const std::string old_driver = beside_this_program(MASU_FAKE_CUDA_OLD);

// The answer of a function of the stand-in's own; -1 when it is not there.
inline int ask_fake_driver(const char* name) {
  void* library = dlopen(fake_driver.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return -1;
  void* address = dlsym(library, name);
  int (*function)() = nullptr;
  std::memcpy(&function, &address, sizeof function);
  const int answer = function != nullptr ? function() : -1;
  dlclose(library);
  return answer;
}

}  // namespace masu::cuda
