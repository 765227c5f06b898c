// SPDX-License-Identifier: Apache-2.0
#include "cli/run/run_job.h"

#include "errors.h"

#include <fmt/format.h>
#include <masu/io.h>
#include <unistd.h>
#include <csignal>
#include <utility>

namespace masu::cli {

Watchdog::Watchdog(std::string command, double seconds)
    : command_(std::move(command)),
      seconds_(seconds),
      left_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {
  if (seconds <= 0) return;
  // Signals are for the other threads: this one must not be held up in a handler.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { wait_for_the_end(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Watchdog::~Watchdog() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

Watchdog::Watch Watchdog::watch(std::string what) {
  {
    const std::lock_guard lock(mutex_);
    what_ = std::move(what);
    deadline_ = Clock::now() + left_;
  }
  changed_.notify_one();
  return Watch(*this);
}

void Watchdog::pause() {
  const std::lock_guard lock(mutex_);
  left_ = *deadline_ - Clock::now();
  deadline_.reset();  // the thread finds that when it wakes
}

void Watchdog::wait_for_the_end() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    if (!deadline_) {
      changed_.wait(lock);
    } else if (Clock::now() < *deadline_) {
      changed_.wait_until(lock, Clock::time_point(*deadline_));
    } else {
      end_process();
    }
  }
}

void Watchdog::end_process() const {
  io::remove_unfinished();
  const std::string line = fmt::format("masu {}: {} did not end within {} s (--timeout)\n", command_, what_, seconds_);
  // Not through stdio, which another thread may hold.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  _exit(static_cast<int>(Exit::failed));
}

}  // namespace masu::cli
