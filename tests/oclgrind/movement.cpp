// SPDX-License-Identifier: Apache-2.0
// The kernels that transpose, convert, and move by indices and flags, on the device opencl:0, small, against plain
// loops: what check.sh runs under Oclgrind. Everything is launched from this one thread.
//
//   oclgrind_movement transpose|convert|gather|compact
#include "expect.h"

#include "convert/convert_plan.h"
#include "gather/gather_plan.h"
#include "transpose/transpose_plan.h"

#include <masu/stream.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace masu {
namespace {

using oclgrind::expect;

constexpr unsigned group = 16;

std::vector<std::byte> bytes_of(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 37 + i / 251);
  return bytes;
}

void transpose_matrix(const Device& device, std::size_t size, std::uint64_t rows, std::uint64_t columns,
                      bool in_place) {
  const std::vector<std::byte> data = bytes_of(rows * columns * size);
  const Buffer<std::byte> in = device.upload(data);
  const Buffer<std::byte> out = in_place ? in.slice(0, in.size()) : device.upload(std::vector<std::byte>(data.size()));
  const transpose_plan::Matrix matrix{rows, columns, size, 0, 0, in_place};
  Stream stream(device);
  transpose_on_device(stream, in, matrix, out, transpose_plan::make(device.info(), matrix, group));
  stream.finish();
  const std::vector<std::byte> made = out.read();
  bool right = true;
  for (std::uint64_t i = 0; i < rows * columns; ++i) {
    right = right && std::memcmp(&made[(i % columns * rows + i / columns) * size], &data[i * size], size) == 0;
  }
  expect(right, std::to_string(rows) + " x " + std::to_string(columns) + " of " + std::to_string(size) + " bytes" +
                    (in_place ? ", in place" : ""));
}

void convert_values(const Device& device, Dtype from, Dtype to, std::size_t count, Overflow overflow,
                    Rounding rounding) {
  const std::vector<std::byte> data = bytes_of(count * size_of(from));
  const Buffer<std::byte> in = device.upload(data);
  const Buffer<std::byte> out = device.upload(std::vector<std::byte>(count * size_of(to)));
  const ConvertRule rule = make_rule(from, to, overflow, rounding);
  auto plan = convert_plan::make(device.info(), rule, count, 0, 0, group);
  plan.groups = std::min<std::uint64_t>(plan.groups, 3);
  const Buffer<std::byte> found = device.upload(std::vector<std::byte>(plan.workspace()));
  const Buffer<std::uint64_t> status = device.upload(std::vector<std::uint64_t>(2));
  const bool checks = rule.overflow == Overflow::error;
  Stream stream(device);
  convert_on_device(stream, in, out, count, rule, plan, checks ? &found : nullptr, checks ? &status : nullptr, 7);
  stream.finish();
  const std::vector<std::byte> made = out.read();
  bool right = true;
  std::uint64_t first_bad = ~std::uint64_t{0};
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &data[i * size_of(from)], size_of(from));
    bool bad = false;
    bits = convert_bits(rule, bits, bad);
    right = right && std::memcmp(&made[i * size_of(to)], &bits, size_of(to)) == 0;
    if (bad && first_bad == ~std::uint64_t{0}) first_bad = i + 7;
  }
  right = right && (!checks || status.read()[0] == first_bad);
  expect(right, std::string(to_string(from)) + " to " + std::string(to_string(to)));
}

