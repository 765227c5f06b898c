// SPDX-License-Identifier: Apache-2.0
#include "histogram/histogram_cpu.h"

#include "histogram/histogram_plan.h"
#include "histogram/histogram_simd.h"
#include "runtime/half.h"
#include "runtime/parallel.h"

#include <masu/device.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <vector>

namespace masu::cpu {

namespace {

// Values whose slots are computed before they are counted: input, slots and tables stay in the first-level cache
// together.
constexpr std::size_t block_elements = 256;
// What a thread takes at a time.
constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20;
// A thread's tables count in 32 bits, and are added to the totals before this many values.
constexpr std::uint64_t flush_elements = std::uint64_t{1} << 31;
// Copies of a table are kept while all of them fit here; the first-level data cache is 32 KiB or more.
constexpr std::uint64_t copies_bytes = std::uint64_t{24} << 10;
constexpr unsigned most_copies = 8;
// Above this a thread has no table of its own: all count into the totals, atomically when there are several.
constexpr std::uint64_t private_bytes = std::uint64_t{64} << 20;

// How far a value's position in bins can be off: the rounding of its own arithmetic, in G, and of the edges. Above
// `most_error` positions say too little. See README.md.
constexpr double most_error = 0.2;
template <class G>
double position_error(const BinRule& rule) {
  if (rule.kind != Bins::Kind::even || rule.step == 0) return 1;
  constexpr double unit = std::numeric_limits<G>::epsilon() / 2;
  const auto n = static_cast<double>(rule.n);
  const G range = static_cast<G>(rule.hi) - static_cast<G>(rule.lo);
  const G scale = static_cast<G>(rule.n) / range;
  if (!std::isfinite(range) || !std::isnormal(scale) || !std::isnormal(static_cast<G>(rule.step)) || n > 0x1p30)
    return 1;
  const double magnitude = std::max(std::abs(rule.lo), std::abs(rule.hi));
  // At most six roundings grow with the position, and two with the magnitude, which is half of the range or more.
  return 5 * unit * n * (1 + magnitude / (rule.hi - rule.lo));
}

// Turns values into slots, block by block.
class SlotWriter {
 public:
  SlotWriter(const BinRule& rule, std::uint64_t elements) : rule_(rule) {
    if (rule.kind == Bins::Kind::even) {
      const double last = rule.edge(rule.n);
      const double error = rule.f32_edges ? position_error<float>(rule) : position_error<double>(rule);
      const double before = rule.f32_edges ? static_cast<double>(std::nextafter(static_cast<float>(last), -INFINITY))
                                           : std::nextafter(last, -INFINITY);
      loop_ = {.lo = rule.lo,
               .step = rule.step,
               .first = rule.edge(0),
               .last = rule.half_open ? before : last,
               .scale = static_cast<double>(rule.n) / (rule.hi - rule.lo),
               .error = error,
               .n = static_cast<std::uint32_t>(rule.n)};
      if (error < most_error) {
        if (!rule.f32_edges) {
          f64_ = slots_f64();
        } else {
          f32_ = rule.f32_arithmetic ? slots_f32_native() : slots_f32();
        }
      }
    }
    // 16-bit data: every value's slot, once, when there are more values than that costs.
    if (size_of(rule.dtype) == 2 && elements >= (1U << 15)) {
      of_value_.resize(1U << 16);
      for (std::uint32_t bits = 0; bits < of_value_.size(); ++bits) {
        const double x =
            rule.dtype == Dtype::u16 ? static_cast<double>(bits) : static_cast<double>(static_cast<std::int16_t>(bits));
        of_value_[bits] = static_cast<std::uint32_t>(rule.slot(x));
      }
    } else if (f32_ == nullptr && f64_ == nullptr && rule.kind != Bins::Kind::integers && rule.n < (1U << 20)) {
      edges_.resize(rule.n + 1);
      for (std::uint64_t i = 0; i <= rule.n; ++i) edges_[i] = rule.edge(i);
    }
  }

