// SPDX-License-Identifier: Apache-2.0
#include "array_output.h"

#include "io/numbers.h"
#include "terminal.h"

#include <unistd.h>
#include <array>

namespace masu::cli {

void write_lines(const ArrayView& array, io::OutputFile& to) {
  dispatch(array.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* values = static_cast<const T*>(array.data);
    std::array<char, io::number_room> line;
    for (std::uint64_t i = 0; i < array.count; ++i) {
      std::size_t length = io::put_number(line.data(), line.size() - 1, values[i]);
      line[length++] = '\n';
      to.write(line.data(), length);
    }
  });
}

bool is_standard_output(const std::string& path) {
  return path.empty() || path == "-";
}

ArrayOutput::Form ArrayOutput::form_of(const std::string& path) {
  if (is_standard_output(path)) return is_terminal(STDOUT_FILENO) ? Form::text : Form::raw;
  if (path.ends_with(".npy")) return Form::npy;
  return path.ends_with(".txt") || path.ends_with(".csv") ? Form::text : Form::raw;
}

ArrayOutput::ArrayOutput(const std::string& path)
    : form_(form_of(path)), file_(is_standard_output(path) ? "-" : path) {}

void ArrayOutput::begin(Dtype dtype, std::span<const std::uint64_t> shape, bool fortran_order) {
  if (form_ == Form::npy) file_.write(io::npy_header(dtype, shape, fortran_order));
}

void ArrayOutput::write(const ArrayView& piece) {
  if (form_ == Form::text) write_lines(piece, file_);
  else file_.write(piece.data, piece.count * size_of(piece.dtype));
}

}  // namespace masu::cli
