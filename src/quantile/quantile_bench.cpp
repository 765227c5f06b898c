// SPDX-License-Identifier: Apache-2.0
// How fast a median is found and data is parted around it. Axes: device, case, number of elements, distribution, CPU
// threads. Every result is checked before it is timed; masu and the plain reading of the same bytes take turns.
#include <masu/quantile.h>

#include "bench/ordering.h"
#include "bench/runner.h"
#include "elements/order.h"

#include <array>
#include <chrono>
#include <optional>
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

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

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
class Finding final : public Work {
 public:
  Finding(const QuantileCase& what, const Input& input, const Device& device, Ceilings& ceilings)
      : what_(what),
        input_(input),
        ceilings_(ceilings),
        data_(device.upload(input.bytes())),
        parted_(device, what.parts ? data_.size() : 0),
        stream_(device) {
    if (device.kind() == DeviceKind::cpu) here_.emplace(input.bytes());
  }
  double run() override {
    const double start = seconds_now();
    const std::uint64_t middle = input_.view().count / 2;
    if (what_.parts) {
      sizes_ = partition(data_, what_.dtype, parted_, middle);
    } else {
      bits_ = nth_element_bits(data_, what_.dtype, middle);
    }
    return seconds_now() - start;
  }
  double ceiling() override {
    if (here_) return here_->read(input_.bytes());
    return ceilings_.reading(data_, input_.bytes()).read(stream_, data_).seconds();
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
  QuantileCase what_;
  const Input& input_;
  Ceilings& ceilings_;
  Buffer<std::byte> data_;
  Buffer<std::byte> parted_;
  Stream stream_;
  std::optional<CpuCeiling> here_;
  std::uint64_t bits_ = 0;
  PartitionResult sizes_;
};

}  // namespace

Measurements quantile_suite(const Request& request) {
  if (request.ladder || !request.strategies.empty()) {
    throw Error(ErrorCode::invalid_argument, "bench: quantile has no strategies and no --ladder");
  }
  Runner runner(request, {"kernel", "call"}, {"call"});
  for (const QuantileCase& what : request.selection.chosen_cases(std::span<const QuantileCase>(all_cases))) {
    for (const Device& device : request.devices) {
      const auto counts = device.info().gpu ? request.selection.counts(size_of(what.dtype), gpu_counts)
                                            : request.selection.counts(size_of(what.dtype), other_counts);
      for (const std::uint64_t count : counts) {
        runner.next_group();
        for (const std::string_view distribution :
             ordering_distributions_of(what.dtype, request.selection.distributions)) {
          const Input input = ordering_input(what.dtype, count, distribution);
          SortCase plain;
          plain.name = what.name;
          plain.dtype = what.dtype;
          runner.on_device(device, sort_row(plain, input, distribution), [&](const Row& row) {
            Finding work(what, input, device, runner.ceilings());
            runner.measure(row, work);
          });
        }
      }
    }
  }
  return runner.finish();
}

}  // namespace masu::bench
