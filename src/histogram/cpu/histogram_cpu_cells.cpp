// SPDX-License-Identifier: Apache-2.0
#include "histogram/cpu/histogram_cpu_slots.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace masu::cpu {

namespace {

// Counters of the cells stay in the second-level cache.
constexpr std::uint64_t fine_cells_an_edge = 16;
constexpr std::uint64_t least_fine_cells = 4096;
constexpr std::uint64_t most_fine_cells = std::uint64_t{1} << 16;
// Elements that pay for the tables.
constexpr std::uint64_t elements_a_fine_cell = 16;
constexpr std::uint64_t elements_for_pairs = std::uint64_t{1} << 15;
// What a value costs by either way, where comparing it at once costs 1.
constexpr double cost_of_cells = 0.6;
constexpr double cost_of_pairs = 0.25;

// As the loop rounds: towards -inf.
float rounded_down(float value) {
  return value;
}
float rounded_down(double value) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float most = std::numeric_limits<float>::max();
  if (value > most) return std::isinf(value) ? infinity : most;
  if (value < -most) return -infinity;
  const auto near = static_cast<float>(value);
  return near > value ? std::nextafter(near, -infinity) : near;
}

// The steps that values of a leaf of the tree reach: the leaf's bits the other way round.
std::uint32_t reached_by(std::uint32_t leaf, unsigned levels) {
  std::uint32_t reached = 0;
  for (unsigned level = 0; level < levels; ++level) reached = reached * 2 + (leaf >> level & 1);
  return reached;
}

}  // namespace

template <class T>
CellMap<T>::CellMap(const Guide<T>& guide, std::span<const T> sample, std::uint64_t elements) : guide_(guide) {
  double least = 1;
  if (count_pairs_ != nullptr && elements >= elements_for_pairs && plant()) {
    const double cost = cost_of_pairs + lost_part(sample);
    if (cost < least) {
      least = cost;
      kind_ = Kind::pairs;
    }
  }
  const std::uint64_t steps = guide_.steps().size();
  const auto cells = static_cast<std::uint32_t>(
      std::clamp(std::bit_ceil(fine_cells_an_edge * steps), least_fine_cells, most_fine_cells));
  if (least <= cost_of_cells || steps >= most_fine_cells || elements < elements_a_fine_cell * cells) return;
  bool best_by_bits = false;
  for (const bool by_bits : {false, true}) {
    if (!divide(cells, by_bits)) continue;
    const double cost = cost_of_cells + undecided_part(sample);
    if (cost >= least) continue;
    least = cost;
    kind_ = Kind::cells;
    best_by_bits = by_bits;
  }
  if (kind_ != Kind::cells) return;
  divide(cells, best_by_bits);
  fill_cells();
}

template <class T>
bool CellMap<T>::plant() {
  const std::span<const T> steps = guide_.steps();
  if (steps.size() > StepTree::most_steps) return false;
  tree_.levels = 5;
  while (steps.size() > (std::size_t{1} << tree_.levels) - 2) ++tree_.levels;
  tree_.exact = true;
  for (const T step : steps) tree_.exact = tree_.exact && static_cast<T>(rounded_down(step)) == step;
  for (unsigned level = 0; level < tree_.levels; ++level) {
    const std::uint32_t size = 1U << level;
    float* to = level < 5 ? tree_.first[level] : level == 5 ? tree_.sixth : tree_.seventh;
    for (std::uint32_t i = 0; i < std::max(size, StepTree::lanes); ++i) {
      const std::uint32_t at = reached_by(i % size | size, tree_.levels) - 1;
      to[i] = at < steps.size() ? rounded_down(steps[at]) : std::numeric_limits<float>::quiet_NaN();
    }
  }
  return true;
}

