// SPDX-License-Identifier: Apache-2.0
#include "parts.h"

#include "keys.h"
#include "selection.h"

#include <masu/gather.h>
#include <masu/interrupt.h>
#include <masu/quantile.h>
#include <masu/reduce.h>
#include <masu/sort.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>
#include <vector>

namespace masu_python {

using namespace masu;

namespace {

// From so many places on, sorting a copy of a long row finds them sooner than counting its digits does.
constexpr std::size_t many_places = 16;

// The quantiles that are the elements at these places: `nearest` rounds q (length - 1), which is k but for a rounding
// error, to k.
std::vector<double> quantiles_of(std::uint64_t length, std::span<const std::uint64_t> places) {
  std::vector<double> q;
  for (const std::uint64_t k : places) {
    q.push_back(length == 1 ? 0.0 : static_cast<double>(k) / static_cast<double>(length - 1));
  }
  return q;
}

constexpr QuantileOptions nearest(std::uint64_t rows) {
  return {.method = QuantileMethod::nearest, .rows = rows};
}

void store(const std::vector<Quantile>& found, Dtype dtype, void* elements) {
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::transform(found.begin(), found.end(), static_cast<T*>(elements),
                   [](const Quantile& one) { return element_of_bits<T>(one.bits); });
  });
}

// The key of the element at each of these places of a row, ascending; of a long row with their counts.
template <class T>
std::vector<Place<Key<T>>> keys_at(const Device& device, const T* row, std::uint64_t length,
                                   std::span<const std::uint64_t> places) {
  std::vector<Place<Key<T>>> found;
  if (length <= short_row) {  // a call of the library's for each would cost more
    std::vector<Key<T>> copy(length);
    std::transform(row, row + length, copy.begin(), key_of<T>);
    std::uint64_t first = 0;
    for (const std::uint64_t k : places) {
      if (k >= first) {
        std::nth_element(copy.begin() + static_cast<std::ptrdiff_t>(first),
                         copy.begin() + static_cast<std::ptrdiff_t>(k), copy.end());
      }
      found.push_back({copy[k]});
      first = k + 1;
    }
  } else if (places.size() >= many_places) {
    std::vector<T> copy(length);
    sort(device, ArrayView(dtype_of<T>, row, length), MutableArrayView(dtype_of<T>, copy.data(), length));
    for (const std::uint64_t k : places) found.push_back({key_of(copy[k])});
  } else {
    found = select(row, length, places);
    if (found.empty()) {
      const ArrayView view(dtype_of<T>, row, length);
      for (const std::uint64_t k : places) {
        found.push_back({key_of(element_of_bits<T>(nth_element_bits(device, view, k)))});
      }
    }
  }
  return found;
}

// The same keys, each once.
template <class T>
std::vector<Place<Key<T>>> pivots(const Device& device, const T* row, std::uint64_t length,
                                  std::span<const std::uint64_t> places) {
  auto found = keys_at(device, row, length, places);
  const auto same = [](const auto& a, const auto& b) { return a.key == b.key; };
  found.erase(std::unique(found.begin(), found.end(), same), found.end());
  return found;
}

template <class T>
bool is_nan(T element) {
  return key_of(element) == std::numeric_limits<Key<T>>::max();
}
template <class T>
bool is_zero(T element) {
  return key_of(element) == sign_of<T>;
}

// Puts in the place of each zero among the elements found the one that stands there in the stable order of the row.
template <class T>
void find_zeros(const T* row, std::uint64_t length, std::span<const std::uint64_t> places, T* found) {
  constexpr Key<T> negative_zero = sign_of<T>;
  std::uint64_t less = 0;
  std::uint64_t negative = 0;
  std::uint64_t zeros = 0;
  for (std::uint64_t i = 0; i < length; ++i) {
    less += key_of(row[i]) < sign_of<T> ? 1U : 0U;
    zeros += is_zero(row[i]) ? 1U : 0U;
    negative += std::bit_cast<Key<T>>(row[i]) == negative_zero ? 1U : 0U;
  }
  if (negative == 0) return;
  std::vector<T> in_order;
  if (negative == zeros) in_order.assign(1, std::bit_cast<T>(negative_zero));
  else std::copy_if(row, row + length, std::back_inserter(in_order), is_zero<T>);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (is_zero(found[i])) found[i] = in_order[negative == zeros ? 0 : places[i] - less];
  }
}

