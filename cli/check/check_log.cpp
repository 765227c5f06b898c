// SPDX-License-Identifier: Apache-2.0
// Oclgrind's log, and the compiler's warnings.
#include "cli/check/check.h"
#include "runtime/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace masu::cli {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string_view take_line(std::string_view& text) {
  const auto end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

bool Scanner::word(std::string_view next) {
  const bool found = rest.starts_with(next);
  if (found) rest.remove_prefix(next.size());
  return found;
}

bool Scanner::past(std::string_view words) {
  const auto at = rest.find(words);
  if (at != std::string_view::npos) rest.remove_prefix(at + words.size());
  return at != std::string_view::npos;
}

namespace {

constexpr std::array<std::string_view, 5> entities{
    "Entity:", "First entity:", "Second entity:", "Work-item:", "Previous work-i"};

// "NAME(1,2,3)" anywhere in the text.
bool read_id(Scanner text, std::string_view name, Access::Id& id) {
  return text.past(name) && text.word("(") && text.number(id[0]) && text.word(",") && text.number(id[1]) &&
         text.word(",") && text.number(id[2]);
}

// "At line 16 (column 3) of input.cl:"
bool read_place(Scanner text, Place& place) {
  Place found;
  if (!text.word("At line ") || !text.number(found.line) || !text.word(" (column ") || !text.number(found.column) ||
      !text.word(") of ")) {
    return false;
  }
  if (text.rest.ends_with(':')) text.rest.remove_suffix(1);
  found.file = text.rest;
  place = std::move(found);
  return true;
}

// "… at global memory address 0x10", "… to local memory address 0x10"
void read_address(std::string_view headline, Finding& finding) {
  constexpr std::string_view words = " memory address 0x";
  Scanner text{headline};
  if (!text.past(words) || !text.number(finding.address, 16)) return;
  const std::string_view before = headline.substr(0, headline.find(words));
  finding.space = before.substr(before.rfind(' ') + 1);  // npos + 1 is 0
}

bool is_indented(std::string_view text) {
  return text.starts_with('\t') || text.starts_with(' ');
}

// A message: the indented lines below the headline, taken off the front of the log, one of which may be empty.
Finding take_finding(std::string_view headline, std::string_view& log) {
  Finding finding;
  finding.headline = trimmed(headline);
  read_address(finding.headline, finding);
  // A fatal error says what it was on a second line.
  if (headline.starts_with("OCLGRIND FATAL ERROR") && !is_indented(log)) finding.detail = trimmed(take_line(log));
  std::vector<Access>& accesses = finding.accesses;
  // The access that a line belongs to; a barrier that too few reached has no line that begins one.
  const auto current = [&]() -> Access& { return accesses.empty() ? accesses.emplace_back() : accesses.back(); };
  Access group;  // of those that name none: of a divergence
  bool expect_text = false;
  while (is_indented(log)) {
    const std::string_view raw = take_line(log);
    const std::string_view line = trimmed(raw);
    if (std::exchange(expect_text, false)) {
      if (!accesses.empty() && line != "(source not available)") accesses.back().place.text = line;
    } else if (line.starts_with("Kernel:")) {
      finding.kernel = trimmed(line.substr(7));
    } else if (line.starts_with("Work-group:")) {
      group.has_group = read_id({line}, "Work-group: ", group.group);
    } else if (std::ranges::any_of(entities, [&](std::string_view entity) { return line.starts_with(entity); })) {
      Access& access = accesses.emplace_back();
      access.by_item = read_id({line}, "Global", access.global) && read_id({line}, "Local", access.local);
      access.has_group = read_id({line}, "Group", access.group);
    } else if (line.starts_with("Only ")) {
      finding.detail = line;
    } else if (Place place; read_place({line}, place)) {
      current().place = std::move(place);
      expect_text = true;
    } else if (!line.empty() && raw.starts_with("\t  ") && !line.starts_with('(')) {
      current().instruction = line;
    }
  }
  for (Access& access : accesses) {
    if (!group.has_group || access.has_group) continue;
    access.group = group.group;
    access.has_group = true;
  }
  return finding;
}

}  // namespace

CheckLog parse_check_log(std::string_view log) {
  CheckLog result;
  const char* const log_end = log.data() + log.size();
  while (!log.empty()) {
    const std::string_view line = take_line(log);
    if (line.empty() || is_indented(line)) continue;  // the blank lines between messages
    if (line.data() + line.size() == log_end) break;  // ended while it was written
    if (line.starts_with("Oclgrind: ") && line.find("suppressing further errors") != std::string_view::npos) {
      result.cut = true;
      continue;
    }
    result.findings.push_back(take_finding(line, log));
  }
  return result;
}

