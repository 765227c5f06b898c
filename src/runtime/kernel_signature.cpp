// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel_signature.h"

#include "elements/dtypes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

namespace masu::runtime {
namespace {

// Words that say nothing of what an argument must be.
constexpr std::string_view qualifiers[] = {"const",       "volatile",     "restrict",    "__restrict", "__restrict__",
                                           "__global",    "global",       "__constant",  "constant",   "__local",
                                           "local",       "__private",    "private",     "__generic",  "generic",
                                           "__read_only", "__write_only", "__read_write"};

constexpr std::uint8_t widths[] = {2, 3, 4, 8, 16};

std::optional<Dtype> dtype_named(std::string_view name) {
  const DtypeNames* const found =
      find_dtype([&](const DtypeNames& each) { return has_word(each.c_names, name, ", "); });
  return found != nullptr ? std::optional(found->dtype) : std::nullopt;
}

ArgumentType type_named(std::string_view name) {
  if (const std::optional<Dtype> scalar = dtype_named(name)) return {*scalar, 1};
  const std::size_t letters = name.find_last_not_of("0123456789") + 1;
  unsigned width = 0;
  std::from_chars(name.data() + letters, name.data() + name.size(), width);
  const std::optional<Dtype> element = dtype_named(name.substr(0, letters));
  // __half2 of CUDA is two of __half; unsigned char4 is no type of either language, but harmless.
  if (!element || std::ranges::find(widths, width) == std::end(widths)) return {};
  return {*element, static_cast<std::uint8_t>(width)};
}

std::size_t bytes_of(ArgumentType type) {
  return size_of(type.dtype) * (type.width == 3 ? 4U : type.width);
}

// "f32", "f32x4".
std::string text_of(ArgumentType type) {
  return type.width == 1 ? std::string(to_string(type.dtype)) : fmt::format("{}x{}", to_string(type.dtype), type.width);
}

std::string text_of(const KernelArgument& argument) {
  switch (argument.kind()) {
    case KernelArgument::Kind::local: return "local memory";
    case KernelArgument::Kind::buffer:
      return argument.type().known() ? fmt::format("a buffer of {}", text_of(argument.type())) : "a buffer";
    case KernelArgument::Kind::value: break;
  }
  return argument.type().known() ? text_of(argument.type()) : fmt::format("a value of {} bytes", argument.size());
}

std::string text_of(const KernelParameter& parameter) {
  const std::string_view type = parameter.type;
  switch (parameter.kind) {
    case KernelParameter::Kind::buffer: return fmt::format("a buffer ({})", type.empty() ? "of any type" : type);
    case KernelParameter::Kind::local: return fmt::format("local memory ({})", type.empty() ? "of any type" : type);
    case KernelParameter::Kind::value:
      if (!type.empty()) {
        return declared_type(type).scalar_or_vector.known() || parameter.bytes == 0
                   ? std::string(type)
                   : fmt::format("{} ({} bytes)", type, parameter.bytes);
      }
      break;
    case KernelParameter::Kind::other: break;
  }
  return type.empty() ? fmt::format("{} bytes", parameter.bytes) : std::string(type);
}

}  // namespace

DeclaredType declared_type(std::string_view text) {
  DeclaredType result;
  std::string name;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty() && std::ranges::find(qualifiers, word) == std::end(qualifiers)) {
      name += name.empty() ? word : " " + word;
    }
    word.clear();
  };
  std::size_t stars = 0;
  int depth = 0;  // a star between brackets belongs to a template's argument, or to a function's
  for (const char c : text) {
    depth += c == '<' || c == '(' || c == '{' ? 1 : c == '>' || c == ')' || c == '}' ? -1 : 0;
    const bool star = c == '*' && depth == 0;
    if (star) ++stars;
    if (star || c == ' ' || c == '\t') end_word();
    else word += c;
  }
  end_word();
  result.pointer = stars != 0;
  if (stars < 2) result.scalar_or_vector = type_named(name);
  return result;
}

KernelSignature::KernelSignature(std::vector<KernelParameter> parameters)
    : known_(true), parameters_(std::move(parameters)) {
  rules_.reserve(parameters_.size());
  for (KernelParameter& parameter : parameters_) {
    const DeclaredType declared = declared_type(parameter.type);
    const ArgumentType type = declared.scalar_or_vector;
    if (parameter.kind == KernelParameter::Kind::value && parameter.bytes == 0 && type.known() && !declared.pointer) {
      parameter.bytes = bytes_of(type);
    }
    rules_.push_back({parameter.kind, static_cast<std::uint8_t>(type.known() ? size_of(type.dtype) : 0),
                      is_float(type.dtype), type.width, parameter.bytes});
  }
}

bool KernelSignature::fits(const Rule& rule, const KernelArgument& argument) noexcept {
  const ArgumentType given = argument.type();
  const auto same_scalar = [&] {
    return size_of(given.dtype) == rule.scalar_bytes && is_float(given.dtype) == rule.floating;
  };
  const auto same_bytes = [&] {
    const bool value = argument.kind() == KernelArgument::Kind::value;
    return rule.bytes == 0 || rule.bytes == (value ? argument.size() : sizeof(void*)) ||
           (given.width == 3 && rule.bytes == 3 * size_of(given.dtype));  // CUDA's vectors of 3
  };
  switch (rule.kind) {
    case KernelParameter::Kind::local: return argument.kind() == KernelArgument::Kind::local;
    case KernelParameter::Kind::buffer:
      return argument.kind() == KernelArgument::Kind::buffer && (rule.bytes == 0 || rule.bytes == sizeof(void*)) &&
             (rule.scalar_bytes == 0 || !given.known() || same_scalar());
    case KernelParameter::Kind::value:
      if (argument.kind() != KernelArgument::Kind::value) return false;
      if (rule.scalar_bytes == 0 || !given.known()) return same_bytes();
      return same_scalar() && given.width == rule.width;
    case KernelParameter::Kind::other: break;
  }
  return same_bytes();
}

std::string KernelSignature::title(std::string_view kernel, std::size_t index) const {
  const bool named = index < parameters_.size() && !parameters_[index].name.empty();
  return named ? fmt::format("argument {} ({}) of {}", index, parameters_[index].name, kernel)
               : fmt::format("argument {} of {}", index, kernel);
}

void KernelSignature::refuse_count(std::string_view kernel, std::size_t given) const {
  std::string list;
  for (const KernelParameter& parameter : parameters_) {
    if (parameter.type.empty() && parameter.name.empty()) continue;
    list += fmt::format("{}{}{}{}", list.empty() ? " (" : ", ", parameter.type,
                        parameter.type.empty() || parameter.name.empty() ? "" : " ", parameter.name);
  }
  if (!list.empty()) list += ')';
  throw Error(ErrorCode::invalid_argument,
              fmt::format("Kernel::launch: {} takes {} argument{}{}, got {}", kernel, parameters_.size(),
                          parameters_.size() == 1 ? "" : "s", list, given));
}

void KernelSignature::refuse(std::string_view kernel, std::size_t index, const KernelArgument& argument) const {
  std::string given = text_of(argument);
  const KernelParameter& wanted = parameters_[index];
  const bool sizes = wanted.type.empty() && wanted.kind == KernelParameter::Kind::other;
  if (sizes) given += fmt::format(" ({} bytes)", argument.kind() == KernelArgument::Kind::value ? argument.size() : 8);
  throw Error(ErrorCode::invalid_argument,
              fmt::format("Kernel::launch: {} is {}, got {}", title(kernel, index), text_of(wanted), given));
}

}  // namespace masu::runtime
