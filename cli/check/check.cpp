// SPDX-License-Identifier: Apache-2.0
// The two processes of a check. The child's part: the header that its compiler includes, the build of its kernel, the
// facts for its parent.
#include "cli/check/check.h"
#include "cli/memory_file.h"
#include "io/reader.h"
#include "options.h"

#include <fmt/format.h>
#include <masu/error.h>
#include <masu/io.h>
#include <masu/program.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace masu::cli {
namespace {

// When Oclgrind 21.10 records what a strided copy has written, it applies the stride to both sides: elements that were
// copied count as never set. It records copies of one element each correctly, and their result is the same.
constexpr const char* strided_copy_text = R"(
static inline size_t __attribute__((overloadable)) masu_step(__local const volatile void *side, size_t stride) {
  return 1;
}
static inline size_t __attribute__((overloadable)) masu_step(__global const volatile void *side, size_t stride) {
  return stride;
}
#define async_work_group_strided_copy(target, source, count, stride, event) ({ \
    __typeof__((target) + 0) masu_target = (target); \
    __typeof__((source) + 0) masu_source = (source); \
    const size_t masu_count = (count); \
    const size_t masu_stride = (stride); \
    event_t masu_event = async_work_group_copy(masu_target, masu_source, 0, (event)); \
    for (size_t masu_i = 0; masu_i < masu_count; ++masu_i) \
      masu_event = async_work_group_copy(masu_target + masu_i * masu_step(masu_target, masu_stride), \
                                         masu_source + masu_i * masu_step(masu_source, masu_stride), 1, masu_event); \
    masu_event; })
)";

// Writes to the build log which conversions to integers are implicit, and the arguments of each printf after its macros
// are expanded.
constexpr const char* notes_text = R"(
#pragma clang diagnostic warning "-Wfloat-conversion"
#define MASU_TEXT_(...) #__VA_ARGS__
#define MASU_TEXT(...) MASU_TEXT_(__VA_ARGS__)
#define MASU_PRAGMA(...) _Pragma(#__VA_ARGS__)
#define MASU_MESSAGE(text) MASU_PRAGMA(message(text))
#define printf(...) MASU_MESSAGE(MASU_TEXT(__VA_ARGS__)) printf(__VA_ARGS__)
)";

// The header that the child's compiler includes before the kernel.
// The compiler calls the first function where a cast is out of range. It does not know calls of convert_T as
// conversions, so these cast each element too.
std::string check_header() {
  // Without a precompiled header, Oclgrind reads its own header after this one.
  std::string text = "#ifndef _OPENCL_H_\n#include \"/remapped/opencl-c.h\"\n#endif\n";
  text += fmt::format(
      "void __ubsan_handle_float_cast_overflow_minimal(void) {{\n"
      "  (void)*(volatile __global uchar *)0x{:x}UL;\n}}\n",
      conversion_address);
  text += strided_copy_text;
  text += notes_text;
  for (const std::string_view type : {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong"}) {
    for (const unsigned width : {1U, 2U, 3U, 4U, 8U, 16U}) {
      const std::string name = fmt::format("{}{}", type, width == 1 ? "" : std::to_string(width));
      std::string casts;
      for (unsigned i = 0; i < width; ++i) {
        casts += width == 1 ? fmt::format("(void)({})masu_value; ", type)
                            : fmt::format("(void)({})masu_value.s{:x}; ", type, i);
      }
      for (const std::string_view rounding : {"", "_rte", "_rtz", "_rtp", "_rtn"}) {
        text += fmt::format(
            "#define convert_{0}{1}(value) ({{ __typeof__((void)0, (value)) masu_value = (value); {2} "
            "convert_{0}{1}(masu_value); }})\n",
            name, rounding, casts);
      }
    }
  }
  return text;
}

}  // namespace

std::string checked_options(const std::string& options) {
  constexpr std::string_view option = "-cl-std=";
  constexpr std::array<std::string_view, 4> older{"CL", "CL1.0", "CL1.1", "CL1.2"};
  const auto at = options.rfind(option);
  if (at == std::string::npos) return options;
  const std::size_t begin = at + option.size();
  const std::size_t end = std::min(options.find_first_of(" \t", begin), options.size());
  std::string version = options.substr(begin, end - begin);
  std::ranges::transform(version, version.begin(), [](unsigned char c) { return std::toupper(c); });
  // 1.0 has no static functions, and Oclgrind's precompiled header exists for one spelling of 2.0 only.
  if (std::ranges::find(older, version) != older.end()) {
    return std::string(options).replace(begin, end - begin, "CL1.2");
  }
  if (version == "CL2.0") return std::string(options).replace(begin, end - begin, version);
  throw Error(
      ErrorCode::unsupported,
      fmt::format("run: --check reads OpenCL C 1.0, 1.1, 1.2 and 2.0, which is what Oclgrind 21.10 compiles, got "
                  "-cl-std={}: check the kernel with --options -cl-std=CL2.0 or CL1.2, without what is newer",
                  options.substr(begin, end - begin)));
}

