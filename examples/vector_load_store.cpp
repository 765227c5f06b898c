// SPDX-License-Identifier: Apache-2.0
// Vector loads and stores: two vectors of 64 floats, then every type and width in global, local, private and constant
// memory, and halves with every way to round, compared with plain C++.
//
//   vector_load_store [--device ID] [--n N] [--doubles 0]      N elements; without doubles, which not all devices have
#include "options.h"

#include <vector_load_store_cl.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace {

constexpr std::array widths = {2, 3, 4, 8, 16};
constexpr std::uint64_t block = 48;  // halves of a work-item: a multiple of every width

bool report(const std::string& what, bool right) {
  std::cout << what << ": " << (right ? "right" : "wrong") << '\n';
  return right;
}

bool first_eight(const masu::Device& device) {
  std::vector<float> floats(64);
  std::iota(floats.begin(), floats.end(), 0.0F);
  masu::Stream stream(device);
  const auto in = device.upload(floats);
  auto out = device.allocate<float>(8);
  masu::Kernel kernel = masu::Program::from_source(device, vector_load_store_cl).kernel("first_eight");
  kernel(stream, masu::NDRange(1), in, out);
  stream.finish();
  const std::vector<float> got = out.read();
  for (std::size_t i = 0; i < 8; ++i) std::cout << got[i] << (i % 4 == 3 ? '\n' : ',');
  return std::equal(got.begin(), got.end(), floats.begin());
}

// Copies n elements by vectors of every width. T has the type's size. The first element of each buffer is left out, so
// that the others have the alignment of an element and no more.
template <class T>
bool copies(const masu::Device& device, const std::string& type, std::uint64_t n) {
  std::vector<T> values(n + 1);
  for (std::uint64_t i = 0; i <= n; ++i) values[i] = static_cast<T>(i % 101 + 1);
  masu::Kernel kernel =
      masu::Program::from_source(device, vector_load_store_cl, "-D ELEMENT=" + type).kernel("copy_all");
  const std::uint64_t items = example::items_for(device, kernel, 64, 32 * sizeof(T));
  const std::uint64_t groups = example::pieces(n / 2 + 1, items);  // one item more, for the rest
  masu::Stream stream(device);
  const auto in = device.upload(values);
  auto out = device.allocate<T>(widths.size() * (n + 2));
  auto constants = device.allocate<T>(2 + 3 + 4 + 8 + 16);
  out.fill(T{0});
  kernel(stream, masu::NDRange(groups * items, items), in, n, masu::LocalMemory{(16 * items + 1) * sizeof(T)}, out,
         constants);
  stream.finish();
  std::vector<T> expected;
  std::vector<T> ramps;
  for (const int width : widths) {
    expected.push_back(T{0});  // one on each side, where nothing may be written
    expected.insert(expected.end(), values.begin() + 1, values.end());
    expected.push_back(T{0});
    for (int k = 1; k <= width; ++k) ramps.push_back(static_cast<T>(k));
  }
  return report(type + ", widths 2 3 4 8 16, global local private constant",
                out.read() == expected && constants.read() == ramps);
}

