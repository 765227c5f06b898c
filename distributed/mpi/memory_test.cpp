// SPDX-License-Identifier: Apache-2.0
// Memory that runs out on one rank: for every function each allocation of a call fails in its turn, alone or with all
// after it. Then the call is an error on every rank, or on none.
#include "test_calls.h"

#include <gtest/gtest.h>
#include <masu/mpi.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr long never = std::numeric_limits<long>::max();
std::atomic<long> left{never};  // allocations until one fails
std::atomic<bool> for_good{false};

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (left.load(std::memory_order_relaxed) != never) {
    const long before = left.fetch_sub(1);
    if (before == 0 || (before < 0 && for_good)) throw std::bad_alloc();
  }
  void* const block = alignment == 0 ? std::malloc(bytes == 0 ? 1 : bytes)
                                     : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

// Not inlined: GCC takes free() of what new returned for a mistake.
void* operator new(std::size_t bytes) {
  return allocate(bytes, 0);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* block) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, std::align_val_t) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  std::free(block);
}

namespace masu::mpi::test {
namespace {

enum class Outcome { result, error, no_memory };

struct Trial {
  Outcome outcome = Outcome::result;
  bool failed = false;  // an allocation did
};

// A call of which allocation `number` fails.
Trial tried(const std::function<void()>& call, long number, bool all_after) {
  Trial trial;
  for_good = all_after;
  left = number;
  try {
    call();
  } catch (const Error&) {
    trial.outcome = Outcome::error;
  } catch (const std::bad_alloc&) {  // of the Error
    trial.outcome = Outcome::no_memory;
  }
  trial.failed = left.exchange(never) < 0;
  return trial;
}

// Whether a rank's allocation failed; the outcome must be an error on every rank or on none.
bool fails_together(const std::function<void()>& call, int where, long number, bool all_after) {
  const Trial mine = tried(call, rank() == where ? number : never, all_after);
  EXPECT_TRUE(all_after || mine.outcome != Outcome::no_memory) << "no Error but std::bad_alloc";
  int found[] = {mine.failed ? 1 : 0, mine.outcome == Outcome::result ? 1 : 0, mine.outcome == Outcome::result ? 0 : 1};
  MPI_Allreduce(MPI_IN_PLACE, found, 3, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  EXPECT_NE(found[1], found[2]) << "an error on some ranks alone";
  EXPECT_TRUE(found[0] == 1 || found[1] == 1) << "an error without a failure";
  return found[0] == 1;
}

TEST(MpiMemory, ThatRunsOutOnOneRankIsAnErrorOfAll) {
  const std::vector<float> all = all_data<float>(601)[2];
  const std::span<const float> given = part_of(all, all_cuts(all.size())[0]);
  const std::vector<float> x(given.begin(), given.end());
  const Part columns[] = {x, x};
  const Bins fixed[] = {Bins::even(9, 0, 100), Bins::edges({0, 10, 20})};
  const std::vector<double> q{0, 0.5, 0.9};
  std::vector<float> output(x.size());
  std::vector<std::uint64_t> places(x.size());
  const auto histogram_in = [&](const Bins& bins) { return [&x, bins] { (void)histogram(MPI_COMM_WORLD, x, bins); }; };
  const std::pair<const char*, std::function<void()>> functions[] = {
      {"sum", [&] { (void)sum(MPI_COMM_WORLD, x); }},
      {"dot", [&] { (void)dot(MPI_COMM_WORLD, x, x); }},
      {"mean", [&] { (void)mean(MPI_COMM_WORLD, x); }},
      {"norm2", [&] { (void)norm2(MPI_COMM_WORLD, x); }},
      {"variance", [&] { (void)variance(MPI_COMM_WORLD, x); }},
      {"standard_deviation", [&] { (void)standard_deviation(MPI_COMM_WORLD, x); }},
      {"reduce", [&] { (void)reduce(MPI_COMM_WORLD, x, ReduceOp::minmax); }},
      {"max", [&] { (void)max(MPI_COMM_WORLD, x); }},
      {"minmax", [&] { (void)minmax(MPI_COMM_WORLD, x); }},
      {"argmin", [&] { (void)argmin(MPI_COMM_WORLD, x); }},
      {"count_nonzero", [&] { (void)count_nonzero(MPI_COMM_WORLD, x); }},
      {"count", [&] { (void)count(MPI_COMM_WORLD, x); }},
      {"histogram in given bins", histogram_in(Bins::even(100, 0, 100))},
      {"histogram over the range", histogram_in(Bins::even(100))},
      {"histogram by moments", histogram_in(Bins::automatic(Estimator::scott))},
      {"histogram by quartiles", histogram_in(Bins::automatic(Estimator::fd))},
      {"joint_histogram", [&] { (void)joint_histogram(MPI_COMM_WORLD, columns, fixed); }},
      {"weighted_histogram", [&] { (void)weighted_histogram(MPI_COMM_WORLD, columns, x, fixed); }},
      {"exact_quantiles", [&] { (void)exact_quantiles(MPI_COMM_WORLD, x, q); }},
      {"exact_quantiles by a sample",
       [&] {
         const Sampled sampled(64);
         (void)exact_quantiles(MPI_COMM_WORLD, x, q);
       }},
      {"median", [&] { (void)median(MPI_COMM_WORLD, x); }},
      {"topk", [&] { (void)topk(MPI_COMM_WORLD, x, 10); }},
      {"topk of many", [&] { (void)topk(MPI_COMM_WORLD, x, 500); }},
      {"unique", [&] { (void)unique(MPI_COMM_WORLD, x); }},
      {"scan", [&] { scan(MPI_COMM_WORLD, x, output); }},
      {"scan of least", [&] { scan(MPI_COMM_WORLD, x, output, {.op = ScanOp::min}); }},
      {"sort", [&] { sort(MPI_COMM_WORLD, output); }},
      {"sort_by_key", [&] { sort_by_key(MPI_COMM_WORLD, output, places); }},
      {"argsort", [&] { argsort(MPI_COMM_WORLD, x, places); }},
  };
  // Every one of the first allocations, then some.
  constexpr long each = 60;
  constexpr long step = 7;
  std::copy(x.begin(), x.end(), output.begin());
  for (const auto& [name, call] : functions) {
    call();  // what is made once has been made
    for (const int where : {0, ranks() - 1}) {
      for (const bool all_after : {false, true}) {
        SCOPED_TRACE(std::string(name) + ", rank " + std::to_string(where) + (all_after ? ", for good" : ", once"));
        for (long number = 0; fails_together(call, where, number, all_after) && !HasFailure();) {
          number += number < each ? 1 : step;
        }
      }
    }
    call();  // nothing is left of the errors
  }
}

}  // namespace
}  // namespace masu::mpi::test
