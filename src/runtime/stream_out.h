// SPDX-License-Identifier: Apache-2.0
// Writing large outputs on the CPU without reading them first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace masu::runtime {

// Outputs from this size on do not stay in caches: writing them past the caches saves reading each line before it is
// written.
inline constexpr std::uint64_t stream_out_bytes = std::uint64_t{4} << 20;

// Copies a line of 64 bytes past the caches, to a multiple of 64.
inline void stream_line(void* target, const void* source) noexcept {
#ifdef __SSE2__
  const auto* from = static_cast<const __m128i*>(source);
  auto* to = static_cast<__m128i*>(target);
  for (int i = 0; i < 4; ++i) _mm_stream_si128(to + i, _mm_loadu_si128(from + i));
#else
  std::memcpy(target, source, 64);
#endif
}

// Before another thread may read what was written past the caches, the writer calls this.
inline void stream_out_end() noexcept {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

// Copies to memory that nobody reads soon, whole lines past the caches. The two must not overlap.
inline void stream_out(void* target, const void* source, std::uint64_t bytes) noexcept {
  constexpr std::uint64_t line = 64;
  auto* to = static_cast<std::byte*>(target);
  const auto* from = static_cast<const std::byte*>(source);
  std::uint64_t at = std::min<std::uint64_t>(bytes, -reinterpret_cast<std::uintptr_t>(to) % line);
  std::memcpy(to, from, at);
  for (; at + line <= bytes; at += line) stream_line(to + at, from + at);
  std::memcpy(to + at, from + at, bytes - at);
}

}  // namespace masu::runtime
