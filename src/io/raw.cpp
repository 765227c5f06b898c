// SPDX-License-Identifier: Apache-2.0
// Elements as they lie in a file: raw files, and the body of .npy.
#include "elements/dtypes.h"
#include "io/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

namespace masu::io {
namespace {

class FlatSource final : public Source {
 public:
  FlatSource(Input input, SourceInfo info, FlatLayout layout)
      : reader_(std::move(input.reader)),
        info_(std::move(info)),
        layout_(layout),
        stored_bytes_(layout.float8 ? 1 : size_of(info_.dtype)),
        may_map_(input.options.map && !layout.swap && !layout.boolean && !layout.float8 && info_.count) {}

  [[nodiscard]] const SourceInfo& info() const noexcept override { return info_; }

  std::uint64_t read(void* target, std::uint64_t count) override {
    if (!started_) {
      started_ = true;
      if (!keep_) reader_.forget();
    }
    if (mapping_ != nullptr) {
      mapping_->check();
      reader_.seek(layout_.start + done_ * stored_bytes_);
    }
    if (layout_.count) count = std::min(count, *layout_.count - done_);
    const std::size_t element = stored_bytes_;
    count = std::min<std::uint64_t>(count, SIZE_MAX / size_of(info_.dtype));
    // Codes lie at the end of the memory first, so that the numbers never catch up with what is to be read.
    auto* const stored = static_cast<std::byte*>(target) + (size_of(info_.dtype) - element) * count;
    const std::size_t got = reader_.read(stored, count * element);
    const bool fixed = info_.count.has_value();
    if (got != count * element && (fixed || got % element != 0))
      reader_.fail("truncated: the file ends at byte {}, {}", reader_.position(),
                   fixed ? fmt::format("its elements at byte {}", layout_.start + *info_.count * element)
                         : fmt::format("inside an element of {} bytes", element));
    const std::uint64_t elements = got / element;
    if (layout_.swap) swap_bytes(target, elements, element);
    if (layout_.boolean) {
      auto* bytes = static_cast<std::uint8_t*>(target);
      std::transform(bytes, bytes + elements, bytes, [](std::uint8_t byte) -> std::uint8_t { return byte != 0; });
    }
    if (layout_.float8) {
      const auto values = float8_values(*layout_.float8);
      for (std::uint64_t i = 0; i < elements; ++i) {
        const float value = values[std::to_integer<std::size_t>(stored[i])];
        std::memcpy(static_cast<std::byte*>(target) + i * sizeof value, &value, sizeof value);
      }
    }
    done_ += elements;
    if (layout_.whole && done_ == *layout_.count) reader_.compare_checksum();
    return elements;
  }

  std::optional<ArrayView> view(std::uint64_t count) override {
    const std::size_t element = size_of(info_.dtype);
    if (may_map_ && mapping_ == nullptr && *info_.count != 0) {
      mapping_ = reader_.map();
      const bool aligned =
          mapping_ && reinterpret_cast<std::uintptr_t>(mapping_->bytes().data() + layout_.start) % element == 0;
      may_map_ = aligned;
      if (!aligned) mapping_.reset();
    }
    if (!may_map_) return std::nullopt;
    if (mapping_ == nullptr) return ArrayView{info_.dtype, nullptr, 0};
    mapping_->check();
    count = std::min(count, *info_.count - done_);
    const std::uint64_t first = layout_.start + done_ * element;
    done_ += count;
    return ArrayView{info_.dtype, mapping_->bytes().data() + first, count};
  }

  bool take_part(std::uint64_t first, std::uint64_t count) override {
    if (!info_.count || !reader_.size() || started_ || mapping_ != nullptr) return false;
    check_part(info_, first, count);
    layout_.start += first * stored_bytes_;
    layout_.count = count;
    layout_.whole = false;
    info_.count = count;
    reader_.seek(layout_.start);
    return true;
  }

  void rewind() override {
    if (mapping_ != nullptr) mapping_->check();
    reader_.seek(layout_.start);
    done_ = 0;
  }
  void keep_for_rewind() override { keep_ = true; }

