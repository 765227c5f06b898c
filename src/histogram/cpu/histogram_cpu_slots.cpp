// SPDX-License-Identifier: Apache-2.0
#include "histogram/cpu/histogram_cpu_slots.h"

#include "elements/stored_float.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>

namespace masu::cpu {

namespace {

// The first and the last cell hold the values below and above the finite edges, so that an infinite edge has a cell of
// its own. With eight cells an edge, a cell has at most three random edges, unless there are thousands of edges; the
// table stays in the first-level cache, or the second.
constexpr std::uint64_t cells_an_edge = 8;
constexpr std::uint64_t least_cells = 256;
constexpr std::uint64_t most_cells = std::uint64_t{1} << 16;

// As the loops do it.
std::int32_t ordered_bits(double value) {
  constexpr float most = std::numeric_limits<float>::max();
  const auto bits = std::bit_cast<std::int32_t>(static_cast<float>(std::clamp<double>(value, -most, most)) + 0.0F);
  return bits ^ ((bits >> 31) & 0x7fffffff);
}

}  // namespace

template <class T>
Guide<T>::Guide(const BinRule& rule) {
  make_steps(rule);
  std::vector<std::uint32_t> cells;
  const std::uint64_t few = std::bit_ceil(cells_an_edge * steps_.size());
  // Uneven edges get more cells, where one comparison is enough then, or where the loops for few are.
  if (!divide(few, cells) || loop_.most > 1) {
    const bool parted = parted_;
    if (!divide(4 * few, cells) || (parted && loop_.most > 1)) divide(few, cells);
  }
  fill(cells, static_cast<std::uint32_t>(rule.n + slot_nan));
}

template <class T>
bool Guide<T>::divide(std::uint64_t wanted, std::vector<std::uint32_t>& cells) {
  loop_.cells = static_cast<std::uint32_t>(std::clamp(wanted, least_cells, most_cells));
  cells.resize(steps_.size());
  std::vector<std::uint32_t> by_bits(steps_.size());
  // Edges at equal distances suit the one, edges of equal ratio the other.
  const std::uint32_t shared_by_bits = spread(true, by_bits);
  const std::uint32_t shared_by_value = spread(false, cells);
  loop_.by_bits = shared_by_bits < shared_by_value;
  if (loop_.by_bits) cells.swap(by_bits);
  loop_.most = std::min(shared_by_bits, shared_by_value);
  // near_ counts to steps_.size() + 1.
  parted_ = loop_.most <= most_near_steps && steps_.size() < std::numeric_limits<std::uint16_t>::max();
  return parted_;
}

template <class T>
void Guide<T>::make_steps(const BinRule& rule) {
  const auto n = static_cast<std::uint32_t>(rule.n);
  steps_.reserve(rule.n + 1);
  after_.reserve(rule.n + 2);
  after_.push_back(static_cast<std::uint32_t>(rule.below()));
  const auto push = [&](double edge, bool past, std::uint32_t slot) {
    T step{};
    if (!least_reaching(edge, past, step)) return;
    // Bins that no value of T tells apart: the last one counts.
    if (!steps_.empty() && steps_.back() == step) {
      after_.back() = slot;
    } else {
      steps_.push_back(step);
      after_.push_back(slot);
    }
  };
  for (std::uint32_t i = 0; i < n; ++i) push(rule.edge(i), false, i);
  push(rule.edge(n), !rule.half_open, static_cast<std::uint32_t>(rule.above()));
}

template <class T>
bool Guide<T>::lay(bool by_bits, GuideLoop<T>& loop) const {
  const auto finite = [](T v) { return std::isfinite(v); };
  const auto first = std::find_if(steps_.begin(), steps_.end(), finite);
  const auto last = std::find_if(steps_.rbegin(), steps_.rend(), finite);
  const T lo = first != steps_.end() ? *first : T{0};
  const T hi = last != steps_.rend() ? *last : T{0};
  loop.by_bits = by_bits;
  loop.lo = lo;
  if (!by_bits) {
    loop.scale = static_cast<T>(loop.cells - 3) / (hi - lo);
    return std::isnormal(loop.scale);
  }
  const std::int64_t first_bits = ordered_bits(lo);
  const std::int64_t last_bits = ordered_bits(hi);
  loop.shift = 0;
  while ((last_bits - first_bits) >> loop.shift > loop.cells - 4) ++loop.shift;
  const std::int64_t unit = std::int64_t{1} << loop.shift;
  using Bits = std::numeric_limits<std::int32_t>;
  loop.base = static_cast<std::int32_t>(std::max<std::int64_t>(first_bits - unit, Bits::min()));
  loop.top = static_cast<std::int32_t>(std::min<std::int64_t>(last_bits + unit, Bits::max()));
  return true;
}

template <class T>
std::vector<std::uint32_t> Guide<T>::cells(std::span<const T> x, const GuideLoop<T>& loop) const {
  constexpr std::size_t block = 256;
  std::vector<std::uint32_t> result(x.size());
  for (std::size_t i = 0; i < x.size(); i += block) {
    loops_->cells(x.data() + i, std::min(block, x.size() - i), loop, result.data() + i);
  }
  return result;
}

template <class T>
std::uint32_t Guide<T>::spread(bool by_bits, std::vector<std::uint32_t>& of_steps) {
  if (!lay(by_bits, loop_)) return std::numeric_limits<std::uint32_t>::max();
  of_steps = cells(steps_, loop_);
  std::uint32_t most = 0;
  std::uint32_t shared = 0;
  for (std::size_t i = 0; i < of_steps.size(); ++i) {
    shared = i > 0 && of_steps[i] == of_steps[i - 1] ? shared + 1 : 1;
    most = std::max(most, shared);
  }
  return most;
}

template <class T>
void Guide<T>::fill(const std::vector<std::uint32_t>& cells, std::uint32_t nan_slot) {
  const auto steps = static_cast<std::uint32_t>(steps_.size());
  first_.resize(loop_.cells + std::size_t{2});
  std::uint32_t step = 0;
  for (std::uint32_t cell = 0; cell < loop_.cells; ++cell) {
    first_[cell] = step;
    while (step < cells.size() && cells[step] == cell) ++step;
  }
  first_[loop_.cells] = steps + 1;
  first_[loop_.cells + 1] = steps + 1;
  after_.push_back(nan_slot);
  steps_.insert(steps_.end(), 1 + most_near_steps, std::numeric_limits<T>::quiet_NaN());
  if (parted_) near_.assign(first_.begin(), first_.end());
  loop_.near = near_.data();
  loop_.steps = steps_.data();
}

// The steps that x reaches, where its cell may have many.
template <class T>
std::uint32_t Guide<T>::search(T x, std::uint32_t cell) const {
  const std::uint32_t begin = first_[cell];
  std::uint32_t reached = begin;
  for (unsigned k = 0; k < most_near_steps; ++k) reached += x >= steps_[begin + k] ? 1 : 0;
  if (reached != begin + most_near_steps || cell >= loop_.cells) return reached;
  // The last cell's steps end at the NaNs that follow them.
  const std::uint32_t end = cell + 1 == loop_.cells ? first_[cell + 1] - 1 : first_[cell + 1];
  const auto found = std::upper_bound(steps_.begin() + reached, steps_.begin() + std::max(reached, end), x);
  return static_cast<std::uint32_t>(found - steps_.begin());
}

template <class T>
void Guide<T>::write(const T* x, std::size_t count, std::uint32_t* slots) const {
  if (parted_) {
    loops_->steps(x, count, loop_, slots);
  } else {
    loops_->cells(x, count, loop_, slots);
    for (std::size_t i = 0; i < count; ++i) slots[i] = search(x[i], slots[i]);
  }
  for (std::size_t i = 0; i < count; ++i) slots[i] = after_[slots[i]];
}

template <class T>
void Guide<T>::count_steps(const T* x, std::size_t count, const StepTables& tables) const {
  if (parted_) return loops_->count_steps(x, count, loop_, tables);
  std::uint32_t cells[256];
  loops_->cells(x, count, loop_, cells);
  for (std::size_t i = 0; i < count; ++i) ++tables[i % tables.size()][search(x[i], cells[i])];
}

template <class T>
void Guide<T>::fold(std::span<const std::uint64_t> counted, std::span<std::uint64_t> totals) const {
  for (std::size_t i = 0; i < counted.size(); ++i) totals[after_[i]] += counted[i];
}

template class Guide<float>;
template class Guide<double>;

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

// Values as U: where they are, or in `room`.
template <class U, class T>
const U* values_as(const T* x, std::size_t count, U* room) {
  if constexpr (std::is_same_v<T, U>) {
    return x;
  } else {
    for (std::size_t i = 0; i < count; ++i) room[i] = static_cast<U>(x[i]);
    return room;
  }
}

// So many values pay for a table of all 16-bit values, or for a guide to the edges.
constexpr std::uint64_t table_pays = std::uint64_t{1} << 15;
constexpr std::uint64_t guide_pays = std::uint64_t{1} << 11;
// A guide holds the edges once more.
constexpr std::uint64_t most_guided = std::uint64_t{1} << 26;

template <class T>
void write_integers(const T* x, std::size_t count, const BinRule& rule, std::uint32_t* slots) {
  const auto n = static_cast<std::uint32_t>(rule.n);
  if constexpr (sizeof(T) >= 4) {
    integer_slots<T>()(x, count, n, slots);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      const auto v = static_cast<std::uint64_t>(static_cast<std::int64_t>(x[i]));
      const bool negative = std::is_signed_v<T> && x[i] < 0;
      slots[i] = static_cast<std::uint32_t>(v < n ? v : n + (negative ? slot_below : slot_above));
    }
  }
  for (std::size_t i = 0; rule.clamps && i < count; ++i) {
    slots[i] = slots[i] < n ? slots[i] : slots[i] == n + slot_below ? 0 : n - 1;
  }
}

}  // namespace

