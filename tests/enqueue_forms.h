// SPDX-License-Identifier: Apache-2.0
// A call of every form that takes a stream, on buffers of one device, in the caller's workspace. Calls find the buffers
// when they run, so a test may put others in their places.
#pragma once

#include <masu/convert.h>
#include <masu/gather.h>
#include <masu/histogram.h>
#include <masu/joint_histogram.h>
#include <masu/quantile.h>
#include <masu/reduce.h>
#include <masu/row_histogram.h>
#include <masu/scan.h>
#include <masu/search.h>
#include <masu/sort.h>
#include <masu/sum.h>
#include <masu/topk.h>
#include <masu/transpose.h>
#include <masu/unique.h>
#include <masu/weighted_histogram.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <list>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace masu::test {

class EnqueueForms {
 public:
  enum class Part { sorts, selections, sums, histograms, moves, dtypes };
  // Gets the result of what was enqueued.
  using Get = std::function<void()>;
  using Buffers = std::vector<Buffer<std::byte>*>;
  struct Form {
    std::string name;  // begins with the function's, but "prepared histogram"
    std::function<Get(Stream&)> run;
    bool in_buffers;  // all results are in contents()
    Buffers results;  // of one size that the call demands; perhaps not all
  };

  // Of arrays of `count` elements. Buffers may be `together` in one allocation, so that contents are written and read
  // at once; otherwise each has its own, which sanitizers watch.
  EnqueueForms(const Device& device, std::uint64_t count, std::optional<Part> only = std::nullopt,
               bool together = false)
      : device_(device),
        count_(count),
        together_(device, together ? 100 * (8 * count + 256) + (std::uint64_t{16} << 20) : 0),
        data_(buffer(count * 4)),
        more_(buffer(count * 4)),
        flags_(buffer(count)),
        keys_(buffer(count * 4)),
        out_(buffer(count * 4)),
        wide_(buffer(count * 8)),
        places_(buffer(count * 8)),
        result_(buffer(sizeof(double))),
        room_(device, std::uint64_t{64} << 20),
        segments_{0, count / 3, count / 3, count / 2, count} {
    set_contents(0);
    const std::pair<Part, void (EnqueueForms::*)()> parts[] = {{Part::sorts, &EnqueueForms::add_sorts},
                                                               {Part::selections, &EnqueueForms::add_selections},
                                                               {Part::sums, &EnqueueForms::add_sums},
                                                               {Part::histograms, &EnqueueForms::add_histograms},
                                                               {Part::moves, &EnqueueForms::add_moves}};
    for (const auto& [part, add_part] : parts) {
      if (!only || *only == part) (this->*add_part)();
    }
  }

