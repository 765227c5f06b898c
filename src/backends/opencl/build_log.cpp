// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/build_log.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace masu::opencl {
namespace {

struct Place {
  std::string_view file;  // empty before the first directive that names one
  std::uint64_t line;
};

// Reads `#line NUMBER "FILE"`; false for any other line.
bool read_directive(std::string_view line, Place& next) {
  constexpr std::string_view word = "#line ";
  if (!line.starts_with(word)) return false;
  line.remove_prefix(word.size());
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), next.line);
  if (error != std::errc{}) return false;
  const std::size_t open = line.find('"');
  const std::size_t close = line.rfind('"');
  if (open < close) next.file = line.substr(open + 1, close - open - 1);
  return true;
}

// What the directives make of a line of the text, counted from 1.
Place presumed(std::string_view source, std::uint64_t wanted) {
  Place place{{}, 1};
  for (std::uint64_t line = 1; line < wanted && !source.empty(); ++line) {
    const std::size_t length = source.find('\n');
    if (!read_directive(source.substr(0, length), place)) ++place.line;
    source.remove_prefix(length == std::string_view::npos ? source.size() : length + 1);
  }
  return place;
}

}  // namespace

std::string with_presumed_lines(std::string_view log, std::string_view source, std::string_view marker) {
  std::string result;
  for (std::size_t found = log.find(marker); found != std::string_view::npos; found = log.find(marker)) {
    const std::string_view number = log.substr(found + marker.size());
    std::uint64_t line = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), line);
    const Place place = error == std::errc{} ? presumed(source, line) : Place{{}, 0};
    if (place.file.empty()) {
      result += log.substr(0, found + marker.size());
      log.remove_prefix(found + marker.size());
    } else {
      result += log.substr(0, found);
      result += place.file;
      result += ':' + std::to_string(place.line);
      log.remove_prefix(static_cast<std::size_t>(end - log.data()));
    }
  }
  return result += log;
}

std::string without_noise(std::string_view log) {
  constexpr std::string_view noise =
      " is a kernel, so overriding noinline attribute. The function may be inlined when called.";
  std::string result;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size() - 1) + 1;
    const std::string_view line = log.substr(0, end);
    if (line.find(noise) == std::string_view::npos) result += line;
    log.remove_prefix(end);
  }
  while (result.ends_with('\n')) result.pop_back();
  return result;
}

}  // namespace masu::opencl