  template <class T>
  void write(const T* x, std::size_t count, SlotHistory& history, std::uint32_t* slots) const {
    if constexpr (sizeof(T) == 2) {
      if (!of_value_.empty()) {
        for (std::size_t i = 0; i < count; ++i) slots[i] = of_value_[static_cast<std::uint16_t>(x[i])];
        return;
      }
    }
    if constexpr (std::is_integral_v<T>) {
      if (rule_.kind == Bins::Kind::integers) return write_integers(x, count, slots);
    }
    if constexpr (std::is_same_v<T, float>) {
      if (f32_ != nullptr) return f32_(x, count, loop_, history, slots);
    } else if (f64_ != nullptr) {
      if constexpr (std::is_same_v<T, double>) {
        return f64_(x, count, loop_, history, slots);
      } else {
        double converted[block_elements];
        for (std::size_t i = 0; i < count; ++i) converted[i] = static_cast<double>(x[i]);
        return f64_(converted, count, loop_, history, slots);
      }
    }
    for (std::size_t i = 0; i < count; ++i) slots[i] = search(static_cast<double>(x[i]));
  }

 private:
  template <class T>
  void write_integers(const T* x, std::size_t count, std::uint32_t* slots) const {
    const auto n = static_cast<std::uint32_t>(rule_.n);
    for (std::size_t i = 0; i < count; ++i) {
      const auto v = static_cast<std::uint64_t>(static_cast<std::int64_t>(x[i]));
      const bool negative = std::is_signed_v<T> && x[i] < 0;
      slots[i] =
          v < n ? static_cast<std::uint32_t>(v) : n + static_cast<std::uint32_t>(negative ? slot_below : slot_above);
    }
  }

  std::uint32_t search(double x) const {
    if (edges_.empty()) return static_cast<std::uint32_t>(rule_.slot(x));
    const double* e = edges_.data();
    const auto n = static_cast<std::uint32_t>(rule_.n);
    if (!(x >= e[0])) return n + static_cast<std::uint32_t>(std::isnan(x) ? slot_nan : slot_below);
    if (x > e[n] || (rule_.half_open && x == e[n])) return n + static_cast<std::uint32_t>(slot_above);
    std::uint32_t slot = 0;  // e[slot] <= x
    for (std::uint32_t length = n; length > 1;) {
      const std::uint32_t half = length / 2;
      slot += x >= e[slot + half] ? half : 0;
      length -= half;
    }
    return slot;
  }

  const BinRule& rule_;
  EvenLoop loop_{};
  SlotsF32 f32_ = nullptr;
  SlotsF64 f64_ = nullptr;
  std::vector<std::uint32_t> of_value_;
  std::vector<double> edges_;
};

// A thread's tables: `copies` of `channels` times `slots` counters.
class Tables {
 public:
  Tables(unsigned channels, std::uint64_t slots, unsigned copies)
      : slots_(slots), channels_(channels), copies_(copies), counts_(slots * channels * copies) {}

  std::uint32_t* data() noexcept { return counts_.data(); }

  // Counts slots whose first one belongs to channel 0.
  void add(const std::uint32_t* slots, std::size_t count) {
    if (channels_ == 1) {
      if (copies_ == most_copies) return add_copies<most_copies>(slots, count);
      if (copies_ > 1) return add_copies<2>(slots, count);
      for (std::size_t i = 0; i < count; ++i) ++counts_[slots[i]];
      return;
    }
    std::uint32_t* table = counts_.data();
    for (std::size_t i = 0; i < count; i += channels_) {
      for (unsigned c = 0; c < channels_; ++c) ++table[c * slots_ + slots[i + c]];
    }
  }

  void flush(std::span<std::uint64_t> totals) {
    const std::size_t size = slots_ * channels_;
    for (unsigned k = 0; k < copies_; ++k) {
      for (std::size_t i = 0; i < size; ++i) totals[i] += counts_[k * size + i];
    }
    std::fill(counts_.begin(), counts_.end(), 0U);
  }

 private:
  template <unsigned copies>
  void add_copies(const std::uint32_t* slots, std::size_t count) {
    std::uint32_t* tables[copies];
    for (unsigned k = 0; k < copies; ++k) tables[k] = counts_.data() + k * slots_;
    std::size_t i = 0;
    for (; i + copies <= count; i += copies) {
      for (unsigned k = 0; k < copies; ++k) ++tables[k][slots[i + k]];
    }
    for (; i < count; ++i) ++tables[0][slots[i]];
  }

