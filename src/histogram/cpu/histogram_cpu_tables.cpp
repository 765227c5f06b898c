// SPDX-License-Identifier: Apache-2.0
#include "histogram/cpu/histogram_cpu_slots.h"

#include "runtime/parallel.h"

#include <masu/device.h>

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

namespace masu::cpu {

namespace {

// Copies of a table are kept while all of them fit here; the first-level data cache is 32 KiB or more.
constexpr std::uint64_t copies_bytes = std::uint64_t{24} << 10;
constexpr unsigned most_copies = 8;
// What a thread's table may take when it is asked for, and what it takes when nothing is: a
// thread's part of the caches.
constexpr std::uint64_t private_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t cached_bytes = std::uint64_t{4} << 20;

std::uint64_t table_bytes(const TableShape& shape) noexcept {
  return shape.counters() * sizeof(std::uint32_t);
}

[[noreturn]] void too_large(std::string_view strategy, std::string_view tables, std::uint64_t limit,
                            std::uint64_t bytes) {
  throw Error(ErrorCode::unsupported, fmt::format("histogram: strategy {} holds {} of at most {} bytes on cpu, got {}",
                                                  strategy, tables, limit, bytes));
}

// A whole block.
bool all_slots_equal(const std::uint32_t* slots) noexcept {
  const std::uint32_t first = slots[0];
  if (slots[block_elements - 1] != first || slots[block_elements / 2] != first) return false;
  std::uint32_t different = 0;
  for (std::size_t i = 0; i < block_elements; ++i) different |= slots[i] ^ first;
  return different == 0;
}

}  // namespace

Strategy choose_strategy(const TableShape& shape, Strategy asked) {
  const std::uint64_t bytes = table_bytes(shape);
  if (asked == Strategy::local || asked == Strategy::packed) {
    throw Error(ErrorCode::unsupported,
                fmt::format("histogram: strategy {} needs local memory; the device cpu has none", to_string(asked)));
  }
  if (asked == Strategy::lanes && bytes * 2 > copies_bytes) too_large("lanes", "2 tables", copies_bytes / 2, bytes);
  if (asked == Strategy::private_ && bytes > private_bytes) {
    too_large("private", "tables", private_bytes, bytes);
  }
  if (asked != Strategy::automatic) return asked;
  if (bytes * 2 <= copies_bytes) return Strategy::lanes;
  return bytes <= cached_bytes ? Strategy::private_ : Strategy::partitioned;
}

unsigned copies_of(const TableShape& shape, Strategy strategy) noexcept {
  if (strategy != Strategy::lanes) return 1;
  return table_bytes(shape) * most_copies <= copies_bytes ? most_copies : 2;
}

void Tables::add(const std::uint32_t* slots, std::size_t count) {
  if (shape_.channels == 1) {
    if (copies_ == most_copies) return add_copies<most_copies>(slots, count);
    if (copies_ > 1) return add_copies<2>(slots, count);
    return add_copies<1>(slots, count);
  }
  std::uint32_t* table = counts_.data();
  const auto [slots_of_channel, channels] = shape_;
  for (std::size_t i = 0; i < count; i += channels) {
    for (unsigned c = 0; c < channels; ++c) ++table[c * slots_of_channel + slots[i + c]];
  }
}

// Values of several parts of a block take turns: equal neighbours, as in sorted data, would wait for each other's sum.
template <unsigned copies>
void Tables::add_copies(const std::uint32_t* slots, std::size_t count) {
  if (count != block_elements) {
    for (std::size_t i = 0; i < count; ++i) ++counts_[slots[i]];
    return;
  }
  if (all_slots_equal(slots)) {
    counts_[slots[0]] += block_elements;
    return;
  }
  constexpr unsigned parts = std::max(4U, copies);
  constexpr std::size_t length = block_elements / parts;
  std::uint32_t* tables[copies];
  for (unsigned k = 0; k < copies; ++k) tables[k] = counts_.data() + k * shape_.slots;
  for (std::size_t i = 0; i < length; ++i) {
    for (unsigned part = 0; part < parts; ++part) ++tables[part % copies][slots[part * length + i]];
  }
}

void Tables::add(const SlotSource& source, std::uint64_t first, std::uint64_t count) {
  each_block(source, first, count, shape_.block(),
             [&](const std::uint32_t* slots, std::uint64_t, std::size_t length) { add(slots, length); });
}

void count_in_tables(const TableShape& shape, unsigned copies, std::uint64_t elements, std::size_t size,
                     std::span<std::uint64_t> totals,
                     const std::function<void(Tables&, std::uint64_t, std::uint64_t)>& count) {
  count_by_threads(
      elements, piece_bytes / size / shape.channels * shape.channels, drain_elements,
      [&] { return Tables(shape, copies); }, count,
      [&](Tables& tables) { tables.drain([&](std::uint64_t i, std::uint64_t sum) { totals[i] += sum; }); });
}

void count_in_totals(const TableShape& shape, const SlotSource& source, std::uint64_t elements, std::size_t size,
                     bool one_thread, std::span<std::uint64_t> totals) {
  const std::uint64_t piece = piece_bytes / size / shape.channels * shape.channels;
  const std::uint64_t pieces = (elements + piece - 1) / piece;
  const bool atomic = !one_thread && std::min<std::uint64_t>(cpu_threads(), pieces) > 1;
  const auto add = [&](const std::uint32_t* slots, std::uint64_t, std::size_t length) {
    for (std::size_t k = 0, channel = 0; k < length; ++k) {
      std::uint64_t& total = totals[channel * shape.slots + slots[k]];
      if (atomic) std::atomic_ref(total).fetch_add(1, std::memory_order_relaxed);
      else ++total;
      channel = channel + 1 == shape.channels ? 0 : channel + 1;
    }
  };
  if (!atomic) return each_block(source, 0, elements, shape.block(), add);
  runtime::parallel_parts(elements, piece, [&](std::uint64_t first, std::uint64_t end) {
    each_block(source, first, end - first, shape.block(), add);
  });
}

namespace {

// A table of 2^15 counters of 32 bits lies in the second-level cache. More parts than `most_parts` would cost too many
// cache lines to write to, so parts grow beyond.
constexpr unsigned part_bits = 15;
constexpr std::uint64_t most_parts = 2048;
// Values that a thread sorts before all parts are counted: each such chunk reads and writes all counters once.
constexpr std::uint64_t least_chunk = std::uint64_t{1} << 20;
constexpr std::uint64_t most_chunk = std::uint64_t{1} << 24;
constexpr std::uint64_t most_wide_chunk = std::uint64_t{1} << 23;
// Fewer values than this are added to the totals at once.
constexpr std::uint64_t least_sorted = std::uint64_t{1} << 16;
constexpr std::size_t huge_page = std::size_t{2} << 20;

struct AlignedDelete {
  std::align_val_t alignment;
  void operator()(void* p) const noexcept { ::operator delete(p, alignment); }
};
template <class T>
using Aligned = std::unique_ptr<T, AlignedDelete>;
template <class T>
Aligned<T> allocate(std::size_t bytes, std::size_t alignment) {
  const std::align_val_t align{alignment};
  return {static_cast<T*>(::operator new(bytes, align)), AlignedDelete{align}};
}

// A thread's values, sorted into parts.
template <class Offset>
class Sorted {
 public:
  using Streams = PartStreams<Offset>;

