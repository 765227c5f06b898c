// SPDX-License-Identifier: Apache-2.0
// Rows of host memory: the elements at places of their order, and the rows parted around them.
#include "quantile/quantile_plan.h"

#include "call/operands.h"
#include "runtime/parallel.h"
#include "select/place_finder.h"
#include "select/select_places.h"
#include "sort/cpu/sort_cpu.h"
#include "sort/cpu/sort_simd.h"
#include "sort/numpy_order.h"

#include <masu/device.h>
#include <masu/quantile.h>
#include <masu/sort.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <numeric>
#include <type_traits>
#include <vector>

namespace masu {

namespace {

using cpu::before;
using cpu::PlacedElement;
using cpu::Threads;
using Places = std::span<const std::uint64_t>;

constexpr std::uint64_t selection_task = std::uint64_t{1} << 15;  // elements of rows that a thread takes at a time
constexpr std::uint64_t short_rows_at_once = std::uint64_t{1} << 11;

using cpu::PartPlaces;
using cpu::WorkOf;

template <class T>
WorkOf<T> work_of(T x) noexcept {
  if constexpr (is_stored<T>) return ordered_key(x);
  else return x;
}
template <class T>
T element_of(WorkOf<T> x) noexcept {
  if constexpr (is_stored<T>) return value_of_key<T>(x);
  else return x;
}

// The elements at the places of one row.
template <class T>
void find_places(const T* row, std::uint64_t length, Places places, PlacedElement<WorkOf<T>>* found, Threads threads) {
  cpu::PlaceSelector<WorkOf<T>> selector;
  if constexpr (is_stored<T>) {
    const cpu::Scratch memory(length * sizeof(T));
    std::uint16_t* const keys = memory.as<std::uint16_t>();
    cpu::ordered_keys(reinterpret_cast<const std::uint16_t*>(row), length, infinity_bits<T>, keys);
    selector.find(keys, length, places, found, threads);
  } else {
    selector.find(row, length, places, found, threads);
  }
}

// Elements or, with `indices`, where they stand in their rows.
template <bool indices, class T>
using OutputOf = std::conditional_t<indices, std::uint64_t, T>;

// Parts `count` elements, or their indices from `index` on.
template <bool indices, class T>
void part_stretch(const T* x, std::uint64_t count, std::uint64_t index, WorkOf<T> pivot, OutputOf<indices, T>* to,
                  PartPlaces& at, const PartPlaces& ends) {
  constexpr std::uint64_t piece = std::uint64_t{1} << 17;
  const cpu::SelectLoops<T>& loops = cpu::select_loops<T>();
  for (std::uint64_t first = 0; first < count; first += piece) {
    if (first != 0) runtime::check_interrupted();
    const std::uint64_t length = std::min(piece, count - first);
    if constexpr (indices) loops.part_indices(x + first, length, pivot, index + first, to, at, ends);
    else loops.part_values(x + first, length, pivot, to, at, ends);
  }
}

// Requires that the elements are those that were counted before. Otherwise another thread changes them: nothing is
// written outside of the result, but some of its places are not written.
void check_parts(bool as_counted) {
  if (!as_counted) call::refuse("partition", "the elements must stay the same while it runs, got changing ones");
}

template <bool indices, class T>
void part_around(const T* row, std::uint64_t length, std::uint64_t less, std::uint64_t equal, WorkOf<T> pivot,
                 OutputOf<indices, T>* to) {
  check_parts(less <= length && equal <= length - less);
  PartPlaces at{0, less, less + equal};
  const PartPlaces ends{less, less + equal, length};
  part_stretch<indices>(row, length, 0, pivot, to, at, ends);
  check_parts(at == ends);
}

// Parts a stretch of a row around several elements, that in the middle first.
template <class T>
class ManyParts {
 public:
  using Found = std::span<const PlacedElement<T>>;
  // x lies elsewhere than `to`, or in `spare`, which has room for the stretch too. `first`: the place in the row of the
  // stretch's first element.
  static void across(const T* x, std::uint64_t length, std::uint64_t first, Found found, T* to, T* spare) {
    const PlacedElement<T>& middle = found[found.size() / 2];
    const std::uint64_t less = middle.less - first;
    const std::uint64_t greater = less + middle.equal;
    part_around<false>(x, length, less, middle.equal, middle.element, to);
    within(to, less, first, found.first(found.size() / 2), spare);
    within(to + greater, length - greater, first + greater, found.subspan(found.size() / 2 + 1), spare + greater);
  }