  std::uint64_t slots_;
  unsigned channels_;
  unsigned copies_;
  std::vector<std::uint32_t> counts_;
};

// 8-bit data: the byte is the slot. i8 too; the caller folds the 256 counts into bins.
void add_bytes(Tables& tables, const std::uint8_t* data, std::uint64_t count, unsigned channels, unsigned copies) {
  if (channels == 1) {
    if (copies > 1) return count_bytes()(data, count, tables.data());
    for (std::uint64_t i = 0; i < count; ++i) ++tables.data()[data[i]];
    return;
  }
  // Two pixels at a time go to different copies.
  std::uint32_t* even = tables.data();
  std::uint32_t* odd = copies > 1 ? even + std::uint64_t{256} * channels : even;
  for (std::uint64_t i = 0; i < count; i += channels) {
    for (unsigned c = 0; c < channels; ++c) ++even[256 * c + data[i + c]];
    std::swap(even, odd);
  }
}

// Calls count(first, length) for runs of a piece that never overflow 32 bits, flushing between them.
struct Job {
  const BinRule& rule;
  const ArrayView& data;
  unsigned channels;
  unsigned copies;
  std::uint64_t slots;
  const SlotWriter& writer;
};

void count_piece(const Job& job, Tables& tables, std::uint64_t first, std::uint64_t count) {
  dispatch(job.data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = static_cast<const T*>(job.data.data) + first;
    if constexpr (sizeof(T) == 1) {
      add_bytes(tables, reinterpret_cast<const std::uint8_t*>(x), count, job.channels, job.copies);
    } else if constexpr (!std::is_same_v<T, Half>) {
      alignas(64) std::uint32_t slots[block_elements];
      const std::size_t block = block_elements / job.channels * job.channels;
      SlotHistory history;
      for (std::uint64_t i = 0; i < count; i += block) {
        const std::size_t length = std::min<std::uint64_t>(block, count - i);
        job.writer.write(x + i, length, history, slots);
        tables.add(slots, length);
      }
    }
  });
}

// Every value is one addition to the totals; atomic when several threads share them.
void count_in_totals(const Job& job, std::uint64_t first, std::uint64_t count, std::span<std::uint64_t> totals,
                     bool atomic) {
  dispatch(job.data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = static_cast<const T*>(job.data.data) + first;
    std::uint32_t slots[block_elements] = {};
    const std::size_t block = block_elements / job.channels * job.channels;
    SlotHistory history;
    for (std::uint64_t i = 0; i < count; i += block) {
      const std::size_t length = std::min<std::uint64_t>(block, count - i);
      if constexpr (sizeof(T) == 1) {
        for (std::size_t k = 0; k < length; ++k) slots[k] = static_cast<std::uint8_t>(x[i + k]);
      } else if constexpr (!std::is_same_v<T, Half>) {
        job.writer.write(x + i, length, history, slots);
      }
      for (std::size_t k = 0, channel = 0; k < length; ++k) {
        std::uint64_t& total = totals[channel * job.slots + slots[k]];
        if (atomic) {
          std::atomic_ref(total).fetch_add(1, std::memory_order_relaxed);
        } else {
          ++total;
        }
        channel = channel + 1 == job.channels ? 0 : channel + 1;
      }
    }
  });
}

}  // namespace

Strategy count(const BinRule& rule, const ArrayView& data, unsigned channels, Strategy strategy,
               std::span<std::uint64_t> totals) {
  const std::uint64_t slots = totals.size() / channels;
  const std::uint64_t table_bytes = totals.size() * sizeof(std::uint32_t);
  const std::uint64_t piece = piece_bytes / size_of(data.dtype) / channels * channels;
  const std::uint64_t pieces = (data.count + piece - 1) / piece;
  const bool tables_fit = table_bytes <= private_bytes;
  if (strategy == Strategy::local) {
    throw Error(ErrorCode::unsupported, "histogram: strategy local needs local memory; the device cpu has none");
  }
  if (strategy == Strategy::lanes && table_bytes * 2 > copies_bytes) {
    throw Error(ErrorCode::unsupported,
                fmt::format("histogram: strategy lanes holds 2 tables of at most {} bytes on cpu, got {}",
                            copies_bytes / 2, table_bytes));
  }
  if (strategy == Strategy::private_ && !tables_fit) {
    throw Error(ErrorCode::unsupported,
                fmt::format("histogram: strategy private holds tables of at most {} bytes a thread on cpu, got {}",
                            private_bytes, table_bytes));
  }
  if (strategy == Strategy::automatic) {
    strategy = table_bytes * 2 <= copies_bytes ? Strategy::lanes : tables_fit ? Strategy::private_ : Strategy::global;
  }

  const SlotWriter writer(rule, size_of(data.dtype) == 1 ? 0 : data.count);
  const bool one_thread = strategy == Strategy::sequential;
  const unsigned copies = strategy != Strategy::lanes ? 1 : table_bytes * most_copies <= copies_bytes ? most_copies : 2;
  const Job job{rule, data, channels, copies, slots, writer};
  const std::uint64_t threads = one_thread ? 1 : std::min<std::uint64_t>(cpu_threads(), pieces);
  if (one_thread || strategy == Strategy::global) {
    runtime::parallel_tasks(threads == 1 ? 1 : pieces, [&](std::uint64_t task) {
      const std::uint64_t first = task * piece;
      const std::uint64_t length = threads == 1 ? data.count : std::min(piece, data.count - first);
      count_in_totals(job, first, length, totals, threads > 1);
    });
    return strategy;
  }

  // Each thread takes the next piece until none is left; the tables are added at the end, under one lock.
  std::atomic<std::uint64_t> next_piece = 0;
  std::mutex adding;
  runtime::parallel_tasks(threads, [&](std::uint64_t) {
    Tables tables(channels, slots, copies);
    std::uint64_t counted = 0;
    for (std::uint64_t p = next_piece++; p < pieces; p = next_piece++) {
      const std::uint64_t length = std::min(piece, data.count - p * piece);
      if (counted + length > flush_elements) {
        const std::lock_guard lock(adding);
        tables.flush(totals);
        counted = 0;
      }
      count_piece(job, tables, p * piece, length);
      counted += length;
    }
    const std::lock_guard lock(adding);
    tables.flush(totals);
  });
  return strategy;
}

