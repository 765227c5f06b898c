// SPDX-License-Identifier: Apache-2.0
#include "elements/dtypes.h"
#include "io/fields.h"
#include "io/sources.h"

#include <masu/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <new>
#include <utility>

namespace masu::io {

namespace {

// Control characters other than white space do not stand in text.
bool is_control(std::byte b) noexcept {
  const auto c = std::to_integer<unsigned char>(b);
  return (c < ' ' && (c < '\t' || c > '\r')) || c == 0x7f;
}

bool looks_like_text(std::span<const std::byte> head) noexcept {
  return std::none_of(head.begin(), head.end(), is_control);
}

// The sequences of UTF-8; one that `head` cuts at its end is good too.
bool is_utf8(std::span<const std::byte> head) noexcept {
  unsigned more = 0;
  for (const std::byte b : head) {
    const auto c = std::to_integer<unsigned char>(b);
    const bool continues = (c & 0xc0U) == 0x80U;
    if (continues != (more != 0)) return false;
    if (continues) --more;
    else if (c >= 0x80) more = c >= 0xf8 ? 8 : c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
    if (more > 3) return false;
  }
  return true;
}

// The bytes of elements may look like text, but then many of them are beyond ASCII, and they are no UTF-8.
bool surely_text(std::span<const std::byte> head) noexcept {
  if (!looks_like_text(head)) return false;
  const auto beyond = std::count_if(head.begin(), head.end(), [](std::byte b) { return b >= std::byte{0x80}; });
  return beyond <= static_cast<std::ptrdiff_t>(head.size() / 4) || is_utf8(head);
}

// "line 3, column 5 has a NUL" or "the byte 0x1b", of what is text but for some; else "".
std::string control_in(std::span<const std::byte> head) {
  constexpr std::size_t most = 8;  // bytes for each
  std::vector<std::byte> rest(head.begin(), head.end());
  const std::size_t controls = std::erase_if(rest, is_control);
  if (controls == 0 || controls > rest.size() / most || !surely_text(rest)) return {};
  const auto found = std::find_if(head.begin(), head.end(), is_control);
  const auto line = std::find(std::make_reverse_iterator(found), head.rend(), std::byte{'\n'}).base();
  const auto what = std::to_integer<unsigned>(*found);
  return fmt::format("line {}, column {} has {}", std::count(head.begin(), found, std::byte{'\n'}) + 1,
                     found - line + 1, what == 0 ? "a NUL" : fmt::format("the byte 0x{:02x}", what));
}

// Formats that a user may reasonably try, to say so by name, with what makes a text or raw data of them.
struct Foreign {
  std::string_view magic;
  std::string_view name;
  std::string_view pipe = {};
};
// A ZIP archive whose first file is one of those that such an archive begins with.
bool is_workbook(std::span<const std::byte> head) noexcept {
  constexpr std::array<std::string_view, 4> names = {"[Content_Types].xml", "docProps/", "_rels/", "xl/"};
  constexpr std::size_t name_at = 30;
  return is_zip(head) && head.size() > name_at &&
         std::any_of(names.begin(), names.end(), [&](auto name) { return begins(head.subspan(name_at), name); });
}
std::string foreign_format(std::span<const std::byte> head) {
  constexpr std::array<Foreign, 15> known = {{
      {"GIF8", "a GIF image"},
      {"RIFF", "a RIFF file (sound or video)"},
      {"PAR1", "a Parquet file",
       R"--(duckdb -csv -nullvalue '' -c "select * from 'FILE'" | masu ... -t comma, or )--"
       R"--(python3 -c "import sys, pyarrow.parquet as p, pyarrow.csv as c; )--"
       R"--(c.write_csv(p.read_table('FILE', columns=['NAME']), sys.stdout.buffer)" | masu ... -t comma)--"},
      {"ARROW1", "an Arrow IPC (Feather) file",
       R"--(python3 -c "import sys, pyarrow.feather as f, pyarrow.csv as c; )--"
       R"--(c.write_csv(f.read_table('FILE', columns=['NAME']), sys.stdout.buffer)" | masu ... -t comma)--"},
      {"SQLite format 3", "an SQLite database", "sqlite3 -csv -header FILE 'select ...' | masu ..."},
      {"7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x -so FILE | masu ..."},
      {"PK\x03\x04", "a ZIP archive", "unzip -p FILE | masu ..."},
      {"\xff\xfe", "UTF-16 text", "iconv -f UTF-16 -t UTF-8 FILE | masu ..."},
      {"\xfe\xff", "UTF-16 text", "iconv -f UTF-16 -t UTF-8 FILE | masu ..."},
      {"\x04\x22\x4d\x18", "compressed by lz4", "lz4 -dc FILE | masu ..."},
      {"\x1f\x9d", "compressed by compress", "gzip -dc FILE | masu ..."},
      {"%PDF-", "a PDF document"},
      {"MATLAB 5.0 MAT-file", "a MATLAB file"},
      {"\x89HDF", "an HDF5 file"},
      {"SIMPLE  =", "a FITS file"},
  }};
  // Its first message is of any length, with a table at byte 16.
  if (begins(head, "\xff\xff\xff\xff") && head.size() > 12 && begins(head.subspan(8), {"\x10\0\0\0", 4})) {
    return R"--(an Arrow IPC stream: python3 -c "import sys, pyarrow as a, pyarrow.csv as c; )--"
           R"--(c.write_csv(a.ipc.open_stream('FILE').read_all().select(['NAME']), sys.stdout.buffer)" | masu ... -t comma)--";
  }
  if (is_workbook(head)) return "an Excel workbook: xlsx2csv FILE | masu ...";
  for (const Foreign& each : known) {
    if (begins(head, each.magic)) return fmt::format("{}{}{}", each.name, each.pipe.empty() ? "" : ": ", each.pipe);
  }
  return {};
}