// Which of the compiler's warnings are reported as faults: those of programs that do not do what they say, not of
// style.

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

// The number after the last colon of the text; the colon and the number are then cut off.
std::optional<unsigned> cut_number(std::string_view& text) {
  const auto colon = text.rfind(':');
  unsigned value = 0;
  if (colon == std::string_view::npos || !runtime::is_number(text.substr(colon + 1), value)) return std::nullopt;
  text = text.substr(0, colon);
  return value;
}

}  // namespace

std::optional<Place> place_before(std::string_view text, const SourceName& name) {
  const auto column = cut_number(text);
  const auto line = cut_number(text);
  if (!column || !line) return std::nullopt;
  return Place{name.is(text) ? name.file : std::string(text), *line, *column, {}};
}

std::string without_notes(std::string_view log) {
  std::string result;
  bool note = false;
  while (!log.empty()) {
    const std::string_view line = take_line(log);
    if (line.find(": warning: ") != std::string_view::npos) {
      note = line.find(": warning: \"") != std::string_view::npos ||
             line.find(implicit_conversion) != std::string_view::npos;
    } else if (line.find("error: ") != std::string_view::npos) {
      note = false;
    }
    if (!note) result.append(line) += '\n';
  }
  if (!result.empty()) result.pop_back();
  return result;
}

std::vector<Fault> faults_in_build_log(std::string_view log, const SourceName& name) {
  constexpr std::string_view word = ": warning: ";
  std::vector<Fault> result;
  while (!log.empty()) {
    // "input.cl:3:21: warning: format specifies type …"
    const std::string_view line = take_line(log);
    const auto at = line.find(word);
    if (at == std::string_view::npos) continue;
    const auto place = place_before(line.substr(0, at), name);
    if (!place) continue;
    const auto add = [&](FaultKind kind, std::string what) {
      const bool is_known = std::any_of(result.begin(), result.end(), [&](const Fault& earlier) {
        return earlier.what == what && earlier.accesses.front().place.line == place->line;
      });
      if (is_known) return;
      Fault& fault = result.emplace_back();
      fault.kind = kind;
      fault.what = std::move(what);
      fault.accesses.emplace_back().place = *place;
    };
    const std::string_view text = line.substr(at + word.size());
    if (text.starts_with('"')) {  // the header makes the compiler print this for each printf
      for (std::string& complaint : printf_complaints(text)) add(FaultKind::format, std::move(complaint));
      continue;
    }
    const auto found = std::find_if(faults.begin(), faults.end(), [&](const auto& entry) {
      return text.find(entry.first) != std::string_view::npos;
    });
    if (found == faults.end()) continue;
    add(found->second, (found->second == FaultKind::format ? "printf: " : "") + std::string(text));
  }
  return result;
}

namespace {

constexpr std::size_t most_lines = std::size_t{1} << 20;  // a wild #line must not take the memory

// The N of `#line N`, in any of its spellings.
std::optional<std::size_t> line_directive(std::string_view line) {
  Scanner text{trimmed(line)};
  if (!text.word("#")) return std::nullopt;
  text.rest = trimmed(text.rest);
  (void)text.word("line");
  text.rest = trimmed(text.rest);
  std::size_t number = 0;
  return text.number(number) ? std::optional(number) : std::nullopt;
}

std::vector<std::string> numbered_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  std::size_t number = 1;
  for (std::string line; std::getline(stream, line) && number < most_lines;) {
    if (const auto next = line_directive(line)) {
      number = *next;
      continue;
    }
    if (line.ends_with('\r')) line.pop_back();
    if (lines.size() <= number) lines.resize(number + 1);
    lines[number++] = std::move(line);
  }
  return lines;
}

std::string id_text(const Access::Id& id) {
  return fmt::format("({},{},{})", id[0], id[1], id[2]);
}

std::string who(const Access& access) {
  if (access.by_item) {
    return fmt::format("work-item {}, local {}, group {}", id_text(access.global), id_text(access.local),
                       id_text(access.group));
  }
  return access.has_group ? fmt::format("group {}", id_text(access.group)) : "";
}

std::string place_text(const Place& place, const std::string& path) {
  if (place.line == 0) return path.empty() ? "(place unknown)" : path;
  if (place.column == 0) return fmt::format("{}:{}", path, place.line);
  return fmt::format("{}:{}:{}", path, place.line, place.column);
}

