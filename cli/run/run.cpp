// SPDX-License-Identifier: Apache-2.0
// masu run: compiles a kernel, runs it, and says what its buffers hold.
#include "cli/arrays/array_stream.h"
#include "cli/check/check.h"
#include "cli/run/run_job.h"
#include "options.h"
#include "program.h"
#include "text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <masu/io.h>
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace masu::cli {
namespace {

// What `masu run` writes.

void write_files(const RunResult& result) {
  std::vector<ArrayOutput> files;
  for (const RunOutput& output : result.outputs) {
    if (output.target == "-") continue;
    const ArrayView array = output.view();
    ArrayOutput& file = files.emplace_back(output.target, io::SourceInfo());
    file.begin(array.dtype, std::array{array.count});
    file.write(array);
    file.finish();
  }
  for (ArrayOutput& file : files) file.commit();
}

std::string sizes(const std::vector<std::size_t>& list) {
  return list.empty() ? "null" : fmt::format("[{}]", fmt::join(list, ","));
}

void write_json_output(const RunOutput& output, io::OutputFile& to) {
  const ArrayView values = output.view();
  const std::string name = output.name.empty() ? "" : fmt::format(R"("name":{},)", json_string(output.name));
  to.write(fmt::format(R"({{"argument":{},{}"dtype":"{}","count":{},)", output.argument, name, to_string(output.dtype),
                       values.count));
  if (output.target != "-") return to.write(fmt::format(R"("file":{}}})", json_string(output.target)));
  to.write(R"("values":[)");
  for (std::uint64_t i = 0; i < values.count; ++i) to.write((i > 0 ? "," : "") + json_element(values, i));
  to.write("]}");
}

std::string json_difference(const RunDifference& difference) {
  const std::string name = difference.name.empty() ? "" : fmt::format(R"("name":{},)", json_string(difference.name));
  std::string text = fmt::format(R"({{"argument":{},{}"equal":{},"elements":{},"expected_elements":{},"differing":{})",
                                 difference.argument, name, !difference.any(), difference.elements,
                                 difference.expected_elements, difference.differing);
  if (difference.differing > 0) {
    text += fmt::format(R"(,"first":{{"index":{},"expected":{},"got":{}}})", difference.first, difference.expected,
                        difference.got);
  }
  return text + "}";
}

using Times = RunResult::Times;
constexpr std::pair<std::string_view, double Times::*> parts[] = {{"compile", &Times::compile},
                                                                  {"input", &Times::input},
                                                                  {"write", &Times::write},
                                                                  {"kernel", &Times::kernel},
                                                                  {"kernel_median", &Times::kernel_median},
                                                                  {"read", &Times::read},
                                                                  {"total", &Times::total}};

// The buffers that were asked for: those with a file into it, the others on standard output, one value a line.
void write_outputs(const RunResult& result) {
  write_files(result);
  const auto printed = std::count_if(result.outputs.begin(), result.outputs.end(),
                                     [](const RunOutput& output) { return output.target == "-"; });
  if (printed == 0) return;
  io::OutputFile to("-");
  for (const RunOutput& output : result.outputs) {
    if (output.target != "-") continue;
    // A comment to whoever reads the numbers.
    if (printed > 1) {
      to.write(fmt::format("# {}: {} {}\n", argument_text(output.argument, output.name), output.view().count,
                           to_string(output.dtype)));
    }
    write_lines(output.view(), [&](std::string_view lines) { to.write(lines); });
  }
  to.commit();
}

// The same, but one JSON object on standard output.
void write_outputs_as_json(const RunJob& job, const RunResult& result) {
  write_files(result);
  io::OutputFile to("-");
  to.write(fmt::format(R"({{"file":{},"kernel":{},"language":"{}","device":{},"global":{},"local":{},"repeat":{},)",
                       json_string(job.source.name), json_string(result.kernel), to_string(job.source.language),
                       json_string(result.device), sizes(result.global), sizes(job.local), job.repeat));
  to.write(R"("outputs":[)");
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    if (i > 0) to.write(",");
    write_json_output(result.outputs[i], to);
  }
  std::vector<std::string> expect;
  for (const RunDifference& difference : result.differences) expect.push_back(json_difference(difference));
  std::vector<std::string> seconds;
  for (const auto& [name, part] : parts)
    seconds.push_back(fmt::format(R"("{}":{})", name, json_number(result.seconds.*part)));
  to.write(fmt::format("],\"expect\":[{}],\"seconds\":{{{}}}}}\n", fmt::join(expect, ","), fmt::join(seconds, ",")));
  to.commit();
}

// On standard error: a line for each expectation that was not met.
void note_differences(const RunResult& result) {
  for (const RunDifference& difference : result.differences) {
    if (!difference.any()) continue;
    std::vector<std::string> parts;
    if (difference.elements != difference.expected_elements) {
      parts.push_back(
          fmt::format("{} elements were expected, it has {}", difference.expected_elements, difference.elements));
    }
    if (difference.differing > 0) {
      parts.push_back(fmt::format("{} of {} elements differ, the first is number {}: expected {}, got {}",
                                  difference.differing, std::min(difference.elements, difference.expected_elements),
                                  difference.first, bare(difference.expected), bare(difference.got)));
    }
    note(fmt::format("masu run: {}: {}", argument_text(difference.argument, difference.name), fmt::join(parts, "; ")));
  }
}

// On standard error: --time.
void note_times(const RunResult& result, std::uint64_t launches) {
  const Times& seconds = result.seconds;
  for (const auto& [name, part] : parts) {
    if (part == &Times::kernel_median) continue;
    const bool several = part == &Times::kernel && launches != 1;
    note(fmt::format(
        "{:<8} {:12.9f} s{}", name, seconds.*part,
        several ? fmt::format(" (the fastest of {}, their median {:.9f} s)", launches, seconds.kernel_median) : ""));
  }
}

constexpr double default_timeout = 60;   // seconds
constexpr double longest_timeout = 1e9;  // 30 years, which a clock can add
constexpr std::uint64_t most_repeats = 1'000'000;

constexpr const char* run_examples = R"(Examples:
  masu run saxpy.cl --arg buffer=iota:f32:8,out=- --arg buffer=iota:f32:8 --arg f32=2 --arg u32=8
  masu run blur.cl --global 640,480 --local 16,16 --arg buffer=in.npy --arg buffer=zeros:u8:307200,out=out.npy
  masu run sum.cl --kernel sum_groups --global 1Mi --local 256 --arg buffer=data.raw,dtype=f32 --arg local=1Ki
  masu run scale.cu --device cuda --global 1Mi --local 256 --repeat 100 --time --arg buffer=iota:f32:1Mi --arg f32=2
  masu run copy.cl --arg buffer=iota:u32:64 --arg buffer=zeros:u32:64 --expect 1=iota:u32:64
  masu run copy.cl --arg buffer=iota:u32:64 --arg buffer=zeros:u32:64 --check)";

