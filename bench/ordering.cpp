// SPDX-License-Identifier: Apache-2.0
#include "ordering.h"

#include "runtime/parallel.h"
#include "sort/sort_job.h"

#include <fmt/format.h>
#include <masu/io.h>

#include <algorithm>
#include <memory>
#include <type_traits>

namespace masu::bench {
namespace {

using Kind = SortCase::Kind;

constexpr std::uint64_t piece_elements = std::uint64_t{1} << 20;
constexpr std::uint64_t words_at_once = std::uint64_t{1} << 23;
constexpr std::uint64_t task_bytes = std::uint64_t{1} << 18;
constexpr std::uint64_t special_seed = 99;
constexpr unsigned zero_below = 64;  // of 256 marks, these are zeros …
constexpr unsigned nan_below = 96;   // … and the rest below this NaNs

constexpr auto sorts = std::to_array<SortCase>({
    {"u32", Dtype::u32, Kind::keys, true},
    {"f32", Dtype::f32, Kind::keys, true},
    {"u64", Dtype::u64, Kind::keys, true},
    {"u8", Dtype::u8, Kind::keys, true},
    {"u16", Dtype::u16, Kind::keys, true},
    {"i32", Dtype::i32},
    {"i64", Dtype::i64},
    {"f64", Dtype::f64},
    {"f16", Dtype::f16},
    {"pairs-u32-u32", Dtype::u32, Kind::pairs, true},
    {"pairs-u64-u32", Dtype::u64, Kind::pairs},
    {"argsort-u32", Dtype::u32, Kind::argsort, true},
    {"argsort-f32", Dtype::f32, Kind::argsort},
    {"argsort-f16", Dtype::f16, Kind::argsort},
    {"group-256", Dtype::u8, Kind::group},
    {"group-65536", Dtype::u16, Kind::group},
    {"rows-256", Dtype::u32, Kind::rows, false, 256},
    {"segments-4Ki", Dtype::u32, Kind::segments, false, std::uint64_t{1} << 12},
    {"segments-64Ki", Dtype::u32, Kind::segments, false, std::uint64_t{1} << 16},
    {"segments-1Mi", Dtype::u32, Kind::segments, false, std::uint64_t{1} << 20},
});

constexpr std::uint64_t million = 1'000'000;
constexpr auto topks = std::to_array<TopkCase>({
    {"f32-1", Dtype::f32, 1},
    {"f32-10", Dtype::f32, 10},
    {"f32-100", Dtype::f32, 100, true},
    {"f32-1000", Dtype::f32, 1000, true},
    {"f32-1e6", Dtype::f32, million},
    {"u32-1", Dtype::u32, 1},
    {"u32-10", Dtype::u32, 10},
    {"u32-100", Dtype::u32, 100},
    {"u32-1000", Dtype::u32, 1000},
    {"u32-1e6", Dtype::u32, million},
    {"i64-1", Dtype::i64, 1},
    {"i64-10", Dtype::i64, 10},
    {"i64-100", Dtype::i64, 100, true},
    {"i64-1000", Dtype::i64, 1000},
    {"i64-1e6", Dtype::i64, million},
});

constexpr auto uniques = std::to_array<UniqueCase>({
    {"run-length-u8", Dtype::u8, true},
    {"run-length-u16", Dtype::u16, true, false},
    {"run-length-f16", Dtype::f16, true, false},
    {"run-length-u32", Dtype::u32, true},
    {"run-length-f32", Dtype::f32, true, false},
    {"run-length-u64", Dtype::u64, true},
    {"run-length-f64", Dtype::f64, true, false},
    {"unique-u8", Dtype::u8, false},
    {"unique-u16", Dtype::u16, false},
    {"unique-u32", Dtype::u32, false},
    {"unique-f32", Dtype::f32, false},
    {"unique-u64", Dtype::u64, false, false},
});

constexpr auto searches = std::to_array<SearchCase>({
    {"f32-in-1000", Dtype::f32, 1000},
    {"f32-in-1Mi", Dtype::f32, std::uint64_t{1} << 20},
    {"f32-in-256Mi", Dtype::f32, std::uint64_t{1} << 28, false},
    {"u64-in-1Mi", Dtype::u64, std::uint64_t{1} << 20},
    {"u32-in-1Mi", Dtype::u32, std::uint64_t{1} << 20, false},
    {"u16-in-1000", Dtype::u16, 1000, false},
});

Dtype unsigned_of(std::size_t bytes) {
  return bytes == 1 ? Dtype::u8 : bytes == 2 ? Dtype::u16 : bytes == 4 ? Dtype::u32 : Dtype::u64;
}

// How many random words are ANDed; 0 where a distribution is none of these.
unsigned words_of(std::string_view distribution) {
  if (distribution == "bits") return 1;
  const bool known = distribution.size() == 4 && distribution.starts_with("and");
  return known ? static_cast<unsigned>(distribution[3] - '0') : 0;
}

Input anded(Dtype dtype, std::uint64_t count, unsigned words) {
  const Dtype word = unsigned_of(size_of(dtype));
  Input result(dtype, count);
  std::vector<std::unique_ptr<io::Source>> sources;
  for (unsigned seed = 0; seed < words; ++seed) {
    sources.push_back(io::open(fmt::format("random:{}:{}:seed={}", to_string(word), count, seed)));
  }
  std::vector<std::byte> more(std::min(count, words_at_once) * size_of(word));
  for (std::uint64_t first = 0; first < count; first += words_at_once) {
    const std::uint64_t bytes = std::min(words_at_once, count - first) * size_of(word);
    std::byte* piece = result.bytes().data() + first * size_of(word);
    sources.front()->read(piece, bytes / size_of(word));
    for (unsigned seed = 1; seed < words; ++seed) {
      sources[seed]->read(more.data(), bytes / size_of(word));
      runtime::parallel_tasks((bytes + task_bytes - 1) / task_bytes, [&](std::uint64_t task) {
        const std::uint64_t last = std::min(bytes, (task + 1) * task_bytes);
        for (std::uint64_t i = task * task_bytes; i < last; ++i) piece[i] &= more[i];
      });
    }
  }
  return result;
}

// The bits of a float type: its sign, and a NaN that is told from others by the payload.
template <class Word>
struct FloatBits;
template <>
struct FloatBits<std::uint16_t> {
  static constexpr std::uint16_t nan = 0x7c00, sign = 0x8000;
};
template <>
struct FloatBits<std::uint32_t> {
  static constexpr std::uint32_t nan = 0x7f800000, sign = 0x80000000;
};
template <>
struct FloatBits<std::uint64_t> {
  static constexpr std::uint64_t nan = 0x7ff0000000000000, sign = 0x8000000000000000;
};

template <class Word>
void mark(Word* words, const std::uint8_t* marks, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const unsigned chosen = marks[i];
    const Word sign = chosen % 2 != 0 ? FloatBits<Word>::sign : Word{0};
    if (chosen < zero_below) words[i] = sign;
    else if (chosen < nan_below) words[i] = static_cast<Word>(FloatBits<Word>::nan | sign | (1U + chosen % 8));
  }
}

Input special(Dtype dtype, std::uint64_t count) {
  Input result(dtype, count, fmt::format("random:{}:{}:dist=normal", to_string(dtype), count));
  const Input marks(Dtype::u8, count, fmt::format("random:u8:{}:seed={}", count, special_seed));
  const auto* chosen = static_cast<const std::uint8_t*>(marks.view().data);
  runtime::parallel_tasks((count + piece_elements - 1) / piece_elements, [&](std::uint64_t task) {
    const std::uint64_t first = task * piece_elements;
    const std::uint64_t elements = std::min(piece_elements, count - first);
    std::byte* words = result.bytes().data() + first * size_of(dtype);
    if (dtype == Dtype::f16) mark(reinterpret_cast<std::uint16_t*>(words), chosen + first, elements);
    else if (dtype == Dtype::f32) mark(reinterpret_cast<std::uint32_t*>(words), chosen + first, elements);
    else mark(reinterpret_cast<std::uint64_t*>(words), chosen + first, elements);
  });
  return result;
}

}  // namespace

