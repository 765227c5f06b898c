// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/module.h"

#include <cxxabi.h>

#include "runtime/kernel_signature.h"

#include <cstdlib>
#include <memory>
#include <string_view>

namespace masu::cuda {
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