 private:
  // The same where x is to be parted in its place.
  static void within(T* x, std::uint64_t length, std::uint64_t first, Found found, T* spare) {
    if (found.empty()) return;
    const PlacedElement<T>& middle = found[found.size() / 2];
    const std::uint64_t less = middle.less - first;
    const std::uint64_t greater = less + middle.equal;
    part_around<false>(x, length, less, middle.equal, middle.element, spare);
    std::copy_n(spare + less, middle.equal, x + less);
    const auto back = [&](std::uint64_t from, std::uint64_t count, Found rest) {
      if (rest.empty()) std::copy_n(spare + from, count, x + from);
      else across(spare + from, count, first + from, rest, x + from, spare + from);
    };
    back(0, less, found.first(found.size() / 2));
    back(greater, length - greater, found.subspan(found.size() / 2 + 1));
  }
};

// The part of an element around several: 2 i before the i-th, 2 i + 1 equal to it.
template <class T>
std::size_t part_of(T x, std::span<const PlacedElement<T>> found) {
  std::size_t first = 0;
  for (std::size_t size = found.size(); size > 1;) {  // the last one that x does not come before
    const std::size_t half = size / 2;
    first += before(x, found[first + half].element) ? 0 : half;
    size -= half;
  }
  if (before(x, found[first].element)) return 2 * first;
  return 2 * first + (before(found[first].element, x) ? 2 : 1);
}

// Parts a row of any elements around any number of them.
template <bool indices, class T>
void part_plainly(const T* row, std::uint64_t length, std::span<const PlacedElement<WorkOf<T>>> found,
                  OutputOf<indices, T>* to) {
  std::vector<std::uint64_t> next(2 * found.size() + 1);
  for (std::size_t p = 0; p < found.size(); ++p) {
    next[2 * p + 1] = found[p].less;
    next[2 * p + 2] = found[p].less + found[p].equal;
  }
  for (std::uint64_t first = 0; first < length; first += selection_task) {
    runtime::check_interrupted();
    const std::uint64_t end = std::min(length, first + selection_task);
    for (std::uint64_t i = first; i < end; ++i) {
      const std::uint64_t at = next[part_of(work_of(row[i]), found)]++;
      check_parts(at < length);
      if constexpr (indices) to[at] = i;
      else to[at] = row[i];
    }
  }
}

constexpr std::uint64_t plainly_up_to = 64;  // elements of a row

template <bool indices, class T>
void part_row(const T* row, std::uint64_t length, std::span<PlacedElement<WorkOf<T>>> found, OutputOf<indices, T>* to) {
  const auto same = [](const auto& a, const auto& b) { return a.less == b.less; };
  const auto end = std::unique(found.begin(), found.end(), same);
  const std::span<const PlacedElement<WorkOf<T>>> pivots(found.begin(), end);
  if (pivots.size() == 1) {
    return part_around<indices>(row, length, pivots[0].less, pivots[0].equal, pivots[0].element, to);
  }
  if (length <= plainly_up_to) return part_plainly<indices>(row, length, pivots, to);
  if constexpr (!indices && !is_stored<T>) {
    const cpu::Scratch spare(length * sizeof(T));
    ManyParts<T>::across(row, length, 0, pivots, to, spare.as<T>());
  } else {
    part_plainly<indices>(row, length, pivots, to);
  }
}

// Whether min and max order these elements, bits and all.
template <class T>
bool are_plain(const T* x, std::uint64_t count) {
  if constexpr (std::is_floating_point_v<T>) return !cpu::specials_of(x, count).are_seen();
  else return true;
}

// Takes the elements at the places of some rows, with their counts: those of the first row first.
template <class T>
using TakeRows = runtime::Body<std::uint64_t /*first*/, std::uint64_t /*rows*/, PlacedElement<WorkOf<T>>* /*found*/>;

// Calls take(first, rows, found) until it has had all rows.
template <class T>
void each_row(const T* x, std::uint64_t rows, std::uint64_t length, Places places, TakeRows<T> take) {
  using Found = std::vector<PlacedElement<WorkOf<T>>>;
  const auto one = [&](std::uint64_t row, Found& found, Threads threads) {
    find_places(x + row * length, length, places, found.data(), threads);
    take(row, 1, found.data());
  };
  const auto short_rows = [&](std::uint64_t first, std::uint64_t count, Found& found) {
    using Work = std::conditional_t<cpu::is_wide<T>, WorkOf<T>, std::uint32_t>;  // narrow elements by their keys
    constexpr std::size_t room = std::max(short_rows_at_once, cpu::lanes_most * cpu::short_row_most);
    alignas(64) std::array<Work, room> columns;
    std::array<Work, cpu::is_wide<T> ? 1 : room> keys;
    constexpr std::uint64_t worth = 40;  // elements of a row of which sorting some is less work than sorting all
    const bool at_end = places.size() == 1 && length >= worth && cpu::is_near_end(places[0], length);
    const auto as_work = [](Work x) -> WorkOf<T> {
      if constexpr (cpu::is_wide<T>) return x;
      else return work_of(value_of_key<T>(x));
    };
    const std::uint64_t at_once = cpu::short_rows_in(short_rows_at_once, length);
    found.resize(std::min(at_once, count) * places.size());
    for (std::uint64_t begin = first; begin < first + count; begin += at_once) {
      const std::uint64_t here = std::min(at_once, first + count - begin);
      const T* const block = x + begin * length;
      const Work* work;
      if constexpr (cpu::is_wide<T>) {
        work = block;
        if (!are_plain(block, here * length)) {
          for (std::uint64_t row = begin; row < begin + here; ++row) one(row, found, Threads::one);
          continue;
        }
      } else {
        work = keys.data();
        std::transform(block, block + here * length, keys.begin(), ordered_key<T>);
      }
      if (at_end) {
        cpu::short_row_loops<Work>().find_near_end(work, here, length, places[0], columns.data());
        for (std::uint64_t row = 0; row < here; ++row) {
          const WorkOf<T> element = as_work(columns[row]);
          const cpu::PartSizes sizes = cpu::select_loops<T>().count_parts(block + row * length, length, element);
          found[row] = {element, sizes.less, sizes.equal};
        }
        take(begin, here, found.data());
        continue;
      }
      const std::size_t lanes = cpu::short_row_loops<Work>().sort_to_columns(work, here, length, columns.data());
      for (std::uint64_t row = 0; row < here; ++row) {
        const Work* const first_one = columns.data() + row / lanes * lanes * length + row % lanes;
        const auto in_order = [&](std::uint64_t i) { return first_one[i * lanes]; };
        for (std::size_t p = 0; p < places.size(); ++p) {
          const Work element = in_order(places[p]);
          std::uint64_t from = places[p];
          std::uint64_t end = places[p] + 1;
          while (from != 0 && in_order(from - 1) == element) --from;
          while (end != length && in_order(end) == element) ++end;
          found[row * places.size() + p] = {as_work(element), from, end - from};
        }
      }
      take(begin, here, found.data());
    }
  };
  // Sorting long rows in lanes pays where these are filled, and most lanes are narrow.
  const auto in_lanes = [&](std::uint64_t count) {
    constexpr std::uint64_t long_row = 128;
    constexpr std::uint64_t fewest_bytes = 48;
    constexpr std::uint64_t most_bytes = 2048;
    constexpr std::size_t bytes = cpu::is_wide<T> ? sizeof(T) : sizeof(std::uint32_t);
    const bool pays =
        places.size() > 1 || length <= long_row || (count * bytes >= fewest_bytes && length * bytes <= most_bytes);
    return pays && cpu::are_short_rows(count, length);
  };
  const std::uint64_t rows_a_task = std::max<std::uint64_t>(1, selection_task / length);
  const std::uint64_t tasks = (rows + rows_a_task - 1) / rows_a_task;
  const Threads threads = rows == 1 ? Threads::all : Threads::one;
  runtime::parallel_tasks(tasks, [&](std::uint64_t task) {
    Found found(places.size());
    const std::uint64_t first = task * rows_a_task;
    const std::uint64_t end = std::min(rows, first + rows_a_task);
    if (in_lanes(end - first)) return short_rows(first, end - first, found);
    for (std::uint64_t row = first; row < end; ++row) one(row, found, threads);
  });
}

// Puts in the place of each zero among the elements found the one that stands there in the stable order of the row.
template <class T>
void find_zeros(const T* row, std::uint64_t length, Places places, T* found) {
  constexpr KeyOf<T> zero = key_sign<T>;
  std::uint64_t less = 0;
  std::uint64_t negative = 0;
  std::uint64_t zeros = 0;
  for (std::uint64_t i = 0; i < length; ++i) {
    const KeyOf<T> key = ordered_key(row[i]);
    less += key < zero ? 1U : 0U;
    zeros += key == zero ? 1U : 0U;
    negative += std::bit_cast<KeyOf<T>>(row[i]) == key_sign<T> ? 1U : 0U;
  }
  if (negative == 0) return;
  std::vector<T> in_order;
  std::copy_if(row, row + length, std::back_inserter(in_order), [](T x) { return ordered_key(x) == zero; });
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::uint64_t at = places[i] - less;
    if (ordered_key(found[i]) == zero && at < in_order.size()) found[i] = in_order[at];
  }
}

void check_selection(std::string_view function, const ArrayView& data, std::uint64_t rows, Places places) {
  call::check_rows(function, data.count, rows);
  check_places(function, data.count / rows, places);
}

void check_selected(std::string_view function, Dtype dtype, std::uint64_t count, const MutableArrayView& result) {
  if (result.dtype == dtype && result.count == count) return;
  call::refuse(function, fmt::format("the result must be {} {}, got {} {}", count, to_string(dtype), result.count,
                                     to_string(result.dtype)));
}

// Several rows so short that sorting them takes less time than to find and to part.
bool are_sorted(const ArrayView& data, std::uint64_t rows, Places places) {
  return rows > 1 && !places.empty() && data.count / rows <= plainly_up_to;
}

template <bool indices, class T>
void part_rows(const T* x, std::uint64_t count, std::uint64_t rows, Places places, OutputOf<indices, T>* to) {
  const std::uint64_t length = count / rows;
  if (count == 0) return;
  if (places.empty() || are_lines_in_order({dtype_of<T>, x, count}, rows, 1)) {
    if constexpr (!indices) std::copy_n(x, count, to);
    else
      for (std::uint64_t row = 0; row < rows; ++row, to += length) std::iota(to, to + length, std::uint64_t{0});
    return;
  }
  each_row<T>(x, rows, length, places, [&](std::uint64_t first, std::uint64_t count, PlacedElement<WorkOf<T>>* found) {
    for (std::uint64_t row = first; row < first + count; ++row, found += places.size()) {
      part_row<indices>(x + row * length, length, std::span(found, places.size()), to + row * length);
    }
  });
}

}  // namespace