template <class T>
double CellMap<T>::lost_part(std::span<const T> sample) const {
  if (tree_.exact) return 0;
  std::vector<float> steps;
  for (const T step : guide_.steps()) steps.push_back(rounded_down(step));
  const auto lost = std::count_if(sample.begin(), sample.end(),
                                  [&](T x) { return std::binary_search(steps.begin(), steps.end(), rounded_down(x)); });
  return static_cast<double>(lost) / static_cast<double>(std::max<std::size_t>(1, sample.size()));
}

template <class T>
bool CellMap<T>::divide(std::uint32_t cells, bool by_bits) {
  loop_.cells = cells;
  const std::span<const T> steps = guide_.steps();
  if (!guide_.lay(by_bits, loop_)) return false;
  std::vector<T> before(steps.begin(), steps.end());
  for (T& value : before) value = std::nextafter(value, -std::numeric_limits<T>::infinity());
  const std::vector<std::uint32_t> at = guide_.cells(steps, loop_);
  const std::vector<std::uint32_t> at_before = guide_.cells(before, loop_);
  marks_.clear();
  for (std::uint32_t first = 0, step = 0; first < steps.size(); first = step) {
    const std::uint32_t cell = at[first];
    while (step < steps.size() && at[step] == cell) ++step;
    // A step that is the least value of its cell parts no values.
    const bool least = before[first] == steps[first] || at_before[first] != cell;
    marks_.push_back({cell, least && step == first + 1 ? step : cell_undecided});
  }
  return true;
}

template <class T>
double CellMap<T>::undecided_part(std::span<const T> sample) const {
  std::size_t undecided = 0;
  for (const std::uint32_t cell : guide_.cells(sample, loop_)) {
    const auto found = std::lower_bound(marks_.begin(), marks_.end(), cell,
                                        [](const Mark& mark, std::uint32_t value) { return mark.cell < value; });
    undecided += found != marks_.end() && found->cell == cell && found->reached == cell_undecided ? 1 : 0;
  }
  return static_cast<double>(undecided) / static_cast<double>(std::max<std::size_t>(1, sample.size()));
}

template <class T>
void CellMap<T>::fill_cells() {
  const std::span<const T> steps = guide_.steps();
  const std::vector<std::uint32_t> at = guide_.cells(steps, loop_);
  reached_.resize(loop_.cells + std::size_t{1});
  std::uint32_t step = 0;
  for (std::uint32_t cell = 0; cell < loop_.cells; ++cell) {
    while (step < at.size() && at[step] == cell) ++step;
    reached_[cell] = step;
  }
  for (const Mark& mark : marks_) reached_[mark.cell] = mark.reached;
  reached_[loop_.cells] = static_cast<std::uint32_t>(steps.size()) + 1;
}

// What a thread counts.
template <class T>
class CellCounter {
 public:
  CellCounter(const CellMap<T>& map, unsigned copies, std::size_t steps)
      : map_(map), size_(steps), steps_(steps * copies), left_values_(left_most + 2 * cells_block) {
    left_ = {left_values_.data(), 0};
    for (unsigned k = 0; k < tables_.size(); ++k) tables_[k] = steps_.data() + k % copies * steps;
    if (map.kind_ == CellMap<T>::Kind::pairs) {
      pairs_.resize(std::size_t{1} << StepTree::place_bits);
      leaves_.resize(std::size_t{1} << map.tree_.levels);
      waiting_.counters = pairs_.data();
    } else {
      cells_.resize(map.reached_.size());
      clear_cells();
    }
  }

  // A block of values.
  void add(const T* x, std::size_t count) {
    if (count != cells_block || pause_ != 0) {
      pause_ -= pause_ != 0 ? 1 : 0;
      prefetch_next(x, count * sizeof(T));
      return map_.guide_.count_steps(x, count, tables_);
    }
    const std::size_t left = left_.count;
    if (!pairs_.empty()) {
      map_.count_pairs_(x, map_.tree_, waiting_, left_);
      if (++blocks_ == std::numeric_limits<std::uint16_t>::max() / pairs_a_block) fold_pairs();
    } else {
      guided_loops<T>().count_cells(x, map_.loop_, cells_.data(), left_);
    }
    watch(left_.count - left);
    if (left_.count >= left_most) compare();
  }

