// SPDX-License-Identifier: Apache-2.0
// gzip, zstd, xz, bzip2 and .npz: what they stand for is read as if it lay there, and damage is an error.
#include "io/test_files.h"

#include <zstd.h>

#include <initializer_list>
#include <numeric>

namespace masu::io::test {
namespace {

Bytes zstd(const Bytes& data) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  Bytes out(ZSTD_compressBound(data.size()), '\0');
  out.resize(ZSTD_compress2(context, out.data(), out.size(), data.data(), data.size()));
  ZSTD_freeCCtx(context);
  return out;
}

// Other bytes than the library's: written by its encoder, whose ABI is declared here.
Bytes xz(const Bytes& data) {
  static SharedLibrary library = library_of("xz");
  std::size_t (*bound)(std::size_t) = library.function("lzma_stream_buffer_bound");
  int (*encoder)(std::uint32_t, int, const void*, const char*, std::size_t, char*, std::size_t*, std::size_t) =
      library.function("lzma_easy_buffer_encode");
  Bytes out(bound(data.size()), '\0');
  std::size_t bytes = 0;
  EXPECT_EQ(encoder(6, 4, nullptr, data.data(), data.size(), out.data(), &bytes, out.size()), 0);  // with a CRC-64
  out.resize(bytes);
  return out;
}

Bytes bzip2(const Bytes& data) {
  static SharedLibrary library = library_of("bzip2");
  int (*encoder)(char*, unsigned*, const char*, unsigned, int, int, int) = library.function("BZ2_bzBuffToBuffCompress");
  Bytes out(data.size() + data.size() / 50 + 600, '\0');
  auto bytes = static_cast<unsigned>(out.size());
  EXPECT_EQ(encoder(out.data(), &bytes, data.data(), static_cast<unsigned>(data.size()), 9, 0, 0), 0);
  out.resize(bytes);
  return out;
}

struct ZipFile {
  Bytes name = {};
  Bytes data = {};
  bool deflate = false;
  bool wide = false;  // its sizes stand in fields of 64 bits
  unsigned flags = 0;
  unsigned method = 99;                           // 99: as `deflate` says
  std::optional<std::uint64_t> size = {};         // else that of the data
  std::optional<std::uint32_t> checksum = {};     // else that of the data
  std::optional<std::uint64_t> stored_size = {};  // else that of the bytes stored
};

Bytes zip(std::initializer_list<ZipFile> files, const Bytes& comment = "", bool wide = false) {
  Bytes out;
  Bytes directory;
  for (const ZipFile& file : files) {
    const Bytes stored = file.deflate ? deflated(file.data, -MAX_WBITS) : file.data;
    const std::uint64_t size = file.size.value_or(file.data.size());
    const std::uint64_t stored_size = file.stored_size.value_or(stored.size());
    const auto sum = crc32(0, reinterpret_cast<const Bytef*>(file.data.data()), static_cast<uInt>(file.data.size()));
    const Bytes extra =
        file.wide ? little(1, 2) + little(24, 2) + little(size, 8) + little(stored_size, 8) + little(out.size(), 8)
                  : "";
    const auto narrow = [&](std::uint64_t value) { return little(file.wide ? 0xffffffff : value, 4); };
    const Bytes common = little(file.flags, 2) +
                         little(file.method != 99 ? file.method
                                : file.deflate    ? 8
                                                  : 0,
                                2) +
                         little(0, 4) + little(file.checksum.value_or(static_cast<std::uint32_t>(sum)), 4) +
                         narrow(stored_size) + narrow(size) + little(file.name.size(), 2);
    directory += "PK\1\2" + little(45, 2) + little(45, 2) + common + little(extra.size(), 2) + little(3, 2) +
                 Bytes(8, '\0') + narrow(out.size()) + file.name + extra + "say";
    out += "PK\3\4" + little(45, 2) + common + little(5, 2) + file.name + little(7, 2) + little(1, 2) + "x" + stored;
  }
  const std::uint64_t start = out.size();
  out += directory;
  const std::uint64_t count = wide ? 0xffff : files.size();
  if (wide) {
    out += "PK\6\6" + little(44, 8) + little(45, 2) + little(45, 2) + Bytes(8, '\0') + little(files.size(), 8) +
           little(files.size(), 8) + little(directory.size(), 8) + little(start, 8);
    out += "PK\6\7" + little(0, 4) + little(start + directory.size(), 8) + little(1, 4);
  }
  return out + "PK\5\6" + little(0, 4) + little(count, 2) + little(count, 2) +
         little(wide ? 0xffffffff : directory.size(), 4) + little(wide ? 0xffffffff : start, 4) +
         little(comment.size(), 2) + comment;
}

std::vector<std::uint32_t> numbers(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint32_t>(i * 2654435761U >> (i % 29));
  return values;
}
Bytes npy(const std::vector<std::uint32_t>& values) {
  const std::uint64_t shape[] = {values.size()};
  return npy_header(Dtype::u32, shape) + Bytes(reinterpret_cast<const char*>(values.data()), values.size() * 4);
}

SourceOptions raw_of(Dtype dtype) {
  SourceOptions options;
  options.dtype = dtype;
  return options;
}

// Bytes damaged in one place give an error, or, where that place says nothing of the data, the same values.
void expect_no_wrong_values(const Bytes& bytes, const std::vector<std::uint32_t>& expected) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      Bytes damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      for (const bool known_size : {true, false}) {
        try {
          auto source = open_bytes(damaged, {}, known_size);
          EXPECT_EQ(values<std::uint32_t>(*source), expected) << "byte " << i;
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::io) << error.what();
        }
      }
    }
  }
}

