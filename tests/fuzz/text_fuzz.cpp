// SPDX-License-Identifier: Apache-2.0
// The first four bytes choose the options.
#include <array>
#include <cstdlib>
#include <string>

#include "io/rows.h"
#include "read_twice.h"

namespace {

// The rows are the same twice.
void read_rows(std::span<const std::uint8_t> data, const masu::io::SourceOptions& options) {
  try {
    const std::array<std::string, 2> columns = {options.column.empty() ? "1" : options.column, "1"};
    masu::io::Rows rows({"fuzz", masu::io::memory_stream(std::as_bytes(data))}, options, columns, true);
    rows.keep_for_rewind();
    const auto all = [&rows] {
      std::string text = rows.header();
      while (rows.next()) {
        for (const std::string_view field : rows.fields()) text += field;
        text += rows.text();
        (void)rows.number(0);
      }
      return text;
    };
    const std::string first = all();
    rows.rewind();
    if (all() != first) std::abort();
  } catch (const masu::Error&) {  // malformed
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  constexpr std::array<const char*, 6> columns = {"", "1", "2", "7", "a", "name:b"};
  constexpr std::array<const char*, 7> delimiters = {"", ",", ";", "tab", " ", "x", "blanks"};
  constexpr std::array<const char*, 4> comments = {"#", "", "//", "-"};
  masu::io::SourceOptions options;
  options.format = masu::io::InputFormat::text;
  // 11 and 12: the numbers decide it.
  if (data[0] % 13 < 11) options.dtype = static_cast<masu::Dtype>(data[0] % 13);
  options.memory = 1;
  options.column = columns[data[1] % columns.size()];
  options.delimiter = delimiters[data[2] % delimiters.size()];
  if ((data[3] & 0x08) == 0) options.comment = comments[data[3] % comments.size()];
  if ((data[3] & 0x10) != 0) options.decimal = (data[3] & 0x20) != 0 ? "," : ".";
  options.places = (data[1] & 0x80) != 0;
  options.header = (data[3] & 0x40) != 0;
  options.strict = (data[3] & 0x80) != 0;
  read_rows({data + 4, size - 4}, options);
  masu::io::fuzz::read_twice({data + 4, size - 4}, options, masu::io::open_text);
  return 0;
}
