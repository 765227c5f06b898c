// SPDX-License-Identifier: Apache-2.0
#include "sort/cpu/sort_cpu_buckets.h"

namespace masu::cpu {

// Neighbouring digits share a bucket until it has its part of the keys. So one with much more than that is one digit.
void BucketPlan::make_buckets() {
  places_.resize(counts_.size());
  for (auto& place : places_) place.fill(0);
  buckets_ = {{0, 0}};
  for (std::size_t digit = 0; digit < bucket_digits; ++digit) {
    std::uint64_t here = 0;
    for (const auto& mine : counts_) here += mine[digit];
    const std::uint64_t size = buckets_.back().size();
    if (buckets_.size() < most_buckets && size != 0 && size + here > count_ / most_buckets) {
      buckets_.push_back({buckets_.back().last, buckets_.back().last});
    }
    buckets_.back().last += here;
    const std::size_t bucket = buckets_.size() - 1;
    bucket_of_[digit] = static_cast<std::uint16_t>(bucket);
    for (std::size_t stripe = 0; stripe < counts_.size(); ++stripe) places_[stripe][bucket] += counts_[stripe][digit];
  }
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    std::uint64_t at = buckets_[bucket].first;
    for (auto& place : places_) at += std::exchange(place[bucket], at);
  }
}

}  // namespace masu::cpu