void check_places(std::string_view function, std::uint64_t length, Places places) {
  for (std::size_t p = 0; p < places.size(); ++p) {
    if (places[p] >= length) {
      call::refuse(function, fmt::format("places must be below {}, the length of a row, got {}", length, places[p]));
    }
    if (p != 0 && places[p] <= places[p - 1]) {
      call::refuse(function, fmt::format("places must ascend, got {} after {}", places[p], places[p - 1]));
    }
  }
}

void cpu::keys_at(const ArrayView& data, std::uint64_t rows, Places places, std::span<std::uint64_t> keys) {
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    each_row<T>(static_cast<const T*>(data.data), rows, data.count / rows, places,
                [&](std::uint64_t first, std::uint64_t count, const auto* found) {
                  std::uint64_t* const to = keys.data() + first * places.size();
                  for (std::uint64_t i = 0; i < count * places.size(); ++i) {
                    to[i] = ordered_key(element_of<T>(found[i].element));
                  }
                });
  });
}

namespace {

template <bool indices>
PartitionResult part_at(const ArrayView& data, void* result, std::uint64_t place) {
  return dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const row = static_cast<const T*>(data.data);
    auto* const to = static_cast<OutputOf<indices, T>*>(result);
    PlacedElement<WorkOf<T>> found{};
    find_places(row, data.count, {&place, 1}, &found, Threads::all);
    const std::uint64_t stripes = cpu::stripes_of(data.count, Threads::all);
    if (stripes == 1) {
      part_around<indices>(row, data.count, found.less, found.equal, found.element, to);
      return PartitionResult{found.less, found.equal};
    }
    std::vector<PartPlaces> ends(stripes + 1);
    cpu::for_stripes(data.count, stripes, [&](std::uint64_t first, std::uint64_t last, std::uint64_t stripe) {
      const cpu::PartSizes sizes = cpu::select_loops<T>().count_parts(row + first, last - first, found.element);
      ends[stripe + 1] = {sizes.less, sizes.equal, last - first - sizes.less - sizes.equal};
    });
    ends[0] = {0, found.less, found.less + found.equal};
    for (std::uint64_t stripe = 0; stripe < stripes; ++stripe) {
      ends[stripe + 1].less += ends[stripe].less;
      ends[stripe + 1].equal += ends[stripe].equal;
      ends[stripe + 1].greater += ends[stripe].greater;
    }
    check_parts(ends[stripes].less == found.less && ends[stripes].greater == data.count);
    cpu::for_stripes(data.count, stripes, [&](std::uint64_t first, std::uint64_t last, std::uint64_t stripe) {
      PartPlaces mine = ends[stripe];
      part_stretch<indices>(row + first, last - first, first, found.element, to, mine, ends[stripe + 1]);
      check_parts(mine == ends[stripe + 1]);
    });
    return PartitionResult{found.less, found.equal};
  });
}

}  // namespace

