// SPDX-License-Identifier: Apache-2.0
// How a subcommand ends.
#pragma once

#include <masu/error.h>

#include <stdexcept>
#include <string>

namespace masu::cli {

// The exit status of the command.
enum class Exit : int {
  done = 0,
  failed = 1,         // a file, its data, an absent device, memory
  usage = 2,          // options, values, unknown names
  differs = 3,        // checked and found otherwise
  interrupted = 130,  // by SIGINT
};

// How it ended, with what is said of it in one line; nothing where all is well. Of line ends and the like, those in
// `kept` are printed as they are.
struct Ending {
  Exit status = Exit::done;
  std::string message;
  std::string kept;
};

// Wrong use of the command: exit status 2.
[[noreturn]] inline void usage_error(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

// Runs `work`, whose options were checked before: what it calls an invalid argument is the fault of the data `name`.
template <class Work>
auto with_data(const std::string& name, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    throw Error(ErrorCode::io, name + ": " + error.what());
  }
}

// --verify found another result: exit status 3.
struct Differs : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace masu::cli