TEST(Compressed, IsReadAsWhatItStandsFor) {
  const auto values = numbers(100'003);
  const Bytes elements(reinterpret_cast<const char*>(values.data()), values.size() * 4);
  for (const auto compress : {gzip, zstd, xz, bzip2}) {
    expect_values(compress(npy(values)), values);
    expect_values(compress(elements), values, raw_of(Dtype::u32));
    expect_values<std::int64_t>(compress("5\n7\n-1\n"), {5, 7, -1});
    SourceOptions some = raw_of(Dtype::u32);
    some.offset = 8;
    some.count = 3;
    expect_values<std::uint32_t>(compress(elements), {values[2], values[3], values[4]}, some);
    expect_bad(compress(elements + "x"), "inside an element", raw_of(Dtype::u32));
    expect_bad(compress(npy(values).substr(0, 4000)), "truncated");
    expect_values<std::uint32_t>(compress(npy({})), {});
    expect_bad(compress(""), "has no number");
  }
}

// A BMP stands bottom-up, so its reader goes back with every row.
TEST(Compressed, ImagesGoBack) {
  const int side = 300;
  Bytes pixels;
  std::vector<std::uint8_t> expected;
  for (int y = side; y-- > 0;)
    for (int x = 0; x < side * 3; ++x) pixels += static_cast<char>(x * 7 + y * 31);
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x)
      for (int c = 2; c >= 0; --c) expected.push_back(static_cast<std::uint8_t>((x * 3 + c) * 7 + y * 31));
  const Bytes bmp = "BM" + little(54 + pixels.size(), 4) + little(0, 4) + little(54, 4) + little(40, 4) +
                    little(side, 4) + little(side, 4) + little(1, 2) + little(24, 2) + little(0, 4) +
                    little(pixels.size(), 4) + Bytes(16, '\0') + pixels;
  expect_values(bmp, expected);
  expect_values(gzip(bmp), expected);
  expect_values(zstd(bmp), expected);
  expect_values(xz(bmp), expected);
  expect_values(bzip2(bmp), expected);
}

TEST(Compressed, SeveralMembersAndFrames) {
  const auto values = numbers(5000);
  const Bytes all = npy(values);
  const Bytes first = all.substr(0, 777);
  const Bytes second = all.substr(777);
  expect_values(gzip(first) + gzip("") + gzip(second), values);
  expect_values(gzip(all) + Bytes(1000, '\0'), values);
  expect_bad(gzip(all) + "more", "other bytes follow");
  expect_bad(gzip(all) + Bytes(9, '\0') + "x", "other bytes follow");
  const Bytes skipped = little(0x184d2a53, 4) + little(5, 4) + "notes";
  expect_values(skipped + zstd(first) + skipped + zstd("") + zstd(second) + skipped, values);
  expect_bad(zstd(all) + "more bytes", "zstd: ");
  expect_values(xz(first) + xz("") + Bytes(8, '\0') + xz(second), values);
  expect_bad(xz(all) + "more bytes than a header has", "xz: ");
  expect_values(bzip2(first) + bzip2("") + bzip2(second), values);
  expect_bad(bzip2(all) + "more", "bzip2: other bytes follow");
}

