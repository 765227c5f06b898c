// SPDX-License-Identifier: Apache-2.0
// The types of OpenCL C that have vectors, and arrays of their values as bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace masu::vocabulary {

using Bytes = std::vector<std::byte>;

struct Type {
  const char* name;
  std::size_t size;
  bool floating;
  const char* signed_integer;    // of the same size
  const char* unsigned_integer;  // of the same size
};

inline constexpr std::array types{
    Type{"char", 1, false, "char", "uchar"},    Type{"uchar", 1, false, "char", "uchar"},
    Type{"short", 2, false, "short", "ushort"}, Type{"ushort", 2, false, "short", "ushort"},
    Type{"int", 4, false, "int", "uint"},       Type{"uint", 4, false, "int", "uint"},
    Type{"long", 8, false, "long", "ulong"},    Type{"ulong", 8, false, "long", "ulong"},
    Type{"float", 4, true, "int", "uint"},      Type{"double", 8, true, "long", "ulong"},
};

// The lengths of vectors; a scalar is 1 where a family has scalars.
inline constexpr std::array<std::size_t, 5> widths{2, 3, 4, 8, 16};
inline constexpr std::array<std::size_t, 6> widths_and_scalar{1, 2, 3, 4, 8, 16};

// "float", "float4".
inline std::string vector_name(const char* type, std::size_t width) {
  return width == 1 ? type : type + std::to_string(width);
}

// The member of element i: "s0" … "sf".
inline std::string member(std::size_t i) {
  return std::string("s") + "0123456789abcdef"[i];
}

template <class T>
void append(Bytes& bytes, const T& value) {
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof(T));
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

inline void append_bytes(Bytes& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

// Element i of an array of elements of `size` bytes.
inline std::span<const std::byte> element(std::span<const std::byte> bytes, std::size_t size, std::size_t i) {
  return bytes.subspan(i * size, size);
}

// A number that looks random and depends on i alone.
inline std::uint64_t hash(std::uint64_t i) {
  i = (i + 0x9e3779b97f4a7c15U) * 0xbf58476d1ce4e5b9U;
  i = (i ^ (i >> 27)) * 0x94d049bb133111ebU;
  return i ^ (i >> 31);
}

// `count` values of a type: any bits for integers, finite numbers for floats.
inline Bytes values(const Type& type, std::size_t count, std::uint64_t seed = 0) {
  Bytes bytes;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = hash(seed * 1000003 + i);
    const double number = static_cast<double>(static_cast<std::int64_t>(bits) >> 40) / 8;
    const float single = static_cast<float>(number);
    const std::byte* from = reinterpret_cast<const std::byte*>(&bits);
    if (type.floating && type.size == 4) from = reinterpret_cast<const std::byte*>(&single);
    if (type.floating && type.size == 8) from = reinterpret_cast<const std::byte*>(&number);
    append_bytes(bytes, {from, type.size});
  }
  return bytes;
}

}  // namespace masu::vocabulary
