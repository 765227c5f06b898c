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

template <class Options>
void newer(Options& options, const Json& asked) {
  if constexpr (requires { options.decimal; }) options.decimal = asked.value("decimal", options.decimal);
  if constexpr (requires { options.places; }) options.places = asked.value("places", options.places);
  if constexpr (requires { options.alpha; }) options.alpha = asked.value("alpha", options.alpha);
}

// What a text left out, by kind, and the rows of its numbers.
template <class Source>
void add_report(Source& source, const Json& asked, std::uint64_t count, Json& answer) {
  if constexpr (requires { source.report(); }) {
    const auto report = source.report();
    for (const auto& kind : report.left_out)
      answer["left_out"].push_back({{"count", kind.count}, {"first", kind.first}});
    answer["rows"] = report.places;
    answer["lines"] = report.lines;
    answer["columns"] = report.columns;
    answer["ragged_line"] = report.ragged_line;
    answer["comment_lines"] = report.comment_lines;
    answer["row_names"] = report.row_names;
    answer["delimiter"] = std::string(1, report.delimiter);
    if (!asked.value("places", false)) return;
    std::vector<std::uint64_t> places(count);
    std::iota(places.begin(), places.end(), std::uint64_t{0});
    source.to_places(places);
    answer["places"] = places;
  }
}

template <class Info>
void add_notes(const Info& info, Json& answer) {
  if constexpr (requires { info.notes; }) {
    answer["notes"] = info.notes;
    answer["largest"] = info.largest;
  } else if (info.images > 1) {
    answer["notes"] = {"read image 1 of " + std::to_string(info.images)};
  }
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
  newer(options, asked);
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
  const auto source = masu::io::open(asked.at("input").get<std::string>(), options_of(asked));
  const std::vector<std::byte> elements = masu::io::read_all(*source, std::uint64_t{1} << 26);
  const masu::io::SourceInfo& info = source->info();
  Json answer{{"format", info.format},
              {"dtype", masu::to_string(info.dtype)},
              {"shape", info.shape},
              {"fortran_order", info.fortran_order},
              {"channels", info.channels},
              {"bad", source->bad_lines()},
              {"elements", in_hexadecimal(elements)}};
  add_notes(info, answer);
  if (info.format == "text") add_report(*source, asked, elements.size() / masu::size_of(info.dtype), answer);
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
