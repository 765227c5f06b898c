// SPDX-License-Identifier: Apache-2.0
// The kernels of radix sort, and of what stands beside an order, compile as CUDA C++ for each architecture that masu
// supports, without a GPU.
#include "each_architecture.h"
#include "sort/device/sort_counting.h"
#include "sort/device/sort_device.h"
#include "sort/device/sort_few.h"
#include "sort/device/sort_keys.h"
#include "sort/device/sort_merge.h"
#include "sort/device/sort_once.h"
#include "sort/device/sort_plan.h"
#include "sort/device/sort_rows.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace masu {
namespace {

// Keys, and the bytes of a value that moves with each.
struct Kind {
  Dtype dtype;
  std::size_t value_bytes;
};

class SortRadixNvrtc : public test::EachArchitecture {
 protected:
  // All on one architecture, the first of them on the others.
  static std::vector<Kind> here(std::vector<Kind> kinds) {
    if (GetParam() != 90) kinds.resize(1);
    return kinds;
  }
};
MASU_ON_EACH_ARCHITECTURE(SortRadixNvrtc);

TEST_P(SortRadixNvrtc, Passes) {
  const std::vector<std::string> names{"sort_count", "sort_scan_tiles", "sort_scan_chunks", "sort_scatter"};
  for (const Kind& kind : here({{Dtype::u32, 4},
                                {Dtype::u32, 0},
                                {Dtype::i8, 1},
                                {Dtype::u8, 16},
                                {Dtype::f16, 2},
                                {Dtype::f64, 0},
                                {Dtype::i64, 8}})) {
    // More keys than 32 bits count, in pieces, where something moves with them.
    const std::uint64_t count = kind.value_bytes == 0 ? 1000 : std::uint64_t{1} << 33;
    const auto plan = sort_plan::make(test::nvrtc_gpu(), kind.dtype, kind.value_bytes, count, kind.value_bytes != 0);
    expect_compiles(sort_plan::sort_files, plan.defines(), names);
  }
}

TEST_P(SortRadixNvrtc, Orders) {
  for (const Kind& kind : here({{Dtype::f32, 0}, {Dtype::u8, 0}, {Dtype::i16, 0}, {Dtype::f64, 0}})) {
    expect_compiles(sort_plan::order_files, sort_kernels::key_defines(kind.dtype), {"sort_neighbours"});
  }
}

TEST_P(SortRadixNvrtc, Keys) {
  using sort_keys::Finish;
  using sort_keys::Subject;
  DeviceInfo small = test::nvrtc_gpu();
  small.local_bytes = std::uint64_t{48} << 10;
  std::vector<Subject> subjects = {{Dtype::u32},       {Dtype::f32},       {Dtype::i64},       {Dtype::f64},
                                   {Dtype::f32, 8, 0}, {Dtype::u32, 4, 0}, {Dtype::i32, 0, 4}, {Dtype::f32, 0, 16, 22},
                                   {Dtype::f32, 0, 2}, {Dtype::f32, 4, 0}};
  if (GetParam() != 90) subjects.resize(1);
  // All of them in one way, two in the others.
  const std::size_t some = std::getenv("MASU_TEST_LONG") != nullptr ? subjects.size() : 2;
  for (const DeviceInfo& info : {test::nvrtc_gpu(), small}) {
    const bool large = info.local_bytes != small.local_bytes;
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      const Subject& subject = subjects[i];
      for (const unsigned bits : {sort_keys::most_bucket_bits, 12U}) {
        if (i >= some && (!large || bits != sort_keys::most_bucket_bits)) continue;
        const sort_keys::Tuning tuning = sort_keys::tuning_of(info, subject, bits);
        const std::vector<runtime::Define> defines = sort_keys::part_defines(info, subject, bits, false);
        std::vector<std::string> names = {"keys_count", "keys_places", "keys_first", "keys_second"};
        if (tuning.two_steps) names.insert(names.end(), {"keys_parts", "parts_count"});
        if (tuning.tallies) {
          expect_compiles(sort_keys::part_files, defines, names);
        } else {
          names.insert(names.end(), {"crowd_count", "crowd_split", "crowd_scatter"});
          expect_compiles(sort_keys::crowded_files, defines, names);
        }
        for (const Finish which :
             {Finish::all, Finish::singles, Finish::entries, sort_keys::larger(0), sort_keys::larger(1)}) {
          if (which == Finish::singles && tuning.join_bits == 0) continue;
          if (tuning.shape(which).group == 0) continue;
          if (which == Finish::entries && tuning.tallies) continue;
          expect_compiles(sort_keys::finish_files, sort_keys::finish_defines(info, subject, which, bits),
                          {"keys_finish"});
        }
        if (subject.has_specials()) {
          expect_compiles(sort_special::files(), sort_special::defines(subject.dtype, sort_special::most_listed),
                          {"special_count", "special_move", "special_restore"});
        }
        if (tuning.tally_group != 0) {
          expect_compiles(sort_keys::tally_files, sort_keys::tally_defines(info, subject, bits),
                          {"crowd_tally", "huge_count", "huge_fill"});
        }
      }
    }
  }
}

