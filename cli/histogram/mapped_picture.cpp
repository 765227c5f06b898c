// SPDX-License-Identifier: Apache-2.0
// The picture that --equalize or --otsu makes of an image: each sample becomes the level of its bin.
#include "cli/histogram/histogram_job.h"

#include "elements/stored_float.h"
#include "program.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <type_traits>

namespace masu::cli {
namespace {

constexpr std::uint8_t brightest = 255;
constexpr std::uint64_t bins_of_pictures = 65536;  // so that each level can be met

template <class T>
double as_double(T value) {
  if constexpr (is_stored<T>) return to_double(value);
  else return static_cast<double>(value);
}

// What a value becomes: NaN, and what lies below all bins, 0.
class Levels {
 public:
  Levels(const Histogram& histogram, const HistogramJob& job, const std::string& name)
      : edges_(histogram.edges()), half_open_(job.options.right_open) {
    if (job.picture == MappedPicture::equalized) {
      const std::vector<std::uint16_t> levels = levels_of(histogram);
      levels_.assign(levels.begin(), levels.end());
      return;
    }
    if (otsu_text(histogram) == "null") data_error("{}: --otsu parts two bins with counts, and has fewer", name);
    const double threshold = otsu_threshold(histogram);
    for (std::uint64_t i = 0; i < histogram.size(); ++i) levels_.push_back(edges_[i] >= threshold ? brightest : 0);
  }
  [[nodiscard]] std::uint8_t operator()(double value) const {
    if (!(value >= edges_.front())) return 0;
    if (value > edges_.back() || (half_open_ && value == edges_.back())) return brightest;
    const auto after = std::upper_bound(edges_.begin(), edges_.end(), value) - edges_.begin();
    return levels_[std::min<std::size_t>(static_cast<std::size_t>(after), levels_.size()) - 1];
  }

 private:
  std::vector<double> edges_;
  std::vector<std::uint8_t> levels_;
  bool half_open_;
};

}  // namespace

std::vector<BinsRequest> requests_of(const HistogramJob& job, const io::SourceInfo& info) {
  std::vector<BinsRequest> requests = job.bins;
  BinsRequest& first = requests.front();
  const bool asked = first.bins || first.rule || first.integers || !first.edges.empty() || first.width || first.nice;
  const bool by_value = size_of(info.dtype) == 1 || (info.dtype == Dtype::u16 && !info.channels.empty());
  if (job.picture != MappedPicture::none && !asked && (!by_value || first.range || first.log))
    first.bins = bins_of_pictures;
  return requests;
}

io::Picture mapped_picture(const HistogramJob& job, const HistogramInput& input, std::span<const Histogram> counted,
                           const std::function<ArrayView()>& next) {
  const io::SourceInfo& info = input.info;
  const std::vector<std::uint64_t>& shape = info.shape;
  const unsigned channels = input.channels;
  if (channels != 1 && channels != 3) usage_error("a picture has 1 or 3 channels, {} has {}", info.name, channels);
  const bool fits = shape.size() == 2 ? channels == 1 : shape.size() == 3 && shape[2] == channels;
  if (!fits || info.fortran_order || shape[0] * shape[1] == 0) {
    usage_error(
        "a picture needs an image, or an array of (height, width), or (height, width, 3) with --channels 3; "
        "{} is none",
        info.name);
  }
  if (size_of(info.dtype) == 8 && info.dtype != Dtype::f64) {
    usage_error("a picture needs floats, or integers of at most 32 bits; {} has {}", info.name, to_string(info.dtype));
  }
  io::Picture picture{shape[1], shape[0], channels, {}};
  std::vector<Levels> levels;
  std::vector<std::vector<std::uint8_t>> tables;  // of all values, where these are few
  for (const Histogram& histogram : counted) {
    const Levels& level = levels.emplace_back(histogram, job, info.name);
    std::vector<std::uint8_t>& table = tables.emplace_back();
    if (info.dtype != Dtype::u8 && info.dtype != Dtype::u16) continue;
    for (unsigned value = 0; value < 1U << (8 * size_of(info.dtype)); ++value) table.push_back(level(value));
  }
  picture.samples.reserve(info.count.value_or(0));
  for (ArrayView piece = next(); piece.count != 0; piece = next()) {
    dispatch(piece.dtype, [&]<class T>(TypeTag<T>) {
      const T* const values = static_cast<const T*>(piece.data);
      for (std::uint64_t i = 0; i < piece.count; ++i) {
        const std::size_t channel = picture.samples.size() % channels;
        if constexpr (std::is_unsigned_v<T> && sizeof(T) <= 2) picture.samples.push_back(tables[channel][values[i]]);
        else picture.samples.push_back(levels[channel](as_double(values[i])));
      }
    });
  }
  return picture;
}

}  // namespace masu::cli
