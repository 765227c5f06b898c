// SPDX-License-Identifier: Apache-2.0
#include "cli/run/run_job.h"

#include "cli/check/check.h"
#include "cli/memory_file.h"
#include "elements/stored_float.h"
#include "program.h"
#include "text.h"

#include <masu/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <concepts>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
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

  // Time counts as long as it lives. One at a time.
  class Watch {
   public:
    explicit Watch(Watchdog& dog) : dog_(dog) {}
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch() {
      const itimerspec none{};
      if (dog_.seconds_ > 0) timer_settime(dog_.timer_, 0, &none, &dog_.left_);
    }

   private:
    Watchdog& dog_;
  };
  // `what` did not end, in the message.
  [[nodiscard]] Watch watch(const std::string& what) {
    end_line = fmt::format("masu run: {} did not end within {} s (--timeout)\n", what, seconds_);
    if (seconds_ > 0) timer_settime(timer_, 0, &left_, nullptr);
    return Watch(*this);
  }

 private:
  double seconds_;
  timer_t timer_{};
  itimerspec left_{};
};

// Comparing what a kernel left in a buffer with what it should have left.

constexpr std::uint64_t block_elements = std::uint64_t{1} << 16U;

template <class T>
bool same(T a, T b) {
  if constexpr (std::integral<T>) {
    return a == b;
  } else if constexpr (is_stored<T>) {
    return same(to_double(a), to_double(b));
  } else {
    return a == b || (std::isnan(a) && std::isnan(b));
  }
}

template <class T>
void compare_block(const T* got, const std::vector<std::byte>& block, std::uint64_t count, std::uint64_t first,
                   RunDifference& found) {
  const auto* expected = reinterpret_cast<const T*>(block.data());
  for (std::uint64_t i = 0; i < count; ++i) {
    if (same(got[i], expected[i])) continue;
    if (found.differing++ > 0) continue;
    found.first = first + i;
    found.expected = json_element({dtype_of<T>, expected, count}, i);
    found.got = json_element({dtype_of<T>, got, count}, i);
  }
}

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
    const std::uint64_t first = found.expected_elements;
    found.expected_elements += count;
    if (first >= got.count) continue;
    dispatch(got.dtype, [&]<class T>(TypeTag<T>) {
      compare_block(static_cast<const T*>(got.data) + first, block, std::min(count, got.count - first), first, found);
    });
  }
  refuse_bad_entries(*source);
  return found;
}

// Where the printf of a kernel goes. Drivers write it to descriptor 1 themselves, at once or at the end of a launch.

class KernelOutput {
 public:
  explicit KernelOutput(bool to_standard_error) {
    // Whole lines leave at once, so that none is lost where the process must be ended.
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    if (to_standard_error) redirected_.emplace(stdout, STDERR_FILENO, "standard output: cannot be redirected");
  }
  KernelOutput(const KernelOutput&) = delete;
  KernelOutput& operator=(const KernelOutput&) = delete;
  ~KernelOutput() { std::fflush(stdout); }

 private:
  std::optional<Redirected> redirected_;
};

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
  explicit RunProgram(const RunJob& job)
      : job_(job), watchdog_(job.timeout), output_(job.output_to_stderr), device_(Device::open(job.device)) {}

  RunResult operator()() {
    const auto began = Clock::now();
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
    for (std::uint64_t done = 0; done < job_.repeat;) {
      events.push_back(kernel.launch(stream, shape, list));
      if (++done < job_.repeat && events.size() < launches_at_once) continue;
      stream.finish();
      for (const Event& event : events) {
        if (job_.times) result_.seconds.kernel.push_back(event.seconds());
      }
      events.clear();
    }
    std::sort(result_.seconds.kernel.begin(), result_.seconds.kernel.end());
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
  KernelOutput output_;
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
