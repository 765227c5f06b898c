// SPDX-License-Identifier: Apache-2.0
// Raw files and .npy.
#include "all_dtypes.h"
#include "io/test_files.h"

#include <cmath>

namespace masu::io::test {
namespace {

SourceOptions raw(Dtype dtype, std::uint64_t offset = 0, Endian endian = Endian::little) {
  SourceOptions options;
  options.format = InputFormat::raw;
  options.dtype = dtype;
  options.offset = offset;
  options.endian = endian;
  return options;
}

Bytes npy(const Bytes& header, const Bytes& data, char version = 1) {
  return "\x93NUMPY" + Bytes{version, 0} + little(header.size(), version == 1 ? 2 : 4) + header + data;
}

TEST(Raw, EveryDtypeAndEndianness) {
  const Bytes bytes = Bytes("\0\1\2\3\4\5\6\7\x80\x81\xfe\xff\x3f\xf0\0\0", 16);
  for (const Dtype dtype : masu::test::all_dtypes) {
    const std::size_t element = size_of(dtype);
    Bytes swapped = bytes;
    for (std::size_t i = 0; i < swapped.size(); i += element)
      std::reverse(swapped.begin() + static_cast<std::ptrdiff_t>(i),
                   swapped.begin() + static_cast<std::ptrdiff_t>(i + element));
    for (const bool known_size : {true, false}) {
      const auto plain = open_bytes(bytes, raw(dtype), known_size);
      const auto turned = open_bytes(swapped, raw(dtype, 0, Endian::big), known_size);
      const auto a = read_all(*plain);
      EXPECT_EQ(a, read_all(*turned));
      EXPECT_EQ(Bytes(reinterpret_cast<const char*>(a.data()), a.size()), bytes);
    }
  }
}

TEST(Raw, OffsetAndCount) {
  expect_values<std::uint16_t>(Bytes("xa\0b\0c\0", 7), {'a', 'b', 'c'}, raw(Dtype::u16, 1));
  SourceOptions some = raw(Dtype::u16, 1);
  some.count = 2;
  expect_values<std::uint16_t>(Bytes("xa\0b\0c\0z", 8), {'a', 'b'}, some);
  some.count = 9;
  expect_values<std::uint16_t>(Bytes("xa\0b\0c\0", 7), {'a', 'b', 'c'}, some);
  some.count = 0;
  expect_values<std::uint16_t>(Bytes("xa\0", 3), {}, some);
  expect_values<std::uint8_t>("", {}, raw(Dtype::u8));
  expect_bad("abc", "not a whole number", raw(Dtype::u16));
  expect_bad("abc", "inside an element", raw(Dtype::u16), false);
  for (const bool known_size : {true, false}) expect_bad("abc", "offset 4", raw(Dtype::u8, 4), known_size);
  expect_error(ErrorCode::invalid_argument, "needs a dtype", [] {
    SourceOptions options;
    options.format = InputFormat::raw;
    open_bytes("abc", options);
  });
}

TEST(Raw, SizesAroundTheBuffer) {
  for (const std::size_t size : {65535UL, 65536UL, 262143UL, 262144UL, 262145UL, 700001UL}) {
    Bytes bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 2654435761U >> 13);
    const std::vector<std::uint8_t> expected(bytes.begin(), bytes.end());
    expect_values<std::uint8_t>(bytes, expected, raw(Dtype::u8));
  }
}

TEST(Npy, DtypesAndOrders) {
  expect_values<std::uint8_t>(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }\n", Bytes("\0\1\1", 3)),
                              {0, 1, 1});
  expect_values<std::int16_t>(
      npy("{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }", Bytes("\1\0\xff\xff", 4)), {1, -1});
  expect_values<std::int16_t>(
      npy("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }", Bytes("\0\1\xff\xff", 4)), {1, -1});
  expect_values<Half>(npy("{'descr': '<f2', 'fortran_order': False, 'shape': (1,), }", Bytes("\0\x3c", 2)),
                      {Half{0x3c00}});
  expect_values<double>(
      npy("{'shape': (), 'descr': \"<f8\", 'fortran_order': False}", Bytes("\0\0\0\0\0\0\xf0\x3f", 8)), {1.0});
  const Bytes fortran = npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "abcdef", 2);
  expect_values<std::uint8_t>(fortran, {'a', 'b', 'c', 'd', 'e', 'f'});
  EXPECT_TRUE(open_bytes(fortran)->info().fortran_order);
  EXPECT_EQ(open_bytes(fortran)->info().shape, (std::vector<std::uint64_t>{2, 3}));
  expect_values<std::uint8_t>(
      npy("{'descr': '|u1', 'fortran_order': False, 'shape': (0, 18446744073709551615), }", "", 3), {});
}

