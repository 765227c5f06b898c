// SPDX-License-Identifier: Apache-2.0
#include "own_process.h"

#include <masu/error.h>

#include <unistd.h>
#include <algorithm>
#include <fstream>
#include <iterator>

namespace masu::cli {

std::string own_program() {
  std::string path(4096, '\0');
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  if (length <= 0 || length == static_cast<ssize_t>(path.size())) {
    throw Error(ErrorCode::io, "masu finds its own program by /proc/self/exe, which cannot be read");
  }
  path.resize(static_cast<std::size_t>(length));
  return path;
}

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string line{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<std::string> arguments;
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find('\0', begin), line.size());
    arguments.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  if (arguments.empty()) {
    throw Error(ErrorCode::io, "masu reads its own command line from /proc/self/cmdline, which is not there");
  }
  return arguments;
}

}  // namespace masu::cli