// What follows the last dot, in small letters; "" without one.
std::string ending_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  std::string ending(dot == std::string_view::npos ? "" : path.substr(dot + 1));
  for (char& c : ending)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return ending;
}

bool is_named_compressed(std::string_view path) {
  const auto list = codecs();
  return std::any_of(list.begin(), list.end(),
                     [&](const Codec& codec) { return path.ends_with(fmt::format(".{}", codec.ending)); });
}

// What a file is named as, "" where its name says nothing that masu could check.
std::string named_as(std::string_view path) {
  constexpr std::pair<std::string_view, std::string_view> endings[] = {
      {"png jpg jpeg tif tiff webp bmp pnm pbm pgm ppm pam pfm", "an image"},
      {"npy", "a .npy file"},
      {"npz", "a .npz file"},
      {"h5 hdf5 he5", "an HDF5 file"},
      {"fits fit fts", "a FITS file"},
  };
  const std::string ending = ending_of(path);
  for (const auto& [known, what] : endings)
    if (!ending.empty() && has_word(known, ending, " ")) return std::string(what);
  for (const Codec& codec : codecs())
    if (ending == codec.ending) return fmt::format("compressed by {}", codec.name);
  return {};
}

// Elements that read_all() asks for first.
constexpr std::uint64_t first_step = std::uint64_t{1} << 16;

constexpr std::string_view images = "BMP, JPEG, PNG, PNM, PFM, TIFF and WebP";
constexpr std::string_view readable =
    "masu reads images (BMP, JPEG, PNG, PNM, PFM, TIFF, WebP), .npy, .npz, HDF5, FITS, JSON, text and raw files, and "
    "these compressed by gzip, zstd, xz or bzip2";

struct ImageFormat {
  bool (*is)(std::span<const std::byte> head) noexcept;
  std::unique_ptr<Source> (*open)(Input input);
};
constexpr std::array<ImageFormat, 6> image_formats = {{{is_png, open_png},
                                                       {is_jpeg, open_jpeg},
                                                       {is_tiff, open_tiff},
                                                       {is_webp, open_webp},
                                                       {is_bmp, open_bmp},
                                                       {is_pnm, open_pnm}}};

