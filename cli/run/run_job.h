// SPDX-License-Identifier: Apache-2.0
// `masu run` of one kernel, from its text to what its buffers hold.
#pragma once

#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/io.h>
#include <masu/program.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace masu::cli {

struct KernelText {
  std::string name;  // for messages: the path, or "<stdin>"
  std::string text;
  DeviceKind language = DeviceKind::opencl;  // the kind of device that runs it
};

// The language is --language's, or the ending's (.cl, .cu), or that of the device asked for; wrong usage where none
// tells it.
DeviceKind kernel_language(const std::string& path, const std::string& language, const std::string& device);
// Reads a file, or standard input for "-".
KernelText read_kernel(const std::string& path, DeviceKind language);

// The text as the compiler gets it: its messages name the file.
std::string with_file_name(const KernelText& kernel);

// Whether the text includes others, which a cache of compiled programs would not see change.
bool includes_files(const KernelText& kernel);

// The id of the device to run it on: `asked`, or MASU_DEVICE where that runs the language, or the first that does.
// Wrong usage where `asked` runs another language.
std::string device_for(DeviceKind language, const std::string& asked, const std::string& file);

// One --arg: what it gives to the kernel; and one --expect: what a buffer must hold.

// "INPUT[,dtype=T][,format=F]"
struct InputRequest {
  std::string input;
  std::optional<Dtype> dtype;
  std::string format = "auto";
};

// "buffer=INPUT[,dtype=T][,format=F][,out=FILE|-]"
struct BufferRequest {
  InputRequest from;
  std::string output;  // "" where the buffer is not wanted back
};

using RunArgument = std::variant<BufferRequest, KernelArgument>;

// "N=INPUT[,format=F]"
struct Expectation {
  std::string argument;  // its number from 0, or its name in the kernel
  InputRequest input;
};

// "buffer=…", "local=BYTES" or "TYPE=VALUE".
RunArgument parse_argument(const std::string& text);
Expectation parse_expectation(const std::string& text);

// A file that ends in .txt or .csv is text, whatever the dtype, unless a format is given.
std::unique_ptr<io::Source> open_input(const InputRequest& request);
// After reading: every entry of a text counts here, so one that is no number is an error, also where the
// content decided that the input is text.
void refuse_bad_entries(const io::Source& source);

// Which kernel of a program to run, and what it takes.

// The kernel of that name, or the only one for "". `file` is for messages. A kernel of CUDA C++ may be named as in its
// source, without `extern "C"` too.
Kernel find_kernel(const Program& program, const std::string& name, const std::string& file);

// Its name as the source has it.
std::string source_name(const Kernel& kernel);

// Refuses another number of arguments than the kernel takes, with all that it takes.
void check_count(const Kernel& kernel, std::span<const KernelArgument> arguments, DeviceKind device);

// The number of the argument that --expect names by number or name.
std::size_t argument_number(const Kernel& kernel, const std::string& text, std::size_t count);

// The name of an argument in the source; "" where the program does not tell.
std::string argument_name(const Kernel& kernel, std::size_t number);
// "argument 2 (x)"
std::string argument_text(std::size_t number, const std::string& name);

// `masu run` of one kernel, from its text to what its buffers hold.

inline constexpr std::uint64_t most_work_items = std::uint64_t{1} << 48U;  // in one dimension, and in all

struct RunJob {
  KernelText source;
  std::string device;
  std::string kernel;               // "": the only one
  std::vector<std::size_t> global;  // empty: the number of elements that all buffers have
  std::vector<std::size_t> local;   // empty: the device chooses
  std::string options;
  std::uint64_t repeat = 1;
  double timeout = 0;  // seconds; 0: none
  std::vector<RunArgument> arguments;
  std::vector<Expectation> expectations;
  bool output_to_stderr = false;  // the kernel's own output, because standard output gets the result
  bool times = false;             // the device's time of each launch
  std::string check_facts;        // under Oclgrind: the file for tell_check; else ""
};

struct RunOutput {
  std::size_t argument = 0;
  std::string name;  // in the kernel; "" where the program does not tell
  Dtype dtype = Dtype::u8;
  std::string target;  // a file, or "-"
  std::vector<std::byte> data;
  [[nodiscard]] ArrayView view() const { return {dtype, data.data(), data.size() / size_of(dtype)}; }
};

// How a buffer differs from what it should hold.
struct RunDifference {
  std::size_t argument = 0;
  std::string name;
  std::uint64_t elements = 0;
  std::uint64_t expected_elements = 0;
  std::uint64_t differing = 0;  // among the elements that both have
  std::uint64_t first = 0;      // the index of the first
  std::string expected;         // the first, as JSON has it
  std::string got;
  [[nodiscard]] bool any() const { return differing > 0 || elements != expected_elements; }
};

struct RunResult {
  struct Times {
    double compile = 0;
    double input = 0;  // reading what the buffers are made of
    double write = 0;
    double kernel = 0;  // the fastest launch, by the device's clock
    double kernel_median = 0;
    double read = 0;
    double total = 0;
  };
  std::string kernel;
  std::string device;
  std::vector<std::size_t> global;
  std::string log;  // the compiler's
  std::vector<io::SourceInfo> inputs;
  std::vector<RunOutput> outputs;
  std::vector<RunDifference> differences;  // an entry for each expectation
  Times seconds;
};

RunResult run_kernel(const RunJob& job);

}  // namespace masu::cli
