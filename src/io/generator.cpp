// SPDX-License-Identifier: Apache-2.0
#include "io/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "io/half.h"
#include "io/sources.h"

namespace masu::io {
namespace {

__extension__ using Wide = unsigned __int128;

// floor(a * b / 2^64); a `b` of 0 stands for 2^64.
constexpr std::uint64_t scale(std::uint64_t a, std::uint64_t b) noexcept {
  return b == 0 ? a : static_cast<std::uint64_t>(Wide{a} * b >> 64);
}

// Each element is a fraction of the range, as a 64-bit binary fraction, turned into a value of the dtype.
template <class T>
class Values {
 public:
  explicit Values(const GeneratorSpec& spec) : lo_(spec.lo), span_(spec.span) {}
  T at(std::uint64_t fraction) const noexcept { return static_cast<T>(lo_ + scale(fraction, span_)); }
  T rank(std::uint64_t rank, std::uint64_t) const noexcept { return static_cast<T>(lo_ + rank); }
  T lowest() const noexcept { return static_cast<T>(lo_); }

 private:
  std::uint64_t lo_;
  std::uint64_t span_;
};

template <class T>
requires(is_float(dtype_of<T>)) class Values<T> {
 public:
  explicit Values(const GeneratorSpec& spec) : from_(spec.from), width_(spec.to - spec.from), to_(spec.to) {}
  // As many leading bits of the fraction as the type has.
  T at(std::uint64_t fraction) const noexcept {
    constexpr int bits = sizeof(T) == 8 ? 53 : sizeof(T) == 4 ? 24 : 11;
    constexpr double unit = 1.0 / static_cast<double>(std::uint64_t{1} << bits);
    return clip(from_ + width_ * (static_cast<double>(fraction >> (64 - bits)) * unit));
  }
  T rank(std::uint64_t rank, std::uint64_t ranks) const noexcept {
    return clip(from_ + width_ * (static_cast<double>(rank) / static_cast<double>(ranks)));
  }
  T lowest() const noexcept { return convert(from_); }

 private:
  static T convert(double value) noexcept {
    if constexpr (std::is_same_v<T, Half>) return to_half(value);
    else return static_cast<T>(value);
  }
  // What rounding lifts to the open end becomes the value below it.
  T clip(double value) const noexcept {
    T out = convert(value);
    if constexpr (std::is_same_v<T, Half>) {
      if (to_double(out) >= to_) out = below(convert(to_));
    } else {
      if (static_cast<double>(out) >= to_) out = std::nextafter(static_cast<T>(to_), static_cast<T>(from_));
    }
    return out;
  }
  static Half below(Half half) noexcept {
    if ((half.bits & 0x7fffU) == 0) return {0x8001};
    return {static_cast<std::uint16_t>((half.bits & 0x8000U) != 0 ? half.bits + 1 : half.bits - 1)};
  }

  double from_;
  double width_;
  double to_;
};

// The sum of twelve 16-bit numbers, as a fraction of its range, with low bits to fill the steps.
std::uint64_t bell(const Words& words, std::uint64_t i) noexcept {
  constexpr std::uint64_t step = ~std::uint64_t{0} / (12 * 65535 + 1);
  constexpr std::uint64_t low = 0x0000ffff0000ffffU;
  const std::uint64_t a = words[3 * i];
  const std::uint64_t b = words[3 * i + 1];
  const std::uint64_t c = words[3 * i + 2];
  const std::uint64_t sums = (a & low) + (a >> 16 & low) + (b & low) + (b >> 16 & low) + (c & low) + (c >> 16 & low);
  const std::uint64_t sum = (sums >> 32) + (sums & 0xffffffffU);
  return sum * step + scale(a * 0x9e3779b97f4a7c15U, step);
}

// Ranks 1 … m with weight floor(2^40 / rank), found by their cumulative weights.
class Zipf {
 public:
  explicit Zipf(std::uint64_t ranks) : guide_(buckets + 1) {
    cumulative_.reserve(ranks);
    std::uint64_t total = 0;
    for (std::uint64_t rank = 1; rank <= ranks; ++rank) cumulative_.push_back(total += (std::uint64_t{1} << 40) / rank);
    shift_ = std::max(0, static_cast<int>(std::bit_width(total)) - bucket_bits);
    for (std::uint64_t bucket = 0; bucket <= buckets; ++bucket)
      guide_[bucket] = static_cast<std::uint32_t>(find(bucket << shift_, 0, ranks));
  }
  [[nodiscard]] std::uint64_t ranks() const noexcept { return cumulative_.size(); }
  // The rank from 0 that a word falls on.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t word) const noexcept {
    const std::uint64_t drawn = scale(word, cumulative_.back());
    const std::uint64_t bucket = drawn >> shift_;
    return find(drawn, guide_[bucket], std::min<std::uint64_t>(guide_[bucket + 1] + 1, ranks()));
  }