PartitionResult cpu::partition_at(const ArrayView& data, void* result, std::uint64_t place) {
  return part_at<false>(data, result, place);
}

PartitionResult cpu::argpartition_at(const ArrayView& data, std::uint64_t* result, std::uint64_t place) {
  return part_at<true>(data, result, place);
}

void partition_rows(const ArrayView& data, std::uint64_t rows, Places places, MutableArrayView result) {
  const FloatingPointScope usual;
  check_selection("partition_rows", data, rows, places);
  check_selected("partition_rows", data.dtype, data.count, result);
  if (are_sorted(data, rows, places)) return sort(Device::open("cpu"), data, result, {.rows = rows});
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    part_rows<false>(static_cast<const T*>(data.data), data.count, rows, places, static_cast<T*>(result.data));
  });
}

void argpartition_rows(const ArrayView& data, std::uint64_t rows, Places places, std::span<std::uint64_t> indices) {
  const FloatingPointScope usual;
  check_selection("argpartition_rows", data, rows, places);
  if (indices.size() != data.count) {
    call::refuse("argpartition_rows", fmt::format("there must be {} indices, got {}", data.count, indices.size()));
  }
  if (are_sorted(data, rows, places)) {
    const MutableArrayView order(Dtype::u64, indices.data(), indices.size());
    return argsort(Device::open("cpu"), data, order, {.rows = rows});
  }
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    part_rows<true>(static_cast<const T*>(data.data), data.count, rows, places, indices.data());
  });
}

