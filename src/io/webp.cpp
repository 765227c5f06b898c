// SPDX-License-Identifier: Apache-2.0
// WebP through libwebp, which decodes an image as a whole: the file and the frame are in memory. An animation is
// read as its first frame on its canvas.
#include "io/sources.h"

#include <fmt/format.h>
#include <webp/decode.h>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace masu::io {
namespace {

struct LibWebp {
  SharedLibrary library = library_of("WebP");
#define MASU_WEBP_FUNCTIONS(X) X(WebPDecode) X(WebPGetFeaturesInternal) X(WebPInitDecoderConfigInternal)
  MASU_WEBP_FUNCTIONS(MASU_FOUND_FUNCTION)
};

constexpr std::uint64_t largest_file = std::uint64_t{1} << 30;
constexpr std::size_t header_bytes = 12;  // "RIFF", the number of bytes that follow, "WEBP"
// The largest image has 16,383 x 16,383 pixels, so a frame stays below 1 GiB. A blank one takes 38 bytes: what is
// believed of so little has to end somewhere.
constexpr std::uint64_t free_pixels = std::uint64_t{1} << 26;
constexpr std::uint64_t pixels_a_byte = 65536;  // of what is larger

std::string_view reason(VP8StatusCode status) noexcept {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY: return "no memory";
    case VP8_STATUS_UNSUPPORTED_FEATURE: return "an unsupported feature";
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA: return "the data ends early";
    default: return "the data makes no sense";
  }
}

[[noreturn]] void fail(const Reader& reader, VP8StatusCode status) {
  reader.fail("webp: {}", reason(status));
}

std::vector<std::byte> read_file(Reader& reader) {
  const auto head = reader.peek(header_bytes);
  if (!is_webp(head)) reader.fail("webp: does not begin as WebP");
  const std::uint64_t bytes = std::uint64_t{load_little<std::uint32_t>(&head[4])} + 8;
  if (bytes < header_bytes) reader.fail("webp: the data makes no sense");
  if (bytes > largest_file)
    reader.fail("webp: the file is held in memory as a whole; it needs {} MiB, the limit is {} MiB", bytes >> 20,
                largest_file >> 20);
  reader.require(0, bytes, bytes, "the image");
  std::vector<std::byte> data(bytes);
  reader.read_exact(data.data(), data.size(), "the image");
  return data;
}

const std::uint8_t* octets(const std::vector<std::byte>& data) noexcept {
  return reinterpret_cast<const std::uint8_t*>(data.data());
}

WebPBitstreamFeatures read_features(const std::vector<std::byte>& data, const Reader& reader, const LibWebp& library) {
  WebPBitstreamFeatures features{};
  const VP8StatusCode status =
      library.WebPGetFeaturesInternal(octets(data), data.size(), &features, WEBP_DECODER_ABI_VERSION);
  if (status != VP8_STATUS_OK) fail(reader, status);
  if (features.width < 1 || features.height < 1) reader.fail("webp: {} x {} pixels", features.width, features.height);
  const std::uint64_t pixels = static_cast<std::uint64_t>(features.width) * static_cast<std::uint64_t>(features.height);
  constexpr std::uint64_t most_pixels = std::uint64_t{1} << 28;  // an animation's canvas has no other limit
  if (pixels > most_pixels)
    reader.fail("webp: {} x {} pixels, the limit is {}", features.width, features.height, most_pixels);
  if (pixels > free_pixels && pixels / pixels_a_byte > data.size())
    reader.fail("webp: {} x {} pixels are more than is believed of a file of {} bytes", features.width, features.height,
                data.size());
  return features;
}

// The place of the image's data in the file; for an animation, of its first frame, and the frame's place on the canvas.
struct WebpImage {
  std::size_t start = 0;
  std::size_t bytes = 0;
  std::uint64_t x = 0;
  std::uint64_t y = 0;
  std::uint64_t width = 0;
  std::uint64_t height = 0;
  std::uint64_t frames = 0;  // of an animation; else 0
  std::uint32_t orientation = 0;
};

