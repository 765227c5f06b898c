// SPDX-License-Identifier: Apache-2.0
#include "sum/sum_totals.h"

#include "elements/float_names.h"
#include "elements/order.h"
#include "elements/stored_float.h"
#include "sum/sum_simd.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

namespace masu {

SumNeeds needs_of(SumKind kind) noexcept {
  if (kind == SumKind::dot) return {.products = true};
  return {.values = true, .squares = kind == SumKind::squares};
}

std::string_view SumRule::name() const noexcept {
  constexpr std::array<std::string_view, 6> names = {"sum", "dot", "mean", "norm2", "variance", "standard_deviation"};
  return names[static_cast<std::size_t>(function)];
}

SumNeeds SumRule::needs() const noexcept {
  switch (function) {
    case Function::dot: return {.products = true};
    case Function::norm2: return {.squares = true};
    case Function::variance:
    case Function::standard_deviation: return {.values = true, .squares = true};
    default: return {.values = true};
  }
}

Dtype SumRule::result_dtype() const noexcept {
  const bool exact = !is_float(dtype) && (function == Function::sum || function == Function::dot);
  if (!exact) return result;
  return is_signed(dtype) ? Dtype::i64 : Dtype::u64;
}

void SumRule::check(std::uint64_t count) const {
  if (!is_float(result)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: the result's type must be {}, got {}", name(), float_names(), to_string(result)));
  }
  const bool mean = function == Function::mean;
  if (!mean && function != Function::variance && function != Function::standard_deviation) return;
  const std::uint64_t least = mean ? 0 : ddof;
  if (count > least) return;
  throw Error(ErrorCode::invalid_argument,
              mean ? fmt::format("{}: needs at least one element, got 0", name())
                   : fmt::format("{}: needs more elements than ddof, {}, got {}", name(), ddof, count));
}

Totals SumRule::whole(const Totals& totals) const {
  Totals all = totals;
  const auto add = [&](auto number) {
    const cpu::Decoded decoded = cpu::decode(number);
    if (decoded.special != 0) all.values.note(decoded.special);
    else all.values.add(decoded.mantissa, decoded.exponent, decoded.negative);
  };
  dispatch(dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (is_float_type<T>) add(std::bit_cast<T>(static_cast<UnsignedOf<sizeof(T)>>(addend)));
    else if constexpr (is_signed(dtype_of<T>)) add(static_cast<std::int64_t>(addend));
    else add(addend);
  });
  return all;
}

std::uint64_t addend_of(Dtype dtype, const SumAddend& initial) {
  const auto* const real = std::get_if<double>(&initial);
  if (is_float(dtype)) {
    return dispatch(dtype, [&]<class T>(TypeTag<T>) -> std::uint64_t {
      if constexpr (!is_float_type<T>) return 0;
      else {
        const T number = rounded_to<T>(std::visit([](auto value) { return static_cast<double>(value); }, initial));
        const auto bits = std::bit_cast<UnsignedOf<sizeof(T)>>(number);
        return static_cast<UnsignedOf<sizeof(T)>>(bits << 1) == 0 ? 0 : bits;
      }
    });
  }
  if (real != nullptr && *real != 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("sum: initial must be an integer for {}, got {}", to_string(dtype), *real));
  }
  if (const auto* const whole = std::get_if<std::int64_t>(&initial)) return static_cast<std::uint64_t>(*whole);
  return real != nullptr ? 0 : std::get<std::uint64_t>(initial);
}

std::uint64_t SumRule::bits(const Parts& parts, std::uint64_t count, std::atomic<bool>* misfit) const {
  const bool of_sum = function == Function::sum;
  const fixed::Part& part = of_sum ? parts.values : parts.products;
  double value = 0;
  switch (function) {
    case Function::sum:
    case Function::dot: {
      if (is_float(dtype)) {
        value = fixed::sum_of(part, result);
        break;
      }
      std::uint64_t integer = 0;
      if (fixed::integer_of(part, is_signed(dtype), integer)) return integer;
      if (misfit != nullptr) {
        *misfit = true;
        return integer;
      }
      throw Error(ErrorCode::invalid_argument, fmt::format("{}: the result must fit {}, got about {}", name(),
                                                           to_string(result_dtype()), fixed::sum_of(part, Dtype::f64)));
    }
    case Function::mean: value = fixed::mean_of(parts.values, count, result); break;
    case Function::norm2: value = fixed::norm2_of(parts.products, result); break;
    case Function::variance: value = fixed::variance_of(parts.values, parts.products, count, ddof, result); break;
    case Function::standard_deviation:
      value = fixed::deviation_of(parts.values, parts.products, count, ddof, result);
      break;
  }
  return std::bit_cast<std::uint64_t>(value);
}

namespace {

// Calls f(T()) for floats that are narrower than a double.
template <class F>
void if_narrow(Dtype dtype, const F& f) {
  dispatch(dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (is_float_type<T> && sizeof(T) < sizeof(double)) f(T{});
  });
}

}  // namespace

// From the last one on, in place.
void SumParts::settle(SumResult& result) {
  result.bits_.pop_back();
  if_narrow(result.dtype_, [&](auto number) {
    const auto* const from = reinterpret_cast<const std::byte*>(result.bits_.data());
    for (std::uint64_t row = result.bits_.size(); row-- > 0;) {
      std::memcpy(&number, from + row * sizeof number, sizeof number);
      result.bits_[row] = std::bit_cast<std::uint64_t>(to_f64(number));
    }
  });
}

void SumRows::take(std::uint64_t first, const double* values, std::uint64_t count) const noexcept {
  dispatch(rule_.result, [&]<class T>(TypeTag<T>) {
    if constexpr (is_float_type<T>) {
      T* const to = reinterpret_cast<T*>(to_) + first;
      for (std::uint64_t i = 0; i < count; ++i) to[i] = rounded_to<T>(values[i]);
    }
  });
}

void SumRows::put(std::uint64_t row, std::uint64_t bits) const noexcept {
  std::byte* const to = to_ + row * size_;
  if (size_ == sizeof bits) std::memcpy(to, &bits, sizeof bits);
  if_narrow(rule_.result_dtype(), [&](auto number) {
    number = rounded_to<decltype(number)>(std::bit_cast<double>(bits));
    std::memcpy(to, &number, sizeof number);
  });
}

}  // namespace masu
