// SPDX-License-Identifier: Apache-2.0
// How fast a median is found and data is parted around it. Axes: device, case, number of elements, distribution, CPU
// threads. Every result is checked before it is timed; masu and the plain reading of the same bytes take turns.
#include <masu/quantile.h>

#include "bench/ordering.h"
#include "bench/runner.h"
#include "elements/order.h"

#include <array>
#include <vector>

namespace masu::bench {
namespace {

struct QuantileCase {
  std::string_view name;
  Dtype dtype;
  bool parts;  // a partition, else the element in the middle
  bool usual = true;
};
constexpr std::array<QuantileCase, 8> all_cases = {{{"median-u8", Dtype::u8, false, false},
                                                    {"median-u32", Dtype::u32, false, false},
                                                    {"median-f32", Dtype::f32, false},
                                                    {"median-f64", Dtype::f64, false},
                                                    {"median-i64", Dtype::i64, false, false},
                                                    {"partition-u32", Dtype::u32, true, false},
                                                    {"partition-f32", Dtype::f32, true},
                                                    {"partition-f64", Dtype::f64, true, false}}};
constexpr std::array<std::string_view, 2> gpu_counts = {"256Mi", "16Mi"};
constexpr std::array<std::string_view, 1> other_counts = {"16Mi"};

// How many elements come before an element of these bits, and how many are equal to it.
template <class T>
PartitionResult around(const ArrayView& data, std::uint64_t bits) {
  const auto wanted = ordered_key(std::bit_cast<T>(static_cast<KeyOf<T>>(bits)));
  const auto* elements = static_cast<const T*>(data.data);
  PartitionResult result;
  for (std::uint64_t e = 0; e < data.count; ++e) {
    const auto here = ordered_key(elements[e]);
    result.less += here < wanted ? 1 : 0;
    result.equal += here == wanted ? 1 : 0;
  }
  return result;
}

// By the host's clock: passes are planned between the launches.
class Finding final : public Reading {
 public:
  Finding(const QuantileCase& what, const Input& input, const Device& device, Ceilings& ceilings)
      : Reading(input.bytes(), device, ceilings),
        what_(what),
        input_(input),
        parted_(device, what.parts ? data().size() : 0) {}
  double run() override {
    const double start = now();
    once(nullptr);
    return now() - start;
  }
  void check(const std::string& name) override {
    const ArrayView data = input_.view();
    const std::uint64_t middle = data.count / 2;
    const bool right = dispatch(what_.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if (!what_.parts) {
        const PartitionResult sizes = around<T>(data, bits_);
        return sizes.less <= middle && middle < sizes.less + sizes.equal;
      }
      const std::vector<std::byte> parted = parted_.read();
      const auto* elements = reinterpret_cast<const T*>(parted.data());
      const auto pivot = std::bit_cast<KeyOf<T>>(elements[sizes_.less]);
      if (!(around<T>(data, pivot) == sizes_) || middle < sizes_.less || middle >= sizes_.less + sizes_.equal)
        return false;
      const ArrayView less(data.dtype, elements, sizes_.less);
      const ArrayView equal(data.dtype, elements + sizes_.less, sizes_.equal);
      return around<T>(less, pivot).less == sizes_.less && around<T>(equal, pivot).equal == sizes_.equal;
    });
    if (!right) throw WrongResult("bench: " + name + ": the result is not that of the input");
  }

 private:
  void once(Times*) override {
    const std::uint64_t middle = input_.view().count / 2;
    if (what_.parts) sizes_ = partition(data(), what_.dtype, parted_, middle);
    else bits_ = nth_element_bits(data(), what_.dtype, middle);
  }

  QuantileCase what_;
  const Input& input_;
  Buffer<std::byte> parted_;
  std::uint64_t bits_ = 0;
  PartitionResult sizes_;
};

}  // namespace

Measurements quantile_suite(const Request& request) {
  refuse_strategies(request, "quantile");
  Runner runner(request, {"kernel", "call"}, {"call"});
  const auto measure = [&](const QuantileCase& what, const Device& device, std::string_view distribution,
                           std::uint64_t count) {
    const Input input = ordering_input(what.dtype, count, distribution);
    runner.measure({&device, 1}, ordering_row(what.name, input, distribution),
                   [&](const Device&) { return Finding(what, input, device, runner.ceilings()); });
  };
  return each_ordering(request, runner, std::span<const QuantileCase>(all_cases), gpu_counts, other_counts, measure);
}

}  // namespace masu::bench
