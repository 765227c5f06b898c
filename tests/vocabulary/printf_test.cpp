// SPDX-License-Identifier: Apache-2.0
// printf in kernels: every conversion, of scalars and vectors, as it reaches this process's standard output.
#include "each_type.h"
#include "tally.h"

#include <fmt/format.h>
#include <masu/program.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <stdexcept>

namespace masu::vocabulary {
namespace {

// What is written to file descriptor 1 in its lifetime.
class CapturedOutput {
 public:
  CapturedOutput() : file_(std::tmpfile()), saved_(::dup(1)) {
    std::fflush(nullptr);
    if (file_ == nullptr || saved_ < 0 || ::dup2(::fileno(file_), 1) < 0) throw std::runtime_error("no capture");
  }
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;
  ~CapturedOutput() {
    (void)end();
    if (file_ != nullptr) std::fclose(file_);
  }
  std::string end() {
    if (saved_ < 0) return {};
    std::fflush(nullptr);
    ::dup2(saved_, 1);
    ::close(saved_);
    saved_ = -1;
    std::rewind(file_);
    std::string text;
    char part[4096];
    while (const std::size_t n = std::fread(part, 1, sizeof part, file_)) text.append(part, n);
    return text;
  }

 private:
  std::FILE* file_;
  int saved_;
};

// The C library as the oracle: one element's text, and a vector's, its elements joined by commas.
template <class T>
std::string text(const char* format, T value) {
  char line[512];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  std::snprintf(line, sizeof line, format, value);
#pragma GCC diagnostic pop
  return line;
}
template <class T>
std::string joined(const char* format, std::initializer_list<T> values) {
  std::string line;
  for (const T value : values) line.append(line.empty() ? "" : ",").append(text(format, value));
  return line;
}

struct Print {
  const char* format;     // also the case's name
  const char* arguments;  // OpenCL C
  std::string expected;
  bool fp64 = false;
};

const std::vector<Print>& prints() {
  static const std::vector<Print> table{
      // Scalars.
      {"%d", "-2147483647", "-2147483647"},
      {"%i", "42", "42"},
      {"%5d|%-5d|%05d|%+d", "42, 42, 42, 42", "   42|42   |00042|+42"},
      {"%u", "4294967295u", "4294967295"},
      {"%o %x %X %#o %#x", "8, 255, 255, 8, 255", "10 ff FF 010 0xff"},
      {"%hd %hhd", "(short)-300, (char)-3", "-300 -3"},
      {"%ld", "-9223372036854775807L", "-9223372036854775807"},
      {"%lu %lx", "18446744073709551615UL, 0x123456789abcdefUL", "18446744073709551615 123456789abcdef"},
      {"%c%c", "'o', 'k'", "ok"},
      {"%s", "\"a text\"", "a text"},
      {"%%", "", "%"},
      {"%f", "1.5f", "1.500000"},
      {"%.3f %8.2f|%-8.2f|", "3.14159f, 2.5f, 2.5f", "3.142     2.50|2.50    |"},
      {"%e %.2E", "12345.678f, 0.00012f", text("%e", double{12345.678F}) + " " + text("%.2E", double{0.00012F})},
      {"%g %G %#g", "0.0001f, 1e20f, 1.5f", text("%g", double{0.0001F}) + " " + text("%G", double{1e20F}) + " 1.50000"},
      {"%a", "1.5f", "0x1.8p+0"},
      {"%f %F %g", "INFINITY, INFINITY, -INFINITY", "inf INF -inf"},
      {"%lf", "1.0 / 3.0", text("%f", 1.0 / 3.0), true},
      {"%.15g", "0.1", "0.1", true},
      {"%.15lg", "0.1", "0.1", true},
      {"%.15g", "third", text("%.15g", 1.0 / 3.0), true},
      {"%.15lf", "third", text("%.15f", 1.0 / 3.0), true},
      {"%.15v2lg", "(double2)(0.1, third)", joined<double>("%.15g", {0.1, 1.0 / 3.0}), true},
      // Vectors: the modifier hh, h, hl or l says how long an element is.
      {"%v4hlf", "(float4)(1.0f, 2.0f, 3.0f, 4.0f)", joined<double>("%f", {1, 2, 3, 4})},
      {"%#2.1v4hlf", "(float4)(1.5f, 7.5f, 5.0f, 15.0f)", "1.5,7.5,5.0,15.0"},
      {"%2.2v2hlf", "(float2)(0.5f, -0.25f)", "0.50,-0.25"},
      {"%v3hlg", "(float3)(1.0f, 0.5f, 1e10f)", "1,0.5,1e+10"},
      {"%v8hle", "(float8)(1, 2, 3, 4, 5, 6, 7, 8)", joined<double>("%e", {1, 2, 3, 4, 5, 6, 7, 8})},
      {"%v16hlg", "(float16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)",
       "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"},
      {"%v2hla", "(float2)(1.0f, -2.5f)", "0x1p+0,-0x1.4p+1"},
      {"%v2lf", "(double2)(0.1, -1e300)", joined<double>("%f", {0.1, -1e300}), true},
      {"%v4lg", "(double4)(1.0, 0.5, 1e100, -0.0)", "1,0.5,1e+100,-0", true},
      {"%v4hhd", "(char4)(-128, 127, 0, -1)", "-128,127,0,-1"},
      {"%v4hhu", "(uchar4)(255, 0, 128, 7)", "255,0,128,7"},
      {"%v16hhx", "(uchar16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 254, 255)",
       "0,1,2,3,4,5,6,7,8,9,a,b,c,d,fe,ff"},
      {"%v3hhd", "(char3)(1, 2, -3)", "1,2,-3"},
      {"%v2hd", "(short2)(-32768, 32767)", "-32768,32767"},
      {"%v8hu", "(ushort8)(65535, 1, 2, 3, 4, 5, 6, 7)", "65535,1,2,3,4,5,6,7"},
      {"%v4hx", "(ushort4)(0xabcd, 0x12, 0, 0xf)", "abcd,12,0,f"},
      {"%v4hld", "(int4)(-1, 2147483647, 0, 77)", "-1,2147483647,0,77"},
      {"%v3hli", "(int3)(1, -2, 3)", "1,-2,3"},
      {"%v4hlu", "(uint4)(4294967295u, 0, 1, 2)", "4294967295,0,1,2"},
      {"%#v2hlx", "(uint2)(0xdeadbeef, 16)", "0xdeadbeef,0x10"},
      {"%v2ld", "(long2)(-9223372036854775807L, 5)", "-9223372036854775807,5"},
      {"%v2lu", "(ulong2)(18446744073709551615UL, 5)", "18446744073709551615,5"},
      {"%v4lx", "(ulong4)(1, 0xffffffffffUL, 3, 4)", "1,ffffffffff,3,4"},
      {"%5v2hld|%-5v2hld|%05v2hld", "(int2)(1, 22), (int2)(1, 22), (int2)(1, 22)",
       "    1,   22|1    ,22   |00001,00022"},
      {"%+v2hld", "(int2)(1, -22)", "+1,-22"},
      {"%v2hlf and %d and %s", "(float2)(1.0f, 2.0f), 3, \"four\"", "1.000000,2.000000 and 3 and four"},
      {"%v2hlf", "(float2)(NAN, -INFINITY)", "nan,-inf"},
      {"before %v2hlf behind", "(float2)(1.0f, 2.0f)", "before 1.000000,2.000000 behind"},
  };
  return table;
}

// Equal texts; of %a equal numbers, as its first digit is the implementation's choice.
bool agree(std::string_view format, const std::string& expected, const std::string& got) {
  if (expected == got || format.back() != 'a') return expected == got;
  const char* a = expected.c_str();
  const char* b = got.c_str();
  while (*a != '\0' && *b != '\0') {
    char* next_a = nullptr;
    char* next_b = nullptr;
    if (std::strtod(a, &next_a) != std::strtod(b, &next_b) || next_a == a || next_b == b || *next_a != *next_b)
      return false;
    a = *next_a == ',' ? next_a + 1 : next_a;
    b = *next_b == ',' ? next_b + 1 : next_b;
  }
  return *a == *b;
}

class Printf : public EachOpenCl {};
MASU_ON_EACH_OPENCL(Printf);

TEST_P(Printf, ScalarsAndVectors) {
  std::string source = device.info().fp64 ? "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" : "";
  source += "__kernel void print(const double third) {\n";
  std::size_t index = 0;
  for (const Print& print : prints()) {
    if (!print.fp64 || device.info().fp64) {
      const std::string_view comma = *print.arguments == '\0' ? "" : ", ";
      // By itself, as a driver may lose what stands around it.
      source += fmt::format("  printf(\"<{}|\");\n  printf(\"{}\"{}{});\n  printf(\">\\n\");\n", index, print.format,
                            comma, print.arguments);
    }
    ++index;
  }
  source += "}\n";
  std::string output;
  {
    Stream stream(device);
    Kernel kernel = Program::from_source(device, source).kernel("print");
    CapturedOutput captured;
    kernel(stream, {1, 1}, 1.0 / 3);
    stream.finish();
    output = captured.end();
  }
  index = 0;
  for (const Print& print : prints()) {
    const std::string start = fmt::format("<{}|", index++);
    if (print.fp64 && !device.info().fp64) {
      tally().count(device.info(), "printf", Verdict::lacking);
      continue;
    }
    const std::size_t at = output.find(start);
    const std::string got =
        at == std::string::npos ? "" : output.substr(at + start.size(), output.find(">\n", at) - at - start.size());
    const std::string name = fmt::format("\"{}\" of {}", print.format, print.arguments);
    judge(device, "printf", "", name,
          agree(print.format, print.expected, got) ? ""
                                                   : fmt::format("expected \"{}\", got \"{}\"", print.expected, got));
  }
}

TEST_P(Printf, FromEveryWorkItem) {
  std::string output;
  {
    Stream stream(device);
    Kernel kernel =
        Program::from_source(
            device, "__kernel void who(const uint base) {\n  printf(\"[%u]\\n\", base + (uint)get_global_id(0));\n}\n")
            .kernel("who");
    CapturedOutput captured;
    for (const std::uint32_t base : {0U, 256U}) kernel(stream, {256, 32}, base);
    stream.finish();
    output = captured.end();
  }
  std::size_t found = 0;
  for (std::size_t i = 0; i < 512; ++i) found += output.find(fmt::format("[{}]\n", i)) != std::string::npos ? 1U : 0U;
  judge(device, "printf", "", "one line from each of 512 work-items",
        found == 512 ? "" : fmt::format("{} lines", found));
}

}  // namespace
}  // namespace masu::vocabulary
