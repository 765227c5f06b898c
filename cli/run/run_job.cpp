// SPDX-License-Identifier: Apache-2.0
#include "cli/run/run_job.h"

#include "cli/check/check.h"
#include "cli/memory_file.h"
#include "cli/verify/references.h"
#include "program.h"
#include "text.h"

#include <execinfo.h>
#include <fmt/format.h>
#include <masu/error.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <utility>

namespace masu::cli {

namespace {

// An end for what may never end: a driver's call that waits for a kernel cannot be broken off, but its process can.

std::string end_line;  // what the handler says, which may not allocate

extern "C" void end_late_run(int /*signal*/) {
  io::remove_unfinished();
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, end_line.data(), end_line.size());
  _exit(static_cast<int>(Exit::failed));
}

// Ends the process with exit status 1 and one line when the parts that are watched take longer than allowed, together.
// Unfinished files are removed first.
class Watchdog {
 public:
  // `seconds` of 0: never.
  explicit Watchdog(double seconds) : seconds_(seconds) {
    if (seconds <= 0) return;
    struct sigaction action {};
    action.sa_handler = end_late_run;
    sigfillset(&action.sa_mask);
    sigaction(SIGRTMIN, &action, nullptr);
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGRTMIN;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0) {
      throw Error(ErrorCode::io, std::string("--timeout: no timer: ") + std::strerror(errno));
    }
    left_.it_value.tv_sec = static_cast<time_t>(seconds);
    left_.it_value.tv_nsec = std::max(1L, static_cast<long>((seconds - std::floor(seconds)) * 1e9));
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() {
    if (seconds_ > 0) timer_delete(timer_);
  }

  // Time counts as long as the result lives, one at a time. `what` did not end, in the message.
  using Watch = std::unique_ptr<Watchdog, void (*)(Watchdog*)>;
  [[nodiscard]] Watch watch(const std::string& what) {
    end_line = fmt::format("masu run: {} did not end within {} s (--timeout)\n", what, seconds_);
    if (seconds_ > 0) timer_settime(timer_, 0, &left_, nullptr);
    return {this, [](Watchdog* dog) {
              const itimerspec none{};
              if (dog->seconds_ > 0) timer_settime(dog->timer_, 0, &none, &dog->left_);
            }};
  }

 private:
  double seconds_;
  timer_t timer_{};
  itimerspec left_{};
};

// Comparing what a kernel left in a buffer with what it should have left.

constexpr std::uint64_t block_elements = std::uint64_t{1} << 16U;

std::unique_ptr<io::Source> open_expected(const InputRequest& request) {
  try {
    return open_input(request);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    usage_error("--expect: the buffer holds {}; {}", to_string(*request.dtype), error.what());
  }
}

// `got` element by element with an input of the same dtype. Equal are the same values: a NaN and any NaN, -0 and 0 too.
RunDifference compare(const ArrayView& got, const InputRequest& input) {
  InputRequest request = input;
  request.dtype = got.dtype;
  const std::unique_ptr<io::Source> source = open_expected(request);
  RunDifference found;
  found.elements = got.count;
  std::vector<std::byte> block(block_elements * size_of(got.dtype));
  while (const std::uint64_t count = source->read(block.data(), block_elements)) {
    const std::uint64_t first = std::exchange(found.expected_elements, found.expected_elements + count);
    if (first >= got.count) continue;
    const ArrayView mine = part_of(got, first, std::min(count, got.count - first));
    if (std::memcmp(mine.data, block.data(), mine.count * size_of(got.dtype)) == 0) continue;
    const ArrayView expected(got.dtype, block.data(), mine.count);
    for (std::uint64_t i = 0; i < mine.count; ++i) {
      if (same_bits(mine, i, expected, i) || !differ(mine, i, expected, i) || found.differing++ > 0) continue;
      found.first = first + i;
      found.expected = json_element(expected, i);
      found.got = json_element(mine, i);
    }
  }
  refuse_bad_entries(*source);
  return found;
}

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

// From here on SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT end the process with exit status 1 and one line. It stays so
// after the kernel has ended, because damage to memory often shows later. If a kernel `runs`, `what` is its name, else
// the name of the source that the driver compiles.
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

constexpr std::uint64_t piece_bytes = std::uint64_t{16} << 20U;
constexpr std::size_t launches_at_once = 256;  // queued before they are waited for

// A buffer of the kernel's, and what was asked of it.
struct RunBuffer {
  std::size_t argument = 0;
  const BufferRequest* request = nullptr;
  Dtype dtype = Dtype::u8;
  Buffer<std::byte> data;
  [[nodiscard]] std::uint64_t count() const { return data.size() / size_of(dtype); }
};

// The compiler's: #include finds what lies beside the kernel, as for compilers of files.
std::string run_build_options(const RunJob& job) {
  const std::string& name = job.source.name;
  if (!includes_files(job.source)) return job.options;
  const std::size_t slash = name.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : name.substr(0, std::max<std::size_t>(slash, 1));
  if (folder.find_first_of(" \t\"'\\") != std::string::npos) return job.options;  // drivers differ in quoting
  return job.options + (job.options.empty() ? "" : " ") +
         (job.source.language == DeviceKind::cuda ? "--include-path=" : "-I ") + folder;
}

class RunProgram {
 public:
  explicit RunProgram(const RunJob& job) : job_(job), watchdog_(job.timeout), device_(Device::open(job.device)) {}

