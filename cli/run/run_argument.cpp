// SPDX-License-Identifier: Apache-2.0
#include "cli/run/run_argument.h"

#include "cli/arrays/array_output.h"
#include "cli/run/run_value.h"
#include "errors.h"
#include "options.h"
#include "value_names.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace masu::cli {
namespace {

constexpr std::uint64_t most_local_bytes = std::uint64_t{1} << 40U;

// What stands behind an INPUT.
struct Texts {
  std::string dtype;
  std::string format;
  std::string out;
};
struct RunArgumentKey {
  std::string_view text;
  std::string Texts::*value;
};
constexpr std::array<RunArgumentKey, 3> keys{
    {{",format=", &Texts::format}, {",dtype=", &Texts::dtype}, {",out=", &Texts::out}}};

// Where the next of the keys begins: commas stand in the names of files too.
std::size_t next_key(std::string_view text, std::span<const RunArgumentKey> known, std::size_t from) {
  std::size_t next = text.size();
  for (const RunArgumentKey& key : known) next = std::min(next, text.find(key.text, from));
  return next;
}

// Takes the texts of the keys off `input`, which stays with what stands before them.
Texts take_texts(std::string_view option, std::string& input, std::span<const RunArgumentKey> known) {
  Texts texts;
  const std::string whole = input;
  std::size_t at = next_key(whole, known, 0);
  input = whole.substr(0, at);
  while (at < whole.size()) {
    const RunArgumentKey& key = *std::find_if(known.begin(), known.end(), [&](const RunArgumentKey& k) {
      return whole.compare(at, k.text.size(), k.text) == 0;
    });
    const std::size_t begin = at + key.text.size();
    at = next_key(whole, known, begin);
    if (at == begin) usage_error(fmt::format("{}: {} needs a value, got '{}'", option, key.text.substr(1), whole));
    std::string& value = texts.*key.value;
    if (!value.empty()) usage_error(fmt::format("{}: {} is given twice in '{}'", option, key.text.substr(1), whole));
    value = whole.substr(begin, at - begin);
  }
  if (input.empty()) usage_error(fmt::format("{}: an INPUT must follow the '=', got '{}'", option, whole));
  return texts;
}

BufferRequest parse_buffer(const std::string& text) {
  BufferRequest request;
  request.from.input = text;
  const Texts texts = take_texts("--arg buffer", request.from.input, keys);
  request.output = texts.out;
  check_array_ending("--arg buffer: out=", texts.out);
  if (!texts.format.empty()) request.from.format = texts.format;
  if (texts.dtype.empty()) return request;
  const std::optional<ValueType> type = value_type(texts.dtype);
  if (!type || type->width != 1) {
    usage_error(fmt::format("--arg buffer: dtype= takes {}, got '{}'", words_of("DTYPE"), texts.dtype));
  }
  request.from.dtype = type->dtype;
  return request;
}

}  // namespace

RunArgument parse_argument(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string key = equals == std::string::npos ? "" : text.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
  if (key == "buffer") return parse_buffer(value);
  if (key == "local") return KernelArgument(LocalMemory{whole_number("--arg local", value, 1, most_local_bytes)});
  const std::optional<ValueType> type = value_type(key);
  if (!type) {
    usage_error("--arg takes buffer=INPUT, local=BYTES, DTYPE=VALUE or a vector as f32x4=A,B,C,D, got '" + text + "'");
  }
  return parse_value(*type, value);
}

Expectation parse_expectation(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    usage_error("--expect takes N=INPUT, N the number of a buffer among the arguments from 0, got '" + text + "'");
  }
  Expectation expectation{text.substr(0, equals), {text.substr(equals + 1), {}, "auto"}};
  const Texts texts = take_texts("--expect", expectation.input.input, std::span(keys).first(1));
  if (!texts.format.empty()) expectation.input.format = texts.format;
  return expectation;
}

std::unique_ptr<io::Source> open_input(const InputRequest& request) {
  // As out= writes them. What words like nan and inf make of a text cannot be told from raw elements by content.
  const bool text = request.format == "auto" && (request.input.ends_with(".txt") || request.input.ends_with(".csv"));
  io::SourceOptions options;
  options.format = io::input_format_from_name(text ? "text" : request.format);
  options.strict = options.format == io::InputFormat::text;
  options.dtype = request.dtype;
  std::unique_ptr<io::Source> source = io::open(request.input, options);
  source->retype(Dtype::f64);  // what a kernel gets depends on its parameters, not on the numbers
  return source;
}

void refuse_bad_entries(const io::Source& source) {
  if (source.bad_lines() == 0) return;
  throw Error(ErrorCode::io, fmt::format("{}: {} of its entries are no numbers of dtype {}", source.info().name,
                                         source.bad_lines(), to_string(source.info().dtype)));
}

}  // namespace masu::cli
