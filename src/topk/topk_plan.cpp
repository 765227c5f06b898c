// SPDX-License-Identifier: Apache-2.0
#include "topk/topk_plan.h"

#include "elements/clusters.h"
#include "elements/elements.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace masu::topk_plan {

namespace {

constexpr std::string_view elements_file = "src/elements/elements.cl";
constexpr std::string_view key_file = "src/elements/order.cl";
constexpr std::string_view scan_file = "src/elements/group_scan.cl";
constexpr std::string_view row_file = "src/select/selection_row.cl";
constexpr std::string_view select_file = "src/topk/topk_select.cl";
constexpr std::string_view network_file = "src/topk/topk_network.cl";

// The least r with which r or more of the sample's ranks are among the first k at most once in 10^9 times, each with
// this chance; where many are expected, once in some millions.
double threshold_rank(double chance) {
  constexpr double all = samples;
  const double mean = all * chance;
  if (mean > 32) return std::ceil(mean + 5 * std::sqrt(mean * (1 - chance)) + 8);
  double exactly = std::exp(all * std::log1p(-chance));  // of so many ranks, first of none
  double fewer = exactly;                                // than r
  double r = 1;
  for (; 1 - fewer > 1e-9; ++r) {
    exactly *= (all - r + 1) / r * chance / (1 - chance);
    fewer += exactly;
  }
  return r;
}

}  // namespace

std::vector<std::string_view> Plan::files(Part part) const {
  std::vector<std::string_view> result{elements_file, key_file, scan_file, row_file, select_file};
  switch (part) {
    case Part::select: result.insert(result.end(), {"src/elements/scrambled.cl", "src/topk/topk.cl"}); break;
    case Part::sampled:
      result.insert(result.begin() + 3, "src/elements/scrambled.cl");
      result.insert(result.end(), {network_file, "src/topk/topk_sampled.cl"});
      break;
    case Part::short_rows: result.emplace_back("src/topk/topk_short.cl"); break;
    default: result.insert(result.end(), {network_file, "src/topk/topk_order.cl"});
  }
  return result;
}

unsigned Plan::work_items(Part part) const noexcept {
  if (part == Part::select) return group;
  if (part == Part::short_rows) return std::min(tuned.short_group, order_group);
  if (part == Part::sampled) return sampled.group;
  return part == Part::rows ? row.group : order_group;
}

std::vector<runtime::Define> Plan::defines(Part part) const {
  std::vector<runtime::Define> result =
      element_defines(dtype, {{"MASU_LARGEST", ranking.largest},
                              {"MASU_NAN_FIRST", ranking.nan_first},
                              {"MASU_UNROLLED", gpu ? "MASU_PRAGMA_UNROLL" : ""},
                              {"MASU_GROUP", work_items(part)},
                              {"MASU_SKIP", ranking.skip},
                              {"MASU_CLUSTER", part == Part::rows      ? row.cluster
                                               : part == Part::sampled ? sampled.cluster
                                                                       : 1}});
  if (part == Part::sampled) {
    result.insert(result.end(),
                  {{"MASU_SAMPLED", true},
                   {"MASU_FROM_ROWS", true},
                   {"MASU_HELD", false},
                   {"MASU_VALUE", names_of(dtype).kernel_type},
                   {"MASU_AS_VALUE", names_of(dtype).from_bits},
                   {"MASU_BATCH", gpu ? std::min<std::size_t>(tuned.sampled_batch, 2 * size_of(dtype)) : 1}});
  } else if (part == Part::finish || part == Part::rows) {
    result.push_back({"MASU_FROM_ROWS", part == Part::rows});
    result.push_back({"MASU_SAMPLED", false});
    result.push_back({"MASU_HELD", part == Part::rows && row.holds});
    result.push_back({"MASU_BATCH", part == Part::rows ? row.batch(dtype, batch) : batch});
  } else if (part == Part::select) {
    result.push_back({"MASU_UNROLL", unroll});
    result.push_back({"MASU_VALUE", names_of(dtype).kernel_type});
    result.push_back({"MASU_AS_VALUE", names_of(dtype).from_bits});
    result.push_back({"MASU_GROUPS_A_UNIT", groups_a_unit});
    result.push_back({"MASU_SAMPLES", samples});
    result.push_back({"MASU_LOOKERS", lookers});
    result.push_back({"MASU_LOOKS", looks});
  }
  return result;
}

std::uint64_t Plan::tile_elements() const noexcept {
  return std::uint64_t{group} * unroll * (16 / size_of(dtype));
}

std::uint64_t Plan::tiles(std::uint64_t count) const noexcept {
  // One more vector where the first one is not whole.
  return count / tile_elements() + 2;
}

std::uint64_t Plan::filter_groups(std::uint64_t count) const noexcept {
  return std::clamp<std::uint64_t>(tiles(count) - 1, 1,
                                   std::uint64_t{compute_units} * groups_a_unit * tuned.filter_rounds);
}

std::size_t Plan::sample_local() const noexcept {
  return group * std::max(size_of(dtype), sizeof(std::uint32_t));
}

std::uint64_t Plan::places_of(std::uint64_t k) const noexcept {
  // More than k, as what more is ordered takes less time than one more look at the row.
  if (row.cluster > 1) {
    return std::min(places, std::max(tuned.least_places, std::bit_ceil(k + k / tuned.spare_part)));
  }
  return std::bit_ceil(k <= tuned.few_wanted ? k + tuned.spare_places : k);
}

