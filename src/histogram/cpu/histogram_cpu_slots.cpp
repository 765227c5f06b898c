// SPDX-License-Identifier: Apache-2.0
#include "histogram/cpu/histogram_cpu_slots.h"

#include "runtime/half.h"
#include "runtime/interrupt.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace masu::cpu {

namespace {

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

// So many values pay for a table of all 16-bit values, or for a guide to the edges.
constexpr std::uint64_t table_pays = std::uint64_t{1} << 15;
constexpr std::uint64_t guide_pays = std::uint64_t{1} << 11;
// A guide holds the edges once more.
constexpr std::uint64_t most_guided = std::uint64_t{1} << 26;

template <class T>
void write_integers(const T* x, std::size_t count, std::uint32_t n, std::uint32_t* slots) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto v = static_cast<std::uint64_t>(static_cast<std::int64_t>(x[i]));
    const bool negative = std::is_signed_v<T> && x[i] < 0;
    slots[i] =
        v < n ? static_cast<std::uint32_t>(v) : n + static_cast<std::uint32_t>(negative ? slot_below : slot_above);
  }
}

}  // namespace

SlotWriter::SlotWriter(const BinRule& rule) : rule_(rule) {
  if (size_of(rule.dtype) == 1) {
    make_table();
  } else if (rule.dtype != Dtype::f16 && rule.kind == Bins::Kind::even) {
    make_even_loop();
  }
}

void SlotWriter::make_even_loop() {
  const double last = rule_.edge(rule_.n);
  const double error = rule_.f32_edges ? position_error<float>(rule_) : position_error<double>(rule_);
  if (error >= most_error) return;
  const double before = rule_.f32_edges ? static_cast<double>(std::nextafter(static_cast<float>(last), -INFINITY))
                                        : std::nextafter(last, -INFINITY);
  loop_ = {.lo = rule_.lo,
           .step = rule_.step,
           .first = rule_.edge(0),
           .last = rule_.half_open ? before : last,
           .scale = static_cast<double>(rule_.n) / (rule_.hi - rule_.lo),
           .error = error,
           .n = static_cast<std::uint32_t>(rule_.n)};
  if (!rule_.f32_edges) {
    f64_ = slots_f64();
  } else {
    f32_ = rule_.f32_arithmetic ? slots_f32_native() : slots_f32();
  }
}

void SlotWriter::make_table() {
  if (rule_.dtype == Dtype::f16) {
    of_value_ = rule_.half_slots();
    return;
  }
  const unsigned bits = static_cast<unsigned>(8 * size_of(rule_.dtype));
  const std::uint32_t values = 1U << bits;
  of_value_.resize(values);
  for (std::uint32_t pattern = 0; pattern < values; ++pattern) {
    const bool negative = is_signed(rule_.dtype) && pattern >= values / 2;
    const double x = static_cast<double>(pattern) - (negative ? static_cast<double>(values) : 0);
    of_value_[pattern] = static_cast<std::uint32_t>(rule_.slot(x));
  }
}

void SlotWriter::prepare(std::uint64_t elements) {
  const bool narrow = size_of(rule_.dtype) == 2;
  const bool has_loop = f32_ != nullptr || f64_ != nullptr || guide_f32_ || guide_f64_;
  if (!of_value_.empty() || (has_loop && !narrow)) return;
  prepared_ += elements;
  if (narrow && prepared_ >= table_pays) return make_table();
  if (has_loop || rule_.dtype == Dtype::f16) return;
  if (rule_.kind != Bins::Kind::integers && rule_.n <= most_guided && prepared_ >= guide_pays + 4 * rule_.n) {
    if (rule_.dtype == Dtype::f32) {
      guide_f32_.emplace(rule_);
    } else {
      guide_f64_.emplace(rule_);
    }
  }
}

