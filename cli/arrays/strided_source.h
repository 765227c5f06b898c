// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <masu/histogram.h>
#include <masu/io.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace masu::cli {

// Which elements of a source are read: `take` of each of `rows` rows, which begin `stride` elements apart.
struct Stride {
  std::uint64_t start = 0;
  std::uint64_t take = 0;
  std::uint64_t stride = 0;
  std::uint64_t rows = 1;
};

// A part of another source. What lies between is read and left; what follows is not read.
std::unique_ptr<io::Source> strided_source(std::unique_ptr<io::Source> source, const Stride& stride);

// The pixels of a region: of an image, a .npy file of shape (height, width[, channels]), or other data with rows of
// `pitch` bytes and pixels of `channels` elements. Throws io for a region that lies outside.
std::unique_ptr<io::Source> region_source(std::unique_ptr<io::Source> source, const Region& region,
                                          const std::optional<std::uint64_t>& pitch, unsigned channels);

}  // namespace masu::cli
