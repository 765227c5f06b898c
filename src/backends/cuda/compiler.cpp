// SPDX-License-Identifier: Apache-2.0
// Source text to device code with NVRTC, and the kernels in it; no device and no driver is needed.
#include "backends/cuda/module.h"

#include "runtime/kernel_signature.h"

#include <cxxabi.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
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

namespace {

constexpr unsigned char entry_mark = 0x10;  // STO_CUDA_ENTRY in st_other

// Copies a record out of the image if it lies inside.
template <class Record>
bool read(std::string_view image, std::uint64_t offset, Record& record) {
  if (offset > image.size() || image.size() - offset < sizeof record) return false;
  std::memcpy(&record, image.data() + offset, sizeof record);
  return true;
}

// The zero-terminated text at `offset`.
std::string_view text_at(std::string_view image, std::uint64_t offset) {
  if (offset >= image.size()) return {};
  const std::string_view rest = image.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

std::vector<std::string> cubin_names(std::string_view image) {
  std::vector<std::string> names;
  Elf64_Ehdr header;
  if (!read(image, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return names;
  for (std::uint64_t section = 0; section < header.e_shnum; ++section) {
    Elf64_Shdr table;
    Elf64_Shdr strings;
    if (!read(image, header.e_shoff + section * sizeof table, table) || table.sh_type != SHT_SYMTAB ||
        !read(image, header.e_shoff + table.sh_link * sizeof strings, strings)) {
      continue;
    }
    Elf64_Sym symbol;
    for (std::uint64_t at = 0; at + sizeof symbol <= table.sh_size; at += sizeof symbol) {
      if (!read(image, table.sh_offset + at, symbol)) break;
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && (symbol.st_other & entry_mark) != 0) {
        names.emplace_back(text_at(image, strings.sh_offset + symbol.st_name));
      }
    }
  }
  return names;
}

std::vector<std::string> ptx_names(std::string_view text) {
  constexpr std::string_view word = ".entry";
  const auto in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; };
  std::vector<std::string> names;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at)) {
    at += word.size();
    const std::size_t first = text.find_first_not_of(" \t\n", at);
    if (first == std::string_view::npos || first == at) continue;
    const auto* last = std::find_if_not(text.begin() + first, text.end(), in_name);
    names.emplace_back(text.begin() + first, last);
  }
  return names;
}

}  // namespace

std::vector<std::string> entry_names(const Image& image) {
  std::vector<std::string> names = image.ptx ? ptx_names(image.bytes) : cubin_names(image.bytes);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

namespace {

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : std::string();
}

bool opens(char c) {
  return c == '(' || c == '<' || c == '[';
}
bool closes(char c) {
  return c == ')' || c == '>' || c == ']';
}

// Where the list that ends the text begins; npos where none does.
std::size_t last_list(std::string_view text) {
  if (text.empty() || text.back() != ')') return std::string_view::npos;
  int depth = 0;
  for (std::size_t i = text.size(); i-- != 0;) {
    if (closes(text[i])) ++depth;
    else if (opens(text[i]) && --depth == 0) return i;
  }
  return std::string_view::npos;
}

// The parts of a text between separators that are in no brackets, without the spaces around them.
std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  const auto end_part = [&] {
    const std::size_t first = part.find_first_not_of(' ');
    if (first != std::string::npos) parts.push_back(part.substr(first, part.find_last_not_of(' ') + 1 - first));
    part.clear();
  };
  for (const char c : text) {
    if (opens(c)) ++depth;
    else if (closes(c)) --depth;
    if (c == separator && depth == 0) end_part();
    else part += c;
  }
  end_part();
  return parts;
}

}  // namespace

EntrySignature entry_signature(const std::string& symbol) {
  const std::string text = demangled(symbol);
  const std::size_t list = last_list(text);
  if (list == std::string::npos) return {symbol, false, {}};
  // A template's text begins with what it returns.
  const std::vector<std::string> words = split(std::string_view(text).substr(0, list), ' ');
  if (words.empty()) return {symbol, false, {}};
  return {words.back(), true, split(std::string_view(text).substr(list + 1, text.size() - list - 2), ',')};
}

std::vector<KernelParameter> parameters_of(const EntrySignature& entry, const std::vector<std::size_t>* sizes) {
  const bool typed = entry.typed && (sizes == nullptr || sizes->size() == entry.types.size());
  std::vector<KernelParameter> parameters(typed ? entry.types.size() : sizes != nullptr ? sizes->size() : 0);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    KernelParameter& parameter = parameters[i];
    if (sizes != nullptr) parameter.bytes = (*sizes)[i];
    if (!typed) continue;
    parameter.type = entry.types[i];
    const runtime::DeclaredType declared = runtime::declared_type(parameter.type);
    parameter.kind = declared.pointer ? KernelParameter::Kind::buffer : KernelParameter::Kind::value;
    const ArgumentType type = declared.scalar_or_vector;
    if (sizes == nullptr && !declared.pointer && type.known()) parameter.bytes = size_of(type.dtype) * type.width;
  }
  return parameters;
}

}  // namespace masu::cuda
