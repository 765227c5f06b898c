// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "all_dtypes.h"
#include "enqueue_forms.h"

namespace masu::test {

// A form of each kind for each dtype, whose elements are what bits there are.
inline void EnqueueForms::add_dtypes() {
  Buffer<std::byte>& few = buffer(10 * sizeof(double));
  Buffer<std::byte>& few_places = buffer(10 * sizeof(std::uint64_t));
  Buffer<std::byte>& status = buffer(sizeof(std::uint32_t));
  Buffer<std::byte>& counts = buffer(13 * sizeof(std::uint64_t));
  for (const Dtype dtype : test::all_dtypes) {
    const std::size_t size = size_of(dtype);
    const std::uint64_t n = std::min<std::uint64_t>(count_, count_ * 4 / size);
    if (n == 0 || (dtype == Dtype::f64 && !device_.info().fp64)) continue;
    const std::uint64_t k = std::min<std::uint64_t>(n, 10);
    const auto each = [&](const std::string& function, const auto& call) {
      add(function + " each " + std::string(to_string(dtype)), true, [=, this](Stream& s) {
        Buffer<std::byte> data = data_.slice(0, n * size);
        Buffer<std::byte> out = out_.slice(0, n * size);
        return call(s, data, out);
      });
    };
    using Bytes = Buffer<std::byte>;
    each("sort",
         [=, this](Stream& s, Bytes& data, Bytes& out) { return sort(s, data, dtype, out, {.workspace = with_}); });
    each("argsort", [=, this](Stream& s, Bytes& data, Bytes& /*out*/) {
      Bytes places = places_.slice(0, n * sizeof(std::uint64_t));
      return argsort(s, data, dtype, places, Dtype::u64, {.workspace = with_});
    });
    each("searchsorted", [=, this](Stream& s, Bytes& data, Bytes& out) {
      Bytes places = places_.slice(0, n * sizeof(std::uint64_t));
      return searchsorted(s, out, data, dtype, places, Dtype::u64);
    });
    each("topk", [=, this, &few, &few_places](Stream& s, Bytes& data, Bytes& /*out*/) {
      Bytes values = few.slice(0, k * size);
      Bytes places = few_places.slice(0, k * sizeof(std::uint64_t));
      return topk(s, data, dtype, k, values, places, {.workspace = with_});
    });
    each("elements_at", [=, this, &few](Stream& s, Bytes& data, Bytes& /*out*/) {
      const std::uint64_t place = n / 3;
      Bytes value = few.slice(0, size);
      return elements_at(s, data, dtype, {&place, 1}, value, {.workspace = with_});
    });
    each("partition", [=, this, &few_places](Stream& s, Bytes& data, Bytes& out) {
      const Bytes sizes = few_places.slice(0, 2 * sizeof(std::uint64_t));
      return partition(s, data, dtype, {out, sizes}, n / 2, with_);
    });
    each("unique", [=, this](Stream& s, Bytes& data, Bytes& out) {
      return unique(s, data, dtype, {out, result_}, with_);
    });
    each("run_length", [=, this](Stream& s, Bytes& data, Bytes& out) {
      return run_length(s, data, dtype, {out, result_}, with_);
    });
    each("scan",
         [=, this](Stream& s, Bytes& data, Bytes& out) { return scan(s, data, dtype, out, {.workspace = with_}); });
    each("reduce", [=, this, &few, &few_places](Stream& s, Bytes& data, Bytes& /*out*/) {
      const Bytes greatest = few.slice(0, size);
      const Bytes place = few_places.slice(0, sizeof(std::uint64_t));
      return reduce(s, data, dtype, {.max = &greatest, .max_indices = &place}, {.workspace = with_});
    });
    each("sum", [=, this, &status](Stream& s, Bytes& data, Bytes& /*out*/) {
      return sum(s, data, dtype, result_, {.workspace = with_, .status = &status});
    });
    const auto ready = std::make_shared<PreparedHistogram>(device_, dtype, Bins::even(10, 0, 100));
    each("histogram", [=, this, &counts](Stream& s, Bytes& data, Bytes& /*out*/) {
      return histogram(s, data, *ready, counts, with_);
    });
    each("convert", [=, this](Stream& s, Bytes& data, Bytes& /*out*/) {
      Bytes floats = wide_.slice(0, n * sizeof(float));
      return convert(s, data, dtype, floats, Dtype::f32, {.overflow = Overflow::saturate, .workspace = with_});
    });
  }
}

}  // namespace masu::test