 private:
  Reader reader_;
  SourceInfo info_;
  FlatLayout layout_;
  std::size_t stored_bytes_;  // of an element in the file
  bool may_map_;
  std::unique_ptr<FileMapping> mapping_;  // once a view was asked for
  std::uint64_t done_ = 0;
  bool started_ = false;
  bool keep_ = false;
};

}  // namespace

void check_part(const SourceInfo& info, std::uint64_t first, std::uint64_t count) {
  if (first <= *info.count && count <= *info.count - first) return;
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: a part must lie within the {} elements, got {} from {} on",
                                                       info.name, *info.count, count, first));
}

std::unique_ptr<Source> flat_source(Input input, SourceInfo info, FlatLayout layout) {
  return std::make_unique<FlatSource>(std::move(input), std::move(info), layout);
}

std::unique_ptr<Source> open_raw(Input input) {
  const SourceOptions& options = input.options;
  Reader& reader = input.reader;
  if (!options.dtype && !options.float8)
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: a raw file needs a dtype", reader.name()));
  SourceInfo info;
  info.name = reader.name();
  info.format = "raw";
  info.dtype = options.float8 ? Dtype::f32 : *options.dtype;
  const std::size_t element = options.float8 ? 1 : size_of(info.dtype);
  FlatLayout layout;
  layout.float8 = options.float8;
  layout.start = options.offset;
  layout.count = options.count;
  layout.boolean = info.boolean = options.boolean && element == 1;
  layout.swap = element > 1 && (options.endian == Endian::big) != (std::endian::native == std::endian::big);
  if (const auto size = reader.size()) {
    if (options.offset > *size) reader.fail("offset {} lies after its end at byte {}", options.offset, *size);
    const std::uint64_t bytes = *size - options.offset;
    if (!options.count || *options.count > bytes / element) {
      if (bytes % element != 0)
        reader.fail("{} bytes are not a whole number of {} elements of {} bytes", bytes, to_string(info.dtype),
                    element);
      layout.count = bytes / element;
    }
    info.count = layout.count;
  }
  if (reader.size()) {
    reader.seek(layout.start);
  } else {
    while (reader.position() < layout.start) {
      const std::size_t there = reader.peek(1).size();
      if (there == 0) reader.fail("offset {} lies after its end at byte {}", layout.start, reader.position());
      reader.consume(static_cast<std::size_t>(std::min<std::uint64_t>(there, layout.start - reader.position())));
    }
  }
  return flat_source(std::move(input), std::move(info), layout);
}

Source::~Source() = default;
ValueNames::~ValueNames() = default;

void unify_dtypes(std::span<const std::unique_ptr<Source>> sources) {
  const FloatingPointScope usual;
  std::optional<Dtype> fixed;
  std::optional<Dtype> needed;
  constexpr std::array order = {Dtype::i64, Dtype::u64, Dtype::f64};
  const auto place = [&](Dtype dtype) { return std::find(order.begin(), order.end(), dtype); };
  for (const auto& source : sources) {
    const Dtype own = source->info().dtype;
    if (!source->retype(own)) fixed = fixed.value_or(own);
    else if (!needed || place(own) > place(*needed)) needed = own;
  }
  if (!needed) return;
  const auto retype_all = [&](Dtype dtype) {
    for (const auto& source : sources) source->retype(dtype);
  };
  if (fixed || *needed != Dtype::u64) return retype_all(fixed.value_or(*needed));
  try {
    retype_all(Dtype::u64);
  } catch (const Error&) {  // beside negative numbers, f64 may hold all
    retype_all(Dtype::f64);
  }
}

void swap_bytes(void* data, std::uint64_t count, std::size_t element_bytes) noexcept {
  const auto swap_all = [&]<class T>(T (*swap)(T)) {
    auto* at = static_cast<std::byte*>(data);
    for (std::uint64_t i = 0; i < count; ++i, at += sizeof(T)) {
      T value;
      std::memcpy(&value, at, sizeof(T));
      value = swap(value);
      std::memcpy(at, &value, sizeof(T));
    }
  };
  if (element_bytes == 2) swap_all(+[](std::uint16_t v) -> std::uint16_t { return __builtin_bswap16(v); });
  if (element_bytes == 4) swap_all(+[](std::uint32_t v) -> std::uint32_t { return __builtin_bswap32(v); });
  if (element_bytes == 8) swap_all(+[](std::uint64_t v) -> std::uint64_t { return __builtin_bswap64(v); });
}

