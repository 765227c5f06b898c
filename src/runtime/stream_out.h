// SPDX-License-Identifier: Apache-2.0
// Writing large outputs on the CPU without reading them first.
#pragma once

#include <cstdint>

namespace masu::runtime {

// Outputs from this size on do not stay in caches: writing them past the caches saves reading each line before it is
// written.
inline constexpr std::uint64_t stream_out_bytes = std::uint64_t{4} << 20;

// Copies to memory that nobody reads soon, past the caches where whole lines are written. Before another thread may
// read it the writer calls stream_out_end(). The two must not overlap.
void stream_out(void* target, const void* source, std::uint64_t bytes) noexcept;
void stream_out_end() noexcept;

}  // namespace masu::runtime