// Whether device memory of floats has a zero with a sign: the least of all integers in its place.
template <class T>
bool has_negative_zero(const BufferBase& data) {
  using Bits = std::make_signed_t<Key<T>>;
  const ReduceResult least = reduce(data, dtype_of<Bits>, ReduceOp::min);
  Bits bits = 0;
  std::memcpy(&bits, least.min_values().data, sizeof bits);
  return bits == std::numeric_limits<Bits>::min();
}

// What the library's quantiles leave open: the order of a row with a NaN, and which of several zeros stands at a place.
template <class T>
void decide(const Device& device, const T* row, std::uint64_t length, std::span<const std::uint64_t> places, T* found) {
  if (std::any_of(found, found + places.size(), is_nan<T>)) {
    const auto keys = keys_at(device, row, length, places);
    std::transform(keys.begin(), keys.end(), found, [](const auto& place) { return element_of_key<T>(place.key); });
  }
  if (std::any_of(found, found + places.size(), is_zero<T>)) find_zeros(row, length, places, found);
}

// Which part a key belongs to: 2 i below pivot i, 2 i + 1 equal to it.
template <class K>
class PartOf {
 public:
  explicit PartOf(const std::vector<K>& pivots) : pivots_(pivots) {}
  std::size_t operator()(K key) const {
    if (pivots_.size() > 8) {
      const auto found = std::lower_bound(pivots_.begin(), pivots_.end(), key);
      return 2 * static_cast<std::size_t>(found - pivots_.begin()) + (found != pivots_.end() && *found == key ? 1 : 0);
    }
    std::size_t part = 0;
    for (const K pivot : pivots_) part += (key >= pivot ? 1U : 0U) + (key > pivot ? 1U : 0U);
    return part;
  }

 private:
  const std::vector<K>& pivots_;
};

// Calls body(first, end) for [0, length) in pieces, between which the call can be interrupted.
template <class F>
void in_pieces(std::uint64_t length, const F& body) {
  for (std::uint64_t first = 0; first < length; first += interruptible) {
    check_interrupted();
    body(first, std::min(length, first + interruptible));
  }
}

// Brings each element, or its index, to its part: `next` says where each part goes on.
template <class T, class F>
void scatter(const T* row, std::uint64_t length, std::uint64_t* next, const F& part_of, T* values,
             std::int64_t* indices) {
  in_pieces(length, [&](std::uint64_t first, std::uint64_t end) {
    if (values != nullptr) {
      for (std::uint64_t i = first; i < end; ++i) values[next[part_of(row[i])]++] = row[i];
    } else {
      for (std::uint64_t i = first; i < end; ++i) indices[next[part_of(row[i])]++] = static_cast<std::int64_t>(i);
    }
  });
}

template <class T>
void scatter_around(const T* row, std::uint64_t length, const Place<Key<T>>& place, T* values, std::int64_t* indices) {
  std::uint64_t next[3] = {0, place.less, place.less + place.equal};
  const Key<T> key = place.key;
  if constexpr (std::is_floating_point_v<T>) {
    if (key != std::numeric_limits<Key<T>>::max()) {  // a NaN is neither less nor equal
      const T pivot = element_of_key<T>(key);
      const auto part_of = [pivot](T value) { return (value < pivot ? 0U : 1U) + (value <= pivot ? 0U : 1U); };
      return scatter(row, length, next, part_of, values, indices);
    }
  }
  const auto part_of = [key](T value) {
    const Key<T> one = key_of(value);
    return (one >= key ? 1U : 0U) + (one > key ? 1U : 0U);
  };
  scatter(row, length, next, part_of, values, indices);
}

template <class T>
void part_row(const Device& device, const T* row, std::uint64_t length, std::span<const std::uint64_t> places,
              T* values, std::int64_t* indices) {
  const auto found = pivots(device, row, length, places);
  if (found.size() == 1 && found[0].equal != 0) return scatter_around(row, length, found[0], values, indices);
  std::vector<Key<T>> keys;
  for (const auto& place : found) keys.push_back(place.key);
  const PartOf part_of_key(keys);
  const auto part_of = [&](T value) { return part_of_key(key_of(value)); };
  std::vector<std::uint64_t> next(2 * keys.size() + 2);  // where each part goes on; the first stays 0
  in_pieces(length, [&](std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t i = first; i < end; ++i) ++next[part_of(row[i]) + 1];
  });
  for (std::size_t part = 1; part < next.size(); ++part) next[part] += next[part - 1];
  scatter(row, length, next.data(), part_of, values, indices);
}

}  // namespace

