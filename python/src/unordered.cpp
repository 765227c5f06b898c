// SPDX-License-Identifier: Apache-2.0
#include "unordered.h"

#include "every_processor.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace masu_python {
namespace {

// Loops for the compiler to make vectors of, of the width of the processor. A zero with a sign is rare: only then is
// one without looked for.
template <class Float, class Bits>
[[gnu::always_inline]] inline unsigned of_floats(const Float* values, std::uint64_t count) {
  constexpr Bits sign = Bits{1} << (8 * sizeof(Bits) - 1);
  constexpr Bits quiet = std::bit_cast<Bits>(std::numeric_limits<Float>::quiet_NaN());
  Bits minus = 0;
  Bits nan = 0;
  Bits other = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, values + i, sizeof bits);
    minus |= bits == sign ? 1 : 0;
    nan |= values[i] != values[i] ? 1 : 0;
    other |= values[i] != values[i] ? bits ^ quiet : 0;
  }
  bool both = false;
  for (std::uint64_t i = 0; minus != 0 && i < count; ++i) both |= values[i] == 0 && !std::signbit(values[i]);
  return (both ? has_both_zeros : 0) | (nan != 0 ? has_nan : 0) | (other != 0 ? has_other_nan : 0);
}

MASU_FOR_EVERY_PROCESSOR unsigned of_f16(const std::int16_t* values, std::uint64_t count) {
  constexpr std::int16_t infinity = 0x7c00;
  std::int16_t most = 0;  // of the magnitudes
  std::int16_t minus = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto magnitude = static_cast<std::int16_t>(values[i] & 0x7fff);
    most = magnitude > most ? magnitude : most;
    minus |= values[i] == std::numeric_limits<std::int16_t>::min() ? std::int16_t{-1} : std::int16_t{0};
  }
  bool both = false;
  for (std::uint64_t i = 0; minus != 0 && i < count; ++i) both |= values[i] == 0;
  return (both ? has_both_zeros : 0) | (most > infinity ? has_nan | has_other_nan : 0);
}
MASU_FOR_EVERY_PROCESSOR unsigned of_f32(const float* values, std::uint64_t count) {
  return of_floats<float, std::uint32_t>(values, count);
}
MASU_FOR_EVERY_PROCESSOR unsigned of_f64(const double* values, std::uint64_t count) {
  return of_floats<double, std::uint64_t>(values, count);
}

}  // namespace

unsigned unordered(masu::Dtype dtype, const void* data, std::uint64_t count) noexcept {
  switch (dtype) {
    case masu::Dtype::f16: return of_f16(static_cast<const std::int16_t*>(data), count);
    case masu::Dtype::f32: return of_f32(static_cast<const float*>(data), count);
    case masu::Dtype::f64: return of_f64(static_cast<const double*>(data), count);
    default: return 0;
  }
}

}  // namespace masu_python
