// SPDX-License-Identifier: Apache-2.0
#include "parts.h"

#include <masu/quantile.h>
#include <masu/sort.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace masu_python {

using namespace masu;

namespace {

// From so many places on, sorting a copy of a long row finds them sooner than counting its digits does.
constexpr std::size_t many_places = 16;

template <class T>
struct KeyOf {
  using type = std::make_unsigned_t<T>;
};
template <>
struct KeyOf<Half> {
  using type = std::uint16_t;
};
template <>
struct KeyOf<float> {
  using type = std::uint32_t;
};
template <>
struct KeyOf<double> {
  using type = std::uint64_t;
};

// The order of sort.h as unsigned integers: both zeros are one key; all NaNs are one, the greatest.
template <class T>
typename KeyOf<T>::type key_of(T value) {
  using Key = typename KeyOf<T>::type;
  const Key bits = std::bit_cast<Key>(value);
  constexpr Key sign = static_cast<Key>(Key{1} << (sizeof(Key) * 8 - 1));
  if constexpr (is_float(dtype_of<T>)) {
    constexpr Key infinity = sizeof(T) == 2 ? 0x7c00 : sizeof(T) == 4 ? 0x7f800000 : Key(0x7ff0000000000000);
    const Key magnitude = static_cast<Key>(bits & static_cast<Key>(~sign));
    if (magnitude > infinity) return std::numeric_limits<Key>::max();
    if (magnitude == 0) return sign;
    return static_cast<Key>(bits & sign ? ~bits : bits | sign);
  } else {
    return std::is_signed_v<T> ? static_cast<Key>(bits ^ sign) : bits;
  }
}

template <class T>
T element_of(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

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
                   [](const Quantile& one) { return element_of<T>(one.bits); });
  });
}

// The keys of the elements at these places of a row, ascending, each once.
template <class T>
std::vector<typename KeyOf<T>::type> pivots(const Device& device, const T* row, std::uint64_t length,
                                            std::span<const std::uint64_t> places) {
  using Key = typename KeyOf<T>::type;
  std::vector<Key> keys;
  if (length <= short_row) {  // a call of the library's for each would cost more
    std::vector<Key> copy(length);
    std::transform(row, row + length, copy.begin(), key_of<T>);
    std::uint64_t first = 0;
    for (const std::uint64_t k : places) {
      if (k >= first) {
        std::nth_element(copy.begin() + static_cast<std::ptrdiff_t>(first),
                         copy.begin() + static_cast<std::ptrdiff_t>(k), copy.end());
      }
      keys.push_back(copy[k]);
      first = k + 1;
    }
  } else if (places.size() >= many_places) {
    std::vector<T> copy(length);
    sort(device, ArrayView(dtype_of<T>, row, length), MutableArrayView(dtype_of<T>, copy.data(), length));
    for (const std::uint64_t k : places) keys.push_back(key_of(copy[k]));
  } else {
    const ArrayView view(dtype_of<T>, row, length);
    for (const Quantile& one : exact_quantiles(device, view, quantiles_of(length, places), nearest(1))) {
      keys.push_back(key_of(element_of<T>(one.bits)));
    }
    if (is_float(dtype_of<T>) && keys.back() == std::numeric_limits<Key>::max()) {
      keys.clear();  // there are NaNs, which hide what is below them
      for (const std::uint64_t k : places) keys.push_back(key_of(element_of<T>(nth_element_bits(device, view, k))));
    }
  }
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

// Which part a key belongs to: 2 i below pivot i, 2 i + 1 equal to it.
template <class Key>
class PartOf {
 public:
  explicit PartOf(const std::vector<Key>& pivots) : pivots_(pivots) {}
  std::size_t operator()(Key key) const {
    if (pivots_.size() > 8) {
      const auto found = std::lower_bound(pivots_.begin(), pivots_.end(), key);
      return 2 * static_cast<std::size_t>(found - pivots_.begin()) + (found != pivots_.end() && *found == key ? 1 : 0);
    }
    std::size_t part = 0;
    for (const Key pivot : pivots_) part += (key >= pivot ? 1U : 0U) + (key > pivot ? 1U : 0U);
    return part;
  }

 private:
  const std::vector<Key>& pivots_;
};

template <class T>
void part_row(const Device& device, const T* row, std::uint64_t length, std::span<const std::uint64_t> places,
              T* values, std::int64_t* indices) {
  if (values != nullptr && places.size() == 1 && length > short_row) {
    partition(device, ArrayView(dtype_of<T>, row, length), MutableArrayView(dtype_of<T>, values, length), places[0]);
    return;
  }
  const auto keys = pivots(device, row, length, places);
  const PartOf part_of(keys);
  std::vector<std::uint64_t> next(2 * keys.size() + 2);  // where each part goes on; the first stays 0
  for (std::uint64_t i = 0; i < length; ++i) ++next[part_of(key_of(row[i])) + 1];
  for (std::size_t part = 1; part < next.size(); ++part) next[part] += next[part - 1];
  if (values != nullptr) {
    for (std::uint64_t i = 0; i < length; ++i) values[next[part_of(key_of(row[i]))]++] = row[i];
  } else {
    for (std::uint64_t i = 0; i < length; ++i) {
      indices[next[part_of(key_of(row[i]))]++] = static_cast<std::int64_t>(i);
    }
  }
}

}  // namespace

void part_rows(const Device& device, const ArrayView& data, std::uint64_t rows, std::span<const std::uint64_t> places,
               void* values, std::int64_t* indices) {
  const std::uint64_t length = data.count / rows;
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::uint64_t row = 0; row < rows; ++row) {
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
    std::vector<typename KeyOf<T>::type> keys(row.count);
    std::transform(elements, elements + length, keys.begin(), key_of<T>);
    std::vector<typename KeyOf<T>::type> parted(keys);
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
  store(exact_quantiles(device, data, quantiles_of(data.count / rows, places), nearest(rows)), data.dtype, elements);
}

void elements_at(const BufferBase& data, Dtype dtype, std::uint64_t rows, std::span<const std::uint64_t> places,
                 void* elements) {
  const std::uint64_t count = data.size_bytes() / size_of(dtype);
  store(exact_quantiles(data, dtype, quantiles_of(count / rows, places), nearest(rows)), dtype, elements);
}

}  // namespace masu_python
