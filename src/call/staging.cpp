// SPDX-License-Identifier: Apache-2.0
#include "call/staging.h"

#include "runtime/parallel.h"

#include <algorithm>
#include <cstring>

namespace masu::call {

namespace {

constexpr std::uint64_t span_alignment = 16;    // of each span on the device: what the kernels' vectors want
constexpr std::uint64_t least_piece = 1 << 16;  // below this, copies cost more than they carry
constexpr std::uint64_t copy_bytes = 1 << 20;   // what a thread copies at a time

std::uint64_t aligned_span(std::uint64_t bytes) {
  return (bytes + span_alignment - 1) / span_alignment * span_alignment;
}

void copy(std::byte* target, const std::byte* source, std::uint64_t bytes) {
  runtime::parallel_parts(bytes, copy_bytes, [&](std::uint64_t first, std::uint64_t end) {
    std::memcpy(target + first, source + first, end - first);
  });
}

}  // namespace

// Each of the two lanes has a buffer on the device and one in page-locked memory.
Staging::Staging(const Device& device, std::uint64_t bytes)
    : device_(device),
      piece_(bytes == 0 ? staging_bytes
                        : std::clamp(bytes / 4 / span_alignment * span_alignment, least_piece, staging_bytes)),
      lanes_{Lane(device), Lane(device)} {}

Staging::~Staging() = default;

void Staging::settle(Lane& lane) {
  lane.stream.finish();
  for (const Event& event : lane.copies) seconds_ += event.seconds();
  lane.copies.clear();
}

Staging::Lane& Staging::next(std::uint64_t bytes, bool through_host) {
  Lane& lane = lanes_[turn_];
  turn_ = 1 - turn_;
  settle(lane);
  if (!lane.device || lane.device->size() < bytes) {
    lane.device.reset();
    lane.device.emplace(device_, bytes);
  }
  if (through_host && (!lane.host || lane.host->size() < bytes)) {
    lane.host.reset();
    lane.host.emplace(device_, bytes);
  }
  return lane;
}

void Staging::piece(std::span<const std::span<const std::byte>> spans, const Use& use) {
  std::vector<std::uint64_t> offsets;
  std::uint64_t bytes = 0;
  bool locked = true;
  for (const std::span<const std::byte> span : spans) {
    offsets.push_back(bytes);
    bytes += aligned_span(span.size());
    locked = locked && device_.is_page_locked(span.data(), span.size());
  }
  Lane& lane = next(bytes, !locked);
  if (locked) {
    borrowed_ = true;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      lane.copies.push_back(lane.stream.write(*lane.device, spans[i], offsets[i]));
    }
  } else {
    const double start = now();
    for (std::size_t i = 0; i < spans.size(); ++i) {
      copy(lane.host->data() + offsets[i], spans[i].data(), spans[i].size());
    }
    seconds_ += now() - start;
    lane.copies.push_back(lane.stream.write(*lane.device, std::span<const std::byte>(lane.host->data(), bytes), 0));
  }
  use(lane.stream, *lane.device, offsets);
}

void Staging::pieces(const ArrayView& data, std::uint64_t unit, const UsePiece& use) {
  const std::uint64_t unit_bytes = unit * size_of(data.dtype);
  const std::uint64_t bytes = data.count * size_of(data.dtype);
  const std::uint64_t most = std::max(unit_bytes, piece_ / unit_bytes * unit_bytes);
  const auto* from = static_cast<const std::byte*>(data.data);
  for (std::uint64_t first = 0; first < bytes; first += most) {
    const std::span some(from + first, std::min(most, bytes - first));
    piece({&some, 1}, [&](Stream& stream, const BufferBase& buffer, std::span<const std::uint64_t>) {
      use(stream, buffer, some.size() / size_of(data.dtype));
    });
  }
  release();
}

void Staging::rows(const std::byte* first, std::uint64_t row_bytes, std::uint64_t count, std::uint64_t pitch,
                   const Use& use) {
  Lane& lane = next(row_bytes * count, true);
  const double start = now();
  const std::uint64_t rows_a_task = std::max<std::uint64_t>(1, copy_bytes / row_bytes);
  runtime::parallel_parts(count, rows_a_task, [&](std::uint64_t row, std::uint64_t end) {
    for (; row < end; ++row) {
      std::memcpy(lane.host->data() + row * row_bytes, first + row * pitch, row_bytes);
    }
  });
  seconds_ += now() - start;
  lane.copies.push_back(
      lane.stream.write(*lane.device, std::span<const std::byte>(lane.host->data(), row_bytes * count), 0));
  const std::uint64_t offset = 0;
  use(lane.stream, *lane.device, std::span(&offset, 1));
}

void Staging::release() {
  if (borrowed_) finish();
}

void Staging::finish() {
  for (Lane& lane : lanes_) settle(lane);
  borrowed_ = false;
}

}  // namespace masu::call
