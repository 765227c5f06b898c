// SPDX-License-Identifier: Apache-2.0
// Writing large outputs on the CPU without reading them first.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace masu::runtime {

// Outputs from this size on do not stay in caches: writing them past the caches saves reading each line before it is
// written.
inline constexpr std::uint64_t stream_out_bytes = std::uint64_t{4} << 20;

// Copies to memory that nobody reads soon, past the caches where whole lines are written. Before another thread may
// read it the writer calls stream_out_end(). The two must not overlap.
void stream_out(void* target, const void* source, std::uint64_t bytes) noexcept;
void stream_out_end() noexcept;

// The same for one line of 64 bytes; both begin at a multiple of 64.
inline void stream_line(void* target, const void* source) noexcept {
#ifdef __SSE2__
  const auto* from = static_cast<const __m128i*>(source);
  auto* to = static_cast<__m128i*>(target);
  for (int i = 0; i < 4; ++i) _mm_stream_si128(to + i, _mm_load_si128(from + i));
#else
  std::memcpy(target, source, 64);
#endif
}

}  // namespace masu::runtime
