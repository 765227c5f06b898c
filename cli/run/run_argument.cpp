// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/array_stream.h"
#include "cli/run/run_job.h"
#include "elements/order.h"
#include "io/reader.h"
#include "options.h"
#include "program.h"
#include "runtime/text.h"

#include <masu/dtype.h>
#include <masu/io.h>
#include <masu/program.h>

#include <cxxabi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
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
    usage_error("--arg: {} is a whole number from {} to {}, got '{}'", dtype, +Limits::min(), +Limits::max(), text);
  }
  usage_error("--arg: {} is a number that fits it, inf or nan, got '{}'", dtype, text);
}

// Its magnitude; nothing for what is no whole number below 2^64.
std::optional<std::uint64_t> magnitude(std::string_view digits) {
  const bool hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
  const std::string_view rest = digits.substr(hexadecimal ? 2 : 0);
  std::uint64_t value = 0;
  if (runtime::is_number(rest, value, hexadecimal ? 16 : 10)) return value;
  if (hexadecimal) return std::nullopt;
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
requires(is_float_type<T>) T parse_number(std::string_view text) {
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
    const T stored = rounded_to<T>(value);
    if (number && std::isinf(to_double(stored))) not_of<T>(text);
    return stored;
  }
}

// Nothing where the text names no type. A dtype with another width is wrong usage.
std::optional<ValueType> value_type(std::string_view name) {
  const std::size_t x = std::min(name.find('x'), name.size());
  const std::string_view dtype = name.substr(0, x);
  ValueType type;
  try {
    type.dtype = dtype_from_name(dtype);
  } catch (const Error&) {
    return std::nullopt;
  }
  if (x == name.size()) return type;
  if (!runtime::is_number(name.substr(x + 1), type.width) || std::ranges::find(widths, type.width) == widths.end()) {
    usage_error("--arg: vectors have 2, 3, 4, 8 or 16 elements (f32x4), got '{}'", name);
  }
  return type;
}

// A kernel argument from "1" or "1,2,3,4". Integers in decimal, in hexadecimal with 0x, or with a unit as sizes have
// (64Ki); floats as C reads them (1e-3, 0x1p-4, inf, nan). Wrong usage where the text is none, or too large for the
// type.
KernelArgument parse_value(ValueType type, const std::string& text) {
  const std::vector<std::string> parts = split(text);
  if (parts.size() != type.width) {
    usage_error("--arg: {} takes {} value{}, got {} in '{}'", name_of(type), type.width, type.width == 1 ? "" : "s",
                parts.size(), text);
  }
  return dispatch(type.dtype, [&]<class T>(TypeTag<T>) {
    std::vector<T> values;
    for (const std::string& part : parts) values.push_back(parse_number<T>(part));
    return KernelArgument::value({type.dtype, static_cast<std::uint8_t>(type.width)}, values.data());
  });
}

constexpr std::uint64_t most_local_bytes = std::uint64_t{1} << 40U;

// The texts that may follow an INPUT.
struct Texts {
  std::string dtype;
  std::string format;
  std::string out;
};
using TextKey = std::pair<std::string_view, std::string Texts::*>;
constexpr std::array<TextKey, 3> keys{
    {{",format=", &Texts::format}, {",dtype=", &Texts::dtype}, {",out=", &Texts::out}}};

// Takes the texts of these keys off the end of `input`: commas stand in the names of files too.
Texts take_texts(std::string_view option, std::string& input, std::span<const TextKey> known) {
  Texts texts;
  const std::string whole = input;
  while (true) {
    std::size_t at = 0;
    const TextKey* last = nullptr;
    for (const TextKey& key : known) {
      const std::size_t found = input.rfind(key.first);
      if (found == std::string::npos || (last != nullptr && found < at)) continue;
      at = found;
      last = &key;
    }
    if (last == nullptr) break;
    const auto& [key, text] = *last;
    if (!(texts.*text).empty()) usage_error("{}: {} is given twice in '{}'", option, key.substr(1), whole);
    texts.*text = input.substr(at + key.size());
    if ((texts.*text).empty()) usage_error("{}: {} needs a value, got '{}'", option, key.substr(1), whole);
    input.resize(at);
  }
  if (input.empty()) usage_error("{}: an INPUT must follow the '=', got '{}'", option, whole);
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
    usage_error("--arg buffer: dtype= takes {}, got '{}'", words_of("DTYPE"), texts.dtype);
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
  // As out= writes them. What words like nan and inf make of a text cannot be recognised by content.
  const bool text = request.format == "auto" && (request.input.ends_with(".txt") || request.input.ends_with(".csv"));
  io::SourceOptions options;
  options.format = io::input_format_from_name(text ? "text" : request.format);
  options.strict = options.format == io::InputFormat::text;
  if (text) options.decimal = ".";  // the comma separates
  options.dtype = request.dtype;
  std::unique_ptr<io::Source> source = io::open(request.input, options);
  source->retype(Dtype::f64);  // what a kernel gets depends on its parameters, not on the numbers
  return source;
}

