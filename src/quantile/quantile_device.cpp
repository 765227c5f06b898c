// SPDX-License-Identifier: Apache-2.0
#include "quantile/quantile_device.h"

#include "histogram/device_rules.h"
#include "quantile/quantile_plan.h"
#include "runtime/backend.h"

#include <masu/sort.h>
#include <masu/stream.h>

#include <algorithm>
#include <array>

namespace masu {

namespace {

std::uint64_t tiles_of(const DeviceInfo& device, std::uint64_t count) {
  const std::uint64_t tile = quantile_plan::tile_elements(device);
  return (count + tile - 1) / tile;
}

class Launcher {
 public:
  Launcher(const Device& device, Dtype dtype)
      : device_(device),
        module_(runtime::own_program(*device.implementation(), quantile_plan::files(),
                                     quantile_plan::defines(device.info(), dtype))) {}
  void operator()(Stream& stream, std::string_view name, std::uint64_t groups,
                  const std::vector<KernelArgument>& arguments) const {
    const unsigned group = quantile_plan::work_group(device_.info());
    stream.implementation().launch(*module_->kernel(name), NDRange(groups * group, group), arguments);
  }
  [[nodiscard]] std::uint64_t most_groups() const {
    constexpr std::uint64_t groups_a_unit = 8;
    return std::max<std::uint64_t>(1, device_.info().compute_units) * groups_a_unit;
  }

 private:
  Device device_;
  std::shared_ptr<runtime::Module> module_;
};

}  // namespace

std::uint64_t partition_bytes(const Device& device, std::uint64_t count) {
  return (2 * tiles_of(device.info(), count) + 2) * sizeof(std::uint64_t);
}

PartitionResult partition_on_device(const BufferBase& data, Dtype dtype, const BufferBase& result, std::uint64_t key) {
  const Device& device = data.device();
  const std::uint64_t count = data.size_bytes() / size_of(dtype);
  const std::uint64_t tiles = tiles_of(device.info(), count);
  const Launcher launch(device, dtype);
  const unsigned group = quantile_plan::work_group(device.info());
  Buffer<std::uint64_t> counts(device, 2 * tiles + 2);
  Stream stream(device, Timing::off);
  const std::uint64_t groups = std::clamp<std::uint64_t>(tiles, 1, launch.most_groups());
  const std::uint64_t none = 0;
  launch(stream, "quantile_count", groups,
         {whole(data), data.byte_offset(), count, key, KernelArgument(counts, ArgumentType{}), none,
          LocalMemory{2 * sizeof(std::uint32_t)}});
  launch(stream, "quantile_scan", 1,
         {tiles, KernelArgument(counts, ArgumentType{}), none, LocalMemory{2 * group * sizeof(std::uint64_t)}});
  launch(stream, "quantile_scatter", groups,
         {whole(data), data.byte_offset(), count, key, KernelArgument(counts, ArgumentType{}), none, whole(result),
          result.byte_offset(), LocalMemory{group * sizeof(std::uint32_t)}});
  std::array<std::uint64_t, 2> totals{};
  stream.read(counts, std::span(totals), 2 * tiles);
  stream.finish();
  return {totals[0], totals[1]};
}

std::vector<std::uint64_t> keys_of_rows_on_device(const BufferBase& data, Dtype dtype, std::uint64_t rows,
                                                  std::span<const std::uint64_t> places) {
  const Device& device = data.device();
  Buffer<std::byte> sorted(device, data.size_bytes());
  sort(data, dtype, sorted, {.rows = rows});
  const Launcher launch(device, dtype);
  const std::vector<std::uint64_t> wanted(places.begin(), places.end());
  const Buffer<std::uint64_t> at = device.upload(wanted);
  Buffer<std::uint64_t> found(device, rows * places.size());
  Stream stream(device, Timing::off);
  const unsigned group = quantile_plan::work_group(device.info());
  const std::uint64_t groups = std::clamp<std::uint64_t>(found.size() / group, 1, launch.most_groups());
  launch(stream, "quantile_gather", groups,
         {whole(sorted), sorted.byte_offset(), data.size_bytes() / size_of(dtype) / rows, rows, at,
          static_cast<std::uint32_t>(places.size()), found});
  stream.finish();
  return found.read();
}

}  // namespace masu
