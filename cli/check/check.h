// SPDX-License-Identifier: Apache-2.0
// `masu run --check`: the same command line once more as a child under Oclgrind, which simulates an OpenCL device and
// watches every access; what it finds is reported as faults in the kernel.
//
// The child is this program with the same arguments and `--under-oclgrind FILE` after `run`. In it a run
//   - is a run without --check, on the device "opencl", whatever --device says: Oclgrind is the only OpenCL there;
//   - has no --timeout: the parent ends it;
//   - launches from one thread, brings data by writes (fills and host memory in place count as uninitialised);
//   - calls tell_check(FILE, …) once the program is built and the buffers are filled, before the first launch.
#pragma once

#include "program.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/program.h>

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace masu::cli {

struct CheckRequest {
  std::string file;                       // FILE.cl as it was given; "-" is standard input
  bool cuda = false;                      // a kernel in CUDA C++, which cannot be checked: an error
  double timeout = 60;                    // seconds; 0: none
  std::uint64_t local_bytes = 0;          // of the device that was asked for; 0: 48 KiB, as NVIDIA's OpenCL has it
  std::uint64_t max_work_group_size = 0;  // of the device that was asked for; 0: 1024
  bool json = false;
  bool quiet = false;
};

// Runs the child and reports: `differs` when there is a fault, else how the child ended. The child's results go where
// they always go; faults go to standard error, with --json as "check" into the child's JSON object.
// Reads the command line from /proc/self. Throws where Oclgrind is absent.
Exit check_kernel(const CheckRequest& request);

// Facts that only the child knows; it passes them to its parent as a small JSON file.
struct CheckFacts {
  struct Argument {
    std::string name;  // the kernel's name for it, where the program has it
    bool buffer = false;
    std::uint64_t address = 0;  // where Oclgrind has put the buffer
    std::uint64_t bytes = 0;
  };
  std::string kernel;
  std::string source;     // the kernel's text as it was read
  std::string build_log;  // Program::log()
  std::uint64_t work_items = 0;
  std::vector<Argument> arguments;  // all of the kernel's, in its order
};

// In the child: the options for a compiler, with a language version that Oclgrind reads. Throws `unsupported` for one
// that it does not.
std::string checked_options(const std::string& options);

// In the child: returns the kernel that `build` makes. Throws `unsupported` for a function that Oclgrind does not have.
// Other messages of the build go to standard error.
Kernel build_checked(const std::function<Kernel()>& build);

// In the child: writes the facts to FILE for the parent, with the addresses of the arguments' buffers (null: no
// buffer).
void tell_check(const std::string& file, const Device& device, CheckFacts facts,
                const std::vector<const BufferBase*>& buffers);

// What --check finds: Oclgrind's log as data, what the child tells, the faults of both, and what is said of them.

// Where in a source; line 0 where Oclgrind does not know it.
struct Place {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
  std::string text;  // the line, without its indentation; may be empty, and wrong where the file is not the main one
};
inline bool same_place(const Place& a, const Place& b) {
  return std::tie(a.file, a.line, a.column) == std::tie(b.file, b.line, b.column);
}

// A work-item or work-group that did something, and where. A copy by the whole work-group has no work-item.
struct Access {
  using Id = std::array<std::uint64_t, 3>;
  bool by_item = false;
  Id global{};
  Id local{};
  Id group{};
  bool has_group = false;
  std::string instruction;  // LLVM's, "" where there is none
  Place place;
};

// One message of the log.
struct Finding {
  std::string headline;  // "Invalid read of size 4 at global memory address 0x1000000000010"
  std::string kernel;
  std::string detail;            // "Only 5 out of 32 work-items executed barrier", where there is such a line
  std::string space;             // "global", "local", "private", "constant", where the headline names one
  std::uint64_t address = 0;     // where there is a space
  std::vector<Access> accesses;  // two in a data race and in two different barriers, else one
};

struct CheckLog {
  std::vector<Finding> findings;
  bool cut = false;  // Oclgrind stopped writing after its limit of messages
};

// Never fails: what it does not understand becomes a finding with that headline, or is left out.
CheckLog parse_check_log(std::string_view log);

// Faults of a kernel, each once, from Oclgrind's findings and the compiler's warnings.
enum class FaultKind {
  invalid_pointer,  // never set, or null
  out_of_bounds,
  data_race,
  divergence,  // a barrier or a copy that not all work-items of a group reach
  uninitialized,
  unaligned,
  async_copy,  // events of copies that nobody waits for, or that are none
  conversion,  // a floating-point number to an integer type that does not hold it
  format,      // printf
  compiler,    // another warning that means a fault
  stopped,     // Oclgrind could not go on
  other,
};

std::string_view to_string(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::other;
  std::string what;              // the sentence
  std::uint64_t times = 0;       // Oclgrind's messages; 0 for a warning
  std::string space;             // of memory; may be empty
  std::vector<Access> accesses;  // of the first message; of a race both sides
  int argument = -1;             // whose memory it is, from 0; -1: not known
  std::string argument_name;
  std::int64_t offset = 0;  // in bytes from the argument's beginning
  bool follows = false;     // may well be a consequence of another fault
};

// The main source as the report calls it, which Oclgrind's messages call otherwise: they leave out the beginning of an
// absolute path that the working directory has too.
struct SourceName {
  std::string file;
  [[nodiscard]] bool is(std::string_view reported) const;
};

// In the order of their lines, those that may follow from others last.
std::vector<Fault> collect_faults(const CheckLog& log, const CheckFacts& facts, const SourceName& name);

// The next line, taken off the front of the text; a text without blanks around it.
std::string_view take_line(std::string_view& text);
std::string_view trimmed(std::string_view text);

// A text that is read from its front. Each of these says whether it found what it looks for, and then has passed it.
struct Scanner {
  std::string_view rest;
  bool word(std::string_view next);
  bool past(std::string_view words);  // wherever they stand
  template <class T>
  bool number(T& value, int base = 10) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value, base);
    if (error == std::errc()) rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return error == std::errc();
  }
};

