// SPDX-License-Identifier: Apache-2.0
#include "quantile/quantile_device.h"

#include "call/launcher.h"
#include "quantile/quantile_plan.h"

#include <masu/stream.h>

#include <algorithm>
#include <array>

namespace masu {

namespace {

std::uint64_t tiles_of(const DeviceInfo& device, std::uint64_t count) {
  const std::uint64_t tile = quantile_plan::tile_elements(device);
  return (count + tile - 1) / tile;
}

call::Kernels kernels_of(const Device& device, Dtype dtype) {
  return {device, quantile_plan::files, quantile_plan::defines(device.info(), dtype),
          quantile_plan::work_group(device.info())};
}

std::uint64_t most_groups(const Device& device) {
  constexpr std::uint64_t groups_a_unit = 8;
  return std::max<std::uint64_t>(1, device.info().compute_units) * groups_a_unit;
}

}  // namespace

std::uint64_t partition_bytes(const Device& device, std::uint64_t count) {
  return (2 * tiles_of(device.info(), count) + 2) * sizeof(std::uint64_t);
}

PartitionResult partition_on_device(const BufferBase& data, Dtype dtype, const BufferBase& result, std::uint64_t key) {
  const Device& device = data.device();
  const std::uint64_t count = data.size_bytes() / size_of(dtype);
  const std::uint64_t tiles = tiles_of(device.info(), count);
  call::Kernels kernels = kernels_of(device, dtype);
  const std::uint64_t group = quantile_plan::work_group(device.info());
  Buffer<std::uint64_t> counts(device, 2 * tiles + 2);
  Stream stream(device, Timing::off);
  const std::uint64_t groups = std::clamp<std::uint64_t>(tiles, 1, most_groups(device));
  kernels.launch(stream, "quantile_count", groups, data, count, key, counts, call::local<std::uint32_t>(2));
  kernels.launch(stream, "quantile_scan", 1, tiles, counts, call::local<std::uint64_t>(2 * group));
  kernels.launch(stream, "quantile_scatter", groups, data, count, key, counts, result,
                 call::local<std::uint32_t>(group),
                 LocalMemory{quantile_plan::staged_elements(device.info()) * size_of(dtype)});
  std::array<std::uint64_t, 2> totals{};
  stream.read(counts, std::span(totals), 2 * tiles);
  stream.finish();
  return {totals[0], totals[1]};
}

}  // namespace masu
