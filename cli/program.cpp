// SPDX-License-Identifier: Apache-2.0
#include "program.h"

#include "cli/shell/shell_files.h"
#include "ranks.h"
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
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::cli {
namespace {

Ending usage(const std::string& message) {
  return {Exit::usage, message, ""};
}

// "histogram: message", whether or not the message starts with the command's name already.
Ending usage(const std::string& command, const std::string& message) {
  const std::string prefix = command + ": ";
  if (command.empty()) return usage(message);
  return usage(" " + prefix + (message.starts_with(prefix) ? message.substr(prefix.size()) : message));
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

Ending print(const std::string& text) {
  if (!ranks().first()) return {};
  io::OutputFile output("-");
  output.write(text);
  output.commit();
  return {};
}

Ending run_command(const Command& command) {
  try {
    return {command.run(), "", ""};
  } catch (const Differs& error) {
    return {Exit::differs, error.what(), ""};
  } catch (const Error& error) {
    if (reader_gone(error)) return {};
    if (error.code() == ErrorCode::invalid_argument) return usage(command.app.name(), error.what());
    // A build error carries the compiler's log on further lines.
    return {Exit::failed, error.what(), error.code() == ErrorCode::build_failed ? "\n\t" : ""};
  }
}

Ending run(const Program& program, int argc, char** argv) {
  CommandLine line(program.name, program.description, program.name + " " + std::string(masu::version()),
                   program.name + " COMMAND --help tells more. " + program.more);
  std::vector<Command> list;
  for (const auto add : program.commands) list.push_back(add(line));
  // For the build and for packagers: the manual page, or the completions of a shell.
  if (program.name == "masu" && argc == 3 && std::string_view(argv[1]) == "--print") {
    if (const auto file = shell_file(line, argv[2])) return print(*file);
    return usage("--print takes man, bash, zsh or fish, got '" + std::string(argv[2]) + "'");
  }
  const CommandLine::Parsed parsed = line.parse(argc, argv);
  if (parsed.what == CommandLine::Parsed::What::print) return print(parsed.text);
  if (parsed.what == CommandLine::Parsed::What::wrong_use) return usage(parsed.command, parsed.text);
  return run_command(*std::find_if(list.begin(), list.end(),
                                   [&](const Command& command) { return command.app.name() == parsed.command; }));
}

Ending run_guarded(const Program& program, int argc, char** argv) {
  try {
    return run(program, argc, argv);
  } catch (const std::bad_alloc&) {
    return {Exit::failed, "out of memory", ""};
  } catch (const masu::Error& error) {
    return reader_gone(error) ? Ending() : Ending{Exit::failed, error.what(), ""};
  } catch (const std::exception& error) {
    return {Exit::failed, error.what(), ""};
  }
}

}  // namespace

int run_program(const Program& program, int argc, char** argv) {
  occupy_standard_streams();
  handle_signals(program.interrupted);
  const Ending ending = ranks().end(run_guarded(program, argc, argv));
  handle_signals();  // a launcher that ends the ranks now interrupts nothing
  const std::string& text = ending.message;
  if (!text.empty()) {
    try {
      note(fmt::format("{}{}{}", program.name, text.starts_with(' ') ? "" : ": ", text), ending.kept);
    } catch (const std::bad_alloc&) {  // the status says it
    }
  }
  return static_cast<int>(ending.status);
}

}  // namespace masu::cli
