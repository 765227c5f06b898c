// SPDX-License-Identifier: Apache-2.0
#include "cli/selftest/reference_scan.h"

#include "cli/selftest/reference_order.h"
#include "element_text.h"

#include <concepts>
#include <limits>
#include <type_traits>

namespace masu::cli {
namespace {

// What no element goes beyond.
std::uint64_t identity_bits(Dtype dtype, ScanOp op) {
  return dispatch(dtype, [&](auto tag) -> std::uint64_t {
    using T = typename decltype(tag)::type;
    const bool greatest = op == ScanOp::min;
    if (op == ScanOp::sum) return 0;
    if constexpr (std::integral<T>) {
      const T value = greatest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
      return static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<T>>(value));
    } else {
      const double infinity = std::numeric_limits<double>::infinity();
      return bits_of(greatest ? infinity : -infinity, dtype_of<T>);
    }
  });
}

}  // namespace

void ReferenceScan::take(const ArrayView& data, std::uint64_t i) {
  if (op_ == ScanOp::sum) {
    if (is_float(dtype_)) sum_.add(data, i);
    else bits_ += bits_of(data, i);
  } else {
    const ArrayView so_far(dtype_, &bits_, 1);
    const bool beyond = op_ == ScanOp::min ? precedes(data, i, so_far, 0) : precedes(so_far, 0, data, i);
    if (empty_ || (!is_nan(so_far, 0) && (is_nan(data, i) || beyond))) bits_ = bits_of(data, i);
  }
  empty_ = false;
}

std::uint64_t ReferenceScan::value() const {
  if (empty_) return identity_bits(dtype_, op_);
  if (op_ == ScanOp::sum && is_float(dtype_)) return bits_of(sum_.sum(dtype_), dtype_);
  const unsigned bits = 8 * static_cast<unsigned>(size_of(dtype_));
  return bits == 64 ? bits_ : bits_ & ((std::uint64_t{1} << bits) - 1);
}

std::uint64_t ReferenceScan::next(const ArrayView& data, std::uint64_t i) {
  const std::uint64_t before = exclusive_ ? value() : 0;
  take(data, i);
  return exclusive_ ? before : value();
}

}  // namespace masu::cli
