// SPDX-License-Identifier: Apache-2.0
#include "cli/shell/shell_files.h"

namespace masu::cli {

std::optional<std::string> shell_file(const CommandLine& line, std::string_view what) {
  if (what == "man") return manual(line);
  if (what == "bash") return bash_completion(line);
  if (what == "zsh") return zsh_completion(line);
  if (what == "fish") return fish_completion(line);
  return std::nullopt;
}

}  // namespace masu::cli
