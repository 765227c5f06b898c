// SPDX-License-Identifier: Apache-2.0
// The run under Oclgrind: the header that its compiler includes, the build of its kernel, the facts for its parent.
#include "cli/check/check.h"
#include "cli/memory_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <masu/error.h>
#include <masu/program.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

namespace masu::cli {
namespace {

// When Oclgrind 21.10 records what a strided copy has written, it applies the stride to both sides: elements that were
// copied count as never set. It records copies of one element each correctly, and their result is the same.
constexpr const char* strided_copy_text = R"(
static inline size_t __attribute__((overloadable)) masu_step(__local const volatile void *side, size_t stride) {
  return 1;
}
static inline size_t __attribute__((overloadable)) masu_step(__global const volatile void *side, size_t stride) {
  return stride;
}
#define async_work_group_strided_copy(target, source, count, stride, event) ({ \
    __typeof__((target) + 0) masu_target = (target); \
    __typeof__((source) + 0) masu_source = (source); \
    const size_t masu_count = (count); \
    const size_t masu_stride = (stride); \
    event_t masu_event = async_work_group_copy(masu_target, masu_source, 0, (event)); \
    for (size_t masu_i = 0; masu_i < masu_count; ++masu_i) \
      masu_event = async_work_group_copy(masu_target + masu_i * masu_step(masu_target, masu_stride), \
                                         masu_source + masu_i * masu_step(masu_source, masu_stride), 1, masu_event); \
    masu_event; })
)";

// Writes to the build log which conversions to integers are implicit, and the arguments of each printf after its macros
// are expanded.
constexpr const char* notes_text = R"(
#pragma clang diagnostic warning "-Wfloat-conversion"
#define MASU_TEXT_(...) #__VA_ARGS__
#define MASU_TEXT(...) MASU_TEXT_(__VA_ARGS__)
#define MASU_PRAGMA(...) _Pragma(#__VA_ARGS__)
#define MASU_MESSAGE(text) MASU_PRAGMA(message(text))
#define printf(...) MASU_MESSAGE(MASU_TEXT(__VA_ARGS__)) printf(__VA_ARGS__)
)";

}  // namespace

