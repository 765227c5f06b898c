// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/api.h"

#include "runtime/fork.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <masu/floating_point.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace masu::opencl {
namespace {

// A process may have an OpenCL already, linked or preloaded (as Oclgrind's): two of them would not know each other's
// objects, so that one is used.
void* find_library(std::string& why) {
  const FloatingPointScope usual;
  if (::dlsym(RTLD_DEFAULT, "clGetPlatformIDs") != nullptr) return RTLD_DEFAULT;
  for (const char* name : {"libOpenCL.so.1", "libOpenCL.so"}) {
    if (void* handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
      why.clear();
      return handle;
    }
    const char* error = ::dlerror();
    if (why.empty()) why = error != nullptr ? error : std::string(name) + ": cannot be opened";
  }
  return nullptr;
}

template <class F>
void find_function(void* handle, const char* name, F& function, std::string& why) {
  function = reinterpret_cast<F>(::dlsym(handle, name));
  if (function == nullptr && why.empty()) {
    why = std::string("the OpenCL library lacks ") + name + ", OpenCL 1.2 is needed";
  }
}

Library load() {
  Library library;
  void* handle = find_library(library.why);
  if (!library.why.empty()) return library;
#define MASU_OPENCL_FIND(name) find_function(handle, #name, library.api.name, library.why);
  MASU_OPENCL_FUNCTIONS(MASU_OPENCL_FIND)
#undef MASU_OPENCL_FIND
  return library;
}

}  // namespace

namespace {

Library* opened = nullptr;

void refuse_in_child() {
#define MASU_OPENCL_REFUSED(name) opened->api.name = runtime::Refused<decltype(opened->api.name)>::call;
  MASU_OPENCL_FUNCTIONS(MASU_OPENCL_REFUSED)
#undef MASU_OPENCL_REFUSED
  opened->forked = true;
}

}  // namespace

const Library& library() {
  // Never closed, as drivers do not survive that, and never destroyed, as devices may be static.
  static const Library& loaded = []() -> Library& {
    opened = new Library(load());
    if (opened->why.empty()) runtime::in_forked_children(refuse_in_child);
    return *opened;
  }();
  return loaded;
}

