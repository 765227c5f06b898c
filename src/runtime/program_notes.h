// SPDX-License-Identifier: Apache-2.0
// What a compiler tells of a program and its binary may not: the log, and what each kernel takes. Drivers that load a
// binary forget names and types.
#pragma once

#include <masu/kernel_argument.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace masu::runtime {

struct ProgramNotes {
  std::string log;
  std::map<std::string, std::vector<KernelParameter>, std::less<>> parameters;  // of each kernel, where known
};

struct NotedBinary {
  ProgramNotes notes;
  std::string binary;
};

// Both as one string, and back; nullopt for anything that `pack` did not make.
std::string pack(const ProgramNotes& notes, std::string_view binary);
std::optional<NotedBinary> unpack(std::string_view text);

}  // namespace masu::runtime
