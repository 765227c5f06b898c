// SPDX-License-Identifier: Apache-2.0
// Code that the readers of images share: rows, notes, channels that are left out, and the directories of EXIF.
#include "io/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace masu::io {

std::vector<std::string> channel_names(std::uint64_t count) {
  if (count <= 2) return count == 1 ? std::vector<std::string>{"gray"} : std::vector<std::string>{"gray", "alpha"};
  std::vector<std::string> names = {"red", "green", "blue"};
  if (count == 4) names.emplace_back("alpha");
  return names;
}

void check_asked_dtype(const Reader& reader, const SourceOptions& options, std::string_view what, Dtype dtype) {
  if (!options.dtype || *options.dtype == dtype) return;
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: the {} holds {}, but dtype {} was asked for", reader.name(),
                                                       what, to_string(dtype), to_string(*options.dtype)));
}

RowSource::RowSource(Input input, std::string format, Dtype dtype, std::uint64_t height, std::uint64_t width,
                     std::vector<std::string> channels)
    : reader_(std::move(input.reader)) {
  check_asked_dtype(reader_, input.options, "image", dtype);
  info_.name = reader_.name();
  info_.format = std::move(format);
  info_.dtype = dtype;
  info_.shape = {height, width, channels.size()};
  info_.channels = std::move(channels);
  const auto pixels = checked_product(height, width);
  info_.count = pixels ? checked_product(*pixels, info_.shape[2]) : std::nullopt;
  if (!info_.count) reader_.fail("{} x {} pixels are more than masu can count", width, height);
}

BlockSource::Block RowSource::block_at(std::uint64_t element) const {
  return {element / row_elements() * row_elements(), row_elements()};
}

void RowSource::load(const Block& block, void* target) {
  if (!std::exchange(started_, true)) {
    start();
    if (!keep_) reader_.forget();
  }
  const std::uint64_t row = block.first / row_elements();
  next_row(row, static_cast<std::byte*>(target));
  if (row + 1 == info_.shape[0]) finish();
}

void RowSource::begin_again() {
  if (started_) start();
}

void RowSource::note(std::string text) {
  info_.notes.push_back(std::move(text));
}

void RowSource::note_largest(std::uint64_t largest) {
  const std::uint64_t most = info_.dtype == Dtype::u8 ? 255 : 65535;
  if (largest >= most) return;
  info_.largest = largest;
  note(fmt::format("values are 0 to {} as stored, not scaled to {}", largest, most));
}

void RowSource::note_orientation(std::uint32_t orientation) {
  if (orientation < 2 || orientation > 8) return;
  note(fmt::format("rows are read as stored; orientation {} of the file asks viewers to turn or mirror them",
                   orientation));
}

std::uint32_t directory_number(std::span<const std::byte> tiff, std::uint16_t tag) noexcept {
  constexpr std::size_t entry_bytes = 12;
  if (tiff.size() < 8) return 0;
  const bool big = tiff[0] == std::byte{'M'};
  if (tiff[0] != tiff[1] || (!big && tiff[0] != std::byte{'I'})) return 0;
  const auto word = [&](std::size_t at) {
    return big ? load_big<std::uint16_t>(&tiff[at]) : load_little<std::uint16_t>(&tiff[at]);
  };
  const auto wide = [&](std::size_t at) {
    return big ? load_big<std::uint32_t>(&tiff[at]) : load_little<std::uint32_t>(&tiff[at]);
  };
  const std::size_t start = wide(4);
  if (start > tiff.size() - 2) return 0;
  const std::size_t entries = std::min<std::size_t>(word(start), (tiff.size() - 2 - start) / entry_bytes);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t at = start + 2 + i * entry_bytes;
    constexpr std::uint16_t of_16_bits = 3;
    constexpr std::uint16_t of_32_bits = 4;
    if (word(at) != tag || wide(at + 4) != 1) continue;
    return word(at + 2) == of_16_bits ? word(at + 8) : word(at + 2) == of_32_bits ? wide(at + 8) : 0;
  }
  return 0;
}

std::uint32_t exif_orientation(std::span<const std::byte> exif) noexcept {
  constexpr std::string_view name{"Exif\0\0", 6};
  constexpr std::uint16_t orientation = 0x112;
  return directory_number(exif.subspan(begins(exif, name) ? name.size() : 0), orientation);
}

namespace {

// An image without one of its channels.
class ChannelLeftOut final : public SerialSource {
 public:
  ChannelLeftOut(std::unique_ptr<Source> source, std::size_t channel)
      : source_(std::move(source)),
        channels_(source_->info().channels.size()),
        channel_(channel),
        noted_(source_->info().notes.size()) {
    info_ = source_->info();
    info_.notes.push_back(fmt::format("{} is left out (--alpha reads it)", info_.channels[channel]));
    info_.channels.erase(info_.channels.begin() + static_cast<std::ptrdiff_t>(channel));
    info_.shape.back() = channels_ - 1;
    info_.count = *info_.count / channels_ * (channels_ - 1);
  }
  void keep_for_rewind() override { source_->keep_for_rewind(); }

 private:
  static constexpr std::uint64_t most_pixels = std::uint64_t{1} << 14;  // of a block

  void begin_again() override { source_->rewind(); }
  [[nodiscard]] Block block_at(std::uint64_t element) const override {
    const std::uint64_t most = most_pixels * (channels_ - 1);
    const std::uint64_t first = element / most * most;
    return {first, std::min(most, *info_.count - first)};
  }
  void load(const Block& block, void* target) override {
    const std::size_t element = size_of(info_.dtype);
    const std::uint64_t pixels = block.count / (channels_ - 1);
    pixels_.resize(pixels * channels_ * element);
    (void)source_->read(pixels_.data(), pixels * channels_);
    auto* to = static_cast<std::byte*>(target);
    const std::byte* from = pixels_.data();
    for (std::uint64_t i = 0; i < pixels; ++i)
      for (std::size_t c = 0; c < channels_; ++c, from += element) {
        if (c == channel_) continue;
        std::memcpy(to, from, element);
        to += element;
      }
    const std::vector<std::string>& notes = source_->info().notes;
    for (; noted_ < notes.size(); ++noted_) info_.notes.push_back(notes[noted_]);
  }

  std::unique_ptr<Source> source_;
  std::size_t channels_;  // of the source
  std::size_t channel_;
  std::size_t noted_;  // notes of the source that info_ has
  std::vector<std::byte> pixels_;
};

}  // namespace

std::unique_ptr<Source> without_alpha(std::unique_ptr<Source> source) {
  const std::vector<std::string>& names = source->info().channels;
  const auto found = std::find(names.begin(), names.end(), "alpha");
  if (found == names.end() || names.size() == 1) return source;
  const auto channel = static_cast<std::size_t>(found - names.begin());
  return std::make_unique<ChannelLeftOut>(std::move(source), channel);
}

}  // namespace masu::io
