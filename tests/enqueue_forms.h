// SPDX-License-Identifier: Apache-2.0
// A call of every form that takes a stream, on buffers of one device, in the caller's workspace.
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
#include <masu/selection.h>
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
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace masu::test {

class EnqueueForms {
 public:
  // Gets the result of what was enqueued.
  using Get = std::function<void()>;
  struct Form {
    std::string name;
    std::function<Get(Stream&)> run;
    bool in_buffers;  // all results are in contents()
  };

  // Of arrays of `count` elements.
  EnqueueForms(const Device& device, std::uint64_t count)
      : device_(device),
        count_(count),
        data_(buffer(count * 4)),
        more_(buffer(count * 4)),
        flags_(buffer(count)),
        keys_(buffer(count * 4)),
        out_(buffer(count * 4)),
        wide_(buffer(count * 8)),
        places_(buffer(count * 8)),
        result_(buffer(sizeof(double))),
        room_(device, std::uint64_t{64} << 20),
        segments_{0, count / 3, count} {
    set_contents(0);
    add_sorts();
    add_sums();
    add_histograms();
    add_moves();
  }

  [[nodiscard]] const std::vector<Form>& forms() const noexcept { return forms_; }
  // New contents for all buffers but the workspace: numbers, among them few that are alike, in [0, 1); indices, a
  // permutation.
  void set_contents(unsigned seed) {
    std::mt19937 random(seed);
    std::vector<float> numbers(count_);
    std::ranges::generate(numbers, [&] { return static_cast<float>(random() % 60000) / 65536; });
    std::vector<std::uint32_t> indices(count_);
    std::iota(indices.begin(), indices.end(), 0U);
    std::ranges::shuffle(indices, random);
    for (Buffer<std::byte>& each : contents_) {
      std::vector<std::byte> bytes(each.size());
      if (&each == &more_) {
        std::memcpy(bytes.data(), indices.data(), bytes.size());
      } else if (&each == &flags_) {
        std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random() % 3); });
      } else {
        for (std::size_t at = 0; at < bytes.size(); at += count_ * sizeof(float)) {
          std::memcpy(bytes.data() + at, numbers.data(), std::min(bytes.size() - at, count_ * sizeof(float)));
        }
      }
      each.write(bytes);
    }
  }
  [[nodiscard]] std::vector<std::vector<std::byte>> contents() const {
    std::vector<std::vector<std::byte>> all;
    for (const Buffer<std::byte>& each : contents_) all.push_back(each.read());
    return all;
  }

 private:
  template <class Call>
  void add(std::string name, bool in_buffers, const Call& call) {
    forms_.push_back({std::move(name),
                      [call](Stream& stream) -> Get {
                        auto pending = call(stream);
                        return [kept = std::make_shared<decltype(pending)>(std::move(pending))] { (void)kept->get(); };
                      },
                      in_buffers});
  }
  Buffer<std::byte>& buffer(std::uint64_t bytes) { return contents_.emplace_back(device_, bytes); }

  void add_sorts();
  void add_sums();
  void add_histograms();
  void add_moves();

  Device device_;
  std::uint64_t count_;
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
  std::uint64_t segments_[3];
  std::vector<Form> forms_;
};

