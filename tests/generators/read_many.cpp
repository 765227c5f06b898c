// SPDX-License-Identifier: Apache-2.0
// Reads files as masu::io does and says what it has read. Each line of standard input is a JSON object with the file's
// name and the options; each line of standard output is the answer: the source's facts and its elements in
// hexadecimal, or the error's text.
#include <masu/io.h>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

namespace {

using Json = nlohmann::json;

// What a text left out, by kind, and the rows of its numbers.
void add_report(masu::io::Source& source, bool with_places, std::uint64_t count, Json& answer) {
  const masu::io::TextReport report = source.report();
  for (const auto& kind : report.left_out) answer["left_out"].push_back({{"count", kind.count}, {"first", kind.first}});
  answer["rows"] = report.places;
  answer["comment_lines"] = report.comment_lines;
  answer["row_names"] = report.row_names;
  if (!with_places) return;
  std::vector<std::uint64_t> places(count);
  std::iota(places.begin(), places.end(), std::uint64_t{0});
  source.to_places(places);
  answer["places"] = places;
}

masu::io::SourceOptions options_of(const Json& asked) {
  masu::io::SourceOptions options;
  options.format = masu::io::input_format_from_name(asked.value("format", "auto"));
  if (asked.contains("dtype")) options.dtype = masu::dtype_from_name(asked["dtype"].get<std::string>());
  options.column = asked.value("column", options.column);
  options.delimiter = asked.value("delimiter", options.delimiter);
  options.header = asked.value("header", options.header);
  if (asked.contains("comment")) options.comment = asked["comment"].get<std::string>();
  options.strict = asked.value("strict", options.strict);
  options.map = asked.value("map", options.map);
  options.part = asked.value("part", options.part);
  options.parts = asked.value("parts", options.parts);
  options.decimal = asked.value("decimal", options.decimal);
  options.places = asked.value("places", options.places);
  return options;
}

std::string in_hexadecimal(const std::vector<std::byte>& bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    out += digits[std::to_integer<unsigned>(byte) >> 4];
    out += digits[std::to_integer<unsigned>(byte) & 15];
  }
  return out;
}

Json read(const Json& asked) {
  const masu::io::SourceOptions options = options_of(asked);
  const auto source = masu::io::open(asked.at("input").get<std::string>(), options);
  const std::vector<std::byte> elements = masu::io::read_all(*source, std::uint64_t{1} << 26);
  const masu::io::SourceInfo& info = source->info();
  Json answer{{"format", info.format},      {"dtype", masu::to_string(info.dtype)},
              {"shape", info.shape},        {"fortran_order", info.fortran_order},
              {"channels", info.channels},  {"notes", info.notes},
              {"bad", source->bad_lines()}, {"elements", in_hexadecimal(elements)}};
  if (info.format == "text") add_report(*source, options.places, elements.size() / masu::size_of(info.dtype), answer);
  return answer;
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    Json answer;
    try {
      answer = read(Json::parse(line));
    } catch (const std::exception& error) {
      answer = Json{{"error", error.what()}};
    }
    std::cout << answer.dump(-1, ' ', true, Json::error_handler_t::replace) << std::endl;
  }
}
