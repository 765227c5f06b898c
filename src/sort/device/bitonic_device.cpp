// SPDX-License-Identifier: Apache-2.0
#include "sort/device/sort_kernels.h"

#include "call/operands.h"
#include "elements/elements.h"
#include "sort/device/sort_plan.h"

#include <masu/bitonic.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

namespace masu::bitonic {

using sort_kernels::Arrays;

namespace {

constexpr unsigned most_group = 256;
constexpr unsigned most_fused = 3;  // 8 keys of a work-item
constexpr auto bitonic_files = sort_plan::files("src/sort/device/sort_bitonic.cl");

unsigned group_of(const DeviceInfo& device) {
  return static_cast<unsigned>(std::bit_floor(std::min<std::uint64_t>(device.max_work_group_size, most_group)));
}

// Keys that a work-group finishes a stage of: 16 bytes each at most.
std::uint64_t tile_of(const DeviceInfo& device, Dtype dtype) {
  return std::min<std::uint64_t>(2048, sort_rows::most_local_keys(device, dtype, true));
}

bool in_groups(const DeviceInfo& device, const Arrays& arrays, std::uint64_t piece_length) {
  const bool indexed = arrays.has_indices() || arrays.has_records();
  return piece_length <= sort_rows::most_local_keys(device, arrays.dtype, indexed);
}

// What the temporary memory is used for.
struct Layout {
  std::uint64_t indices = 0;  // bytes of each part
  std::uint64_t keys = 0;
  std::uint64_t records = 0;
  std::size_t index_bytes = 0;
};

Layout layout_of(const Arrays& arrays, std::uint64_t pieces, std::uint64_t piece_length) {
  const std::uint64_t count = pieces * piece_length;
  Layout layout;
  layout.index_bytes = arrays.has_indices() ? arrays.index_bytes : piece_length > UINT32_MAX ? 8 : 4;
  const bool indexed = arrays.has_records() || is_float(arrays.dtype);
  if (arrays.has_indices()) {
    if (arrays.keys_stay()) layout.keys = call::aligned(count * size_of(arrays.dtype));
  } else if (indexed) {
    layout.indices = call::aligned(count * layout.index_bytes);
  } else {
    layout.index_bytes = 0;
  }
  if (arrays.has_records()) layout.records = call::aligned(count * arrays.record_bytes);
  return layout;
}

// The launches of one sort whose keys and indices are in place.
class Passes {
 public:
  Passes(Stream& stream, const Arrays& arrays, std::uint64_t pieces, std::uint64_t piece_length, DeviceWork& work)
      : stream_(stream),
        arrays_(arrays),
        pieces_(pieces),
        piece_length_(piece_length),
        group_(group_of(stream.device().info())),
        tile_(tile_of(stream.device().info(), arrays.dtype)),
        work_(work) {}

  void run() {
    sort_rows::sort(stream_, arrays_, {pieces_, piece_length_, tile_}, nullptr, work_);
    Arrays in_place = arrays_;
    in_place.source = arrays_.target;
    arrays_ = in_place;
    const std::vector<BitonicPass> schedule = bitonic_schedule(piece_length_);
    for (std::size_t i = 0; i < schedule.size();) {
      const BitonicPass& pass = schedule[i];
      if (std::uint64_t{2} << pass.stage <= tile_) {  // a stage within tiles is done
        ++i;
        continue;
      }
      if (pass.distance < tile_) {
        near();
        while (i < schedule.size() && schedule[i].stage == pass.stage) ++i;
        continue;
      }
      unsigned fused = 1;
      while (fused < most_fused && pass.distance >> fused >= tile_) ++fused;
      far(pass, fused);
      i += fused;
    }
  }

 private:
  [[nodiscard]] call::Arguments arguments() const {
    return call::Arguments(*arrays_.target, sort_kernels::place_of(arrays_.indices, *arrays_.target), piece_length_);
  }
  [[nodiscard]] unsigned index_bytes() const { return static_cast<unsigned>(arrays_.index_bytes); }
  // Looked up once: finding a program by its text takes longer than a launch.
  call::Kernels& kernels(unsigned fused) {
    std::optional<call::Kernels>& known = kernels_[fused];
    if (!known) {
      const Device& device = stream_.device();
      known.emplace(device, files(), defines(device.info(), arrays_.dtype, arrays_.order, index_bytes(), fused),
                    group_);
    }
    return *known;
  }

