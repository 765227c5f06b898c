// SPDX-License-Identifier: Apache-2.0
// Counts and sums of weights between bins that Python has made definite; NumPy's semantics are in python/masu/.
#include "arrays.h"
#include "histogram/cpu/little_data.h"
#include "module.h"

#include <masu/histogram.h>
#include <masu/joint_histogram.h>
#include <masu/row_histogram.h>
#include <masu/weighted_histogram.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

namespace masu_python {
namespace {

// The bins with which masu counts what NumPy counts between even edges; None where NumPy has to count.
nb::object even_bins(const Input& edges, const Input& data, double lo, double hi, bool of_data, bool joint) {
  const auto found =
      masu::bins_with_edges({lo, hi, false}, of_data, {edges.data<double>(), edges.count()}, data.dtype(), joint);
  return found ? nb::cast(*found) : nb::none();
}

masu::Bins bins_between(const Input& edges) {
  return masu::Bins::edges({edges.data<double>(), edges.data<double>() + edges.count()});
}

// All edges of bins of equal ratio, which must fit `edges`.
void logarithmic_edges(double lo, double hi, const Output& edges) {
  call([&] {
    if (edges.count() < 2) {
      throw masu::Error(masu::ErrorCode::invalid_argument, "Bins.logarithmic: there must be at least 1 bin");
    }
    const std::vector<double> found =
        masu::bin_edges(masu::Bins::logarithmic(edges.count() - 1, lo, hi), masu::Dtype::f64);
    std::ranges::copy(found, edges.data<double>());
  });
}

void require_count(const Output& output, std::uint64_t count, const char* what) {
  if (output.count() == count) return;
  throw masu::Error(masu::ErrorCode::invalid_argument, std::string("histogram: ") + what + " must have " +
                                                           std::to_string(count) + " elements, got " +
                                                           std::to_string(output.count()));
}

template <class T, class U>
void put(const Output& output, std::span<const U> values, const char* what) {
  require_count(output, values.size(), what);
  if (output.dtype() != masu::dtype_of<T>)
    throw masu::Error(masu::ErrorCode::invalid_argument, std::string("histogram: ") + what + " are of another dtype");
  std::ranges::transform(values, output.data<T>(), [](U value) { return static_cast<T>(value); });
}

// counts: rows * channels * bins; extras: below, above, NaN of each.
void histogram(const Input& in, const masu::Bins& bins, std::uint64_t rows, unsigned channels, const Output& counts,
               const Output& extras, const masu::Device& device) {
  call([&] {
    masu::HistogramOptions options;
    options.channels = channels;
    std::vector<std::uint64_t> outside;
    if (rows == 1 && channels == 1) {
      const masu::Histogram result = in.on_device() ? masu::histogram(in.buffer(), in.dtype(), bins, options)
                                                    : masu::histogram(device, in.view(), bins, options);
      put<std::int64_t>(counts, result.counts(), "counts");
      outside = {result.below(), result.above(), result.nan()};
    } else {
      const masu::RowHistograms result = in.on_device()
                                             ? masu::row_histograms(in.buffer(), in.dtype(), rows, bins, options)
                                             : masu::row_histograms(device, in.view(), rows, bins, options);
      put<std::int64_t>(counts, result.counts(), "counts");
      for (std::uint64_t row = 0; row < rows; ++row) {
        for (unsigned channel = 0; channel < channels; ++channel) {
          outside.push_back(result.below(row, channel));
          outside.push_back(result.above(row, channel));
          outside.push_back(result.nan(row, channel));
        }
      }
    }
    put<std::int64_t>(extras, std::span<const std::uint64_t>(outside), "extras");
  });
}

// The same of one row in device memory, into device memory: `counts` gets those of the bins, then below, above, NaN;
// `edges` gets `numbers`, which the caller may have in another dtype than the bins have them.
void histogram_there(const Input& data, const masu::Bins& bins, const Output& counts, const Input& numbers,
                     const Output& edges, const masu::Device& device) {
  call([&] {
    masu::Stream stream(device);
    stream.write_bytes(edges.buffer(), 0, numbers.data<std::byte>(), edges.buffer().size_bytes());
    masu::histogram(data.buffer(), data.dtype(), bins, counts.buffer());
    stream.finish();
  });
}

// counts: f64, one for each joint bin, as numpy.histogramdd has them.
void joint_histogram(const Columns& in, const std::vector<masu::Bins>& bins, const Output& counts,
                     const masu::Device& device) {
  call([&] {
    const masu::JointHistogram result = in.on_device ? masu::joint_histogram(in.buffers, in.dtype(), bins)
                                                     : masu::joint_histogram(device, in.views, bins);
    put<double>(counts, result.counts(), "counts");
  });
}

// totals: f64, i64 or u64, rows * joint bins; extras: what is in no joint bin, in the same dtype; variances: f64, of
// each row's joint bins and then of its extras, or None. `wrap`: integer totals modulo 2^64, else one that does not fit
// is an error.
void weighted_histogram(const Columns& in, const Input& by, const std::vector<masu::Bins>& bins, std::uint64_t rows,
                        const Output& totals, const Output& extras, nb::handle variances, bool wrap,
                        const masu::Device& device) {
  std::optional<Output> squares;
  if (!variances.is_none()) squares.emplace(variances);
  call([&] {
    masu::WeightedOptions options;
    options.rows = rows;
    options.variances = squares.has_value();
    options.wrap = wrap;
    const masu::WeightedHistogram result =
        in.on_device ? masu::weighted_joint_histogram(in.buffers, in.dtype(), by.buffer(), by.dtype(), bins, options)
                     : masu::weighted_joint_histogram(device, in.views, by.view(), bins, options);
    const std::uint64_t joint_bins = result.totals().size();
    const std::uint64_t more = result.extra_totals().size();
    require_count(totals, rows * joint_bins, "totals");
    require_count(extras, rows * more, "extras");
    if (squares) require_count(*squares, rows * (joint_bins + more), "variances");
    const auto place = [](const masu::ArrayView& values, const Output& target, std::uint64_t first) {
      std::memcpy(target.data<std::byte>() + first * sizeof(double), values.data, values.count * sizeof(double));
    };
    for (std::uint64_t row = 0; row < rows; ++row) {
      place(totals_in(totals.dtype(), result, row, false), totals, row * joint_bins);
      place(totals_in(totals.dtype(), result, row, true), extras, row * more);
      if (!squares) continue;
      place(masu::ArrayView(result.variances(row)), *squares, row * (joint_bins + more));
      place(masu::ArrayView(result.extra_variances(row)), *squares, row * (joint_bins + more) + joint_bins);
    }
  });
}

// The least and the greatest finite value; None where there are none.
nb::object finite_range(const Input& in, const masu::Device& device) {
  const auto range = call([&] {
    return in.on_device() ? masu::finite_range(in.buffer(), in.dtype()) : masu::finite_range(device, in.view());
  });
  return range ? nb::make_tuple(range->lo, range->hi) : nb::object(nb::none());
}

}  // namespace

void register_histogram(nb::module_& m) {
  nb::class_<masu::Bins>(m, "Bins").def_prop_ro("size", &masu::Bins::size);
  m.def("even_bins", taking(even_bins));
  m.def("bins_between", taking(bins_between));
  m.def("logarithmic_edges", taking(logarithmic_edges));
  m.def("integer_bins", &masu::Bins::integers);
  m.def("histogram", taking(histogram));
  m.def("histogram_there", taking(histogram_there));
  m.def("joint_histogram", taking(joint_histogram));
  m.def("weighted_histogram", taking(weighted_histogram), nb::arg("columns"), nb::arg("weights"), nb::arg("bins"),
        nb::arg("rows"), nb::arg("totals"), nb::arg("extras"), nb::arg("variances").none(), nb::arg("wrap"),
        nb::arg("device"));
  m.def("finite_range", taking(finite_range));
}

}  // namespace masu_python
