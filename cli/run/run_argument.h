// SPDX-License-Identifier: Apache-2.0
// One --arg: what it gives to the kernel; and one --expect: what a buffer must hold.
#pragma once

#include <masu/dtype.h>
#include <masu/io.h>
#include <masu/program.h>

#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace masu::cli {

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
// After reading: every entry of a text counts here, so one that is no number is an error, in one that was told by its
// content too.
void refuse_bad_entries(const io::Source& source);

}  // namespace masu::cli
