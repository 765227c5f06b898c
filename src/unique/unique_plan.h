// SPDX-License-Identifier: Apache-2.0
// Runs, and distinct values of 8- and 16-bit data, on an OpenCL or CUDA device: what is launched, and every constant of
// the kernels, which stand here once and reach the kernels as defines.
#pragma once

#include "call/launcher.h"
#include "call/operands.h"
#include "histogram/device/slot_kernels.h"
#include "runtime/kernel_source.h"
#include "runtime/tuning.h"

#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/stream.h>
#include <masu/unique.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace masu::unique_plan {

// Bytes of an element's place in an order: 32 bits while they suffice.
constexpr std::size_t index_bytes(std::uint64_t count) {
  return count <= std::uint64_t{1} << 32 ? 4 : 8;
}

struct Tuned {
#define MASU_TUNED MASU_TUNED_MEMBER
#include "unique/unique_tuning.def"
};
inline Tuned tuned;

struct Plan {
  unsigned group = 256;            // work-items in a work-group
  unsigned unroll = tuned.unroll;  // 16-byte loads in flight
  unsigned words = 4;              // words of the mask that a work-item has of a tile
  std::uint64_t lead = 0;          // most elements between a multiple of 16 bytes and the data
  std::uint64_t tiles = 1;         // of all
  std::uint64_t a_span = 1;        // tiles of a work-group
  std::uint64_t spans = 1;         // work-groups

  [[nodiscard]] std::uint64_t tile_words() const noexcept { return std::uint64_t{group} * words; }
  [[nodiscard]] std::uint64_t tile_bits() const noexcept { return tile_words() * 32; }
  // Starts of a tile that are put into order in local memory; with more of them, each element finds its place itself.
  [[nodiscard]] std::uint64_t staged() const noexcept { return tile_bits() / 4; }
  // The mask, and two words for each span.
  [[nodiscard]] std::uint64_t mask_bytes() const noexcept { return tiles * tile_words() * sizeof(std::uint32_t); }
  [[nodiscard]] std::uint64_t span_bytes() const noexcept { return spans * 2 * sizeof(std::uint32_t); }
  [[nodiscard]] std::uint64_t workspace() const noexcept {
    return call::aligned(mask_bytes()) + call::aligned(span_bytes());
  }
  // `places`: bytes of an element's place in the order.
  [[nodiscard]] std::vector<runtime::Define> defines(Dtype dtype, std::size_t places) const;
};

inline constexpr std::array<std::string_view, 3> files = {"src/elements/elements.cl", "src/elements/group_scan.cl",
                                                          "src/unique/unique.cl"};

// For `count` elements. `group`, `most_spans`: not those that suit the device, for tests.
Plan make(const DeviceInfo& device, Dtype dtype, std::uint64_t count, unsigned group = 0, std::uint64_t most_spans = 0);

}  // namespace masu::unique_plan

namespace masu {

// Where results go; null: not wanted. Their first element is the first run's.
struct RunOutput {
  const BufferBase* values = nullptr;
  const BufferBase* lengths = nullptr;  // u64
  const BufferBase* starts = nullptr;   // u64; with an order, the place in it of each run's first element
  const BufferBase* number = nullptr;   // u64: of the runs
  const BufferBase* inverse = nullptr;  // u64: inverse[order[e]] is the run of element e
};

// The runs of device memory: queues the marking of their starts, then tells how many there are, then writes them.
class DeviceRunFinder {
 public:
  // `memory` has at least plan.workspace() bytes from a multiple of 16 on. `order` may be null: of `index_bytes` bytes
  // for each element. All must outlive the work.
  DeviceRunFinder(Stream& stream, const BufferBase& data, Dtype dtype, std::uint64_t count,
                  const unique_plan::Plan& plan, const BufferBase& memory, const BufferBase* order,
                  std::size_t index_bytes);

  // order[i] = i, and the data are those of `unsorted`.
  void start_order(const BufferBase& unsorted);
  // To be called once, after what makes the data.
  void mark();
  // How many runs there are. Waits.
  [[nodiscard]] std::uint64_t runs();
  // Queues the writing of the runs.
  void write(const RunOutput& output);
  // Device time of all that was queued; of a stream that tells times. Waits.
  [[nodiscard]] double seconds() const;

 private:
  [[nodiscard]] call::Arguments input() const;
  template <class... T>
  void launch(std::string_view kernel, std::uint64_t groups, const T&... arguments);

  Stream& stream_;
  const BufferBase& data_;
  std::uint64_t count_;
  unique_plan::Plan plan_;
  const BufferBase& memory_;
  const BufferBase* order_;
  std::uint64_t mask_at_;
  std::uint64_t spans_at_;
  call::Kernels kernels_;
  std::vector<Event> events_;
};

}  // namespace masu

// Distinct values of 8- and 16-bit data, from how often each pattern of bits occurs.
namespace masu::unique_patterns {

// Whether counting all patterns costs less than sorting `count` elements. Of floats only where another way may follow:
// which of several zeros or NaNs is the first in the data is not known then.
[[nodiscard]] bool serves(Dtype dtype, std::uint64_t count, bool another_way) noexcept;
// Bytes of temporary memory.
[[nodiscard]] std::uint64_t workspace(const DeviceInfo& device, Dtype dtype, std::uint64_t count);

class Finder {
 public:
  // Queues the counting. `memory`: workspace() bytes from a multiple of 16 on. Data and memory must outlive the work.
  Finder(Stream& stream, const BufferBase& data, Dtype dtype, std::uint64_t count, Buffer<std::byte> memory);
  // Queues the values, with their counts, to memory with room for all.
  void write(const RunOutput& output);
  // The same to memory of their size, which is made here. Waits. Nothing where a value has several patterns.
  [[nodiscard]] std::optional<DeviceUnique<std::byte>> read(bool counts);
  // Device time of all that was queued; of a stream that tells times. Waits.
  [[nodiscard]] double seconds() const { return call::seconds_of(events_); }

 private:
  Stream& stream_;
  Dtype dtype_;
  Buffer<std::byte> memory_;
  std::uint64_t results_at_;  // in the memory
  std::vector<Event> events_;
};

inline constexpr std::array<std::string_view, 3> files = {"src/elements/elements.cl", "src/elements/group_scan.cl",
                                                          "src/unique/unique_patterns.cl"};
std::vector<runtime::Define> defines(Dtype dtype, unsigned group);

}  // namespace masu::unique_patterns