 private:
  static constexpr int bucket_bits = 12;
  static constexpr std::uint64_t buckets = std::uint64_t{1} << bucket_bits;
  // The first rank in [begin, end) whose cumulative weight is above `drawn`.
  [[nodiscard]] std::uint64_t find(std::uint64_t drawn, std::uint64_t begin, std::uint64_t end) const noexcept {
    const auto first = cumulative_.begin();
    return static_cast<std::uint64_t>(
        std::upper_bound(first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end), drawn) -
        first);
  }
  std::vector<std::uint64_t> cumulative_;
  std::vector<std::uint32_t> guide_;
  int shift_ = 0;
};

class GeneratorSource final : public Source {
 public:
  explicit GeneratorSource(const std::string& text) : spec_(parse_generator(text)), words_(spec_.seed) {
    info_.name = text;
    info_.format = spec_.kind;
    info_.dtype = spec_.dtype;
    info_.count = spec_.count;
    constexpr std::uint64_t most_ranks = 65536;
    if (spec_.shape == Shape::zipf)
      zipf_.emplace(is_float(spec_.dtype) || spec_.span == 0 ? most_ranks : std::min(spec_.span, most_ranks));
  }
  [[nodiscard]] const SourceInfo& info() const noexcept override { return info_; }
  std::uint64_t read(void* target, std::uint64_t count) override {
    count = std::min(count, spec_.count - next_);
    dispatch(spec_.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      fill(static_cast<T*>(target), next_, count);
    });
    next_ += count;
    return count;
  }
  void rewind() override { next_ = 0; }

 private:
  template <class T>
  void fill(T* out, std::uint64_t begin, std::uint64_t count) const {
    const Values<T> values(spec_);
    const auto each = [&](auto value) {
      for (std::uint64_t i = 0; i < count; ++i) out[i] = value(begin + i);
    };
    switch (spec_.shape) {
      case Shape::zeros: std::fill_n(out, count, T{}); break;
      case Shape::constant: std::fill_n(out, count, values.lowest()); break;
      case Shape::iota: each([](std::uint64_t i) { return counted<T>(i); }); break;
      case Shape::uniform: uniform(out, begin, count, values); break;
      case Shape::normal: each([&](std::uint64_t i) { return values.at(bell(words_, i)); }); break;
      case Shape::zipf: each([&](std::uint64_t i) { return values.rank((*zipf_)(words_[i]), zipf_->ranks()); }); break;
      case Shape::sorted: ramp(out, begin, count, 1, values); break;
      case Shape::reversed:
        if (count == 0) break;
        ramp(out, spec_.count - begin - count, count, -1, values);
        break;
      case Shape::runs: runs(out, begin, count, values); break;
      case Shape::few: few(out, begin, count, values); break;
    }
  }

  // One border in every 256 elements: run k reaches from the border in block k - 1 to that in block k.
  template <class T>
  void runs(T* out, std::uint64_t begin, std::uint64_t count, const Values<T>& values) const {
    for (std::uint64_t i = begin; i < begin + count;) {
      const std::uint64_t block = i / 256;
      const std::uint64_t border = block * 256 + (words_[2 * block] & 255U);
      const bool behind = i >= border;
      const std::uint64_t end = std::min(begin + count, behind ? (block + 1) * 256 : border);
      std::fill(out + (i - begin), out + (end - begin), values.at(words_[2 * (block + (behind ? 1 : 0)) + 1]));
      i = end;
    }
  }

  // Eight values, picked by the top three bits of each byte of the words.
  template <class T>
  void few(T* out, std::uint64_t begin, std::uint64_t count, const Values<T>& values) const {
    std::array<T, 8> table;
    for (std::uint64_t pick = 0; pick < 8; ++pick) table[pick] = values.at((2 * pick + 1) << 60);
    for (std::uint64_t i = 0; i < count;) {
      std::uint64_t word = words_[(begin + i) / 8] >> (8 * ((begin + i) % 8));
      for (std::uint64_t left = std::min(8 - (begin + i) % 8, count - i); left > 0; --left, word >>= 8)
        out[i++] = table[word >> 5 & 7U];
    }
  }

  template <class T>
  static T counted(std::uint64_t i) noexcept {
    if constexpr (std::is_same_v<T, Half>) return to_half(static_cast<double>(i));
    else return static_cast<T>(i);
  }

  template <class T>
  void uniform(T* out, std::uint64_t begin, std::uint64_t count, const Values<T>& values) const {
    constexpr std::uint64_t in_word = 8 / sizeof(T);
    constexpr std::uint64_t whole = sizeof(T) == 8 ? 0 : std::uint64_t{1} << (8 * sizeof(T) % 64);
    if (is_float(dtype_of<T>) || spec_.span != whole) {
      for (std::uint64_t i = 0; i < count; ++i) out[i] = values.at(words_[begin + i]);
      return;
    }
    if constexpr (std::is_integral_v<T>) {
      // Every value of the type: the words, cut into elements from their low end.
      const auto element = [](std::uint64_t word, std::uint64_t part) {
        return static_cast<T>(word >> (8 * sizeof(T) * part % 64));
      };
      std::uint64_t i = 0;
      for (; i < count && (begin + i) % in_word != 0; ++i)
        out[i] = element(words_[(begin + i) / in_word], (begin + i) % in_word);
      for (; count - i >= in_word; i += in_word) {
        const std::uint64_t word = words_[(begin + i) / in_word];
        if constexpr (std::endian::native == std::endian::little) {
          std::memcpy(out + i, &word, sizeof(word));
        } else {
          for (std::uint64_t part = 0; part < in_word; ++part) out[i + part] = element(word, part);
        }
      }
      for (; i < count; ++i) out[i] = element(words_[(begin + i) / in_word], (begin + i) % in_word);
    }
  }

  // Fractions i / N of the range, upwards from element `begin`; with direction -1 they are stored from the end.
  template <class T>
  void ramp(T* out, std::uint64_t begin, std::uint64_t count, int direction, const Values<T>& values) const {
    const std::uint64_t n = spec_.count;
    if constexpr (is_float(dtype_of<T>)) {
      for (std::uint64_t i = 0; i < count; ++i) out[direction > 0 ? i : count - 1 - i] = values.rank(begin + i, n);
    } else {
      const Wide range = spec_.span == 0 ? Wide{1} << 64 : Wide{spec_.span};
      if (count == 0) return;
      const auto step = static_cast<std::uint64_t>(range / n);
      const auto rest_step = static_cast<std::uint64_t>(range % n);
      auto value = static_cast<std::uint64_t>(range * begin / n);
      auto rest = static_cast<std::uint64_t>(range * begin % n);
      for (std::uint64_t i = 0; i < count; ++i) {
        out[direction > 0 ? i : count - 1 - i] = values.rank(value, 0);
        value += step;
        rest += rest_step;
        if (rest >= n) {
          rest -= n;
          ++value;
        }
      }
    }
  }

  GeneratorSpec spec_;
  Words words_;
  SourceInfo info_;
  std::optional<Zipf> zipf_;
  std::uint64_t next_ = 0;
};

}  // namespace

std::unique_ptr<Source> open_generator(const std::string& text, const SourceOptions& options) {
  auto source = std::make_unique<GeneratorSource>(text);
  const bool agrees = !options.dtype || *options.dtype == source->info().dtype;
  if (!agrees || options.format != InputFormat::automatic)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: a generator has its own {}", text, agrees ? "format" : "dtype"));
  return source;
}

}  // namespace masu::io
