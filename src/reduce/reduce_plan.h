// SPDX-License-Identifier: Apache-2.0
// How data is reduced on a device, and every constant of the kernels.
#pragma once

#include "call/launcher.h"
#include "reduce/reduce_rank.h"
#include "runtime/kernel_source.h"
#include "runtime/tuning.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/reduce.h>
#include <masu/stream.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace masu::reduce_plan {

struct Tuned {
#define MASU_TUNED MASU_TUNED_MEMBER
#include "reduce/reduce_tuning.def"
};
inline Tuned tuned;

// The wanted results of each row, as bits of `wanted` in the kernels. Those of the greatest are `wants_bits` higher.
inline constexpr std::uint32_t wants_values = 1;
inline constexpr std::uint32_t wants_indices = 2;
inline constexpr std::uint32_t wants_places = 4;  // of NaNs that are skipped too
inline constexpr std::uint32_t wants_bits = 3;
inline constexpr std::uint32_t wants_numbers = 1;
inline constexpr std::uint32_t wants_all = 2;
inline constexpr std::uint32_t wants_any = 4;

struct Plan {
  Dtype dtype = Dtype::u8;
  ReduceOp op = ReduceOp::min;
  bool skip = false;
  std::uint64_t rows = 1;
  std::uint64_t count = 1;           // elements of a row
  unsigned group = 256;              // work-items in a work-group
  unsigned vectors = tuned.vectors;  // 16-byte vectors that a work-item reads at a time
  unsigned members = 0;              // work-groups for each row; 0: rows are short
  unsigned width = 1;                // work-items for each short row
  std::uint64_t groups = 1;          // work-groups in all

  [[nodiscard]] bool counts() const noexcept { return op == ReduceOp::count_nonzero; }
  // Extremes of a row that are sought.
  [[nodiscard]] unsigned extremes() const noexcept { return counts() ? 0 : op == ReduceOp::minmax ? 2 : 1; }
  [[nodiscard]] std::uint64_t tile_elements() const noexcept {
    return std::uint64_t{group} * vectors * 16 / size_of(dtype);
  }
  // Bytes of what the work-groups of a row leave for its last one, and of the words that count them.
  [[nodiscard]] std::uint64_t part_bytes() const noexcept;
  [[nodiscard]] std::uint64_t left_bytes() const noexcept;
  // Results for the host: places or counts, and elements, of one kind of extreme.
  [[nodiscard]] std::uint64_t number_bytes() const noexcept;
  [[nodiscard]] std::uint64_t value_bytes() const noexcept;
  [[nodiscard]] std::uint64_t workspace() const noexcept;
  [[nodiscard]] std::span<const std::string_view> files() const noexcept;
  [[nodiscard]] std::vector<runtime::Define> defines() const;
};

// For `rows` rows of `count` >= 1 elements. `group`, `most_groups`: not those that suit the device, for tests.
Plan make(const DeviceInfo& device, Dtype dtype, ReduceOp op, bool skip, std::uint64_t rows, std::uint64_t count,
          unsigned group = 0, std::uint64_t most_groups = 0);

}  // namespace masu::reduce_plan

// Reducing on an OpenCL or CUDA device.
namespace masu {

class DeviceReduce {
 public:
  // `memory`: plan.workspace() bytes. Where all `targets` are null, the results are for the host.
  DeviceReduce(const BufferBase& data, const reduce_plan::Plan& plan, Buffer<std::byte> memory,
               const ReduceTargets& targets = {});

  // Launches all.
  void start(Stream& stream, const BufferBase& data);
  // Enqueues the reading of the results. found() decodes them once the stream has been finished.
  void read(Stream& stream);
  [[nodiscard]] std::vector<Reduced> found() const;
  // Both. Waits.
  std::vector<Reduced> fetch(Stream& stream) {
    read(stream);
    stream.finish();
    return found();
  }
  // Device time of the launch, on a stream with timing events. Waits.
  [[nodiscard]] double seconds() const { return launch_.seconds(); }

 private:
  // Results for the host: places or counts, and elements, of extreme 0 or 1.
  [[nodiscard]] Buffer<std::byte> numbers(int which) const;
  [[nodiscard]] Buffer<std::byte> values(int which) const;
  [[nodiscard]] call::Arguments targets() const;

  reduce_plan::Plan plan_;
  Buffer<std::byte> memory_;
  ReduceTargets targets_;
  bool for_host_;
  call::Kernels kernels_;
  std::vector<std::byte> results_;  // read from the memory
  Event launch_;
};

// Reducing on the CPU.

// Finds the results of each of `rows` rows of equal length, at least one element each; indices count from `first` on.
std::vector<Reduced> reduce_cpu(const ArrayView& data, std::uint64_t rows, ReduceOp op, bool skip,
                                std::uint64_t first = 0);

}  // namespace masu

namespace masu::cpu {

// The loops over elements, compiled once for each instruction set.

// The place of an extreme is sought in the one block of this many bytes that has it first.
inline constexpr std::uint64_t block_bytes = std::uint64_t{1} << 16;

// The least rank of elements, and where the first block begins that has it, in elements.
struct BestBlock {
  std::uint64_t rank = ~std::uint64_t{0};
  std::uint64_t begin = 0;
};
// For the least and the greatest of at least one element; sets only what `op` wants.
struct BestBlocks {
  BestBlock of[2];
};
BestBlocks best_blocks(Dtype dtype, const void* elements, std::uint64_t count, ReduceOp op, bool skip);

// The first element of this rank; `count` where there is none.
std::uint64_t first_of_rank(Dtype dtype, const void* elements, std::uint64_t count, const ExtremeRule& rule,
                            std::uint64_t rank);

// How many elements are not zero.
std::uint64_t nonzero_elements(Dtype dtype, const void* elements, std::uint64_t count);

}  // namespace masu::cpu