  // Of each dtype, for what has Part::dtypes alone (enqueue_dtypes.h).
  void add_dtypes();
  [[nodiscard]] const std::vector<Form>& forms() const noexcept { return forms_; }
  // The calls' workspace, and what they use unless told otherwise.
  [[nodiscard]] const Buffer<std::byte>& room() const noexcept { return room_; }
  void use_workspace(const BufferBase* workspace) noexcept { with_ = workspace; }
  // What most calls read, and what some sort in place.
  [[nodiscard]] Buffer<std::byte>& data() noexcept { return data_; }
  [[nodiscard]] Buffer<std::byte>& keys() noexcept { return keys_; }
  [[nodiscard]] Buffer<std::byte>& more() noexcept { return more_; }  // indices
  // New contents for all buffers but the workspace: numbers, among them few that are alike, in [0, 1); indices, a
  // permutation.
  void set_contents(unsigned seed) {
    std::mt19937 random(seed);
    std::vector<float> numbers(count_);
    std::ranges::generate(numbers, [&] { return static_cast<float>(random() % 60000) / 65536; });
    std::vector<std::uint32_t> indices(count_);
    std::iota(indices.begin(), indices.end(), 0U);
    std::ranges::shuffle(indices, random);
    std::vector<std::byte> all(used_);
    for (Buffer<std::byte>& each : contents_) {
      std::vector<std::byte> own(used_ == 0 ? each.size() : 0);
      const std::span<std::byte> bytes = used_ == 0 ? own : std::span(all).subspan(each.byte_offset(), each.size());
      if (&each == &more_) {
        std::memcpy(bytes.data(), indices.data(), bytes.size());
      } else if (&each == &flags_) {
        std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random() % 3); });
      } else {
        for (std::size_t at = 0; at < bytes.size(); at += count_ * sizeof(float)) {
          std::memcpy(bytes.data() + at, numbers.data(), std::min(bytes.size() - at, count_ * sizeof(float)));
        }
      }
      if (used_ == 0) each.write(bytes);
    }
    if (used_ != 0) together_.write(all);
  }
  [[nodiscard]] std::vector<std::vector<std::byte>> contents() const {
    if (used_ != 0) return {together_.slice(0, used_).read()};
    std::vector<std::vector<std::byte>> all;
    for (const Buffer<std::byte>& each : contents_) all.push_back(each.read());
    return all;
  }

 private:
  template <class Call>
  void add(std::string name, bool in_buffers, const Call& call, Buffers results = {}) {
    forms_.push_back({std::move(name),
                      [call](Stream& stream) -> Get {
                        auto pending = call(stream);
                        return [kept = std::make_shared<decltype(pending)>(std::move(pending))] { (void)kept->get(); };
                      },
                      in_buffers, std::move(results)});
  }
  Buffer<std::byte>& buffer(std::uint64_t bytes) {
    if (together_.size() == 0) return contents_.emplace_back(device_, bytes);
    const std::uint64_t at = used_;
    used_ += (bytes + 255) / 256 * 256;
    return contents_.emplace_back(together_.slice(at, bytes));
  }

  void add_sorts();
  void add_groups();
  [[nodiscard]] std::vector<std::uint64_t> segments_of(Dtype dtype) const;
  void add_selections();
  void add_sums();
  void add_histograms();
  void add_moves();

  Device device_;
  std::uint64_t count_;
  Buffer<std::byte> together_;
  std::uint64_t used_ = 0;  // bytes of together_
  std::list<Buffer<std::byte>> contents_;
  Buffer<std::byte>& data_;
  Buffer<std::byte>& more_;
  Buffer<std::byte>& flags_;
  Buffer<std::byte>& keys_;
  Buffer<std::byte>& out_;
  Buffer<std::byte>& wide_;
  Buffer<std::byte>& places_;
  Buffer<std::byte>& result_;
  Buffer<std::byte> room_;
  const BufferBase* with_ = &room_;
  std::uint64_t segments_[5];
  std::vector<Form> forms_;
};