void refuse_bad_entries(const io::Source& source) {
  if (source.bad_lines() == 0) return;
  data_error("{}: {} of its entries are no numbers of dtype {}", source.info().name, source.bad_lines(),
             to_string(source.info().dtype));
}

// The text of a program, its language, and which kernel of it to run.

namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 20U;

std::string read_text(const std::string& path, const std::string& name) {
  const std::unique_ptr<io::ByteStream> stream = io::open_stream(path, name, "");
  std::string text;
  std::array<std::byte, 65536> block{};
  while (const std::size_t bytes = stream->read(block.data(), block.size())) {
    text.append(reinterpret_cast<const char*>(block.data()), bytes);
    if (text.size() > most_bytes) io::fail_io(name, fmt::format("is no kernel: more than {} bytes", most_bytes));
  }
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // the mark of UTF-8
  if (text.find('\0') != std::string::npos) io::fail_io(name, "is no kernel: it has zero bytes");
  if (text.find_first_not_of(" \t\r\n\f\v") == std::string::npos) io::fail_io(name, "has no kernel: it is empty");
  return text;
}

std::optional<DeviceKind> kind_of_device(std::string_view id) {
  const std::string_view kind = id.substr(0, id.find(':'));
  for (const DeviceKind known : {DeviceKind::cpu, DeviceKind::opencl, DeviceKind::cuda}) {
    if (kind == to_string(known)) return known;
  }
  return std::nullopt;
}

std::string_view preset_device() {
  const char* preset = std::getenv("MASU_DEVICE");
  return preset != nullptr ? preset : "";
}

