// SPDX-License-Identifier: Apache-2.0
// How fast elements are moved by indices and flags. Axes: device, case (what is done, bytes of an element), number of
// elements, CPU threads. Every result is checked before it is timed; plain copying of as many bytes as are read and
// written, indices included, is the ceiling.
#include <masu/gather.h>

#include "bench/moving.h"
#include "bench/ordering.h"
#include "bench/runner.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

namespace masu::bench {
namespace {

enum class Way { gather, scatter, permute, reverse, compact };

struct GatherCase {
  std::string_view name;
  Way way;
  std::size_t bytes;
  bool random = false;  // any order; else in order
  bool usual = true;
};

constexpr std::array<GatherCase, 12> cases = {{{"gather-4-random", Way::gather, 4, true},
                                               {"gather-4-in-order", Way::gather, 4},
                                               {"gather-16-random", Way::gather, 16, true},
                                               {"gather-64-random", Way::gather, 64, true},
                                               {"scatter-4-random", Way::scatter, 4, true},
                                               {"scatter-4-in-order", Way::scatter, 4},
                                               {"permute-4-by-4", Way::permute, 4},
                                               {"reverse-4", Way::reverse, 4},
                                               {"reverse-1", Way::reverse, 1},
                                               {"compact-4", Way::compact, 4},
                                               {"compact-1", Way::compact, 1},
                                               {"compact-16", Way::compact, 16}}};

constexpr std::array<std::uint32_t, 4> small_mask = {0, 3, 2, 1};

// Indices, each once; or flags, every second or so set.
std::vector<std::byte> orders_for(const GatherCase& what, std::uint64_t count) {
  if (what.way == Way::reverse) return {};
  if (what.way == Way::permute) {
    const auto bytes = std::as_bytes(std::span(small_mask));
    return {bytes.begin(), bytes.end()};
  }
  std::uint64_t state = 1;
  const auto random = [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return state >> 32;
  };
  if (what.way == Way::compact) {
    std::vector<std::byte> flags(count);
    for (std::byte& one : flags) one = static_cast<std::byte>(random() & 1U);
    return flags;
  }
  std::vector<std::uint32_t> indices(count);
  std::iota(indices.begin(), indices.end(), 0U);
  if (what.random) {
    for (std::uint64_t i = count; i > 1; --i) std::swap(indices[i - 1], indices[random() * i >> 32]);
  }
  const auto bytes = std::as_bytes(std::span(indices));
  return {bytes.begin(), bytes.end()};
}

// What of the output is written.
std::uint64_t written(const GatherCase& what, std::uint64_t count, const std::vector<std::byte>& orders) {
  if (what.way != Way::compact) return count;
  return count - static_cast<std::uint64_t>(std::count(orders.begin(), orders.end(), std::byte{0}));
}

class Gathering final : public Moving {
 public:
  Gathering(Runner& runner, const Device& device, const GatherCase& what, std::span<const std::byte> in,
            const std::vector<std::byte>& orders)
      : Moving(runner, device, in, written(what, in.size() / what.bytes, orders) * what.bytes, orders.size()),
        what_(what),
        count_(in.size() / what.bytes),
        host_orders_(orders),
        orders_(device.upload(orders)) {
    const std::uint64_t bytes = what.way == Way::scatter   ? scatter_workspace(device, count_)
                                : what.way == Way::compact ? compact_workspace(device, count_)
                                                           : gather_workspace(device);
    if (bytes != 0) workspace_.emplace(device, bytes);
    if (what.way == Way::compact) {
      for (std::uint64_t i = 0; i < count_; ++i) {
        if (orders[i] != std::byte{0}) selected_.push_back(i);
      }
    }
  }
  double run() override {
    Times times;
    move(&times);
    return times.compute;
  }
  void call() override { move(nullptr); }

 private:
  void move(Times* times) {
    GatherOptions options{.times = times};
    if (workspace_) options.workspace = &*workspace_;
    switch (what_.way) {
      case Way::gather: return gather(source_, what_.bytes, orders_, Dtype::u32, target_, options);
      case Way::scatter: return scatter(source_, what_.bytes, orders_, Dtype::u32, target_, options);
      case Way::permute:
        options.rows = count_ / small_mask.size();
        return permute(source_, what_.bytes, orders_, Dtype::u32, target_, options);
      case Way::reverse: return reverse(source_, what_.bytes, target_, options);
      case Way::compact: (void)compact(source_, what_.bytes, orders_, target_, options);
    }
  }
  [[nodiscard]] std::uint64_t index(std::uint64_t i) const {
    std::uint32_t found = 0;
    std::memcpy(&found, host_orders_.data() + i * sizeof found, sizeof found);
    return found;
  }
  [[nodiscard]] bool is_right(const std::byte* result, std::uint64_t i) const override {
    std::uint64_t from = i;
    std::uint64_t to = i;
    if (what_.way == Way::gather) from = index(i);
    if (what_.way == Way::scatter) to = index(i);
    if (what_.way == Way::permute) from = i / 4 * 4 + small_mask[i % 4];
    if (what_.way == Way::reverse) from = count_ - 1 - i;
    if (what_.way == Way::compact) from = selected_[i];
    return std::memcmp(result + to * what_.bytes, in_.data() + from * what_.bytes, what_.bytes) == 0;
  }
  [[nodiscard]] std::uint64_t result_count() const override { return target_.size() / what_.bytes; }

  GatherCase what_;
  std::uint64_t count_;
  const std::vector<std::byte>& host_orders_;
  Buffer<std::byte> orders_;
  std::optional<Buffer<std::byte>> workspace_;
  std::vector<std::uint64_t> selected_;
};

}  // namespace

Measurements gather_suite(const Request& request) {
  refuse_strategies(request, "gather");
  Runner runner(request, {"kernel", "call"}, {"kernel", "call"});
  for (const GatherCase& what : request.selection.chosen_cases(std::span<const GatherCase>(cases))) {
    for (const auto& [asked, devices] : runner.devices_by_count(what.bytes)) {
      runner.next_group();
      const std::uint64_t count = std::max<std::uint64_t>(asked / small_mask.size(), 1) * small_mask.size();
      const Input in = ordering_input(Dtype::u8, count * what.bytes, "uniform");
      const std::vector<std::byte> orders = orders_for(what, count);
      Row row = ordering_row(what.name, in, "uniform");
      row.count = count;
      runner.measure(devices, row,
                     [&](const Device& device) { return Gathering(runner, device, what, in.bytes(), orders); });
    }
  }
  return runner.finish();
}

}  // namespace masu::bench