SlotWriter::SlotWriter(const BinRule& rule) : rule_(rule) {
  if (!is_stored_float(rule.dtype) && rule.kind == Bins::Kind::even) make_even_loop();
  if (size_of(rule.dtype) == 1) make_table();
}

void SlotWriter::make_even_loop() {
  const double last = rule_.edge(rule_.n);
  const double error = rule_.own_edges ? position_error<float>(rule_) : position_error<double>(rule_);
  if (error >= most_error) return;
  const double before = rule_.own_edges ? static_cast<double>(std::nextafter(static_cast<float>(last), -INFINITY))
                                        : std::nextafter(last, -INFINITY);
  loop_ = {.lo = rule_.lo,
           .step = rule_.step,
           .first = rule_.edge(0),
           .last = rule_.half_open ? before : last,
           .scale = static_cast<double>(rule_.n) / (rule_.hi - rule_.lo),
           .error = error,
           .n = static_cast<std::uint32_t>(rule_.n),
           .below = static_cast<std::uint32_t>(rule_.below()),
           .above = static_cast<std::uint32_t>(rule_.above()),
           .nan = static_cast<std::uint32_t>(rule_.n + slot_nan)};
  if (!rule_.own_edges) {
    f64_ = slots_f64();
  } else {
    f32_ = rule_.own_arithmetic ? slots_f32_native() : slots_f32();
  }
}

