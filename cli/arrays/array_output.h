// SPDX-License-Identifier: Apache-2.0
// An array written in pieces, whole or not at all, in the form that its path's ending says: .npy, .txt or .csv (one
// number a line), else raw. On a terminal, and where the input is text, standard output is text.
#pragma once

#include "cli/arrays/array_stream.h"

#include <masu/dtype.h>
#include <masu/io.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace masu::cli {

// One number a line, in the shortest form that reads back; given piece by piece.
using Lines = std::function<void(std::string_view)>;
void write_lines(const ArrayView& array, const Lines& to);

// How an array is written to a path; "" and "-" are standard output. `from` is the input that it is made of.
enum class ArrayForm { raw, text, npy };
ArrayForm array_form(const std::string& path, const io::SourceInfo& from);

class ArrayOutput {
 public:
  // As array_form().
  ArrayOutput(const std::string& path, const io::SourceInfo& from);
  // Before the first piece. `fortran_order`: the pieces come in that order of an array of the shape.
  void begin(Dtype dtype, std::span<const std::uint64_t> shape, bool fortran_order = false);
  void write(const ArrayView& piece);
  // For several outputs that appear together: each is finished before the first is committed.
  void finish() { file_.finish(); }
  void commit() { file_.commit(); }

 private:
  ArrayForm form_;
  io::OutputFile file_;
};

// Whether that path is standard output.
bool is_standard_output(const std::string& path);
// Whether they are one file.
bool is_same_output(const std::string& a, const std::string& b);

// A usage error where the path's ending means a format that is not among those that `option` writes (".npy .csv").
void check_ending(std::string_view option, const std::string& path, std::string_view written);
// As arrays are written.
void check_array_ending(std::string_view option, const std::string& path);

// What the commands share that turn one array into another: where it goes, and what is said of it.

// Wrong use: --json where standard output has the array.
void check_array_output(const CommonOptions& common);

// The shape of an array without one: the number of its elements, or rows of equal length. Reads streams through where a
// .npy file wants to know it first.
std::vector<std::uint64_t> flat_shape(ArrayStream& stream, const CommonOptions& common, std::uint64_t rows = 1);

struct ArrayDone {
  std::uint64_t count = 0;
  Times times;
  double verifying = 0;   // does not count in the total
  std::string json_more;  // `"op":"sum",` and the like
};
// JSON, notes and times, after the output was committed.
void tell_array(const ArrayStream& stream, const CommonOptions& common, const ArrayDone& done);

}  // namespace masu::cli
