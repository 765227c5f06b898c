// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sums, dot products, means, norms, variances and standard deviations, exact and rounded once, with the same bits on
/// every device.
///
/// **Rule.** A result is the exact real number that the stored values define, rounded once, to nearest with ties to
/// even. It is rounded to f64, or to the narrower float that SumOptions::result names. So the order and the grouping of
/// the data do not matter, and nothing overflows or underflows on the way. A result of zero is +0, also where a
/// negative number rounds to it. NaN, or infinities of both signs, give the quiet NaN 0x7ff8000000000000; one infinity
/// gives it. In a dot product what counts are the products: infinity times zero is NaN. The variance of data with an
/// infinity is NaN.
/// **Integers.** `sum` and `dot` of integers are exact: i64 of signed data, u64 of unsigned data. A final result
/// outside is an error, whatever partial sums are (unless SumOptions::wrap). Means, norms and variances of integers are
/// rounded as those of floats.
/// **Empty data.** Sum, dot and norm are 0. A mean needs one element, a variance more than ddof.
/// **Limits.** Every dtype; f64 only where the device has fp64; up to 2^40 elements; 64-bit sizes.
/// **Complexity.** O(n), one pass (variance on devices: up to three). **Memory.** sum_workspace() bytes on a device; on
/// `cpu` some 70 KB a thread.
/// **Exceptions.** Error with invalid_argument, unsupported, out_of_memory or device_lost; nothing of the caller's is
/// changed. All functions may be called from many threads at once.
/// **Method.** Kulisch's long accumulator: fixed-point numbers as wide as the dtype's range (src/sum/README.md).
///
/// Example:
/// @code
/// std::vector<double> x = …;
/// double total = masu::sum(x);
/// double length = masu::norm2(x);
/// masu::SumResult of_rows = masu::sum(masu::Device::open("cpu"), masu::ArrayView(x), {.rows = 10});
/// @endcode
#pragma once

#include <masu/accumulator.h>
#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/stream.h>
#include <masu/version.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <variant>
#include <vector>

namespace masu {

/// A number that is added to sums.
using SumAddend = std::variant<double, std::int64_t, std::uint64_t>;

struct SumOptions {
  /// The data are this many rows of equal length, each with a result of its own. Must divide the elements.
  std::uint64_t rows = 1;
  /// If more than 1, the data are rows / columns matrices of this many columns, stored row after row. Each column then
  /// counts as a row: one result for each column of each matrix. Must divide `rows`. For results in device
  /// memory; not of dot products.
  std::uint64_t columns = 1;
  /// The float dtype that results are rounded to, unless they are integers.
  Dtype result = Dtype::f64;
  /// The variance divides by n - ddof; the standard deviation is the root of the exact variance.
  std::uint64_t ddof = 0;
  /// One addend more of the sum of each row, exact as the others. It is first converted to the data's float dtype, or
  /// to the type that sums of integers have, modulo 2^64. Of sums; of integers it is an integer.
  SumAddend initial = 0.0;
  /// Whether sums and dot products of integers that do not fit their type are modulo 2^64 rather than an error.
  bool wrap = false;
  /// Temporary memory to use instead of allocating: at least sum_workspace() bytes on the device, aligned to 16
  /// bytes. Not used on `cpu` and where data comes in pieces.
  const BufferBase* workspace = nullptr;
  /// For results in device memory: a word of 32 bits of the device, aligned to 4 bytes. It gets 1 if a sum or dot
  /// product of integers does not fit its type, else 0.
  const BufferBase* status = nullptr;
  /// For results in device memory: 4 bytes a row on the device, aligned to 16 bytes. They are zeros before and after
  /// the call. Only one call may use them at a time. They save the command that would fill such memory.
  const BufferBase* zeros = nullptr;
  Times* times = nullptr;  ///< where not null, gets what the call took
};

/// A number for each row. A plain value.
class MASU_EXPORT SumResult {
 public:
  /// The dtype of the numbers: i64 or u64 for sums and dot products of integers, else SumOptions::result.
  [[nodiscard]] Dtype dtype() const noexcept { return dtype_; }
  [[nodiscard]] std::uint64_t rows() const noexcept { return bits_.size(); }
  /// The number as a double: exact for results of floats (a cast to a narrower result's type is exact, too). An
  /// integer is rounded to nearest. Throws invalid_argument for a row past the end, as the others do.
  [[nodiscard]] double value(std::uint64_t row = 0) const;
  /// Throws invalid_argument unless dtype() is i64.
  [[nodiscard]] std::int64_t signed_integer(std::uint64_t row = 0) const;
  /// Throws invalid_argument unless dtype() is u64.
  [[nodiscard]] std::uint64_t unsigned_integer(std::uint64_t row = 0) const;
  friend bool operator==(const SumResult&, const SumResult&) = default;