TEST(Compressed, DamageIsAnError) {
  const auto values = numbers(40);
  for (const auto compress : {gzip, zstd, xz, bzip2}) {
    const Bytes good = compress(npy(values));
    const std::size_t head = compress == xz ? 6 : compress == bzip2 ? 10 : 4;
    for (std::size_t length = head; length < good.size(); ++length) {
      for (const bool known_size : {true, false}) expect_bad(good.substr(0, length), "truncated", {}, known_size);
    }
    expect_no_wrong_values(good, values);
    expect_bad(compress(compress("1 2 3")), "compressed twice");
  }
  // The sum of what is stored, not compressed, is compared before the last elements are given.
  Bytes stored = gzip(npy(values));
  stored[stored.size() - 6] ^= 1;
  expect_bad(stored, "gzip: incorrect data check");
}

// Also where other bytes follow the last element; not where only some elements are read.
TEST(Compressed, ChecksumsBehindTheElements) {
  const auto values = numbers(40);
  for (const std::size_t behind : {1, 5, 1 << 20}) {
    const Bytes more(behind, 'x');
    const auto changed = [](Bytes bytes, std::size_t from_end) {
      bytes[bytes.size() - from_end] ^= 1;
      return bytes;
    };
    const Bytes good = gzip(npy(values) + more);
    expect_values(good, values);
    for (const bool known_size : {true, false})
      expect_bad(changed(good, 6), "gzip: incorrect data check", {}, known_size);
    expect_bad(changed(zstd(npy(values) + more), 2), "zstd: ");
    expect_bad(zip({{.name = "a.npy", .data = npy(values) + more, .deflate = true, .checksum = 5}}),
               "damaged (CRC-32)");
    expect_bad(zip({{.name = "a.npy", .data = npy(values) + more, .checksum = 5}}), "damaged (CRC-32)");
  }
  SourceOptions some = raw_of(Dtype::u8);
  some.count = 3;
  Bytes damaged = gzip("\x01\x02\x03" + Bytes(1 << 20, 'x'));
  damaged[damaged.size() - 6] ^= 1;
  expect_values<std::uint8_t>(damaged, {1, 2, 3}, some);
}

// A window of 2 GiB would be kept in memory.
TEST(Compressed, WindowsAreBounded) {
  const Bytes frame = little(0xfd2fb528, 4) + Bytes("\x00\xa8", 2) + Bytes("\x01\x00\x00", 3);
  expect_bad(frame, "zstd: ");
  Bytes wide = xz(npy(numbers(40)));
  const std::size_t bytes = static_cast<unsigned char>(wide[12]) * 4U;  // of the block's header, without its CRC-32
  wide[wide.find("\x21\x01", 12) + 2] = 39;                             // a dictionary of 3 GiB
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(&wide[12]), static_cast<uInt>(bytes));
  wide.replace(12 + bytes, 4, little(sum, 4));
  expect_bad(wide, "xz: needs more than 256 MiB");
}

// Text may begin as the name of a compression.
TEST(Compressed, TextIsText) {
  expect_values<std::int64_t>("BZh9\n5\n", {5});
}

TEST(Compressed, FormatsAreTakenAsSaid) {
  const Bytes text = gzip("1 2 3");
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  SourceOptions options = raw_of(Dtype::u8);
  options.format = InputFormat::raw;
  expect_values(text, bytes, options);  // the name does not say that it is compressed
  const Folder folder;
  EXPECT_EQ(values<std::uint8_t>(*open(folder.write("x.gz", text), options)),
            (std::vector<std::uint8_t>{'1', ' ', '2', ' ', '3'}));
  EXPECT_EQ(values<std::uint8_t>(*open(folder.write("x.bin", text), options)), bytes);
  EXPECT_EQ(values<std::int64_t>(*open(folder.write("photo.gz", text))), (std::vector<std::int64_t>{1, 2, 3}));
  options.format = InputFormat::text;
  expect_values<std::uint8_t>(text, {1, 2, 3}, options);
  options.format = InputFormat::image;
  expect_bad(text, "is not an image", options);
  for (const std::string name : {"a.gz", "a.zst", "a.npz", "a.PNG.GZ"}) {
    const std::string path = folder.write(name, name == "a.PNG.GZ" ? text : "1 2 3");
    expect_error(ErrorCode::io, "is named as", [&] { open(path); });
  }
}

