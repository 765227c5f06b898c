// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include "errors.h"
#include "json.h"
#include "terminal.h"

#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <utility>

namespace masu::cli {

Progress::Progress(const std::string& mode) : began_(Clock::now()), drawn_(began_) {
  if (mode != "auto" && mode != "always" && mode != "never") {
    usage_error("--progress takes auto, always or never, got '" + mode + "'");
  }
  at_once_ = mode == "always";
  enabled_ = at_once_ || (mode == "auto" && is_terminal(STDERR_FILENO));
}

Progress::~Progress() {
  finish();
}

void Progress::start(const std::string& what, std::optional<std::uint64_t> bytes) {
  what_ = what;
  total_ = bytes;
  done_ = 0;
}

void Progress::advance(std::uint64_t bytes) {
  done_ += bytes;
  if (!enabled_) return;
  const auto now = Clock::now();
  const auto wait = shown_ ? now - drawn_ > std::chrono::milliseconds(100) : now - began_ > std::chrono::seconds(1);
  if (wait || (at_once_ && !shown_)) draw(now);
}

void Progress::draw(Clock::time_point now) {
  shown_ = true;
  drawn_ = now;
  const double seconds = std::chrono::duration<double>(now - began_).count();
  const double megabytes = static_cast<double>(done_) / 1e6;
  std::string line;
  if (total_ && *total_ > 0) {
    constexpr int width = 30;
    const double part = std::min(1.0, static_cast<double>(done_) / static_cast<double>(*total_));
    const int filled = static_cast<int>(part * width);
    line = fmt::format("{} [{:#<{}}{:.<{}}] {:3.0f}%  {:.0f} s", what_, "", filled, "", width - filled, part * 100,
                       seconds);
  } else {
    line = fmt::format("{} {:.0f} MB  {:.0f} s", what_, megabytes, seconds);
  }
  std::fprintf(stderr, "\r%s\033[K", line.c_str());
  std::fflush(stderr);
}

void Progress::finish() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

namespace {

std::string speed(double bytes, double seconds) {
  return seconds > 0 ? fmt::format("{:9.3f} GB/s", bytes / seconds / 1e9) : "        - GB/s";
}

}  // namespace

std::string json_seconds(const Seconds& seconds) {
  return fmt::format(R"("seconds":{{"read":{},"transfer":{},"compute":{},"total":{}}})", json_number(seconds.read),
                     json_number(seconds.transfer), json_number(seconds.compute), json_number(seconds.total));
}

void note_times(const Seconds& seconds, std::uint64_t bytes) {
  const std::pair<const char*, double> rows[] = {{"reading", seconds.read},
                                                 {"transfer", seconds.transfer},
                                                 {"computing", seconds.compute},
                                                 {"total", seconds.total}};
  for (const auto& [what, took] : rows) {
    note(fmt::format("{:<10} {:10.6f} s {}", what, took, speed(static_cast<double>(bytes), took)));
  }
}

}  // namespace masu::cli