  Sorted(std::uint64_t parts, unsigned bits, std::uint64_t most_values)
      : counts_(parts * streams_a_part), next_(counts_.size()), first_(counts_.size() + 1) {
    // Each stream may leave one block unfinished.
    const std::uint64_t blocks = most_values / Streams::block_values + counts_.size();
    const std::size_t bytes = (blocks * block_bytes + huge_page - 1) / huge_page * huge_page;
    blocks_ = allocate<Offset>(bytes, huge_page);
    // Many small pages would cost as much time as the sorting does. Where it is refused, that is all.
    (void)::madvise(blocks_.get(), bytes, MADV_HUGEPAGE);
    lines_ = allocate<Offset>(counts_.size() * line_bytes, line_bytes);
    stream_of_.resize(blocks);
    order_.resize(blocks);
    streams_ = {bits, lines_.get(), counts_.data(), next_.data(), blocks_.get(), 0, stream_of_.data()};
  }

  // Forgets what was there.
  void begin() {
    streams_.used = 0;
    for (std::uint32_t stream = 0; stream < counts_.size(); ++stream) {
      counts_[stream] = 0;
      next_[stream] = blocks_.get() + std::size_t{streams_.used} * Streams::block_values;
      stream_of_[streams_.used++] = stream;
    }
  }

  void add(const std::uint32_t* slots, std::size_t count, std::uint64_t base) { sort_(slots, count, base, streams_); }

