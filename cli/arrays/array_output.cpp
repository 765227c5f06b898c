// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/array_output.h"

#include "errors.h"
#include "io/numbers.h"
#include "json.h"
#include "terminal.h"

#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <system_error>
#include <utility>

namespace masu::cli {

namespace {
constexpr std::size_t lines_bytes = std::size_t{1} << 14U;
}

void write_lines(const ArrayView& array, const Lines& to) {
  dispatch(array.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* values = static_cast<const T*>(array.data);
    std::array<char, lines_bytes> lines;
    std::size_t length = 0;
    for (std::uint64_t i = 0; i < array.count; ++i) {
      if (lines.size() - length < io::number_room) to({lines.data(), std::exchange(length, 0)});
      length += io::put_number(lines.data() + length, io::number_room - 1, values[i]);
      lines[length++] = '\n';
    }
    if (length != 0) to({lines.data(), length});
  });
}

bool is_standard_output(const std::string& path) {
  return path.empty() || path == "-";
}

namespace {
// Behind symbolic links, also where the file does not exist yet.
std::filesystem::path file_of(const std::string& path) {
  constexpr int most_links = 40;  // as Linux has it
  std::error_code ignored;
  std::filesystem::path file = std::filesystem::absolute(path, ignored);
  for (int links = 0; links < most_links && std::filesystem::is_symlink(file, ignored); ++links) {
    file = file.parent_path() / std::filesystem::read_symlink(file, ignored);
  }
  return std::filesystem::weakly_canonical(file, ignored);
}
}  // namespace

bool is_same_output(const std::string& a, const std::string& b) {
  return !a.empty() && !b.empty() && (a == b || file_of(a) == file_of(b));
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

ArrayForm array_form(const std::string& path, const io::SourceInfo& from) {
  if (is_standard_output(path))
    return from.format == "text" || is_terminal(STDOUT_FILENO) ? ArrayForm::text : ArrayForm::raw;
  if (path.ends_with(".npy")) return ArrayForm::npy;
  return path.ends_with(".txt") || path.ends_with(".csv") ? ArrayForm::text : ArrayForm::raw;
}

ArrayOutput::ArrayOutput(const std::string& path, const io::SourceInfo& from)
    : form_(array_form(path, from)), file_(is_standard_output(path) ? "-" : path) {}

void ArrayOutput::begin(Dtype dtype, std::span<const std::uint64_t> shape, bool fortran_order) {
  if (form_ == ArrayForm::npy) file_.write(io::npy_header(dtype, shape, fortran_order));
}

void ArrayOutput::write(const ArrayView& piece) {
  if (form_ == ArrayForm::text) write_lines(piece, [&](std::string_view lines) { file_.write(lines); });
  else file_.write(piece.data, piece.count * size_of(piece.dtype));
}

void check_array_output(const CommonOptions& common) {
  check_array_ending("-o", common.output);
  if (common.json && is_standard_output(common.output)) usage_error("--json needs standard output; give -o FILE");
}

std::vector<std::uint64_t> flat_shape(ArrayStream& stream, const CommonOptions& common, std::uint64_t rows) {
  const bool told = stream.info().count || common.output.ends_with(".npy");
  const std::uint64_t count = told ? stream.count() : 0;
  return rows == 1 ? std::vector{count} : std::vector{rows, count / rows};
}

void tell_array(const ArrayStream& stream, const CommonOptions& common, const ArrayDone& done) {
  Seconds seconds = stream.seconds(done.times);
  seconds.total -= done.verifying;
  if (common.json) {
    io::OutputFile output("-");
    output.write(fmt::format("{{\"n\":{},\"dtype\":\"{}\",{}\"device\":{}{},{}}}\n", done.count,
                             to_string(stream.info().dtype), done.json_more, json_string(stream.device().id()),
                             json_bad_lines(stream.bad_lines()), json_seconds(seconds)));
    output.commit();
  }
  note_result(common, stream.info().name, stream.bad_lines(), done.count);
  if (common.time) note_times(seconds, stream.bytes());
}

}  // namespace masu::cli
