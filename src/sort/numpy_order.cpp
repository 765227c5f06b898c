// SPDX-License-Identifier: Apache-2.0
#include "sort/numpy_order.h"

#include "elements/order.h"
#include "sort/cpu/sort_simd.h"

#include <masu/convert.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace masu {

namespace {

// masu's descending order has NaNs first: those at the front of each row are moved after its other elements.
// `element(row, i)` is element i of the sorted row, `sorted` what is moved.
template <class T, class Moved, class F>
void move_nans_last(std::uint64_t rows, std::uint64_t length, const F& element, Moved* sorted) {
  for (std::uint64_t row = 0; row < rows; ++row) {
    std::uint64_t nans = 0;
    while (nans < length && is_nan_bits<T>(std::bit_cast<KeyOf<T>>(element(row, nans)))) ++nans;
    Moved* const first = sorted + row * length;
    if (nans < length) std::rotate(first, first + nans, first + length);
  }
}

// Whether floats descend, so that NaNs have to be moved.
bool moves_nans(Dtype dtype, const SortOptions& options) {
  return options.order == Order::descending && is_float(dtype);
}

// Floats with the other sign: those ascend as the given ones descend.
void negate(Stream& stream, const Buffer<std::byte>& from, Dtype dtype, Buffer<std::byte>& to) {
  static_cast<void>(convert(stream, from, dtype, to, dtype, {.negate = true}));
}

SortOptions ascending(const SortOptions& options) {
  SortOptions other = options;
  other.order = Order::ascending;
  return other;
}

}  // namespace

void sort_nans_last(const Device& device, const ArrayView& data, MutableArrayView result, const SortOptions& options) {
  if (data.data == result.data) sort(device, result, options);
  else sort(device, data, result, options);
  if (!moves_nans(data.dtype, options)) return;
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const sorted = static_cast<T*>(result.data);
    const std::uint64_t length = result.count / options.rows;
    move_nans_last<T>(
        options.rows, length, [&](std::uint64_t row, std::uint64_t i) { return sorted[row * length + i]; }, sorted);
  });
}

void argsort_nans_last(const Device& device, const ArrayView& data, std::uint64_t* order, const SortOptions& options) {
  argsort(device, data, MutableArrayView{Dtype::u64, order, data.count}, options);
  if (!moves_nans(data.dtype, options)) return;
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const elements = static_cast<const T*>(data.data);
    const std::uint64_t length = data.count / options.rows;
    const auto element = [&](std::uint64_t row, std::uint64_t i) {
      return elements[row * length + order[row * length + i]];
    };
    move_nans_last<T>(options.rows, length, element, order);
  });
}

void sort_nans_last(Stream& stream, const Buffer<std::byte>& data, Dtype dtype, Buffer<std::byte>& result,
                    const SortOptions& options) {
  if (!moves_nans(dtype, options)) {
    static_cast<void>(sort(stream, data, dtype, result, options));
    return;
  }
  Buffer<std::byte> floats(stream.device(), data.size());
  negate(stream, data, dtype, floats);
  static_cast<void>(sort(stream, floats, dtype, ascending(options)));
  negate(stream, floats, dtype, result);
}

void argsort_nans_last(Stream& stream, const Buffer<std::byte>& data, Dtype dtype, Buffer<std::byte>& order,
                       const SortOptions& options) {
  if (!moves_nans(dtype, options)) {
    static_cast<void>(argsort(stream, data, dtype, order, Dtype::u64, options));
    return;
  }
  Buffer<std::byte> floats(stream.device(), data.size());
  negate(stream, data, dtype, floats);
  static_cast<void>(argsort(stream, floats, dtype, order, Dtype::u64, ascending(options)));
}

bool are_lines_in_order(const ArrayView& data, std::uint64_t outer, std::uint64_t inner) {
  constexpr std::uint64_t least = 16;  // elements that are worth a call
  const std::uint64_t matrix = data.count / outer;
  if (matrix < least) return false;
  const auto* first = static_cast<const std::byte*>(data.data);
  for (std::uint64_t i = 0; i < outer; ++i, first += matrix * size_of(data.dtype)) {
    if (!cpu::trend_of({data.dtype, Order::ascending}, first, matrix, inner).rising) return false;
  }
  return true;
}

bool has_nan(const ArrayView& data) {
  return dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_float_type<T>) return cpu::specials_of(static_cast<const T*>(data.data), data.count).nan;
    return false;
  });
}

Unordered find_unordered(const ArrayView& data) {
  return dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Unordered found;
    if constexpr (is_float_type<T>) {
      const T* const x = static_cast<const T*>(data.data);
      const cpu::Specials seen = cpu::specials_of(x, data.count);
      found.both_zeros = seen.negative_zero && seen.positive_zero;
      found.nan = found.other_nan = seen.nan;
      if constexpr (std::numeric_limits<T>::is_specialized) {
        constexpr auto quiet = std::bit_cast<KeyOf<T>>(std::numeric_limits<T>::quiet_NaN());
        found.other_nan = seen.nan && std::any_of(x, x + data.count, [](T value) {
                            const auto bits = std::bit_cast<KeyOf<T>>(value);
                            return is_nan_bits<T>(bits) && bits != quiet;
                          });
      }
    }
    return found;
  });
}

}  // namespace masu