const ImageFormat* image_format(std::span<const std::byte> head) noexcept {
  const auto* found = std::find_if(image_formats.begin(), image_formats.end(),
                                   [&](const ImageFormat& format) { return format.is(head); });
  return found == image_formats.end() ? nullptr : found;
}

std::unique_ptr<Source> open_format(const ImageFormat& format, Input input) {
  const bool alpha = input.options.alpha;
  std::unique_ptr<Source> source = format.open(std::move(input));
  return alpha ? std::move(source) : without_alpha(std::move(source));
}

std::unique_ptr<Source> open_image(Input input, std::span<const std::byte> head) {
  if (const ImageFormat* format = image_format(head)) return open_format(*format, std::move(input));
  const std::string foreign = foreign_format(head);
  input.reader.fail("{}; the images masu reads are {}",
                    foreign.empty() ? "is not an image" : fmt::format("is {}", foreign), images);
}

const Codec* codec_of(std::span<const std::byte> head) noexcept {
  const auto list = codecs();
  const auto found = std::find_if(list.begin(), list.end(), [&](const Codec& codec) { return codec.is(head); });
  return found == list.end() ? nullptr : &*found;
}

// A file whose bytes are asked for (raw) must have the name too.
bool to_decompress(Input& input) {
  const bool raw = input.options.format == InputFormat::raw;
  return codec_of(input.reader.peek(codec_head)) != nullptr && (!raw || is_named_compressed(input.reader.name()));
}

// Elements may begin as other formats do.
void advise_raw(Input& input) {
  if (input.options.dtype && input.options.format == InputFormat::automatic && named_as(input.reader.name()).empty())
    input.reader.advise(" (--input-format raw reads the file's own bytes)");
}

Input decompressed(Input input) {
  const std::string name = input.reader.name();
  advise_raw(input);
  const Codec* codec = codec_of(input.reader.peek(codec_head));
  input.reader = Reader(name, codec->decode(std::move(input.reader)));
  const auto inside = input.reader.peek(64);
  if (codec_of(inside) != nullptr && input.options.format != InputFormat::raw)
    input.reader.fail("is compressed twice; masu undoes one compression");
  // Readers of images go back and forth.
  if (image_format(inside) != nullptr)
    input.reader = Reader(name, spooled_stream(input.reader.take(), name, input.options.tmpdir));
  return input;
}

std::unique_ptr<Source> open_npz(Input input) {
  const std::string name = input.reader.name();
  advise_raw(input);
  input.reader = Reader(name, zip_stream(std::move(input.reader), std::exchange(input.array, {})));
  return open_npy(std::move(input));
}

}  // namespace

InputFormat input_format_from_name(std::string_view name) {
  constexpr std::array<std::string_view, 6> names = {"auto", "raw", "text", "npy", "image", "json"};
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<InputFormat>(found - names.begin());
  throw Error(ErrorCode::invalid_argument,
              fmt::format("input format: must be one of auto, raw, text, npy, image, json, got '{}'", printable(name)));
}

