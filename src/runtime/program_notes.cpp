// SPDX-License-Identifier: Apache-2.0
// Each field is its length, a colon, and its bytes. Numbers are fields of digits.
#include "runtime/backend.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

namespace masu::runtime {
namespace {

constexpr std::string_view mark = "masu-program-1\n";

void add(std::string& text, std::string_view field) {
  text += fmt::format("{}:", field.size());
  text += field;
}

void add(std::string& text, std::uint64_t number) {
  add(text, std::string_view(fmt::format("{}", number)));
}

// Reads fields from the front of a text; `good` is false from the first one that is not there.
class Fields {
 public:
  explicit Fields(std::string_view text) : rest_(text) {}

  std::string_view text() {
    std::uint64_t size = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
    const auto digits = static_cast<std::size_t>(end - rest_.data());
    good_ = good_ && error == std::errc{} && digits < rest_.size() && rest_[digits] == ':' &&
            size <= rest_.size() - digits - 1;
    if (!good_) return {};
    const std::string_view field = rest_.substr(digits + 1, size);
    rest_.remove_prefix(digits + 1 + size);
    return field;
  }

  std::uint64_t number() {
    const std::string_view field = text();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    good_ = good_ && error == std::errc{} && end == field.data() + field.size();
    return good_ ? value : 0;
  }

  [[nodiscard]] bool good() const noexcept { return good_; }
  [[nodiscard]] bool at_end() const noexcept { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

std::string pack(const ProgramNotes& notes, std::string_view binary) {
  std::string text(mark);
  add(text, notes.log);
  add(text, notes.parameters.size());
  for (const auto& [kernel, parameters] : notes.parameters) {
    add(text, kernel);
    add(text, parameters.size());
    for (const KernelParameter& parameter : parameters) {
      add(text, static_cast<std::uint64_t>(parameter.kind));
      add(text, parameter.type);
      add(text, parameter.name);
      add(text, parameter.bytes);
    }
  }
  add(text, binary);
  return text;
}

std::optional<NotedBinary> unpack(std::string_view text) {
  if (!text.starts_with(mark)) return std::nullopt;
  Fields fields(text.substr(mark.size()));
  NotedBinary result;
  result.notes.log = fields.text();
  for (std::uint64_t kernels = fields.number(); kernels != 0 && fields.good(); --kernels) {
    std::vector<KernelParameter>& parameters = result.notes.parameters[std::string(fields.text())];
    for (std::uint64_t left = fields.number(); left != 0 && fields.good(); --left) {
      KernelParameter& parameter = parameters.emplace_back();
      const std::uint64_t kind = fields.number();
      if (kind > static_cast<std::uint64_t>(KernelParameter::Kind::other)) return std::nullopt;
      parameter.kind = static_cast<KernelParameter::Kind>(kind);
      parameter.type = fields.text();
      parameter.name = fields.text();
      parameter.bytes = fields.number();
    }
  }
  result.binary = fields.text();
  if (!fields.at_end()) return std::nullopt;
  return result;
}

}  // namespace masu::runtime
