// SPDX-License-Identifier: Apache-2.0
// The kernels in a compiled image, read from the image itself: every driver has them then, old ones too. A cubin is an
// ELF file whose symbol table marks kernels; PTX is text that says `.entry`.
#include "backends/cuda/compiler.h"
#include "backends/cuda/module.h"
#include "runtime/kernel_signature.h"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

namespace masu::cuda {
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
