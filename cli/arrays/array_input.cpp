// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/array_input.h"

#include "errors.h"
#include "ranks.h"
#include "terminal.h"

#include <fmt/format.h>

namespace masu::cli {

SharedSource open_array(const InputOptions& input, const CommonOptions& common, bool in_place, bool lines) {
  if (input.inputs.size() > 1) usage_error(fmt::format("takes one INPUT, got {}", input.inputs.size()));
  if (input.columns.size() > 1) usage_error(fmt::format("takes one --column, got {}", input.columns.size()));
  io::SourceOptions options = source_options(input, common);
  if (!input.columns.empty()) options.column = input.columns.front();
  options.map = in_place;
  SharedSource shared = open_shared(input.inputs.front(), options, lines);
  if (!common.quiet) note_images(shared.source->info());
  return shared;
}

SharedSource open_array(const std::string& path, const std::string& dtype, const CommonOptions& common) {
  InputOptions input;
  input.inputs = {path};
  input.dtype = dtype;
  return open_array(input, common, false, false);
}

std::optional<std::uint64_t> known_bytes(const io::Source& source) {
  const io::SourceInfo& info = source.info();
  return info.count ? std::optional(*info.count * size_of(info.dtype)) : std::nullopt;
}

std::uint64_t read_elements(io::Source& source, void* target, std::uint64_t count) {
  const std::size_t size = size_of(source.info().dtype);
  std::uint64_t done = 0;
  while (done < count) {
    const std::uint64_t got = source.read(static_cast<std::byte*>(target) + done * size, count - done);
    if (got == 0) break;
    done += got;
  }
  return done;
}

std::uint64_t measure(io::Source& source) {
  if (source.info().count) return *source.info().count;
  source.keep_for_rewind();
  std::vector<std::byte> passing(std::size_t{1} << 16U);
  std::uint64_t count = 0;
  while (const std::uint64_t got = source.read(passing.data(), passing.size() / size_of(source.info().dtype))) {
    count += got;
  }
  source.rewind();
  return count;
}

std::vector<std::byte> read_and_rewind(io::Source& source) {
  source.keep_for_rewind();
  std::vector<std::byte> all = io::read_all(source);
  source.rewind();
  return all;
}

std::string progress_mode(const CommonOptions& common) {
  if (!ranks().first()) return "never";
  return common.quiet && common.progress == "auto" ? "never" : common.progress;
}

void note_images(const io::SourceInfo& info) {
  if (info.images > 1 && ranks().first()) note(fmt::format("masu: {}: read image 1 of {}", info.name, info.images));
}

void note_bad_lines(const std::string& name, std::uint64_t bad_lines) {
  if (bad_lines > 0) note(fmt::format("masu: {}: {} entries could not be read", name, bad_lines));
}

void note_result(const CommonOptions& common, const std::string& name, std::uint64_t bad_lines, std::uint64_t count) {
  if (common.quiet) return;
  note_bad_lines(name, bad_lines);
  if (common.verify) note(fmt::format("verified: {} values", count));
}

std::string json_bad_lines(std::uint64_t bad_lines) {
  return bad_lines > 0 ? fmt::format(R"(,"bad_lines":{})", bad_lines) : "";
}

}  // namespace masu::cli
