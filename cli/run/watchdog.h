// SPDX-License-Identifier: Apache-2.0
// An end for what may never end: a driver's call that waits for a kernel cannot be broken off, but its process can.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace masu::cli {

// Ends the process with exit status 1 and one line when the parts that are watched take longer than allowed, together.
// Unfinished files are removed first.
class Watchdog {
 public:
  // `seconds` of 0: never. `command` is for the message.
  Watchdog(std::string command, double seconds);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();

  // Time counts as long as it lives. One at a time.
  class Watch {
   public:
    explicit Watch(Watchdog& dog) : dog_(dog) {}
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch() { dog_.pause(); }

   private:
    Watchdog& dog_;
  };
  // `what` did not end, in the message.
  [[nodiscard]] Watch watch(std::string what);

 private:
  using Clock = std::chrono::steady_clock;

  void pause();
  void wait_for_the_end();
  [[noreturn]] void end_process() const;

  const std::string command_;
  const double seconds_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Clock::duration left_;
  std::optional<Clock::time_point> deadline_;  // while something is watched
  std::string what_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace masu::cli
