// SPDX-License-Identifier: Apache-2.0
#include "cli/check/check.h"
#include "cli/memory_file.h"
#include "io/reader.h"
#include "options.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <masu/error.h>
#include <masu/io.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

namespace masu::cli {
namespace {

// A child process that never outlives this one, with a time limit.

struct Child {
  std::vector<std::string> arguments;    // the program first; it is looked for in PATH
  std::vector<std::string> environment;  // NAME=VALUE
  int output = -1;                       // standard output; -1: this process's
  std::optional<std::chrono::duration<double>> timeout;
};

struct ChildEnd {
  int status = 0;      // as it exited, where signal is 0
  int signal = 0;      // that ended it
  int exec_error = 0;  // errno of a program that could not be started
  bool timed_out = false;
};

using Clock = std::chrono::steady_clock;

struct Pipe {
  io::Descriptor read_end;
  io::Descriptor write_end;
};

Pipe make_pipe(int flags) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), flags) != 0) fail_by_errno("run: --check: no pipe");
  return {io::Descriptor(ends[0]), io::Descriptor(ends[1])};
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// Waits until the other end is closed; false when the time is over before.
bool wait_closed(int descriptor, std::optional<Clock::time_point> deadline) {
  for (;;) {
    int milliseconds = -1;
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
      milliseconds = static_cast<int>(std::clamp<decltype(left)>(left, 0, 1 << 30));
    }
    pollfd poll{descriptor, POLLIN, 0};
    const int ready = ::poll(&poll, 1, milliseconds);
    if (ready > 0) return true;
    if (ready == 0 && deadline && Clock::now() >= *deadline) return false;
    if (ready < 0 && errno != EINTR) fail_by_errno("run: --check: poll");
  }
}

// Between fork and exec: only async-signal-safe calls.
[[noreturn]] void become(pid_t parent, int output, int error_pipe, char* const* arguments, char* const* environment) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  for (const int signal : {SIGTERM, SIGPIPE}) ::signal(signal, SIG_DFL);
  if (::getppid() != parent) ::_exit(1);  // it ended before it could be asked to tell
  if (output < 0 || ::dup2(output, STDOUT_FILENO) >= 0) ::execvpe(arguments[0], arguments, environment);
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(error_pipe, &error, sizeof(error));
  ::_exit(127);
}

// Runs it to its end. At the time limit it gets SIGTERM, so that it removes its unfinished files, and soon SIGKILL.
ChildEnd run_child(const Child& child) {
  const auto argument_pointers = pointers(child.arguments);
  const auto environment_pointers = pointers(child.environment);
  Pipe exec_error = make_pipe(O_CLOEXEC);
  Pipe lives = make_pipe(0);  // kept open by the child, whatever it becomes, and closed by its end
  const auto begin = Clock::now();
  const pid_t self = ::getpid();
  const pid_t id = ::fork();
  if (id < 0) fail_by_errno("run: --check: no process");
  if (id == 0) {
    lives.read_end = io::Descriptor();
    become(self, child.output, exec_error.write_end.get(), argument_pointers.data(), environment_pointers.data());
  }
  exec_error.write_end = io::Descriptor();
  lives.write_end = io::Descriptor();

  ChildEnd end;
  std::optional<Clock::time_point> deadline;
  if (child.timeout) deadline = begin + std::chrono::ceil<Clock::duration>(*child.timeout);
  if (!wait_closed(lives.read_end.get(), deadline)) {
    end.timed_out = true;
    ::kill(id, SIGTERM);
    if (!wait_closed(lives.read_end.get(), Clock::now() + std::chrono::seconds(2))) ::kill(id, SIGKILL);
  }
  int status = 0;
  while (::waitpid(id, &status, 0) < 0) {
    if (errno != EINTR) fail_by_errno("run: --check: waitpid");
  }
  if (::read(exec_error.read_end.get(), &end.exec_error, sizeof(end.exec_error)) != sizeof(end.exec_error)) {
    end.exec_error = 0;
  }
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.status = WEXITSTATUS(status);
  return end;
}

using Json = nlohmann::ordered_json;

constexpr std::uint64_t default_local_bytes = 48 << 10;
constexpr std::uint64_t default_work_group = 1024;
constexpr unsigned most_messages = 20000;

// Optimisation would hide what is never set and what is never read, and move what is left. A conversion out of range
// calls a function of the header.
constexpr const char* build_options =
    "-O0 -fsanitize=float-cast-overflow -fsanitize-recover=float-cast-overflow -fsanitize-minimal-runtime -include ";

// This process's arguments after "run".
std::vector<std::string> own_arguments() {
  const std::vector<std::string> arguments = command_line();
  const auto run = std::find(arguments.begin() + 1, arguments.end(), "run");
  return {run == arguments.end() ? run : run + 1, arguments.end()};
}