inline constexpr std::string_view implicit_conversion =
    ": warning: implicit conversion turns floating-point number into integer";

// "input.cl:3:21" in front of a compiler's message; none where it has another form.
std::optional<Place> place_before(std::string_view text, const SourceName& name);

// The compiler's warnings that mean a fault of the kernel, and what is wrong with its calls of printf.
std::vector<Fault> faults_in_build_log(std::string_view log, const SourceName& name);

// The log of a kernel that does not compile, without the notes that check_header() causes: the arguments of each printf
// and the implicit conversions to integers.
std::string without_notes(std::string_view log);

// Returns a message for each part of a printf with these arguments, as written in the source, that OpenCL C lacks.
std::vector<std::string> printf_complaints(std::string_view arguments);

// The header that the child includes reads from this address, where no buffer is, when a conversion is out of range.
inline constexpr std::uint64_t conversion_address = 0x7abc'0000'0000'0000;

// The conversions from floating-point numbers to integers: those that the compiler warns of, and the casts and calls of
// convert_T in the main source. Oclgrind cannot say which of them was out of range.
std::vector<Place> conversions(const CheckFacts& facts, const SourceName& name);

// What --check says.

// The lines of a source by their numbers, and of the files that it includes.
class SourceLines {
 public:
  // `text` is the main source, which messages call `file`.
  SourceLines(std::string file, const std::string& text);
  // The line, or what Oclgrind gave with it, or "".
  [[nodiscard]] std::string line(const Place& place) const;
  // The path of a file. Oclgrind's is relative to the working directory, or to a directory above it.
  [[nodiscard]] std::string path(const std::string& file) const;

 private:
  std::string file_;
  std::vector<std::string> lines_;  // by number; #line counts
  bool known_;
};

// For people: each fault with its place, its source text and who did it.
std::string check_text(const std::vector<Fault>& faults, const SourceLines& source);

nlohmann::ordered_json check_json(const std::vector<Fault>& faults, const SourceLines& source);

}  // namespace masu::cli