// NumPy's .npy, versions 1 to 3. The header is a Python literal; only the form that NumPy writes is read:
// a dictionary of 'descr', 'fortran_order' and 'shape'.

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t largest_header = std::size_t{1} << 20;
constexpr std::size_t largest_rank = 64;

// A dtype by a name that numpy.dtype() accepts, on systems whose `long` has 64 bits. A byte order may precede the form
// that NumPy writes, and the characters.
struct Descr {
  Dtype dtype;
  bool boolean;
};
std::optional<Descr> find_descr(std::string_view text) {
  const bool ordered = !text.empty() && std::string_view("<>=|").find(text[0]) != std::string_view::npos;
  const std::string_view name = text.substr(ordered ? 1 : 0);
  const auto is_one_of = [&](std::string_view code, std::string_view characters, std::string_view words) {
    return (!code.empty() && name == code) || (name.size() == 1 && characters.find(name) != std::string_view::npos) ||
           (!ordered && name.size() > 2 && has_word(words, name, " "));
  };
  if (is_one_of("b1", "?", "bool bool_")) return Descr{Dtype::u8, true};
  const DtypeNames* const found = find_dtype(
      [&](const DtypeNames& each) { return is_one_of(each.numpy_name, each.numpy_characters, each.numpy_words); });
  return found != nullptr ? std::optional(Descr{found->dtype, false}) : std::nullopt;
}

class HeaderParser {
 public:
  HeaderParser(const Reader& reader, std::string_view text) : reader_(reader), text_(text) {}

  std::string descr;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;

  void parse() {
    expect('{');
    std::array<bool, 3> seen{};
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      constexpr std::array<std::string_view, 3> keys = {"descr", "fortran_order", "shape"};
      const auto at = static_cast<std::size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
      if (at == keys.size()) fail("an unknown key '{}'", printable(key));
      if (std::exchange(seen[at], true)) fail("'{}' twice", key);
      if (at == 0) parse_descr();
      else if (at == 1) fortran_order = boolean();
      else tuple();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip();
    if (at_ != text_.size()) fail("something after the dictionary");
    if (!seen[0] || !seen[1] || !seen[2]) fail("a missing key");
  }

 private:
  template <class... Values>
  [[noreturn]] void fail(fmt::format_string<Values...> text, Values&&... values) const {
    const std::string what = fmt::format(text, std::forward<Values>(values)...);
    reader_.fail("npy: the header has {} at its character {}", what, at_);
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail("no '{}'", c);
  }
  std::string quoted() {
    skip();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) fail("no string");
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) fail("an open string");
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return std::string(inside);
  }
  void parse_descr() {
    skip();
    if (at_ < text_.size() && text_[at_] == '[') fail("a structured dtype, which masu does not read");
    descr = quoted();
  }
  bool boolean() {
    skip();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    fail("neither True nor False");
  }
  void tuple() {
    expect('(');
    while (!accept(')')) {
      skip();
      std::uint64_t value = 0;
      const char* end = text_.data() + text_.size();
      const auto [next, error] = std::from_chars(text_.data() + at_, end, value);
      if (error != std::errc()) fail("no length of a dimension");
      at_ = static_cast<std::size_t>(next - text_.data());
      accept('L');  // Python 2 wrote long integers so
      shape.push_back(value);
      if (shape.size() > largest_rank) fail("too many dimensions");
      if (!accept(',')) {
        if (shape.size() == 1) fail("a number in parentheses instead of a tuple");
        expect(')');
        break;
      }
    }
  }

  const Reader& reader_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

bool is_npy(std::span<const std::byte> head) noexcept {
  return begins(head, magic);
}

