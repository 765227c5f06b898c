// SPDX-License-Identifier: Apache-2.0
// Calls in floating-point environments other than masu's: each gives the bits that it gives in the usual one, and
// leaves the thread's as it was.
#pragma once

#include <gtest/gtest.h>
#include <masu/dtype.h>
#include <masu/floating_point.h>

#include <cfenv>
#include <cstdint>
#include <functional>
#include <ranges>
#include <string>
#include <type_traits>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace masu::test {

struct FloatingPointMode {
  const char* name;
  std::function<void()> set;
};

inline std::vector<FloatingPointMode> floating_point_modes() {
  std::vector<FloatingPointMode> modes = {
      {"upward", [] { std::fesetround(FE_UPWARD); }},
      {"downward", [] { std::fesetround(FE_DOWNWARD); }},
      {"toward zero", [] { std::fesetround(FE_TOWARDZERO); }},
  };
#if defined(__x86_64__)
  modes.push_back({"subnormals are zero", [] { _mm_setcsr(_mm_getcsr() | 0x8040U); }});
  modes.push_back({"signals", [] { feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW); }});
#elif defined(__aarch64__)
  modes.push_back({"subnormals are zero", [] {
                     std::uint64_t mode = 0;
                     asm volatile("mrs %0, fpcr" : "=r"(mode));
                     asm volatile("msr fpcr, %0" : : "r"(mode | 1U << 24));
                   }});
#endif
  return modes;
}

// The thread's environment, put back at the end.
class KeptEnvironment {
 public:
  KeptEnvironment() { std::fegetenv(&environment_); }
  ~KeptEnvironment() { std::fesetenv(&environment_); }
  KeptEnvironment(const KeptEnvironment&) = delete;
  KeptEnvironment& operator=(const KeptEnvironment&) = delete;

 private:
  std::fenv_t environment_;
};

// The bits of results.
class Bits {
 public:
  template <class T>
  requires std::is_arithmetic_v<T>
  void add(const T& value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  template <std::ranges::contiguous_range R>
  void add(const R& values) {
    bytes_.append(reinterpret_cast<const char*>(std::ranges::data(values)),
                  std::ranges::size(values) * sizeof(std::ranges::range_value_t<R>));
  }
  void add(const ArrayView& view) {
    bytes_.append(static_cast<const char*>(view.data), view.count * size_of(view.dtype));
  }
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

 private:
  std::string bytes_;
};

// One call of masu or some that belong together. What a call needs is made before: the test's own arithmetic would be
// in the other mode too.
struct FloatingPointCall {
  const char* name;
  std::function<void(Bits&)> run;
};

inline void expect_same_in_all_modes(const FloatingPointCall& call) {
  SCOPED_TRACE(call.name);
  Bits usual;
  ASSERT_NO_THROW(call.run(usual));
  for (const FloatingPointMode& mode : floating_point_modes()) {
    Bits found;
    std::string thrown;
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    {
      const KeptEnvironment kept;
      mode.set();
      before = FloatingPointScope::mode();
      try {
        call.run(found);
      } catch (const std::exception& error) {
        thrown = error.what();
      }
      after = FloatingPointScope::mode();
    }
    EXPECT_EQ(thrown, "") << mode.name;
    EXPECT_TRUE(found.bytes() == usual.bytes()) << mode.name << ": other bits";
    EXPECT_EQ(after, before) << mode.name << ": the thread's mode was changed";
  }
}

}  // namespace masu::test