// With a dtype, without a name that says so, they may be elements that begin as another format does.
TEST(Compressed, RawIsNamedWhereItMayBeMeant) {
  const std::string advice = "(--input-format raw reads the file's own bytes)";
  const Bytes heads[] = {Bytes("\x1f\x8b\x08\x00", 4), "PK\3\4", little(0xfd2fb528, 4), little(0x184d2a50, 4)};
  const Folder folder;
  for (const Bytes& head : heads) {
    const Bytes bytes = head + Bytes("\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff", 12);
    expect_bad(bytes, advice, raw_of(Dtype::u32));
    for (const bool named : {false, true}) {
      try {
        read_all(*open(folder.write(named ? "a.npz" : "a", bytes), named ? raw_of(Dtype::u32) : SourceOptions{}));
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr(advice)));
      }
    }
    SourceOptions options = raw_of(Dtype::u8);
    options.format = InputFormat::raw;
    expect_values(bytes, std::vector<std::uint8_t>(bytes.begin(), bytes.end()), options);
  }
}

TEST(Npz, OneArrayOrOneByName) {
  const auto values = numbers(3000);
  const auto others = numbers(7);
  for (const bool deflate : {false, true}) {
    for (const bool wide : {false, true}) {
      const ZipFile one{.name = "values.npy", .data = npy(values), .deflate = deflate, .wide = wide};
      const ZipFile two{.name = "more/others.npy", .data = npy(others), .deflate = deflate, .wide = wide};
      const ZipFile note{.name = "note.txt", .data = "a note, not an array", .deflate = deflate};
      for (const Bytes& comment : {Bytes("a comment"), Bytes(0xffff, 'c')})
        expect_values(zip({one, note}, comment, wide), values);
      expect_values(gzip(zip({one})), values);
      expect_bad(zip({one, two, note}, "", wide),
                 "holds 2 arrays (values, more/others): say which, as in FILE.npz:NAME");
      const Folder folder;
      const std::string path = folder.write("a.npz", zip({two, one, note}, "", wide));
      for (const std::string name : {"values", "values.npy"}) {
        const auto source = open(path + ":" + name);
        EXPECT_EQ(test::values<std::uint32_t>(*source), values);
        EXPECT_EQ(source->info().name, path + ":" + name);
        EXPECT_EQ(source->info().count, values.size());
        source->rewind();
        EXPECT_EQ(values_in_pieces<std::uint32_t>(*source), values);
        const auto part = open(path + ":" + name);
        ASSERT_TRUE(part->take_part(1000, 5));
        EXPECT_EQ(test::values<std::uint32_t>(*part), (std::vector<std::uint32_t>(&values[1000], &values[1005])));
      }
      EXPECT_EQ(test::values<std::uint32_t>(*open(path + ":more/others")), others);
      expect_error(ErrorCode::io, "has no array other; it has more/others, values", [&] { open(path + ":other"); });
      expect_error(ErrorCode::io, "npy: does not begin", [&] { open(path + ":note.txt"); });
    }
  }
}

