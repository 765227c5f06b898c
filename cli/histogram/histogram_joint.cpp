// SPDX-License-Identifier: Apache-2.0
// --joint: how many points fall into each cell of a grid.
#include "cli/histogram/counter.h"
#include "cli/selftest/reference_counts.h"

#include "runtime/half.h"

#include <masu/joint_histogram.h>
#include <algorithm>
#include <cmath>
#include <cstring>

namespace masu::cli {
namespace {

double value_at(const ArrayView& data, std::uint64_t i) {
  return dispatch(data.dtype, [&](auto tag) -> double {
    using T = typename decltype(tag)::type;
    T value;
    std::memcpy(&value, static_cast<const char*>(data.data) + i * sizeof(T), sizeof(T));
    if constexpr (std::is_same_v<T, Half>) return runtime::to_double(value);
    else return static_cast<double>(value);
  });
}

class JointCounter final : public Counter {
 public:
  explicit JointCounter(const CounterRequest& request)
      : accumulator_(request.device, request.input.info.dtype, request.bins, request.options),
        options_(request.options),
        name_(request.input.info.name) {
    for (const Bins& bins : request.bins) {
      half_open_.push_back(options_.right_open || bins.kind() == Bins::Kind::integers);
    }
  }

  void add(std::span<const ArrayView> piece) override {
    if (piece.size() == 1 && half_open_.size() > 1) accumulator_.add_interleaved(piece.front());
    else accumulator_.add(piece);
  }

  void start_reference() override {
    const JointHistogram empty = accumulator_.result();
    for (unsigned d = 0; d < empty.dimensions(); ++d) edges_.push_back(empty.edges(d));
    expected_.resize(empty.counts().size());
  }

  void add_reference(std::span<const ArrayView> piece) override {
    const std::size_t dimensions = edges_.size();
    const bool interleaved = piece.size() < dimensions;
    std::vector<double> point(dimensions);
    for (std::uint64_t i = 0; i < piece.front().count / (interleaved ? dimensions : 1); ++i) {
      for (std::size_t d = 0; d < dimensions; ++d) {
        point[d] = interleaved ? value_at(piece.front(), i * dimensions + d) : value_at(piece[d], i);
      }
      add_point(point);
    }
  }

  void finish(HistogramResult& result) override { result.joint = accumulator_.result(); }
  void share(HistogramResult& result) override {
    result.joint = result.joint->with_integers(sum_of_ranks(result.joint->integers()));
  }

  void compare(const HistogramResult& result) const override {
    if (edges_.empty()) return;
    check_counts(name_, result.joint->counts(), expected_);
    check_count(name_, "outside", result.joint->outside(), outside_);
    check_count(name_, "nan", result.joint->nan(), nan_);
  }

  [[nodiscard]] Times times() const override { return accumulator_.times(); }

 private:
  void add_point(const std::vector<double>& point) {
    const bool clamp = options_.outside == Outside::clamp;
    std::size_t cell = 0;
    bool inside = true;
    for (std::size_t d = 0; d < point.size(); ++d) {
      const std::vector<double>& edges = edges_[d];
      const double x = point[d];
      if (std::isnan(x)) {
        ++nan_;
        return;
      }
      std::size_t bin = 0;
      const bool below = x < edges.front();
      const bool above = x > edges.back() || (half_open_[d] && x == edges.back());
      if (above) bin = edges.size() - 2;
      else if (!below)
        bin = static_cast<std::size_t>(std::upper_bound(edges.begin(), edges.end() - 1, x) - edges.begin()) - 1;
      inside = inside && (clamp || !(below || above));
      cell = cell * (edges.size() - 1) + bin;
    }
    ++(inside ? expected_[cell] : outside_);
  }

  JointHistogramAccumulator accumulator_;
  HistogramOptions options_;
  std::string name_;
  std::vector<bool> half_open_;
  std::vector<std::vector<double>> edges_;
  std::vector<std::uint64_t> expected_;
  std::uint64_t outside_ = 0;
  std::uint64_t nan_ = 0;
};

}  // namespace

std::unique_ptr<Counter> count_joint(const CounterRequest& request) {
  return std::make_unique<JointCounter>(request);
}

}  // namespace masu::cli
