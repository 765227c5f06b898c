// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/strided_source.h"

#include "errors.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <vector>

namespace masu::cli {
namespace {

class StridedSource final : public io::Source {
 public:
  StridedSource(std::unique_ptr<io::Source> source, const Stride& stride, std::vector<std::uint64_t> shape)
      : source_(std::move(source)), info_(source_->info()), stride_(stride) {
    info_.count = stride.take * stride.rows;
    info_.shape = std::move(shape);
  }

  [[nodiscard]] const io::SourceInfo& info() const noexcept override { return info_; }

  std::uint64_t read(void* target, std::uint64_t count) override {
    auto* to = static_cast<std::byte*>(target);
    const std::size_t element = size_of(info_.dtype);
    std::uint64_t done = 0;
    while (done < count && row_ < stride_.rows && stride_.take > 0) {
      skip_to(stride_.start + row_ * stride_.stride + column_);
      const std::uint64_t want = std::min(count - done, stride_.take - column_);
      const std::uint64_t got = source_->read(to + done * element, want);
      if (got == 0) fail();
      position_ += got;
      done += got;
      column_ += got;
      if (column_ == stride_.take) {
        column_ = 0;
        ++row_;
      }
    }
    return done;
  }

  void rewind() override {
    source_->rewind();
    position_ = row_ = column_ = 0;
  }
  void keep_for_rewind() override { source_->keep_for_rewind(); }
  [[nodiscard]] std::uint64_t bad_lines() const noexcept override { return source_->bad_lines(); }

 private:
  void skip_to(std::uint64_t position) {
    constexpr std::uint64_t most = 1 << 16;
    const std::size_t element = size_of(info_.dtype);
    while (position_ < position) {
      const std::uint64_t want = std::min(most, position - position_);
      if (left_.size() < want * element) left_.resize(want * element);
      const std::uint64_t got = source_->read(left_.data(), want);
      if (got == 0) fail();
      position_ += got;
    }
  }
  [[noreturn]] void fail() const {
    throw Error(ErrorCode::io, fmt::format("{}: ends after {} values, {} are needed", info_.name, position_,
                                           stride_.start + (stride_.rows - 1) * stride_.stride + stride_.take));
  }

  std::unique_ptr<io::Source> source_;
  io::SourceInfo info_;
  Stride stride_;
  std::uint64_t position_ = 0;  // in the source
  std::uint64_t row_ = 0;
  std::uint64_t column_ = 0;
  std::vector<std::byte> left_;
};

std::string text(const Region& region) {
  return fmt::format("{},{},{},{}", region.x, region.y, region.width, region.height);
}

// start + length <= limit, without overflow
bool fits(std::uint64_t start, std::uint64_t length, std::uint64_t limit) {
  return length <= limit && start <= limit - length;
}

// Pixels of `channels` elements in rows of `stride` elements, over data whose number of rows follows from its size.
Stride pitched(const io::SourceInfo& info, const Region& region, std::uint64_t pitch, unsigned channels) {
  const std::size_t element = size_of(info.dtype);
  if (pitch % element != 0) {
    usage_error(
        fmt::format("--pitch must be a multiple of the {} bytes of {}, got {}", element, to_string(info.dtype), pitch));
  }
  const std::uint64_t row_end = (region.x + region.width) * channels;  // in elements; the options' limits keep it small
  if (row_end > pitch / element) {
    usage_error(fmt::format("--pitch {} is too small for --region {}, whose rows end at byte {}", pitch, text(region),
                            row_end * element));
  }
  Stride stride{0, region.width * channels, pitch / element, region.height};
  const std::uint64_t most = info.count.value_or(~std::uint64_t{0});
  if (row_end > most || region.y + region.height - 1 > (most - row_end) / stride.stride) {
    throw Error(ErrorCode::io, fmt::format("{}: the region {} lies outside of its {} values in rows of {} bytes",
                                           info.name, text(region), most, pitch));
  }
  stride.start = region.y * stride.stride + region.x * channels;
  return stride;
}

}  // namespace

std::unique_ptr<io::Source> strided_source(std::unique_ptr<io::Source> source, const Stride& stride) {
  return std::make_unique<StridedSource>(std::move(source), stride, std::vector<std::uint64_t>{stride.take});
}

std::unique_ptr<io::Source> region_source(std::unique_ptr<io::Source> source, const Region& region,
                                          const std::optional<std::uint64_t>& pitch, unsigned channels) {
  const io::SourceInfo& info = source->info();
  const bool shaped = !info.shape.empty();
  if (shaped && pitch)
    usage_error(fmt::format("--pitch is for data without a shape, {} is {}", info.name, info.format));
  if (!shaped && !pitch) usage_error(fmt::format("--region of {} needs --pitch, the bytes of a row", info.name));
  if (!shaped) {
    const Stride stride = pitched(info, region, *pitch, channels);
    return std::make_unique<StridedSource>(std::move(source), stride,
                                           std::vector<std::uint64_t>{region.height, region.width, channels});
  }
  if (info.shape.size() < 2 || info.shape.size() > 3) {
    throw Error(ErrorCode::io,
                fmt::format("{}: --region needs two or three dimensions, it has {}", info.name, info.shape.size()));
  }
  if (info.fortran_order) {
    throw Error(ErrorCode::io,
                fmt::format("{}: --region needs an array in C order, it is in Fortran order", info.name));
  }
  const std::uint64_t height = info.shape[0];
  const std::uint64_t width = info.shape[1];
  const std::uint64_t pixel = info.shape.size() == 3 ? info.shape[2] : 1;
  if (!fits(region.x, region.width, width) || !fits(region.y, region.height, height)) {
    throw Error(ErrorCode::io, fmt::format("{}: the region {} lies outside of its {} x {} pixels", info.name,
                                           text(region), width, height));
  }
  const Stride stride{(region.y * width + region.x) * pixel, region.width * pixel, width * pixel, region.height};
  return std::make_unique<StridedSource>(std::move(source), stride,
                                         std::vector<std::uint64_t>{region.height, region.width, pixel});
}

}  // namespace masu::cli