inline void EnqueueForms::add_sorts() {
  for (const Dtype dtype : {Dtype::f32, Dtype::u32}) {
    const std::string type = " " + std::string(to_string(dtype));
    add("sort" + type, true, [=, this](Stream& s) { return sort(s, keys_, dtype, {.workspace = with_}); });
    add("searchsorted" + type, true,
        [=, this](Stream& s) { return searchsorted(s, data_, more_, dtype, places_, Dtype::u64); }, {&places_});
  }
  add("sort apart", true, [this](Stream& s) { return sort(s, data_, Dtype::f32, out_, {.workspace = with_}); },
      {&out_});
  add("sort u8", true, [this](Stream& s) { return sort(s, keys_, Dtype::u8, {.workspace = with_}); });
  add("sort u16", true, [this](Stream& s) { return sort(s, keys_, Dtype::u16, {.workspace = with_}); });
  const std::uint64_t short_rows = std::max<std::uint64_t>(count_ / 100, 1);
  // Of four times as many bytes: they are too long for work-groups where there are many keys.
  const std::uint64_t long_rows = count_ % 2 == 0 ? 2 : 1;
  for (const std::uint64_t rows : {short_rows, long_rows}) {
    for (const Dtype dtype : {Dtype::f32, Dtype::u8}) {
      const std::string type = std::string(" ") + std::to_string(rows) + " " + std::string(to_string(dtype));
      add("sort rows" + type, true,
          [=, this](Stream& s) { return sort(s, keys_, dtype, {.rows = rows, .workspace = with_}); });
    }
    add("argsort rows " + std::to_string(rows), true,
        [=, this](Stream& s) {
          return argsort(s, data_, Dtype::f32, places_, Dtype::u64, {.rows = rows, .workspace = with_});
        },
        {&places_});
    add("sort_by_key rows " + std::to_string(rows), true, [=, this](Stream& s) {
      return sort_by_key(s, keys_, Dtype::u32, wide_, 8, {.rows = rows, .workspace = with_});
    });
  }
  add("sort segments", true,
      [this](Stream& s) { return sort(s, keys_, Dtype::f32, {.segments = segments_, .workspace = with_}); });
  for (const Dtype dtype : {Dtype::f32, Dtype::u8, Dtype::u64}) {
    if (count_ * 4 % size_of(dtype) != 0) continue;
    const auto ready =
        std::make_shared<const PreparedSegments>(device_, dtype, count_ * 4 / size_of(dtype), segments_of(dtype));
    add("sort prepared segments " + std::string(to_string(dtype)), true,
        [=, this](Stream& s) { return sort(s, data_, dtype, out_, {.prepared = ready.get(), .workspace = with_}); },
        {&out_});
  }
  for (const std::size_t bytes : {4, 3}) {  // moved with the keys, and gathered at the end
    const auto ready = std::make_shared<const PreparedSegments>(device_, Dtype::f32, count_, segments_, bytes);
    Buffer<std::byte>& values = buffer(count_ * bytes);
    add("sort_by_key prepared segments " + std::to_string(bytes), true,
        [=, this, &values](Stream& s) {
          return sort_by_key(s, keys_, Dtype::f32, values, bytes, {.prepared = ready.get(), .workspace = with_});
        },
        {&values});
  }
  const auto ordered = std::make_shared<const PreparedSegments>(
      PreparedSegments::for_argsort(device_, Dtype::f32, count_, segments_, Dtype::u64));
  add("argsort prepared segments", true,
      [=, this](Stream& s) {
        return argsort(s, data_, Dtype::f32, places_, Dtype::u64, {.prepared = ordered.get(), .workspace = with_});
      },
      {&places_});
  add("sort_by_key", true,
      [this](Stream& s) { return sort_by_key(s, keys_, Dtype::f32, out_, 4, {.workspace = with_}); }, {&out_});
  add("argsort", true,
      [this](Stream& s) { return argsort(s, data_, Dtype::f32, places_, Dtype::u64, {.workspace = with_}); },
      {&places_});
  add_groups();
}

