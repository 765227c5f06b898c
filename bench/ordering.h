// SPDX-License-Identifier: Apache-2.0
// What sorting, top-k and their kin are measured on: distributions of keys, and the cases of each suite.
#pragma once

#include "harness.h"
#include "inputs.h"

#include <masu/dtype.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace masu::bench {

// Those of the generators (docs/generators.md), over the whole range of integers and from 0 to 1 for floats, and
//   and2, and3, and5  words whose bits are the AND of 2, 3 and 5 random words': 0.811, 0.544 and 0.201 bits of entropy
//                     each bit, as on the axes of CUB's benchmarks
//   bits              random bits as floats: NaNs, infinities, every exponent; floats alone
//   special           a bell with a quarter of zeros of both signs and an eighth of NaNs of both signs and several
//                     payloads; floats alone
inline constexpr std::array<std::string_view, 13> ordering_distributions = {
    "uniform", "and2", "and3",   "and5",     "bits", "constant", "few",
    "normal",  "zipf", "sorted", "reversed", "runs", "special"};
inline constexpr std::array<std::string_view, 6> usual_distributions = {"uniform", "and3",   "constant",
                                                                        "zipf",    "sorted", "reversed"};

// The distributions of `wanted` that keys of this dtype have.
Names ordering_distributions_of(Dtype dtype, const std::vector<std::string>& wanted);
Input ordering_input(Dtype dtype, std::uint64_t count, std::string_view distribution);

struct SortCase {
  enum class Kind { keys, pairs, argsort, group, rows, segments };  // group: of as many groups as the dtype has numbers

  std::string_view name;
  Dtype dtype;
  Kind kind = Kind::keys;
  bool usual = false;
  std::uint64_t parts = 0;  // rows: keys of each; segments: how many

  // Whether peers make the order of the keys, which is a part of groups.
  [[nodiscard]] bool has_order() const noexcept { return kind == Kind::argsort || kind == Kind::group; }
  // Values and indices are u32: the place of each key.
  [[nodiscard]] std::size_t value_bytes() const noexcept { return kind == Kind::pairs ? sizeof(std::uint32_t) : 0; }
  // Bytes of a key, and of its value.
  [[nodiscard]] std::size_t element_bytes() const noexcept { return size_of(dtype) + value_bytes(); }
  // About `count` keys: whole rows.
  [[nodiscard]] std::uint64_t whole(std::uint64_t count) const noexcept;
  // Where each row or segment begins, and where the last one ends; empty where all keys are one. Lengths of segments
  // follow a power law: many are short, few are long.
  [[nodiscard]] std::vector<std::uint64_t> offsets(std::uint64_t count) const;
};
std::span<const SortCase> sort_cases();

struct TopkCase {
  std::string_view name;
  Dtype dtype;
  std::uint64_t k;
  bool usual = false;
};
std::span<const TopkCase> topk_cases();

struct UniqueCase {
  std::string_view name;
  Dtype dtype;
  bool runs;  // run_length, else unique
  bool usual = true;
};
std::span<const UniqueCase> unique_cases();

struct SearchCase {
  std::string_view name;
  Dtype dtype;
  std::uint64_t sorted;  // elements of the sorted data
  bool usual = true;
};
std::span<const SearchCase> search_cases();
// The sorted data that values of this distribution are sought in: as many of them, in order.
Input search_sorted(const SearchCase& what, std::string_view distribution);

// What the rows of an input of a case have in common; a k stands among their details.
Row ordering_row(std::string_view name, const Input& input, std::string_view distribution);
Row sort_row(const SortCase& what, const Input& keys, std::string_view distribution);
Row topk_row(const TopkCase& what, const Input& values, std::string_view distribution);

}  // namespace masu::bench