namespace {

struct Entry {
  cl_int code;
  std::string_view name;
  ErrorCode meaning = ErrorCode::invalid_argument;
};

#define MASU_CL(name) name, #name
constexpr Entry entries[] = {
    {MASU_CL(CL_DEVICE_NOT_FOUND), ErrorCode::unsupported},
    {MASU_CL(CL_DEVICE_NOT_AVAILABLE), ErrorCode::device_lost},
    {MASU_CL(CL_COMPILER_NOT_AVAILABLE), ErrorCode::unsupported},
    {MASU_CL(CL_MEM_OBJECT_ALLOCATION_FAILURE), ErrorCode::out_of_memory},
    {MASU_CL(CL_OUT_OF_RESOURCES), ErrorCode::device_lost},
    {MASU_CL(CL_OUT_OF_HOST_MEMORY), ErrorCode::out_of_memory},
    {MASU_CL(CL_PROFILING_INFO_NOT_AVAILABLE), ErrorCode::unsupported},
    {MASU_CL(CL_MEM_COPY_OVERLAP)},
    {MASU_CL(CL_IMAGE_FORMAT_MISMATCH)},
    {MASU_CL(CL_IMAGE_FORMAT_NOT_SUPPORTED), ErrorCode::unsupported},
    {MASU_CL(CL_BUILD_PROGRAM_FAILURE), ErrorCode::build_failed},
    {MASU_CL(CL_MAP_FAILURE), ErrorCode::out_of_memory},
    {MASU_CL(CL_MISALIGNED_SUB_BUFFER_OFFSET)},
    {MASU_CL(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST), ErrorCode::device_lost},
    {MASU_CL(CL_COMPILE_PROGRAM_FAILURE), ErrorCode::build_failed},
    {MASU_CL(CL_LINKER_NOT_AVAILABLE), ErrorCode::unsupported},
    {MASU_CL(CL_LINK_PROGRAM_FAILURE), ErrorCode::build_failed},
    {MASU_CL(CL_DEVICE_PARTITION_FAILED), ErrorCode::unsupported},
    {MASU_CL(CL_KERNEL_ARG_INFO_NOT_AVAILABLE), ErrorCode::unsupported},
    {MASU_CL(CL_INVALID_VALUE)},
    {MASU_CL(CL_INVALID_DEVICE_TYPE)},
    {MASU_CL(CL_INVALID_PLATFORM)},
    {MASU_CL(CL_INVALID_DEVICE)},
    {MASU_CL(CL_INVALID_CONTEXT)},
    {MASU_CL(CL_INVALID_QUEUE_PROPERTIES)},
    // A queue that this library made turns invalid when a kernel has broken its device.
    {MASU_CL(CL_INVALID_COMMAND_QUEUE), ErrorCode::device_lost},
    {MASU_CL(CL_INVALID_HOST_PTR)},
    {MASU_CL(CL_INVALID_MEM_OBJECT)},
    {MASU_CL(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR)},
    {MASU_CL(CL_INVALID_IMAGE_SIZE)},
    {MASU_CL(CL_INVALID_SAMPLER)},
    {MASU_CL(CL_INVALID_BINARY)},
    {MASU_CL(CL_INVALID_BUILD_OPTIONS), ErrorCode::build_failed},
    {MASU_CL(CL_INVALID_PROGRAM)},
    {MASU_CL(CL_INVALID_PROGRAM_EXECUTABLE)},
    {MASU_CL(CL_INVALID_KERNEL_NAME)},
    {MASU_CL(CL_INVALID_KERNEL_DEFINITION)},
    {MASU_CL(CL_INVALID_KERNEL)},
    {MASU_CL(CL_INVALID_ARG_INDEX)},
    {MASU_CL(CL_INVALID_ARG_VALUE)},
    {MASU_CL(CL_INVALID_ARG_SIZE)},
    {MASU_CL(CL_INVALID_KERNEL_ARGS)},
    {MASU_CL(CL_INVALID_WORK_DIMENSION)},
    {MASU_CL(CL_INVALID_WORK_GROUP_SIZE)},
    {MASU_CL(CL_INVALID_WORK_ITEM_SIZE)},
    {MASU_CL(CL_INVALID_GLOBAL_OFFSET)},
    {MASU_CL(CL_INVALID_EVENT_WAIT_LIST)},
    {MASU_CL(CL_INVALID_EVENT)},
    {MASU_CL(CL_INVALID_OPERATION)},
    {MASU_CL(CL_INVALID_GL_OBJECT)},
    {MASU_CL(CL_INVALID_BUFFER_SIZE), ErrorCode::out_of_memory},
    {MASU_CL(CL_INVALID_MIP_LEVEL)},
    {MASU_CL(CL_INVALID_GLOBAL_WORK_SIZE)},
    {MASU_CL(CL_INVALID_PROPERTY)},
    {MASU_CL(CL_INVALID_IMAGE_DESCRIPTOR)},
    {MASU_CL(CL_INVALID_COMPILER_OPTIONS), ErrorCode::build_failed},
    {MASU_CL(CL_INVALID_LINKER_OPTIONS), ErrorCode::build_failed},
    {MASU_CL(CL_INVALID_DEVICE_PARTITION_COUNT)},
    // Codes of later versions, of the loader and of extensions: installed headers may be older or missing.
    {-69, "CL_INVALID_PIPE_SIZE"},
    {-70, "CL_INVALID_DEVICE_QUEUE"},
    {-71, "CL_INVALID_SPEC_ID"},
    {-72, "CL_MAX_SIZE_RESTRICTION_EXCEEDED"},
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR", ErrorCode::unsupported},
    {-1108, "CL_COMMAND_TERMINATED_ITSELF_WITH_FAILURE_ARM", ErrorCode::device_lost},
    {-1121, "CL_CONTEXT_TERMINATED_KHR", ErrorCode::device_lost},
    {-1126, "CL_CANCELLED_IMG", ErrorCode::device_lost},
    {-1127, "CL_PAGE_FAULT_IMG", ErrorCode::device_lost},
    {-1128, "CL_SAFETY_FAULT_IMG", ErrorCode::device_lost},
    {-1129, "CL_GENERAL_FAULT_IMG", ErrorCode::device_lost},
    {-1130, "CL_ECC_UNRECOVERED_IMG", ErrorCode::device_lost},
    // NVIDIA's code for an illegal access by a kernel.
    {-9999, "NVIDIA error -9999 (illegal memory access)", ErrorCode::device_lost},
};
#undef MASU_CL

const Entry* find(cl_int code) noexcept {
  for (const Entry& entry : entries) {
    if (entry.code == code) return &entry;
  }
  return nullptr;
}

}  // namespace