inline void EnqueueForms::add_selections() {
  const std::uint64_t k = std::min<std::uint64_t>(count_, 10);
  add("topk", false, [=, this](Stream& s) { return topk(s, data_, Dtype::f32, k, {.workspace = with_}); });
  Buffer<std::byte>& best = buffer(k * sizeof(float));
  Buffer<std::byte>& best_places = buffer(k * sizeof(std::uint64_t));
  add("topk results", true,
      [=, this, &best, &best_places](Stream& s) {
        return topk(s, data_, Dtype::f32, k, best, best_places, {.workspace = with_});
      },
      {&best, &best_places});
  add("topk results of a length", true, [=, this, &best, &best_places](Stream& s) {
    const Buffer<std::byte> one = more_.slice(0, 4);
    const TopkOptions options{.lengths = &one, .lengths_dtype = Dtype::u32, .workspace = with_};
    return topk(s, data_, Dtype::f32, k, best, best_places, options);
  });
  add("topk of half", false,
      [this](Stream& s) { return topk(s, data_, Dtype::f32, (count_ + 1) / 2, {.workspace = with_}); });
  add("topk of half, skipping", false, [this](Stream& s) {
    return topk(s, data_, Dtype::f32, (count_ + 1) / 2, {.nan = NanPolicy::skip, .workspace = with_});
  });
  for (const Dtype dtype : {Dtype::f32, Dtype::u64, Dtype::f64}) {
    const std::uint64_t elements = count_ * sizeof(float) / size_of(dtype);
    const bool skipping = dtype == Dtype::f64;
    if (elements == 0 || (dtype == Dtype::f64 && !device_.info().fp64)) continue;
    const std::uint64_t half = (elements + 1) / 2;
    Buffer<std::byte>& many = buffer(half * size_of(dtype));
    Buffer<std::byte>& many_places = buffer(half * sizeof(std::uint64_t));
    add("topk results of half " + std::string(to_string(dtype)), true,
        [=, this, &many, &many_places](Stream& s) {
          const Buffer<std::byte> data = data_.slice(0, elements * size_of(dtype));
          const NanPolicy nan = skipping ? NanPolicy::skip : NanPolicy::last;
          return topk(s, data, dtype, half, many, many_places, {.largest = skipping, .nan = nan, .workspace = with_});
        },
        {&many, &many_places});
  }
  Buffer<std::byte>& one = buffer(sizeof(float));
  add("elements_at", true,
      [this, &one](Stream& s) {
        const std::uint64_t place = count_ / 3;
        return elements_at(s, data_, Dtype::f32, {&place, 1}, one, {.workspace = with_});
      },
      {&one});
  add("median", true, [this, &one](Stream& s) { return median(s, data_, Dtype::f32, one, {.workspace = with_}); },
      {&one});
  const std::uint64_t rows = count_ % 2 == 0 ? 2 : 1;
  Buffer<std::byte>& medians = buffer(rows * sizeof(float));
  add("median of rows", true,
      [=, this, &medians](Stream& s) {
        return median(s, data_, Dtype::f32, medians, {.rows = rows, .workspace = with_});
      },
      {&medians});
  Buffer<std::byte>& several = buffer(3 * rows * sizeof(float));
  add("quantiles of rows", true,
      [=, this, &several](Stream& s) {
        const double q[] = {0.1, 0.5, 0.77};
        const auto points = quantile_points(QuantileMethod::linear, std::max<std::uint64_t>(1, count_ / rows), q);
        return quantiles(s, data_, Dtype::f32, points, several, Dtype::f32, {.rows = rows, .workspace = with_});
      },
      {&several});
  add("nan_quantiles of rows", true,
      [=, this, &several](Stream& s) {
        const double q[] = {0.1, 0.5, 0.77};
        return nan_quantiles(s, data_, Dtype::f32, QuantileMethod::hazen, q, several, Dtype::f32,
                             {.rows = rows, .workspace = with_});
      },
      {&several});
  add("nan_median of rows", true,
      [=, this, &medians](Stream& s) {
        return nan_median(s, data_, Dtype::f32, medians, {.rows = rows, .workspace = with_});
      },
      {&medians});
  Buffer<std::byte>& sizes = buffer(2 * sizeof(std::uint64_t));
  add("partition", true,
      [this, &sizes](Stream& s) {
        return partition(s, data_, Dtype::f32, {out_, sizes}, count_ / 3, with_);
      },
      {&out_, &sizes});
  add("argpartition", true,
      [this, &sizes](Stream& s) {
        return argpartition(s, data_, Dtype::f32, {places_, sizes}, Dtype::u64, count_ / 2, with_);
      },
      {&places_, &sizes});
  add("unique", false, [this](Stream& s) { return unique(s, data_, Dtype::f32, {.workspace = with_}); });
  add("unique values", true,
      [this](Stream& s) {
        return unique(s, data_, Dtype::f32, {out_, result_, &places_}, with_);
      },
      {&out_, &result_, &places_});
  Buffer<std::byte>& inverse = buffer(count_ * sizeof(std::uint64_t));
  add("unique all", true,
      [this, &inverse](Stream& s) {
        return unique(s, data_, Dtype::f32, {out_, result_, &places_, &wide_, &inverse}, with_);
      },
      {&out_, &result_, &places_, &wide_, &inverse});
  for (const Dtype dtype : {Dtype::f32, Dtype::u8, Dtype::u64}) {
    const std::uint64_t keys = count_ / 2 * 2;
    add("run_length results " + std::string(to_string(dtype)), true,
        [=, this](Stream& s) {
          const std::uint64_t elements = size_of(dtype) == 8 ? keys / 2 : count_;
          const std::uint64_t bytes = elements * size_of(dtype);
          const Buffer<std::byte> lengths = places_.slice(0, elements * 8);
          return run_length(s, data_.slice(0, bytes), dtype, {out_.slice(0, bytes), result_, &lengths, nullptr}, with_);
        },
        {&result_});
  }
  add("run_length all", true,
      [this](Stream& s) {
        return run_length(s, data_, Dtype::f32, {out_, result_, &places_, &wide_}, with_);
      },
      {&out_, &result_, &places_, &wide_});
  add("run_length", false, [this](Stream& s) { return run_length(s, data_, Dtype::f32, {.workspace = with_}); });
}