// The source line without its indentation, and a mark below the column. Tabs stay tabs in both.
std::string marked(const std::string& line, unsigned column) {
  const auto indent = line.find_first_not_of(" \t");
  if (indent == std::string::npos) return "";
  std::string text = "    " + line.substr(indent) + "\n";
  if (column <= indent || column > line.size()) return text;
  text += "    ";
  for (std::size_t i = indent; i + 1 < column; ++i) text += line[i] == '\t' ? '\t' : ' ';
  return text + "^\n";
}

// What an access did, where the message is of more than one; an atomic operation reads and writes.
std::string_view verb(const Fault& fault, const Access& access) {
  if (fault.kind != FaultKind::data_race) return fault.times > 1 ? "first by " : "by ";
  if (access.instruction.find("atom") != std::string::npos) return "changed atomically by ";
  if (access.instruction.empty()) return "copied by async_work_group_copy of ";
  return access.instruction.find("store") != std::string::npos ? "written by " : "read by ";
}

std::string fault_text(const Fault& fault, const SourceLines& source) {
  if (fault.accesses.empty()) return fault.what + "\n";
  std::string text;
  const Place* shown = nullptr;
  for (const Access& access : fault.accesses) {
    if (shown == nullptr || (access.place.line != 0 && !same_place(*shown, access.place))) {
      text += place_text(access.place, source.path(access.place.file)) + ": ";
      text += shown == nullptr                      ? fault.what
              : fault.kind == FaultKind::data_race  ? "the other side of the race"
              : fault.kind == FaultKind::conversion ? "or here"
                                                    : "the other place";
      text += '\n';
      text += marked(source.line(access.place), access.place.column);
      shown = &access.place;
    }
    const std::string by = who(access);
    if (!by.empty()) text += fmt::format("    {}{}\n", verb(fault, access), by);
  }
  if (fault.times > 1) text += fmt::format("    {} times\n", fault.times);
  return text;
}

nlohmann::ordered_json access_json(const Access& access, const SourceLines& source) {
  nlohmann::ordered_json json{{"file", source.path(access.place.file)}, {"line", access.place.line}};
  json["column"] = access.place.column;
  json["text"] = source.line(access.place);
  if (access.by_item) {
    json["global_id"] = access.global;
    json["local_id"] = access.local;
  }
  if (access.has_group) json["group_id"] = access.group;
  return json;
}

}  // namespace

SourceLines::SourceLines(std::string file, const std::string& text)
    : file_(std::move(file)), lines_(numbered_lines(text)), known_(!text.empty()) {}

std::string SourceLines::line(const Place& place) const {
  if (place.line == 0) return "";
  const auto from = [&](const std::vector<std::string>& lines) {
    return place.line < lines.size() ? lines[place.line] : std::string();
  };
  if (place.file == file_) return known_ ? from(lines_) : place.text;
  std::ifstream stream(path(place.file));  // Oclgrind looks the number up in the main file
  std::ostringstream text;
  text << stream.rdbuf();
  return from(numbered_lines(text.str()));
}

std::string SourceLines::path(const std::string& file) const {
  namespace fs = std::filesystem;
  if (file.empty() || file == file_ || file.starts_with('/')) return file;
  std::error_code error;
  fs::path folder = fs::current_path(error);
  if (fs::exists(folder / file, error)) return file;
  while (folder.has_relative_path()) {
    folder = folder.parent_path();
    if (fs::exists(folder / file, error)) return folder / file;
  }
  return file;
}

std::string check_text(const std::vector<Fault>& faults, const SourceLines& source) {
  std::string text;
  for (const Fault& fault : faults) {
    text += fault_text(fault, source);
    if (fault.follows) text += "    this may follow from the faults above: mend those first\n";
  }
  return text;
}

nlohmann::ordered_json check_json(const std::vector<Fault>& faults, const SourceLines& source) {
  auto list = nlohmann::ordered_json::array();
  for (const Fault& fault : faults) {
    nlohmann::ordered_json json{{"kind", to_string(fault.kind)}, {"what", fault.what}};
    json["times"] = fault.times;
    if (!fault.space.empty()) json["memory"] = fault.space;
    if (fault.argument >= 0) {
      json["argument"] = fault.argument;
      if (!fault.argument_name.empty()) json["argument_name"] = fault.argument_name;
      json["byte"] = fault.offset;
    }
    json["follows"] = fault.follows;
    json["places"] = nlohmann::ordered_json::array();
    for (const Access& access : fault.accesses) json["places"].push_back(access_json(access, source));
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace masu::cli