std::string error_name(cl_int code) {
  if (code == runtime::forked_code) return std::string(runtime::forked_why);
  const Entry* entry = find(code);
  return entry != nullptr ? std::string(entry->name) : fmt::format("OpenCL error {}", code);
}

ErrorCode error_code(cl_int code) noexcept {
  const Entry* entry = find(code);
  return entry != nullptr ? entry->meaning : ErrorCode::device_lost;
}

void fail(cl_int code, std::string_view function, std::string_view device, std::string_view what) {
  const std::string_view how = code == runtime::forked_code ? "cannot run:" : "failed with";
  throw Error(error_code(code), fmt::format("{}: {}: {} {} {}", function, device, what, how, error_name(code)));
}

namespace {

struct Place {
  std::string_view file;  // empty before the first directive that names one
  std::uint64_t line;
};

// Reads `#line NUMBER "FILE"`; false for any other line.
bool read_directive(std::string_view line, Place& next) {
  constexpr std::string_view word = "#line ";
  if (!line.starts_with(word)) return false;
  line.remove_prefix(word.size());
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), next.line);
  if (error != std::errc{}) return false;
  const std::size_t open = line.find('"');
  const std::size_t close = line.rfind('"');
  if (open < close) next.file = line.substr(open + 1, close - open - 1);
  return true;
}

// What the directives make of a line of the text, counted from 1.
Place presumed(std::string_view source, std::uint64_t wanted) {
  Place place{{}, 1};
  for (std::uint64_t line = 1; line < wanted && !source.empty(); ++line) {
    const std::size_t length = source.find('\n');
    if (!read_directive(source.substr(0, length), place)) ++place.line;
    source.remove_prefix(length == std::string_view::npos ? source.size() : length + 1);
  }
  return place;
}

}  // namespace

std::string with_presumed_lines(std::string_view log, std::string_view source, std::string_view marker) {
  std::string result;
  for (std::size_t found = log.find(marker); found != std::string_view::npos; found = log.find(marker)) {
    const std::string_view number = log.substr(found + marker.size());
    std::uint64_t line = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), line);
    const Place place = error == std::errc{} ? presumed(source, line) : Place{{}, 0};
    if (place.file.empty()) {
      result += log.substr(0, found + marker.size());
      log.remove_prefix(found + marker.size());
    } else {
      result += log.substr(0, found);
      result += place.file;
      result += ':' + std::to_string(place.line);
      log.remove_prefix(static_cast<std::size_t>(end - log.data()));
    }
  }
  return result += log;
}

namespace {

bool is_noise(std::string_view line) {
  constexpr std::array<std::string_view, 7> steps{"Compilation started",
                                                  "Compilation done",
                                                  "Linking started",
                                                  "Linking done",
                                                  "Device build started",
                                                  "Device build done",
                                                  "Done."};
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  if (line.empty()) return false;
  if (std::ranges::find(steps, line) != steps.end()) return true;
  const auto has = [line](std::string_view part) { return line.find(part) != std::string_view::npos; };
  return has(" is a kernel, so overriding noinline attribute. The function may be inlined when called.") ||
         line.starts_with("Options used by backend compiler:") || line.starts_with("remark: ") ||
         (line.starts_with("Kernel ") && has("vectorized"));
}

}  // namespace

std::string without_noise(std::string_view log) {
  std::string result;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size() - 1) + 1;
    const std::string_view line = log.substr(0, end);
    if (!is_noise(line)) result += line;
    log.remove_prefix(end);
  }
  while (result.ends_with('\n')) result.pop_back();
  return result;
}

}  // namespace masu::opencl
