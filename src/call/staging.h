// SPDX-License-Identifier: Apache-2.0
// Host data on its way to a device: copies of one piece beside the kernels of the piece before.
#pragma once

#include "call/launcher.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/stream.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace masu::call {

// Most bytes of a piece: long enough for the bus, short enough to lock pages quickly.
inline constexpr std::uint64_t staging_bytes = std::uint64_t{16} << 20;

class Staging {
 public:
  // Device and page-locked memory of at most `bytes` together; 0: staging_bytes a piece.
  Staging(const Device& device, std::uint64_t bytes);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // The most bytes of one piece.
  [[nodiscard]] std::uint64_t piece_bytes() const noexcept { return piece_; }
  // A piece made of several spans, each aligned to 16 bytes on the device: copies them there one after the other, then
  // calls use(stream, buffer, offsets), which launches. At most piece_bytes() with the padding. The spans may be reused
  // after it, page-locked ones after finish().
  using Use = std::function<void(Stream&, const BufferBase&, std::span<const std::uint64_t>)>;
  void piece(std::span<const std::span<const std::byte>> spans, const Use& use);
  // Host data in pieces of whole units of `unit` elements: use(stream, buffer, elements) for each, at the beginning of
  // the buffer. The data may be reused when it returns.
  using UsePiece = std::function<void(Stream&, const BufferBase&, std::uint64_t)>;
  void pieces(const ArrayView& data, std::uint64_t unit, const UsePiece& use);
  // Rows of `row_bytes` that lie `pitch` bytes apart, as one piece without gaps.
  void rows(const std::byte* first, std::uint64_t row_bytes, std::uint64_t count, std::uint64_t pitch, const Use& use);
  // Returns the spans to the caller: waits for the copies from page-locked ones, which need no staging.
  void release();
  // Waits for all pieces.
  void finish();
  // Seconds of the finished copies to the device, filling page-locked memory included.
  [[nodiscard]] double seconds() const noexcept { return seconds_; }

 private:
  struct Lane {
    explicit Lane(const Device& on) : stream(timed_stream(on, true)) {}
    std::optional<Buffer<std::byte>> device;
    std::optional<HostBuffer<std::byte>> host;
    std::vector<Event> copies;
    Stream stream;  // the last: it waits for its commands before the memory goes
  };
  Lane& next(std::uint64_t bytes, bool through_host);
  void settle(Lane& lane);

  Device device_;
  std::uint64_t piece_;
  std::array<Lane, 2> lanes_;
  unsigned turn_ = 0;
  bool borrowed_ = false;  // a copy from the caller's memory may be under way
  double seconds_ = 0;
};

}  // namespace masu::call
