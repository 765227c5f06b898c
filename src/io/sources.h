// SPDX-License-Identifier: Apache-2.0
// The readers that masu::io::open chooses from, and what they share.
#pragma once

#include "io/reader.h"
#include "runtime/shared_library.h"

#include <masu/floating_point.h>
#include <masu/io.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::io {

// What the caller gave to a reader: the bytes, and what it asked for.
struct Input {
  Reader reader;
  SourceOptions options;
  std::string array = {};       // of a .npz, HDF5 or FITS file; "": the only one
  std::size_t block_bytes = 0;  // of text that a thread parses at once; 0: what is fastest
  std::string path = {};        // of a file that may be opened again
};

inline bool begins(std::span<const std::byte> head, std::string_view with) noexcept {
  return head.size() >= with.size() && std::memcmp(head.data(), with.data(), with.size()) == 0;
}

// Each reads the header and leaves the rest for read(). The `is_` functions look at the first bytes.
bool is_bmp(std::span<const std::byte> head) noexcept;
bool is_pnm(std::span<const std::byte> head) noexcept;
bool is_png(std::span<const std::byte> head) noexcept;
bool is_jpeg(std::span<const std::byte> head) noexcept;
bool is_tiff(std::span<const std::byte> head) noexcept;
bool is_webp(std::span<const std::byte> head) noexcept;
bool is_npy(std::span<const std::byte> head) noexcept;
bool is_hdf5(std::span<const std::byte> head) noexcept;
bool is_fits(std::span<const std::byte> head) noexcept;
bool is_json(std::span<const std::byte> head) noexcept;
// An array of numbers, or of arrays of them, that ends nowhere else than the text.
bool is_json_array(std::span<const std::byte> head) noexcept;
std::unique_ptr<Source> open_bmp(Input input);
std::unique_ptr<Source> open_pnm(Input input);
std::unique_ptr<Source> open_png(Input input);
std::unique_ptr<Source> open_jpeg(Input input);
std::unique_ptr<Source> open_tiff(Input input);
std::unique_ptr<Source> open_webp(Input input);
std::unique_ptr<Source> open_npy(Input input);
std::unique_ptr<Source> open_raw(Input input);
std::unique_ptr<Source> open_text(Input input);
// The entries of a text that are no numbers; null where one is, or there are none, and `input` is as it was.
std::unique_ptr<Source> open_entries(Input& input);
// The texts of several sources as those of one; `values` gets what each value of each of them becomes.
std::shared_ptr<const ValueNames> join_texts(std::span<const std::shared_ptr<const ValueNames>> parts,
                                             const SourceOptions& options,
                                             std::vector<std::vector<std::uint32_t>>& values);
std::unique_ptr<Source> open_hdf5(Input input);
std::unique_ptr<Source> open_fits(Input input);
// Lines of JSON, or an array of objects: SourceOptions::column is the key.
std::unique_ptr<Source> open_json(Input input);
// The same as a text with a column for each key; the options become those of such a text.
Reader json_lines(Reader reader, SourceOptions& options, std::vector<std::string> keys);
// The keys of the first object that have values, a.b for b of the object a.
std::vector<std::string> json_keys(Reader reader);
// Whether they have objects of JSON at first, and no option that says how a text is cut.
bool takes_json(std::span<const std::byte> head, const SourceOptions& options) noexcept;

// FILE.npz:ARRAY, FILE.h5:/path or FILE.fits:N in its two parts, unless a file has that name; else `input` and "".
std::pair<std::string, std::string> file_and_array(const std::string& input);

// Tells by content which of them it is, and whether it is compressed or an archive.
std::unique_ptr<Source> open_input(Input input);

// A text whose rows are wanted, decompressed, and how it is cut. Throws for what surely is none. Objects of JSON have
// rows, but no lines.
struct TextRows {
  Reader reader;
  SourceOptions options;
  std::vector<std::string> columns;
};
TextRows open_rows(const std::string& input, const SourceOptions& options, std::span<const std::string> columns,
                   bool lines);

bool is_generator(std::string_view text) noexcept;
std::unique_ptr<Source> open_generator(const std::string& text, const SourceOptions& options);