// The compiler calls the first function where a cast is out of range. It does not know calls of convert_T as
// conversions, so these cast each element too.
std::string check_header() {
  // Without a precompiled header, Oclgrind reads its own header after this one.
  std::string text = "#ifndef _OPENCL_H_\n#include \"/remapped/opencl-c.h\"\n#endif\n";
  text += fmt::format(
      "void __ubsan_handle_float_cast_overflow_minimal(void) {{\n"
      "  (void)*(volatile __global uchar *)0x{:x}UL;\n}}\n",
      conversion_address);
  text += strided_copy_text;
  text += notes_text;
  for (const std::string_view type : {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong"}) {
    for (const unsigned width : {1U, 2U, 3U, 4U, 8U, 16U}) {
      const std::string name = fmt::format("{}{}", type, width == 1 ? "" : std::to_string(width));
      std::string casts;
      for (unsigned i = 0; i < width; ++i) {
        casts += width == 1 ? fmt::format("(void)({})masu_value; ", type)
                            : fmt::format("(void)({})masu_value.s{:x}; ", type, i);
      }
      for (const std::string_view rounding : {"", "_rte", "_rtz", "_rtp", "_rtn"}) {
        text += fmt::format(
            "#define convert_{0}{1}(value) ({{ __typeof__((void)0, (value)) masu_value = (value); {2} "
            "convert_{0}{1}(masu_value); }})\n",
            name, rounding, casts);
      }
    }
  }
  return text;
}

std::string checked_options(const std::string& options) {
  constexpr std::string_view option = "-cl-std=";
  constexpr std::array<std::string_view, 4> older{"CL", "CL1.0", "CL1.1", "CL1.2"};
  const auto at = options.rfind(option);
  if (at == std::string::npos) return options;
  const std::size_t begin = at + option.size();
  const std::size_t end = std::min(options.find_first_of(" \t", begin), options.size());
  std::string version = options.substr(begin, end - begin);
  std::ranges::transform(version, version.begin(), [](unsigned char c) { return std::toupper(c); });
  // 1.0 has no static functions, and Oclgrind's precompiled header exists for one spelling of 2.0 only.
  if (std::ranges::find(older, version) != older.end()) {
    return std::string(options).replace(begin, end - begin, "CL1.2");
  }
  if (version == "CL2.0") return std::string(options).replace(begin, end - begin, version);
  throw Error(
      ErrorCode::unsupported,
      fmt::format("run: --check reads OpenCL C 1.0, 1.1, 1.2 and 2.0, which is what Oclgrind 21.10 compiles, got "
                  "-cl-std={}: check the kernel with --options -cl-std=CL2.0 or CL1.2, without what is newer",
                  options.substr(begin, end - begin)));
}

Kernel build_checked(const std::function<Kernel()>& build) {
  constexpr std::string_view words = "Undefined external function: ";
  const MemoryFile errors("run: --check");
  Redirected to_errors(stderr, errors.descriptor(), "run: --check: standard error");
  const auto missing = [&](std::string_view text) {
    const auto at = text.find(words);
    if (at == std::string_view::npos) return std::string();
    text.remove_prefix(at + words.size());
    return std::string(text.substr(0, text.find('\n')));
  };
  try {
    Kernel kernel = build();
    to_errors.end();
    std::istringstream text(errors.read());
    // "3 warnings generated." counts notes of ours, and a function that is missing is another kernel's.
    for (std::string line; std::getline(text, line);) {
      if (line.starts_with("OCLGRIND FATAL ERROR")) break;
      if (!line.empty() && !line.ends_with(" generated.")) std::fprintf(stderr, "%s\n", line.c_str());
    }
    return kernel;
  } catch (const Error& error) {
    to_errors.end();
    const std::string text = errors.read();
    if (error.code() != ErrorCode::build_failed) throw;
    if (const std::string name = missing(text); !name.empty()) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("run: --check: Oclgrind 21.10 does not have the function {}, which the kernel calls: the "
                              "kernel may be right, but it cannot be checked",
                              name));
    }
    throw Error(error.code(), without_notes(error.what()));
  }
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(CheckFacts::Argument, name, buffer, address, bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(CheckFacts, kernel, source, build_log, work_items, arguments)

namespace {

// In Oclgrind the upper bits of a pointer are the number of a buffer, the lower ones an offset in it.
constexpr const char* address_text = R"(
kernel void masu_address(global ulong* address, global const uchar* buffer) {
  *address = (ulong)buffer;
}
)";

class Addresses {
 public:
  explicit Addresses(const Device& device)
      : stream_(device),
        kernel_(Program::from_source(device, address_text).kernel("masu_address")),
        address_(device.upload(std::array<std::uint64_t, 1>{})) {}

  std::uint64_t of(const BufferBase& buffer) {
    const std::array<KernelArgument, 2> arguments{address_, buffer};
    kernel_.launch(stream_, NDRange(1, 1), arguments).wait();
    return address_.read().front();
  }

 private:
  Stream stream_;
  Kernel kernel_;
  Buffer<std::uint64_t> address_;
};

}  // namespace

void tell_check(const std::string& file, const Device& device, CheckFacts facts,
                const std::vector<const BufferBase*>& buffers) {
  if (device.info().name.find("Oclgrind") == std::string::npos) {
    throw Error(ErrorCode::unsupported,
                "run: --check: Oclgrind could not be loaded, the device is " + device.info().name);
  }
  Addresses addresses(device);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i] == nullptr) continue;
    CheckFacts::Argument& argument = facts.arguments[i];
    argument.bytes = buffers[i]->size_bytes();
    if (argument.bytes != 0) argument.address = addresses.of(*buffers[i]);
  }
  std::ofstream stream(file);
  stream << nlohmann::json(facts).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::flush;
  if (!stream) throw Error(ErrorCode::io, "run: cannot write '" + file + "', which --under-oclgrind names");
}

std::optional<CheckFacts> parse_facts(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  return json.is_object() ? std::optional(json.get<CheckFacts>()) : std::nullopt;
}

}  // namespace masu::cli