Kernel build_checked(const std::function<Kernel()>& build) {
  constexpr std::string_view words = "Undefined external function: ";
  const MemoryFile errors("run: --check");
  Redirected to_errors(stderr, errors.descriptor(), "run: --check: standard error");
  const auto missing = [&](std::string_view text) {
    const auto at = text.find(words);
    if (at == std::string_view::npos) return std::string();
    text.remove_prefix(at + words.size());
    return std::string(text.substr(0, text.find('\n')));
  };
  try {
    Kernel kernel = build();
    to_errors.end();
    std::istringstream text(errors.read());
    // "3 warnings generated." counts notes of ours, and a function that is missing is another kernel's.
    for (std::string line; std::getline(text, line);) {
      if (line.starts_with("OCLGRIND FATAL ERROR")) break;
      if (!line.empty() && !line.ends_with(" generated.")) std::fprintf(stderr, "%s\n", line.c_str());
    }
    return kernel;
  } catch (const Error& error) {
    to_errors.end();
    const std::string text = errors.read();
    if (error.code() != ErrorCode::build_failed) throw;
    if (const std::string name = missing(text); !name.empty()) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("run: --check: Oclgrind 21.10 does not have the function {}, which the kernel calls: the "
                              "kernel may be right, but it cannot be checked",
                              name));
    }
    throw Error(error.code(), without_notes(error.what()));
  }
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(CheckFacts::Argument, name, buffer, address, bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(CheckFacts, kernel, source, build_log, work_items, arguments)

namespace {

// In Oclgrind the upper bits of a pointer are the number of a buffer, the lower ones an offset in it.
constexpr const char* address_text = R"(
kernel void masu_address(global ulong* address, global const uchar* buffer) {
  *address = (ulong)buffer;
}
)";

class Addresses {
 public:
  explicit Addresses(const Device& device)
      : stream_(device),
        kernel_(Program::from_source(device, address_text).kernel("masu_address")),
        address_(device.upload(std::array<std::uint64_t, 1>{})) {}

  std::uint64_t of(const BufferBase& buffer) {
    const std::array<KernelArgument, 2> arguments{address_, buffer};
    kernel_.launch(stream_, NDRange(1, 1), arguments).wait();
    return address_.read().front();
  }

 private:
  Stream stream_;
  Kernel kernel_;
  Buffer<std::uint64_t> address_;
};

}  // namespace

void tell_check(const std::string& file, const Device& device, CheckFacts facts,
                const std::vector<const BufferBase*>& buffers) {
  if (device.info().name.find("Oclgrind") == std::string::npos) {
    throw Error(ErrorCode::unsupported,
                "run: --check: Oclgrind could not be loaded, the device is " + device.info().name);
  }
  Addresses addresses(device);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i] == nullptr) continue;
    CheckFacts::Argument& argument = facts.arguments[i];
    argument.bytes = buffers[i]->size_bytes();
    if (argument.bytes != 0) argument.address = addresses.of(*buffers[i]);
  }
  std::ofstream stream(file);
  stream << nlohmann::json(facts).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::flush;
  if (!stream) throw Error(ErrorCode::io, "run: cannot write '" + file + "', which --under-oclgrind names");
}

namespace {

// Returns none where the child ended before it had written the facts.
std::optional<CheckFacts> parse_facts(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  return json.is_object() ? std::optional(json.get<CheckFacts>()) : std::nullopt;
}

// The parent's part.

struct ChildEnd {
  int status = 0;      // as it exited, where signal is 0
  int signal = 0;      // that ended it
  int exec_error = 0;  // errno of a program that could not be started
  bool timed_out = false;
};

using Clock = std::chrono::steady_clock;

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// Waits until the other end is closed or written to; false when the time is over before.
bool wait_ready(const io::Descriptor& descriptor, std::optional<Clock::time_point> deadline) {
  for (;;) {
    int milliseconds = -1;
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
      milliseconds = static_cast<int>(std::clamp<decltype(left)>(left, 0, 1 << 30));
    }
    pollfd poll{descriptor.get(), POLLIN, 0};
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

// Runs a program, which is looked for in PATH, to its end, which never comes after that of this process. At the time
// limit (0: none) it gets SIGTERM, so that it removes its unfinished files, and soon SIGKILL. An `output` of -1 is this
// process's standard output.
ChildEnd run_child(const std::vector<std::string>& arguments, const std::vector<std::string>& environment, int output,
                   double timeout) {
  const auto argument_pointers = pointers(arguments);
  const auto environment_pointers = pointers(environment);
  // The child keeps its end open, whatever program it becomes. All that is ever written is why it became none.
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) fail_by_errno("run: --check: no pipe");
  io::Descriptor lives(ends[0]);
  io::Descriptor child_end(ends[1]);
  const auto begin = Clock::now();
  const pid_t self = ::getpid();
  const pid_t id = ::fork();
  if (id < 0) fail_by_errno("run: --check: no process");
  if (id == 0) {
    lives = io::Descriptor();
    become(self, output, child_end.get(), argument_pointers.data(), environment_pointers.data());
  }
  child_end = io::Descriptor();

  ChildEnd end;
  std::optional<Clock::time_point> deadline;
  if (timeout > 0) deadline = begin + std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(timeout));
  if (!wait_ready(lives, deadline)) {
    end.timed_out = true;
    ::kill(id, SIGTERM);
    if (!wait_ready(lives, Clock::now() + std::chrono::seconds(2))) ::kill(id, SIGKILL);
  }
  int status = 0;
  while (::waitpid(id, &status, 0) < 0) {
    if (errno != EINTR) fail_by_errno("run: --check: waitpid");
  }
  if (::read(lives.get(), &end.exec_error, sizeof(end.exec_error)) != sizeof(end.exec_error)) end.exec_error = 0;
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
  const ChildEnd end = run_child(child_arguments(request, log, facts_file, included), child_environment(),
                                 request.json ? output.descriptor() : -1, request.timeout);
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
