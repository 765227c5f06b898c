// SPDX-License-Identifier: Apache-2.0
// Bytes that other bytes stand for, by zlib, which is opened when it is first needed: gzip, of one member or several,
// as `cat` and bgzip leave them; one file of a ZIP archive, stored or deflated, as NumPy writes .npz (the archive's
// directory, at its end, is believed; it may be a ZIP64 one).
#include "io/sources.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <utility>

#if __has_include(<zlib.h>)
#define MASU_HAS_ZLIB
#include <zlib.h>
#endif

namespace masu::io {
namespace {

std::uint32_t zip_signature(unsigned a, unsigned b) noexcept {
  return 'P' | 'K' << 8 | a << 16 | b << 24;
}

}  // namespace

bool is_gzip(std::span<const std::byte> head) noexcept {
  // The method is deflate, and of the flags three are reserved.
  return head.size() >= 4 && head[0] == std::byte{0x1f} && head[1] == std::byte{0x8b} && head[2] == std::byte{8} &&
         (head[3] & std::byte{0xe0}) == std::byte{0};
}

bool is_zip(std::span<const std::byte> head) noexcept {
  if (head.size() < 4) return false;
  const auto magic = load_little<std::uint32_t>(head.data());
  return magic == zip_signature(3, 4) || magic == zip_signature(5, 6);  // the second: an empty one
}

#ifdef MASU_HAS_ZLIB
namespace {

struct LibZ {
  SharedLibrary library = library_of("deflated data");
#define MASU_ZLIB_FUNCTIONS(X) X(inflateInit2_) X(inflate) X(inflateReset) X(inflateEnd) X(crc32_z)
  MASU_ZLIB_FUNCTIONS(MASU_FOUND_FUNCTION)
};

constexpr std::size_t largest_step = std::size_t{1} << 30;

enum class Deflated { gzip, raw };

class Inflater {
 public:
  // `format` is what the reader has, for messages. Throws unsupported where there is no zlib.
  Inflater(const Reader& reader, std::string_view format, Deflated form) : format_(format) {
    library_.library.require(reader.name());
    const int window = form == Deflated::gzip ? MAX_WBITS + 16 : -MAX_WBITS;
    const int result = library_.inflateInit2_(&stream_, window, ZLIB_VERSION, sizeof(z_stream));
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result != Z_OK) reader.fail("{}: zlib cannot be started", format_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { library_.inflateEnd(&stream_); }

  // Decodes what `reader` has next, at least one byte unless the last one has been given, and what the format says of
  // the data's sum is true. Throws io for damaged or truncated data.
  std::size_t decode(Reader& reader, std::byte* target, std::size_t bytes) {
    bytes = std::min(bytes, largest_step);
    stream_.next_out = reinterpret_cast<Bytef*>(target);
    stream_.avail_out = static_cast<uInt>(bytes);
    while (!ended_ && stream_.avail_out == bytes) {
      const auto in = reader.peek(1);
      if (in.empty()) reader.fail("truncated: the file ends at byte {} inside {} data", reader.position(), format_);
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));  // zlib does not write there
      stream_.avail_in = static_cast<uInt>(in.size());
      const int result = library_.inflate(&stream_, Z_NO_FLUSH);
      reader.consume(in.size() - stream_.avail_in);
      if (result == Z_MEM_ERROR) throw std::bad_alloc();
      if (result != Z_OK && result != Z_STREAM_END) {
        reader.fail("{}: {} (at byte {})", format_, stream_.msg == nullptr ? "the data are damaged" : stream_.msg,
                    reader.position());
      }
      ended_ = result == Z_STREAM_END;
    }
    return bytes - stream_.avail_out;
  }
  // For the next data.
  void begin_again() {
    library_.inflateReset(&stream_);
    ended_ = false;
  }

