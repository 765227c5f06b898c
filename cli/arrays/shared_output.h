// SPDX-License-Identifier: Apache-2.0
// An array that lies on all ranks, written as an ArrayOutput is: each rank writes its part of a file at its place, and
// the first one gives the file its name when all have. What is no file of a name, like standard output, the first one
// writes.
#pragma once

#include "cli/arrays/array_output.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace masu::cli {

// Collective (ranks.h).
class SharedOutput {
 public:
  // As ArrayOutput's.
  SharedOutput(const std::string& path, const io::SourceInfo& from);
  // Once: the elements of this rank, behind those of the ranks before. The shape is that of all.
  void write(const ArrayView& mine, std::span<const std::uint64_t> shape);
  void commit();

 private:
  void open_part();
  ArrayForm form_;
  std::optional<io::OutputFile> file_;  // of the first rank
  std::optional<io::OutputPart> part_;  // of another
  bool in_place_ = false;               // no file to which the others have a way
};

}  // namespace masu::cli