TEST_P(SortRadixNvrtc, CrowdedKeys) {
  using sort_keys::ByDigitsWhere;
  DeviceInfo gpu = test::nvrtc_gpu();
  gpu.kind = DeviceKind::cuda;
  gpu.compute_units = 132;
  gpu.local_bytes_total = gpu.local_bytes + 1024;
  constexpr std::uint64_t count = std::uint64_t{1} << 28;
  std::vector<sort_once::Kind> kinds = {{Dtype::u32, 4},       {Dtype::f32, 8, true}, {Dtype::i32, 1},
                                        {Dtype::f32, 2},       {Dtype::u64},          {Dtype::f32},
                                        {Dtype::f64, 4, true}, {Dtype::i64, 8, true}};
  if (GetParam() != 90) kinds.resize(1);
  for (const sort_once::Kind& kind : kinds) {
    const sort_once::Plan plan = sort_once::plan_of(gpu, kind, count);
    ASSERT_NE(plan.group, 0U);
    EXPECT_LE((plan.local_bytes + 1024) * plan.resident, gpu.local_bytes_total);
    expect_compiles(sort_once::files, sort_once::defines(plan, kind), {"sort_once"});
  }
  constexpr unsigned bits = sort_keys::most_bucket_bits;
  expect_compiles(
      sort_keys::crowded_files, sort_keys::part_defines(gpu, {Dtype::u64}, bits, true),
      {"keys_count", "keys_places", "keys_first", "keys_second", "crowd_count", "crowd_split", "crowd_scatter"});
  const auto asked = [&](sort_keys::Subject subject) {
    return sort_keys::by_digits_of(gpu, subject, count, bits, ByDigitsWhere::automatic).plan.group != 0;
  };
  EXPECT_TRUE(asked({Dtype::u64}));
  EXPECT_TRUE(asked({Dtype::i32, 4}));
  EXPECT_TRUE(asked({Dtype::i32, 8}));
  EXPECT_FALSE(asked({Dtype::f32, 4}));
  EXPECT_FALSE(asked({Dtype::f64}));
  EXPECT_FALSE(asked({Dtype::u32}));  // so many are fast anyway
  EXPECT_FALSE(asked({Dtype::u32, 0, 8}));
  EXPECT_EQ(sort_once::plan_of(gpu, {Dtype::u32, 8}, count).group, 0U);
  EXPECT_EQ(sort_once::plan_of(gpu, {Dtype::u32, 4}, std::uint64_t{1} << 30).group, 0U);
  gpu.kind = DeviceKind::opencl;
  EXPECT_EQ(sort_once::plan_of(gpu, {Dtype::u32, 4}, count).group, 0U);
}

TEST_P(SortRadixNvrtc, Few) {
  for (const Kind& kind : here({{Dtype::u32, 0}, {Dtype::i64, 0}, {Dtype::f32, 0}})) {
    for (const std::uint64_t count : {1U << 16, 1U << 22}) {
      const sort_few::Plan plan = sort_few::plan_of(test::nvrtc_gpu(), kind.dtype, count);
      expect_compiles(sort_few::files, sort_few::defines(test::nvrtc_gpu(), plan, kind.dtype),
                      {"few_count", "few_part", "few_finish"});
    }
  }
}

TEST_P(SortRadixNvrtc, Counting) {
  for (const Kind& kind : here({{Dtype::i8, 0}, {Dtype::u16, 0}, {Dtype::f16, 0}})) {
    expect_compiles(sort_counting::files, sort_counting::defines(test::nvrtc_gpu(), kind.dtype),
                    {"sort_offsets", "sort_fill", "special_count", "special_move", "special_restore"});
  }
}

class SortNetworkNvrtc : public test::EachArchitecture {};
MASU_ON_EACH_ARCHITECTURE(SortNetworkNvrtc);

TEST_P(SortNetworkNvrtc, Rows) {
  std::vector<sort_rows::Plan> plans;
  for (const Dtype dtype : {Dtype::f32, Dtype::u32, Dtype::i8, Dtype::f16, Dtype::f64, Dtype::i64}) {
    for (const bool indexed : {false, true}) {
      if (GetParam() != 90 && dtype != Dtype::f32 && dtype != Dtype::f64) continue;
      sort_kernels::Arrays arrays;
      arrays.dtype = dtype;
      arrays.order = indexed ? Order::descending : Order::ascending;
      sort_rows::Plan plan = sort_rows::make(test::nvrtc_gpu(), arrays, indexed, dtype == Dtype::i8 ? 5 : 256);
      plan.moves_keys = true;
      plans.push_back(plan);
    }
  }
  sort_rows::Plan pairs = plans[1];
  pairs.index_bytes = 8;
  pairs.record_unit = 4;
  pairs.segments = true;
  plans.push_back(pairs);
  pairs.listed = true;
  pairs.index_bytes = pairs.record_unit = 0;
  plans.push_back(pairs);
  for (const sort_rows::Plan& plan : plans) expect_compiles(sort_rows::Plan::files(), plan.defines(), {"sort_rows"});
}

TEST_P(SortNetworkNvrtc, Merge) {
  const std::pair<Dtype, sort_merge::Moved> kernels[] = {
      {Dtype::f32, {0, 0}}, {Dtype::f32, {1, 1}}, {Dtype::f16, {2, 1}}, {Dtype::f64, {4, 1}},
      {Dtype::f32, {8, 1}}, {Dtype::u8, {1, 3}},  {Dtype::i64, {4, 5}}, {Dtype::u32, {8, 8}},
  };
  for (const auto& [dtype, moved] : kernels) {
    const Order order = moved.units > 1 ? Order::descending : Order::ascending;
    expect_compiles(sort_merge::files(), sort_merge::defines(test::nvrtc_gpu(), dtype, order, moved), {"sort_merge"});
  }
}

}  // namespace
}  // namespace masu