std::unique_ptr<Source> open_input(Input input) {
  std::string name = input.reader.name();
  if (to_decompress(input)) {
    input = decompressed(std::move(input));
    if (is_named_compressed(name)) name.resize(name.rfind('.'));
  }
  const SourceOptions& options = input.options;
  const auto head = input.reader.peek(4096);
  const bool zip = is_zip(head);
  const bool several = is_hdf5(head) || is_fits(head);
  if (!input.array.empty() && !zip && !several)
    input.reader.fail("is not a ZIP archive, nor HDF5 or FITS, so it has no arrays with names");
  if (!input.array.empty() && !several && options.format != InputFormat::automatic &&
      options.format != InputFormat::npy) {
    input.reader.fail("has arrays with names: they are npy, so no other --input-format does");
  }
  const bool codes =
      options.format == InputFormat::automatic && !zip && !several && !is_npy(head) && !image_format(head);
  if (options.float8 && codes) return open_raw(std::move(input));
  switch (options.format) {
    case InputFormat::raw: return open_raw(std::move(input));
    case InputFormat::text: return open_text(std::move(input));
    case InputFormat::json: return open_json(std::move(input));
    case InputFormat::npy: return zip ? open_npz(std::move(input)) : open_npy(std::move(input));
    case InputFormat::image: return open_image(std::move(input), head);
    case InputFormat::automatic: break;
  }
  if (const ImageFormat* format = image_format(head)) return open_format(*format, std::move(input));
  if (is_npy(head)) return open_npy(std::move(input));
  if (is_hdf5(head)) return open_hdf5(std::move(input));
  if (is_fits(head)) return open_fits(std::move(input));
  const std::string named = named_as(name);
  if (is_workbook(head)) input.reader.fail("is {}", foreign_format(head));
  if (zip && (named.empty() || named == named_as(".npz") || !input.array.empty())) return open_npz(std::move(input));
  if (!named.empty()) {
    const std::string foreign = foreign_format(head);
    input.reader.fail("is named as {}, but is {} (--input-format text or raw reads it all the same)", named,
                      foreign.empty() ? "none" : foreign);
  }
  const bool asks_text = !options.column.empty() || !options.delimiter.empty() || !options.decimal.empty() ||
                         options.header || options.strict || options.entries == Entries::texts;
  const bool asks_raw = options.offset != 0 || options.count || options.endian != Endian::little;
  if (!asks_raw && takes_json(head, options)) return open_json(std::move(input));
  if (!asks_raw && !asks_text && is_json_array(head))
    input.reader.fail("is an array of JSON without objects: jq '.. | numbers' FILE | masu ...");
  if (asks_text && !asks_raw && (looks_like_text(head) || options.entries == Entries::texts))
    return open_text(std::move(input));
  const std::string control = asks_raw || (options.dtype && !asks_text) ? "" : control_in(head);
  if (!control.empty() && foreign_format(head).empty())
    input.reader.fail("{}, so it is no text (--input-format text reads it all the same)", control);
  if (options.dtype) {
    const bool text = !asks_raw && !head.empty() && surely_text(head);
    return text ? open_text(std::move(input)) : open_raw(std::move(input));
  }
  if (const std::string foreign = foreign_format(head); !foreign.empty()) {
    if (foreign.ends_with("masu ...")) input.reader.fail("is {}", foreign);
    input.reader.fail("is {}; {}", foreign, readable);
  }
  if (looks_like_text(head)) return open_text(std::move(input));
  input.reader.fail("is of no known format; {}, the last with a dtype (--dtype)", readable);
}

std::pair<std::string, std::string> file_and_array(const std::string& input) {
  if (::access(input.c_str(), F_OK) == 0) return {input, ""};
  std::size_t found = std::string::npos;
  const auto look = [&](const std::string& ending) {
    const std::size_t at = input.rfind(ending);
    if (at != std::string::npos && (found == std::string::npos || at + ending.size() > found))
      found = at + ending.size();
  };
  for (const std::string_view ending : {"npz", "h5", "hdf5", "he5", "nc", "fits", "fit", "fts"}) {
    look(fmt::format(".{}:", ending));
    for (const Codec& codec : codecs()) look(fmt::format(".{}.{}:", ending, codec.ending));
  }
  if (found == std::string::npos) return {input, ""};
  return {input.substr(0, found - 1), input.substr(found)};
}

std::unique_ptr<Source> open(const std::string& input, const SourceOptions& options) {
  const FloatingPointScope usual;
  if (is_generator(input)) return open_generator(input, options);
  const std::string name = input == "-" ? "standard input" : input;
  const auto [path, array] = file_and_array(input);
  return open_input({Reader(name, open_stream(path, name, options.tmpdir)), options, array, 0, path});
}

bool takes_json(std::span<const std::byte> head, const SourceOptions& options) noexcept {
  if (options.format != InputFormat::automatic) return options.format == InputFormat::json;
  const bool asks_fields = !options.delimiter.empty() || !options.decimal.empty() || options.comment;
  return !asks_fields && is_json(head) && looks_like_text(head);
}

