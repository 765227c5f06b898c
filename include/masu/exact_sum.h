// SPDX-License-Identifier: Apache-2.0
/// @file
/// The exact sum of numbers: no rounding until the end, so the order and the grouping of the data do not matter.
#pragma once

#include <masu/dtype.h>
#include <masu/export.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace masu {

/// Adds numbers exactly in a fixed-point accumulator that spans the whole range of f64, with room for 2^64 addends
/// (Kulisch's long accumulator). A plain value of about 600 bytes; never allocates. One thread at a time; `merge` joins
/// the parts of several threads.
class MASU_EXPORT ExactSum {
 public:
  /// Adds every element. Integers are added exactly, 64-bit ones too. f16 is supported.
  void add(const ArrayView& data);
  /// Adds `value`, `times` times.
  void add(double value, std::uint64_t times = 1);
  /// Adds what another one holds. Throws invalid_argument where they have 2^63 values or more together.
  void merge(const ExactSum& other);
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// The exact sum, rounded once to f64 (to nearest, ties to even). 0 when empty; an exact zero is +0. NaN, or
  /// infinities of both signs, give the quiet NaN 0x7ff8000000000000; infinities of one sign give that infinity.
  [[nodiscard]] double sum() const noexcept { return sum(Dtype::f64); }
  /// The same, rounded once to f64, f32 or f16: exact as a double, and in a cast to float. Other dtypes count as f64.
  [[nodiscard]] double sum(Dtype result) const noexcept;
  /// The exact mean, rounded once to f64. Throws invalid_argument when empty.
  [[nodiscard]] double mean() const;

  /// What it holds, exactly: equal for equal totals, however they came about. Little-endian, with a version.
  [[nodiscard]] std::vector<std::byte> bytes() const;
  /// Throws invalid_argument for anything that bytes() did not write.
  static ExactSum from_bytes(std::span<const std::byte> bytes);

 private:
  friend struct ExactSumPart;
  void note(std::uint8_t specials) noexcept;
  /// Value = sum of digits_[i] * 2^(32 i - 1088); each digit is a signed 64-bit number that carries are taken from.
  static constexpr int digits = 70;
  std::array<std::int64_t, digits> digits_{};
  std::uint64_t count_ = 0;
  std::uint64_t pending_ = 0;  ///< additions since carries were last propagated
  bool positive_infinity_ = false;
  bool negative_infinity_ = false;
  bool nan_ = false;
};

}  // namespace masu
