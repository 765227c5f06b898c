// SPDX-License-Identifier: Apache-2.0
#include "quantile/quantile_places.h"

#include "call/operands.h"
#include "call/timer.h"
#include "quantile/quantile_cpu.h"
#include "quantile/quantile_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace masu {

namespace {

constexpr std::uint64_t none_left = 0;

std::uint64_t front_mask(unsigned bits) {
  return (std::uint64_t{1} << bits) - 1;
}

}  // namespace

std::uint64_t greatest_key(Dtype dtype) noexcept {
  return ~std::uint64_t{0} >> (64 - 8 * size_of(dtype));
}

std::uint64_t bits_of_key(Dtype dtype, std::uint64_t key) {
  return dispatch(dtype, [&](auto tag) -> std::uint64_t {
    using T = typename decltype(tag)::type;
    if constexpr (is_float_type<T>) {
      if (key > infinity_key<T>()) {
        constexpr std::uint64_t infinity = infinity_key<T>() ^ key_sign<T>;
        return infinity | (infinity >> 1 & ~infinity);  // the highest bit of the fraction
      }
    }
    return std::bit_cast<KeyOf<T>>(value_of_key<T>(key));
  });
}

PlaceFinder::PlaceFinder(const Device& device, Dtype dtype)
    : device_(device), dtype_(dtype), on_cpu_(call::on_cpu(device)), left_(static_cast<unsigned>(8 * size_of(dtype))) {
  if (!on_cpu_) {
    call::check_fp64("quantile", device, dtype);
    plan_ = topk_plan::make(device.info(), dtype, Ranking(dtype, true, NanPolicy::last));
    counter_.emplace(*plan_, device);
  }
  begin_pass();
}

void PlaceFinder::begin_pass() {
  here_ = 0;
  // Tables that the caches hold, whatever the prefixes are.
  const auto spread = static_cast<unsigned>(std::bit_width(prefixes_.size() - 1));
  const unsigned room =
      on_cpu_ ? quantile_plan::table_bits - std::min(spread, quantile_plan::table_bits) : topk_plan::digit_bits;
  const unsigned most = on_cpu_ ? quantile_plan::most_digit_bits : topk_plan::digit_bits;
  width_ = std::min({left_, most, std::max(room, quantile_plan::least_digit_bits)});
  table_.assign(collecting_ ? none_left : prefixes_.size() << width_, 0);
  collected_.clear();
}

void PlaceFinder::add(const ArrayView& data) {
  if (data.count == 0) return;
  if (on_cpu_) return add_here(data);
  double start = call::now();
  const std::span bytes(static_cast<const std::byte*>(data.data), data.count * size_of(dtype_));
  const std::uint64_t most = quantile_plan::piece_bytes;
  for (std::uint64_t first = 0; first < bytes.size(); first += most) {
    const Buffer<std::byte> buffer =
        device_.upload(bytes.subspan(first, std::min<std::uint64_t>(most, bytes.size() - first)));
    times_.transfer += call::now() - start;
    add(buffer, buffer.byte_offset(), buffer.size() / size_of(dtype_));
    start = call::now();
  }
}

void PlaceFinder::add_here(const ArrayView& data) {
  const call::Timer timer(&times_, &QuantileTimes::compute);
  here_ += data.count;
  const cpu::DigitPass pass{left_ - width_, width_, prefixes_};
  if (collecting_) {
    cpu::collect_keys(data, left_, prefixes_, collected_);
  } else {
    cpu::count_digits(data, pass, table_);
  }
}

void PlaceFinder::add(const BufferBase& data, std::uint64_t byte_offset, std::uint64_t count) {
  if (count == 0) return;
  if (on_cpu_) return add_here(ArrayView(dtype_, static_cast<const char*>(data.native()) + byte_offset, count));
  here_ += count;
  Stream stream(device_);
  for (std::size_t first = 0; first < prefixes_.size(); first += topk_plan::most_prefixes) {
    const auto some =
        std::span(prefixes_).subspan(first, std::min<std::size_t>(topk_plan::most_prefixes, prefixes_.size() - first));
    const std::vector<std::uint64_t> counts =
        counter_->count(stream, data, byte_offset, count, left_ - width_, width_, some);
    for (std::size_t p = 0; p < some.size(); ++p) {
      for (std::size_t d = 0; d < std::size_t{1} << width_; ++d) {
        table_[(first + p) << width_ | d] += counts[p << topk_plan::digit_bits | d];
      }
    }
  }
}

bool PlaceFinder::next_pass(std::span<const std::uint64_t> places) {
  if (passes_ == 0) {
    count_ = here_;
    for (const std::uint64_t place : places) found_[place] = {0, place};
  } else if (here_ != count_) {
    call::refuse("quantile", fmt::format("every pass must give the same elements, got {} after {}", here_, count_));
  }
  ++passes_;
  if (collecting_) {
    std::sort(collected_.begin(), collected_.end());
    for (auto& [place, known] : found_) {
      const auto first = std::lower_bound(collected_.begin(), collected_.end(), known.prefix << left_);
      known = {first[static_cast<std::ptrdiff_t>(known.rest)], 0};
    }
    left_ = 0;
    return false;
  }
  std::vector<std::uint64_t> next;
  std::uint64_t within = 0;  // elements with the fronts that matter
  for (auto& [place, known] : found_) {
    const auto at = static_cast<std::size_t>(std::lower_bound(prefixes_.begin(), prefixes_.end(), known.prefix) -
                                             prefixes_.begin());
    const std::uint64_t* table = table_.data() + (at << width_);
    std::uint64_t digit = 0;
    while (digit < front_mask(width_) && known.rest >= table[digit]) known.rest -= table[digit++];
    known.prefix = known.prefix << width_ | digit;
    if (next.empty() || next.back() != known.prefix) {
      next.push_back(known.prefix);
      within += table[digit];
    }
  }
  left_ -= width_;
  if (left_ == 0 || next.empty()) return false;
  prefixes_ = std::move(next);
  collecting_ = on_cpu_ && within <= quantile_plan::most_collected;
  begin_pass();
  return true;
}

QuantileTimes PlaceFinder::times() const {
  QuantileTimes times = times_;
  if (counter_) times.compute += counter_->seconds();
  return times;
}

}  // namespace masu
