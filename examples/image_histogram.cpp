// SPDX-License-Identifier: Apache-2.0
// The histogram of an image with 8 bits a sample, each channel on its own, compared with plain C++.
//
//   image_histogram [--device ID] [IMAGE]
#include "options.h"

#include <image_histogram_cl.h>
#include <masu/io.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

namespace {

constexpr std::size_t bins = 256;
using Counts = std::array<std::uint32_t, bins>;

struct Image {
  std::vector<std::uint8_t> samples;
  std::vector<std::string> channels;
  [[nodiscard]] std::uint64_t pixels() const { return samples.size() / channels.size(); }
};

Image read_image(const std::string& path) {
  masu::io::SourceOptions options;
  options.format = masu::io::InputFormat::image;
  const auto source = masu::io::open(path, options);
  if (source->info().dtype != masu::Dtype::u8) throw std::runtime_error(path + ": not 8 bits a sample");
  Image image;
  image.channels = source->info().channels;
  image.samples.resize(source->info().count.value_or(0));
  std::uint64_t filled = 0;
  while (const std::uint64_t got = source->read(image.samples.data() + filled, image.samples.size() - filled)) {
    filled += got;
  }
  if (image.pixels() > UINT32_MAX) throw std::runtime_error(path + ": more pixels than a 32-bit counter holds");
  return image;
}

Counts plain(const Image& image, std::size_t channel) {
  Counts counts{};
  for (std::uint64_t i = channel; i < image.samples.size(); i += image.channels.size()) ++counts[image.samples[i]];
  return counts;
}

void print(const std::string& channel, const Counts& counts) {
  constexpr std::size_t columns = 8;
  std::uint64_t total = 0;
  std::cout << channel << '\n';
  for (std::size_t row = 0; row < bins; row += columns) {
    std::printf("%5zu:", row);
    for (std::size_t bin = row; bin < row + columns; ++bin) {
      std::printf(" %8u", counts[bin]);
      total += counts[bin];
    }
    std::printf("\n");
  }
  std::printf("total %llu\n", static_cast<unsigned long long>(total));
}

int run(const std::string& device_id, const std::string& path) {
  const masu::Device device = masu::Device::open(device_id);
  const Image image = read_image(path);
  const masu::Program program = masu::Program::from_source(device, image_histogram_cl);
  masu::Kernel kernel = program.kernel("image_histogram");

  // Sizes come from the device: a few groups for each of its compute units, of a size that the kernel can have there.
  const std::size_t items = std::min<std::size_t>(256, kernel.max_work_group_size());
  const std::size_t groups = std::size_t{4} * device.info().compute_units;
  const auto channels = static_cast<std::uint32_t>(image.channels.size());

  masu::Stream stream(device);
  masu::Buffer<std::uint8_t> samples = device.upload(image.samples);
  auto histogram = device.allocate<std::uint32_t>(bins);
  bool right = true;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    stream.fill(histogram, 0U);
    kernel(stream, masu::NDRange(groups * items, items), samples, image.pixels(), channel, channels, histogram);
    stream.finish();
    Counts counts{};
    histogram.read(counts);
    print(image.channels[channel], counts);
    right = right && counts == plain(image, channel);
  }
  return example::end("image_histogram", right, "", device);
}

}  // namespace

int main(int argc, char** argv) {
  std::string device = "opencl";
  std::string path = MASU_SOURCE_DIR "/images/cat_gray.bmp";
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--device" && i + 1 < argc) {
      device = argv[++i];
    } else if (argument.starts_with("--")) {
      std::cerr << "image_histogram: usage: image_histogram [--device ID] [IMAGE]\n";
      return 2;
    } else {
      path = argument;
    }
  }
  return example::main_of("image_histogram", [&] { return run(device, path); });
}
