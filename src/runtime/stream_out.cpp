// SPDX-License-Identifier: Apache-2.0
#include "runtime/stream_out.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace masu::runtime {

#ifdef __SSE2__
namespace {

constexpr std::size_t line = 64;

}  // namespace
#endif

void stream_out(void* target, const void* source, std::uint64_t bytes) noexcept {
#ifdef __SSE2__
  auto* to = static_cast<std::byte*>(target);
  const auto* from = static_cast<const std::byte*>(source);
  const std::uint64_t head = -reinterpret_cast<std::uintptr_t>(to) % line;
  if (bytes < head + line) {
    std::memcpy(to, from, bytes);
    return;
  }
  std::memcpy(to, from, head);
  std::uint64_t at = head;
  for (; at + line <= bytes; at += line) {
    const auto* vectors = reinterpret_cast<const __m128i*>(from + at);
    auto* places = reinterpret_cast<__m128i*>(to + at);
    const __m128i first = _mm_loadu_si128(vectors);
    const __m128i second = _mm_loadu_si128(vectors + 1);
    const __m128i third = _mm_loadu_si128(vectors + 2);
    const __m128i fourth = _mm_loadu_si128(vectors + 3);
    _mm_stream_si128(places, first);
    _mm_stream_si128(places + 1, second);
    _mm_stream_si128(places + 2, third);
    _mm_stream_si128(places + 3, fourth);
  }
  std::memcpy(to + at, from + at, bytes - at);
#else
  std::memcpy(target, source, bytes);
#endif
}

void stream_out_end() noexcept {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

}  // namespace masu::runtime
