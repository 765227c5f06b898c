// SPDX-License-Identifier: Apache-2.0
// Bins that Python has made definite.
#pragma once

#include "arrays.h"
#include "module.h"

#include <masu/histogram.h>
#include <masu/joint_histogram.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

namespace masu_python {

// The bins of one column, as python/masu/_bins.py has them: (origin, lo, hi, edges).
struct Spec {
  enum Origin { between_edges, given_range, data_range, integers };  // as in _bins.py

  explicit Spec(nb::handle tuple)
      : origin(static_cast<Origin>(nb::cast<int>(tuple[0]))),
        lo(nb::cast<double>(tuple[1])),
        hi(nb::cast<double>(tuple[2])) {
    if (origin != integers) edges = std::make_unique<Input>(tuple[3]);
  }
  [[nodiscard]] std::span<const double> numbers() const { return {edges->data<double>(), edges->count()}; }
  [[nodiscard]] bool even() const noexcept { return origin == given_range || origin == data_range; }
  [[nodiscard]] masu::Bins given() const {
    if (origin == integers) return masu::Bins::integers(static_cast<std::uint64_t>(hi));
    return masu::Bins::edges({numbers().begin(), numbers().end()});
  }
  // The bins as the library finds them by itself.
  [[nodiscard]] masu::Bins own() const {
    if (origin == given_range) return masu::Bins::even(numbers().size() - 1, lo, hi);
    if (origin == data_range) return masu::Bins::even(numbers().size() - 1, masu::ValueRange{lo, hi, false});
    return given();
  }

  Origin origin;
  double lo;
  double hi;
  std::unique_ptr<Input> edges;
};

// Whether the library's own even bins have the edges that NumPy has.
inline bool same_edges(const Spec& spec, masu::Dtype dtype) {
  try {
    return std::ranges::equal(masu::bin_edges(spec.own(), dtype), spec.numbers());
  } catch (const masu::Error& error) {
    if (error.code() != masu::ErrorCode::invalid_argument) throw;
    return false;
  }
}

inline std::vector<Spec> specs_of(nb::handle list) {
  std::vector<Spec> specs;
  for (const nb::handle entry : list) specs.emplace_back(entry);
  return specs;
}

// Counts with the library's own even bins where their edges are those that NumPy has, else between NumPy's edges.
// `edges(result, d)` are those of column d.
template <class Count, class Edges>
auto counted(std::span<const Spec> specs, Count&& count, Edges&& edges) {
  std::vector<masu::Bins> bins;
  const bool own = std::ranges::any_of(specs, &Spec::even);
  try {
    for (const Spec& spec : specs) bins.push_back(spec.own());
    auto result = count(bins);
    bool same = true;
    for (std::size_t d = 0; d < specs.size() && same; ++d)
      if (specs[d].even()) same = std::ranges::equal(edges(result, static_cast<unsigned>(d)), specs[d].numbers());
    if (same) return result;
  } catch (const masu::Error& error) {
    // the library refuses even bins without width, numpy.histogramdd does not
    if (!own || error.code() != masu::ErrorCode::invalid_argument) throw;
  }
  bins.clear();
  for (const Spec& spec : specs) bins.push_back(spec.given());
  return count(bins);
}

// The bins with which the library counts what NumPy counts in data of this dtype. Throws unsupported where edges do not
// tell where f16 values go.
inline masu::Bins bins_of(const Spec& spec, masu::Dtype dtype) {
  if (!spec.even() || same_edges(spec, dtype)) return spec.own();
  if (dtype != masu::Dtype::f16) return spec.given();
  throw masu::Error(masu::ErrorCode::unsupported, "histogram: this range is not supported for data of float16");
}

// Columns in host memory, or on one device.
struct Columns {
  explicit Columns(nb::handle list) {
    for (const nb::handle column : list) inputs.push_back(std::make_unique<Input>(column));
    for (const auto& input : inputs) {
      on_device = on_device || input->on_device();
      if (input->on_device()) buffers.push_back(&input->buffer());
      else views.push_back(input->view());
    }
  }
  [[nodiscard]] masu::Dtype dtype() const { return inputs.at(0)->dtype(); }

  std::vector<std::unique_ptr<Input>> inputs;
  std::vector<masu::ArrayView> views;
  std::vector<const masu::BufferBase*> buffers;
  bool on_device = false;
};

inline masu::JointHistogram joint_histogram_of(const Columns& in, std::span<const Spec> specs,
                                               const masu::Device& device) {
  return counted(
      specs,
      [&](const std::vector<masu::Bins>& which) {
        return in.on_device ? masu::joint_histogram(in.buffers, in.dtype(), which)
                            : masu::joint_histogram(device, in.views, which);
      },
      [](const masu::JointHistogram& h, unsigned d) { return h.edges(d); });
}

}  // namespace masu_python
