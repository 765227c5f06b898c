// SPDX-License-Identifier: Apache-2.0
// The kernels in a compiled image, read from the image itself: every driver has them then, old ones too. A cubin is an
// ELF file whose symbol table marks kernels; PTX is text that says `.entry`.
#include "backends/cuda/compiler.h"

#include <elf.h>

#include <algorithm>
#include <cctype>
#include <cstring>

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

}  // namespace masu::cuda
