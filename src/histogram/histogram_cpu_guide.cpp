// SPDX-License-Identifier: Apache-2.0
#include "histogram/histogram_cpu_guide.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace masu::cpu {

namespace {

// The first and the last cell are those of values before and behind the finite edges, so that infinite edges are alone
// in theirs. Eight cells an edge keep most cells at one edge; the tables stay in the second-level cache.
constexpr std::uint64_t cells_an_edge = 8;
constexpr std::uint64_t least_cells = 256;
constexpr std::uint64_t most_cells = std::uint64_t{1} << 16;

// The least T that compares >= edge, or > edge when `past`. NaN where there is none.
template <class T>
T step_at(double edge, bool past) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  auto value = static_cast<T>(edge);
  const auto reaches = [&](T v) { return past ? static_cast<double>(v) > edge : static_cast<double>(v) >= edge; };
  if (!reaches(infinity)) return std::numeric_limits<T>::quiet_NaN();
  while (!reaches(value)) value = std::nextafter(value, infinity);
  return value;
}

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
  // Uneven edges get more cells, where that parts them all.
  if (!divide(few, cells) && !divide(4 * few, cells)) divide(few, cells);
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
  parted_ = std::min(shared_by_bits, shared_by_value) == 0;
  return parted_;
}

template <class T>
void Guide<T>::make_steps(const BinRule& rule) {
  const auto n = static_cast<std::uint32_t>(rule.n);
  steps_.reserve(rule.n + 1);
  after_.reserve(rule.n + 2);
  after_.push_back(n + static_cast<std::uint32_t>(slot_below));
  const auto push = [&](double edge, bool past, std::uint32_t slot) {
    const T step = step_at<T>(edge, past);
    if (std::isnan(step)) return;
    // Bins that no value of T tells apart: the last one counts.
    if (!steps_.empty() && steps_.back() == step) {
      after_.back() = slot;
    } else {
      steps_.push_back(step);
      after_.push_back(slot);
    }
  };
  for (std::uint32_t i = 0; i < n; ++i) push(rule.edge(i), false, i);
  push(rule.edge(n), !rule.half_open, n + static_cast<std::uint32_t>(slot_above));
}

template <class T>
std::uint32_t Guide<T>::spread(bool by_bits, std::vector<std::uint32_t>& cells) {
  const auto finite = [](T v) { return std::isfinite(v); };
  const auto first = std::find_if(steps_.begin(), steps_.end(), finite);
  const auto last = std::find_if(steps_.rbegin(), steps_.rend(), finite);
  const T lo = first != steps_.end() ? *first : T{0};
  const T hi = last != steps_.rend() ? *last : T{0};
  loop_.by_bits = by_bits;
  if (by_bits) {
    const std::int64_t first_bits = ordered_bits(lo);
    const std::int64_t last_bits = ordered_bits(hi);
    loop_.shift = 0;
    while ((last_bits - first_bits) >> loop_.shift > loop_.cells - 4) ++loop_.shift;
    const std::int64_t unit = std::int64_t{1} << loop_.shift;
    using Bits = std::numeric_limits<std::int32_t>;
    loop_.base = static_cast<std::int32_t>(std::max<std::int64_t>(first_bits - unit, Bits::min()));
    loop_.top = static_cast<std::int32_t>(std::min<std::int64_t>(last_bits + unit, Bits::max()));
  } else {
    loop_.lo = lo;
    loop_.scale = static_cast<T>(loop_.cells - 3) / (hi - lo);
    if (!std::isnormal(loop_.scale)) return std::numeric_limits<std::uint32_t>::max();
  }
  constexpr std::size_t block = 256;
  for (std::size_t i = 0; i < steps_.size(); i += block) {
    cells_of_(steps_.data() + i, std::min(block, steps_.size() - i), loop_, cells.data() + i);
  }
  std::uint32_t shared = 0;
  for (std::size_t i = 1; i < cells.size(); ++i) shared += cells[i] == cells[i - 1] ? 1 : 0;
  return shared;
}

template <class T>
void Guide<T>::fill(const std::vector<std::uint32_t>& cells, std::uint32_t nan_slot) {
  const std::size_t all = loop_.cells + std::size_t{1};
  first_.assign(all, 0);
  thresholds_.assign(all, std::numeric_limits<T>::infinity());
  slots_.assign(2 * all, nan_slot);
  std::uint32_t step = 0;
  for (std::uint32_t cell = 0; cell < loop_.cells; ++cell) {
    first_[cell] = step;
    const std::uint32_t begin = step;
    while (step < cells.size() && cells[step] == cell) ++step;
    const bool many = step - begin > 1;
    slots_[2 * cell] = many ? crowded : after_[begin];
    slots_[2 * cell + 1] = many ? crowded : after_[step];
    if (step - begin == 1) thresholds_[cell] = steps_[begin];
  }
  first_[loop_.cells] = step;
  loop_.thresholds = thresholds_.data();
  loop_.slots = slots_.data();
}

template <class T>
std::uint32_t Guide<T>::search(T x, std::uint32_t cell) const {
  const auto begin = steps_.begin() + first_[cell];
  const auto end = steps_.begin() + first_[cell + 1];
  return after_[static_cast<std::size_t>(std::upper_bound(begin, end, x) - steps_.begin())];
}

template <class T>
void Guide<T>::write(const T* x, std::size_t count, std::uint32_t* slots) const {
  if (!slots_of_(x, count, loop_, slots)) return;
  constexpr std::size_t block = 64;
  std::uint32_t cells[block];
  for (std::size_t first = 0; first < count; first += block) {
    const std::size_t length = std::min(block, count - first);
    cells_of_(x + first, length, loop_, cells);
    for (std::size_t i = 0; i < length; ++i) {
      if (slots[first + i] == crowded) slots[first + i] = search(x[first + i], cells[i]);
    }
  }
}

template <class T>
void Guide<T>::fold(std::span<const std::uint64_t> counted, std::span<std::uint64_t> totals) const {
  for (std::size_t i = 0; i < counted.size(); ++i) totals[slots_[i]] += counted[i];
}

template class Guide<float>;
template class Guide<double>;

}  // namespace masu::cpu