  void far(const BitonicPass& pass, unsigned fused) {
    const std::uint64_t between = pass.distance >> (fused - 1);
    const std::uint64_t block = 2 * pass.distance;
    const std::uint64_t piece_items = (piece_length_ + block - 1) / block * between;
    const std::uint64_t items = piece_items * pieces_;
    for (std::uint64_t first = 0; first < items; first += sort_kernels::most_groups * group_) {
      const std::uint64_t groups = std::min((items - first + group_ - 1) / group_, sort_kernels::most_groups);
      work_.done(kernels(fused).launch(stream_, "bitonic_far", groups, arguments(), items, piece_items, first,
                                       static_cast<std::uint32_t>(std::countr_zero(between)),
                                       std::uint32_t{pass.mirrored() ? 1U : 0U}));
    }
  }

  void near() {
    const std::uint64_t piece_tiles = (piece_length_ + tile_ - 1) / tile_;
    const std::uint64_t tiles = piece_tiles * pieces_;
    for (std::uint64_t first = 0; first < tiles; first += sort_kernels::most_groups) {
      work_.done(kernels(0).launch(stream_, "bitonic_near", std::min(tiles - first, sort_kernels::most_groups),
                                   arguments(), piece_tiles, first, LocalMemory{tile_ * size_of(arrays_.dtype)},
                                   LocalMemory{index_bytes() == 0 ? 16 : tile_ * index_bytes()}));
    }
  }

  Stream& stream_;
  Arrays arrays_;
  std::uint64_t pieces_;
  std::uint64_t piece_length_;
  unsigned group_;
  std::uint64_t tile_;
  DeviceWork& work_;
  std::array<std::optional<call::Kernels>, most_fused + 1> kernels_;
};

}  // namespace

std::vector<runtime::Define> defines(const DeviceInfo& device, Dtype dtype, Order order, unsigned index_bytes,
                                     unsigned fused) {
  std::vector<runtime::Define> result = sort_kernels::key_defines(dtype, order);
  result.push_back({"MASU_GROUP", group_of(device)});
  result.push_back({"MASU_TILE", tile_of(device, dtype)});
  result.push_back({"MASU_INDEX_BYTES", index_bytes});
  result.push_back({"MASU_INDEX", unsigned_type(index_bytes == 8 ? 8 : 4)});
  result.push_back({"MASU_FUSED", fused});
  return result;
}

std::span<const std::string_view> files() noexcept {
  return bitonic_files;
}

std::uint64_t workspace_bytes(const DeviceInfo& device, const Arrays& arrays, std::uint64_t pieces,
                              std::uint64_t piece_length) {
  if (in_groups(device, arrays, piece_length)) {
    return sort_rows::workspace_bytes(device, arrays, {pieces, piece_length, piece_length});
  }
  const Layout layout = layout_of(arrays, pieces, piece_length);
  return layout.indices + layout.keys + layout.records;
}

void sort(Stream& stream, const Arrays& arrays, std::uint64_t pieces, std::uint64_t piece_length,
          const BufferBase* workspace, DeviceWork& work) {
  const DeviceInfo& device = stream.device().info();
  if (in_groups(device, arrays, piece_length)) {
    return sort_rows::sort(stream, arrays, {pieces, piece_length, piece_length}, workspace, work);
  }
  const Layout layout = layout_of(arrays, pieces, piece_length);
  const std::uint64_t bytes = layout.indices + layout.keys + layout.records;
  const Buffer<std::byte> memory = work.memory_for(stream.device(), workspace, std::max<std::uint64_t>(bytes, 16));
  const Buffer<std::byte> indices = memory.slice(0, layout.indices);
  const Buffer<std::byte> keys = memory.slice(layout.indices, layout.keys);
  Arrays network = arrays;
  network.records = network.moved_records = nullptr;
  network.record_bytes = 0;
  if (layout.indices != 0) network.indices = &indices;
  network.index_bytes = layout.index_bytes;
  if (arrays.target == nullptr) network.target = &keys;
  Passes(stream, network, pieces, piece_length, work).run();
  if (!arrays.has_records()) return;
  const Buffer<std::byte> moved =
      memory.slice(layout.indices + layout.keys, pieces * piece_length * arrays.record_bytes);
  sort_kernels::gather(stream, *arrays.records, moved, *network.indices, network.index_bytes, arrays.record_bytes,
                       pieces * piece_length, piece_length, work);
  work.done(call::copy(stream, moved, *arrays.moved_records));
}

}  // namespace masu::bitonic
