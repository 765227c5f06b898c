// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/array_output.h"

#include "errors.h"
#include "io/numbers.h"
#include "terminal.h"

#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <system_error>

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

bool is_same_output(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  std::error_code ignored;
  return a == b || std::filesystem::weakly_canonical(a, ignored) == std::filesystem::weakly_canonical(b, ignored);
}

void check_ending(std::string_view option, const std::string& path, std::string_view written) {
  constexpr std::string_view formats =
      " .npy .npz .txt .csv .tsv .json .jsonl .gz .zst .xz .bz2 .zip .tar .png .jpg .jpeg .tif .tiff .webp .bmp .gif "
      ".pnm .pbm "
      ".pgm .ppm .pam .svg .pdf .html .md .xml .yaml .yml .toml .xlsx .ods .parquet .arrow .feather .h5 .hdf5 .nc .mat "
      ".pkl ";
  const std::size_t dot = path.find_last_of("./");
  if (is_standard_output(path) || dot == std::string::npos || path[dot] == '/') return;
  std::string ending = path.substr(dot);
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto among = [&](std::string_view list) {
    return fmt::format(" {} ", list).find(fmt::format(" {} ", ending)) != std::string::npos;
  };
  if (!among(formats) || (among(written) && path.ends_with(ending))) return;
  usage_error(fmt::format("{}: cannot write the format that the ending {} means, only {}; got {}", option, ending,
                          written, path));
}

void check_array_ending(std::string_view option, const std::string& path) {
  check_ending(option, path, ".npy .txt .csv");
}

ArrayOutput::Form ArrayOutput::form_of(const std::string& path, const io::SourceInfo& from) {
  if (is_standard_output(path)) return from.format == "text" || is_terminal(STDOUT_FILENO) ? Form::text : Form::raw;
  if (path.ends_with(".npy")) return Form::npy;
  return path.ends_with(".txt") || path.ends_with(".csv") ? Form::text : Form::raw;
}

ArrayOutput::ArrayOutput(const std::string& path, const io::SourceInfo& from)
    : form_(form_of(path, from)), file_(is_standard_output(path) ? "-" : path) {}

void ArrayOutput::begin(Dtype dtype, std::span<const std::uint64_t> shape, bool fortran_order) {
  if (form_ == Form::npy) file_.write(io::npy_header(dtype, shape, fortran_order));
}

void ArrayOutput::write(const ArrayView& piece) {
  if (form_ == Form::text) write_lines(piece, file_);
  else file_.write(piece.data, piece.count * size_of(piece.dtype));
}

}  // namespace masu::cli
