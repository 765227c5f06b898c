// SPDX-License-Identifier: Apache-2.0
// The transpose of a matrix by async_work_group_copy through local memory: 4×4 of 0 to 15 first, then any size, with
// elements of 1 to 16 bytes.
//
//   transpose [--device ID] [--rows N] [--columns N]
#include "options.h"

#include <transpose_cl.h>

#include <array>
#include <cstring>
#include <numeric>

namespace {

struct Settings {
  std::string device = "opencl";
  std::uint64_t rows = 300;
  std::uint64_t columns = 1000;
};

template <class T>
std::vector<T> transpose(const masu::Device& device, const std::string& type, const std::vector<T>& matrix,
                         std::uint64_t rows, std::uint64_t columns) {
  if (matrix.empty()) return {};  // there is nothing to launch
  const masu::Program program = masu::Program::from_source(device, transpose_cl, "-D ELEMENT=" + type);
  masu::Kernel kernel = program.kernel("transpose");

  // Two tiles must fit the local memory, of which the driver may need a little. Four groups for each compute unit keep
  // the device busy while groups wait for copies.
  std::uint64_t side = 32;
  while (side > 1 && 2 * side * side * sizeof(T) > device.info().local_bytes * 3 / 4) side /= 2;
  const std::uint64_t tiles = example::pieces(rows, side) * example::pieces(columns, side);
  const std::uint64_t groups = std::min<std::uint64_t>(tiles, 4 * device.info().compute_units);
  const std::uint64_t items = example::items_for(device, kernel, 256);
  const masu::LocalMemory tile{side * side * sizeof(T)};

  masu::Stream stream(device);
  masu::Buffer<T> in = device.upload(matrix);
  auto out = device.allocate<T>(matrix.size());
  kernel(stream, masu::NDRange(groups * items, items), in, out, rows, columns, static_cast<std::uint32_t>(side), tile,
         tile);
  stream.finish();
  return out.read();
}

// Transposes a matrix of made-up bytes and compares it with plain C++.
template <class T>
bool check(const masu::Device& device, const std::string& type, std::uint64_t rows, std::uint64_t columns) {
  std::vector<T> matrix(rows * columns);
  const std::vector<std::uint32_t> bits = example::made_up(example::pieces(matrix.size() * sizeof(T), 4));
  if (!matrix.empty()) std::memcpy(matrix.data(), bits.data(), matrix.size() * sizeof(T));
  const std::vector<T> got = transpose(device, type, matrix, rows, columns);
  bool right = got.size() == matrix.size();
  for (std::uint64_t r = 0; right && r < rows; ++r) {
    for (std::uint64_t c = 0; c < columns; ++c) right = right && got[c * rows + r] == matrix[r * columns + c];
  }
  (right ? std::cout : std::cerr) << rows << " x " << columns << " of " << type << " (" << sizeof(T)
                                  << " bytes): " << (right ? "agrees with" : "differs from") << " plain C++\n";
  return right;
}

int run(const Settings& settings) {
  const masu::Device device = example::open_opencl(settings.device);

  std::vector<std::uint32_t> small(16);
  std::iota(small.begin(), small.end(), 0U);
  small = transpose(device, "uint", small, 4, 4);
  for (std::size_t i = 0; i < small.size(); ++i) std::cout << (i > 0 ? " " : "") << small[i];
  std::cout << '\n';
  for (std::uint32_t i = 0; i < 16; ++i) {
    if (small[i] != i % 4 * 4 + i / 4) throw std::runtime_error("the 4 x 4 matrix is wrong");
  }

  const std::uint64_t rows = settings.rows;
  const std::uint64_t columns = settings.columns;
  bool right = check<std::uint8_t>(device, "uchar", rows, columns);
  right = check<std::uint16_t>(device, "ushort", rows, columns) && right;
  right = check<std::uint32_t>(device, "uint", rows, columns) && right;
  right = check<std::uint64_t>(device, "ulong", rows, columns) && right;
  right = check<std::array<std::uint32_t, 4>>(device, "uint4", rows, columns) && right;
  std::cout << "on " << device.info().name << '\n';
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  return example::main_of(argc, argv, "transpose", settings, run,
                          {{"--rows", &settings.rows, 0}, {"--columns", &settings.columns, 0}});
}