template <class T>
void SlotWriter::write_values(const T* x, std::size_t count, SlotHistory& history, std::uint32_t* slots) const {
  if constexpr (sizeof(T) <= 2) {
    if (!of_value_.empty()) {
      using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
      for (std::size_t i = 0; i < count; ++i) {
        Bits bits;
        std::memcpy(&bits, x + i, sizeof(Bits));
        slots[i] = of_value_[bits];
      }
      return;
    }
  }
  if constexpr (std::is_same_v<T, Half>) {
    for (std::size_t i = 0; i < count; ++i) {
      slots[i] = static_cast<std::uint32_t>(rule_.slot(runtime::to_double(x[i])));
    }
  } else {
    if constexpr (std::is_integral_v<T>) {
      if (rule_.kind == Bins::Kind::integers) {
        const auto n = static_cast<std::uint32_t>(rule_.n);
        if constexpr (sizeof(T) >= 4) return integer_slots(T{})(x, count, n, slots);
        return write_integers(x, count, n, slots);
      }
    }
    if constexpr (std::is_same_v<T, float>) {
      if (f32_ != nullptr) return f32_(x, count, loop_, history, slots);
      if (guide_f32_) return guide_f32_->write(x, count, slots);
    }
    if (f64_ != nullptr || guide_f64_) {
      const auto write_f64 = [&](const double* values) {
        if (f64_ != nullptr) return f64_(values, count, loop_, history, slots);
        guide_f64_->write(values, count, slots);
      };
      if constexpr (std::is_same_v<T, double>) {
        write_f64(x);
      } else {
        double converted[block_elements];
        for (std::size_t i = 0; i < count; ++i) converted[i] = static_cast<double>(x[i]);
        write_f64(converted);
      }
      return;
    }
    runtime::check_interrupted();  // a search for each value: a thread's values may take it seconds
    for (std::size_t i = 0; i < count; ++i) {
      slots[i] = static_cast<std::uint32_t>(rule_.slot(static_cast<double>(x[i])));
    }
  }
}

void SlotWriter::write(const void* x, std::size_t count, SlotHistory& history, std::uint32_t* slots) const {
  dispatch(rule_.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    write_values(static_cast<const T*>(x), count, history, slots);
  });
}

std::uint64_t SlotWriter::step_counters() const noexcept {
  if (guide_f32_) return guide_f32_->step_counters();
  return guide_f64_ ? guide_f64_->step_counters() : 0;
}

template <class T, class U>
bool SlotWriter::count_by_cells_of(const T* x, std::uint64_t elements, const Guide<U>& guide,
                                   std::optional<CellMap<U>>& map, unsigned copies, std::span<std::uint64_t> steps) {
  if (!map) {
    std::vector<U> sample(std::min<std::uint64_t>(elements, cells_block));
    const std::uint64_t stride = elements / sample.size();
    for (std::size_t i = 0; i < sample.size(); ++i) sample[i] = static_cast<U>(x[i * stride]);
    map.emplace(guide, sample, elements);
  }
  if (!map->pays()) return false;
  const auto read = [&](std::uint64_t first, std::size_t count, U* room) -> const U* {
    if constexpr (std::is_same_v<T, U>) {
      return x + first;
    } else {
      prefetch_next(x + first, count * sizeof(T));
      for (std::size_t i = 0; i < count; ++i) room[i] = static_cast<U>(x[first + i]);
      return room;
    }
  };
  count_by_cells<U>(*map, read, elements, sizeof(T), copies, steps);
  return true;
}

bool SlotWriter::count_steps_by_cells(const void* x, std::uint64_t elements, unsigned copies,
                                      std::span<std::uint64_t> steps) {
  if (elements < cells_block) return false;
  if (guide_f32_) {
    return count_by_cells_of(static_cast<const float*>(x), elements, *guide_f32_, cells_f32_, copies, steps);
  }
  return dispatch(rule_.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, Half>) {
      return false;
    } else {
      return count_by_cells_of(static_cast<const T*>(x), elements, *guide_f64_, cells_f64_, copies, steps);
    }
  });
}

void SlotWriter::count_steps(const void* x, std::size_t count, const StepTables& tables) const {
  if (guide_f32_) return guide_f32_->count_steps(static_cast<const float*>(x), count, tables);
  dispatch(rule_.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, double>) {
      guide_f64_->count_steps(static_cast<const T*>(x), count, tables);
    } else if constexpr (!std::is_same_v<T, Half>) {
      double converted[block_elements];
      for (std::size_t i = 0; i < count; ++i) converted[i] = static_cast<double>(static_cast<const T*>(x)[i]);
      guide_f64_->count_steps(converted, count, tables);
    }
  });
}

void SlotWriter::fold_steps(std::span<const std::uint64_t> counted, std::span<std::uint64_t> totals) const {
  guide_f32_ ? guide_f32_->fold(counted, totals) : guide_f64_->fold(counted, totals);
}

}  // namespace masu::cpu