TEST(Npy, HeaderRoundTrip) {
  for (const Dtype dtype : masu::test::all_dtypes) {
    if (dtype == Dtype::bf16) continue;  // NumPy has no name for it
    for (const auto& shape : std::vector<std::vector<std::uint64_t>>{{}, {0}, {1}, {7}, {2, 3}, {1, 2, 3, 4}}) {
      std::uint64_t count = 1;
      for (const auto extent : shape) count *= extent;
      const Bytes bytes = npy_header(dtype, shape) + Bytes(count * size_of(dtype), 'x');
      EXPECT_EQ(npy_header(dtype, shape).size() % 64, 0U);
      const auto source = open_bytes(bytes);
      EXPECT_EQ(source->info().dtype, dtype);
      EXPECT_EQ(source->info().shape, shape);
      EXPECT_EQ(read_all(*source).size(), count * size_of(dtype));
    }
  }
  // As NumPy 1.24 and 2 write it.
  EXPECT_EQ(npy_header(Dtype::f64, std::vector<std::uint64_t>{3}).substr(10, 60),
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }   ");
}

TEST(Npy, BfloatIsRawData) {
  expect_error(ErrorCode::unsupported, "got bf16; write raw data",
               [] { (void)npy_header(Dtype::bf16, std::vector<std::uint64_t>{3}); });
  expect_bad(npy("{'descr': '<V2', 'fortran_order': False, 'shape': (2,), }", Bytes("\x80\x3f\0\x40", 4)),
             "elements of bf16 are read as raw data (--input-format raw --dtype bf16 --offset");
  expect_bad(npy("{'descr': '', 'fortran_order': False, 'shape': (1,), }", "ab"), "dtype '' is not one");
  const Bytes two("\x80\x3f\0\x40", 4);
  expect_values<Bfloat16>(two, {Bfloat16{0x3f80}, Bfloat16{0x4000}}, raw(Dtype::bf16));
}

TEST(Raw, FloatsOf8BitsAreReadAsF32) {
  for (const Float8 format : {Float8::e4m3fn, Float8::e5m2}) {
    Bytes codes;
    std::vector<float> numbers;
    for (unsigned code = 0; code < 256; ++code) {
      const float number = float8_values(format)[code];
      if (std::isnan(number)) continue;
      codes.push_back(static_cast<char>(code));
      numbers.push_back(number);
    }
    SourceOptions options = raw(Dtype::f32);
    options.float8 = format;
    for (const Endian endian : {Endian::little, Endian::big}) {
      options.endian = endian;
      expect_values(codes, numbers, options);
      expect_values(Bytes(), std::vector<float>(), options);
    }
    options.offset = 3;
    options.count = 100;
    expect_values(codes, std::vector<float>(numbers.begin() + 3, numbers.begin() + 103), options);
    options = {};
    options.float8 = format;
    const Bytes header = "{'descr': '<V1', 'fortran_order': False, 'shape': (2, 100), }   ";
    const Bytes file = npy(header, codes.substr(0, 200));
    expect_values(file, std::vector<float>(numbers.begin(), numbers.begin() + 200), options);
    const auto part = open_bytes(file, options);
    ASSERT_TRUE(part->take_part(50, 7));
    EXPECT_EQ(values<float>(*part), std::vector<float>(numbers.begin() + 50, numbers.begin() + 57));
    expect_bad(npy(header, codes.substr(0, 199)), "npy: 200 elements", options);
  }
  expect_bad(npy("{'descr': '|V1', 'fortran_order': False, 'shape': (1,), }", "a"),
             "floats of 8 bits are read with --dtype f8e4m3fn or f8e5m2");
}