  RunResult operator()() {
    const auto began = Clock::now();
    // Drivers write what a kernel prints to descriptor 1 themselves, at once or at the end of a launch. Whole lines
    // leave at once, so that none is lost where the process must be ended.
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    std::optional<Redirected> output;
    if (job_.output_to_stderr) output.emplace(stdout, STDERR_FILENO, "standard output: cannot be redirected");
    result_.device = device_.id();
    Kernel kernel = build();
    for (const Expectation& expectation : job_.expectations) {
      const std::size_t number = argument_number(kernel, expectation.argument, job_.arguments.size());
      if (!std::holds_alternative<BufferRequest>(job_.arguments[number])) {
        usage_error("--expect: argument {} is no buffer", expectation.argument);
      }
    }
    load_buffers();
    launch(kernel);
    std::fflush(stdout);
    read_back(kernel);
    result_.seconds.total = since(began);
    return std::move(result_);
  }

 private:
  [[nodiscard]] Kernel build() {
    const Watchdog::Watch watch = watchdog_.watch("compiling " + visible(job_.source.name));
    const auto began = Clock::now();
    const bool checked = !job_.check_facts.empty();  // then the checker handles crashes
    const std::string options = checked ? checked_options(run_build_options(job_)) : run_build_options(job_);
    const auto make = [&] {
      const Program program = Program::from_source(device_, with_file_name(job_.source), options);
      result_.log = program.log();
      return find_kernel(program, job_.kernel, job_.source.name);
    };
    if (!checked) blame_crashes_on(visible(job_.source.name), device_.id(), false);
    Kernel kernel = checked ? build_checked(make) : make();
    blame_nobody();
    result_.kernel = source_name(kernel);
    result_.seconds.compile = since(began);
    return kernel;
  }
  // Drivers of CPU devices count work-groups in 32 bits, and fail in ways of their own beyond.
  void check_size(const NDRange& range) const {
    std::uint64_t items = 1;
    std::uint64_t groups = 1;
    for (unsigned i = 0; i < range.dimensions; ++i) {
      if (range.global[i] > most_work_items / items) {
        usage_error("--global takes at most {} work-items in all", most_work_items);
      }
      items *= range.global[i];
      groups *= (range.global[i] - 1) / std::max<std::size_t>(range.local[i], 1) + 1;
    }
    if (!device_.info().gpu && range.local[0] != 0 && groups >> 32U != 0) {
      usage_error("--global and --local make {} work-groups; {} takes fewer than {}", groups, device_.id(),
                  std::uint64_t{1} << 32U);
    }
  }
  void load_buffers() {
    for (std::size_t i = 0; i < job_.arguments.size(); ++i) {
      if (const auto* request = std::get_if<BufferRequest>(&job_.arguments[i])) buffers_.push_back(load(i, *request));
    }
  }
  RunBuffer load(std::size_t argument, const BufferRequest& request) {
    auto began = Clock::now();
    const std::unique_ptr<io::Source> source = open_input(request.from);
    const Dtype dtype = source->info().dtype;
    const std::uint64_t element = size_of(dtype);
    const auto lap = [&](double& seconds) { seconds += since(std::exchange(began, Clock::now())); };
    if (!source->info().count) {
      const std::vector<std::byte> all = io::read_all(*source, device_.info().memory_bytes);
      refuse_bad_entries(*source);
      lap(result_.seconds.input);
      result_.inputs.push_back(source->info());
      RunBuffer buffer{argument, &request, dtype, device_.upload(all)};
      lap(result_.seconds.write);
      return buffer;
    }
    const std::uint64_t count = *source->info().count;
    const std::uint64_t memory = device_.info().memory_bytes;
    if (count > memory / element) {  // before it is read, and before a product overflows
      throw Error(ErrorCode::out_of_memory,
                  fmt::format("{}: {} elements of {} do not fit the {} bytes of memory of {}", source->info().name,
                              count, to_string(dtype), memory, device_.id()));
    }
    RunBuffer buffer{argument, &request, dtype, device_.allocate<std::byte>(count * element)};
    std::vector<std::byte> piece(std::min(piece_bytes, count * element));
    for (std::uint64_t done = 0; done < count;) {
      lap(result_.seconds.write);
      const std::uint64_t got = source->read(piece.data(), std::min(piece.size() / element, count - done));
      if (got == 0) data_error("{}: ends after {} of {} elements", source->info().name, done, count);
      lap(result_.seconds.input);
      buffer.data.write(std::span<const std::byte>(piece.data(), got * element), done * element);
      done += got;
    }
    lap(result_.seconds.write);
    result_.inputs.push_back(source->info());
    return buffer;
  }
  [[nodiscard]] std::vector<KernelArgument> arguments() const {
    std::vector<KernelArgument> list;
    auto buffer = buffers_.begin();
    for (const RunArgument& argument : job_.arguments) {
      if (const auto* value = std::get_if<KernelArgument>(&argument)) {
        list.push_back(*value);
      } else {
        list.emplace_back(buffer->data, ArgumentType{buffer->dtype, 1});
        ++buffer;
      }
    }
    return list;
  }
  [[nodiscard]] NDRange range() const {
    std::vector<std::size_t> global = job_.global;
    if (global.empty()) {
      const bool equal = std::all_of(buffers_.begin(), buffers_.end(), [&](const RunBuffer& buffer) {
        return buffer.count() == buffers_.front().count();
      });
      if (buffers_.empty() || !equal || buffers_.front().count() == 0) {
        usage_error(
            "--global is needed: only where all buffers have the same number of elements, each of them gets a "
            "work-item");
      }
      global = {buffers_.front().count()};
    }
    if (!job_.local.empty() && job_.local.size() != global.size()) {
      usage_error("--local takes as many sizes as --global, which has {}, got {}", global.size(), job_.local.size());
    }
    const NDRange range = NDRange::of(global, job_.local);
    check_size(range);
    return range;
  }
  void tell_check_of(const Kernel& kernel, const NDRange& shape) const {
    CheckFacts facts{result_.kernel, job_.source.text, result_.log, 1, {}};
    for (const std::size_t size : shape.global) facts.work_items *= size;
    std::vector<const BufferBase*> buffers(job_.arguments.size());
    for (const RunBuffer& buffer : buffers_) buffers[buffer.argument] = &buffer.data;
    for (std::size_t i = 0; i < buffers.size(); ++i)
      facts.arguments.push_back({argument_name(kernel, i), buffers[i] != nullptr, 0, 0});
    tell_check(job_.check_facts, device_, std::move(facts), buffers);
  }
  void launch(Kernel& kernel) {
    const std::vector<KernelArgument> list = arguments();
    check_count(kernel, list, device_.kind());
    const NDRange shape = range();
    result_.global.assign(shape.global.begin(), shape.global.begin() + shape.dimensions);
    if (!job_.check_facts.empty()) tell_check_of(kernel, shape);
    const Watchdog::Watch watch = watchdog_.watch("the kernel " + result_.kernel);
    // Oclgrind's crashes are the checker's, and a GPU's kernels are not in this process.
    if (job_.check_facts.empty() && !device_.info().gpu) blame_crashes_on(result_.kernel, device_.id(), true);
    Stream stream(device_);
    std::vector<Event> events;
    std::vector<double> seconds;
    for (std::uint64_t done = 0; done < job_.repeat;) {
      events.push_back(kernel.launch(stream, shape, list));
      if (++done < job_.repeat && events.size() < launches_at_once) continue;
      stream.finish();
      for (const Event& event : events)
        if (job_.times) seconds.push_back(event.seconds());
      events.clear();
    }
    if (seconds.empty()) return;
    std::sort(seconds.begin(), seconds.end());
    result_.seconds.kernel = seconds.front();
    result_.seconds.kernel_median = (seconds[(seconds.size() - 1) / 2] + seconds[seconds.size() / 2]) / 2;
  }
  void read_back(const Kernel& kernel) {
    for (const RunBuffer& buffer : buffers_) {
      std::vector<const Expectation*> expected;
      for (const Expectation& expectation : job_.expectations) {
        if (argument_number(kernel, expectation.argument, job_.arguments.size()) == buffer.argument) {
          expected.push_back(&expectation);
        }
      }
      if (buffer.request->output.empty() && expected.empty()) continue;
      const auto began = Clock::now();
      RunOutput output{buffer.argument, argument_name(kernel, buffer.argument), buffer.dtype, buffer.request->output,
                       buffer.data.read()};
      result_.seconds.read += since(began);
      for (const Expectation* expectation : expected) {
        RunDifference difference = compare(output.view(), expectation->input);
        difference.argument = output.argument;
        difference.name = output.name;
        result_.differences.push_back(std::move(difference));
      }
      if (!output.target.empty()) result_.outputs.push_back(std::move(output));
    }
  }

  const RunJob& job_;
  Watchdog watchdog_;
  Device device_;
  std::vector<RunBuffer> buffers_;
  RunResult result_;
};

}  // namespace

RunResult run_kernel(const RunJob& job) {
  // An entry of the cache would outlive a change of an included file. NVIDIA's driver has a cache of its own.
  if (includes_files(job.source)) {
    setenv("MASU_CACHE", "off", 1);
    setenv("CUDA_CACHE_DISABLE", "1", 1);
  }
  return RunProgram(job)();
}

}  // namespace masu::cli