void SlotWriter::make_table() {
  if (is_stored_float(rule_.dtype)) {
    of_value_ = rule_.half_slots();
    return;
  }
  std::vector<std::uint32_t> slots(std::size_t{1} << 8 * size_of(rule_.dtype));
  dispatch(rule_.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 2) {
      SlotHistory history{};
      T values[block_elements];
      for (std::size_t first = 0; first < slots.size(); first += block_elements) {
        std::iota(std::begin(values), std::end(values), static_cast<T>(first));
        write_values(values, block_elements, history, slots.data() + first);
      }
    }
  });
  of_value_ = std::move(slots);
}

void SlotWriter::prepare(std::uint64_t elements) {
  const bool narrow = size_of(rule_.dtype) == 2;
  const bool has_loop = f32_ != nullptr || f64_ != nullptr || guide_f32_ || guide_f64_;
  if (!of_value_.empty() || (has_loop && !narrow)) return;
  prepared_ += elements;
  if (narrow && prepared_ >= table_pays) return make_table();
  if (has_loop || is_stored_float(rule_.dtype)) return;
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
  if constexpr (is_stored<T>) {
    for (std::size_t i = 0; i < count; ++i) {
      slots[i] = static_cast<std::uint32_t>(rule_.slot(to_double(x[i])));
    }
  } else {
    if constexpr (std::is_integral_v<T>) {
      if (rule_.kind == Bins::Kind::integers) return write_integers(x, count, rule_, slots);
    }
    if constexpr (std::is_same_v<T, float>) {
      if (f32_ != nullptr) return f32_(x, count, loop_, history, slots);
      if (guide_f32_) return guide_f32_->write(x, count, slots);
    }
    if (f64_ != nullptr || guide_f64_) {
      double room[block_elements];
      const double* const values = values_as(x, count, room);
      if (f64_ != nullptr) return f64_(values, count, loop_, history, slots);
      return guide_f64_->write(values, count, slots);
    }
    runtime::check_interrupted();  // a search for each value: a thread's values may take it seconds
    for (std::size_t i = 0; i < count; ++i) {
      slots[i] = static_cast<std::uint32_t>(rule_.slot(static_cast<double>(x[i])));
    }
  }
}

void SlotWriter::write(const void* x, std::size_t count, SlotHistory& history, std::uint32_t* slots) const {
  dispatch(rule_.dtype, [&]<class T>(TypeTag<T>) { write_values(static_cast<const T*>(x), count, history, slots); });
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
    if constexpr (!std::is_same_v<T, U>) prefetch_next(x + first, count * sizeof(T));
    return values_as(x + first, count, room);
  };
  map->count(read, elements, sizeof(T), copies, steps);
  return true;
}

bool SlotWriter::count_steps_by_cells(const void* x, std::uint64_t elements, unsigned copies,
                                      std::span<std::uint64_t> steps) {
  if (elements < cells_block) return false;
  if (guide_f32_) {
    return count_by_cells_of(static_cast<const float*>(x), elements, *guide_f32_, cells_f32_, copies, steps);
  }
  return dispatch(rule_.dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (is_stored<T>) {
      return false;
    } else {
      return count_by_cells_of(static_cast<const T*>(x), elements, *guide_f64_, cells_f64_, copies, steps);
    }
  });
}

void SlotWriter::count_steps(const void* x, std::size_t count, const StepTables& tables) const {
  if (guide_f32_) return guide_f32_->count_steps(static_cast<const float*>(x), count, tables);
  dispatch(rule_.dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (!is_stored<T>) {
      double room[block_elements];
      guide_f64_->count_steps(values_as(static_cast<const T*>(x), count, room), count, tables);
    }
  });
}

void SlotWriter::fold_steps(std::span<const std::uint64_t> counted, std::span<std::uint64_t> totals) const {
  guide_f32_ ? guide_f32_->fold(counted, totals) : guide_f64_->fold(counted, totals);
}

}  // namespace masu::cpu