std::vector<std::size_t> parse_sizes(std::string_view option, const std::string& text) {
  std::vector<std::size_t> sizes;
  for (const std::string& part : split(text)) sizes.push_back(whole_number(option, part, 1, most_work_items));
  if (sizes.size() > 3) usage_error("{} takes 1 to 3 sizes (X,Y,Z), got '{}'", option, text);
  return sizes;
}

double parse_timeout(const std::string& text) {
  if (text.empty()) return default_timeout;
  const double seconds = real_number("--timeout", text);
  if (!(seconds >= 0 && seconds <= longest_timeout)) {
    usage_error("--timeout takes seconds from 0 (none) to {}, got '{}'", longest_timeout, text);
  }
  return seconds;
}

// Standard input can be read once, and a file be written once.
void check_streams(const RunJob& job, const std::string& source) {
  std::size_t readers = source == "-" ? 1 : 0;
  std::vector<std::string> files;
  const auto reads = [&](const InputRequest& request) { readers += request.input == "-" ? 1 : 0; };
  for (const RunArgument& argument : job.arguments) {
    const auto* buffer = std::get_if<BufferRequest>(&argument);
    if (buffer == nullptr) continue;
    reads(buffer->from);
    if (buffer->output.empty() || buffer->output == "-") continue;
    const std::filesystem::path path = buffer->output;
    if (!path.parent_path().empty() && !std::filesystem::is_directory(path.parent_path())) {  // before the kernel runs
      throw Error(ErrorCode::io, buffer->output + ": cannot be written: there is no such folder");
    }
    const auto same = [&](const std::string& file) { return is_same_output(file, buffer->output); };
    if (same(source)) usage_error("--arg: out=" + buffer->output + " is the kernel's file");
    if (std::ranges::any_of(files, same)) usage_error("--arg: out=" + buffer->output + " is given for two buffers");
    files.push_back(buffer->output);
  }
  for (const Expectation& expectation : job.expectations) reads(expectation.input);
  if (readers > 1) usage_error("standard input ('-') can be read once, it is asked for {} times", readers);
}

// The options of `masu run` as they are typed.
struct RunOptions {
  std::string file;
  std::string language;
  std::string device;
  std::string kernel;
  std::string global;
  std::string local;
  std::string options;
  std::string repeat;
  std::string timeout;
  std::vector<std::string> arguments;
  std::vector<std::string> expectations;
  bool json = false;
  bool quiet = false;
  bool time = false;
  bool check = false;
  std::string under_oclgrind;