inline void EnqueueForms::add_sorts() {
  const Buffer<std::byte>* with = &room_;
  const std::uint64_t k = std::min<std::uint64_t>(count_, 10);
  for (const Dtype dtype : {Dtype::f32, Dtype::u32}) {
    const std::string type = " " + std::string(to_string(dtype));
    add("sort" + type, true, [=, this](Stream& s) { return sort(s, keys_, dtype, {.workspace = with}); });
    add("searchsorted" + type, true,
        [=, this](Stream& s) { return searchsorted(s, data_, more_, dtype, places_, Dtype::u64); });
  }
  add("sort apart", true, [=, this](Stream& s) { return sort(s, data_, Dtype::f32, out_, {.workspace = with}); });
  add("sort u8", true, [=, this](Stream& s) { return sort(s, keys_, Dtype::u8, {.workspace = with}); });
  add("sort u16", true, [=, this](Stream& s) { return sort(s, keys_, Dtype::u16, {.workspace = with}); });
  add("sort rows", true, [=, this](Stream& s) {
    return sort(s, keys_, Dtype::f32, {.rows = std::max<std::uint64_t>(count_ / 100, 1), .workspace = with});
  });
  add("sort segments", true,
      [=, this](Stream& s) { return sort(s, keys_, Dtype::f32, {.segments = segments_, .workspace = with}); });
  add("sort_by_key", true,
      [=, this](Stream& s) { return sort_by_key(s, keys_, Dtype::f32, out_, 4, {.workspace = with}); });
  add("argsort", true,
      [=, this](Stream& s) { return argsort(s, data_, Dtype::f32, places_, Dtype::u64, {.workspace = with}); });
  add("topk", false, [=, this](Stream& s) { return topk(s, data_, Dtype::f32, k, {.workspace = with}); });
  const auto best = std::make_shared<Buffer<std::byte>>(out_.slice(0, k * sizeof(float)));
  const auto best_places = std::make_shared<Buffer<std::byte>>(places_.slice(0, k * sizeof(std::uint64_t)));
  add("topk results", true,
      [=, this](Stream& s) { return topk(s, data_, Dtype::f32, k, *best, *best_places, {.workspace = with}); });
  add("topk of half", false,
      [=, this](Stream& s) { return topk(s, data_, Dtype::f32, (count_ + 1) / 2, {.workspace = with}); });
  add("elements_at", true, [=, this](Stream& s) {
    const std::uint64_t place = count_ / 3;
    return elements_at(s, data_, Dtype::f32, {&place, 1}, result_.slice(0, sizeof(float)), {.workspace = with});
  });
  add("median", true, [=, this](Stream& s) {
    return median(s, data_, Dtype::f32, result_.slice(0, sizeof(float)), {.workspace = with});
  });
  Buffer<std::byte>& sizes = buffer(2 * sizeof(std::uint64_t));
  const PartitionTargets parted{out_, sizes};
  const PartitionTargets parted_places{places_, sizes};
  add("partition", true, [=, this](Stream& s) { return partition(s, data_, Dtype::f32, parted, count_ / 3, with); });
  add("argpartition", true,
      [=, this](Stream& s) { return argpartition(s, data_, Dtype::f32, parted_places, Dtype::u64, count_ / 2, with); });
  add("unique", false, [=, this](Stream& s) { return unique(s, data_, Dtype::f32, {.workspace = with}); });
  add("unique values", true, [=, this](Stream& s) {
    return unique(s, data_, Dtype::f32, {out_, result_, &places_}, with);
  });
  add("run_length", false, [=, this](Stream& s) { return run_length(s, data_, Dtype::f32, {.workspace = with}); });
}

inline void EnqueueForms::add_sums() {
  const Buffer<std::byte>* with = &room_;
  for (const Dtype dtype : {Dtype::f32, Dtype::u32}) {
    const std::string type = " " + std::string(to_string(dtype));
    add("scan" + type, true, [=, this](Stream& s) { return scan(s, data_, dtype, out_, {.workspace = with}); });
    add("reduce" + type, false,
        [=, this](Stream& s) { return reduce(s, data_, dtype, ReduceOp::minmax, {.workspace = with}); });
    add("sum" + type, false, [=, this](Stream& s) { return sum(s, data_, dtype, {.workspace = with}); });
  }
  add("reduce count_nonzero", false,
      [=, this](Stream& s) { return reduce(s, data_, Dtype::f32, ReduceOp::count_nonzero, {.workspace = with}); });
  add("dot", false, [=, this](Stream& s) { return dot(s, data_, more_, Dtype::f32, {.workspace = with}); });
  add("mean", false, [=, this](Stream& s) { return mean(s, data_, Dtype::f32, {.workspace = with}); });
  add("norm2", false, [=, this](Stream& s) { return norm2(s, data_, Dtype::f32, {.workspace = with}); });
  add("variance", false, [=, this](Stream& s) { return variance(s, data_, Dtype::f32, {.workspace = with}); });
  add("sum results", true, [=, this](Stream& s) { return sum(s, data_, Dtype::f32, result_, {.workspace = with}); });
  add("dot results", true,
      [=, this](Stream& s) { return dot(s, data_, more_, Dtype::i32, result_, {.workspace = with}); });
  add("mean results", true, [=, this](Stream& s) { return mean(s, data_, Dtype::f32, result_, {.workspace = with}); });
  add("norm2 results", true,
      [=, this](Stream& s) { return norm2(s, data_, Dtype::f32, result_, {.workspace = with}); });
  add("variance results", true,
      [=, this](Stream& s) { return variance(s, data_, Dtype::f32, result_, {.workspace = with}); });
}

