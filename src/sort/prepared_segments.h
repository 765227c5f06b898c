// SPDX-License-Identifier: Apache-2.0
// Segments that are checked, planned and uploaded once.
#pragma once

#include "sort/device/sort_device.h"
#include "sort/sort_job.h"

#include <masu/device.h>
#include <masu/sort.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace masu {

struct PreparedSegments::State {
  State(const Device& on, Dtype keys, std::uint64_t count, std::span<const std::uint64_t> segments, Payload::Kind moved,
        std::size_t bytes);

  // What is sorted. Throws for another number of keys.
  [[nodiscard]] SortJob job(std::string_view function, std::uint64_t count, Order order) const;
  // Throws unless it has been made for these. Values on the host will be well placed.
  void check(std::string_view function, const Device& on, Dtype keys, const Payload& payload) const;
  [[nodiscard]] const DeviceSegments* tables() const noexcept { return tables_.get(); }

 private:
  Device device_;
  Dtype dtype_;
  Payload payload_;
  std::vector<std::uint64_t> offsets_;
  Pieces pieces_;
  std::shared_ptr<const DeviceSegments> tables_;  // none on `cpu`, nor without keys
};

// The offsets do not fall and end within the keys.
void check_segments(std::string_view function, std::span<const std::uint64_t> offsets, std::uint64_t count);

}  // namespace masu
