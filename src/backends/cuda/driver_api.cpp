// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/driver_api.h"

#include "runtime/environment.h"
#include "runtime/fork.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <masu/floating_point.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>

namespace masu::cuda {
namespace {

// One entry of a function table: the function pointer and what it is called in the library.
struct Symbol {
  void* slot;
  const char* name;
};

#define MASU_CUDA_SYMBOL(member, symbol, parameters) {&table.member, #symbol},

// POSIX lets a function's address travel in a void*.
bool find(void* library, const Symbol& symbol) {
  void* address = dlsym(library, symbol.name);
  std::memcpy(symbol.slot, &address, sizeof address);
  return address != nullptr;
}

// Fills the slots; the name of the first symbol that is missing, or null.
template <std::size_t count>
const char* find_all(void* library, const Symbol (&symbols)[count]) {
  for (const Symbol& symbol : symbols) {
    if (!find(library, symbol)) return symbol.name;
  }
  return nullptr;
}

const char* find_driver_functions(void* library, Driver& table) {
  const Symbol optional[] = {MASU_CUDA_DRIVER_OPTIONAL_FUNCTIONS(MASU_CUDA_SYMBOL)};
  for (const Symbol& symbol : optional) find(library, symbol);
  const Symbol required[] = {MASU_CUDA_DRIVER_FUNCTIONS(MASU_CUDA_SYMBOL)};
  return find_all(library, required);
}

const char* find_nvrtc_functions(void* library, Nvrtc& table) {
  const Symbol required[] = {MASU_NVRTC_FUNCTIONS(MASU_CUDA_SYMBOL){&table.get_error_string, "nvrtcGetErrorString"}};
  return find_all(library, required);
}

#undef MASU_CUDA_SYMBOL

// The file names of NVRTC: first the one whose major version is the driver's (its programs surely load), then from new
// to old. libnvrtc.so.11.2 serves CUDA 11.2 to 11.8.
std::vector<std::string> nvrtc_names() {
  std::vector<std::string> names;
  if (const int major = driver_version() / 1000; major >= 12) names.push_back(fmt::format("libnvrtc.so.{}", major));
  for (const char* name : {"libnvrtc.so.14", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"}) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  }
  return names;
}

void add_folder(std::vector<std::filesystem::path>& folders, const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) folders.push_back(folder);
}

// Where toolkits keep their libraries, the newest /usr/local/cuda-N first among its like.
std::vector<std::filesystem::path> toolkit_folders() {
  std::vector<std::filesystem::path> roots;
  for (const std::string& toolkit : runtime::environment().toolkits) roots.emplace_back(toolkit);
  roots.emplace_back("/usr/local/cuda");
  std::vector<std::filesystem::path> versions;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/usr/local", error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename().string().rfind("cuda-", 0) == 0) versions.push_back(entry->path());
  }
  std::sort(versions.rbegin(), versions.rend());
  roots.insert(roots.end(), versions.begin(), versions.end());

  std::vector<std::filesystem::path> folders;
  for (const std::filesystem::path& root : roots) {
    for (const char* part : {"lib64", "lib", "targets/x86_64-linux/lib"}) add_folder(folders, root / part);
  }
  return folders;
}

// A folder that a user names may be the one with the library, a toolkit's root, or site-packages of a Python with
// nvidia-cuda-nvrtc (nvidia/cu13/lib since CUDA 13, nvidia/cuda_nvrtc/lib before).
std::vector<std::filesystem::path> named_folders(const std::filesystem::path& place) {
  std::vector<std::filesystem::path> folders;
  for (const char* part :
       {"", "lib64", "lib", "nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib", "cu13/lib", "cuda_nvrtc/lib"}) {
    add_folder(folders, place / part);
  }
  return folders;
}

std::vector<std::string> nvrtc_candidates(const char* place) {
  std::vector<std::string> candidates;
  std::vector<std::filesystem::path> folders;
  if (place != nullptr && *place != '\0') {
    std::error_code error;
    if (!std::filesystem::is_directory(place, error)) return {place};
    folders = named_folders(place);
  } else {
    candidates = nvrtc_names();
    folders = toolkit_folders();
  }
  std::error_code error;
  for (const std::filesystem::path& folder : folders) {
    for (const std::string& name : nvrtc_names()) {
      if (std::filesystem::exists(folder / name, error)) candidates.push_back((folder / name).string());
    }
  }
  return candidates;
}

}  // namespace

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Loaded<Driver> load_driver(const char* library) {
  const FloatingPointScope usual;
  Loaded<Driver> result;
  const bool named = library != nullptr && *library != '\0';
  result.path = named ? library : "libcuda.so.1";
  void* handle = dlopen(result.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    result.why = named ? fmt::format("MASU_CUDA_LIBRARY: {}", reason != nullptr ? reason : result.path)
                       : "libcuda.so.1 was not found: no NVIDIA driver";
    return result;
  }
  if (const char* missing = find_driver_functions(handle, result.functions)) {
    result.why = fmt::format("{} is too old: it has no {}", result.path, missing);
    return result;
  }
  if (const CUresult code = result.functions.init(0); code != success) {
    result.why = fmt::format("cuInit: {}", error_text(result.functions, code));
  }
  return result;
}

Loaded<Nvrtc> load_nvrtc(const char* place) {
  const FloatingPointScope usual;
  Loaded<Nvrtc> result;
  for (const std::string& candidate : nvrtc_candidates(place)) {
    void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) continue;
    Nvrtc functions;
    if (const char* missing = find_nvrtc_functions(handle, functions)) {
      dlclose(handle);
      result.why = fmt::format("{} is too old: it has no {}", candidate, missing);
      continue;
    }
    return {functions, candidate, ""};
  }
  if (result.why.empty()) {
    result.why = place != nullptr && *place != '\0'
                     ? fmt::format("MASU_NVRTC: no libnvrtc.so that opens at {}", place)
                     : "libnvrtc.so was not found: install a CUDA toolkit or nvidia-cuda-nvrtc and set MASU_NVRTC";
  }
  return result;
}