namespace {

// As many as may be met where so many are expected, but for once in some ten thousand times.
double at_most(double expected) {
  return expected + 4 * std::sqrt(expected) + 6;
}

SampledRow sampled_row(const Plan& plan, const DeviceInfo& device, std::uint64_t rows, std::uint64_t count,
                       std::uint64_t k) {
  SampledRow result;
  const unsigned cluster = cluster_groups(device);
  const std::uint64_t most = cluster > 1 ? std::min(tuned.most_cluster_elements, rows * tuned.sampled_elements_a_row)
                                         : (rows > 1 ? tuned.most_row_elements : 0);
  // A row that is held is read once: so few elements take no longer than their sample.
  const bool few = k < tuned.many_wanted && plan.gpu && plan.row.holds && rows * count < tuned.least_sampled_together;
  // Bytes have few values: all those that tie with the k-th pass a threshold.
  if (count < tuned.least_sampled || count > most || few || size_of(plan.dtype) == 1) return result;
  result.group = work_group(device, device.gpu ? tuned.sampled_group : 64, 16);
  result.places = std::min(plan.places, std::max(tuned.least_gathered, std::bit_ceil(3 * k)));
  // The smallest sample after which there is room for what it lets pass.
  for (std::uint64_t stride = tuned.most_stride; stride >= tuned.least_stride && result.stride == 0; stride /= 2) {
    const double rest = std::ceil(at_most(static_cast<double>(k) / static_cast<double>(stride)));
    if (at_most(rest + std::floor(rest / 16)) * static_cast<double>(stride) > static_cast<double>(result.places))
      continue;
    result.stride = static_cast<std::uint32_t>(stride);
    result.rest = static_cast<std::uint32_t>(rest);
  }
  if (result.stride == 0) return result;
  const std::uint64_t slots = std::uint64_t{plan.compute_units} * tuned.sampled_row_items / result.group;
  result.cluster = static_cast<unsigned>(
      std::clamp<std::uint64_t>(std::bit_floor(std::max<std::uint64_t>(slots / rows, 1)), 1, cluster));
  // The sample lies where entries will; beside those are buckets.
  const auto used = [&] {
    const std::uint64_t vectors = count * size_of(plan.dtype) / 16 / result.stride;
    result.room = std::max(result.places, 2 * (vectors / result.cluster + 1));
    return (result.room + 2) * (plan.pairs() ? 12 : 8) + result.places * sizeof(std::uint16_t) +
           buckets * sizeof(std::uint32_t) + selection_plan::RowShape{.group = result.group}.words().bytes + 64;
  };
  while (used() > device.local_bytes && result.cluster < cluster) result.cluster *= 2;
  if (used() > device.local_bytes) result.stride = 0;
  return result;
}

}  // namespace

Plan make(const DeviceInfo& device, Dtype dtype, const Ranking& ranking, std::uint64_t rows, std::uint64_t count,
          std::uint64_t k) {
  Plan plan{.dtype = dtype, .ranking = ranking, .gpu = device.gpu};
  plan.unroll = tuned.unroll;
  plan.compute_units = std::max(1U, device.compute_units);
  plan.group = work_group(device, device.gpu ? tuned.group : 64, 16);
  plan.order_group = work_group(device, device.gpu ? tuned.order_group : 64, 16);
  plan.groups_a_unit = device.gpu ? tuned.groups_a_unit : 1;
  plan.batch = device.gpu ? tuned.batch : 1;
  // Keys, indices where they are apart, and some words: half of the local memory of every GPU that masu knows.
  const std::uint64_t entry = plan.pairs() ? 12 : 8;
  const std::uint64_t room = std::min<std::uint64_t>(device.local_bytes, std::uint64_t{48} << 10) * 3 / 4;
  plan.places = std::bit_floor(std::max<std::uint64_t>(room / entry, 64));
  const std::uint64_t ordered =
      std::bit_ceil(std::clamp<std::uint64_t>(k + k / tuned.spare_part, tuned.least_places, plan.places));
  plan.row = selection_plan::row_shape(device, dtype, rows, count, ordered * entry, k >= tuned.least_places);
  plan.sampled = sampled_row(plan, device, rows, count, k);
  return plan;
}

// With M ranks left, each the greatest of m elements, a rank is among the first k of n elements with the chance
// p = 1 - (1 - k/n)^m. How many are is binomial, or narrower, as the elements come from equal parts of the data. The
// threshold is so far beyond the mean that k elements reach it. How many more do follows from the same formula
// backwards, with a rank that is six deviations and sixteen further down.
Sampling sampling(const Plan& plan, std::uint64_t count, std::uint64_t k) {
  Sampling result;
  result.capacity = count;
  const auto n = static_cast<double>(count);
  const double part = static_cast<double>(k) / n;
  constexpr double all = samples;
  constexpr double most_part = 0.9;  // of the ranks, and of the elements
  const std::uint64_t wanted =
      std::bit_floor(std::clamp<std::uint64_t>(count / elements_a_sample, samples, most_sampled));
  if (count < tuned.least_filtered || part > 0.5) return result;
  // Fewer elements for each rank where k is large: so that the ranks differ enough.
  double each = static_cast<double>(wanted) / all;
  const auto chance = [&] { return -std::expm1(each * std::log1p(-part)); };
  while (each > 1 && chance() > 0.2) each /= 2;
  const double rest = threshold_rank(chance());
  const double last = rest + 6 * std::sqrt(rest) + 16;
  if (last >= most_part * all) return result;
  const double passing = -std::expm1(std::log1p(-last / all) / each);
  if (passing > most_part) return result;
  result.sampled = true;
  result.shift = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(each) * samples)) - 1;
  result.rest = static_cast<std::uint32_t>(rest);
  const auto expected = static_cast<std::uint64_t>(passing * n);
  // What is equal comes in whole tiles.
  result.capacity = std::min(count, std::max(expected, k) + plan.tile_elements());
  return result;
}

}  // namespace masu::topk_plan