TEST(Npz, ArraysWithoutTheEnding) {
  const auto values = numbers(300);
  const ZipFile note{.name = "note.txt", .data = "a note, not an array"};
  for (const bool deflate : {false, true}) {
    const ZipFile plain{.name = "a", .data = npy(values), .deflate = deflate};
    const ZipFile usual{.name = "b.npy", .data = npy({1}), .deflate = deflate};
    expect_values(zip({plain}), values);
    expect_values(zip({note, plain, {.name = "short", .data = "x", .deflate = deflate}}), values);
    expect_bad(zip({plain, usual}), "holds 2 arrays (b, a): say which, as in FILE.npz:NAME");
    const Folder folder;
    const Bytes both = zip({plain, usual, note});
    for (const auto& [name, bytes] : {std::pair{"x.npz", both}, {"x.npz.gz", gzip(both)}}) {
      const std::string path = folder.write(name, bytes);
      EXPECT_EQ(test::values<std::uint32_t>(*open(path + ":a")), values);
      EXPECT_EQ(test::values<std::uint32_t>(*open(path + ":b")), (std::vector<std::uint32_t>{1}));
      expect_error(ErrorCode::io, "has no array c; it has b, a", [&] { open(path + ":c"); });
    }
  }
}

TEST(Npz, TheLastOfEqualNames) {
  const Folder folder;
  const std::string path =
      folder.write("a.npz", zip({{.name = "a.npy", .data = npy({1})}, {.name = "a.npy", .data = npy({2})}}));
  EXPECT_EQ(values<std::uint32_t>(*open(path + ":a")), (std::vector<std::uint32_t>{2}));
  // numpy.load takes the very name before that with .npy behind it.
  const ZipFile plain_name{.name = "x", .data = npy({4})};
  const ZipFile with_ending{.name = "x.npy", .data = npy({5})};
  const ZipFile with_two{.name = "x.npy.npy", .data = npy({6})};
  for (const auto& files : {zip({plain_name, with_ending, with_two}), zip({with_two, with_ending, plain_name})}) {
    const std::string both = folder.write("both.npz", files);
    EXPECT_EQ(values<std::uint32_t>(*open(both + ":x")), (std::vector<std::uint32_t>{4}));
    EXPECT_EQ(values<std::uint32_t>(*open(both + ":x.npy")), (std::vector<std::uint32_t>{5}));
    EXPECT_EQ(values<std::uint32_t>(*open(both + ":x.npy.npy")), (std::vector<std::uint32_t>{6}));
  }
  const std::string other = folder.write("b.npz:a", npy({3}));  // a file of that name goes before
  EXPECT_EQ(values<std::uint32_t>(*open(other)), (std::vector<std::uint32_t>{3}));
  const std::string plain = folder.write("c.npz", npy({3}));
  expect_error(ErrorCode::io, "is not a ZIP archive", [&] { open(plain + ":a"); });
}

TEST(Npz, DamageIsAnError) {
  const auto values = numbers(30);
  for (const bool deflate : {false, true}) {
    for (const bool wide : {false, true}) {
      const Bytes good = zip({{.name = "a.npy", .data = npy(values), .deflate = deflate, .wide = wide}}, "", wide);
      expect_every_cut_bad(good, {}, 4);
      expect_no_wrong_values(good, values);
    }
  }
}

TEST(Npz, HostileDirectories) {
  const Bytes data = npy({1, 2, 3});
  const std::uint64_t absurd = std::uint64_t{1} << 50;
  const auto one = [&](ZipFile file) {
    file.name = "a.npy";
    file.data = data;
    return zip({std::move(file)});
  };
  expect_bad(zip({}), "without an array");
  expect_bad(zip({{.name = "x.txt", .data = "1"}}), "without an array");
  expect_bad(one({.flags = 1}), "encrypted");
  expect_bad(one({.method = 12}), "compressed by method 12");
  expect_bad(one({.checksum = 5}), "damaged (CRC-32)");
  expect_bad(one({.deflate = true, .checksum = 5}), "damaged (CRC-32)");
  expect_bad(one({.size = 5}), "cannot have 5 bytes");
  expect_bad(one({.wide = true, .size = absurd, .stored_size = absurd}), "the file ends at byte");
  expect_bad(one({.deflate = true, .wide = true, .size = absurd}), "cannot have");
  expect_bad(one({.deflate = true, .size = data.size() + 1}), "ends after");
  expect_bad(one({.deflate = true, .size = data.size() - 1}), "damaged (CRC-32)");
  for (const std::size_t field : {4, 15, 19}) {  // of the end: a disk's number, the directory's size and place
    Bytes bad = one({});
    bad[bad.size() - 22 + field] = '\x7f';
    expect_bad(bad, "zip: ");
  }
}

}  // namespace
}  // namespace masu::io::test
