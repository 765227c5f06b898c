// SPDX-License-Identifier: Apache-2.0
#include "runtime/parallel.h"

#include "runtime/environment.h"

#include <masu/device.h>
#include <masu/error.h>
#include <masu/interrupt.h>

#include <fmt/format.h>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace masu {
namespace runtime {
namespace {

constexpr std::chrono::milliseconds asked_every{50};

thread_local Interruption* of_this_thread = nullptr;

}  // namespace

Interruption::Interruption(std::function<bool()> stop)
    : stop_(std::move(stop)),
      owner_(std::this_thread::get_id()),
      next_(std::chrono::steady_clock::now() + asked_every) {}

bool Interruption::stopped() {
  if (stopped_.load(std::memory_order_relaxed)) return true;
  if (std::this_thread::get_id() != owner_) return false;
  if (std::chrono::steady_clock::now() < next_) return false;
  const bool stop = [&] {
    const FloatingPointScope callers(mode_);
    return stop_();
  }();
  // Set after the call: however long `stop` takes, the work goes on in between.
  next_ = std::chrono::steady_clock::now() + asked_every;
  if (stop) stopped_.store(true, std::memory_order_relaxed);
  return stop;
}

void Interruption::check() {
  if (stopped()) throw Error(ErrorCode::interrupted, "masu: the call was interrupted");
}

Interruption* Interruption::current() noexcept {
  return of_this_thread;
}

Interruption::Loan::Loan(Interruption* interruption) noexcept : outer_(std::exchange(of_this_thread, interruption)) {}

Interruption::Loan::~Loan() {
  of_this_thread = outer_;
}

}  // namespace runtime

InterruptScope::InterruptScope(std::function<bool()> stop)
    : interruption_(std::make_unique<runtime::Interruption>(std::move(stop))),
      outer_(std::exchange(runtime::of_this_thread, interruption_.get())) {}

InterruptScope::~InterruptScope() {
  runtime::of_this_thread = outer_;
}

void check_interrupted() {
  runtime::check_interrupted();
}

namespace {

constexpr unsigned most_threads = 4096;

std::atomic<unsigned> threads_set{0};

// The number in MASU_THREADS, 0 without one. Read once: getenv() crashes while another thread writes the environment,
// as Python's os.environ does.
unsigned threads_of_environment() {
  static const unsigned number = [] {
    const char* preset = std::getenv("MASU_THREADS");
    if (preset == nullptr || *preset == '\0') return 0U;
    const std::string_view text(preset);
    unsigned threads = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
    if (error != std::errc() || end != text.data() + text.size() || threads == 0) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("cpu_threads: MASU_THREADS must be a whole number >= 1, got \"{}\"", text));
    }
    return std::min(threads, most_threads);
  }();
  return number;
}

// What was set or stands in the environment, 0 without either.
unsigned threads_asked_for() {
  runtime::environment();
  const unsigned set = threads_set;
  return set != 0 ? set : threads_of_environment();
}

}  // namespace

void set_cpu_threads(unsigned threads) noexcept {
  threads_set = std::min(threads, most_threads);
}

unsigned cpu_threads() {
  if (const unsigned asked_for = threads_asked_for()) return asked_for;
  return std::max(1U, std::min(runtime::usable_cpus(), static_cast<unsigned>(tbb::this_task_arena::max_concurrency())));
}

namespace runtime {

namespace {

void run_tasks(std::uint64_t tasks, Body<std::uint64_t> body) {
  const FloatingPointScope usual;  // before oneTBB too, where a pending flag of the caller would raise a signal
  const unsigned threads = tasks <= 1 ? 1 : static_cast<unsigned>(std::min<std::uint64_t>(cpu_threads(), tasks));
  if (threads == 1) {
    for (std::uint64_t task = 0; task < tasks; ++task) body(task);
    return;
  }
  // oneTBB orders the tasks after what the caller did before, and before what it does next. The atomics repeat this for
  // checkers that do not see into oneTBB.
  std::atomic<std::uint64_t> done;
  done.store(0, std::memory_order_release);
  const auto loop = [&] {
    // Isolated: a thread that waits here must not take up a task of the caller's.
    tbb::this_task_arena::isolate([&] {
      tbb::parallel_for(
          tbb::blocked_range<std::uint64_t>(0, tasks, 1),
          [&](const tbb::blocked_range<std::uint64_t>& range) {
            done.load(std::memory_order_acquire);
            const FloatingPointScope usual;  // a thread of oneTBB has the mode of the thread that started it
            for (std::uint64_t task = range.begin(); task != range.end(); ++task) body(task);
            done.fetch_add(1, std::memory_order_acq_rel);
          },
          tbb::simple_partitioner());
    });
  };
  const auto here = static_cast<std::uint64_t>(tbb::this_task_arena::max_concurrency());
  if (std::min(here, tasks) == threads) {
    loop();
  } else {
    // More than oneTBB has are not asked of it: it would write a warning to standard error.
    const std::size_t most = tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
    tbb::task_arena arena(static_cast<int>(std::min<std::size_t>(threads, most)));
    arena.execute(loop);
  }
  done.load(std::memory_order_acquire);
}

}  // namespace

void parallel_tasks(std::uint64_t tasks, Body<std::uint64_t> body) {
  (void)threads_asked_for();  // read by the first call, also by one of a single task
  Interruption* const interruption = Interruption::current();
  if (interruption == nullptr) {
    run_tasks(tasks, body);
    return;
  }
  interruption->check();
  // oneTBB's own threads take the caller's interruption over, so that loops inside of a task end too. Tasks that have
  // not begun are left out, and since the results are then not whole, the call ends here.
  run_tasks(tasks, [&](std::uint64_t task) {
    const Interruption::Loan loan(interruption);
    if (!interruption->stopped()) body(task);
  });
  interruption->check();
}

void for_stripes(std::uint64_t count, std::uint64_t stripes, Body<std::uint64_t, std::uint64_t, std::uint64_t> body) {
  const auto at = [&](std::uint64_t stripe) { return count / stripes * stripe + std::min(stripe, count % stripes); };
  parallel_tasks(stripes, [&](std::uint64_t stripe) { body(at(stripe), at(stripe + 1), stripe); });
}

}  // namespace runtime
}  // namespace masu
