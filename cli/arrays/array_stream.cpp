// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/array_stream.h"

#include "errors.h"
#include "ranks.h"
#include "terminal.h"

#include <fmt/format.h>
#include <array>
#include <utility>

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

ArrayStream::ArrayStream(const InputOptions& input, const CommonOptions& common, Work work, std::string what,
                         bool whole_rows)
    : what_(std::move(what)),
      input_(input.inputs.front()),
      options_(source_options(input, common)),
      shared_(open_array(input, common, true, !whole_rows)),
      opening_(since(began_)),
      known_count_(shared_count(*source_, shared_.way)),
      device_(device_of_rank(
          common.device, work,
          known_count_.value_or(0) * size_of(info().dtype) / static_cast<std::uint64_t>(ranks().size()))),
      progress_(progress_mode(common)),
      piece_bytes_(chunk_bytes(device_, 1, memory_limit(common))) {
  if (!input.columns.empty()) options_.column = input.columns.front();
}

std::vector<std::byte> ArrayStream::whole() {
  const auto began = Clock::now();
  std::vector<std::byte> all;
  if (shared_.way == Way::first) {
    all = read_and_rewind(*source_);
  } else if (ranks().first()) {
    const std::unique_ptr<io::Source> source = io::open(input_, options_);
    all = io::read_all(*source);
  }
  aside_ += since(began);
  return all;
}

std::uint64_t ArrayStream::count() {
  if (!known_count_) known_count_ = measure_shared(*source_, shared_.way);
  return *known_count_;
}

std::uint64_t ArrayStream::row_length(std::uint64_t rows) {
  const std::uint64_t all = count();
  if (all % rows == 0) {
    rows_ = cut_shared({&source_, 1}, {&shared_.way, 1}, {.rows = rows});
    cut_ = true;
    return all / rows;
  }
  usage_error(fmt::format("--rows {} must divide the {} values of {}", rows, all, info().name));
}

void ArrayStream::each(const std::function<void(const ArrayView&)>& take) {
  pass([&](const ArrayView& piece) {
    take(piece);
    return true;
  });
}

void ArrayStream::pass(const std::function<bool(const ArrayView&)>& take) {
  if (!std::exchange(cut_, true)) cut_shared({&source_, 1}, {&shared_.way, 1});
  if (reader_) reader_->rewind();
  else reader_.emplace(*source_, 1, piece_bytes_, progress_);
  progress_.start(what_, known_bytes(*source_));
  while (true) {
    const ArrayView piece = reader_->next();
    if (piece.count == 0) break;
    bytes_ += piece.count * size_of(piece.dtype);
    if (!take(piece)) break;
  }
  progress_.finish();
}

std::uint64_t ArrayStream::settle(std::uint64_t counted) {
  if (!ranks().several()) return counted;
  std::array<std::uint64_t, 3> sums{counted, source_->bad_lines(), bytes_};
  ranks().add(what_, sums);
  bad_lines_ = sums[1];
  bytes_ = sums[2];
  if (sums[0] == 0 && info().format == "text") {
    throw Error(ErrorCode::io, fmt::format("{}: {}has no number", info().name,
                                           options_.column.empty() ? "" : fmt::format("column {} ", options_.column)));
  }
  return sums[0];
}

Seconds ArrayStream::seconds(const Times& times) const {
  return {opening_ + (reader_ ? reader_->seconds() : 0), times.transfer, times.compute, since(began_) - aside_};
}

}  // namespace masu::cli