inline void EnqueueForms::add_histograms() {
  const Buffer<std::byte>* with = &room_;
  add("histogram", false,
      [=, this](Stream& s) { return histogram(s, data_, Dtype::f32, Bins::even(100, 0, 1), {.workspace = with}); });
  const auto prepared = [&](std::string name, Dtype dtype, const Bins& bins, const HistogramOptions& options = {}) {
    const auto ready = std::make_shared<PreparedHistogram>(device_, dtype, bins, options);
    Buffer<std::byte>& counts = buffer((bins.size() + 3) * sizeof(std::uint64_t));
    add("prepared histogram " + name, true,
        [=, this, &counts](Stream& s) { return histogram(s, data_, *ready, counts, with); });
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
    const auto data = std::make_shared<Buffer<std::byte>>(data_.slice(0, count * length * size_of(dtype)));
    Buffer<std::byte>& counts = buffer(ready->numbers() * sizeof(std::uint64_t));
    add("row_histograms " + name, true,
        [=, &counts](Stream& s) { return row_histograms(s, *data, *ready, counts, with); });
  };
  rows("f32", Dtype::f32, Bins::even(100, 0, 1));
  rows("u8", Dtype::u8, Bins::even(10, 0, 100));
  for (const std::uint64_t bins : {10, 1000}) {
    const Bins both[] = {Bins::even(bins, 0, 1), Bins::even(bins, 0, 1)};
    const auto ready = std::make_shared<PreparedJointHistogram>(device_, Dtype::f32, both);
    Buffer<std::byte>& counts = buffer(ready->numbers() * sizeof(std::uint64_t));
    add("joint_histogram " + std::to_string(bins), true, [=, this, &counts](Stream& s) {
      const BufferBase* const columns[] = {&data_, &data_};
      return joint_histogram(s, columns, *ready, counts, with);
    });
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
    const auto data = std::make_shared<Buffer<std::byte>>(data_.slice(0, count_ * size_of(dtype)));
    add("weighted_histogram " + name, true, [=, this, &totals, &variances, &status](Stream& s) {
      const BufferBase* const column = data.get();
      return weighted_histogram(s, {&column, 1}, more_, *ready, {totals, &variances, integers, &status}, with);
    });
  };
  weighted("f32", Dtype::f32, Dtype::f32, 100);
  weighted("many", Dtype::f32, Dtype::f32, 3000);  // whose table the weights choose
  weighted("u8", Dtype::u8, Dtype::i32, 10);
}

inline void EnqueueForms::add_moves() {
  const Buffer<std::byte>* with = &room_;
  static constexpr std::uint32_t one = 1;
  add("transpose", true, [=, this](Stream& s) { return transpose(s, data_, 4, 1, count_, out_); });
  add("gather", true,
      [=, this](Stream& s) { return gather(s, data_, 4, more_, Dtype::u32, out_, {.workspace = with}); });
  add("scatter", true,
      [=, this](Stream& s) { return scatter(s, data_, 4, more_, Dtype::u32, out_, {.workspace = with}); });
  add("reverse", true, [=, this](Stream& s) { return reverse(s, data_, 4, out_); });
  add("compact", true, [=, this](Stream& s) { return compact(s, data_, 4, flags_, out_, {.workspace = with}); });
  add("fill", true, [=, this](Stream& s) { return fill(s, out_, &one, sizeof one); });
  add("iota", true, [=, this](Stream& s) { return iota(s, out_, Dtype::u32, &one, &one); });
  add("convert", true,
      [=, this](Stream& s) { return convert(s, data_, Dtype::f32, wide_, Dtype::f64, {.workspace = with}); });
}

}  // namespace masu::test