  [[nodiscard]] std::uint32_t crc32(std::uint32_t of_those_before, std::span<const std::byte> bytes) const {
    return static_cast<std::uint32_t>(
        library_.crc32_z(of_those_before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
  }

 private:
  const LibZ& library_ = opened<LibZ>();
  z_stream stream_{};
  std::string_view format_;
  bool ended_ = false;
};

class GzipStream final : public DecodedStream {
 public:
  explicit GzipStream(Reader reader) : DecodedStream(std::move(reader)), inflater_(reader_, "gzip", Deflated::gzip) {}

 private:
  std::size_t decode(std::byte* target, std::size_t bytes) override {
    for (;;) {
      const std::size_t got = inflater_.decode(reader_, target, bytes);
      if (got != 0) return got;
      if (!next_member()) return 0;
      inflater_.begin_again();
    }
  }

  // Zeros after the last one, as tapes have them, are skipped.
  bool next_member() {
    for (;;) {
      const auto in = reader_.peek(4);
      if (in.empty()) return false;
      if (is_gzip(in)) return true;
      const auto other = std::find_if(in.begin(), in.end(), [](std::byte b) { return b != std::byte{0}; });
      if (other != in.end()) reader_.fail("gzip: other bytes follow the compressed data");
      reader_.consume(in.size());
    }
  }

  void begin_again() override {
    reader_.seek(0);
    inflater_.begin_again();
  }

  Inflater inflater_;
};

constexpr std::uint32_t all_ones = 0xffffffff;  // a field of 32 bits whose value stands elsewhere, in 64
constexpr std::size_t end_bytes = 22;           // the record at the end, without its comment
constexpr std::size_t locator_bytes = 20;       // in front of it: where ZIP64's record is
constexpr std::size_t entry_bytes = 46;
constexpr std::size_t local_bytes = 30;
constexpr std::uint64_t deflate_ratio = 1032;  // no byte of deflate stands for more

struct ZipEntry {
  std::string name;
  unsigned method = 0;  // 0 stored, 8 deflated
  bool encrypted = false;
  std::uint32_t crc = 0;
  std::uint64_t stored = 0;  // bytes in the archive
  std::uint64_t size = 0;    // bytes that they stand for
  std::uint64_t header = 0;  // where the local header is; then where the data are
};

class ZipDirectory {
 public:
  explicit ZipDirectory(Reader& reader) : reader_(reader), total_(reader.measured_size()) { find(); }

  // As numpy.load: the entry with exactly that name is preferred to NAME.npy, and the last of equal names is taken.
  // Arrays are entries whose name ends in .npy or whose data begin as such a file.
  ZipEntry entry(std::string_view array) {
    ZipEntry chosen;
    const std::string with_ending = fmt::format("{}.npy", array);
    std::vector<ZipEntry> others;
    std::vector<std::string> arrays;
    reader_.seek(start_);
    for (std::uint64_t done = 0; done < size_;) {
      ZipEntry each = next(done);
      const bool npy = each.name.ends_with(".npy");
      if (npy) arrays.push_back(each.name.substr(0, each.name.size() - 4));
      const bool wanted = array.empty() ? npy : each.name == with_ending && chosen.name != array;
      if (wanted || each.name == array) chosen = std::move(each);
      else if (!npy && others.size() < most_others) others.push_back(std::move(each));
    }
    for (ZipEntry& other : others) {
      if (!chosen.name.empty() && !array.empty()) break;
      if (!is_array(other)) continue;
      arrays.push_back(other.name);
      if (array.empty()) chosen = std::move(other);
    }
    const std::string names = listed(arrays, most_names);
    if (array.empty() && arrays.size() > 1) {
      const bool pipe = reader_.name() == "standard input";
      reader_.fail("holds {} arrays ({}): {}", arrays.size(), names,
                   pipe ? "save it to a file, of which FILE.npz:NAME is one" : "say which, as in FILE.npz:NAME");
    }
    if (chosen.name.empty()) {
      reader_.fail(arrays.empty()
                       ? "is a ZIP archive without an array (.npy); of another file in it: unzip -p FILE | masu ..."
                       : fmt::format("has no array {}; it has {}", printable(array), names));
    }
    locate(chosen);
    return chosen;
  }

 private:
  static constexpr std::size_t most_names = 8;      // in a message
  static constexpr std::uint64_t most_others = 64;  // entries without the ending whose data are read

  // False where the entry cannot be read.
  bool is_array(ZipEntry entry) {
    std::array<std::byte, 6> head{};
    try {
      locate(entry);
      reader_.seek(entry.header);
      const std::size_t most = static_cast<std::size_t>(std::min<std::uint64_t>(head.size(), entry.size));
      Inflater inflater(reader_, "zip", Deflated::raw);
      for (std::size_t got = 0, step = 1; got < most && step != 0; got += step) {
        const std::span<std::byte> rest = std::span(head).first(most).subspan(got);
        step = entry.method == 8 ? inflater.decode(reader_, rest.data(), rest.size())
                                 : reader_.read(rest.data(), rest.size());
      }
      return is_npy(head);
    } catch (const Error&) {
      return false;
    }
  }

  template <class... Values>
  [[noreturn]] void damaged(fmt::format_string<Values...> what, Values&&... values) const {
    reader_.fail("zip: {}", fmt::format(what, std::forward<Values>(values)...));
  }

  void find() {
    std::vector<std::byte> tail(
        static_cast<std::size_t>(std::min<std::uint64_t>(total_, locator_bytes + end_bytes + 0xffff)));
    const std::uint64_t tail_start = total_ - tail.size();
    reader_.seek(tail_start);
    reader_.read_exact(tail.data(), tail.size(), "its end");
    std::size_t at = tail.size() < end_bytes ? 0 : tail.size() - end_bytes + 1;
    const auto is_end = [&] {
      return load_little<std::uint32_t>(&tail[at]) == zip_signature(5, 6) &&
             at + end_bytes + load_little<std::uint16_t>(&tail[at + 20]) <= tail.size();
    };
    do {
      if (at == 0) damaged("truncated: the archive has no directory at its end");
      --at;
    } while (!is_end());
    if (load_little<std::uint16_t>(&tail[at + 4]) != load_little<std::uint16_t>(&tail[at + 6]))
      damaged("one of several files of an archive");
    size_ = load_little<std::uint32_t>(&tail[at + 12]);
    start_ = load_little<std::uint32_t>(&tail[at + 16]);
    if (size_ == all_ones || start_ == all_ones || load_little<std::uint16_t>(&tail[at + 10]) == 0xffff) {
      if (at >= locator_bytes && load_little<std::uint32_t>(&tail[at - locator_bytes]) == zip_signature(6, 7)) {
        std::array<std::byte, 56> wide{};
        read_at(load_little<std::uint64_t>(&tail[at - locator_bytes + 8]), wide, "the directory's place");
        if (load_little<std::uint32_t>(wide.data()) != zip_signature(6, 6))
          damaged("no ZIP64 record where it should be");
        size_ = load_little<std::uint64_t>(&wide[40]);
        start_ = load_little<std::uint64_t>(&wide[48]);
      }
    }
    if (start_ > total_ || size_ > total_ - start_)
      damaged("truncated: the directory needs {} bytes from byte {}, but the file ends at byte {}", size_, start_,
              total_);
  }

  void read_at(std::uint64_t position, std::span<std::byte> target, std::string_view what) {
    if (position > total_) damaged("{} lies at byte {}, but the file ends at byte {}", what, position, total_);
    reader_.seek(position);
    reader_.read_exact(target.data(), target.size(), what);
  }

  // Reads the entry at byte `done` of the directory and moves `done` past it.
  ZipEntry next(std::uint64_t& done) {
    std::array<std::byte, entry_bytes> head{};
    reader_.read_exact(head.data(), head.size(), "the directory");
    if (load_little<std::uint32_t>(head.data()) != zip_signature(1, 2)) damaged("an entry of the directory is damaged");
    ZipEntry entry;
    entry.encrypted = (load_little<std::uint16_t>(&head[8]) & 1) != 0;
    entry.method = load_little<std::uint16_t>(&head[10]);
    entry.crc = load_little<std::uint32_t>(&head[16]);
    entry.stored = load_little<std::uint32_t>(&head[20]);
    entry.size = load_little<std::uint32_t>(&head[24]);
    entry.header = load_little<std::uint32_t>(&head[42]);
    entry.name.resize(load_little<std::uint16_t>(&head[28]));
    std::vector<std::byte> extra(load_little<std::uint16_t>(&head[30]));
    std::vector<std::byte> comment(load_little<std::uint16_t>(&head[32]));
    reader_.read_exact(entry.name.data(), entry.name.size(), "the directory");
    reader_.read_exact(extra.data(), extra.size(), "the directory");
    reader_.read_exact(comment.data(), comment.size(), "the directory");
    widen(entry, extra);
    done += head.size() + entry.name.size() + extra.size() + comment.size();
    return entry;
  }

  // The fields of 64 bits, in the order of those that they stand for.
  void widen(ZipEntry& entry, std::span<const std::byte> extra) const {
    while (extra.size() >= 4) {
      const auto id = load_little<std::uint16_t>(extra.data());
      auto field = extra.subspan(4, std::min<std::size_t>(load_little<std::uint16_t>(&extra[2]), extra.size() - 4));
      extra = extra.subspan(4 + field.size());
      if (id != 1) continue;
      for (std::uint64_t* value : {&entry.size, &entry.stored, &entry.header}) {
        if (*value != all_ones) continue;
        if (field.size() < 8) damaged("an entry of the directory is damaged");
        *value = load_little<std::uint64_t>(field.data());
        field = field.subspan(8);
      }
    }
  }

  // Looks at the local header, and has `header` say where the data are.
  void locate(ZipEntry& entry) {
    const std::string name = printable(entry.name);
    if (entry.encrypted) damaged("{} is encrypted", name);
    if (entry.method != 0 && entry.method != 8)
      damaged("{} is compressed by method {}; masu reads stored (0) and deflated (8)", name, entry.method);
    std::array<std::byte, local_bytes> head{};
    read_at(entry.header, head, name);
    if (load_little<std::uint32_t>(head.data()) != zip_signature(3, 4)) damaged("{} has no header", name);
    entry.header += local_bytes + load_little<std::uint16_t>(&head[26]) + load_little<std::uint16_t>(&head[28]);
    if (entry.header > total_ || entry.stored > total_ - entry.header) {
      damaged("truncated: {} needs {} bytes from byte {}, but the file ends at byte {}", name, entry.stored,
              entry.header, total_);
    }
    const bool deflated = entry.method == 8;
    if (deflated ? entry.size / deflate_ratio > entry.stored : entry.size != entry.stored)
      damaged("{} cannot have {} bytes of {} {} ones", name, entry.size, entry.stored,
              deflated ? "deflated" : "stored");
  }

  Reader& reader_;
  std::uint64_t total_;
  std::uint64_t start_ = 0;
  std::uint64_t size_ = 0;
};

class ZipStream final : public DecodedStream {
 public:
  ZipStream(Reader reader, std::string_view array)
      : DecodedStream(std::move(reader)),
        entry_(ZipDirectory(reader_).entry(array)),
        inflater_(reader_, "zip", Deflated::raw) {
    begin_again();
  }
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return entry_.size; }

 private:
  std::size_t decode(std::byte* target, std::size_t bytes) override {
    bytes = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, entry_.size - done_));
    const std::string name = printable(entry_.name);
    if (bytes == 0) {
      if (crc_ != entry_.crc) reader_.fail("zip: the data of {} are damaged (CRC-32)", name);
      return 0;
    }
    const std::size_t got = entry_.method == 8 ? inflater_.decode(reader_, target, bytes) : reader_.read(target, bytes);
    if (got == 0) reader_.fail("zip: {} ends after {} of {} bytes", name, done_, entry_.size);
    crc_ = inflater_.crc32(crc_, {target, got});
    done_ += got;
    return got;
  }

  void begin_again() override {
    reader_.seek(entry_.header);
    inflater_.begin_again();
    crc_ = 0;
    done_ = 0;
  }

  ZipEntry entry_;
  Inflater inflater_;
  std::uint32_t crc_ = 0;
  std::uint64_t done_ = 0;
};

}  // namespace

std::unique_ptr<ByteStream> gzip_stream(Reader reader) {
  return std::make_unique<GzipStream>(std::move(reader));
}
std::unique_ptr<ByteStream> zip_stream(Reader reader, std::string_view array) {
  return std::make_unique<ZipStream>(std::move(reader), array);
}

#else

std::unique_ptr<ByteStream> gzip_stream(Reader reader) {
  refuse_unbuilt(reader, "gzip", "zlib", "zlib1g-dev");
}
std::unique_ptr<ByteStream> zip_stream(Reader reader, std::string_view /*array*/) {
  refuse_unbuilt(reader, "zip", "zlib", "zlib1g-dev");
}

#endif

}  // namespace masu::io