namespace {

// The text of the rows that open_rows() gives, or JSON: decompressed, and surely one of these.
Input open_table(const std::string& input, const SourceOptions& options) {
  const std::string name = input == "-" ? "standard input" : input;
  const auto fail = [&](std::string_view what) {
    fail_io(name, "is {}, but lines of text are needed (--input-format text takes it as text)", what);
  };
  if (is_generator(input)) fail("a generator");
  if (options.format != InputFormat::automatic && options.format != InputFormat::text &&
      options.format != InputFormat::json)
    throw Error(ErrorCode::invalid_argument, "lines are taken from text, so no other --input-format does");
  Input opened{Reader(name, open_stream(input, name, options.tmpdir)), options};
  if (to_decompress(opened)) opened = decompressed(std::move(opened));
  const auto head = opened.reader.peek(4096);
  if (options.format == InputFormat::text || takes_json(head, options)) return opened;
  if (const std::string foreign = foreign_format(head); !foreign.empty()) fail(foreign);
  if (image_format(head) != nullptr) fail("an image");
  if (is_npy(head)) fail("a .npy file");
  if (const std::string control = control_in(head); !control.empty())
    fail_io(name, "{} (--input-format text reads it all the same)", control);
  if (!looks_like_text(head)) fail("no text");
  return opened;
}

bool is_json_table(Input& opened) {
  return opened.options.format != InputFormat::text && takes_json(opened.reader.peek(4096), opened.options);
}

}  // namespace

TextRows open_rows(const std::string& input, const SourceOptions& options, std::span<const std::string> columns,
                   bool lines) {
  Input opened = open_table(input, options);
  const bool json = is_json_table(opened);
  TextRows rows{std::move(opened.reader), options, {columns.begin(), columns.end()}};
  if (!json) return rows;
  if (lines)
    rows.reader.fail(
        "is JSON, of which keys are read, but lines of text are needed (--input-format text takes it as text)");
  rows.reader = json_lines(std::move(rows.reader), rows.options, rows.columns);
  for (std::size_t i = 0; i < columns.size(); ++i) rows.columns[i] = fmt::format("number:{}", i + 1);
  return rows;
}

std::vector<std::string> columns(const std::string& input, const SourceOptions& options) {
  Input opened = open_table(input, options);
  if (is_json_table(opened)) return json_keys(std::move(opened.reader));
  SourceOptions header = options;
  header.header = true;
  TextFields fields(std::move(opened.reader), header);
  fields.read_header();
  return fields.column_names();
}

std::vector<std::byte> read_all(Source& source, std::uint64_t limit_bytes) {
  const std::uint64_t element = size_of(source.info().dtype);
  const std::uint64_t limit = (limit_bytes == 0 ? std::numeric_limits<std::int64_t>::max() : limit_bytes) / element;
  const std::optional<std::uint64_t> count = source.info().count;
  std::uint64_t room = count.value_or(0);
  std::uint64_t done = 0;
  const auto refuse = [&](std::uint64_t elements) {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("{}: {} elements of {} need {} bytes of memory, the limit is {}", source.info().name,
                            elements, to_string(source.info().dtype), elements * element, limit * element));
  };
  const auto no_memory = [&] {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("{}: no memory for {} bytes", source.info().name, room * element));
  };
  if (room > limit) refuse(room);
  std::vector<std::byte> data;
  try {
    // A stream may promise more than it has: its memory is used as far as the data come.
    data.reserve(room * element);
    for (;;) {
      const std::uint64_t step = std::min(count.value_or(limit) - done, std::max(done, first_step));
      room = std::max(room, done + step);
      data.resize((done + step) * element);
      const std::uint64_t got = source.read(data.data() + done * element, step);
      done += got;
      if (got == step && step != 0) continue;
      std::byte extra[8];
      if (got == step && source.read(extra, 1) != 0) refuse(done + 1);
      data.resize(done * element);
      return data;
    }
  } catch (const std::bad_alloc&) {
    no_memory();
  } catch (const std::length_error&) {
    no_memory();
  }
  return data;
}

}  // namespace masu::io
