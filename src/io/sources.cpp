// SPDX-License-Identifier: Apache-2.0
#include "io/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace masu::io {

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