inline void EnqueueForms::add_sums() {
  for (const Dtype dtype : {Dtype::f32, Dtype::u32}) {
    const std::string type = " " + std::string(to_string(dtype));
    add("scan" + type, true, [=, this](Stream& s) { return scan(s, data_, dtype, out_, {.workspace = with_}); });
    add("reduce" + type, false,
        [=, this](Stream& s) { return reduce(s, data_, dtype, ReduceOp::minmax, {.workspace = with_}); });
    add("sum" + type, false, [=, this](Stream& s) { return sum(s, data_, dtype, {.workspace = with_}); });
  }
  add("scan i32 as i64", true,
      [this](Stream& s) { return scan(s, data_, Dtype::i32, wide_, {.result = Dtype::i64, .workspace = with_}); });
  add("reduce count_nonzero", false,
      [=, this](Stream& s) { return reduce(s, data_, Dtype::f32, ReduceOp::count_nonzero, {.workspace = with_}); });
  add("dot", false, [=, this](Stream& s) { return dot(s, data_, more_, Dtype::f32, {.workspace = with_}); });
  add("mean", false, [=, this](Stream& s) { return mean(s, data_, Dtype::f32, {.workspace = with_}); });
  add("norm2", false, [=, this](Stream& s) { return norm2(s, data_, Dtype::f32, {.workspace = with_}); });
  add("variance", false, [=, this](Stream& s) { return variance(s, data_, Dtype::f32, {.workspace = with_}); });
  add("sum results", true, [this](Stream& s) { return sum(s, data_, Dtype::f32, result_, {.workspace = with_}); },
      {&result_});
  add("dot results", true,
      [this](Stream& s) { return dot(s, data_, more_, Dtype::i32, result_, {.workspace = with_}); }, {&result_});
  add("mean results", true, [this](Stream& s) { return mean(s, data_, Dtype::f32, result_, {.workspace = with_}); },
      {&result_});
  add("norm2 results", true, [this](Stream& s) { return norm2(s, data_, Dtype::f32, result_, {.workspace = with_}); },
      {&result_});
  add("variance results", true,
      [this](Stream& s) { return variance(s, data_, Dtype::f32, result_, {.workspace = with_}); }, {&result_});
  for (const std::uint64_t rows : {std::uint64_t{1}, count_}) {
    for (const Dtype dtype : {Dtype::f32, Dtype::i32}) {
      Buffer<std::byte>& least = buffer(rows * 4);
      Buffer<std::byte>& greatest = buffer(rows * 4);
      Buffer<std::byte>& first = buffer(rows * sizeof(std::uint64_t));
      Buffer<std::byte>& second = buffer(rows * sizeof(std::uint64_t));
      const std::string kind = " of " + std::to_string(rows) + " " + std::string(to_string(dtype));
      add("reduce extremes" + kind, true,
          [=, this, &least, &greatest, &first, &second](Stream& s) {
            const ReduceTargets to{.min = &least, .max = &greatest, .min_indices = &first, .max_indices = &second};
            return reduce(s, data_, dtype, to, {.rows = rows, .workspace = with_});
          },
          {&least, &greatest, &first, &second});
      add("reduce argmax" + kind, true,
          [=, this, &second](Stream& s) {
            return reduce(s, data_, dtype, {.max_indices = &second},
                          {.nan = NanPolicy::skip, .rows = rows, .workspace = with_});
          },
          {&second});
      Buffer<std::byte>& all = buffer(rows);
      Buffer<std::byte>& any = buffer(rows);
      add("reduce counts" + kind, true,
          [=, this, &first, &all, &any](Stream& s) {
            return reduce(s, data_, dtype, {.nonzero = &first, .all = &all, .any = &any},
                          {.rows = rows, .workspace = with_});
          },
          {&first, &all, &any});
    }
  }
}