void move_records(const Device& device, gather_plan::Operation operation, std::size_t size, bool in_place) {
  constexpr std::uint64_t rows = 3;
  constexpr std::uint64_t length = 50;
  const std::vector<std::byte> data = bytes_of(rows * length * size);
  std::vector<std::uint32_t> indices(rows * length);
  for (std::uint32_t i = 0; i < indices.size(); ++i) indices[i] = i * 7 % 23;
  std::vector<std::byte> right(data.size());
  for (std::uint64_t i = 0; i < rows * length; ++i) {
    const std::uint64_t row = i / length * length;
    std::uint64_t from = i;
    std::uint64_t to = i;
    if (operation == gather_plan::Operation::gather) from = row + indices[i];
    if (operation == gather_plan::Operation::scatter) to = row + indices[i];
    if (operation == gather_plan::Operation::reverse) to = row + length - 1 - i % length;
    std::memcpy(&right[to * size], &data[from * size], size);
  }
  const Buffer<std::byte> in = device.upload(data);
  const Buffer<std::byte> out = in_place ? in.slice(0, in.size()) : device.upload(std::vector<std::byte>(data.size()));
  const Buffer<std::uint32_t> order = device.upload(indices);
  gather_plan::Move move{operation, size, rows, length, length, length, rows * length, Dtype::u32, in_place};
  const auto plan = gather_plan::make(device.info(), size, 0, group);
  const Buffer<std::byte> notes = device.upload(std::vector<std::byte>(gather_plan::scatter_bytes(rows * length)));
  const Buffer<std::uint64_t> status = device.upload(std::vector<std::uint64_t>(2, ~std::uint64_t{0}));
  Stream stream(device);
  if (operation == gather_plan::Operation::reverse) reverse_on_device(stream, move, in, out, plan);
  else move_on_device(stream, move, in, order, out, notes, plan, &status);
  stream.finish();
  expect(status.read() == std::vector<std::uint64_t>(2, ~std::uint64_t{0}), "no index out of range");
  expect(out.read() == right, std::to_string(size) + " bytes, operation " +
                                  std::to_string(static_cast<int>(operation)) + (in_place ? ", in place" : ""));
}

void select_records(const Device& device) {
  constexpr std::size_t count = 1000;  // tiles have 256 elements
  constexpr std::size_t size = 12;
  const std::vector<std::byte> data = bytes_of(count * size);
  std::vector<std::uint8_t> flags(count);
  std::vector<std::byte> right;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 5 != 0 && i % 3 != 0) continue;
    flags[i] = static_cast<std::uint8_t>(i | 1);
    right.insert(right.end(), &data[i * size], &data[i * size] + size);
  }
  const Buffer<std::byte> in = device.upload(data);
  const Buffer<std::uint8_t> set = device.upload(flags);
  const Buffer<std::byte> out = device.upload(std::vector<std::byte>(right.size()));
  const auto plan = gather_plan::make(device.info(), size, 0, group);
  const Buffer<std::byte> notes = device.upload(std::vector<std::byte>(gather_plan::compact_bytes(count, plan.tile())));
  Stream stream(device);
  const Buffer<std::uint64_t> number = device.upload(std::vector<std::uint64_t>(1));
  compact_on_device(stream, count, in, set, out, right.size() / size, notes, plan, &number);
  stream.finish();
  expect(out.read() == right && number.read()[0] == right.size() / size, "compact");
  const Buffer<std::uint16_t> numbers = device.upload(std::vector<std::uint16_t>(50));
  iota_on_device(stream, Dtype::u16, 50, numbers, 7, 3, plan);
  stream.finish();
  expect(numbers.read()[49] == 7 + 49 * 3, "iota");
}

void run_case(const Device& device, const std::string& name) {
  if (name == "transpose") {
    transpose_matrix(device, 1, 68, 132, false);
    transpose_matrix(device, 1, 67, 65, false);
    transpose_matrix(device, 2, 33, 36, false);
    transpose_matrix(device, 4, 33, 35, false);
    transpose_matrix(device, 4, 33, 33, true);
    transpose_matrix(device, 16, 25, 26, false);
    transpose_matrix(device, 12, 40, 3, false);
    transpose_matrix(device, 3, 33, 33, true);
  } else if (name == "convert") {
    convert_values(device, Dtype::f32, Dtype::f16, 300, Overflow::error, Rounding::up);
    convert_values(device, Dtype::f16, Dtype::u8, 301, Overflow::saturate, Rounding::nearest_even);
    convert_values(device, Dtype::f64, Dtype::i32, 100, Overflow::wrap, Rounding::nearest_even);
    convert_values(device, Dtype::i16, Dtype::u64, 103, Overflow::error, Rounding::nearest_even);
    convert_values(device, Dtype::u64, Dtype::f32, 103, Overflow::error, Rounding::down);
  } else if (name == "gather") {
    move_records(device, gather_plan::Operation::gather, 12, false);
    move_records(device, gather_plan::Operation::scatter, 4, false);
    move_records(device, gather_plan::Operation::reverse, 3, false);
    move_records(device, gather_plan::Operation::reverse, 16, true);
  } else {
    select_records(device);
  }
}

}  // namespace
}  // namespace masu

int main(int count, char** arguments) {
  return masu::oclgrind::run(count, arguments, masu::run_case);
}