std::unique_ptr<Source> open_npy(Input input) {
  Reader& reader = input.reader;
  std::array<std::byte, 12> head{};
  reader.read_exact(head.data(), 10, "the header");
  if (!is_npy(head)) reader.fail("npy: does not begin with \\x93NUMPY");
  const auto version = std::to_integer<unsigned>(head[6]);
  if (version < 1 || version > 3 || head[7] != std::byte{0})
    reader.fail("npy: version {}.{} is not known", version, std::to_integer<unsigned>(head[7]));
  std::size_t length = load_little<std::uint16_t>(&head[8]);
  if (version > 1) {
    reader.read_exact(&head[10], 2, "the header");
    length = load_little<std::uint32_t>(&head[8]);
  }
  if (length > largest_header) reader.fail("npy: a header of {} bytes is absurd", length);
  reader.require(reader.position(), length, length, "npy: the header");
  std::string text(length, ' ');
  reader.read_exact(text.data(), length, "the header");
  HeaderParser header(reader, text);
  header.parse();

  const std::string_view name = header.descr;
  const char order = name.empty() ? ' ' : name[0];
  const auto float8 = name.ends_with("V1") ? input.options.float8 : std::nullopt;  // as NumPy saves ml_dtypes'
  const std::optional<Descr> found = float8 ? Descr{Dtype::f32, false} : find_descr(name);
  if (!found) {
    // NumPy saves so what it lacks, of ml_dtypes.
    const DtypeNames* const raw = find_dtype([&](const DtypeNames& each) {
      return each.numpy_name.empty() && name.ends_with(fmt::format("V{}", size_of(each.dtype)));
    });
    const std::string hint =
        raw != nullptr
            ? fmt::format("; elements of {0} are read as raw data (--input-format raw --dtype {0} --offset {1})",
                          raw->name, reader.position())
        : name.ends_with("V1") ? "; floats of 8 bits are read with --dtype f8e4m3fn or f8e5m2"
                               : "";
    reader.fail("npy: dtype '{}' is not one that masu reads{}", printable(name), hint);
  }
  check_asked_dtype(reader, input.options, "file", found->dtype);

  SourceInfo info;
  info.name = reader.name();
  info.format = "npy";
  info.dtype = found->dtype;
  info.fortran_order = header.fortran_order;
  // A dimension of 0 makes the array empty, however long the others are.
  std::uint64_t count = std::find(header.shape.begin(), header.shape.end(), 0U) == header.shape.end() ? 1 : 0;
  for (const std::uint64_t extent : header.shape) {
    const auto product = checked_product(count, extent);
    if (!product) reader.fail("npy: the shape has more elements than masu can count");
    count = *product;
  }
  const auto bytes = checked_product(count, float8 ? 1 : size_of(info.dtype));
  if (!bytes) reader.fail("npy: the shape has more bytes than masu can count");
  info.shape = std::move(header.shape);
  info.count = count;
  FlatLayout layout;
  layout.start = reader.position();
  layout.count = count;
  layout.whole = true;
  layout.boolean = info.boolean = found->boolean;
  layout.float8 = float8;
  layout.swap = !float8 && size_of(info.dtype) > 1 && (order == '<' || order == '>') &&
                (order == '>') != (std::endian::native == std::endian::big);
  reader.require(layout.start, *bytes, 0, fmt::format("npy: {} elements of {}", count, to_string(info.dtype)));
  return flat_source(std::move(input), std::move(info), layout);
}

std::string npy_header(Dtype dtype, std::span<const std::uint64_t> shape, bool fortran_order) {
  if (names_of(dtype).numpy_name.empty()) {
    throw Error(ErrorCode::unsupported,
                fmt::format("npy_header: NumPy must have the dtype, got {}; write raw data, or convert it first",
                            to_string(dtype)));
  }
  const char order = size_of(dtype) == 1 ? '|' : std::endian::native == std::endian::big ? '>' : '<';
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': {}, 'shape': (", order,
                                 names_of(dtype).numpy_name, fortran_order ? "True" : "False");
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) text += ' ';
    text += std::to_string(shape[i]);
    if (i == 0 || i + 1 != shape.size()) text += ',';
  }
  text += "), }";
  // The elements begin at a multiple of 64 bytes.
  const std::size_t padded = (10 + text.size() + 1 + 63) / 64 * 64;
  if (padded - 10 > 65535) throw Error(ErrorCode::invalid_argument, "npy_header: the shape has too many dimensions");
  text.append(padded - 10 - text.size() - 1, ' ');
  text += '\n';
  std::string out(magic.begin(), magic.end());
  out += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return out + text;
}

}  // namespace masu::io
