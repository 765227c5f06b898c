// SPDX-License-Identifier: Apache-2.0
#include "program.h"

#include "options.h"
#include "ranks.h"
#include "text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <masu/device.h>
#include <masu/floating_point.h>
#include <masu/io.h>
#include <masu/version.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <exception>
#include <fstream>
#include <iterator>
#include <new>
#include <optional>

namespace masu::cli {
namespace {

const char* said_at_the_end = nullptr;
std::size_t said_letters = 0;

// Only async-signal-safe calls below.
extern "C" void end_command(int signal) {
  io::remove_unfinished();
  const bool asked_to = signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
  if (asked_to && said_letters != 0 && ::write(STDERR_FILENO, said_at_the_end, said_letters) < 0) said_letters = 0;
  if (signal == SIGINT) _exit(static_cast<int>(Exit::interrupted));
  if (signal == SIGPIPE) _exit(static_cast<int>(Exit::done));
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void handle(int signal) {
  struct sigaction old {};
  sigaction(signal, nullptr, &old);
  if (signal != SIGPIPE && old.sa_handler == SIG_IGN) return;  // nohup, or a shell's background job
  struct sigaction action {};
  action.sa_handler = end_command;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

// From now on a signal that ends the command removes its unfinished files first: SIGINT exits 130, a reader that went
// away ends it silently, SIGTERM and SIGHUP end it as they always do.
// `said` is written to standard error by SIGINT, SIGTERM and SIGHUP; it must be there until the end.
void handle_signals(const char* said = nullptr) {
  said_at_the_end = said;
  said_letters = said == nullptr ? 0 : std::strlen(said);
  for (const int signal : {SIGINT, SIGHUP, SIGTERM, SIGQUIT, SIGALRM, SIGXCPU, SIGPIPE}) handle(signal);
  ::signal(SIGXFSZ, SIG_IGN);  // a file that grew too large is an error of the write
}

// "histogram: message", whether or not the message starts with the command's name already.
Ending usage(const std::string& command, const std::string& message) {
  const std::string prefix = command + ": ";
  if (command.empty()) return {Exit::usage, message, ""};
  return {Exit::usage, " " + prefix + (message.starts_with(prefix) ? message.substr(prefix.size()) : message), ""};
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

Ending print(const std::string& text, Exit status = Exit::done) {
  if (ranks().first()) print_text(text);
  return {status, "", ""};
}

Ending run_command(const CommandLine& line, const CommandLine::Parsed& parsed) {
  try {
    static_cast<void>(Device::open("cpu"));  // a build for another processor ends here, with one line
    ranks().agree(parsed.text);              // the command with its options
    return {line.run(parsed), "", ""};
  } catch (const Differs& error) {
    return {Exit::differs, error.what(), ""};
  } catch (const Error& error) {
    if (reader_gone(error)) return {};
    if (error.code() == ErrorCode::invalid_argument) return usage(parsed.command, error.what());
    // A build error carries the compiler's log on further lines.
    return {Exit::failed, error.what(), error.code() == ErrorCode::build_failed ? "\n\t" : ""};
  }
}

// The manual page of the program or of a command, or the completions of a shell; nothing for any other name.
std::optional<std::string> shell_file(const CommandLine& line, std::string_view what, std::string_view command) {
  if (what == "man" && command.empty()) return manual(line);
  const std::vector<CommandText> commands = line.texts();
  if (what == "man") {
    const auto found =
        std::ranges::find_if(commands, [&](const CommandText& one) { return one.names.front() == command; });
    if (found == commands.end()) return std::nullopt;
    return manual(line, *found);
  }
  if (!command.empty()) return std::nullopt;
  if (what == "bash") return bash_completion(line);
  if (what == "zsh") return zsh_completion(line);
  if (what == "fish") return fish_completion(line);
  if (what != "commands") return std::nullopt;
  std::string names;
  for (const CommandText& one : commands) names += one.names.front() + "\n";
  return names;
}

Ending run(const CommandProgram& program, int argc, char** argv) {
  CommandLine line(program.name, program.description, program.name + " " + std::string(masu::version()),
                   program.name + " help COMMAND says more, man masu-COMMAND all. " + program.more);
  for (const auto add : program.commands) add(line);
  // For completions, the build and packagers.
  if (argc == 4 && std::string_view(argv[1]) == "--print" && std::string_view(argv[2]) == "columns") {
    std::string names;
    for (const std::string& name : io::columns(argv[3])) names += visible(name) + "\n";
    return print(names);
  }
  if (program.name == "masu" && (argc == 3 || argc == 4) && std::string_view(argv[1]) == "--print") {
    if (const auto file = shell_file(line, argv[2], argc == 4 ? argv[3] : "")) return print(*file);
    return usage("", "--print takes commands, man [COMMAND], bash, zsh, fish or columns FILE, got '" +
                         std::string(argv[argc - 1]) + "'");
  }
  const CommandLine::Parsed parsed = line.parse(argc, argv);
  if (parsed.what == CommandLine::Parsed::What::print) return print(parsed.text, parsed.status);
  if (parsed.what == CommandLine::Parsed::What::wrong_use) return usage(parsed.command, parsed.text);
  return run_command(line, parsed);
}

Ending run_guarded(const CommandProgram& program, int argc, char** argv) {
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

int run_program(const CommandProgram& program, int argc, char** argv) {
  const FloatingPointScope usual;
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

std::string own_program() {
  std::string path(4096, '\0');
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  if (length <= 0 || length == static_cast<ssize_t>(path.size())) {
    throw Error(ErrorCode::io, "masu finds its own program by /proc/self/exe, which cannot be read");
  }
  path.resize(static_cast<std::size_t>(length));
  return path;
}

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string line{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<std::string> arguments = split(line, '\0');
  arguments.pop_back();  // each of them ends with a NUL
  if (arguments.empty()) {
    throw Error(ErrorCode::io, "masu reads its own command line from /proc/self/cmdline, which is not there");
  }
  return arguments;
}

}  // namespace masu::cli
