// SPDX-License-Identifier: Apache-2.0
#include "cli/run/run_job.h"
#include "program.h"

#include <execinfo.h>
#include <fmt/format.h>
#include <masu/io.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::cli {
namespace {

// A driver's compiler runs in this process, and so does a kernel on an OpenCL CPU device: their crashes are the
// process's.

struct Crash {
  int signal;
  const char* name;
  const char* what;  // a kernel did
};
constexpr std::string_view where = "; --check says where, and when it finds nothing, the driver may be at fault";
constexpr std::array<Crash, 5> crashes{{
    {SIGSEGV, "SIGSEGV", "accessed memory that does not exist (SIGSEGV)"},
    {SIGBUS, "SIGBUS", "accessed memory that does not exist (SIGBUS)"},
    {SIGABRT, "SIGABRT", "damaged the memory of this process (SIGABRT)"},
    {SIGFPE, "SIGFPE", "divided an integer by zero (SIGFPE)"},
    {SIGILL, "SIGILL", "ran an instruction that does not exist (SIGILL)"},
}};

// The handler may not allocate, so these are made before: a line for each signal, by who crashed, and the address
// ranges of compilers.
struct CrashLines {
  std::array<std::string, crashes.size()> kernel;  // empty while a program is compiled
  std::array<std::string, crashes.size()> compiler;
};
CrashLines crash_lines;
std::vector<std::pair<std::uintptr_t, std::uintptr_t>> compilers;

[[noreturn]] void end_with(const std::array<std::string, crashes.size()>& lines, int signal) {
  io::remove_unfinished();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (crashes[i].signal != signal) continue;
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, lines[i].data(), lines[i].size());
  }
  _exit(static_cast<int>(Exit::failed));
}

extern "C" void end_crashed_kernel(int signal) {
  end_with(crash_lines.kernel, signal);
}

extern "C" void end_crashed_run(int signal) {
  if (crash_lines.kernel.front().empty()) end_with(crash_lines.compiler, signal);
  // A kernel may have damaged the stack, so that backtrace() crashes.
  struct sigaction again {};
  again.sa_handler = end_crashed_kernel;
  again.sa_flags = SA_NODEFER;
  for (const Crash& crash : crashes) sigaction(crash.signal, &again, nullptr);
  sigset_t all;
  sigemptyset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::array<void*, 64> frames{};
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  for (int i = 0; i < count; ++i) {
    const auto at = reinterpret_cast<std::uintptr_t>(frames[static_cast<std::size_t>(i)]);
    for (const auto& [begin, end] : compilers) {
      if (begin <= at && at < end) end_with(crash_lines.compiler, signal);
    }
  }
  end_with(crash_lines.kernel, signal);
}

// The code of the libraries that compile for drivers. PoCL and others compile a kernel again for its launch.
void find_compilers() {
  compilers.clear();
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::string file = line.substr(std::min(line.rfind('/'), line.size() - 1) + 1);
    if (file.find("LLVM") == std::string::npos && file.find("clang") == std::string::npos) continue;
    char* end = nullptr;
    const std::uintptr_t from = std::strtoull(line.c_str(), &end, 16);
    compilers.emplace_back(from, std::strtoull(end + 1, nullptr, 16));
  }
}

}  // namespace

void blame_crashes_on(const std::string& what, const std::string& device, bool runs) {
  std::array<void*, 1> frame{};
  ::backtrace(frame.data(), 1);  // loads its library now, not in the handler
  if (runs) find_compilers();
  for (std::size_t i = 0; i < crashes.size(); ++i) {
    const bool memory = crashes[i].signal == SIGSEGV || crashes[i].signal == SIGBUS || crashes[i].signal == SIGABRT;
    crash_lines.kernel[i] =
        runs ? fmt::format("masu run: the kernel {} {}{}\n", what, crashes[i].what, memory ? where : "") : "";
    crash_lines.compiler[i] = fmt::format(
        "masu run: the compiler of {} crashed ({}) while it compiled {}: that is a fault of the driver, not of the "
        "kernel; other --options or another driver may compile it\n",
        device, crashes[i].name, what);
    struct sigaction action {};
    action.sa_handler = end_crashed_run;
    sigemptyset(&action.sa_mask);
    sigaction(crashes[i].signal, &action, nullptr);
  }
}

void blame_nobody() {
  for (const Crash& crash : crashes) std::signal(crash.signal, SIG_DFL);
}

}  // namespace masu::cli
