// SPDX-License-Identifier: Apache-2.0
// Elements as they lie in a file: raw files, and the body of .npy.
#include "io/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

namespace masu::io {
namespace {

class FlatSource final : public Source {
 public:
  FlatSource(Input input, SourceInfo info, FlatLayout layout)
      : reader_(std::move(input.reader)),
        info_(std::move(info)),
        layout_(layout),
        may_map_(input.options.map && !layout.swap && info_.count) {}

  [[nodiscard]] const SourceInfo& info() const noexcept override { return info_; }

  std::uint64_t read(void* target, std::uint64_t count) override {
    if (!started_) {
      started_ = true;
      if (!keep_) reader_.forget();
    }
    if (mapping_ != nullptr) {
      mapping_->check();
      reader_.seek(layout_.start + done_ * size_of(info_.dtype));
    }
    if (layout_.count) count = std::min(count, *layout_.count - done_);
    const std::size_t element = size_of(info_.dtype);
    count = std::min<std::uint64_t>(count, SIZE_MAX / element);
    const std::size_t got = reader_.read(target, count * element);
    const bool fixed = info_.count.has_value();
    if (got != count * element && (fixed || got % element != 0))
      reader_.fail(fmt::format("truncated: the file ends at byte {}, {}", reader_.position(),
                               fixed ? fmt::format("its elements at byte {}", layout_.start + *info_.count * element)
                                     : fmt::format("inside an element of {} bytes", element)));
    const std::uint64_t elements = got / element;
    if (layout_.swap) swap_bytes(target, elements, element);
    done_ += elements;
    if (layout_.whole && done_ == *layout_.count) reader_.compare_checksum();
    return elements;
  }

  std::optional<ArrayView> view(std::uint64_t count) override {
    const std::size_t element = size_of(info_.dtype);
    if (may_map_ && mapping_ == nullptr && *info_.count != 0) {
      mapping_ = reader_.map();
      const bool aligned =
          mapping_ && reinterpret_cast<std::uintptr_t>(mapping_->bytes().data() + layout_.start) % element == 0;
      may_map_ = aligned;
      if (!aligned) mapping_.reset();
    }
    if (!may_map_) return std::nullopt;
    if (mapping_ == nullptr) return ArrayView{info_.dtype, nullptr, 0};
    mapping_->check();
    count = std::min(count, *info_.count - done_);
    const std::uint64_t first = layout_.start + done_ * element;
    done_ += count;
    return ArrayView{info_.dtype, mapping_->bytes().data() + first, count};
  }

  bool take_part(std::uint64_t first, std::uint64_t count) override {
    if (!info_.count || !reader_.size() || started_ || mapping_ != nullptr) return false;
    if (first > *info_.count || count > *info_.count - first) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{}: a part must lie within the {} elements, got {} from {} on", info_.name, *info_.count,
                              count, first));
    }
    layout_.start += first * size_of(info_.dtype);
    layout_.count = count;
    layout_.whole = false;
    info_.count = count;
    reader_.seek(layout_.start);
    return true;
  }

  void rewind() override {
    if (mapping_ != nullptr) mapping_->check();
    reader_.seek(layout_.start);
    done_ = 0;
  }
  void keep_for_rewind() override { keep_ = true; }

 private:
  Reader reader_;
  SourceInfo info_;
  FlatLayout layout_;
  bool may_map_;
  std::unique_ptr<FileMapping> mapping_;  // once a view was asked for
  std::uint64_t done_ = 0;
  bool started_ = false;
  bool keep_ = false;
};

}  // namespace

std::unique_ptr<Source> flat_source(Input input, SourceInfo info, FlatLayout layout) {
  return std::make_unique<FlatSource>(std::move(input), std::move(info), layout);
}

