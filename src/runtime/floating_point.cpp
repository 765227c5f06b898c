// SPDX-License-Identifier: Apache-2.0
#include <masu/floating_point.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#elif !defined(__aarch64__)
#include <cfenv>
#endif

namespace masu {
namespace {

#if defined(__x86_64__)

// The low half is MXCSR without its flags: DAZ, the masks, the rounding, FTZ. The high half is the control word of the
// x87, which computes long doubles; the C library reads its rounding.
constexpr std::uint64_t sse_control = 0xffc0;
constexpr std::uint64_t usual = std::uint64_t{0x037f} << 32 | 0x1f80;

std::uint64_t read() noexcept {
  std::uint16_t x87 = 0;
  asm volatile("fnstcw %0" : "=m"(x87));
  return std::uint64_t{x87} << 32 | (_mm_getcsr() & sse_control);
}

void write(std::uint64_t mode, std::uint64_t before) noexcept {
  if ((mode ^ before) >> 32 != 0) {
    const auto x87 = static_cast<std::uint16_t>(mode >> 32);
    // Where the caller asks for signals, a flag that masu's work has set would raise one at the caller's next
    // operation. A flag that was set before the caller asked would raise one at fldcw.
    if ((~(mode & before) >> 32 & 0x3f) != 0) asm volatile("fnclex");
    asm volatile("fldcw %0" : : "m"(x87));
  }
  const auto flags = _mm_getcsr() & ~static_cast<unsigned>(sse_control);
  _mm_setcsr(static_cast<unsigned>(mode & sse_control) | flags);
}

#elif defined(__aarch64__)

constexpr std::uint64_t usual = 0;

std::uint64_t read() noexcept {
  std::uint64_t mode = 0;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}

void write(std::uint64_t mode, std::uint64_t /*before*/) noexcept {
  asm volatile("msr fpcr, %0" : : "r"(mode));
}

#else

constexpr std::uint64_t usual = FE_TONEAREST;

std::uint64_t read() noexcept {
  return static_cast<std::uint64_t>(std::fegetround());
}

void write(std::uint64_t mode, std::uint64_t /*before*/) noexcept {
  std::fesetround(static_cast<int>(mode));
}

#endif

}  // namespace

// These are not inlined, since compilers move arithmetic across instructions that change the mode.
[[gnu::noinline]] FloatingPointScope::FloatingPointScope() noexcept : FloatingPointScope(usual) {}

[[gnu::noinline]] FloatingPointScope::FloatingPointScope(std::uint64_t mode) noexcept : outer_(read()) {
  if (outer_ != mode) write(mode, outer_);
}

// Reads again: a library that was opened in between may have changed the mode.
[[gnu::noinline]] FloatingPointScope::~FloatingPointScope() {
  const std::uint64_t now = read();
  if (now != outer_) write(outer_, now);
}

std::uint64_t FloatingPointScope::mode() noexcept {
  return read();
}

}  // namespace masu