 private:
  friend struct SumParts;
  [[nodiscard]] std::uint64_t bits(std::uint64_t row) const;
  Dtype dtype_ = Dtype::f64;
  std::vector<std::uint64_t> bits_;  // of a double or an integer
};

/// The type of sums and dot products of T.
template <Element T>
using SumType = std::conditional_t<is_float(dtype_of<T>), double,
                                   std::conditional_t<is_signed(dtype_of<T>), std::int64_t, std::uint64_t>>;

/// What an accumulator keeps.
enum class SumKind : std::uint8_t {
  sum,      ///< the sum: for sum() and mean()
  squares,  ///< the sum and the sum of squares: for sum(), mean(), norm2() and variance()
  dot,      ///< the sum of products of two inputs: for dot()
};

/// Exact sums of data that comes in pieces: for chunks, threads and ranks. The results are those of all data at once.
/// bytes() are equal for equal totals, whatever the device and the pieces. With rows, bytes(), merge() and integers()
/// throw invalid_argument.
class MASU_EXPORT SumAccumulator : public detail::Accumulator<SumAccumulator> {
 public:
  /// `row_length` 0: all elements are one row. Otherwise the elements come row after row, each of that many; pieces may
  /// begin and end anywhere.
  SumAccumulator(const Device& device, Dtype dtype, SumKind kind = SumKind::sum, std::uint64_t row_length = 0);

  using Accumulator::add;
  /// For SumKind::dot: adds a piece of both inputs, of equal length.
  void add(const ArrayView& x, const ArrayView& y);
  /// Adds a piece in memory of this accumulator's device.
  void add_buffer(const BufferBase& x, Dtype dtype);
  void add_buffers(const BufferBase& x, const BufferBase& y, Dtype dtype);
  /// Its state as integers whose plain sum is the state of up to 2^31 accumulators together. Add them as
  /// signed 64-bit integers, by MPI_SUM, ncclAllReduce or torch.distributed.all_reduce. First the elements; then of the
  /// values (SumKind::sum, squares), then of the squares or products (squares, dot) as follows. 1 where NaN came, 1 for
  /// infinity, 1 for -infinity, and the digits, of 2^32, of the exact sum. Digits of values begin at 2^-1088 (70 of
  /// them), of squares or products at 2^-2176 (137).
  [[nodiscard]] std::vector<std::int64_t> integers() const;
  /// Throws invalid_argument where the integers are no such sum.
  static SumAccumulator from_integers(const Device& device, Dtype dtype, SumKind kind,
                                      std::span<const std::int64_t> integers);

  [[nodiscard]] SumKind kind() const noexcept;
  /// Rows that came so far: 1 without rows.
  [[nodiscard]] std::uint64_t rows() const noexcept;