namespace {

// f16 values are ordered as the integers that their magnitudes are, with their signs.
std::optional<ValueRange> half_range(const ArrayView& data) {
  constexpr std::int16_t infinity = 0x7c00;
  const auto* x = static_cast<const std::uint16_t*>(data.data);
  const std::uint64_t piece = piece_bytes / sizeof(std::uint16_t);
  std::int16_t least = infinity;
  std::int16_t greatest = -infinity;
  std::mutex joining;
  runtime::parallel_tasks((data.count + piece - 1) / piece, [&](std::uint64_t task) {
    const std::uint16_t* from = x + task * piece;
    const std::uint64_t length = std::min(piece, data.count - task * piece);
    std::int16_t lo = infinity;
    std::int16_t hi = -infinity;
    for (std::uint64_t i = 0; i < length; ++i) {
      const auto magnitude = static_cast<std::int16_t>(from[i] & 0x7fff);
      const auto value = static_cast<std::int16_t>(from[i] > 0x7fff ? -magnitude : magnitude);
      const bool finite = magnitude < infinity;
      lo = std::min(lo, finite ? value : lo);
      hi = std::max(hi, finite ? value : hi);
    }
    const std::lock_guard lock(joining);
    least = std::min(least, lo);
    greatest = std::max(greatest, hi);
  });
  if (least > greatest) return std::nullopt;
  const auto value_of = [](std::int16_t v) {
    const double magnitude = runtime::to_double(Half{static_cast<std::uint16_t>(std::abs(v))});
    return v < 0 ? -magnitude : magnitude;
  };
  return ValueRange{value_of(least), value_of(greatest), least == greatest};
}

}  // namespace

std::optional<ValueRange> finite_range(const ArrayView& data) {
  return dispatch(data.dtype, [&](auto tag) -> std::optional<ValueRange> {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, Half>) {
      return half_range(data);
    } else {
      const T* x = static_cast<const T*>(data.data);
      const std::uint64_t piece = piece_bytes / sizeof(T);
      T least = std::numeric_limits<T>::max();
      T greatest = std::numeric_limits<T>::lowest();
      std::mutex joining;
      runtime::parallel_tasks((data.count + piece - 1) / piece, [&](std::uint64_t task) {
        const T* from = x + task * piece;
        const std::uint64_t length = std::min(piece, data.count - task * piece);
        T lo = std::numeric_limits<T>::max();
        T hi = std::numeric_limits<T>::lowest();
        if constexpr (std::is_floating_point_v<T>) {
          range_of(from, length, lo, hi);
        } else {
          for (std::uint64_t i = 0; i < length; ++i) {
            lo = std::min(lo, from[i]);
            hi = std::max(hi, from[i]);
          }
        }
        const std::lock_guard lock(joining);
        least = std::min(least, lo);
        greatest = std::max(greatest, hi);
      });
      if (least > greatest) return std::nullopt;
      return ValueRange{static_cast<double>(least), static_cast<double>(greatest), least == greatest};
    }
  });
}

}  // namespace masu::cpu
