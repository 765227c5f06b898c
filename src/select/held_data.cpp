// SPDX-License-Identifier: Apache-2.0
#include "select/place_finder.h"

#include "call/launcher.h"
#include "call/operands.h"
#include "elements/order.h"
#include "runtime/parallel.h"
#include "select/select_places.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>

namespace masu {

namespace {

constexpr std::uint64_t held_piece = std::uint64_t{1} << 18;  // that a thread takes at a time
constexpr std::uint64_t held_block = std::uint64_t{1} << 13;  // that stays in its caches for all ranges

// The totals and the list of one piece.
template <class T>
struct PieceOf {
  std::array<std::uint64_t, selection_plan::most_ranges> below{};
  std::array<std::uint64_t, selection_plan::most_ranges> upto{};
  bool nan = false;
  std::vector<T> list;
  std::size_t listed = 0;
};

template <class T>
void pass_over(const T* x, std::uint64_t count, std::span<const KeyRange> ranges, PieceOf<T>& found) {
  const cpu::SelectLoops<T>& loops = cpu::select_loops<T>();
  for (std::uint64_t first = 0; first < count; first += held_block) {
    const std::uint64_t length = std::min(held_block, count - first);
    const T* const block = x + first;
    if constexpr (is_float_type<T>) {
      unsigned nan = 0;
      for (std::uint64_t i = 0; i < length; ++i) nan |= std::isnan(block[i]) ? 1U : 0U;
      found.nan |= nan != 0;
    }
    for (std::size_t r = 0; r < ranges.size(); ++r) {
      const T low = value_of_key<T>(ranges[r].low);
      if (ranges[r].listed) {
        const std::size_t room = found.listed + length + cpu::spare_elements;
        if (found.list.size() < room) found.list.resize(2 * room);
        const cpu::Narrowed part =
            loops.narrow(block, length, low, value_of_key<T>(ranges[r].high), found.list.data() + found.listed);
        found.below[r] += part.below;
        found.upto[r] += part.below + part.inside;
        found.listed += part.inside;
      } else {
        const cpu::PartSizes low_part = loops.count_parts(block, length, low);
        found.below[r] += low_part.less;
        const bool one = ranges[r].low == ranges[r].high;
        const cpu::PartSizes part = one ? low_part : loops.count_parts(block, length, value_of_key<T>(ranges[r].high));
        found.upto[r] += part.less + part.equal;
      }
    }
  }
}

// Bytes of what selection_ranges.cl finds, and of the list that follows.
std::uint64_t ranges_bytes(Dtype dtype, std::uint64_t capacity) {
  return call::aligned(selection_plan::ranges_words * sizeof(std::uint32_t)) + capacity * size_of(dtype);
}

// Calls f(offset of some elements in the memory of `data`, how many): as many as a launch takes.
template <class F>
void for_launches(const BufferBase& data, Dtype dtype, const F& f) {
  const std::uint64_t count = data.size_bytes() / size_of(dtype);
  for (std::uint64_t first = 0; first < count; first += selection_plan::most_elements) {
    f(data.byte_offset() + first * size_of(dtype), std::min(selection_plan::most_elements, count - first));
  }
}

// An element of each of `samples` equal parts, to `result`.
void launch_sample(Stream& stream, const BufferBase& data, Dtype dtype, std::uint64_t samples,
                   const BufferBase& result) {
  const auto plan = selection_plan::make(stream.device().info(), dtype);
  constexpr auto part = selection_plan::Part::passes;
  call::Kernels kernels(stream.device(), plan.files(part), plan.defines(part), plan.work_items(part));
  const std::uint64_t all = data.size_bytes() / size_of(dtype);
  constexpr std::uint32_t none = 0;
  std::uint64_t done = 0;
  std::uint64_t seen = 0;
  for_launches(data, dtype, [&](std::uint64_t offset, std::uint64_t count) {
    seen += count;
    const std::uint64_t some = seen == all ? samples - done : std::min(count, samples * count / all);
    const std::uint64_t at = result.byte_offset() + done * size_of(dtype);
    done += some;
    if (some == 0) return;
    const auto number = static_cast<std::uint32_t>(some);
    kernels.launch(stream, "selection_sample", (some + plan.group - 1) / plan.group, call::At{data, offset},
                   static_cast<std::uint32_t>(count), none, none, none, call::memory_of(result), result.byte_offset(),
                   at, number, number, none);
  });
}

void launch_ranges(Stream& stream, const BufferBase& data, Dtype dtype, std::span<const KeyRange> ranges,
                   std::uint64_t capacity, const BufferBase& memory) {
  const auto plan = selection_plan::make(stream.device().info(), dtype);
  constexpr auto part = selection_plan::Part::ranges;
  call::Arguments bounds;
  unsigned listed = 0;
  for (std::size_t i = 0; i < selection_plan::most_ranges; ++i) {
    const KeyRange& range = ranges[std::min(i, ranges.size() - 1)];
    for (const std::uint64_t key : {range.low, range.high}) bounds.add(call::Arguments(bits_of_key(dtype, key)));
    if (i < ranges.size() && range.listed) listed |= 1U << i;
  }
  call::Kernels kernels(stream.device(), plan.files(part), plan.defines(part, ranges.size(), listed),
                        plan.work_items(part));
  constexpr std::uint64_t words = 4 + 2 * selection_plan::most_ranges;  // of local memory beside the tile
  const std::uint64_t local = plan.tile_vectors() * selection_plan::vector_bytes + words * sizeof(std::uint32_t);
  for_launches(data, dtype, [&](std::uint64_t offset, std::uint64_t count) {
    kernels.launch(stream, "selection_ranges", plan.groups(count), call::At{data, offset},
                   static_cast<std::uint32_t>(count), bounds, call::memory_of(memory), memory.byte_offset(),
                   memory.byte_offset() + ranges_bytes(dtype, 0), static_cast<std::uint32_t>(capacity),
                   LocalMemory{local});
  });
}

}  // namespace

HeldData::HeldData(const BufferBase& data, Dtype dtype)
    : device_(data.device()), dtype_(dtype), host_(dtype, nullptr, data.size_bytes() / size_of(dtype)) {
  if (call::on_cpu(device_)) host_ = call::host_view(data, dtype);
  else there_.emplace(device_, data.memory(), data.byte_offset(), data.size_bytes());
}

std::vector<std::uint64_t> HeldData::sample(std::uint64_t samples) const {
  samples = std::min(samples, count());
  std::vector<std::uint64_t> keys(samples);
  if (samples == 0) return keys;
  if (there_) {
    const Buffer<std::byte> found(device_, samples * size_of(dtype_));
    Stream stream(device_, Timing::off);
    launch_sample(stream, *there_, dtype_, samples, found);
    std::vector<std::byte> elements(found.size());
    call::fetch(stream, found, 0, elements.data(), elements.size());
    stream.finish();
    keys_of_elements(ArrayView(dtype_, elements.data(), samples), keys.data());
    return keys;
  }
  dispatch(dtype_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const x = static_cast<const T*>(host_.data);
    const std::uint64_t part = count() / samples;
    std::uint64_t random = 0x9e3779b97f4a7c15;
    for (std::uint64_t i = 0; i < samples; ++i) {
      random = random * 6364136223846793005 + 1442695040888963407;
      const std::uint64_t first = part * i + count() % samples * i / samples;
      keys[i] = ordered_key(x[first + ((random >> 32) * part >> 32)]);
    }
  });
  return keys;
}

