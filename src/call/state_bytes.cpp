// SPDX-License-Identifier: Apache-2.0
#include "call/state_bytes.h"

#include "elements/dtypes.h"

#include <masu/error.h>

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

namespace masu::call {

std::uint64_t elements_of_both(std::string_view function, std::uint64_t mine, std::uint64_t theirs) {
  if (mine <= most_in_state && theirs <= most_in_state - mine) return mine + theirs;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("{}: both must have fewer than 2^63 elements together, got {} and {}", function, mine, theirs));
}

std::uint64_t total_of_counts(std::initializer_list<std::span<const std::uint64_t>> counts) noexcept {
  std::uint64_t sum = 0;
  for (const std::span<const std::uint64_t> some : counts) {
    for (const std::uint64_t one : some) {
      if (__builtin_add_overflow(sum, one, &sum)) return std::numeric_limits<std::uint64_t>::max();
    }
  }
  return sum;
}

bool are_counts(std::span<const std::int64_t> counts) noexcept {
  std::int64_t sum = 0;
  for (const std::int64_t one : counts) {
    if (one < 0 || __builtin_add_overflow(sum, one, &sum)) return false;
  }
  return true;
}

StateWriter::StateWriter(const StateName& name) {
  for (const char letter : name.letters) bytes_.push_back(static_cast<std::byte>(letter));
  number(name.version, 1);
}

void StateWriter::number(std::uint64_t value, std::size_t size) {
  std::array<std::byte, sizeof value> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(value >> 8 * i);
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
}

void StateWriter::real(double value) {
  number(std::bit_cast<std::uint64_t>(value));
}

void StateWriter::numbers(std::span<const std::uint64_t> values) {
  if constexpr (std::endian::native == std::endian::little) {
    raw(std::as_bytes(values));
  } else {
    for (const std::uint64_t value : values) number(value);
  }
}

void StateWriter::raw(std::span<const std::byte> values) {
  bytes_.insert(bytes_.end(), values.begin(), values.end());
}

void StateWriter::block(std::span<const std::byte> values) {
  number(values.size());
  raw(values);
}

StateReader::StateReader(const StateName& name, std::span<const std::byte> bytes) : name_(name), rest_(bytes) {
  const std::span<const std::byte> letters = raw(name.letters.size());
  require(std::memcmp(letters.data(), name.letters.data(), name.letters.size()) == 0);
  const std::uint64_t version = number(1);
  if (version != name.version) refuse(fmt::format("the bytes must be of version {}, got {}", name.version, version));
}

std::uint64_t StateReader::number(std::size_t size) {
  std::uint64_t value = 0;
  const std::span<const std::byte> bytes = raw(size);
  for (std::size_t i = 0; i < size; ++i) value |= static_cast<std::uint64_t>(bytes[i]) << 8 * i;
  return value;
}

double StateReader::real() {
  return std::bit_cast<double>(number());
}

Dtype StateReader::dtype() {
  return static_cast<Dtype>(below(all_dtypes.size(), 1));
}

std::uint64_t StateReader::below(std::uint64_t end, std::size_t size) {
  const std::uint64_t value = number(size);
  require(value < end);
  return value;
}

std::vector<std::uint64_t> StateReader::numbers(std::uint64_t count) {
  const std::span<const std::byte> bytes = raw(count, sizeof(std::uint64_t));
  std::vector<std::uint64_t> values(count);
  if constexpr (std::endian::native == std::endian::little) {
    if (count != 0) std::memcpy(values.data(), bytes.data(), bytes.size());
  } else {
    for (std::uint64_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < 8; ++k) values[i] |= static_cast<std::uint64_t>(bytes[8 * i + k]) << 8 * k;
    }
  }
  return values;
}

std::span<const std::byte> StateReader::raw(std::uint64_t count, std::size_t size) {
  require(count <= rest_.size() / size);
  const std::span<const std::byte> result = rest_.first(count * size);
  rest_ = rest_.subspan(count * size);
  return result;
}

void StateReader::end() const {
  require(rest_.empty());
}

void StateReader::refuse(const std::string& rule) const {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}::from_bytes: {}", name_.type, rule));
}

void StateReader::refuse() const {
  refuse(fmt::format("these are not the bytes of a {}", name_.type));
}

}  // namespace masu::call
