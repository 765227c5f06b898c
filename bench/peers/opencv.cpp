// SPDX-License-Identifier: Apache-2.0
// peer_opencv: OpenCV's calcHist. It has no f64 input, and its counts are floats.
#include "peer.h"

#include <array>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

namespace masu::bench {
namespace {

Measured run(const HistogramPeer::Task& task) {
  cv::setNumThreads(static_cast<int>(task.threads));
  const bool bytes = task.what.dtype == Dtype::u8;
  // Rows of 1 Ki, so that OpenCV can share them out; the rest of the data, if any, is a last image of one row.
  constexpr std::uint64_t row = 1024;
  const auto rows = static_cast<int>(task.data.count / row);
  const auto rest = static_cast<int>(task.data.count % row);
  const int type = bytes ? CV_8UC1 : CV_32FC1;
  auto* data = static_cast<std::uint8_t*>(const_cast<void*>(task.data.data));
  std::vector<cv::Mat> images;
  if (rows > 0) images.emplace_back(rows, static_cast<int>(row), type, data);
  if (rest > 0) images.emplace_back(1, rest, type, data + (task.data.count - rest) * size_of(task.what.dtype));

  const int bins = static_cast<int>(task.what.bins);
  const int channel = 0;
  const std::array<float, 2> range = {0, bytes ? 256.0F : 1.0F};
  const float* ranges = range.data();
  std::vector<cv::Mat> tables(images.size());
  Measured measured;
  measured.seconds = time_repeats(task.repeats, [&] {
    for (std::size_t i = 0; i < images.size(); ++i) {
      cv::calcHist(&images[i], 1, &channel, cv::Mat(), tables[i], 1, &bins, &ranges);
    }
  });
  measured.counts.resize(task.what.bins);
  for (const cv::Mat& table : tables) {
    for (int bin = 0; bin < bins; ++bin) {
      measured.counts[static_cast<std::size_t>(bin)] += static_cast<std::uint64_t>(table.at<float>(bin));
    }
  }
  return measured;
}

}  // namespace
}  // namespace masu::bench

int main(int argc, char** argv) {
  using namespace masu::bench;
  return peer_main(
      argc, argv,
      {histogram_peers({{{"OpenCV " CV_VERSION, "cpu", {"u8-256", "f32-100"}, 1U << 16}, run}}, {"100Mi"})});
}
