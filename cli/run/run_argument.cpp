// SPDX-License-Identifier: Apache-2.0
#include "cli/run/run_job.h"

#include "cli/arrays/array_output.h"
#include "errors.h"
#include "options.h"
#include "runtime/half.h"

#include <fmt/format.h>
#include <masu/dtype.h>
#include <masu/io.h>
#include <masu/program.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace masu::cli {
namespace {

// Values of kernel arguments as text: "f32" and "0.5", "u8x4" and "1,2,3,0xff".

// A type as --arg names it: a dtype, and how many of them (1, or a vector of 2, 3, 4, 8 or 16).
struct ValueType {
  Dtype dtype = Dtype::u8;
  unsigned width = 1;
};

constexpr std::array<unsigned, 5> widths{2, 3, 4, 8, 16};

std::string name_of(ValueType type) {
  return type.width == 1 ? std::string(to_string(type.dtype)) : fmt::format("{}x{}", to_string(type.dtype), type.width);
}

template <class T>
[[noreturn]] void not_of(std::string_view text) {
  const std::string_view dtype = to_string(dtype_of<T>);
  if constexpr (std::integral<T>) {
    using Limits = std::numeric_limits<T>;
    usage_error(fmt::format("--arg: {} is a whole number from {} to {}, got '{}'", dtype, +Limits::min(),
                            +Limits::max(), text));
  }
  usage_error(fmt::format("--arg: {} is a number that fits it, inf or nan, got '{}'", dtype, text));
}

// Its magnitude; nothing for what is no whole number below 2^64.
std::optional<std::uint64_t> magnitude(std::string_view digits) {
  const bool hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
  const std::string_view rest = digits.substr(hexadecimal ? 2 : 0);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value, hexadecimal ? 16 : 10);
  if (error == std::errc() && end == rest.data() + rest.size()) return value;
  if (hexadecimal || error != std::errc()) return std::nullopt;
  try {
    return io::parse_size(digits);
  } catch (const Error&) {
    return std::nullopt;
  }
}

template <std::integral T>
T parse_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::optional<std::uint64_t> value = magnitude(text.substr(negative || text.starts_with('+') ? 1 : 0));
  if (!value) not_of<T>(text);
  const auto most = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  if (!negative) {
    if (*value > most) not_of<T>(text);
    return static_cast<T>(*value);
  }
  if (*value > (std::is_signed_v<T> ? most + 1 : 0)) not_of<T>(text);
  return static_cast<T>(std::uint64_t{0} - *value);
}

// Rounded once, by the C library; what is too large gives infinity, what is too small zero.
void read_float(const char* text, char** end, float& value) {
  value = std::strtof(text, end);
}
void read_float(const char* text, char** end, double& value) {
  value = std::strtod(text, end);
}

template <class T>
requires(std::floating_point<T> || std::same_as<T, Half>) T parse_number(std::string_view text) {
  const std::string copy(text);
  const char first = copy[copy.starts_with('-') || copy.starts_with('+') ? 1 : 0];
  const bool number = (first >= '0' && first <= '9') || first == '.';
  if (!number && first != 'i' && first != 'I' && first != 'n' && first != 'N') not_of<T>(text);
  std::conditional_t<std::floating_point<T>, T, double> value = 0;
  char* end = nullptr;
  read_float(copy.c_str(), &end, value);
  if (end != copy.c_str() + copy.size()) not_of<T>(text);
  if constexpr (std::floating_point<T>) {
    if (number && std::isinf(value)) not_of<T>(text);
    return value;
  } else {
    const Half half = runtime::to_half(value);
    if (number && std::isinf(runtime::to_double(half))) not_of<T>(text);
    return half;
  }
}

// Nothing where the text names no type. A dtype with another width is wrong usage.
std::optional<ValueType> value_type(std::string_view name) {
  const std::size_t x = std::min(name.find('x'), name.size());
  const std::string_view dtype = name.substr(0, x);
  ValueType type;
  if (dtype == "bool") {
    type.dtype = Dtype::u8;
  } else {
    int found = 0;
    while (found <= static_cast<int>(Dtype::f64) && dtype != to_string(static_cast<Dtype>(found))) ++found;
    if (found > static_cast<int>(Dtype::f64)) return std::nullopt;
    type.dtype = static_cast<Dtype>(found);
  }
  if (x == name.size()) return type;
  const std::string_view digits = name.substr(x + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), type.width);
  if (error != std::errc() || end != digits.data() + digits.size() ||
      std::find(widths.begin(), widths.end(), type.width) == widths.end()) {
    usage_error(fmt::format("--arg: vectors have 2, 3, 4, 8 or 16 elements (f32x4), got '{}'", name));
  }
  return type;
}

// A kernel argument from "1" or "1,2,3,4". Integers in decimal, in hexadecimal with 0x, or with a unit as sizes have
// (64Ki); floats as C reads them (1e-3, 0x1p-4, inf, nan). Wrong usage where the text is none, or too large for the
// type.
KernelArgument parse_value(ValueType type, std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    parts.push_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (parts.size() != type.width) {
    usage_error(fmt::format("--arg: {} takes {} value{}, got {} in '{}'", name_of(type), type.width,
                            type.width == 1 ? "" : "s", parts.size(), text));
  }
  return dispatch(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<T> values;
    for (const std::string_view part : parts) values.push_back(parse_number<T>(part));
    return KernelArgument::value({type.dtype, static_cast<std::uint8_t>(type.width)}, values.data());
  });
}

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