WebpImage find_image(const std::vector<std::byte>& data, const WebPBitstreamFeatures& canvas, const Reader& reader,
                     const LibWebp& library) {
  constexpr std::size_t chunk_header = 8;
  constexpr std::size_t frame_header = 16;
  WebpImage image{0, data.size()};
  const auto of_24_bits = [&](std::size_t at) {
    return std::uint64_t{load_little<std::uint16_t>(&data[at])} | std::to_integer<std::uint64_t>(data[at + 2]) << 16;
  };
  for (std::size_t at = header_bytes; data.size() - at >= chunk_header;) {
    const std::size_t body = at + chunk_header;
    const std::size_t bytes = std::min<std::size_t>(load_little<std::uint32_t>(&data[at + 4]), data.size() - body);
    const auto is = [&](const char* name) { return std::memcmp(&data[at], name, 4) == 0; };
    if (is("EXIF")) image.orientation = exif_orientation(std::span(data).subspan(body, bytes));
    const bool frame = canvas.has_animation != 0 && is("ANMF") && bytes >= frame_header;
    if (frame && image.frames++ == 0) {
      image.x = 2 * of_24_bits(body);
      image.y = 2 * of_24_bits(body + 3);
      image.width = of_24_bits(body + 6) + 1;
      image.height = of_24_bits(body + 9) + 1;
      image.start = body + frame_header;
      image.bytes = bytes - frame_header;
    }
    at = std::min(data.size(), body + bytes + bytes % 2);
  }
  if (canvas.has_animation == 0) return image;
  if (image.frames == 0) reader.fail("webp: is an animation without a frame");
  WebPBitstreamFeatures first{};
  const VP8StatusCode status =
      library.WebPGetFeaturesInternal(octets(data) + image.start, image.bytes, &first, WEBP_DECODER_ABI_VERSION);
  if (status != VP8_STATUS_OK) fail(reader, status);
  if (static_cast<std::uint64_t>(first.width) != image.width ||
      static_cast<std::uint64_t>(first.height) != image.height)
    reader.fail("webp: the first frame has {} x {} pixels, its header says {} x {}", first.width, first.height,
                image.width, image.height);
  if (image.x + image.width > static_cast<std::uint64_t>(canvas.width) ||
      image.y + image.height > static_cast<std::uint64_t>(canvas.height))
    reader.fail("webp: a frame of {} x {} pixels at {},{} leaves the canvas of {} x {}", image.width, image.height,
                image.x, image.y, canvas.width, canvas.height);
  return image;
}

class WebpSource final : public RowSource {
 public:
  WebpSource(Input input, std::vector<std::byte> data, const WebPBitstreamFeatures& features, const WebpImage& image,
             const LibWebp& library)
      : RowSource(std::move(input), "webp", Dtype::u8, static_cast<std::uint64_t>(features.height),
                  static_cast<std::uint64_t>(features.width), channel_names(features.has_alpha != 0 ? 4 : 3)),
        library_(library),
        data_(std::move(data)),
        image_(image) {
    if (image.frames > 1) note(fmt::format("read the first image of an animation of {} frames", image.frames));
    note_orientation(image.orientation);
  }

 private:
  void start() override {
    WebPDecoderConfig config;
    if (library_.WebPInitDecoderConfigInternal(&config, WEBP_DECODER_ABI_VERSION) == 0)
      reader_.fail("webp: libwebp cannot be started");
    const std::uint64_t bytes = row_elements() * info_.shape[0];
    // The canvas outside of the frame is 0, and takes no memory before it is read.
    frame_.reset(static_cast<std::byte*>(std::calloc(bytes, 1)));
    if (frame_ == nullptr)
      throw Error(ErrorCode::out_of_memory, fmt::format("{}: no memory for {} bytes", reader_.name(), bytes));
    const std::uint64_t first = image_.y * row_elements() + image_.x * info_.shape[2];
    config.output.colorspace = info_.shape[2] == 4 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = reinterpret_cast<std::uint8_t*>(frame_.get() + first);
    config.output.u.RGBA.stride = static_cast<int>(row_elements());
    config.output.u.RGBA.size = bytes - first;
    const VP8StatusCode status = library_.WebPDecode(octets(data_) + image_.start, image_.bytes, &config);
    if (status == VP8_STATUS_OK) return;
    frame_.reset();
    fail(reader_, status);
  }

  void next_row(std::uint64_t row, std::byte* target) override {
    if (frame_ == nullptr) reader_.fail("webp: cannot be read on after an error");
    std::memcpy(target, frame_.get() + row * row_elements(), row_elements());
  }

  void finish() override { frame_.reset(); }

  const LibWebp& library_;
  std::vector<std::byte> data_;
  WebpImage image_;
  std::unique_ptr<std::byte, decltype(&std::free)> frame_{nullptr, &std::free};
};

}  // namespace

bool is_webp(std::span<const std::byte> head) noexcept {
  return begins(head, "RIFF") && head.size() >= header_bytes && begins(head.subspan(8), "WEBP");
}

std::unique_ptr<Source> open_webp(Input input) {
  const LibWebp& library = opened<LibWebp>();
  std::vector<std::byte> data = read_file(input.reader);
  library.library.require(input.reader.name());
  const WebPBitstreamFeatures features = read_features(data, input.reader, library);
  const WebpImage image = find_image(data, features, input.reader, library);
  return std::make_unique<WebpSource>(std::move(input), std::move(data), features, image, library);
}

}  // namespace masu::io
