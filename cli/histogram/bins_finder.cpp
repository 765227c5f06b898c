// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram/bins_finder.h"

#include "ranks.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace masu::cli {
namespace {

constexpr double most_estimated_bins = 1U << 24U;
constexpr std::uint64_t most_checked_bins = 1U << 20U;
constexpr double most_default_bins = 1024;  // for integers between given limits: a bin for each value up to here

Bins bins_of_range(const BinsRequest& request, Dtype dtype) {
  const auto [lo, hi] = *request.range;
  if (request.log) return Bins::logarithmic(request.bins.value_or(default_bins), lo, hi);
  const double values = hi - lo;
  const bool whole = !is_float(dtype) && values == std::floor(values) && values >= 1;
  const bool each = whole && lo == std::floor(lo) && values <= most_default_bins;
  return Bins::even(request.bins.value_or(each ? static_cast<std::uint64_t>(values) : default_bins), lo, hi);
}

// The bins, where they do not depend on the data.
std::optional<Bins> bins_without_data(const BinsRequest& request, const io::SourceInfo& info) {
  if (request.integers) return Bins::integers(*request.integers);
  if (!request.edges.empty()) return Bins::edges(request.edges);
  if (request.rule) return std::nullopt;
  if (request.range) return bins_of_range(request, info.dtype);
  if (request.bins || request.log) return std::nullopt;
  if (size_of(info.dtype) == 1) return Bins::for_data(info.dtype, std::nullopt);
  if (!info.channels.empty() && info.dtype == Dtype::u16) return Bins::integers(std::uint64_t{1} << 16U);
  return std::nullopt;
}

// The data's range for equal ratios: one value is widened by a factor of 2, no value gives 1:10.
Bins logarithmic_bins(std::uint64_t bins, const std::optional<ValueRange>& range, const std::string& name) {
  if (!range) return Bins::logarithmic(bins, 1, 10);
  auto [lo, hi, single] = *range;
  if (lo <= 0) {
    throw Error(ErrorCode::io, fmt::format("{}: --log needs positive values, the least one is {}; give --range LO:HI",
                                           name, io::format_number(lo)));
  }
  if (lo == hi) {
    lo = std::max(lo / 2, std::numeric_limits<double>::denorm_min());
    hi = std::min(hi * 2, std::numeric_limits<double>::max());
  }
  return Bins::logarithmic(bins, lo, hi);
}

}  // namespace

BinsFinder::BinsFinder(const BinsRequest& request, const io::SourceInfo& info, const Device& device)
    : request_(request),
      name_(info.name),
      dtype_(info.dtype),
      device_(device),
      bins_(bins_without_data(request, info)) {
  if (bins_) check_width();
  if (bins_ || !request.rule) return;
  estimator_.emplace(dtype_, request.range ? Bins::automatic(*request.rule, request.range->first, request.range->second)
                                           : Bins::automatic(*request.rule));
}

void BinsFinder::add(const ArrayView& piece) {
  if (estimator_) estimator_->add(piece);
  else range_ = merge(range_, finite_range(device_, piece));
}

// Far values make bins by the billion of little data.
void BinsFinder::end_estimate() {
  if (ranks().several()) {
    const auto both = [](const Ranks::Bytes& before, const Ranks::Bytes& after) {
      BinEstimator merged = BinEstimator::from_bytes(before);
      merged.merge(BinEstimator::from_bytes(after));
      return merged.bytes();
    };
    estimator_ = BinEstimator::from_bytes(ranks().merge("bins of a rule", estimator_->bytes(), both));
  }
  if (estimator_->next_pass()) return;
  if (!(estimator_->bins_found() <= most_estimated_bins)) {
    throw Error(ErrorCode::io,
                fmt::format("{}: the rule must find at most {} bins, got {}; give --range LO:HI, which leaves far "
                            "values out, or --bins N",
                            name_, most_estimated_bins, estimator_->bins_found()));
  }
  bins_ = estimator_->bins();
}

void BinsFinder::merge_ranges() {
  if (!ranks().several()) return;
  Ranks::Bytes mine(range_ ? sizeof(ValueRange) : 0);
  if (range_) std::memcpy(mine.data(), &*range_, sizeof(ValueRange));
  range_.reset();
  for (const Ranks::Bytes& part : ranks().from_each("range", std::move(mine))) {
    if (part.empty()) continue;
    ValueRange one{};
    std::memcpy(&one, part.data(), sizeof one);
    range_ = merge(range_, one);
  }
}

void BinsFinder::end_pass() {
  if (!estimator_) merge_ranges();
  if (estimator_) {
    end_estimate();
  } else if (request_.log) {
    bins_ = logarithmic_bins(request_.bins.value_or(default_bins), range_, name_);
  } else if (!request_.bins) {
    bins_ = Bins::for_data(dtype_, range_);
  } else {
    bins_ = range_ ? Bins::even(*request_.bins, *range_) : Bins::even(*request_.bins, 0, 1);
  }
  if (bins_) check_width();
}

// Edges are f64, which does not have every whole number beyond 2^53.
void BinsFinder::check_width() const {
  if (is_float(dtype_) || size_of(dtype_) < 8 || bins_->kind() != Bins::Kind::even ||
      bins_->size() > most_checked_bins) {
    return;
  }
  try {
    (void)bin_edges(*bins_, dtype_);
  } catch (const Error&) {
    throw Error(request_.range ? ErrorCode::invalid_argument : ErrorCode::io,
                fmt::format("{}: {} bins of whole numbers beyond 2^53 have no width, as f64 does not hold their edges; "
                            "count each value with masu unique, or give fewer bins over a wider --range",
                            name_, bins_->size()));
  }
}

Dtype BinsFinder::edge_dtype(bool joint) const {
  // Even bins of f32 and f16 data are numbers of that dtype; in joint histograms only those over the data's own range.
  const bool narrow = dtype_ == Dtype::f32 || dtype_ == Dtype::f16;
  const bool own = narrow && bins_->kind() == Bins::Kind::even && !(joint && request_.range);
  return own ? dtype_ : Dtype::f64;
}

}  // namespace masu::cli