  // Adds what was counted to `totals`, and begins again.
  void drain(std::span<std::uint64_t> totals) {
    compare();
    if (!pairs_.empty()) {
      fold_pairs();
      // The last leaf's values were compared.
      for (std::uint32_t leaf = 0; leaf + 1 < leaves_.size(); ++leaf) {
        const std::uint32_t reached = reached_by(leaf, map_.tree_.levels);
        if (reached < size_) totals[reached] += leaves_[leaf];
      }
      std::fill(leaves_.begin(), leaves_.end(), 0);
    } else {
      for (std::size_t i = 0; i < cells_.size(); ++i) {
        if (map_.reached_[i] != cell_undecided) totals[map_.reached_[i]] += cells_[i];
      }
      clear_cells();
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) totals[i % size_] += steps_[i];
    std::fill(steps_.begin(), steps_.end(), 0);
  }

 private:
  static constexpr std::size_t left_most = 2048;

  void clear_cells() {
    std::transform(map_.reached_.begin(), map_.reached_.end(), cells_.begin(),
                   [](std::uint32_t reached) { return reached == cell_undecided ? cell_undecided : 0; });
  }

  void compare() {
    for (std::size_t i = 0; i < left_.count; i += cells_block) {
      map_.guide_.count_steps(left_.values + i, std::min(cells_block, left_.count - i), tables_);
    }
    left_.count = 0;
  }

  // Data may differ from the sample: where most values are compared, they are compared at once for a while.
  void watch(std::size_t left) {
    constexpr unsigned window = 32;
    constexpr unsigned blocks_paused = 512;
    window_left_ += left;
    if (++window_blocks_ < window) return;
    if (window_left_ > window * cells_block / 2) pause_ = blocks_paused;
    window_blocks_ = 0;
    window_left_ = 0;
  }

  void fold_pairs() {
    count_waiting(waiting_);
    const std::size_t row = leaves_.size();
    for (std::size_t first = 0; first < pairs_.size(); first += row) {
      std::uint32_t sum = 0;
      for (std::size_t second = 0; second < row; ++second) {
        const std::uint32_t count = pairs_[first + second];
        sum += count;
        leaves_[second] += count;
      }
      leaves_[first / row % row] += sum;
    }
    std::fill(pairs_.begin(), pairs_.end(), std::uint16_t{0});
    blocks_ = 0;
  }

  const CellMap<T>& map_;
  std::size_t size_;
  std::vector<std::uint32_t> steps_;
  StepTables tables_;
  std::vector<std::uint32_t> cells_;
  std::vector<std::uint16_t> pairs_;
  PairCounts waiting_{};
  std::vector<std::uint32_t> leaves_;
  std::vector<T> left_values_;
  Undecided<T> left_{};
  unsigned blocks_ = 0;
  unsigned pause_ = 0;
  unsigned window_blocks_ = 0;
  std::size_t window_left_ = 0;
};

template <class T>
void CellMap<T>::count(const ReadBlock<T>& read, std::uint64_t elements, std::size_t size, unsigned copies,
                       std::span<std::uint64_t> steps) const {
  // The highest bit of a counter is no part of the count.
  constexpr std::uint64_t most_counted = std::uint64_t{1} << 30;
  count_by_threads(
      elements, piece_bytes / size, most_counted, [&] { return CellCounter<T>(*this, copies, steps.size()); },
      [&](CellCounter<T>& counter, std::uint64_t first, std::uint64_t length) {
        T room[cells_block];
        for (std::uint64_t i = 0; i < length; i += cells_block) {
          const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(cells_block, length - i));
          counter.add(read(first + i, count, room), count);
        }
      },
      [&](CellCounter<T>& counter) { counter.drain(steps); });
}

template class CellMap<float>;
template class CellMap<double>;

}  // namespace masu::cpu
