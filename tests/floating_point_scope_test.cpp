// SPDX-License-Identifier: Apache-2.0
// The floating-point environment of calls: right values in other modes, what errors and callbacks leave, workers that
// another mode's thread started.
#include "floating_point_modes.h"

#include "runtime/parallel.h"

#include <gtest/gtest.h>
#include <masu/masu.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <thread>

namespace masu {
namespace {

using test::KeptEnvironment;

constexpr double least_normal = std::numeric_limits<double>::min();

// With hand-written values: what is the same in all modes is right in the usual one.
TEST(FloatingPointScope, ExactResultsOfSubnormalNumbers) {
  const Device cpu = Device::open("cpu");
  const std::vector<double> cancels = {1.5 * least_normal, -1.25 * least_normal};
  const std::vector<float> thin(3, 1e-40F);
  const std::vector<double> zeros(5000, 0.0);
  const std::vector<double> ones(10, 0.1);
  const std::vector<double> negative(4096, -1.0);
  const std::vector<float> large = {16777217.0F - 1, 1};
  const std::vector<std::int64_t> two = {(std::int64_t{1} << 53) + 1, (std::int64_t{1} << 53) + 1};
  for (const test::FloatingPointMode& mode : test::floating_point_modes()) {
    SCOPED_TRACE(mode.name);
    const KeptEnvironment kept;
    mode.set();
    const double sum_of = sum(cancels);
    const double mean_of = mean(thin);
    const Histogram counts = histogram(cpu, zeros, Bins::edges({0, 1e-310, 1}));
    const Histogram last_zero = histogram(cpu, negative, Bins::edges({-10, -3, 0}));
    std::vector<double> running(ones.size());
    scan(cpu, ArrayView(ones), MutableArrayView(running));
    const double rounded = sum(cpu, ArrayView(large), {.result = Dtype::f32}).value();
    const double middle = median(cpu, ArrayView(two));
    std::fesetenv(FE_DFL_ENV);
    EXPECT_EQ(sum_of, 0.25 * least_normal);
    EXPECT_EQ(mean_of, static_cast<double>(1e-40F));
    EXPECT_EQ(counts.counts()[0], 5000U);
    EXPECT_EQ(last_zero.counts()[1], 4096U);
    EXPECT_EQ(running.back(), 1.0);
    EXPECT_EQ(rounded, 16777216.0);
    EXPECT_EQ(middle, 0x1p53);
  }
}

#if defined(__x86_64__)
// A flag that long doubles raised before the caller asked for signals is pending at the x87's next instruction.
TEST(FloatingPointScope, FlagsFromBeforeSignalsWereAskedRaiseNone) {
  const KeptEnvironment kept;
  volatile long double zero = 0;
  volatile long double quotient = 1 / zero;
  quotient = quotient * zero;
  EXPECT_TRUE(std::isnan(static_cast<double>(quotient)));
  feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
  const std::uint64_t before = FloatingPointScope::mode();
  const double total = sum(std::vector<double>{0.5, 0.25});
  const std::uint64_t after = FloatingPointScope::mode();
  std::fesetenv(FE_DFL_ENV);
  // oneTBB's own code, before a task runs.
  quotient = 1 / zero;
  feenableexcept(FE_DIVBYZERO);
  std::atomic<std::uint64_t> tasks = 0;
  runtime::parallel_tasks(100, [&](std::uint64_t) { ++tasks; });
  std::fesetenv(FE_DFL_ENV);
  EXPECT_EQ(tasks, 100U);
  EXPECT_EQ(total, 0.75);
  EXPECT_EQ(after, before);
}
#endif

TEST(FloatingPointScope, ErrorsLeaveTheCallersModeAsItWas) {
  const Device cpu = Device::open("cpu");
  const std::vector<double> data(100, 0.1);
  for (const test::FloatingPointMode& mode : test::floating_point_modes()) {
    const KeptEnvironment kept;
    mode.set();
    const std::uint64_t before = FloatingPointScope::mode();
    EXPECT_THROW(sum(cpu, ArrayView(data), {.rows = 3}), Error);
    EXPECT_THROW(Bins::even(10, 2, 1), Error);
    EXPECT_THROW(static_cast<void>(quantiles(cpu, data, std::vector<double>{2})), Error);
    EXPECT_THROW(runtime::parallel_tasks(100,
                                         [](std::uint64_t task) {
                                           if (task == 50) throw Error(ErrorCode::io, "a task's");
                                         }),
                 Error);
    EXPECT_EQ(FloatingPointScope::mode(), before) << mode.name;
  }
}

TEST(FloatingPointScope, RestoresWhatALibraryChangedInBetween) {
  const KeptEnvironment kept;
  const std::uint64_t before = FloatingPointScope::mode();
  {
    const FloatingPointScope usual;
    std::fesetround(FE_UPWARD);
  }
  EXPECT_EQ(FloatingPointScope::mode(), before);
  std::fesetround(FE_DOWNWARD);
  const std::uint64_t downward = FloatingPointScope::mode();
  {
    const FloatingPointScope usual;
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    {
      const FloatingPointScope callers(downward);
      EXPECT_EQ(std::fegetround(), FE_DOWNWARD);
    }
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  }
  EXPECT_EQ(std::fegetround(), FE_DOWNWARD);
}

TEST(FloatingPointScope, FlagsThatWereRaisedStayRaised) {
  const KeptEnvironment kept;
  std::feclearexcept(FE_ALL_EXCEPT);
  std::feraiseexcept(FE_DIVBYZERO);
  std::fesetround(FE_UPWARD);
  {
    const FloatingPointScope usual;
    std::feraiseexcept(FE_OVERFLOW);
  }
  EXPECT_NE(std::fetestexcept(FE_DIVBYZERO), 0);
  EXPECT_NE(std::fetestexcept(FE_OVERFLOW), 0);
}

TEST(FloatingPointScope, AnInterruptionIsAskedInTheCallersMode) {
  const KeptEnvironment kept;
  std::fesetround(FE_UPWARD);
  int seen = -1;
  const InterruptScope scope([&] {
    seen = std::fegetround();
    return true;
  });
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  try {
    while (std::chrono::steady_clock::now() < until) check_interrupted();
    ADD_FAILURE() << "was not interrupted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::interrupted);
  }
  EXPECT_EQ(seen, FE_UPWARD);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
}

// oneTBB's threads have the mode of whoever started them, and keep it: in a process of its own they are started here.
void count_by_flushing_workers() {
  set_cpu_threads(4);
  for (const test::FloatingPointMode& mode : test::floating_point_modes()) {
    if (std::string_view(mode.name) != "subnormals are zero") continue;
    const KeptEnvironment kept;
    mode.set();
    tbb::parallel_for(0, 1000, [](int) { std::this_thread::sleep_for(std::chrono::microseconds(100)); });
  }
  const std::vector<double> data(4'000'000, -1e-310);
  const Histogram found = histogram(Device::open("cpu"), data, Bins::even(4, 0, 1));
  const bool right = std::ranges::all_of(found.counts(), [](std::uint64_t n) { return n == 0; });
  std::_Exit(right && sum(data) < 0 ? 0 : 1);
}

TEST(FloatingPointScopeDeathTest, ResultsDoNotDependOnWhoStartedTheWorkers) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(count_by_flushing_workers(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace masu
