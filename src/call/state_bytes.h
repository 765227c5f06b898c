// SPDX-License-Identifier: Apache-2.0
// The bytes of a state: little-endian, four letters and a version in front. What is read is checked; a number of
// elements is only believed where the bytes for them are there.
#pragma once

#include <masu/dtype.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace masu::call {

struct StateName {
  std::string_view type;     // in messages: "Histogram"
  std::string_view letters;  // four
  std::uint8_t version = 1;
};

// The elements of a state: counts of them are added as signed 64-bit integers too.
inline constexpr std::uint64_t most_in_state = std::numeric_limits<std::int64_t>::max();
// The elements of two states together. Throws invalid_argument, with the function's name, if they exceed it.
std::uint64_t elements_of_both(std::string_view function, std::uint64_t mine, std::uint64_t theirs);
// The sum of counts, or where it is 2^64 or more 2^64 - 1.
std::uint64_t total_of_counts(std::initializer_list<std::span<const std::uint64_t>> counts) noexcept;
// Whether none is negative, and all together are at most most_in_state.
bool are_counts(std::span<const std::int64_t> counts) noexcept;

class StateWriter {
 public:
  explicit StateWriter(const StateName& name);
  void number(std::uint64_t value, std::size_t size = sizeof(std::uint64_t));
  void real(double value);
  void dtype(Dtype value) { number(static_cast<std::uint64_t>(value), 1); }
  void numbers(std::span<const std::uint64_t> values);
  void raw(std::span<const std::byte> values);
  // A length in front.
  void block(std::span<const std::byte> values);
  [[nodiscard]] std::vector<std::byte> finish() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class StateReader {
 public:
  // Throws invalid_argument where the letters or the version are others.
  StateReader(const StateName& name, std::span<const std::byte> bytes);
  std::uint64_t number(std::size_t size = sizeof(std::uint64_t));
  double real();
  Dtype dtype();
  // A number below `end`.
  std::uint64_t below(std::uint64_t end, std::size_t size = sizeof(std::uint64_t));
  // Elements of a state.
  std::uint64_t elements() { return below(most_in_state + 1); }
  bool flag() { return below(2, 1) != 0; }
  std::vector<std::uint64_t> numbers(std::uint64_t count);
  std::span<const std::byte> raw(std::uint64_t count, std::size_t size = 1);
  std::span<const std::byte> block() { return raw(number()); }
  // Bytes that are left.
  [[nodiscard]] std::uint64_t left() const noexcept { return rest_.size(); }
  // All has been read.
  void end() const;
  [[noreturn]] void refuse(const std::string& rule) const;
  [[noreturn]] void refuse() const;
  void require(bool good) const {
    if (!good) refuse();
  }

 private:
  StateName name_;
  std::span<const std::byte> rest_;
};

}  // namespace masu::call