inline void EnqueueForms::add_histograms() {
  add("histogram", false,
      [=, this](Stream& s) { return histogram(s, data_, Dtype::f32, Bins::even(100, 0, 1), {.workspace = with_}); });
  const auto prepared = [&](std::string name, Dtype dtype, const Bins& bins, const HistogramOptions& options = {}) {
    const auto ready = std::make_shared<PreparedHistogram>(device_, dtype, bins, options);
    Buffer<std::byte>& counts = buffer((bins.size() + 3) * sizeof(std::uint64_t));
    add("prepared histogram " + name, true,
        [=, this, &counts](Stream& s) { return histogram(s, data_, *ready, counts, with_); }, {&counts});
  };
  prepared("even", Dtype::f32, Bins::even(100, 0, 1));
  prepared("of edges", Dtype::f32, Bins::edges({0, 0.25, 0.5, 2}), {.outside = Outside::clamp});
  prepared("partitions", Dtype::f32, Bins::even(300000, 0, 1));
  prepared("u8", Dtype::u8, Bins::even(10, 0, 100), {.outside = Outside::clamp});
  prepared("u16", Dtype::u16, Bins::integers(65536));
  prepared("f16", Dtype::f16, Bins::even(10, 0, 1));
  const auto rows = [&](std::string name, Dtype dtype, const Bins& bins) {
    const std::uint64_t count = std::min<std::uint64_t>(count_, 7);
    const std::uint64_t length = count_ / count;
    const auto ready = std::make_shared<PreparedRowHistograms>(device_, dtype, bins, count, length);
    Buffer<std::byte>& counts = buffer(ready->numbers() * sizeof(std::uint64_t));
    const std::uint64_t bytes = count * length * size_of(dtype);
    add("row_histograms " + name, true,
        [=, this, &counts](Stream& s) { return row_histograms(s, data_.slice(0, bytes), *ready, counts, with_); },
        {&counts});
  };
  rows("f32", Dtype::f32, Bins::even(100, 0, 1));
  rows("u8", Dtype::u8, Bins::even(10, 0, 100));
  for (const std::uint64_t bins : {10, 1000}) {
    const Bins both[] = {Bins::even(bins, 0, 1), Bins::even(bins, 0, 1)};
    const auto ready = std::make_shared<PreparedJointHistogram>(device_, Dtype::f32, both);
    Buffer<std::byte>& counts = buffer(ready->numbers() * sizeof(std::uint64_t));
    add("joint_histogram " + std::to_string(bins), true,
        [=, this, &counts](Stream& s) {
          const BufferBase* const columns[] = {&data_, &data_};
          return joint_histogram(s, columns, *ready, counts, with_);
        },
        {&counts});
  }
  const auto weighted = [&](std::string name, Dtype dtype, Dtype weights, std::uint64_t bins) {
    const Bins even = Bins::even(bins, 0, dtype == Dtype::u8 ? 100 : 1);
    const auto ready = std::make_shared<PreparedWeightedHistogram>(device_, dtype, weights, std::span(&even, 1),
                                                                   WeightedOptions{.variances = true});
    const std::uint64_t bytes = ready->numbers() * sizeof(double);
    Buffer<std::byte>& totals = buffer(bytes);
    Buffer<std::byte>& variances = buffer(bytes);
    Buffer<std::byte>* integers = is_float(weights) ? nullptr : &buffer(bytes);
    Buffer<std::byte>& status = buffer(sizeof(std::uint32_t));
    add("weighted_histogram " + name, true,
        [=, this, &totals, &variances, &status](Stream& s) {
          const Buffer<std::byte> data = data_.slice(0, count_ * size_of(dtype));
          const BufferBase* const column = &data;
          return weighted_histogram(s, {&column, 1}, more_, *ready, {totals, &variances, integers, &status}, with_);
        },
        {&totals, &variances, &status});
  };
  weighted("f32", Dtype::f32, Dtype::f32, 100);
  weighted("many", Dtype::f32, Dtype::f32, 3000);  // whose table the weights choose
  weighted("u8", Dtype::u8, Dtype::i32, 10);
}

