// SPDX-License-Identifier: Apache-2.0
// What is moved where, what to launch, and every constant of the kernels.
#pragma once

#include "runtime/kernel_source.h"
#include "runtime/tuning.h"

#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/stream.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace masu::gather_plan {

inline constexpr std::array<std::string_view, 1> gather_files = {"src/gather/gather.cl"};
inline constexpr std::array<std::string_view, 3> move_files = {"src/elements/first_position.cl", "src/gather/gather.cl",
                                                               "src/gather/gather_moves.cl"};
inline constexpr std::array<std::string_view, 2> compact_files = {"src/elements/group_scan.cl",
                                                                  "src/gather/gather_compact.cl"};
inline constexpr std::array<std::string_view, 3> iota_files = {"src/elements/elements.cl", "src/elements/soft_float.cl",
                                                               "src/gather/gather_iota.cl"};

struct Tuned {
#define MASU_TUNED MASU_TUNED_MEMBER
#include "gather/gather_tuning.def"
};
inline Tuned tuned;

inline constexpr std::uint64_t flag_bytes = 8;   // in front of what they note
inline constexpr std::uint64_t note_bytes = 16;  // position and index
inline constexpr std::uint64_t owner_bytes = 4;  // for each place of a scatter
inline constexpr std::uint64_t claimed_at_a_time = std::uint64_t{1} << 31;

enum class Operation { gather, scatter, permute, reverse };

// Rows of records.
struct Move {
  Operation operation = Operation::gather;
  std::size_t element_bytes = 1;
  std::uint64_t rows = 1;
  std::uint64_t in_row = 0;     // records of a row of the input
  std::uint64_t out_row = 0;    // of the output
  std::uint64_t index_row = 0;  // indices of a row; 0: all rows have the same
  std::uint64_t indices = 0;    // in all
  Dtype index_dtype = Dtype::u32;
  bool in_place = false;

  // What indices are below.
  [[nodiscard]] std::uint64_t limit() const noexcept { return operation == Operation::scatter ? out_row : in_row; }
};

struct Plan {
  unsigned group = 256;  // work-items in a work-group
  unsigned unit = 1;     // bytes that are moved at a time
  unsigned units = 1;    // of a record
  std::uint64_t most_groups = 1;

  // Work-groups for this many items.
  [[nodiscard]] std::uint64_t groups(std::uint64_t items) const noexcept;
  [[nodiscard]] std::vector<runtime::Define> move_defines(Dtype index_dtype) const;
  [[nodiscard]] std::vector<runtime::Define> compact_defines() const;
  [[nodiscard]] std::vector<runtime::Define> iota_defines(Dtype dtype) const;
  [[nodiscard]] std::uint64_t tile() const noexcept { return std::uint64_t{group} * tuned.compact_items; }
};

// `offsets`: those of all memory that holds records, or'ed. `group`: not the one that suits the device, for tests.
Plan make(const DeviceInfo& device, std::size_t element_bytes, std::uint64_t offsets, unsigned group = 0);

std::uint64_t notes_bytes() noexcept;
std::uint64_t scatter_bytes(std::uint64_t places) noexcept;
// The sum of all, an offset and a count for each tile of so many elements.
std::uint64_t compact_bytes(std::uint64_t count, std::uint64_t tile) noexcept;

}  // namespace masu::gather_plan

// Moving records on an OpenCL or CUDA device. All functions queue, and return the events of what they launched.
namespace masu {

using Events = std::vector<Event>;

// Gather, scatter and permute: looks at the indices first. `notes`: gather_plan::notes_bytes(), for scatter
// scatter_bytes(); after flag_bytes, a call::Fault of each work-group. `status`, where not null, gets the same.
Events move_on_device(Stream& stream, const gather_plan::Move& move, const BufferBase& in, const BufferBase& indices,
                      const BufferBase& out, const BufferBase& notes, const gather_plan::Plan& plan,
                      const BufferBase* status = nullptr);
Events reverse_on_device(Stream& stream, const gather_plan::Move& move, const BufferBase& in, const BufferBase& out,
                         const gather_plan::Plan& plan);
// `notes`: compact_bytes(); its first u64 is the number of elements afterwards, as is `number`, which may be null.
// Moves nothing where it is above `room`.
Events compact_on_device(Stream& stream, std::uint64_t count, const BufferBase& in, const BufferBase& flags,
                         const BufferBase& out, std::uint64_t room, const BufferBase& notes,
                         const gather_plan::Plan& plan, const BufferBase* number = nullptr);
// start and step: the integers, or the bits of f64.
Events iota_on_device(Stream& stream, Dtype dtype, std::uint64_t count, const BufferBase& out, std::uint64_t start,
                      std::uint64_t step, const gather_plan::Plan& plan);

// Moving records on the CPU.

// The first position of an index that is not below the limit; `count` where there is none.
std::uint64_t first_bad_index_cpu(const void* indices, Dtype dtype, std::uint64_t count, std::uint64_t limit);
// Gather, scatter, permute, reverse, by indices that are right.
void move_cpu(const gather_plan::Move& move, const void* in, const void* indices, void* out);
// The number of flags that are not 0, and, unless it is above `room`, the elements.
std::uint64_t compact_cpu(std::size_t element_bytes, std::uint64_t count, const void* in, const void* flags, void* out,
                          std::uint64_t room);
// start and step: the integers, or the bits of f64.
void iota_cpu(Dtype dtype, std::uint64_t count, void* out, std::uint64_t start, std::uint64_t step);

}  // namespace masu