// The elements of a flat part of a file: raw and .npy.
struct FlatLayout {
  std::uint64_t start = 0;             // byte of the first element
  std::optional<std::uint64_t> count;  // elements; none: to the end of a stream
  bool swap = false;                   // the bytes of an element are in the other order
  bool whole = false;                  // all that the file is read for: then its checksum is compared
  bool boolean = false;                // bytes other than 0 become 1
  std::optional<Float8> float8{};      // bytes are codes, which become f32
};
std::unique_ptr<Source> flat_source(Input input, SourceInfo info, FlatLayout layout);

// The names of an image's 1 to 4 channels: gray, gray and alpha, the colours, these and alpha.
std::vector<std::string> channel_names(std::uint64_t count);

// Throws invalid_argument where another dtype was asked for than the `what` holds.
void check_asked_dtype(const Reader& reader, const SourceOptions& options, std::string_view what, Dtype dtype);

// Elements of a known number, a block at a time.
class BlockSource : public Source {
 public:
  [[nodiscard]] const SourceInfo& info() const noexcept final { return info_; }
  std::uint64_t read(void* target, std::uint64_t count) final;
  void rewind() override { position_ = 0; }
  bool take_part(std::uint64_t first, std::uint64_t count) override;

 protected:
  struct Block {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  // Which elements are best read together with one of them.
  [[nodiscard]] virtual Block block_at(std::uint64_t element) const = 0;
  // Reads a block in native byte order.
  virtual void load(const Block& block, void* target) = 0;
  SourceInfo info_;
  Block held_;  // by the buffer

 private:
  std::vector<std::byte> buffer_;
  std::uint64_t begin_ = 0;
  std::uint64_t position_ = 0;  // from begin_ on
};

// The same where each block is read after the one in front of it.
class SerialSource : public BlockSource {
 public:
  void rewind() final;
  bool take_part(std::uint64_t /*first*/, std::uint64_t /*count*/) final { return false; }

 protected:
  // Goes back to the first block.
  virtual void begin_again() = 0;
};

// An image that is decoded one row at a time, top row first.
class RowSource : public SerialSource {
 public:
  RowSource(Input input, std::string format, Dtype dtype, std::uint64_t height, std::uint64_t width,
            std::vector<std::string> channels);
  void keep_for_rewind() final { keep_ = true; }

 protected:
  // Prepares for the first row; called before it and after rewind().
  virtual void start() = 0;
  // Decodes the next row, all its channels, in native byte order.
  virtual void next_row(std::uint64_t row, std::byte* target) = 0;
  // After the last row.
  virtual void finish() {}

  [[nodiscard]] std::uint64_t row_elements() const noexcept { return info_.shape[1] * info_.shape[2]; }
  // These add to SourceInfo::notes.
  void note(std::string text);
  void note_largest(std::uint64_t largest);
  void note_orientation(std::uint32_t orientation);
  // A reader that goes back inside the file while it decodes calls this from its constructor.
  void keep_all() noexcept { keep_ = true; }

  Reader reader_;

 private:
  [[nodiscard]] Block block_at(std::uint64_t element) const final;
  void load(const Block& block, void* target) final;
  void begin_again() final;
  bool started_ = false;
  bool keep_ = false;
};

// The source, or its image without the channel alpha.
std::unique_ptr<Source> without_alpha(std::unique_ptr<Source> source);

// Facts in the file about an image besides its pixels.
struct ImageExtras {
  std::uint32_t images = 1;
  std::uint32_t orientation = 0;
};

// The number of a tag with one number in the first directory of a TIFF structure in memory (EXIF, MPF); else 0.
std::uint32_t directory_number(std::span<const std::byte> tiff, std::uint16_t tag) noexcept;
// The orientation in EXIF data, with or without the name "Exif" before it.
std::uint32_t exif_orientation(std::span<const std::byte> exif) noexcept;

// Throws invalid_argument unless the part lies within the elements, whose number is known.
void check_part(const SourceInfo& info, std::uint64_t first, std::uint64_t count);

void swap_bytes(void* data, std::uint64_t count, std::size_t element_bytes) noexcept;

template <class T>
T load_little(const std::byte* at) noexcept {
  T value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) value = static_cast<T>(value << 8 | std::to_integer<T>(at[i]));
  return value;
}

template <class T>
T load_big(const std::byte* at) noexcept {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(value << 8 | std::to_integer<T>(at[i]));
  return value;
}

// Bytes that other bytes stand for: compressed files, and the arrays of a .npz.