// The value of a half that is no NaN. Infinity counts as 65536, the next power of two: so roundings to it are roundings
// between neighbours.
double value_of(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int fraction = bits & 0x3ff;
  const double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

// The half that x rounds to; `mode` is e (nearest, of two the even one), z (towards zero), p or n (towards plus or
// minus infinity). Found among all halves, by their values.
std::uint16_t rounded(double x, char mode) {
  static const std::vector<double> sizes = [] {
    std::vector<double> result(0x7c01);
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = value_of(static_cast<std::uint16_t>(i));
    return result;
  }();
  const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  if (std::isnan(x)) return 0x7e00;
  const double size = std::abs(x);
  if (std::isinf(x)) return sign | 0x7c00;
  const auto above = std::upper_bound(sizes.begin(), sizes.end(), size);
  const bool beyond = above == sizes.end();  // 65536 and more
  auto index = static_cast<std::uint16_t>(beyond ? 0x7bff : above - sizes.begin() - 1);
  const double rest = size - sizes[index];
  const double gap = sizes[index + 1U] - sizes[index];
  bool up = false;
  if (mode == 'e') up = rest > gap / 2 || (rest == gap / 2 && index % 2 == 1);
  if (mode == 'p') up = rest > 0 && sign == 0;
  if (mode == 'n') up = rest > 0 && sign != 0;
  if (up) ++index;
  return sign | index;
}

bool is_nan(std::uint16_t bits) {
  return (bits & 0x7fff) > 0x7c00;
}

// Loads all 65,536 halves, packed and aligned, by every width.
bool loads_of_halves(const masu::Device& device) {
  constexpr std::uint64_t items = (65536 + block - 1) / block;
  std::vector<masu::Half> packed(items * block);
  std::vector<masu::Half> aligned(items * 64, masu::Half{0x3c00});  // three halves, then one that nobody loads
  for (std::uint64_t i = 0; i < packed.size(); ++i) packed[i].bits = static_cast<std::uint16_t>(i);
  for (std::uint64_t i = 0; i < packed.size(); ++i) aligned[i / 3 * 4 + i % 3] = packed[i];
  masu::Stream stream(device);
  const auto a = device.upload(packed);
  const auto b = device.upload(aligned);
  auto out = device.allocate<float>(items * 11 * block);
  masu::Kernel kernel = masu::Program::from_source(device, vector_load_store_cl).kernel("load_halves");
  kernel(stream, masu::NDRange(items), a, b, out);
  stream.finish();
  const std::vector<float> got = out.read();
  bool right = true;
  for (std::uint64_t i = 0; i < got.size(); ++i) {
    const std::uint16_t bits = packed[i / (11 * block) * block + i % block].bits;
    if (is_nan(bits)) {
      right = right && std::isnan(got[i]);
    } else {
      const double infinity = std::numeric_limits<double>::infinity();
      const double value = (bits & 0x7fff) == 0x7c00 ? std::copysign(infinity, value_of(bits)) : value_of(bits);
      right = right && static_cast<double>(got[i]) == value && std::signbit(got[i]) == std::signbit(value);
    }
  }
  return report("vload_half, vload_halfn, vloada_halfn: all 65536 halves, n = 2 3 4 8 16", right);
}

// Values that are hard to round: halves, the middles between them, and the neighbours of the middles in type T.
template <class T>
std::vector<T> hard_values() {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  std::vector<T> values = {0,
                           infinity,
                           std::numeric_limits<T>::quiet_NaN(),
                           std::numeric_limits<T>::max(),
                           std::numeric_limits<T>::min(),
                           T(0.1),
                           T(65519.5),
                           T(65520),
                           T(65536),
                           T(1e-8)};
  for (std::uint16_t bits = 1; bits < 0x7c00; bits = static_cast<std::uint16_t>(bits + 97)) {
    const double low = value_of(bits);
    const auto middle = static_cast<T>((low + value_of(static_cast<std::uint16_t>(bits + 1))) / 2);
    values.insert(values.end(),
                  {static_cast<T>(low), middle, std::nextafter(middle, T(0)), std::nextafter(middle, infinity)});
  }
  const std::size_t positive = values.size();
  for (std::size_t i = 0; i < positive; ++i) values.push_back(-values[i]);
  values.resize((values.size() + block - 1) / block * block, T(1));
  return values;
}

struct Rounding {
  const char* kernel;
  char mode;
};
constexpr std::array roundings = {Rounding{"store_nearest_even", 'e'}, Rounding{"store_rte", 'e'},
                                  Rounding{"store_rtz", 'z'}, Rounding{"store_rtp", 'p'}, Rounding{"store_rtn", 'n'}};

// Stores values as halves by every width and rounding, packed and aligned.
template <class T>
bool stores_of_halves(const masu::Device& device, const std::string& type) {
  const masu::Program program = masu::Program::from_source(device, vector_load_store_cl, "-D REAL=" + type);
  const std::vector<T> values = hard_values<T>();
  const std::uint64_t items = values.size() / block;
  bool right = true;
  for (const Rounding& rounding : roundings) {
    masu::Stream stream(device);
    const auto in = device.upload(values);
    auto packed = device.allocate<masu::Half>(items * 6 * block);
    auto aligned = device.allocate<masu::Half>(items * 5 * 64);
    packed.fill(masu::Half{0});
    aligned.fill(masu::Half{0});
    masu::Kernel kernel = program.kernel(rounding.kernel);
    kernel(stream, masu::NDRange(items), in, packed, aligned);
    stream.finish();
    const std::vector<masu::Half> got_packed = packed.read();
    const std::vector<masu::Half> got_aligned = aligned.read();
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < values.size(); ++i) {
      const std::uint16_t expected = rounded(static_cast<double>(values[i]), rounding.mode);
      const auto differs = [&](masu::Half half) {
        return is_nan(expected) ? !is_nan(half.bits) : half.bits != expected;
      };
      const std::uint64_t item = i / block;
      const std::uint64_t k = i % block;
      for (std::uint64_t region = 0; region < 6; ++region) {
        if (differs(got_packed[(item * 6 + region) * block + k])) ++wrong;
      }
      for (std::uint64_t region = 0; region < 5; ++region) {
        const std::uint64_t place = widths[region] == 3 ? k / 3 * 4 + k % 3 : k;
        if (differs(got_aligned[(item * 5 + region) * 64 + place])) ++wrong;
      }
    }
    right = report(type + " to half, " + rounding.kernel + ", scalar and n = 2 3 4 8 16", wrong == 0) && right;
  }
  return right;
}

int run(const std::string& id, std::uint64_t n, bool doubles) {
  const masu::Device device = example::open_opencl(id);
  doubles = doubles && device.info().fp64;
  bool right = first_eight(device);
  right = copies<std::int8_t>(device, "char", n) && right;
  right = copies<std::uint8_t>(device, "uchar", n) && right;
  right = copies<std::int16_t>(device, "short", n) && right;
  right = copies<std::uint16_t>(device, "ushort", n) && right;
  right = copies<std::int32_t>(device, "int", n) && right;
  right = copies<std::uint32_t>(device, "uint", n) && right;
  right = copies<std::int64_t>(device, "long", n) && right;
  right = copies<std::uint64_t>(device, "ulong", n) && right;
  right = copies<float>(device, "float", n) && right;
  if (doubles) right = copies<double>(device, "double", n) && right;
  right = loads_of_halves(device) && right;
  right = stores_of_halves<float>(device, "float") && right;
  if (doubles) right = stores_of_halves<double>(device, "double") && right;
  else std::cout << "double: left out, or not on this device\n";
  return example::end("vector_load_store", right, std::to_string(n) + " elements: ", device);
}

}  // namespace

int main(int argc, char** argv) {
  std::string device = "opencl";
  std::uint64_t n = 1000;
  std::uint64_t doubles = 1;
  example::parse(argc, argv, "vector_load_store", device, {{"--n", &n, 0}, {"--doubles", &doubles, 0}});
  return example::main_of("vector_load_store", [&] { return run(device, n, doubles != 0); });
}
