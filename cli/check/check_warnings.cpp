// SPDX-License-Identifier: Apache-2.0
// Which of the compiler's warnings are told as faults: those of programs that do not do what they say, not of style.
#include "cli/check/check_faults.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace masu::cli {
namespace {

// Clang's words, by which Oclgrind's compiler warns; its log does not name the options.
constexpr std::array<std::pair<std::string_view, FaultKind>, 18> faults{{
    {"format specifies type", FaultKind::format},
    {"% conversions than data arguments", FaultKind::format},
    {"'%' conversions than data arguments", FaultKind::format},
    {"data argument not used by format string", FaultKind::format},
    {"length modifier", FaultKind::format},
    {"invalid conversion specifier", FaultKind::format},
    {"incomplete format specifier", FaultKind::format},
    {"results in undefined behavior with", FaultKind::format},
    {"format string contains '\\0'", FaultKind::format},
    {"format string is not null-terminated", FaultKind::format},
    {"of the array", FaultKind::compiler},
    {"by zero is undefined", FaultKind::compiler},
    {"shift count", FaultKind::compiler},
    {"does not return a value", FaultKind::compiler},
    {"end of non-void function", FaultKind::compiler},
    {"address of stack memory", FaultKind::compiler},
    {"is uninitialized when used", FaultKind::compiler},
    {"is used uninitialized", FaultKind::compiler},
}};

std::string_view take_warning_line(std::string_view& text) {
  const auto end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// The number behind the last colon of the text, which is then cut off.
std::optional<unsigned> cut_number(std::string_view& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  unsigned value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  text = text.substr(0, colon);
  return value;
}

}  // namespace

std::vector<Fault> faults_in_build_log(std::string_view log, const SourceName& name) {
  constexpr std::string_view word = ": warning: ";
  std::vector<Fault> result;
  while (!log.empty()) {
    // "input.cl:3:21: warning: format specifies type …"
    const std::string_view line = take_warning_line(log);
    const auto at = line.find(word);
    if (at == std::string_view::npos) continue;
    const std::string_view text = line.substr(at + word.size());
    const auto found = std::find_if(faults.begin(), faults.end(), [&](const auto& entry) {
      return text.find(entry.first) != std::string_view::npos;
    });
    if (found == faults.end()) continue;
    std::string_view file = line.substr(0, at);
    const auto column = cut_number(file);
    const auto row = cut_number(file);
    if (!column || !row) continue;
    Access access;
    access.place = {name.is(file) ? name.file : std::string(file), *row, *column, {}};
    Fault fault;
    fault.kind = found->second;
    fault.what = fault.kind == FaultKind::format ? "printf: " : "";
    fault.what += text;
    fault.accesses.push_back(std::move(access));
    const bool told = std::any_of(result.begin(), result.end(), [&](const Fault& earlier) {
      return earlier.what == fault.what && earlier.accesses.front().place.line == *row;
    });
    if (!told) result.push_back(std::move(fault));
  }
  return result;
}

}  // namespace masu::cli