// Decoded as they are read. To go back means to begin again, so nothing is kept.
class DecodedStream : public ByteStream {
 public:
  explicit DecodedStream(Reader reader) : reader_(std::move(reader)) {}
  std::size_t read(std::byte* target, std::size_t bytes) final;
  void seek(std::uint64_t position) final;
  std::uint64_t measure() final;
  void forget() final { reader_.forget(); }
  [[nodiscard]] bool is_file() const final { return reader_.is_file(); }
  [[nodiscard]] bool has_checksum() const final { return true; }

 protected:
  // Decodes up to `bytes`, at least one; 0 at the end, when all that tells whether the data are right has been read.
  virtual std::size_t decode(std::byte* target, std::size_t bytes) = 0;
  virtual void begin_again() = 0;

  Reader reader_;

 private:
  // A byte is decoded ahead, so the end of the data is checked before the last of them are given.
  std::optional<std::byte> ahead_;
  bool looked_ahead_ = false;
  std::uint64_t position_ = 0;
};

// A compression of one stream of bytes.
struct Codec {
  std::string_view name;
  std::string_view ending;  // of files, without the dot
  bool (*is)(std::span<const std::byte> head) noexcept;
  // Takes a reader at its first byte. Throws unsupported where the library is not there.
  std::unique_ptr<ByteStream> (*decode)(Reader reader);
};
inline constexpr std::size_t codec_head = 10;  // bytes by which one is known
std::span<const Codec> codecs() noexcept;

bool is_gzip(std::span<const std::byte> head) noexcept;
bool is_zip(std::span<const std::byte> head) noexcept;
std::unique_ptr<ByteStream> gzip_stream(Reader reader);
// The file `array`, else `array`.npy, of a ZIP archive; "": the only .npy in it.
std::unique_ptr<ByteStream> zip_stream(Reader reader, std::string_view array);

using runtime::SharedLibrary;

// The library of a format, as formats() has it: "PNG".
SharedLibrary library_of(std::string_view format);
// Throws unsupported: the library's header was not there when masu was built.
[[noreturn]] void refuse_unbuilt(const Reader& reader, std::string_view format, std::string_view library,
                                 std::string_view package);

// A struct with a SharedLibrary and its functions, made when it is first asked for.
template <class Library>
const Library& opened() {
  static const Library library;
  return library;
}

// Random words of generators; docs/generators.md defines them.

__extension__ using Wide = unsigned __int128;

// floor(a * b / 2^64); a `b` of 0 stands for 2^64.
constexpr std::uint64_t scale(std::uint64_t a, std::uint64_t b) noexcept {
  return b == 0 ? a : static_cast<std::uint64_t>(Wide{a} * b >> 64);
}

inline constexpr std::uint64_t mix_first = 0xbf58476d1ce4e5b9U;
inline constexpr std::uint64_t mix_second = 0x94d049bb133111ebU;
inline constexpr std::uint64_t word_step = 0x9e3779b97f4a7c15U;
inline constexpr std::uint64_t bell_unit = ~std::uint64_t{0} / (12 * 65535 + 1);  // the step of `normal`'s fractions

// SplitMix64's finaliser.
constexpr std::uint64_t mix64(std::uint64_t z) noexcept {
  z = (z ^ (z >> 30)) * mix_first;
  z = (z ^ (z >> 27)) * mix_second;
  return z ^ (z >> 31);
}

// Words of 64 random bits by seed and index.
class Words {
 public:
  explicit constexpr Words(std::uint64_t seed) noexcept : base_(mix64(seed + word_step)) {}
  constexpr std::uint64_t operator[](std::uint64_t index) const noexcept {
    return mix64(base_ + (index + 1) * word_step);
  }
  [[nodiscard]] constexpr std::uint64_t base() const noexcept { return base_; }

 private:
  std::uint64_t base_;
};

// Many of a generator's words at once. Both write up to this many elements more than asked for.
inline constexpr std::uint64_t words_excess = 8;

// word(first) … word(first + count - 1) of the generator with that base.
void random_words(std::uint64_t base, std::uint64_t first, std::uint64_t count, std::uint64_t* out);

// The fractions of elements `first` … of the distribution `normal`.
void bell_fractions(std::uint64_t base, std::uint64_t first, std::uint64_t count, std::uint64_t* out);

}  // namespace masu::io
