// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/array_stream.h"

#include "errors.h"

#include <fmt/format.h>
#include <utility>

namespace masu::cli {
namespace {

Device open_device(const CommonOptions& common, const io::Source& source, Device (*choose)(std::uint64_t bytes)) {
  return common.device.empty() ? choose(known_bytes(source).value_or(0)) : Device::open(common.device);
}

}  // namespace

ArrayStream::ArrayStream(const InputOptions& input, const CommonOptions& common, Device (*choose)(std::uint64_t bytes),
                         std::string what)
    : what_(std::move(what)),
      source_(open_array(input, common, true)),
      opening_(since(began_)),
      device_(open_device(common, *source_, choose)),
      progress_(progress_mode(common)),
      piece_bytes_(chunk_bytes(device_, 1, memory_limit(common))) {}

std::vector<std::byte> ArrayStream::whole() {
  const auto began = Clock::now();
  std::vector<std::byte> all = read_and_rewind(*source_);
  aside_ += since(began);
  return all;
}

std::uint64_t ArrayStream::row_length(std::uint64_t rows) {
  const std::uint64_t all = count();
  if (all % rows == 0) return all / rows;
  usage_error(fmt::format("--rows {} must divide the {} values of {}", rows, all, info().name));
}

void ArrayStream::pass(const std::function<bool(const ArrayView&)>& take) {
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

Seconds ArrayStream::seconds(double transfer, double compute) const {
  return {opening_ + (reader_ ? reader_->seconds() : 0), transfer, compute, since(began_) - aside_};
}

}  // namespace masu::cli