  // Ends the lines, and lists the blocks of each stream.
  void end() {
    std::fill(first_.begin(), first_.end(), 0);
    for (std::uint32_t stream = 0; stream < counts_.size(); ++stream) {
      const std::size_t rest = counts_[stream] % Streams::line_values;
      std::memcpy(next_[stream], lines_.get() + std::size_t{stream} * Streams::line_values, rest * sizeof(Offset));
    }
    finish_sorting();
    for (std::uint32_t block = 0; block < streams_.used; ++block) ++first_[stream_of_[block] + 1];
    for (std::size_t stream = 1; stream < first_.size(); ++stream) first_[stream] += first_[stream - 1];
    std::vector<std::uint32_t> at(first_.begin(), first_.end() - 1);
    for (std::uint32_t block = 0; block < streams_.used; ++block) order_[at[stream_of_[block]]++] = block;
  }

  [[nodiscard]] std::uint64_t size(std::uint64_t part) const {
    std::uint64_t sum = 0;
    for (unsigned lane = 0; lane < streams_a_part; ++lane) sum += counts_[part * streams_a_part + lane];
    return sum;
  }

  // Counts every `step`-th block of a part, from `begin` on.
  template <class Count>
  void count(std::uint64_t part, std::uint64_t begin, std::uint64_t step, Count* table) const {
    for (std::uint64_t stream = part * streams_a_part; stream < (part + 1) * streams_a_part; ++stream) {
      const std::uint32_t blocks = first_[stream + 1] - first_[stream];
      for (std::uint64_t block = begin; block < blocks; block += step) {
        const Offset* values = blocks_.get() + std::size_t{order_[first_[stream] + block]} * Streams::block_values;
        // Only the last block, the newest, is not full.
        const std::uint32_t length =
            block + 1 == blocks ? counts_[stream] % Streams::block_values : Streams::block_values;
        for (std::uint32_t i = 0; i < length; ++i) ++table[values[i]];
      }
    }
  }

 private:
  std::vector<std::uint32_t> counts_;
  std::vector<Offset*> next_;
  std::vector<std::uint32_t> first_;  // of each stream, in order_
  std::vector<std::uint32_t> order_;  // blocks by stream
  std::vector<std::uint32_t> stream_of_;
  Aligned<Offset> blocks_;
  Aligned<Offset> lines_;
  Streams streams_{};
  std::conditional_t<sizeof(Offset) == 2, SortU16, SortU32> sort_ = sort_into_parts(Offset{});
};

template <class Offset>
class Parts final : public PartCounter {
 public:
  Parts(const TableShape& shape, unsigned bits)
      : shape_(shape), bits_(bits), parts_(((shape.counters() - 1) >> bits) + 1) {}

  void count(const SlotSource& source, std::uint64_t elements, std::span<std::uint64_t> totals) override {
    if (elements < least_sorted) return count_in_totals(shape_, source, elements, 1, true, totals);
    const std::uint64_t threads = cpu_threads();
    const std::uint64_t most = sizeof(Offset) == 2 ? most_chunk : most_wide_chunk;
    std::uint64_t chunk = std::clamp(2 * shape_.counters() / threads, least_chunk, most);
    // Memory that is there already is used; otherwise not more than the data needs.
    chunk = std::max(chunk_, std::min(chunk, (elements + threads - 1) / threads));
    chunk = (chunk + shape_.channels - 1) / shape_.channels * shape_.channels;
    const std::uint64_t parts = std::min(threads, (elements + chunk - 1) / chunk);
    if (chunk > chunk_) {
      sorted_.clear();
      chunk_ = chunk;
    }
    while (sorted_.size() < parts) sorted_.push_back(nullptr);
    for (std::uint64_t first = 0; first < elements; first += chunk_ * parts) {
      const std::uint64_t left = elements - first;
      used_ = std::min(parts, (left + chunk_ - 1) / chunk_);
      runtime::parallel_tasks(
          used_, [&](std::uint64_t t) { sort(t, source, first + t * chunk_, std::min(chunk_, left - t * chunk_)); });
      count_parts(totals);
    }
  }

