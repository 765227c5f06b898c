// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/compiler.h"

#include "backends/cuda/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace masu::cuda {
namespace {

// What prelude.cuh carries, so that a text shows which way its kernels take local memory.
constexpr std::string_view prelude_mark = "#define MASU_LOCAL_POINTER(";

constexpr std::string_view image_mark = "masu-cuda-1 ";

void check(const Nvrtc& api, nvrtcResult code, std::string_view function) {
  if (code == nvrtc_success) return;
  throw Error(code == nvrtc_out_of_memory ? ErrorCode::out_of_memory : ErrorCode::build_failed,
              fmt::format("{}: {} (NVRTC error {})", function, api.get_error_string(code), code));
}

// A program of NVRTC's, destroyed at the end.
class SourceProgram {
 public:
  SourceProgram(const Nvrtc& api, const std::string& text) : api_(api) {
    check(api_, api_.create_program(&handle_, text.c_str(), "kernel.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
  }
  ~SourceProgram() { api_.destroy_program(&handle_); }
  SourceProgram(const SourceProgram&) = delete;
  SourceProgram& operator=(const SourceProgram&) = delete;

  nvrtcResult compile(const std::vector<std::string>& options) {
    std::vector<const char*> words;
    words.reserve(options.size());
    for (const std::string& option : options) words.push_back(option.c_str());
    return api_.compile_program(handle_, static_cast<int>(words.size()), words.data());
  }

  std::string log() { return text(api_.get_program_log_size, api_.get_program_log, "nvrtcGetProgramLog", true); }
  std::string cubin() { return text(api_.get_cubin_size, api_.get_cubin, "nvrtcGetCUBIN", false); }
  std::string ptx() { return text(api_.get_ptx_size, api_.get_ptx, "nvrtcGetPTX", true); }

 private:
  // `terminated`: the size counts a zero byte at the end.
  std::string text(nvrtcResult (*size_of)(nvrtcProgram, std::size_t*), nvrtcResult (*get)(nvrtcProgram, char*),
                   std::string_view function, bool terminated) {
    std::size_t size = 0;
    check(api_, size_of(handle_, &size), function);
    std::string result(size, '\0');
    if (size != 0) check(api_, get(handle_, result.data()), function);
    while (terminated && !result.empty() && (result.back() == '\0' || result.back() == '\n')) result.pop_back();
    return result;
  }

  const Nvrtc& api_;
  nvrtcProgram handle_ = nullptr;
};

bool names_architecture(const std::vector<std::string>& options) {
  return std::any_of(options.begin(), options.end(), [](const std::string& option) {
    return option.rfind("--gpu-architecture", 0) == 0 || option.rfind("-arch", 0) == 0;
  });
}

// The option that makes code for the device: its own machine code, or PTX of an older architecture.
std::string architecture_option(const Nvrtc& api, int architecture) {
  int count = 0;
  check(api, api.get_num_supported_archs(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> known(static_cast<std::size_t>(std::max(count, 1)));
  check(api, api.get_supported_archs(known.data()), "nvrtcGetSupportedArchs");
  known.resize(static_cast<std::size_t>(count));
  std::sort(known.begin(), known.end());
  const auto above = std::upper_bound(known.begin(), known.end(), architecture);
  if (above == known.begin()) {
    throw Error(ErrorCode::unsupported,
                fmt::format("build: NVRTC must know the architecture sm_{}, got one for sm_{} and newer", architecture,
                            known.empty() ? 0 : known.front()));
  }
  const int nearest = *(above - 1);
  return fmt::format("--gpu-architecture={}_{}", nearest == architecture ? "sm" : "compute", nearest);
}

}  // namespace

std::vector<std::string> split_options(std::string_view options) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < options.size(); ++i) {
    const char c = options[i];
    if (quote == '\0' && (c == ' ' || c == '\t' || c == '\n')) {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
      continue;
    }
    in_word = true;
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && i + 1 < options.size()) {
      word += options[++i];
    } else {
      word += c;
    }
  }
  if (in_word) words.push_back(std::move(word));
  return words;
}

std::string compiler_identity(const Loaded<Nvrtc>& nvrtc) {
  if (!nvrtc.usable()) return "no NVRTC";
  int major = 0;
  int minor = 0;
  check(nvrtc.functions, nvrtc.functions.version(&major, &minor), "nvrtcVersion");
  return fmt::format("NVRTC {}.{}", major, minor);
}

Compiled compile(const Loaded<Nvrtc>& nvrtc, int architecture, std::string_view text, std::string_view options) {
  if (!nvrtc.usable()) throw Error(ErrorCode::unsupported, fmt::format("build: NVRTC must be present: {}", nvrtc.why));
  const Nvrtc& api = nvrtc.functions;
  std::vector<std::string> words = split_options(options);
  if (!names_architecture(words)) words.push_back(architecture_option(api, architecture));

  SourceProgram program(api, std::string(text));
  const nvrtcResult code = program.compile(words);
  Compiled result;
  result.log = program.log();
  if (code == nvrtc_compilation || code == nvrtc_invalid_option) {
    throw Error(ErrorCode::build_failed, fmt::format("build: {} must accept the kernel for sm_{}:\n{}",
                                                     compiler_identity(nvrtc), architecture, result.log));
  }
  check(api, code, "nvrtcCompileProgram");
  result.image.local =
      text.find(prelude_mark) != std::string_view::npos ? LocalConvention::offset : LocalConvention::dynamic;
  result.image.bytes = program.cubin();
  result.image.ptx = result.image.bytes.empty();
  if (result.image.ptx) result.image.bytes = program.ptx();
  return result;
}

std::string pack(const Image& image) {
  return fmt::format("{}{} {}\n", image_mark, image.ptx ? "ptx" : "cubin",
                     image.local == LocalConvention::offset ? "offset" : "dynamic") +
         image.bytes;
}

std::optional<Image> unpack(std::string_view binary) {
  for (const bool ptx : {false, true}) {
    for (const LocalConvention local : {LocalConvention::dynamic, LocalConvention::offset}) {
      const std::string header = pack({ptx, local, ""});
      if (binary.substr(0, header.size()) == header && binary.size() > header.size()) {
        return Image{ptx, local, std::string(binary.substr(header.size()))};
      }
    }
  }
  return std::nullopt;
}

}  // namespace masu::cuda
