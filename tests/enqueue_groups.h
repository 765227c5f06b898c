// SPDX-License-Identifier: Apache-2.0
// Forms of enqueue_forms.h, which includes this: groups and segments.
#pragma once

#include "enqueue_forms.h"

#include <masu/group.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

namespace masu::test {

inline std::vector<std::uint64_t> EnqueueForms::segments_of(Dtype dtype) const {
  const std::uint64_t keys = count_ * 4 / size_of(dtype);
  return {0, keys / 3, keys / 3, keys / 2, keys};
}

inline void EnqueueForms::add_groups() {
  Buffer<std::byte>& offsets = buffer((count_ + 1) * sizeof(std::uint64_t));
  add("group", true,
      [=, this, &offsets](Stream& s) {
        return group(s, more_, Dtype::u32, {wide_, offsets, places_}, {.workspace = with_});
      },
      {&offsets, &places_});
  const std::vector<std::uint64_t> segments(std::begin(segments_), std::end(segments_));
  const auto borders = std::make_shared<const Buffer<std::uint64_t>>(device_.upload(segments));
  Buffer<std::byte>& sums = buffer(4 * sizeof(double));
  add("segment_sum", true,
      [=, this, &sums](Stream& s) { return segment_sum(s, data_, Dtype::f32, *borders, sums, {.workspace = with_}); },
      {&sums});
}

}  // namespace masu::test