std::unique_ptr<Source> open_raw(Input input) {
  const SourceOptions& options = input.options;
  Reader& reader = input.reader;
  if (!options.dtype)
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: a raw file needs a dtype", reader.name()));
  SourceInfo info;
  info.name = reader.name();
  info.format = "raw";
  info.dtype = *options.dtype;
  const std::size_t element = size_of(info.dtype);
  FlatLayout layout;
  layout.start = options.offset;
  layout.count = options.count;
  layout.swap = element > 1 && (options.endian == Endian::big) != (std::endian::native == std::endian::big);
  if (const auto size = reader.size()) {
    if (options.offset > *size)
      reader.fail(fmt::format("offset {} lies behind its end at byte {}", options.offset, *size));
    const std::uint64_t bytes = *size - options.offset;
    if (!options.count || *options.count > bytes / element) {
      if (bytes % element != 0)
        reader.fail(fmt::format("{} bytes are not a whole number of {} elements of {} bytes", bytes,
                                to_string(info.dtype), element));
      layout.count = bytes / element;
    }
    info.count = layout.count;
  }
  if (reader.size()) {
    reader.seek(layout.start);
  } else {
    while (reader.position() < layout.start) {
      const std::size_t there = reader.peek(1).size();
      if (there == 0)
        reader.fail(fmt::format("offset {} lies behind its end at byte {}", layout.start, reader.position()));
      reader.consume(static_cast<std::size_t>(std::min<std::uint64_t>(there, layout.start - reader.position())));
    }
  }
  return flat_source(std::move(input), std::move(info), layout);
}

Source::~Source() = default;

void unify_dtypes(std::span<const std::unique_ptr<Source>> sources) {
  std::optional<Dtype> fixed;
  std::optional<Dtype> needed;
  constexpr std::array order = {Dtype::i64, Dtype::u64, Dtype::f64};
  const auto place = [&](Dtype dtype) { return std::find(order.begin(), order.end(), dtype); };
  for (const auto& source : sources) {
    const Dtype own = source->info().dtype;
    if (!source->retype(own)) fixed = fixed.value_or(own);
    else if (!needed || place(own) > place(*needed)) needed = own;
  }
  for (const auto& source : sources)
    if (needed) source->retype(fixed.value_or(*needed));
}

void swap_bytes(void* data, std::uint64_t count, std::size_t element_bytes) noexcept {
  const auto swap_all = [&]<class T>(T (*swap)(T)) {
    auto* at = static_cast<std::byte*>(data);
    for (std::uint64_t i = 0; i < count; ++i, at += sizeof(T)) {
      T value;
      std::memcpy(&value, at, sizeof(T));
      value = swap(value);
      std::memcpy(at, &value, sizeof(T));
    }
  };
  if (element_bytes == 2) swap_all(+[](std::uint16_t v) -> std::uint16_t { return __builtin_bswap16(v); });
  if (element_bytes == 4) swap_all(+[](std::uint32_t v) -> std::uint32_t { return __builtin_bswap32(v); });
  if (element_bytes == 8) swap_all(+[](std::uint64_t v) -> std::uint64_t { return __builtin_bswap64(v); });
}

RowSource::RowSource(Input input, std::string format, Dtype dtype, std::uint64_t height, std::uint64_t width,
                     std::vector<std::string> channels)
    : reader_(std::move(input.reader)) {
  const auto asked = input.options.dtype;
  if (asked && *asked != dtype)
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: the image holds {}, but dtype {} was asked for",
                                                         reader_.name(), to_string(dtype), to_string(*asked)));
  info_.name = reader_.name();
  info_.format = std::move(format);
  info_.dtype = dtype;
  info_.shape = {height, width, channels.size()};
  info_.channels = std::move(channels);
  const auto pixels = checked_product(height, width);
  info_.count = pixels ? checked_product(*pixels, info_.shape[2]) : std::nullopt;
  if (!info_.count) reader_.fail(fmt::format("{} x {} pixels are more than masu can count", width, height));
}

std::uint64_t RowSource::read(void* target, std::uint64_t count) {
  if (!started_) {
    started_ = true;
    start();
    if (!keep_) reader_.forget();
  }
  const std::uint64_t bytes = size_of(info_.dtype);
  const std::uint64_t row = row_elements();
  auto* out = static_cast<std::byte*>(target);
  std::uint64_t done = 0;
  while (done < count) {
    if (pending_ != 0) {
      const std::uint64_t step = std::min(pending_, count - done);
      std::memcpy(out + done * bytes, row_.data() + offset_ * bytes, step * bytes);
      offset_ += step;
      pending_ -= step;
      done += step;
      continue;
    }
    if (next_ == info_.shape[0]) break;
    const bool whole = count - done >= row;
    if (!whole) row_.resize(row * bytes);
    next_row(next_, whole ? out + done * bytes : row_.data());
    if (++next_ == info_.shape[0]) finish();
    if (whole) {
      done += row;
    } else {
      offset_ = 0;
      pending_ = row;
    }
  }
  return done;
}

void RowSource::rewind() {
  if (!started_) return;
  next_ = offset_ = pending_ = 0;
  start();
}

}  // namespace masu::io
