// SPDX-License-Identifier: Apache-2.0
#include "cli/check/check_faults.h"

#include <fmt/format.h>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

namespace masu::cli {
namespace {

constexpr std::size_t most_lines = std::size_t{1} << 20;  // a wild #line must not take the memory

// The N of `#line N`, in any of its spellings.
std::optional<std::size_t> line_directive(std::string_view line) {
  const auto skip = [&] {
    const auto first = line.find_first_not_of(" \t");
    line.remove_prefix(first == std::string_view::npos ? line.size() : first);
  };
  skip();
  if (!line.starts_with('#')) return std::nullopt;
  line.remove_prefix(1);
  skip();
  if (line.starts_with("line")) line.remove_prefix(4);
  skip();
  std::size_t number = 0;
  if (std::from_chars(line.data(), line.data() + line.size(), number).ec != std::errc()) return std::nullopt;
  return number;
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

bool same_place(const Place& left, const Place& right) {
  return left.file == right.file && left.line == right.line && left.column == right.column;
}

std::string fault_text(const Fault& fault, const SourceLines& source) {
  if (fault.accesses.empty()) return fault.what + "\n";
  std::string text;
  const Place* shown = nullptr;
  for (const Access& access : fault.accesses) {
    if (shown == nullptr || (access.place.line != 0 && !same_place(*shown, access.place))) {
      text += place_text(access.place, source.path(access.place.file)) + ": ";
      text += shown == nullptr                     ? fault.what
              : fault.kind == FaultKind::data_race ? "the other side of the race"
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