TEST(Npy, DtypesAsNumpyTakesThem) {
  const auto header = [](const std::string& descr) {
    return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (1,), }";
  };
  const Bytes one = "\x01" + Bytes(7, '\0');
  const auto expect_dtype = [&](const std::string& descr, Dtype dtype) {
    const Bytes bytes = npy(header(descr), one.substr(0, size_of(dtype)));
    EXPECT_EQ(open_bytes(bytes)->info().dtype, dtype) << descr;
    EXPECT_EQ(read_all(*open_bytes(bytes))[0], descr[0] == '>' ? std::byte{0} : std::byte{1}) << descr;
  };
  // What numpy.dtype(text).str says in NumPy 2.4 for Linux.
  const std::vector<std::pair<Dtype, std::vector<std::string>>> words = {
      {Dtype::i8, {"b", "i1", "|i1", "int8", "byte"}},
      {Dtype::u16, {"H", "=H", "|u2", "<H", "uint16", "ushort"}},
      {Dtype::i16, {"h", "|h", "i2", "=i2", "int16", "short"}},
      {Dtype::u32, {"I", "u4", "uint32", "uintc"}},
      {Dtype::i32, {"i", "<i", "i4", "|i4", "int32", "intc"}},
      {Dtype::u64, {"L", "Q", "P", "N", "u8", "uint64", "uint", "ulong", "ulonglong", "uintp"}},
      {Dtype::i64, {"l", "q", "p", "n", "i8", "int64", "int", "int_", "long", "longlong", "intp"}},
      {Dtype::f16, {"e", "f2", "float16", "half"}},
      {Dtype::f32, {"f", "f4", "|f4", "=f4", "float32", "single"}},
      {Dtype::f64, {"d", "<d", "f8", "float64", "double", "float"}}};
  for (const auto& [dtype, texts] : words)
    for (const std::string& text : texts) expect_dtype(text, dtype);
  for (const std::string text : {"u1", "B", "|u1", ">B", "uint8", "ubyte"})
    expect_values<std::uint8_t>(npy(header(text), "\x07"), {7});
  expect_values<std::uint16_t>(npy(header(">H"), Bytes("\1\2", 2)), {0x102});
}

TEST(Npy, BooleansAreTrueWhateverTheirByte) {
  const Bytes stored("\0\1\2\xff\0\3", 6);
  const std::vector<std::uint8_t> expected = {0, 1, 1, 1, 0, 1};
  for (const std::string descr : {"|b1", "?", "bool", "bool_", "b1", ">?"})
    expect_values<std::uint8_t>(npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (6,), }", stored),
                                expected);
  SourceOptions raw;
  raw.format = InputFormat::raw;
  raw.dtype = Dtype::u8;
  expect_values<std::uint8_t>(stored, {0, 1, 2, 255, 0, 3}, raw);
  raw.boolean = true;
  expect_values<std::uint8_t>(stored, expected, raw);
}

TEST(Npy, HostileHeaders) {
  const Bytes good = npy("{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }", "abcd");
  SourceOptions options;
  options.format = InputFormat::npy;
  expect_every_cut_bad(good, options);
  for (const std::string header : {"",
                                   "{",
                                   "{}",
                                   "{'descr': '<u2'}",
                                   "{'descr': '<u2', 'fortran_order': False, 'shape': (2,), } x",
                                   "{'descr': '<u2', 'descr': '<u2'}",
                                   "{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (2,)}",
                                   "{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}",
                                   "{'descr': '<float32', 'fortran_order': False, 'shape': (1,)}",
                                   "{'descr': 'f 4', 'fortran_order': False, 'shape': (1,)}",
                                   "{'descr': 'F', 'fortran_order': False, 'shape': (1,)}",
                                   "{'descr': '', 'fortran_order': False, 'shape': (2,)}",
                                   "{'descr': '<u2', 'fortran_order': 0, 'shape': (2,)}",
                                   "{'descr': '<u2', 'fortran_order': False, 'shape': (2)}",
                                   "{'descr': '<u2', 'fortran_order': False, 'shape': (-2,)}",
                                   "{'descr': '<u2', 'fortran_order': False, 'shape': (3,)}",
                                   "{'descr': '<u2', 'fortran_order': False, 'shape': (99999999999999999999,)}",
                                   "{'descr': '<u2', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
                                   "{'descr': '<u2', 'fortran_order': False, 'shape': (9223372036854775807,)}",
                                   "{'descr': '<u2', 'fortran_order': False, 'shape': (2,), 'more': 1}",
                                   "{'descr': '<u2' 'fortran_order': False, 'shape': (2,)}"}) {
    expect_bad(npy(header, "abcd"), "npy: ");
  }
  expect_bad("\x93NUMPY\x04" + Bytes(3, '\0') + "{}", "version 4.0");
  expect_bad("\x93NUMPY\x02" + Bytes(1, '\0') + little(0xffffffff, 4) + "{}", "absurd");
  expect_error(ErrorCode::invalid_argument, "asked for", [&] {
    SourceOptions f;
    f.dtype = Dtype::f32;
    open_bytes(good, f);
  });
}

}  // namespace
}  // namespace masu::io::test