namespace {

Loaded<Driver>* opened = nullptr;

void refuse_in_child() {
  Driver& functions = opened->functions;
#define MASU_CUDA_REFUSED(member, symbol, parameters) \
  functions.member = runtime::Refused<decltype(functions.member)>::call;
  MASU_CUDA_DRIVER_FUNCTIONS(MASU_CUDA_REFUSED)
  MASU_CUDA_DRIVER_OPTIONAL_FUNCTIONS(MASU_CUDA_REFUSED)
#undef MASU_CUDA_REFUSED
  opened->forked = true;
}

}  // namespace

// Both are leaked on purpose: destructors of a program's static objects may still use them.
const Loaded<Driver>& driver() {
  static const Loaded<Driver>& loaded = []() -> Loaded<Driver>& {
    opened = new Loaded<Driver>(load_driver(runtime::environment().cuda_library.c_str()));
    if (opened->usable()) runtime::in_forked_children(refuse_in_child);
    return *opened;
  }();
  return loaded;
}

const Loaded<Nvrtc>& nvrtc() {
  static const Loaded<Nvrtc>& loaded = *new Loaded<Nvrtc>(load_nvrtc(runtime::environment().nvrtc.c_str()));
  return loaded;
}

int driver_version() {
  int version = 0;
  if (!driver().usable() || driver().functions.driver_get_version(&version) != success) return 0;
  return version;
}

namespace {

struct CodeRange {
  CUresult first;
  CUresult last;
  ErrorCode code;
};

// In ascending order; what is not listed is `unsupported`.
constexpr CodeRange code_ranges[] = {
    {1, 1, ErrorCode::invalid_argument},      // invalid value
    {2, 2, ErrorCode::out_of_memory},         //
    {3, 4, ErrorCode::device_lost},           // not initialised, shut down
    {46, 46, ErrorCode::device_lost},         // device unavailable
    {200, 200, ErrorCode::build_failed},      // invalid image
    {201, 202, ErrorCode::invalid_argument},  // invalid context
    {209, 209, ErrorCode::build_failed},      // no binary for this device
    {214, 214, ErrorCode::device_lost},       // uncorrectable ECC error
    {218, 218, ErrorCode::build_failed},      // invalid PTX
    {220, 220, ErrorCode::device_lost},       // uncorrectable NVLink error
    {221, 223, ErrorCode::build_failed},      // no JIT compiler, PTX too new, JIT disabled
    {226, 226, ErrorCode::device_lost},       // contained error
    {300, 300, ErrorCode::build_failed},      // invalid source
    {400, 401, ErrorCode::invalid_argument},  // invalid handle or state
    {500, 500, ErrorCode::invalid_argument},  // not found
    {700, 700, ErrorCode::device_lost},       // illegal address
    {701, 701, ErrorCode::invalid_argument},  // launch out of resources
    {702, 702, ErrorCode::device_lost},       // launch timeout
    {709, 710, ErrorCode::device_lost},       // context destroyed, assertion in a kernel
    {712, 713, ErrorCode::invalid_argument},  // host memory already or not registered
    {714, 719, ErrorCode::device_lost},       // stack, instruction, alignment, address, launch failure
    {720, 720, ErrorCode::invalid_argument},  // cooperative launch too large
    {721, 721, ErrorCode::device_lost},       // tensor memory leak
    {810, 810, ErrorCode::device_lost},       // MPS client terminated
    {911, 911, ErrorCode::device_lost},       // external device
    {999, 999, ErrorCode::device_lost},       // unknown
};

}  // namespace

std::string error_text(const Driver& driver, CUresult code) {
  if (code == runtime::forked_code) return std::string(runtime::forked_why);
  constexpr CUresult stub_library = 34;  // every function of the toolkit's stub returns it
  const char* name = nullptr;
  const char* text = nullptr;
  const bool named = driver.get_error_name(code, &name) == success && name != nullptr;
  const bool described = driver.get_error_string(code, &text) == success && text != nullptr;
  if (!named) name = code == stub_library ? "CUDA_ERROR_STUB_LIBRARY" : "CUDA error";
  return fmt::format("{} ({}, {})", described ? text : "unknown error", name, code);
}

ErrorCode error_code(CUresult code) noexcept {
  if (code == runtime::forked_code) return ErrorCode::device_lost;
  const auto* range = std::find_if(std::begin(code_ranges), std::end(code_ranges),
                                   [code](const CodeRange& r) { return r.first <= code && code <= r.last; });
  return range != std::end(code_ranges) ? range->code : ErrorCode::unsupported;
}

void throw_error(const Driver& driver, CUresult code, std::string_view function, std::string_view device) {
  throw Error(error_code(code), fmt::format("{}: {}: {}", function, device, error_text(driver, code)));
}

}  // namespace masu::cuda
