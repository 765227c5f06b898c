// SPDX-License-Identifier: Apache-2.0
// shuffle and shuffle2: four floats by a mask, then every type, width and mask, compared with plain C++.
//
//   shuffle [--device ID] [--n N]      N sets of vectors
#include "options.h"

#include <shuffle_cl.h>

#include <cstdio>
#include <type_traits>

namespace {

struct Settings {
  std::string device = "opencl";
  std::uint64_t n = 100;
};

void print(const std::vector<float>& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    std::printf("%s%.1f", i > 0 ? "," : "", static_cast<double>(values[i]));
  std::printf("\n");
}

std::string options(const std::string& element, const std::string& mask) {
  return "-D ELEMENT=" + element + " -D MASK=" + mask;
}

bool four(const masu::Device& device) {
  const std::vector<float> a = {1.5F, 15.0F, 5.0F, 7.5F};
  const std::vector<float> b = {-20.0F, -5.0F, 1.0F, 100.0F};
  const std::vector<std::uint32_t> mask4 = {0, 3, 2, 1};
  const std::vector<std::uint32_t> mask8 = {0, 3, 2, 1, 5, 4, 7, 6};
  masu::Kernel kernel = masu::Program::from_source(device, shuffle_cl, options("float", "uint")).kernel("shuffle_four");
  masu::Stream stream(device);
  const auto first = device.upload(a);
  const auto second = device.upload(b);
  const auto masks4 = device.upload(mask4);
  const auto masks8 = device.upload(mask8);
  auto out4 = device.allocate<float>(4);
  auto out8 = device.allocate<float>(8);
  kernel(stream, masu::NDRange(1), first, second, masks4, masks8, out4, out8);
  stream.finish();
  const std::vector<float> got4 = out4.read();
  const std::vector<float> got8 = out8.read();
  print(got4);
  print(got8);
  return got4 == std::vector<float>{1.5F, 7.5F, 5.0F, 15.0F} &&
         got8 == std::vector<float>{1.5F, 7.5F, 5.0F, 15.0F, -5.0F, -20.0F, 100.0F, 1.0F};
}

// A value of T from any bits that are no NaN, which a driver might change on its way.
template <class T>
T value_from(std::uint32_t bits) {
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(bits) / 3 - 1000000;
  else return static_cast<T>(bits * std::uint64_t{0x9e3779b97f4a7c15});
}

// Every width of source and mask, for one type, in the order of the kernel. The mask is of unsigned integers of the
// type's size.
template <class T, class Mask>
bool all(const masu::Device& device, const std::string& element, const std::string& mask, std::uint64_t n) {
  const std::vector<std::uint32_t> bits = example::made_up(48 * n);
  std::vector<T> first(16 * n);
  std::vector<T> second(16 * n);
  std::vector<Mask> masks(16 * n);
  for (std::uint64_t i = 0; i < 16 * n; ++i) {
    first[i] = value_from<T>(bits[i]);
    second[i] = value_from<T>(bits[16 * n + i]);
    masks[i] = value_from<Mask>(bits[32 * n + i]);  // all bits, of which the lowest count
  }
  std::vector<T> expected;
  for (std::uint64_t i = 0; i < n; ++i) {
    for (const std::uint64_t from : {2, 4, 8, 16}) {
      for (const std::uint64_t to : {2, 4, 8, 16}) {
        for (const std::uint64_t sources : {1, 2}) {
          for (std::uint64_t k = 0; k < to; ++k) {
            const std::uint64_t index = masks[16 * i + k] % (sources * from);
            expected.push_back(index < from ? first[16 * i + index] : second[16 * i + index - from]);
          }
        }
      }
    }
  }
  std::vector<T> got;
  if (n > 0) {
    masu::Kernel kernel = masu::Program::from_source(device, shuffle_cl, options(element, mask)).kernel("shuffle_all");
    masu::Stream stream(device);
    const auto a = device.upload(first);
    const auto b = device.upload(second);
    const auto m = device.upload(masks);
    auto out = device.allocate<T>(expected.size());
    const std::uint64_t items = example::items_for(device, kernel, 64);
    kernel(stream, masu::NDRange(example::pieces(n, items) * items, items), a, b, m, n, out);
    stream.finish();
    got = out.read();
  }
  const bool right = got == expected;
  std::printf("%-6s by %-6s, widths 2 4 8 16 by 2 4 8 16, one source and two: %s\n", element.c_str(), mask.c_str(),
              right ? "right" : "wrong");
  return right;
}

int run(const Settings& settings) {
  const masu::Device device = example::open_opencl(settings.device);
  const std::uint64_t n = settings.n;
  bool right = four(device);
  right = all<std::int8_t, std::uint8_t>(device, "char", "uchar", n) && right;
  right = all<std::uint8_t, std::uint8_t>(device, "uchar", "uchar", n) && right;
  right = all<std::int16_t, std::uint16_t>(device, "short", "ushort", n) && right;
  right = all<std::uint16_t, std::uint16_t>(device, "ushort", "ushort", n) && right;
  right = all<std::int32_t, std::uint32_t>(device, "int", "uint", n) && right;
  right = all<std::uint32_t, std::uint32_t>(device, "uint", "uint", n) && right;
  right = all<std::int64_t, std::uint64_t>(device, "long", "ulong", n) && right;
  right = all<std::uint64_t, std::uint64_t>(device, "ulong", "ulong", n) && right;
  right = all<float, std::uint32_t>(device, "float", "uint", n) && right;
  if (device.info().fp64) right = all<double, std::uint64_t>(device, "double", "ulong", n) && right;
  else std::printf("double: not on this device\n");
  std::fflush(stdout);
  return example::end("shuffle", right, std::to_string(n) + " sets of vectors: ", device);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  return example::main_of(argc, argv, "shuffle", settings, run, {{"--n", &settings.n, 0}});
}
