// SPDX-License-Identifier: Apache-2.0
#include "select/place_finder.h"
#include "call/launcher.h"
#include "call/operands.h"
#include "elements/order.h"

#include <masu/device.h>
#include <masu/sort.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

namespace masu {

namespace {

// On the CPU: bits of a digit, and of all tables of a pass together (512 KiB).
constexpr unsigned most_digit_bits = 16;
constexpr unsigned least_digit_bits = 4;
constexpr unsigned table_bits = 16;
// So few elements that still matter are collected and sorted.
constexpr std::uint64_t most_collected = std::uint64_t{1} << 19;

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
    plan_ = selection_plan::make(device.info(), dtype);
    totals_.emplace(device, selection_plan::most_prefixes * selection_plan::table_words);
  }
  begin_pass();
}

void PlaceFinder::begin_pass() {
  here_ = 0;
  // Tables that the caches hold, whatever the prefixes are.
  const auto spread = static_cast<unsigned>(std::bit_width(prefixes_.size() - 1));
  const unsigned room = on_cpu_ ? table_bits - std::min(spread, table_bits) : selection_plan::digit_bits;
  const unsigned most = on_cpu_ ? most_digit_bits : selection_plan::digit_bits;
  width_ = std::min({left_, most, std::max(room, least_digit_bits)});
  table_.assign(collecting_ ? 0 : prefixes_.size() << width_, 0);
  collected_.clear();
}

void PlaceFinder::end_passes() {
  left_ = width_ = 0;
  collecting_ = false;
  prefixes_ = {0};
  table_.clear();
  collected_.clear();
}

void PlaceFinder::check_pass() const {
  if (done()) call::refuse("quantile", "the passes have ended, got more data");
}

void PlaceFinder::add(const ArrayView& data) {
  if (data.count == 0) return;
  check_pass();
  if (on_cpu_) {
    const call::Timer timer(&times_, &Times::compute);
    here_ += data.count;
    if (collecting_) collect_keys(data, left_, prefixes_, collected_);
    else count_digits(data, digits(), table_);
    return;
  }
  double start = call::now();
  const std::span bytes(static_cast<const std::byte*>(data.data), data.count * size_of(dtype_));
  const std::uint64_t most = selection_plan::piece_bytes;
  for (std::uint64_t first = 0; first < bytes.size(); first += most) {
    const Buffer<std::byte> buffer =
        device_.upload(bytes.subspan(first, std::min<std::uint64_t>(most, bytes.size() - first)));
    times_.transfer += call::now() - start;
    add(buffer, buffer.byte_offset(), buffer.size() / size_of(dtype_));
    start = call::now();
  }
}

void PlaceFinder::add(const BufferBase& data, std::uint64_t byte_offset, std::uint64_t count) {
  if (count == 0) return;
  check_pass();
  const call::Timer timer(&times_, &Times::compute);
  here_ += count;
  Stream stream = call::timed_stream(device_, false);
  constexpr std::size_t most = selection_plan::most_prefixes;
  for (std::size_t first = 0; first < prefixes_.size(); first += most) {
    const std::size_t some = std::min(most, prefixes_.size() - first);
    constexpr std::uint64_t none = ~std::uint64_t{0};  // no key begins so
    Prefixes wanted{none, none, none, none};
    std::copy_n(prefixes_.begin() + static_cast<std::ptrdiff_t>(first), some, wanted.begin());
    launch_counts(stream, data, byte_offset, count, wanted, some <= 2 ? some : most);
    std::vector<std::uint64_t> counts(some * selection_plan::table_words);
    stream.read(*totals_, std::span(counts));
    stream.finish();
    for (std::size_t p = 0; p < some; ++p) {
      for (std::size_t d = 0; d < std::size_t{1} << width_; ++d) {
        table_[(first + p) << width_ | d] += counts[p * selection_plan::table_words + d];
      }
    }
  }
}

// Counts the digits that follow the first `tables` prefixes into the totals.
void PlaceFinder::launch_counts(Stream& stream, const BufferBase& data, std::uint64_t byte_offset, std::uint64_t count,
                                const Prefixes& prefixes, std::size_t tables) {
  constexpr auto part = selection_plan::Part::counts;
  call::Kernels kernels(device_, plan_.files(part), plan_.defines(part, tables), plan_.work_items(part));
  stream.fill(*totals_, std::uint64_t{0});
  const std::uint64_t unit = plan_.tile_vectors() * (selection_plan::vector_bytes / size_of(dtype_));
  const std::size_t words = selection_plan::table_words * tables * plan_.copies(tables);
  // A work-group, and the kernel's element numbers, count in 32 bits.
  for (std::uint64_t first = 0; first < count; first += selection_plan::most_elements) {
    const std::uint64_t length = std::min(selection_plan::most_elements, count - first);
    const std::uint64_t groups = std::clamp<std::uint64_t>(length / unit, 1, std::uint64_t{plan_.compute_units} * 2);
    kernels.launch(stream, "selection_counts", groups, call::At{data, byte_offset + first * size_of(dtype_)},
                   static_cast<std::uint32_t>(length), std::uint32_t{left_ - width_}, std::uint32_t{width_},
                   prefixes[0], prefixes[1], prefixes[2], prefixes[3], call::memory_of(*totals_),
                   call::local<std::uint32_t>(words));
  }
}

