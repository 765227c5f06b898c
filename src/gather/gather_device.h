// SPDX-License-Identifier: Apache-2.0
// Moving records on an OpenCL or CUDA device. All functions queue, and return the events of what they launched.
#pragma once

#include "gather/gather_plan.h"

#include <masu/stream.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace masu {

using Events = std::vector<Event>;

// Work that was queued, and the memory in which it notes what it found.
struct GatherWork {
  Events events;
  std::optional<Buffer<std::byte>> notes;
};

// Gather, scatter and permute: looks at the indices first. `notes`: gather_plan::notes_bytes(), for scatter
// scatter_bytes(); read by first_bad_index() after the work. `status`, where not null, gets the same.
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

// What the indices' check has noted.
struct BadIndex {
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  std::uint64_t position = none;
  std::uint64_t index = none;
};
BadIndex first_bad_index(const Buffer<std::byte>& notes);

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
