// SPDX-License-Identifier: Apache-2.0
// What calls return or throw, compared bit for bit.
#pragma once

#include <gtest/gtest.h>
#include <masu/masu.h>
#include <masu/mpi.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace masu::mpi::test {

// Quantiles of any data begin with a sample of so many elements, as long as this lives.
class Sampled {
 public:
  explicit Sampled(std::uint64_t samples)
      : least_(std::exchange(detail::least_sampled, {0, 0})),
        samples_(std::exchange(detail::quantile_samples, {samples, samples})),
        each_(std::exchange(detail::quantile_samples_a_rank, 1)) {}
  ~Sampled() {
    detail::least_sampled = least_;
    detail::quantile_samples = samples_;
    detail::quantile_samples_a_rank = each_;
  }
  Sampled(const Sampled&) = delete;
  Sampled& operator=(const Sampled&) = delete;

 private:
  std::array<std::uint64_t, 2> least_;
  std::array<std::uint64_t, 2> samples_;
  std::uint64_t each_;
};

// What a call returns or throws, as bytes.
template <class F>
detail::Bytes outcome(const F& call) {
  detail::Bytes result;
  const auto add = [&](const void* data, std::size_t size) {
    const auto* first = static_cast<const std::byte*>(data);
    result.insert(result.end(), first, first + size);
  };
  const auto add_array = [&](const ArrayView& x) { add(x.data, x.count * size_of(x.dtype)); };
  const auto add_all = [&](const auto& numbers) { add(numbers.data(), numbers.size() * sizeof(numbers[0])); };
  try {
    const auto found = call();
    using Found = std::remove_cvref_t<decltype(found)>;
    if constexpr (std::is_same_v<Found, ReduceResult>) {
      if (found.op() == ReduceOp::count_nonzero) {
        add_all(found.nonzero());
      } else {
        if (found.op() != ReduceOp::max) add_array(found.min_values());
        if (found.op() != ReduceOp::min) add_array(found.max_values());
        if (found.op() != ReduceOp::max) add_all(found.min_indices());
        if (found.op() != ReduceOp::min) add_all(found.max_indices());
      }
    } else if constexpr (std::is_same_v<Found, Histogram> || std::is_same_v<Found, JointHistogram>) {
      result = found.bytes();
    } else if constexpr (std::is_same_v<Found, WeightedHistogram>) {
      add_all(found.totals());
      add_all(found.extra_totals());
      add_all(found.variances());
    } else if constexpr (std::is_same_v<Found, TopkResult>) {
      add_array(found.view());
      add_all(found.indices());
    } else if constexpr (std::is_same_v<Found, SumResult>) {
      const std::uint64_t bits = found.dtype() == Dtype::i64   ? std::bit_cast<std::uint64_t>(found.signed_integer())
                                 : found.dtype() == Dtype::u64 ? found.unsigned_integer()
                                                               : std::bit_cast<std::uint64_t>(found.value());
      add(&bits, sizeof bits);
    } else if constexpr (std::is_same_v<Found, UniqueArrays>) {
      result = found.values.bytes;
      add_all(found.counts);
    } else if constexpr (std::is_same_v<Found, double>) {
      add(&found, sizeof found);
    } else {
      for (const auto& one : found) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(one)>, Quantile>) {
          add(&one.value, sizeof one.value);
          add(&one.bits, sizeof one.bits);
        } else {
          add(&one, sizeof one);
        }
      }
    }
  } catch (const Error& error) {
    result.assign(1, static_cast<std::byte>(error.code()));
  }
  return result;
}

template <class F, class G>
void expect_same(const char* function, const F& distributed, const G& alone) {
  EXPECT_EQ(outcome(distributed), outcome(alone)) << function;
}

}  // namespace masu::mpi::test
