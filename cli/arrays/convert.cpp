// SPDX-License-Identifier: Apache-2.0
// masu convert: numbers as another element type.
#include "cli/arrays/array_stream.h"
#include "cli/selftest/references.h"
#include "errors.h"
#include "json.h"
#include "options.h"

#include <fmt/format.h>
#include <masu/convert.h>
#include <memory>

namespace masu::cli {
namespace {

constexpr const char* examples = R"(Examples:
  masu convert samples.npy --to f16 -o half.npy
  masu convert samples.npy --to f16 --rounding zero -o half.npy
  masu convert readings.txt --to u8 --saturate -o readings.raw
  masu convert big.raw --dtype u32 --endian big --to u32 -o little.raw)";

struct ConvertCommandOptions {
  CommonOptions common;
  InputOptions input;
  std::string to;
  std::string rounding = std::string(to_string(Rounding::nearest_even));
  bool saturate = false;
  bool wrap = false;
};

ConvertOptions conversion(const ConvertCommandOptions& asked) {
  ConvertOptions how;
  if (asked.saturate && asked.wrap) usage_error("--saturate and --wrap exclude each other");
  how.overflow = asked.saturate ? Overflow::saturate : asked.wrap ? Overflow::wrap : Overflow::error;
  how.rounding = named("--rounding", words_of("ROUNDING"), asked.rounding, rounding_from_name);
  return how;
}

void compare(const ArrayView& piece, const ArrayView& result, const ConvertOptions& how) {
  for (std::uint64_t i = 0; i < piece.count; ++i) {
    std::uint64_t expected = 0;
    const bool fits = reference_convert(piece, i, result.dtype, how.overflow, how.rounding, expected);
    if (fits && bits_of(result, i) == expected) continue;
    throw Differs(fmt::format("element {} differs from the reference's", how.first_position + i));
  }
}

// An array keeps its shape, and its order.
std::vector<std::uint64_t> shape_of(ArrayStream& stream, const CommonOptions& common) {
  return stream.info().shape.empty() ? flat_shape(stream, common) : stream.info().shape;
}

Exit run_command(ConvertCommandOptions& asked) {
  const CommonOptions& common = apply(asked.common);
  check_array_output(common);
  const Dtype to = dtype_from_name(asked.to);
  ConvertOptions how = conversion(asked);
  ArrayStream stream(asked.input, common, Work::moving, "convert");
  ArrayOutput output(common.output, stream.info());
  output.begin(to, shape_of(stream, common), stream.info().fortran_order);
  ArrayDone done;
  std::vector<std::byte> result;
  stream.each([&](const ArrayView& piece) {
    Times times;
    how.times = &times;
    how.first_position = done.count;
    result.resize(piece.count * size_of(to));
    const MutableArrayView target(to, result.data(), piece.count);
    with_data(stream.info().name, [&] { convert(stream.device(), piece, target, how); });
    done.times += times;
    const auto began = Clock::now();
    if (common.verify) compare(piece, target, how);
    done.verifying += since(began);
    output.write(target);
    done.count += piece.count;
  });
  output.commit();
  done.json_more = fmt::format(R"("to":"{}",)", to_string(to));
  tell_array(stream, common, done);
  return Exit::done;
}

}  // namespace

Command add_convert(CommandLine& line) {
  return array_command<ConvertCommandOptions>(
      line, "convert", "Convert numbers to another element type", examples, Printed::nothing, run_command,
      [](const Subcommand& app, ConvertCommandOptions& options) {
        app.add_option("--to", options.to, "The element type of the result").required().type_name("DTYPE");
        app.add_flag("--saturate", options.saturate, "A value that does not fit becomes the nearest that does");
        app.add_flag("--wrap", options.wrap,
                     "A value that does not fit is taken modulo 2^bits; floats become infinite");
        app.add_option("--rounding", options.rounding,
                       "Where a value between two floats goes (nearest-even): " + words_of("ROUNDING"))
            .type_name("ROUNDING");
      });
}

}  // namespace masu::cli