  /// The results so far, a number for each row. They throw invalid_argument where the kind does not keep what they
  /// need, and where the last row is not complete.
  [[nodiscard]] SumResult sum(Dtype result = Dtype::f64) const;
  [[nodiscard]] SumResult dot(Dtype result = Dtype::f64) const;
  [[nodiscard]] SumResult mean(Dtype result = Dtype::f64) const;
  [[nodiscard]] SumResult norm2(Dtype result = Dtype::f64) const;
  [[nodiscard]] SumResult variance(std::uint64_t ddof = 0, Dtype result = Dtype::f64) const;
  [[nodiscard]] SumResult standard_deviation(std::uint64_t ddof = 0, Dtype result = Dtype::f64) const;
};

/// Bytes of temporary device memory that any function of this header needs for `count` elements: what is allocated when
/// options.workspace is null. 0 on `cpu`.
MASU_EXPORT std::uint64_t sum_workspace(const Device& device, Dtype dtype, std::uint64_t count,
                                        const SumOptions& options = {});

/// Sums host data whose type is known at run time, on a device. `x` and `y` of a dot product have one dtype and length.
MASU_EXPORT SumResult sum(const Device& device, const ArrayView& x, const SumOptions& options = {});
MASU_EXPORT SumResult dot(const Device& device, const ArrayView& x, const ArrayView& y, const SumOptions& options = {});
MASU_EXPORT SumResult mean(const Device& device, const ArrayView& x, const SumOptions& options = {});
MASU_EXPORT SumResult norm2(const Device& device, const ArrayView& x, const SumOptions& options = {});
MASU_EXPORT SumResult variance(const Device& device, const ArrayView& x, const SumOptions& options = {});
MASU_EXPORT SumResult standard_deviation(const Device& device, const ArrayView& x, const SumOptions& options = {});

/// The exact sum of each column of a matrix in host memory, which lies row after row. It is rounded once to the data's
/// dtype, f32 or f64. Runs on the CPU. `result` has `columns` elements of that dtype.
MASU_EXPORT void sum_columns(const ArrayView& x, std::uint64_t columns, const MutableArrayView& result);
/// The same of the means; the matrix has at least one row.
MASU_EXPORT void mean_columns(const ArrayView& x, std::uint64_t columns, const MutableArrayView& result);

/// Sums device memory, on its device.
MASU_EXPORT SumResult sum(const BufferBase& x, Dtype dtype, const SumOptions& options = {});
MASU_EXPORT SumResult dot(const BufferBase& x, const BufferBase& y, Dtype dtype, const SumOptions& options = {});
MASU_EXPORT SumResult mean(const BufferBase& x, Dtype dtype, const SumOptions& options = {});
MASU_EXPORT SumResult norm2(const BufferBase& x, Dtype dtype, const SumOptions& options = {});
MASU_EXPORT SumResult variance(const BufferBase& x, Dtype dtype, const SumOptions& options = {});
MASU_EXPORT SumResult standard_deviation(const BufferBase& x, Dtype dtype, const SumOptions& options = {});

/// The same on a stream of the memory's device while the caller goes on. The data, `stream` and options.workspace must
/// outlive the result's `get()`, which throws what goes wrong; options.times is not filled.
MASU_EXPORT Pending<SumResult> sum(Stream& stream, const BufferBase& x, Dtype dtype, const SumOptions& options = {});
MASU_EXPORT Pending<SumResult> dot(Stream& stream, const BufferBase& x, const BufferBase& y, Dtype dtype,
                                   const SumOptions& options = {});
MASU_EXPORT Pending<SumResult> mean(Stream& stream, const BufferBase& x, Dtype dtype, const SumOptions& options = {});
MASU_EXPORT Pending<SumResult> norm2(Stream& stream, const BufferBase& x, Dtype dtype, const SumOptions& options = {});
MASU_EXPORT Pending<SumResult> variance(Stream& stream, const BufferBase& x, Dtype dtype,
                                        const SumOptions& options = {});
MASU_EXPORT Pending<SumResult> standard_deviation(Stream& stream, const BufferBase& x, Dtype dtype,
                                                  const SumOptions& options = {});

/// The same with the results left in device memory. `results` holds exactly options.rows of them, of the type that
/// SumResult::dtype() would return, and overlaps no input. Nothing is waited for or read back, so a
/// CUDA graph can capture it. With options.workspace nothing is allocated once a call of the same kind has compiled the
/// kernels. An integer that does not fit is stored modulo 2^64, and sets options.status. Everything given must outlive
/// the work; `get()` waits for it.
MASU_EXPORT Pending<void> sum(Stream& stream, const BufferBase& x, Dtype dtype, const BufferBase& results,
                              const SumOptions& options);
MASU_EXPORT Pending<void> dot(Stream& stream, const BufferBase& x, const BufferBase& y, Dtype dtype,
                              const BufferBase& results, const SumOptions& options);
MASU_EXPORT Pending<void> mean(Stream& stream, const BufferBase& x, Dtype dtype, const BufferBase& results,
                               const SumOptions& options);
MASU_EXPORT Pending<void> norm2(Stream& stream, const BufferBase& x, Dtype dtype, const BufferBase& results,
                                const SumOptions& options);
MASU_EXPORT Pending<void> variance(Stream& stream, const BufferBase& x, Dtype dtype, const BufferBase& results,
                                   const SumOptions& options);
MASU_EXPORT Pending<void> standard_deviation(Stream& stream, const BufferBase& x, Dtype dtype,
                                             const BufferBase& results, const SumOptions& options);

namespace detail {
/// The one number of a result.
template <Element T>
SumType<T> one_sum(const SumResult& result) {
  if constexpr (std::is_same_v<SumType<T>, double>) return result.value();
  else if constexpr (std::is_same_v<SumType<T>, std::int64_t>) return result.signed_integer();
  else return result.unsigned_integer();
}
MASU_EXPORT SumOptions one_row(const SumOptions& options);  ///< Throws invalid_argument unless rows is 1.
inline Device device_for(const ArrayView& x, unsigned inputs) {
  return device_for(Work::reading, inputs * x.count * size_of(x.dtype));
}
template <HostRange R>
using ValueOf = std::remove_cv_t<std::ranges::range_value_t<R>>;
}  // namespace detail

/// The sum of all elements of a contiguous host range, on the device that device_for names. options.rows must be 1.
template <HostRange R>
SumType<detail::ValueOf<R>> sum(const R& x, const SumOptions& options = {}) {
  const ArrayView view(x);
  return detail::one_sum<detail::ValueOf<R>>(sum(detail::device_for(view, 1), view, detail::one_row(options)));
}
template <HostRange R, HostRange S>
requires std::is_same_v<detail::ValueOf<R>, detail::ValueOf<S>> SumType<detail::ValueOf<R>> dot(
    const R& x, const S& y, const SumOptions& options = {}) {
  const ArrayView view(x);
  return detail::one_sum<detail::ValueOf<R>>(
      dot(detail::device_for(view, 2), view, ArrayView(y), detail::one_row(options)));
}
template <HostRange R>
double mean(const R& x, const SumOptions& options = {}) {
  const ArrayView view(x);
  return mean(detail::device_for(view, 1), view, detail::one_row(options)).value();
}
template <HostRange R>
double norm2(const R& x, const SumOptions& options = {}) {
  const ArrayView view(x);
  return norm2(detail::device_for(view, 1), view, detail::one_row(options)).value();
}
template <HostRange R>
double variance(const R& x, const SumOptions& options = {}) {
  const ArrayView view(x);
  return variance(detail::device_for(view, 1), view, detail::one_row(options)).value();
}
template <HostRange R>
double standard_deviation(const R& x, const SumOptions& options = {}) {
  const ArrayView view(x);
  return standard_deviation(detail::device_for(view, 1), view, detail::one_row(options)).value();
}

/// The sum of all elements of a buffer, on its device. options.rows must be 1.
template <Element T>
SumType<T> sum(const Buffer<T>& x, const SumOptions& options = {}) {
  return detail::one_sum<T>(sum(x, dtype_of<T>, detail::one_row(options)));
}
template <Element T>
SumType<T> dot(const Buffer<T>& x, const Buffer<T>& y, const SumOptions& options = {}) {
  return detail::one_sum<T>(dot(x, y, dtype_of<T>, detail::one_row(options)));
}
template <Element T>
double mean(const Buffer<T>& x, const SumOptions& options = {}) {
  return mean(x, dtype_of<T>, detail::one_row(options)).value();
}
template <Element T>
double norm2(const Buffer<T>& x, const SumOptions& options = {}) {
  return norm2(x, dtype_of<T>, detail::one_row(options)).value();
}
template <Element T>
double variance(const Buffer<T>& x, const SumOptions& options = {}) {
  return variance(x, dtype_of<T>, detail::one_row(options)).value();
}
template <Element T>
double standard_deviation(const Buffer<T>& x, const SumOptions& options = {}) {
  return standard_deviation(x, dtype_of<T>, detail::one_row(options)).value();
}

/// Adds numbers exactly in a fixed-point accumulator that spans the whole range of f64, with room for 2^64 addends
/// (Kulisch's long accumulator). A plain value of about 600 bytes; never allocates. One thread at a time; `merge` joins
/// the parts of several threads.
class MASU_EXPORT ExactSum {
 public:
  /// Adds every element. Integers are added exactly, 64-bit ones too.
  void add(const ArrayView& data);
  /// Adds `value`, `times` times.
  void add(double value, std::uint64_t times = 1);
  /// Adds what another one holds. Throws invalid_argument where they have 2^63 values or more together.
  void merge(const ExactSum& other);
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// The exact sum, rounded once to f64 (to nearest, ties to even). 0 when empty; an exact zero is +0. NaN, or
  /// infinities of both signs, give the quiet NaN 0x7ff8000000000000; infinities of one sign give that infinity.
  [[nodiscard]] double sum() const noexcept { return sum(Dtype::f64); }
  /// The same, rounded once to a float: exact as a double, and in a cast to that type. Other dtypes count as f64.
  [[nodiscard]] double sum(Dtype result) const noexcept;
  /// The exact mean, rounded once to f64. Throws invalid_argument when empty.
  [[nodiscard]] double mean() const;

  /// The exact total as bytes, little-endian, with a version: equal for equal totals, however they came about.
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
