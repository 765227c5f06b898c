// SPDX-License-Identifier: Apache-2.0
/// @file
/// Bins: which intervals a histogram counts, given explicitly or found from the data.
///
/// **Rule.** The edges e[0] … e[n] are computed once on the host. Even bins: exactly as NumPy >= 2 computes them for
/// the dtype. Values and edges are compared in NumPy's common type: f32 for f32 data in even bins, f64 otherwise
/// (64-bit integers are rounded to f64 first). Data of half precision in even bins follows NumPy's own arithmetic with
/// its one correction. Data of floats that NumPy lacks is counted as the same numbers in f32. Sources:
/// numpy/lib/_histograms_impl.py, numpy/_core/function_base.py.
#pragma once

#include <masu/accumulator.h>
#include <masu/device.h>
#include <masu/dtype.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace masu {

class BufferBase;

/// The least and the greatest finite value of some data, as f64 (64-bit integers rounded to it); a zero is +0.
struct ValueRange {
  double lo = 0;
  double hi = 0;
  bool single = true;  ///< all finite values compare equal (compared in the dtype, before rounding to f64)
};

/// NumPy's rules for the number of bins, `numpy.histogram_bin_edges`: "auto", "fd" (Freedman and Diaconis), "doane",
/// "scott", "stone", "rice", "sturges", "sqrt".
enum class Estimator { automatic, fd, doane, scott, stone, rice, sturges, sqrt };
/// The name that NumPy has for it.
MASU_EXPORT std::string_view to_string(Estimator estimator) noexcept;
/// Throws invalid_argument, listing the names.
MASU_EXPORT Estimator estimator_from_name(std::string_view name);

/// Which bins: a description that does not depend on the data's type. Cheap to copy.
class MASU_EXPORT Bins {
 public:
  /// n equal bins over the data's finite minimum and maximum (0:1 when there is no finite value). The range is
  /// widened by 0.5 on both sides when the two are equal. Costs a pass over the data.
  static Bins even(std::uint64_t n);
  /// n equal bins over [lo, hi]. lo = hi is widened by 0.5 on both sides. Throws when lo > hi or either is not finite.
  static Bins even(std::uint64_t n, double lo, double hi);
  /// n equal bins over a range that was found in data of the histogram's dtype: what even(n) does, in two steps.
  static Bins even(std::uint64_t n, const ValueRange& range);
  /// Bins between given edges, which must not decrease; at least two. An empty bin (e[i] = e[i+1]) counts nothing,
  /// except that the last one holds x = e[n].
  static Bins edges(std::vector<double> edges);
  /// n bins of equal ratio: edge i is lo * (hi / lo)^(i / n), correctly rounded to f64, both ends exact. Values are
  /// compared with the edges in f64. Throws unless 0 < lo < hi are finite, and if n bins have no width.
  static Bins logarithmic(std::uint64_t n, double lo, double hi);
  /// Value v falls into bin v, for integer data; negative values count as below, n and more as above.
  static Bins integers(std::uint64_t n);
  /// As many even bins as NumPy's estimator finds for the data, over its finite range. Sums are exact, where NumPy's
  /// standard deviation of floats below f64 carries its rounding. Costs passes over the data on the CPU, one for 8- and
  /// 16-bit data. Others cost one, two for "scott" and "doane", two (32 bits) or four (64 bits) for the quartiles of
  /// "auto" and "fd". "stone" counts histograms of 1 to max(100, sqrt(values)) bins, 2 MiB of counters a pass. Of 32-
  /// and 64-bit data it takes at most 16,785,408 values.
  static Bins automatic(Estimator estimator);
  /// The same over [lo, hi], from the values in that range.
  static Bins automatic(Estimator estimator, double lo, double hi);
  /// The command's default bins. Integers of at most 1,024 different possible or present values:
  /// a bin for each value. Other integers: about 100 bins of one whole width. Floats, and integers beyond 2^53: 100
  /// bins over the range, which is widened where they would have no width.
  static Bins for_data(Dtype dtype, const std::optional<ValueRange>& range);