inline void EnqueueForms::add_moves() {
  static constexpr std::uint32_t one = 1;
  Buffer<std::byte>& status = buffer(2 * sizeof(std::uint64_t));
  add("transpose", true, [this](Stream& s) { return transpose(s, data_, 4, 1, count_, out_); }, {&out_});
  add("gather", true, [this](Stream& s) { return gather(s, data_, 4, more_, Dtype::u32, out_, {.workspace = with_}); },
      {&out_});
  add("scatter", true,
      [this](Stream& s) { return scatter(s, data_, 4, more_, Dtype::u32, out_, {.workspace = with_}); });
  add("permute", true,
      [this](Stream& s) { return permute(s, data_, 4, more_, Dtype::u32, out_, {.workspace = with_}); }, {&out_});
  add("gather status", true,
      [this, &status](Stream& s) {
        return gather(s, data_, 4, keys_, Dtype::u32, out_, {.workspace = with_, .status = &status});
      },
      {&out_, &status});
  add("scatter status", true,
      [this, &status](Stream& s) {
        return scatter(s, data_, 4, more_, Dtype::u32, out_, {.workspace = with_, .status = &status});
      },
      {&status});
  add("reverse", true, [this](Stream& s) { return reverse(s, data_, 4, out_); }, {&out_});
  add("compact", true, [this](Stream& s) { return compact(s, data_, 4, flags_, out_, {.workspace = with_}); });
  add("compact number", true,
      [this](Stream& s) { return compact(s, data_, 4, flags_, out_, result_, {.workspace = with_}); }, {&result_});
  add("fill", true, [this](Stream& s) { return fill(s, out_, &one, sizeof one); });
  add("iota", true, [this](Stream& s) { return iota(s, out_, Dtype::u32, &one, &one); });
  add("convert", true,
      [this](Stream& s) { return convert(s, data_, Dtype::f32, wide_, Dtype::f64, {.workspace = with_}); }, {&wide_});
  for (const Dtype dtype : {Dtype::i32, Dtype::f32}) {
    add("convert status " + std::string(to_string(dtype)), true,
        [=, this, &status](Stream& s) {
          return convert(s, more_, Dtype::u32, out_, dtype, {.workspace = with_, .status = &status});
        },
        {&out_, &status});
  }
}

}  // namespace masu::test

#include "enqueue_groups.h"