 private:
  void sort(std::uint64_t t, const SlotSource& source, std::uint64_t first, std::uint64_t count) {
    if (!sorted_[t]) sorted_[t] = std::make_unique<Sorted<Offset>>(parts_, bits_, chunk_);
    Sorted<Offset>& to = *sorted_[t];
    to.begin();
    each_block(source, first, count, shape_.block(),
               [&](const std::uint32_t* slots, std::uint64_t, std::size_t length) {
                 if (shape_.channels == 1) return to.add(slots, length, 0);
                 for (unsigned c = 0; c < shape_.channels; ++c) {
                   std::uint32_t channel[block_elements] = {};
                   std::size_t size = 0;
                   for (std::size_t k = c; k < length; k += shape_.channels) channel[size++] = slots[k];
                   to.add(channel, size, c * shape_.slots);
                 }
               });
    to.end();
  }

  void count_parts(std::span<std::uint64_t> totals) {
    const std::span<std::unique_ptr<Sorted<Offset>>> sorted(sorted_.data(), used_);
    // A part of so many values would keep the other threads waiting: all count it, each in a table of its own.
    const std::uint64_t most = std::max<std::uint64_t>(chunk_ / 2, std::uint64_t{4} << bits_);
    std::vector<std::uint64_t> sizes(parts_);
    std::vector<std::uint64_t> large;
    for (std::uint64_t part = 0; part < parts_; ++part) {
      for (const auto& s : sorted) sizes[part] += s->size(part);
      if (sizes[part] > most && used_ > 1) large.push_back(part);
    }
    runtime::parallel_tasks(parts_, [&](std::uint64_t part) {
      if (sizes[part] == 0 || (sizes[part] > most && used_ > 1)) return;
      std::uint64_t* counters = totals.data() + (part << bits_);
      // A table of 32 bits, added in one go, is faster than the totals where there are enough values.
      if (sizes[part] >> (bits_ - 1) == 0) {
        for (const auto& s : sorted) s->count(part, 0, 1, counters);
      } else {
        std::vector<std::uint32_t> table(part_size(part));
        for (const auto& s : sorted) s->count(part, 0, 1, table.data());
        for (std::size_t i = 0; i < table.size(); ++i) counters[i] += table[i];
      }
    });
    std::mutex adding;
    for (const std::uint64_t part : large) {
      runtime::parallel_tasks(used_, [&](std::uint64_t t) {
        std::vector<std::uint32_t> table(part_size(part));
        for (const auto& s : sorted) s->count(part, t, used_, table.data());
        std::uint64_t* counters = totals.data() + (part << bits_);
        const std::lock_guard lock(adding);
        for (std::size_t i = 0; i < table.size(); ++i) counters[i] += table[i];
      });
    }
  }

  [[nodiscard]] std::size_t part_size(std::uint64_t part) const {
    return std::min<std::uint64_t>(std::uint64_t{1} << bits_, shape_.counters() - (part << bits_));
  }

  TableShape shape_;
  unsigned bits_;
  std::uint64_t parts_;
  std::uint64_t chunk_ = 0;  // values of a thread
  std::uint64_t used_ = 0;   // threads that have sorted
  std::vector<std::unique_ptr<Sorted<Offset>>> sorted_;
};

}  // namespace

std::unique_ptr<PartCounter> PartCounter::make(const TableShape& shape) {
  const auto wide = static_cast<unsigned>(std::bit_width((shape.counters() - 1) / most_parts));
  const unsigned bits = std::max(part_bits, wide);
  if (bits <= 16) return std::make_unique<Parts<std::uint16_t>>(shape, bits);
  return std::make_unique<Parts<std::uint32_t>>(shape, bits);
}

SlotCounter::SlotCounter(const TableShape& shape, Strategy asked)
    : shape_(shape), strategy_(choose_strategy(shape, asked)) {
  if (strategy_ == Strategy::partitioned) parts_ = PartCounter::make(shape_);
}

void SlotCounter::count(const SlotSource& source, std::uint64_t elements, std::size_t size,
                        std::span<std::uint64_t> totals) {
  // Tables that are much longer than the data are not worth their clearing and adding.
  constexpr std::uint64_t counters_an_element = 4;
  const bool few = shape_.counters() / counters_an_element > elements && elements <= piece_bytes / size;
  if (strategy_ == Strategy::global || few) {
    return count_in_totals(shape_, source, elements, size, few, totals);
  }
  if (parts_) return parts_->count(source, elements, totals);
  count_in_tables(shape_, copies_of(shape_, strategy_), elements, size, totals,
                  [&](Tables& tables, std::uint64_t first, std::uint64_t count) { tables.add(source, first, count); });
}

}  // namespace masu::cpu
