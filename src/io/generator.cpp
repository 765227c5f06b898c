// SPDX-License-Identifier: Apache-2.0
// Data made from a text: element i depends on the text and i alone. docs/generators.md defines every bit.
#include "elements/order.h"
#include "io/sources.h"
#include "runtime/parallel.h"
#include "runtime/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace masu::io {
namespace {

enum class Shape { uniform, constant, normal, zipf, sorted, reversed, runs, few, iota, zeros };

// The text, parsed. Integers lie in [lo, lo + span - 1] (span 0 is 2^64), as two's complement; floats in [from, to).
struct GeneratorSpec {
  std::string kind;  // "random", "iota", "zeros"
  Dtype dtype = Dtype::u8;
  std::uint64_t count = 0;
  Shape shape = Shape::uniform;
  std::uint64_t seed = 0;
  std::uint64_t lo = 0;
  std::uint64_t span = 0;
  double from = 0;
  double to = 1;
};

constexpr std::array<std::string_view, 8> distributions = {"uniform", "constant", "normal", "zipf",
                                                           "sorted",  "reversed", "runs",   "few"};
constexpr std::uint64_t most_elements = std::uint64_t{1} << 48;

template <class... Values>
[[noreturn]] void refuse(fmt::format_string<Values...> reason, Values&&... values) {
  throw Error(ErrorCode::invalid_argument, "generator: " + fmt::format(reason, std::forward<Values>(values)...));
}

// An end of the range as an integer of the dtype, in two's complement.
std::uint64_t integer_end(std::string_view key, std::string_view text, Dtype dtype) {
  return dispatch(dtype, [&]<class T>(TypeTag<T>) -> std::uint64_t {
    if constexpr (std::is_integral_v<T>) {
      T value = 0;
      if (!runtime::is_number(text, value))
        refuse("{} must be a number that fits {}, got '{}'", key, to_string(dtype), printable(text));
      return static_cast<std::uint64_t>(value);
    } else {
      return 0;
    }
  });
}

double float_end(std::string_view key, std::string_view text, Dtype dtype) {
  double value = 0;
  if (!runtime::is_number(text, value) || !std::isfinite(value))
    refuse("{} must be a finite number, got '{}'", key, printable(text));
  value = rounded_to(dtype, value);
  if (!std::isfinite(value)) refuse("{} must fit {}, got '{}'", key, to_string(dtype), printable(text));
  return value;
}

void set_integer_range(GeneratorSpec& spec, std::string_view lo, std::string_view hi) {
  const auto [least, most] = dispatch(spec.dtype, []<class T>(TypeTag<T>) {
    using L = std::numeric_limits<std::conditional_t<std::is_integral_v<T>, T, int>>;
    return std::pair(static_cast<std::uint64_t>(L::min()), static_cast<std::uint64_t>(L::max()));
  });
  spec.lo = lo.empty() ? least : integer_end("lo", lo, spec.dtype);
  const std::uint64_t last = hi.empty() ? most : integer_end("hi", hi, spec.dtype);
  const bool falls =
      is_signed(spec.dtype) ? static_cast<std::int64_t>(last) < static_cast<std::int64_t>(spec.lo) : last < spec.lo;
  if (falls) refuse("lo must be <= hi");
  spec.span = last - spec.lo + 1;
}

void set_float_range(GeneratorSpec& spec, std::string_view lo, std::string_view hi) {
  // The bell is the standard one unless its ends are given.
  spec.from = lo.empty() ? (spec.shape == Shape::normal ? -6 : 0) : float_end("lo", lo, spec.dtype);
  spec.to = hi.empty() ? (spec.shape == Shape::normal ? 6 : 1) : float_end("hi", hi, spec.dtype);
  if (!(spec.from < spec.to)) refuse("lo must be < hi");
  if (!std::isfinite(spec.to - spec.from)) refuse("hi - lo must be finite");
}

// Throws invalid_argument.
GeneratorSpec parse_generator(const std::string& text) {
  std::vector<std::string_view> parts;
  for (std::string_view rest = text;;) {
    const std::size_t colon = rest.find(':');
    parts.push_back(rest.substr(0, colon));
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  GeneratorSpec spec;
  spec.kind = parts[0];
  if (parts.size() < 3 || !is_generator(text))
    refuse("must be KIND:DTYPE:N with KIND random, iota or zeros, got '{}'", printable(text));
  spec.dtype = dtype_from_name(parts[1]);
  if (parts[1] == "bool") refuse("DTYPE must be one of numbers, got bool");
  spec.count = parse_size(parts[2]);
  if (spec.count > most_elements) refuse("N must be <= 2^48, got {}", spec.count);
  if (spec.kind != "random") {
    spec.shape = spec.kind == "iota" ? Shape::iota : Shape::zeros;
    if (parts.size() > 3) refuse("{} has no option '{}'", spec.kind, printable(parts[3]));
    return spec;
  }
  std::array<std::string_view, 4> values;
  constexpr std::array<std::string_view, 4> keys = {"dist", "lo", "hi", "seed"};
  for (std::size_t i = 3; i < parts.size(); ++i) {
    const std::size_t equals = std::min(parts[i].find('='), parts[i].size());
    const auto key = std::find(keys.begin(), keys.end(), parts[i].substr(0, equals));
    if (key == keys.end() || equals + 1 >= parts[i].size())
      refuse("options are dist=, lo=, hi=, seed=, got '{}'", printable(parts[i]));
    std::string_view& value = values[static_cast<std::size_t>(key - keys.begin())];
    if (!value.empty()) refuse("{} is given twice", *key);
    value = parts[i].substr(equals + 1);
  }
  const auto [dist, lo, hi, seed] = values;
  if (!dist.empty()) {
    const auto found = std::find(distributions.begin(), distributions.end(), dist);
    if (found == distributions.end())
      refuse("dist must be one of {}, got '{}'", fmt::join(distributions, ", "), printable(dist));
    spec.shape = static_cast<Shape>(found - distributions.begin());
  }
  if (!seed.empty() && !runtime::is_number(seed, spec.seed))
    refuse("seed must be 0 to 2^64 - 1, got '{}'", printable(seed));
  if (spec.shape == Shape::constant) {
    if (!hi.empty()) refuse("dist=constant takes its value from lo and has no hi");
    const std::string_view value = lo.empty() ? "42" : lo;
    if (is_float(spec.dtype)) spec.from = float_end("lo", value, spec.dtype);
    else spec.lo = integer_end("lo", value, spec.dtype);
  } else if (is_float(spec.dtype)) {
    set_float_range(spec, lo, hi);
  } else {
    set_integer_range(spec, lo, hi);
  }
  return spec;
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
    constexpr int bits = float_format(dtype_of<T>).precision;
    constexpr double unit = 1.0 / static_cast<double>(std::uint64_t{1} << bits);
    return clip(from_ + width_ * (static_cast<double>(fraction >> (64 - bits)) * unit));
  }
  T rank(std::uint64_t rank, std::uint64_t ranks) const noexcept {
    return clip(from_ + width_ * (static_cast<double>(rank) / static_cast<double>(ranks)));
  }
  T lowest() const noexcept { return rounded_to<T>(from_); }

 private:
  // What rounding lifts to the open end becomes the value below it.
  T clip(double value) const noexcept {
    const T out = rounded_to<T>(value);
    return to_f64(out) >= to_ ? value_of_key<T>(ordered_key(rounded_to<T>(to_)) - 1) : out;
  }

  double from_;
  double width_;
  double to_;
};

// Ranks 1 … m with weight floor(2^40 / rank), found by their cumulative weights.
class Zipf {
 public:
  explicit Zipf(std::uint64_t ranks) {
    cumulative_.reserve(ranks);
    std::uint64_t total = 0;
    for (std::uint64_t rank = 1; rank <= ranks; ++rank) cumulative_.push_back(total += one / rank);
    // No bucket is wider than a weight, so at most two ranks share one.
    shift_ = static_cast<int>(std::bit_width(one / ranks)) - 1;
    guide_.reserve((total >> shift_) + 1);
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      while (guide_.size() << shift_ < cumulative_[rank]) guide_.push_back(static_cast<std::uint32_t>(rank));
    }
  }
  [[nodiscard]] std::uint64_t ranks() const noexcept { return cumulative_.size(); }
  // The rank from 0 that a word falls on: the first one whose cumulative weight is above the word's.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t word) const noexcept {
    const std::uint64_t drawn = scale(word, cumulative_.back());
    const std::uint64_t rank = guide_[drawn >> shift_];
    return rank + (cumulative_[rank] <= drawn ? 1 : 0);
  }

 private:
  static constexpr std::uint64_t one = std::uint64_t{1} << 40;
  std::vector<std::uint64_t> cumulative_;
  std::vector<std::uint32_t> guide_;  // the rank of the first weight of each bucket
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
    const FloatingPointScope usual;
    count = std::min(count, first_ + *info_.count - next_);
    dispatch(spec_.dtype, [&]<class T>(TypeTag<T>) {
      runtime::parallel_parts(count, task_elements, [&](std::uint64_t first, std::uint64_t end) {
        fill(static_cast<T*>(target) + first, next_ + first, end - first);
      });
    });
    next_ += count;
    return count;
  }
  void rewind() override { next_ = first_; }
  bool take_part(std::uint64_t first, std::uint64_t count) override {
    check_part(info_, first, count);
    first_ += first;
    info_.count = count;
    next_ = first_;
    return true;
  }

 private:
  static constexpr std::uint64_t task_elements = std::uint64_t{1} << 17;
  static constexpr std::uint64_t block_words = 1024;

  // `convert` of each of the words that `make(first, count, out)` gives.
  template <class T, class Make, class Convert>
  void from_words(T* out, std::uint64_t begin, std::uint64_t count, Make&& make, Convert&& convert) const {
    std::uint64_t words[block_words + words_excess];
    for (std::uint64_t i = 0; i < count; i += block_words) {
      const std::uint64_t length = std::min(block_words, count - i);
      make(words_.base(), begin + i, length, words);
      for (std::uint64_t k = 0; k < length; ++k) out[i + k] = convert(words[k]);
    }
  }

  // `m` elements of each word, `part(word, k)` for k from 0 on.
  template <class T, class Part>
  void parts_of_words(T* out, std::uint64_t begin, std::uint64_t count, std::uint64_t m, Part&& part) const {
    std::uint64_t words[block_words + words_excess];
    const std::uint64_t last = (begin + count + m - 1) / m;
    for (std::uint64_t word = begin / m; word < last; word += block_words) {
      const std::uint64_t length = std::min(block_words, last - word);
      random_words(words_.base(), word, length, words);
      const std::uint64_t first = word * m;  // element of the block's first part
      std::uint64_t i = std::max(begin, first);
      const std::uint64_t end = std::min(begin + count, first + length * m);
      for (; i < end && i % m != 0; ++i) out[i - begin] = part(words[i / m - word], i % m);
      for (; end - i >= m && i < end; i += m) {
        for (std::uint64_t k = 0; k < m; ++k) out[i - begin + k] = part(words[i / m - word], k);
      }
      for (; i < end; ++i) out[i - begin] = part(words[i / m - word], i % m);
    }
  }

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
      case Shape::normal:
        from_words(out, begin, count, bell_fractions, [&](std::uint64_t f) { return values.at(f); });
        break;
      case Shape::zipf:
        from_words(out, begin, count, random_words,
                   [&](std::uint64_t word) { return values.rank((*zipf_)(word), zipf_->ranks()); });
        break;
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
      const bool past = i >= border;
      const std::uint64_t end = std::min(begin + count, past ? (block + 1) * 256 : border);
      std::fill(out + (i - begin), out + (end - begin), values.at(words_[2 * (block + (past ? 1 : 0)) + 1]));
      i = end;
    }
  }

  // Eight values, picked by the top three bits of each byte of the words.
  template <class T>
  void few(T* out, std::uint64_t begin, std::uint64_t count, const Values<T>& values) const {
    std::array<T, 8> table;
    for (std::uint64_t pick = 0; pick < 8; ++pick) table[pick] = values.at((2 * pick + 1) << 60);
    parts_of_words(out, begin, count, 8,
                   [&](std::uint64_t word, std::uint64_t k) { return table[word >> (8 * k + 5) & 7U]; });
  }

  template <class T>
  static T counted(std::uint64_t i) noexcept {
    if constexpr (is_stored<T>) return rounded_to<T>(static_cast<double>(i));
    else return static_cast<T>(i);
  }

  template <class T>
  void uniform(T* out, std::uint64_t begin, std::uint64_t count, const Values<T>& values) const {
    constexpr std::uint64_t whole = sizeof(T) == 8 ? 0 : std::uint64_t{1} << (8 * sizeof(T) % 64);
    if (is_float(dtype_of<T>) || spec_.span != whole) {
      from_words(out, begin, count, random_words, [&](std::uint64_t word) { return values.at(word); });
      return;
    }
    if constexpr (std::is_integral_v<T>) {
      // Every value of the type: the words, cut into elements from their low end.
      parts_of_words(out, begin, count, 8 / sizeof(T), [](std::uint64_t word, std::uint64_t k) {
        return static_cast<T>(word >> (8 * sizeof(T) * k % 64));
      });
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
  std::uint64_t first_ = 0;  // of the part
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

bool is_generator(std::string_view text) noexcept {
  return text.starts_with("random:") || text.starts_with("iota:") || text.starts_with("zeros:");
}

}  // namespace masu::io