std::string_view language_name(DeviceKind kind) {
  constexpr std::string_view names[] = {"", "OpenCL C", "CUDA C++"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace

DeviceKind kernel_language(const std::string& path, const std::string& language, const std::string& device) {
  if (language == "opencl") return DeviceKind::opencl;
  if (language == "cuda") return DeviceKind::cuda;
  if (!language.empty()) usage_error("--language takes opencl or cuda, got '" + language + "'");
  if (path.ends_with(".cl")) return DeviceKind::opencl;
  if (path.ends_with(".cu")) return DeviceKind::cuda;
  const std::optional<DeviceKind> kind = kind_of_device(device.empty() ? preset_device() : device);
  if (kind && *kind != DeviceKind::cpu) return *kind;
  usage_error("{} ends neither in .cl nor in .cu; say --language opencl or cuda", path);
}

KernelText read_kernel(const std::string& path, DeviceKind language) {
  KernelText kernel;
  kernel.language = language;
  kernel.name = path == "-" ? "<stdin>" : path;
  kernel.text = read_text(path, path == "-" ? "standard input" : path);
  return kernel;
}

std::string with_file_name(const KernelText& kernel) {
  std::string line = "#line 1 \"";
  for (const char c : kernel.name) {
    if (c == '"' || c == '\\') line += '\\';
    line += static_cast<unsigned char>(c) < ' ' ? '?' : c;
  }
  return line + "\"\n" + kernel.text;
}

bool includes_files(const KernelText& kernel) {
  constexpr std::string_view word = "include";
  const std::string_view text = kernel.text;
  for (std::size_t at = text.find('#'); at != std::string_view::npos; at = text.find('#', at + 1)) {
    const std::size_t next = text.find_first_not_of(" \t", at + 1);
    if (next != std::string_view::npos && text.substr(next).starts_with(word)) return true;
  }
  return false;
}

std::string device_for(DeviceKind language, const std::string& asked, const std::string& file) {
  if (asked.empty() || asked == "auto") {
    const std::string_view preset = asked.empty() ? preset_device() : "";
    return std::string(kind_of_device(preset) == language ? preset : to_string(language));
  }
  const std::optional<DeviceKind> kind = kind_of_device(asked);
  if (kind && *kind != language) {
    usage_error("{} is {}, which {} does not run; --device takes {}", file, language_name(language), asked,
                language == DeviceKind::opencl ? "opencl or opencl:N" : "cuda or cuda:N");
  }
  return asked;  // of no known kind: opening it says so
}

namespace {

// "_Z3addPfi" is add(float*, int) of the source: "add". Other names stay.
std::string unmangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  if (!name.starts_with("_Z") || status != 0 || !text) return name;
  const std::string whole = text.get();
  return whole.substr(0, whole.find('('));
}

std::string parameter_text(std::size_t number, const KernelParameter& parameter) {
  std::string text = parameter.kind == KernelParameter::Kind::local ? "local " : "";
  if (!parameter.type.empty()) text += parameter.type;
  else if (parameter.bytes != 0) text += fmt::format("{} bytes", parameter.bytes);
  if (!parameter.name.empty()) text += (text.empty() ? "" : " ") + parameter.name;
  return fmt::format("{}: {}", number, text.empty() ? "unknown" : text);
}

}  // namespace

Kernel find_kernel(const Program& program, const std::string& name, const std::string& file) {
  const std::vector<std::string> linked = program.kernel_names();
  std::vector<std::string> names;
  for (const std::string& known : linked) names.push_back(unmangled(known));
  if (names.empty()) {
    throw Error(ErrorCode::invalid_argument,
                file + " has no kernel: a function marked __kernel in OpenCL C, __global__ in CUDA C++");
  }
  if (name.empty() && names.size() == 1) return program.kernel(linked.front());
  if (name.empty()) {
    usage_error("{} has {} kernels; --kernel takes one of {}", file, names.size(), fmt::join(names, ", "));
  }
  if (std::find(linked.begin(), linked.end(), name) != linked.end()) return program.kernel(name);
  const auto matching = std::count(names.begin(), names.end(), name);
  if (matching == 1) {
    return program.kernel(
        linked[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin())]);
  }
  // Overloads have one name in the source: those of the linker tell them apart.
  const std::string list = fmt::format("{}", fmt::join(matching > 1 ? linked : names, ", "));
  usage_error("{} has the kernel{} {}; --kernel got '{}'", file, names.size() == 1 ? "" : "s", list, name);
}

std::string source_name(const Kernel& kernel) {
  return unmangled(kernel.name());
}

void check_count(const Kernel& kernel, std::span<const KernelArgument> arguments, DeviceKind device) {
  const std::vector<KernelParameter>& parameters = kernel.parameters();
  // Dynamic shared memory takes no parameter of a CUDA kernel.
  const auto given = std::count_if(arguments.begin(), arguments.end(), [&](const KernelArgument& argument) {
    return device != DeviceKind::cuda || argument.kind() != KernelArgument::Kind::local;
  });
  if (parameters.empty() || parameters.size() == static_cast<std::size_t>(given)) return;
  std::vector<std::string> texts;
  for (const KernelParameter& parameter : parameters) texts.push_back(parameter_text(texts.size(), parameter));
  usage_error("{} takes {} argument{} ({}), got {} --arg", source_name(kernel), parameters.size(),
              parameters.size() == 1 ? "" : "s", fmt::join(texts, ", "), given);
}

std::size_t argument_number(const Kernel& kernel, const std::string& text, std::size_t count) {
  std::size_t number = 0;
  if (runtime::is_number(text, number) && number < count) return number;
  const std::vector<KernelParameter>& parameters = kernel.parameters();
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const KernelParameter& parameter) { return parameter.name == text; });
  const auto index = static_cast<std::size_t>(found - parameters.begin());
  if (found != parameters.end() && index < count) return index;
  usage_error("--expect: {} has {} argument{}, the first is number 0, got '{}'", source_name(kernel), count,
              count == 1 ? "" : "s", text);
}

std::string argument_name(const Kernel& kernel, std::size_t number) {
  const std::vector<KernelParameter>& parameters = kernel.parameters();
  return number < parameters.size() ? parameters[number].name : "";
}

std::string argument_text(std::size_t number, const std::string& name) {
  return fmt::format("argument {}{}", number, name.empty() ? "" : " (" + name + ")");
}

}  // namespace masu::cli