Names ordering_distributions_of(Dtype dtype, const std::vector<std::string>& wanted) {
  Names names = Selection::chosen("--distribution", wanted, ordering_distributions, usual_distributions);
  if (!is_float(dtype)) std::erase_if(names, [](std::string_view one) { return one == "bits" || one == "special"; });
  return names;
}

Input ordering_input(Dtype dtype, std::uint64_t count, std::string_view distribution) {
  if (distribution == "special") return special(dtype, count);
  if (const unsigned words = words_of(distribution)) return anded(dtype, count, words);
  std::string text = fmt::format("random:{}:{}:dist={}", to_string(dtype), count, distribution);
  if (is_float(dtype)) text += distribution == "constant" ? ":lo=0.42" : ":lo=0:hi=1";
  return {dtype, count, text};
}

std::uint64_t SortCase::whole(std::uint64_t count) const noexcept {
  return kind == Kind::rows ? std::max<std::uint64_t>(count / parts, 1) * parts : count;
}

std::vector<std::uint64_t> SortCase::offsets(std::uint64_t count) const {
  std::vector<std::uint64_t> result;
  if (kind == Kind::rows) {
    for (std::uint64_t first = 0; first <= count; first += parts) result.push_back(first);
  } else if (kind == Kind::segments) {
    // Lengths as 1 / u of uniform u, cut where one would be a tenth of all.
    std::vector<double> weights(parts);
    io::open(fmt::format("random:f64:{}:seed=2", parts))->read(weights.data(), parts);
    double sum = 0;
    for (double& weight : weights) {
      weight = 1 / std::max(weight, 1 / static_cast<double>(parts));
      sum += weight;
    }
    double before = 0;
    for (const double weight : weights) {
      result.push_back(static_cast<std::uint64_t>(before / sum * static_cast<double>(count)));
      before += weight;
    }
    result.push_back(count);
  }
  return result;
}

std::span<const SortCase> sort_cases() {
  return sorts;
}

std::span<const TopkCase> topk_cases() {
  return topks;
}

std::span<const UniqueCase> unique_cases() {
  return uniques;
}

std::span<const SearchCase> search_cases() {
  return searches;
}

Input search_sorted(const SearchCase& what, std::string_view distribution) {
  Input sorted = ordering_input(what.dtype, what.sorted, distribution);
  dispatch(what.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* const first = reinterpret_cast<T*>(sorted.bytes().data());
    std::sort(first, first + what.sorted, [](T a, T b) { return sort_key(a) < sort_key(b); });
  });
  return sorted;
}

Row ordering_row(std::string_view name, const Input& input, std::string_view distribution) {
  Row row;
  row.case_name = name;
  row.dtype = input.view().dtype;
  row.distribution = distribution;
  row.count = input.view().count;
  row.bytes = input.bytes().size();
  return row;
}

Row sort_row(const SortCase& what, const Input& keys, std::string_view distribution) {
  Row row = ordering_row(what.name, keys, distribution);
  row.bytes = row.count * what.element_bytes();
  return row;
}

Row topk_row(const TopkCase& what, const Input& values, std::string_view distribution) {
  Row row = ordering_row(what.name, values, distribution);
  row.details["k"] = what.k;
  return row;
}

}  // namespace masu::bench
