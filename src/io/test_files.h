// SPDX-License-Identifier: Apache-2.0
// What the tests of masu::io share: bytes, files that disappear, and images written from code.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "io/sources.h"

namespace masu::io::test {

using Bytes = std::string;

// A folder of its own, removed at the end.
class Folder {
 public:
  Folder() {
    std::string path = std::filesystem::temp_directory_path() / "masu-io-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) std::abort();
    path_ = path;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ / name; }
  [[nodiscard]] std::string write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

inline Bytes slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// `bytes` must outlive the source.
inline std::unique_ptr<Source> open_bytes(const Bytes& bytes, const SourceOptions& options = {},
                                          bool known_size = true) {
  return open_input(Input{Reader("memory", memory_stream(std::as_bytes(std::span(bytes)), known_size)), options});
}

template <class T>
std::vector<T> values(Source& source) {
  const auto bytes = read_all(source);
  std::vector<T> out(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

// The same in pieces of 1, 2, 3, 5, 7, … elements.
template <class T>
std::vector<T> values_in_pieces(Source& source) {
  constexpr std::array<std::size_t, 8> steps = {1, 2, 3, 5, 7, 11, 64, 1021};
  std::vector<T> out;
  for (std::size_t i = 0;; ++i) {
    std::vector<T> piece(steps[i % steps.size()]);
    const auto got = static_cast<std::size_t>(source.read(piece.data(), piece.size()));
    out.insert(out.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
    if (got < piece.size()) return out;
  }
}

// At once, in pieces, after rewind, and from a pipe: always the same.
template <class T>
void expect_values(const Bytes& bytes, const std::vector<T>& expected, const SourceOptions& options = {}) {
  for (const bool known_size : {true, false}) {
    auto source = open_bytes(bytes, options, known_size);
    ASSERT_EQ(source->info().dtype, dtype_of<T>);
    source->keep_for_rewind();
    EXPECT_EQ(values<T>(*source), expected);
    source->rewind();
    EXPECT_EQ(values_in_pieces<T>(*source), expected);
    T more{};
    EXPECT_EQ(source->read(&more, 1), 0U);
    source->rewind();
    EXPECT_EQ(source->read(&more, 1), expected.empty() ? 0U : 1U);
    source->rewind();
    EXPECT_EQ(values<T>(*source), expected);
  }
}

inline void expect_error(ErrorCode code, const std::string& part, const std::function<void()>& body) {
  try {
    body();
    FAIL() << "no error; expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), testing::HasSubstr(part));
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("\n")));
  }
}

// Opening or reading fails with io and names the file.
inline void expect_bad(const Bytes& bytes, const std::string& part, const SourceOptions& options = {},
                       bool known_size = true) {
  expect_error(ErrorCode::io, part, [&] { read_all(*open_bytes(bytes, options, known_size)); });
  expect_error(ErrorCode::io, "memory: ", [&] { read_all(*open_bytes(bytes, options, known_size)); });
}

// Every shorter beginning of a good file is an error: never a crash, never data made up.
inline void expect_every_cut_bad(const Bytes& bytes, const SourceOptions& options, std::size_t from = 0) {
  for (std::size_t length = from; length < bytes.size(); ++length) {
    for (const bool known_size : {true, false}) {
      try {
        const Bytes cut = bytes.substr(0, length);
        read_all(*open_bytes(cut, options, known_size));
        ADD_FAILURE() << "a file cut to " << length << " of " << bytes.size() << " bytes was read";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::io) << error.what();
      }
    }
  }
}

inline Bytes deflated(const Bytes& data, int window) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes out(deflateBound(&stream, data.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}
inline Bytes gzip(const Bytes& data) {
  return deflated(data, MAX_WBITS + 16);
}

inline Bytes little(std::uint64_t value, int bytes) {
  Bytes out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}
inline Bytes big(std::uint64_t value, int bytes) {
  Bytes out;
  for (int i = bytes; i-- > 0;) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

}  // namespace masu::io::test
