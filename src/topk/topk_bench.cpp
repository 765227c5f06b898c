// SPDX-License-Identifier: Apache-2.0
// How fast the first k are found. Axes: device, dtype and k, number of elements, distribution, CPU threads. Every
// result is checked against one pass over the data before it is timed; masu and the plain reading of the same bytes
// take turns.
#include <masu/topk.h>

#include "bench/ordering.h"
#include "bench/runner.h"
#include "topk/topk_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

namespace masu::bench {
namespace {

constexpr std::array<std::string_view, 2> gpu_counts = {"256Mi", "16Mi"};
constexpr std::array<std::string_view, 1> other_counts = {"16Mi"};

// The result has the k first in order, each with the value at its index; and as many elements come before the last one
// as stand before it: so nothing is missing.
template <class T>
bool is_right(const ArrayView& data, std::uint64_t k, const std::vector<std::uint64_t>& indices,
              const std::vector<std::byte>& bytes) {
  const Ranking rank(data.dtype, true, NanPolicy::last);
  const auto* elements = static_cast<const T*>(data.data);
  for (std::uint64_t i = 0; i < k; ++i) {
    if (indices[i] >= data.count) return false;
    KeyOf<T> bits;
    std::memcpy(&bits, bytes.data() + i * sizeof(T), sizeof(T));
    if (bits != std::bit_cast<KeyOf<T>>(elements[indices[i]])) return false;
    if (i == 0) continue;
    const auto before = rank(elements[indices[i - 1]]);
    const auto here = rank(elements[indices[i]]);
    if (before < here || (before == here && indices[i - 1] >= indices[i])) return false;
  }
  const auto last = rank(elements[indices[k - 1]]);
  std::uint64_t first = 0;
  for (std::uint64_t e = 0; e < data.count; ++e) {
    const auto here = rank(elements[e]);
    first += here > last || (here == last && e < indices[k - 1]) ? 1 : 0;
  }
  return first == k - 1;
}

// On memory of the device, to memory of the device.
class Choosing final : public Reading {
 public:
  Choosing(const TopkCase& what, const Input& input, const Device& device, Ceilings& ceilings)
      : Reading(input.bytes(), device, ceilings),
        what_(what),
        input_(input),
        values_(device, what.k * size_of(what.dtype)),
        indices_(device, what.k),
        workspace_(device, topk_workspace(device, what.dtype, input.view().count, what.k)) {}
  void check(const std::string& name) override {
    const std::vector<std::uint64_t> indices = indices_.read();
    const std::vector<std::byte> values = values_.read();
    const bool right = dispatch(what_.dtype, [&](auto tag) {
      return is_right<typename decltype(tag)::type>(input_.view(), what_.k, indices, values);
    });
    if (!right) throw WrongResult("bench: " + name + ": the result is not the first " + std::to_string(what_.k));
  }
  [[nodiscard]] std::uint64_t scratch() const override { return workspace_.size_bytes(); }

 private:
  void once(Times* times) override {
    topk(data(), what_.dtype, what_.k, values_, indices_,
         {.workspace = workspace_.empty() ? nullptr : &workspace_, .times = times});
  }

  TopkCase what_;
  const Input& input_;
  Buffer<std::byte> values_;
  Buffer<std::uint64_t> indices_;
  Buffer<std::byte> workspace_;
};

}  // namespace

Measurements topk_suite(const Request& request) {
  refuse_strategies(request, "topk");
  Runner runner(request, {"kernel", "call"}, {"kernel", "call"});
  const auto measure = [&](const TopkCase& what, const Device& device, std::string_view distribution,
                           std::uint64_t count) {
    if (count < what.k) return;
    const Input input = ordering_input(what.dtype, count, distribution);
    runner.measure({&device, 1}, topk_row(what, input, distribution),
                   [&](const Device&) { return Choosing(what, input, device, runner.ceilings()); });
  };
  return each_ordering(request, runner, topk_cases(), gpu_counts, other_counts, measure);
}

}  // namespace masu::bench