  /// The bins as bytes, little-endian, with a version: equal for equal bins.
  [[nodiscard]] std::vector<std::byte> bytes() const;
  /// Throws invalid_argument for anything that bytes() did not write.
  static Bins from_bytes(std::span<const std::byte> bytes);

  enum class Kind { even, edges, integers, automatic };
  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  /// The number of bins; 0 where it depends on the data.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// True when the bins depend on the data: even(n) and automatic(). BinEstimator then makes them definite.
  [[nodiscard]] bool needs_data() const noexcept {
    return kind_ == Kind::automatic || (kind_ == Kind::even && origin_ == Origin::none);
  }

 private:
  friend struct BinRule;
  friend class BinEstimator;
  enum class Origin { none, given, data };  ///< where lo and hi come from; decides the arithmetic of f32 edges
  Bins(Kind kind, std::uint64_t size) : kind_(kind), size_(size) {}
  Kind kind_;
  Origin origin_ = Origin::none;
  Estimator estimator_ = Estimator::automatic;
  std::uint64_t size_;
  double lo_ = 0;
  double hi_ = 0;
  bool single_ = false;
  std::shared_ptr<const std::vector<double>> edges_;
};

/// Makes bins that depend on the data definite, from data that comes in pieces and may have to come several times:
/// @code
/// masu::BinEstimator estimator(masu::Dtype::f32, masu::Bins::automatic(masu::Estimator::fd));
/// do {
///   for (…) estimator.add(piece);
/// } while (estimator.next_pass());
/// masu::Bins bins = estimator.bins();
/// @endcode
/// Computes on the CPU. Values that are not finite are ignored. The result does not depend on the pieces or their
/// order. Memory: under 4 MiB, and 2 MiB for each CPU thread while it adds. Move-only; one thread at a time.
class MASU_EXPORT BinEstimator {
 public:
  /// Throws invalid_argument unless bins.needs_data().
  BinEstimator(Dtype dtype, const Bins& bins);
  /// Takes a piece of the data of this pass; every pass must give the same values, in any order.
  void add(const ArrayView& data);
  /// Ends a pass. True when all the data has to be given once more.
  [[nodiscard]] bool next_pass();
  /// How many bins there are, once next_pass() was false: a whole number, which may be more than Bins holds.
  [[nodiscard]] double bins_found() const;
  /// The bins, once next_pass() was false. Throws invalid_argument if the estimator finds more than 2^31 bins.
  [[nodiscard]] Bins bins() const;

  /// Adds what another one of the same dtype and bins has been given in the same pass. Their passes before must have
  /// been of the same data. Throws invalid_argument where they differ, where no pass is left, and where they have
  /// 2^63 elements or more together.
  void merge(const BinEstimator& other);
  /// The state as bytes, little-endian, with a version.
  [[nodiscard]] std::vector<std::byte> bytes() const;
  /// Throws invalid_argument for anything that bytes() did not write.
  static BinEstimator from_bytes(std::span<const std::byte> bytes);

 private:
  struct State;
  detail::Hidden<State> state_;
};

/// All n + 1 edges that a histogram of data of this dtype has. Throws invalid_argument unless `bins` are definite.
MASU_EXPORT std::vector<double> bin_edges(const Bins& bins, Dtype dtype);

/// The range of the finite values; nothing when there are none.
MASU_EXPORT std::optional<ValueRange> finite_range(const Device& device, const ArrayView& data);
MASU_EXPORT std::optional<ValueRange> finite_range(const BufferBase& data, Dtype dtype);
/// The range of two pieces of data of one dtype together.
MASU_EXPORT std::optional<ValueRange> merge(const std::optional<ValueRange>& a, const std::optional<ValueRange>& b);

}  // namespace masu