  void add_to(const Subcommand& app) {
    app.add_option("FILE", file, "", "The kernel: OpenCL C (.cl) or CUDA C++ (.cu); - for standard input").required();
    const Subcommand program = app.group("Kernel");
    program.add_option("--language", language, "opencl|cuda",
                       "The kernel's language, where the file's ending does not say it");
    program.add_option("--kernel", kernel, "NAME", "Which kernel of the file (its only one)");
    program.add_option("--options", options, "TEXT", "Options for the compiler (\"-DN=16 -cl-std=CL1.2\")");

    const Subcommand launch = app.group("Launch");
    launch.add_option("--global", global, "X[,Y,Z]",
                      "Work-items in 1 to 3 dimensions, on CUDA too (the number of elements, where all buffers\n"
                      "have the same)");
    launch.add_option("--local", local, "X[,Y,Z]", "Work-items of a work-group (the device chooses)");
    launch
        .add_option("--arg", arguments, "ARG",
                    "An argument, in the kernel's order: buffer=INPUT[,dtype=T][,format=F][,out=FILE|-].\n"
                    "INPUT is a file, - or a generator (iota:f32:64), and out= gets what the buffer holds at\n"
                    "the end. Others: local=BYTES; a value as u32=64 or f32=0.5; or a vector as f32x4=1,2,3,4")
        .one_value();
    launch.add_option("--repeat", repeat, "N", "Run the kernel N times, on the same buffers");
    launch.add_option("--timeout", timeout, "SECONDS",
                      "End the run when compiling and running take longer than that (60; 0: never)");

    const Subcommand result = app.group("Result");
    result
        .add_option("--expect", expectations, "N=INPUT",
                    "Compare the buffer of argument N (from 0, or its name) with INPUT; exit 3 if it differs")
        .one_value();
    result.add_flag("--check", check,
                    "Run it under Oclgrind, and report races, accesses out of bounds, reads of memory that was not\n"
                    "written, and divergent barriers, with their line. Exit 3 where there are any");
    app.group("").add_option("--under-oclgrind", under_oclgrind, "FILE", "");  // what --check runs
    app.add_option("--device", device, "ID", "opencl, opencl:N, cuda, cuda:N, or a part of a name (opencl:NVIDIA)");
    app.add_flag("--json", json, "Write the result as JSON");
    app.add_flag("--quiet", quiet, "No warnings of the compiler and no notes on standard error");
    app.add_flag("--time", time, "Print how long compiling, transfer and the kernel took");
    app.footer(run_examples);
  }
  // Reads the kernel too. Throws invalid_argument for values that make no sense, io where the file cannot be read.
  [[nodiscard]] RunJob job() const {
    RunJob job;
    if (!global.empty()) job.global = parse_sizes("--global", global);
    if (!local.empty()) job.local = parse_sizes("--local", local);
    job.timeout = parse_timeout(timeout);
    if (!repeat.empty()) job.repeat = whole_number("--repeat", repeat, 1, most_repeats);
    for (const std::string& text : arguments) job.arguments.push_back(parse_argument(text));
    for (const std::string& text : expectations) job.expectations.push_back(parse_expectation(text));
    check_streams(job, file);
    const DeviceKind kind = kernel_language(file, language, device);
    // A run that is checked is the child's: standard input is left for it.
    if (check && under_oclgrind.empty()) job.source.language = kind;
    else job.source = read_kernel(file, kind);
    job.check_facts = under_oclgrind;
    if (under_oclgrind.empty()) {
      job.device = device_for(kind, device, file);
    } else {
      job.device = "opencl";
      job.timeout = 0;
    }
    job.kernel = kernel;
    job.options = options;
    job.times = time || json;
    job.output_to_stderr =
        json || std::any_of(job.arguments.begin(), job.arguments.end(), [](const RunArgument& argument) {
          const auto* buffer = std::get_if<BufferRequest>(&argument);
          return buffer != nullptr && buffer->output == "-";
        });
    return job;
  }
  [[nodiscard]] CheckRequest check_request(const RunJob& job) const {
    CheckRequest request;
    request.file = file;
    request.cuda = job.source.language == DeviceKind::cuda;
    request.timeout = job.timeout;
    request.json = json;
    request.quiet = quiet;
    if (request.cuda) return request;
    try {
      const DeviceInfo info = Device::open(job.device).info();
      request.local_bytes = info.local_bytes;
      request.max_work_group_size = info.max_work_group_size;
    } catch (const Error&) {
      if (!device.empty()) throw;
      // A check needs no device.
    }
    return request;
  }
};

Exit run_command(const RunOptions& asked) {
  const RunJob job = asked.job();
  const bool checked = !asked.under_oclgrind.empty();  // then the parent reports
  if (asked.check && !checked) return check_kernel(asked.check_request(job));
  const RunResult result = run_kernel(job);
  if (!asked.quiet && !checked && !result.log.empty()) note(result.log, "\n\t");
  for (const io::SourceInfo& input : result.inputs)
    if (!asked.quiet && !checked) tell_notes(input);
  if (asked.json) write_outputs_as_json(job, result);
  else write_outputs(result);
  if (asked.time) note_times(result, job.repeat);
  note_differences(result);
  const bool differs = std::any_of(result.differences.begin(), result.differences.end(),
                                   [](const RunDifference& difference) { return difference.any(); });
  return differs ? Exit::differs : Exit::done;
}

}  // namespace

void add_run(CommandLine& line) {
  auto options = std::make_shared<RunOptions>();
  options->add_to(line.add("run", "Compile a kernel of yours and run it", [options] { return run_command(*options); }));
}

}  // namespace masu::cli