bool PlaceFinder::merge(const PlaceFinder& other) {
  if (passes_ != other.passes_ || left_ != other.left_ || width_ != other.width_ || collecting_ != other.collecting_ ||
      prefixes_ != other.prefixes_ || count_ != other.count_ || found_ != other.found_) {
    return false;
  }
  here_ = call::elements_of_both("QuantileFinder::merge", here_, other.here_);
  for (std::size_t i = 0; i < table_.size(); ++i) table_[i] += other.table_[i];
  collected_.insert(collected_.end(), other.collected_.begin(), other.collected_.end());
  return true;
}

void PlaceFinder::write(call::StateWriter& to) const {
  for (const std::uint64_t value : {std::uint64_t{on_cpu_}, std::uint64_t{collecting_}, std::uint64_t{passes_},
                                    std::uint64_t{left_}, std::uint64_t{width_}}) {
    to.number(value, 1);
  }
  to.number(count_);
  to.number(here_);
  for (const auto& [place, known] : found_) {
    to.number(known.prefix);
    to.number(known.rest);
  }
  to.number(prefixes_.size());
  to.numbers(prefixes_);
  to.numbers(table_);
  to.number(collected_.size());
  to.numbers(collected_);
}

void PlaceFinder::read(call::StateReader& from, const Places& places) {
  const auto bits = static_cast<unsigned>(8 * size_of(dtype_));
  if (const bool on_cpu = from.flag(); on_cpu != on_cpu_) {
    const auto kind = [](bool cpu) { return cpu ? "cpu" : "a device other than cpu"; };
    from.refuse(fmt::format("the bytes must be of a finder on {}, got one on {}", kind(on_cpu_), kind(on_cpu)));
  }
  collecting_ = from.flag();
  passes_ = static_cast<unsigned>(from.below(bits + 1, 1));
  left_ = static_cast<unsigned>(from.below(bits + 1, 1));
  width_ = static_cast<unsigned>(from.below(left_ + 1, 1));
  count_ = from.elements();
  here_ = from.elements();
  from.require(passes_ != 0 || (left_ == bits && count_ == 0 && !collecting_));
  from.require(passes_ == 0 || count_ != 0);
  from.require(width_ <= (on_cpu_ ? most_digit_bits : selection_plan::digit_bits));
  from.require(on_cpu_ || !collecting_);
  const auto fits = [&](std::uint64_t key) { return left_ >= 64 ? key == 0 : key <= greatest_key(dtype_) >> left_; };
  found_.clear();
  if (passes_ != 0) {
    for (const std::uint64_t place : places(count_)) {
      KnownKey& known = found_[place];
      known.prefix = from.number();
      known.rest = from.number();
      from.require(fits(known.prefix) && known.rest <= place);
    }
    from.require(left_ != bits);
  }
  prefixes_ = from.numbers(from.number());
  from.require(!prefixes_.empty() && prefixes_.size() <= std::max<std::size_t>(found_.size(), 1));
  for (std::size_t i = 0; i < prefixes_.size(); ++i) {
    from.require(fits(prefixes_[i]) && (i == 0 || prefixes_[i - 1] < prefixes_[i]));
  }
  if (left_ != 0) {  // the passes go on
    from.require(collecting_ || width_ != 0);
    for (const auto& [place, known] : found_) {
      from.require(std::binary_search(prefixes_.begin(), prefixes_.end(), known.prefix));
    }
  }
  table_ = from.numbers(collecting_ || left_ == 0 ? 0 : prefixes_.size() << width_);
  collected_ = from.numbers(from.number());
  from.require(collected_.empty() || collecting_);
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
    sort(device_, MutableArrayView(collected_));
    for (auto& [place, known] : found_) {
      const auto first = std::lower_bound(collected_.begin(), collected_.end(), known.prefix << left_);
      if (known.rest >= static_cast<std::uint64_t>(collected_.end() - first)) {
        call::refuse("quantile", "every pass must give the same elements, got others");
      }
      known = {first[static_cast<std::ptrdiff_t>(known.rest)], 0};
    }
    end_passes();
    return false;
  }
  std::vector<std::uint64_t> next;
  std::uint64_t within = 0;  // elements with the fronts that matter
  for (auto& [place, known] : found_) {
    const std::uint64_t with_front = find_digit(digits(), table_, known);
    if (next.empty() || next.back() != known.prefix) {
      next.push_back(known.prefix);
      within += with_front;
    }
  }
  left_ -= width_;
  if (left_ == 0 || next.empty()) {
    end_passes();
    return false;
  }
  prefixes_ = std::move(next);
  collecting_ = on_cpu_ && within <= most_collected;
  begin_pass();
  return true;
}

}  // namespace masu