void elements_at(const ArrayView& data, std::uint64_t rows, Places places, MutableArrayView result) {
  const FloatingPointScope usual;
  check_selection("elements_at", data, rows, places);
  check_selected("elements_at", data.dtype, rows * places.size(), result);
  if (data.count == 0 || places.empty()) return;
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::uint64_t length = data.count / rows;
    const T* const x = static_cast<const T*>(data.data);
    each_row<T>(x, rows, length, places, [&](std::uint64_t first, std::uint64_t count, const auto* found) {
      for (std::uint64_t row = first; row < first + count; ++row, found += places.size()) {
        T* const to = static_cast<T*>(result.data) + row * places.size();
        bool any_zero = false;
        for (std::size_t p = 0; p < places.size(); ++p) {
          to[p] = element_of<T>(found[p].element);
          if constexpr (is_float(dtype_of<T>)) {
            const KeyOf<T> key = ordered_key(to[p]);
            to[p] = std::bit_cast<T>(static_cast<KeyOf<T>>(bits_of_key(data.dtype, key)));
            any_zero = any_zero || key == key_sign<T>;
          }
        }
        if constexpr (is_float(dtype_of<T>)) {
          if (any_zero) find_zeros(x + row * length, length, places, to);
        }
      }
    });
  });
}

}  // namespace masu
