// SPDX-License-Identifier: Apache-2.0
// Elements as they lie in a file: raw files, and the body of .npy.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <utility>

#include "io/sources.h"

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

}  // namespace masu::io