void part_rows(const Device& device, const ArrayView& data, std::uint64_t rows, std::span<const std::uint64_t> places,
               void* values, std::int64_t* indices) {
  const std::uint64_t length = data.count / rows;
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::uint64_t row = 0; row < rows; ++row) {
      if (length < interruptible && row % (interruptible / length) == 0) check_interrupted();
      part_row(device, static_cast<const T*>(data.data) + row * length, length, places,
               values == nullptr ? nullptr : static_cast<T*>(values) + row * length,
               indices == nullptr ? nullptr : indices + row * length);
    }
  });
}

void part_short_row(const ArrayView& row, std::uint64_t place, void* values, std::int64_t* indices) {
  dispatch(row.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const elements = static_cast<const T*>(row.data);
    const auto length = static_cast<std::ptrdiff_t>(row.count);
    std::vector<Key<T>> keys(row.count);
    std::transform(elements, elements + length, keys.begin(), key_of<T>);
    std::vector<Key<T>> parted(keys);
    const auto middle = parted.begin() + static_cast<std::ptrdiff_t>(place);
    std::nth_element(parted.begin(), middle, parted.end());
    const auto pivot = *middle;
    const auto less = std::count_if(parted.begin(), middle, [&](auto key) { return key < pivot; });
    const auto equal = std::count(keys.begin(), keys.end(), pivot);
    std::ptrdiff_t next[3] = {0, less, less + equal};
    for (std::ptrdiff_t i = 0; i < length; ++i) {
      const auto key = keys[static_cast<std::size_t>(i)];
      const std::ptrdiff_t to = next[(key >= pivot ? 1 : 0) + (key > pivot ? 1 : 0)]++;
      if (values != nullptr) static_cast<T*>(values)[to] = elements[i];
      else indices[to] = i;
    }
  });
}

void elements_at(const Device& device, const ArrayView& data, std::uint64_t rows, std::span<const std::uint64_t> places,
                 void* elements) {
  const std::uint64_t length = data.count / rows;
  const bool selected = length > short_row && places.size() < many_places && dispatch(data.dtype, [&](auto tag) {
                          using T = typename decltype(tag)::type;
                          for (std::uint64_t row = 0; row < rows; ++row) {
                            const auto found = select(static_cast<const T*>(data.data) + row * length, length, places);
                            if (found.empty()) return false;
                            std::transform(found.begin(), found.end(), static_cast<T*>(elements) + row * places.size(),
                                           [](const auto& place) { return element_of_key<T>(place.key); });
                          }
                          return true;
                        });
  if (!selected)
    store(exact_quantiles(device, data, quantiles_of(length, places), nearest(rows)), data.dtype, elements);
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_float(dtype_of<T>)) {
      for (std::uint64_t row = 0; row < rows; ++row) {
        decide(device, static_cast<const T*>(data.data) + row * length, length, places,
               static_cast<T*>(elements) + row * places.size());
      }
    }
  });
}

void elements_at(const BufferBase& data, Dtype dtype, std::uint64_t rows, std::span<const std::uint64_t> places,
                 void* elements) {
  const std::uint64_t count = data.size_bytes() / size_of(dtype);
  store(exact_quantiles(data, dtype, quantiles_of(count / rows, places), nearest(rows)), dtype, elements);
  const std::uint64_t found = rows * places.size();
  const bool open = dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_float(dtype_of<T>)) {
      const T* const first = static_cast<const T*>(elements);
      if (std::any_of(first, first + found, is_nan<T>)) return true;
      return std::any_of(first, first + found, is_zero<T>) && has_negative_zero<T>(data);
    } else {
      return false;
    }
  });
  if (!open) return;
  Buffer<std::byte> sorted(data.device(), data.size_bytes());
  sort(data, dtype, sorted, {.rows = rows});
  std::vector<std::uint64_t> where;
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (const std::uint64_t place : places) where.push_back(row * (count / rows) + place);
  }
  const Buffer<std::uint64_t> indices = data.device().upload(where);
  Buffer<std::byte> chosen(data.device(), found * size_of(dtype));
  gather(sorted, size_of(dtype), indices, Dtype::u64, chosen);
  chosen.read(std::span(static_cast<std::byte*>(elements), chosen.size_bytes()));
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const first = static_cast<T*>(elements);
    if constexpr (is_float(dtype_of<T>)) {
      std::replace_if(first, first + found, is_nan<T>, element_of_key<T>(std::numeric_limits<Key<T>>::max()));
    }
  });
}

}  // namespace masu_python
