// SPDX-License-Identifier: Apache-2.0
#include "parts.h"

#include "keys.h"

#include <masu/gather.h>
#include <masu/quantile.h>
#include <masu/reduce.h>
#include <masu/sort.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

namespace masu_python {

using namespace masu;

namespace {

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

template <class T>
bool is_nan(T element) {
  return key_of(element) == std::numeric_limits<Key<T>>::max();
}
template <class T>
bool is_zero(T element) {
  return key_of(element) == sign_of<T>;
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

}  // namespace

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
