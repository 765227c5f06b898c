// SPDX-License-Identifier: Apache-2.0
// An array written in pieces, whole or not at all, in the form that its path's ending says: .npy, .txt or .csv (one
// number a line), else raw. On a terminal it is text.
#pragma once

#include <masu/dtype.h>
#include <masu/io.h>

#include <cstdint>
#include <span>
#include <string>

namespace masu::cli {

// One number a line, in the shortest form that reads back.
void write_lines(const ArrayView& array, io::OutputFile& to);

class ArrayOutput {
 public:
  // "" and "-" are standard output.
  explicit ArrayOutput(const std::string& path);
  // Before the first piece. `fortran_order`: the pieces come in that order of an array of the shape.
  void begin(Dtype dtype, std::span<const std::uint64_t> shape, bool fortran_order = false);
  void write(const ArrayView& piece);
  void commit() { file_.commit(); }

 private:
  enum class Form { raw, text, npy };
  static Form form_of(const std::string& path);
  Form form_;
  io::OutputFile file_;
};

// Whether that path is standard output.
bool is_standard_output(const std::string& path);

}  // namespace masu::cli
