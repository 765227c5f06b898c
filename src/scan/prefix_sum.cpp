// SPDX-License-Identifier: Apache-2.0
#include "scan/scan_cpu.h"

#include "elements/stored_float.h"
#include "runtime/parallel.h"
#include "sum/sum_simd.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace masu {

namespace {

// Adds the elements to the total, which is rounded at each of them. Numbers do not matter after what is none.
template <class T>
void add_each(fixed::Sum& total, const T* input, T* output, std::size_t count, bool exclusive) {
  const auto round = [&] { return rounded_to<T>(fixed::sum_of(fixed::Part(total), dtype_of<T>)); };
  for (std::size_t i = 0; i < count; ++i) {
    const cpu::Decoded number = cpu::decode(input[i]);
    if (exclusive) output[i] = round();
    if (number.special != 0) total.note(number.special);
    else if (total.specials() == 0) total.add(number.mantissa, number.exponent, number.negative);
    if (!exclusive) output[i] = round();
  }
}

// Nothing where the sum is not finite.
std::optional<cpu::NearSum> near_of(fixed::Sum total) {
  if (total.specials() != 0) return std::nullopt;
  double parts[3];
  for (double& part : parts) {
    part = fixed::sum_of(fixed::Part(total), Dtype::f64);
    if (!std::isfinite(part)) return std::nullopt;
    total.add(-part);
  }
  return cpu::NearSum{parts[0], parts[1], 2 * std::abs(parts[2])};
}

}  // namespace

// The exact total is made up for only where it is needed: after the last element, where no bound proves a prefix, and
// before elements that are overwritten.
template <class T>
void PrefixSum::run(const T* input, T* output, std::uint64_t count, bool exclusive, bool last) {
  if (output == nullptr) {
    cpu::add_values(input, count, total_);
    near_.reset();
    return;
  }
  const bool in_place = input == output;
  const T* missing = input;  // the first element that the total lacks
  const auto add_until = [&](const T* end) {
    cpu::add_values(missing, static_cast<std::uint64_t>(end - missing), total_);
    missing = end;
  };
  std::array<T, cpu::quick_prefix_elements> kept;
  for (std::uint64_t first = 0; first < count; first += cpu::quick_prefix_elements) {
    const std::size_t n = std::min<std::uint64_t>(cpu::quick_prefix_elements, count - first);
    const T* x = input + first;
    T* const y = output + first;
    if (in_place) {
      std::copy_n(x, n, kept.begin());
      x = missing = kept.data();
    }
    if (!near_) near_ = near_of(total_);
    if (!near_ || !cpu::quick_prefixes(x, y, n, exclusive, *near_)) {
      add_until(x);
      add_each(total_, x, y, n, exclusive);
      missing = x + n;
      near_.reset();
    }
    if (in_place) add_until(x + n);
  }
  if (!last && !in_place) add_until(input + count);
}

void PrefixSum::add(std::span<const std::int64_t> digits, bool nan, bool infinity, bool minus_infinity) {
  for (std::size_t i = 0; i < digits.size(); ++i) {
    total_.add(digits[i], fixed::Sum::lowest + fixed::digit_bits * static_cast<int>(i));
  }
  total_.note(static_cast<std::uint8_t>((nan ? fixed::has_nan : 0) | (infinity ? fixed::has_infinity : 0) |
                                        (minus_infinity ? fixed::has_minus_infinity : 0)));
  near_.reset();
}

void PrefixSum::merge(const PrefixSum& later) {
  total_.merge(later.total_);
  near_.reset();
}

template <class T>
void run_lines(const T* x, T* y, std::uint64_t outer, std::uint64_t length, std::uint64_t inner, bool exclusive) {
  constexpr std::uint64_t side = cpu::quick_prefix_lines;
  const std::uint64_t fewest = inner == 1 ? side / 2 : 2;
  const bool in_place = x == y;
  const auto each = [&](std::uint64_t first, std::uint64_t lines, std::uint64_t next) {
    std::vector<T> line(inner == 1 ? 0 : 2 * length);
    for (std::uint64_t i = 0; i < lines; ++i) {
      const T* from = x + first + i * next;
      T* to = y + first + i * next;
      if (inner == 1) {
        cpu::NearSum start;
        const bool quick =
            length <= cpu::quick_prefix_elements && cpu::quick_prefixes(from, to, length, exclusive, start);
        if (!quick) PrefixSum().run(from, to, length, exclusive, true);
        continue;
      }
      for (std::uint64_t k = 0; k < length; ++k) line[k] = from[k * inner];
      PrefixSum().run(line.data(), line.data() + length, length, exclusive, true);
      for (std::uint64_t k = 0; k < length; ++k) to[k * inner] = line[length + k];
    }
  };
  // Neighbours side by side: rows, or the columns of each of `outer` matrices.
  const std::uint64_t neighbours = inner == 1 ? outer : inner;
  const std::uint64_t next = inner == 1 ? length : 1;
  // Strips of neighbours; the last one of a matrix takes those that are left.
  const std::uint64_t strips = std::max<std::uint64_t>(1, neighbours / side);
  const auto run = [&](std::uint64_t strip) {
    const std::uint64_t begin = strip / strips * neighbours * length;
    const std::uint64_t at = strip % strips * side;
    const std::uint64_t end = strip % strips + 1 == strips ? neighbours : at + side;
    for (std::uint64_t i = at; i < end; i += side) {
      // Elsewhere some of the last lines may be scanned twice.
      const std::uint64_t lines = std::min(side, in_place ? end - i : neighbours);
      const std::uint64_t first = begin + std::min(i, neighbours - lines) * next;
      bool quick = false;
      if constexpr (!is_stored<T>) {
        quick = !in_place && lines >= fewest &&
                cpu::quick_lines(x + first, y + first, {lines, length, inner, next}, exclusive);
      }
      if (!quick) each(first, lines, next);
    }
  };
  const std::uint64_t all = outer * inner / neighbours * strips;
  const auto some = [&](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t strip = first; strip < last; ++strip) run(strip);
  };
  constexpr std::uint64_t task_elements = std::uint64_t{1} << 15;
  if (inner == 1 || outer * length * inner < 2 * task_elements) return some(0, all);
  runtime::parallel_parts(all, std::max<std::uint64_t>(1, task_elements / side / length), some);
}

#define MASU_INSTANTIATE(name, T)                                           \
  template void PrefixSum::run<T>(const T*, T*, std::uint64_t, bool, bool); \
  template void run_lines<T>(const T*, T*, std::uint64_t, std::uint64_t, std::uint64_t, bool);
MASU_EACH_FLOAT(MASU_INSTANTIATE)
#undef MASU_INSTANTIATE

void running_sums(const ArrayView& x, void* sums, std::uint64_t outer, std::uint64_t length, std::uint64_t inner) {
  const FloatingPointScope usual;
  dispatch(x.dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (is_float(dtype_of<T>)) {
      run_lines(static_cast<const T*>(x.data), static_cast<T*>(sums), outer, length, inner, false);
    }
  });
}

}  // namespace masu