RangeCounts HeldData::pass(std::span<const KeyRange> ranges, std::uint64_t capacity) {
  RangeCounts counts{std::vector<std::uint64_t>(ranges.size()), std::vector<std::uint64_t>(ranges.size())};
  listed_ = 0;
  if (count() == 0 || ranges.empty()) return counts;
  if (call::on_cpu(device_)) pass_here(ranges, capacity, counts);
  else pass_there(ranges, capacity, counts);
  return counts;
}

void HeldData::pass_here(std::span<const KeyRange> ranges, std::uint64_t capacity, RangeCounts& counts) {
  const std::size_t size = size_of(dtype_);
  list_.clear();
  list_.reserve(capacity * size);
  dispatch(dtype_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) >= 4) {
      const T* const x = static_cast<const T*>(host_.data);
      std::mutex joining;
      runtime::parallel_tasks((count() + held_piece - 1) / held_piece, [&](std::uint64_t task) {
        PieceOf<T> found;
        const std::uint64_t first = task * held_piece;
        pass_over(x + first, std::min(held_piece, count() - first), ranges, found);
        const std::lock_guard lock(joining);
        for (std::size_t r = 0; r < ranges.size(); ++r) {
          counts.below[r] += found.below[r];
          counts.upto[r] += found.upto[r];
        }
        counts.nan |= found.nan;
        const std::uint64_t fits = std::min<std::uint64_t>(found.listed, capacity - std::min(listed_, capacity));
        const auto* const from = reinterpret_cast<const std::byte*>(found.list.data());
        list_.insert(list_.end(), from, from + fits * size);
        listed_ += fits;
      });
    }
  });
}

void HeldData::pass_there(std::span<const KeyRange> ranges, std::uint64_t capacity, RangeCounts& counts) {
  Stream stream(device_, Timing::off);
  const std::size_t size = size_of(dtype_);
  list_there_.emplace(device_, ranges_bytes(dtype_, capacity));
  std::vector<std::uint32_t> words(selection_plan::ranges_words);
  call::clear(stream, *list_there_, 0, words.size() * sizeof words[0]);
  if (there_) {
    launch_ranges(stream, *there_, dtype_, ranges, capacity, *list_there_);
  } else {
    const std::uint64_t piece = selection_plan::piece_bytes / size;
    for (std::uint64_t first = 0; first < count(); first += piece) {
      const ArrayView some(dtype_, static_cast<const std::byte*>(host_.data) + first * size,
                           std::min(piece, count() - first));
      const Buffer<std::byte> there = call::upload(device_, some);
      launch_ranges(stream, there, dtype_, ranges, capacity, *list_there_);
      stream.finish();
    }
  }
  call::fetch(stream, *list_there_, 0, words.data(), words.size() * sizeof words[0]);
  stream.finish();
  const auto total = [&](std::size_t i) { return std::uint64_t{words[2 * i + 1]} << 32 | words[2 * i]; };
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    counts.below[r] = total(2 * r);
    counts.upto[r] = counts.below[r] + total(2 * r + 1);
    if (ranges[r].listed) listed_ += total(2 * r + 1);
  }
  counts.nan = words[4 * selection_plan::most_ranges + 1] != 0;
  if (counts.nan) listed_ = 0;
}

void HeldData::clear_list() {
  listed_ = 0;
  list_ = {};
  list_there_.reset();
}

void HeldData::give_all(PlaceFinder& finder) const {
  if (there_) finder.add(*there_, there_->byte_offset(), count());
  else finder.add(host_);
}

void HeldData::give_list(PlaceFinder& finder) const {
  if (listed_ == 0) return;
  if (list_there_) finder.add(*list_there_, list_there_->byte_offset() + ranges_bytes(dtype_, 0), listed_);
  else finder.add(ArrayView(dtype_, list_.data(), listed_));
}

}  // namespace masu