// Settings of Oclgrind come from here alone; a cached program would lack the lines of its source.
std::vector<std::string> child_environment() {
  std::vector<std::string> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("OCLGRIND_") || text.starts_with("MASU_CACHE=")) continue;
    result.emplace_back(text);
  }
  result.emplace_back("MASU_CACHE=off");
  return result;
}

// One thread, so that every check of a kernel finds the same.
std::vector<std::string> child_arguments(const CheckRequest& request, const MemoryFile& log, const MemoryFile& facts,
                                         const MemoryFile& included) {
  const std::uint64_t local = request.local_bytes == 0 ? default_local_bytes : request.local_bytes;
  const std::uint64_t group = request.max_work_group_size == 0 ? default_work_group : request.max_work_group_size;
  std::vector<std::string> arguments =
      split(fmt::format("oclgrind --data-races --uninitialized --num-threads 1 --local-mem-size {} --max-wgsize {} "
                        "--max-errors {} --log {}",
                        local, group, most_messages, log.path()),
            ' ');
  arguments.insert(arguments.end(), {"--build-options", build_options + included.path(), own_program(), "run",
                                     "--under-oclgrind", facts.path()});
  const std::vector<std::string> own = own_arguments();
  arguments.insert(arguments.end(), own.begin(), own.end());
  return arguments;
}

void say(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

std::string count_text(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// How the child ended, where it did not end well; "" where it did.
std::string end_text(const ChildEnd& end, const CheckRequest& request) {
  if (end.timed_out) {
    return fmt::format(
        "the check did not end within {:g} s (--timeout); Oclgrind is slow: give it less work, or more time",
        request.timeout);
  }
  if (end.signal != 0) return fmt::format("Oclgrind ended by signal {} ({})", end.signal, ::strsignal(end.signal));
  return "";
}

// The child's result with what the check found; what is no JSON object is passed on as it is.
void write_checked_json(const std::string& printed, Json check) {
  Json result = Json::parse(printed, nullptr, false);
  io::OutputFile output("-");
  if (!result.is_object()) {
    output.write(printed);
    result = Json::object();
  }
  result["check"] = std::move(check);
  output.write(result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  output.commit();
}

}  // namespace

Exit check_kernel(const CheckRequest& request) {
  if (request.cuda) {
    usage_error("run: --check runs OpenCL C under Oclgrind, got CUDA C++; compute-sanitizer checks that");
  }
  const MemoryFile log("run: --check");
  const MemoryFile facts_file("run: --check");
  const MemoryFile output("run: --check");
  const MemoryFile included("run: --check");
  included.write(check_header());
  Child child{child_arguments(request, log, facts_file, included), child_environment(), -1, {}};
  if (request.json) child.output = output.descriptor();
  if (request.timeout > 0) child.timeout = std::chrono::duration<double>(request.timeout);
  const ChildEnd end = run_child(child);
  if (end.exec_error == ENOENT) {
    throw Error(ErrorCode::unsupported, "run: --check needs Oclgrind, which is not installed (Debian: oclgrind)");
  }
  if (end.exec_error != 0) {
    throw Error(ErrorCode::io, std::string("run: --check cannot start oclgrind: ") + std::strerror(end.exec_error));
  }

  const CheckLog found = parse_check_log(log.read());
  const auto read_facts = parse_facts(facts_file.read());
  const CheckFacts facts = read_facts.value_or(CheckFacts{});
  const std::string name = request.file == "-" ? "<stdin>" : request.file;
  const std::vector<Fault> faults = collect_faults(found, facts, SourceName{name});
  const SourceLines source(name, facts.source);
  const std::string trouble = end_text(end, request);

  // A run that ended before its kernel, or in it, has said why.
  const bool ran = read_facts && trouble.empty() && (end.status == 0 || end.status == static_cast<int>(Exit::differs));
  if (request.json) {
    Json check{{"faults", check_json(faults, source)}, {"work_items", facts.work_items}, {"cut", found.cut}};
    if (!trouble.empty()) check["error"] = trouble;
    else if (!ran) check["error"] = fmt::format("the run ended with status {}", end.status);
    write_checked_json(output.read(), std::move(check));
  }
  if (!request.json) say(check_text(faults, source));
  const std::string items = count_text(facts.work_items, "work-item");
  if (!faults.empty()) {
    say(fmt::format("masu run: {} found in {}{}\n", count_text(faults.size(), "fault"), items,
                    found.cut ? fmt::format(" (after {} messages Oclgrind reported no more)", most_messages) : ""));
  } else if (ran && !request.quiet) {
    say(fmt::format("masu run: no faults found in {}\n", items));
  }
  if (!trouble.empty()) say("masu run: " + trouble + "\n");
  if (!faults.empty()) return Exit::differs;
  if (!ran && end.status == 0) return Exit::failed;
  return static_cast<Exit>(end.status);
}

}  // namespace masu::cli
