// SPDX-License-Identifier: Apache-2.0
// The command masu: finds the subcommand, runs it, and turns what went wrong into one line and an exit status.
#include "cli/shell/shell_files.h"
#include "command.h"
#include "signals.h"
#include "terminal.h"

#include <fmt/format.h>
#include <masu/io.h>
#include <masu/version.h>

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace masu::cli {
namespace {

// A subcommand is a file with one such function.
constexpr Command (*commands[])(CommandLine& line) = {
    add_histogram, add_reduce,    add_dot,     add_sort, add_topk,    add_unique,   add_quantile,
    add_scan,      add_transpose, add_convert, add_run,  add_devices, add_selftest, add_bench};

int report(Exit status, const std::string& message, std::string_view kept = "") {
  note(fmt::format("masu{}{}", message.starts_with(' ') ? "" : ": ", message), kept);
  return static_cast<int>(status);
}

// "masu histogram: message", whether or not the message starts with the command's name already.
int report_usage(const std::string& command, const std::string& message) {
  const std::string prefix = command + ": ";
  if (command.empty()) return report(Exit::usage, message);
  return report(Exit::usage, " " + prefix + (message.starts_with(prefix) ? message.substr(prefix.size()) : message));
}

// A reader that went away, as OutputFile reports it: `masu … | head` ends silently.
bool reader_gone(const Error& error) {
  return error.code() == ErrorCode::io && std::string_view(error.what()).ends_with("(EPIPE)");
}

// A file that is opened while one of these is closed would get its number, and be written to as if it were it.
void occupy_standard_streams() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    // For reading only, but standard input for writing: using it is an error as before.
    if (fcntl(descriptor, F_GETFD) < 0) ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

int print(const std::string& text) {
  io::OutputFile output("-");
  output.write(text);
  output.commit();
  return static_cast<int>(Exit::done);
}

int run_command(const Command& command) {
  try {
    return static_cast<int>(command.run());
  } catch (const Differs& error) {
    return report(Exit::differs, error.what());
  } catch (const Error& error) {
    if (reader_gone(error)) return static_cast<int>(Exit::done);
    if (error.code() == ErrorCode::invalid_argument) return report_usage(command.app.name(), error.what());
    // A build error carries the compiler's log on further lines.
    return report(Exit::failed, error.what(), error.code() == ErrorCode::build_failed ? "\n\t" : "");
  }
}

int run(int argc, char** argv) {
  CommandLine line("masu", "Count, order and sum data at memory speed, with the same bits on every processor.",
                   "masu " + std::string(masu::version()),
                   "masu COMMAND --help tells more. Exit status: 0 done, 1 failed, 2 wrong usage, 3 checked and found\n"
                   "otherwise, 130 interrupted.");
  std::vector<Command> list;
  for (const auto add : commands) list.push_back(add(line));
  // For the build and for packagers: the manual page, or the completions of a shell.
  if (argc == 3 && std::string_view(argv[1]) == "--print") {
    if (const auto file = shell_file(line, argv[2])) return print(*file);
    return report_usage("", "--print takes man, bash, zsh or fish, got '" + std::string(argv[2]) + "'");
  }
  const CommandLine::Parsed parsed = line.parse(argc, argv);
  if (parsed.what == CommandLine::Parsed::What::print) return print(parsed.text);
  if (parsed.what == CommandLine::Parsed::What::wrong_use) return report_usage(parsed.command, parsed.text);
  return run_command(*std::find_if(list.begin(), list.end(),
                                   [&](const Command& command) { return command.app.name() == parsed.command; }));
}

}  // namespace
}  // namespace masu::cli

int main(int argc, char** argv) {
  using namespace masu::cli;
  occupy_standard_streams();
  handle_signals();
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    return report(Exit::failed, "out of memory");
  } catch (const masu::Error& error) {
    return reader_gone(error) ? static_cast<int>(Exit::done) : report(Exit::failed, error.what());
  } catch (const std::exception& error) {
    return report(Exit::failed, error.what());
  }
}
