// SPDX-License-Identifier: Apache-2.0
// Objects of JSON (RFC 8259), one a line or in an array, as a text of a column for each wanted key: the values of an
// object in a line, in the lines of the file. So whatever masu does with texts holds for them. The numbers stay as they
// are written.
#include "io/fields.h"
#include "io/sources.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <utility>

namespace masu::io {
namespace {

constexpr int deepest_json = 512;
constexpr std::size_t json_value_bytes = longest_entry + 1;  // of a value: a longer entry of a text is a bad one
constexpr std::size_t most_json_keys = 20;                   // in a message
constexpr std::size_t most_listed_keys = std::size_t{1} << 20;

bool is_json_space(int c) noexcept {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool is_json_digit(int c) noexcept {
  return c >= '0' && c <= '9';
}

class JsonStream final : public DecodedStream {
 public:
  // Without a wanted key, the objects must have one.
  JsonStream(Reader reader, std::vector<std::string> wanted)
      : DecodedStream(std::move(reader)), wanted_(std::move(wanted)) {
    prepare();
    if (!wanted_.empty()) return;
    record();
    if (keys_.size() != 1) {
      reader_.fail("holds objects of JSON with {}: say which, as in --column NAME",
                   keys_.empty() ? "no keys of values" : "the keys " + listed(keys_, most_json_keys));
    }
    wanted_ = keys_;
    prepare();
    begin_again();
  }
  // Only for the keys of the first object.
  explicit JsonStream(Reader reader) : DecodedStream(std::move(reader)), most_keys_(most_listed_keys) { record(); }
  [[nodiscard]] const std::vector<std::string>& keys() const noexcept { return keys_; }
  // For messages.
  [[nodiscard]] std::string form() const {
    return fmt::format("the {} of the JSON {} '{}'", wanted_.size() == 1 ? "key" : "keys",
                       wanted_.size() == 1 ? "is" : "are", printable(fmt::format("{}", fmt::join(wanted_, ", "))));
  }

 private:
  static constexpr int no_more = -1;
  enum class Place { before, lines, array, after };

  std::size_t decode(std::byte* target, std::size_t bytes) override {
    while (out_.size() - given_ < bytes) {
      if (given_ != 0) out_.erase(0, std::exchange(given_, 0));
      if (out_.size() > bytes || !record()) break;
    }
    bytes = std::min(bytes, out_.size() - given_);
    std::copy_n(out_.data() + given_, bytes, reinterpret_cast<char*>(target));
    given_ += bytes;
    return bytes;
  }

  void begin_again() override {
    reader_.seek(0);
    at_ = end_ = nested_at_ = nullptr;
    window_ = 0;
    nested_.clear();
    place_ = Place::before;
    line_ = out_line_ = 1;
    for (Wanted& each : values_) each.found = false;
    out_.clear();
    given_ = 0;
  }

  // Bytes.

  int here() {
    if (at_ == end_) {
      keep_nested();
      reader_.consume(window_);
      const auto bytes = reader_.peek(1);
      window_ = bytes.size();
      at_ = reinterpret_cast<const char*>(bytes.data());
      nested_at_ = at_;
      end_ = at_ + window_;
    }
    return at_ == end_ ? no_more : static_cast<unsigned char>(*at_);
  }
  // Requires that here() is not the end.
  void pass() {
    if (*at_++ == '\n') ++line_;
  }
  int skip_space() {
    while (is_json_space(here())) pass();
    return here();
  }
  bool accept(char c) {
    if (skip_space() != c) return false;
    pass();
    return true;
  }
  [[noreturn]] void refuse(std::string_view expected) {
    const int c = here();
    if (c == no_more) reader_.fail("truncated: the file ends inside the object that begins in line {}", begin_line_);
    const char shown = static_cast<char>(c);
    reader_.fail("line {}: is no JSON: {} should stand where '{}' does", line_, expected, printable({&shown, 1}));
  }

  // Values. Of each wanted key, what is left of it at a depth: a value for which nothing is left is the one. Null where
  // it cannot be inside.
  struct Wanted {
    std::string text;
    bool quoted = true;
    bool here = false;   // in this object
    bool found = false;  // in any
  };
  void prepare() {
    values_.assign(wanted_.size(), {});
    rests_.assign((deepest_json + 2) * wanted_.size(), nullptr);
    for (std::size_t i = 0; i < wanted_.size(); ++i) rests_[i] = wanted_[i].c_str();
  }
  [[nodiscard]] std::span<const char*> rests(int depth) {
    return std::span(rests_).subspan(static_cast<std::size_t>(depth) * wanted_.size(), wanted_.size());
  }

  // Brings the wanted arrays and objects that are open up to here.
  void keep_nested() {
    for (std::string& text : nested_) {
      const auto bytes = static_cast<std::size_t>(at_ - nested_at_);
      text.append(nested_at_, std::min(bytes, json_value_bytes - text.size()));
    }
    nested_at_ = at_;
  }
  void keep(char c) {
    if (value_.size() < json_value_bytes) value_ += c;
  }
  void keep_utf8(std::uint32_t point) {
    if (point < 0x80) return keep(static_cast<char>(point));
    const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    constexpr std::array<unsigned, 4> first = {0, 0xc0, 0xe0, 0xf0};
    keep(static_cast<char>(first[static_cast<std::size_t>(more)] | point >> (6 * more)));
    for (int i = more; i-- > 0;) keep(static_cast<char>(0x80U | (point >> (6 * i) & 0x3fU)));
  }
  std::uint32_t hex4() {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) {
      const int c = here();
      const int digit = is_json_digit(c)       ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) refuse("a hexadecimal digit");
      value = value << 4 | static_cast<std::uint32_t>(digit);
      pass();
    }
    return value;
  }
  void escape() {
    constexpr std::string_view letters = "\"\\/bfnrtu";
    constexpr std::string_view meant = "\"\\/\b\f\n\r\t";
    const int c = here();
    const std::size_t found = c == no_more ? std::string_view::npos : letters.find(static_cast<char>(c));
    if (found == std::string_view::npos) refuse("a letter of an escape");
    pass();
    if (found < meant.size()) return keep(meant[found]);
    std::uint32_t point = hex4();
    while (point >= 0xd800 && point < 0xdc00) {  // the first of two that stand for one character
      if (here() != '\\') break;
      pass();
      if (here() != 'u') {
        keep_utf8(0xfffd);
        return escape();
      }
      pass();
      const std::uint32_t second = hex4();
      if (second >= 0xdc00 && second < 0xe000) return keep_utf8(0x10000 + ((point - 0xd800) << 10) + (second - 0xdc00));
      keep_utf8(0xfffd);
      point = second;
    }
    keep_utf8(point >= 0xd800 && point < 0xe000 ? 0xfffd : point);
  }
  // Leaves it in value_.
  void string() {
    value_.clear();
    pass();
    for (;;) {
      const int c = here();
      if (c == '"') return pass();
      if (c < ' ') refuse("a character of a string");
      pass();
      if (c == '\\') escape();
      else keep(static_cast<char>(c));
    }
  }
  void digits() {
    if (!is_json_digit(here())) refuse("a digit");
    for (; is_json_digit(here()); pass()) keep(*at_);
  }
  void number() {
    value_.clear();
    const auto take = [&] {
      keep(*at_);
      pass();
    };
    if (here() == '-') take();
    if (here() == 'I') return word();
    if (here() == '0') take();
    else digits();
    if (is_json_digit(here())) refuse("no digit after a zero");
    if (here() == '.') {
      take();
      digits();
    }
    if (here() != 'e' && here() != 'E') return;
    take();
    if (here() == '+' || here() == '-') take();
    digits();
  }
  // true, false, null; and NaN, Infinity and -Infinity, as Python and others write them.
  void word() {
    std::string text;
    for (int c = here(); ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') && text.size() < 10; c = here()) {
      text += static_cast<char>(c);
      pass();
    }
    if (text == "null") value_.clear();
    else if (text == "NaN") value_ = "nan";
    else if (text == "Infinity") value_ += "inf";
    else if (text == "true" || text == "false") value_ = text;
    else refuse(text.empty() ? "a value" : fmt::format("a value instead of {}", printable(text)));
  }

  // The rest of the wanted key after a key of an object: "b.c" of "a.b.c" after "a".
  static const char* rest_after(const char* rest, std::string_view key) {
    if (rest == nullptr || *rest == '\0' || !std::string_view(rest).starts_with(key)) return nullptr;
    rest += key.size();
    return *rest == '\0' ? rest : *rest == '.' && rest[1] != '\0' ? rest + 1 : nullptr;
  }
  void value(int depth, const std::string& path) {
    const int c = skip_space();
    const bool nested = c == '{' || c == '[';
    if (nested) {
      if (depth == deepest_json) reader_.fail("line {}: JSON nested deeper than {} values", line_, deepest_json);
      const bool wanted =
          std::ranges::any_of(rests(depth), [](const char* rest) { return rest != nullptr && *rest == '\0'; });
      keep_nested();
      if (wanted) nested_.emplace_back();
      pass();
      if (c == '{') members(depth, path);
      else elements(depth);
      keep_nested();
      value_.clear();
      if (wanted) {
        value_ = std::move(nested_.back());
        nested_.pop_back();
      }
    } else if (c == '"') {
      string();
    } else if (is_json_digit(c) || c == '-') {
      number();
    } else {
      value_.clear();
      word();
    }
    if (!nested && depth != 0 && !keys_known_ && !path.empty() && keys_.size() < most_keys_) keys_.push_back(path);
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const char* const rest = rests(depth)[i];
      if (rest != nullptr && *rest == '\0') values_[i] = {value_, nested || c == '"', true, true};
    }
  }
  void members(int depth, const std::string& path) {
    for (bool more = !accept('}'); more;) {
      if (skip_space() != '"') refuse("a key in quotes");
      string();
      for (std::size_t i = 0; i < wanted_.size(); ++i) rests(depth + 1)[i] = rest_after(rests(depth)[i], value_);
      const std::string longer = keys_known_ ? std::string() : (path.empty() ? value_ : path + "." + value_);
      if (!accept(':')) refuse("a colon");
      value(depth + 1, longer);
      more = accept(',');
      if (!more && !accept('}')) refuse("a comma or }");
    }
  }
  void elements(int depth) {
    std::uint64_t index = 0;
    for (bool more = !accept(']'); more; ++index) {
      for (std::size_t i = 0; i < wanted_.size(); ++i) {
        const char* const rest = rests(depth)[i];
        rests(depth + 1)[i] = rest == nullptr ? nullptr : rest_after(rest, std::to_string(index));
      }
      value(depth + 1, std::string());
      more = accept(',');
      if (!more && !accept(']')) refuse("a comma or ]");
    }
  }

  // The next object; false after the last one.
  bool record() {
    begin_line_ = line_;
    int c = skip_space();
    if (place_ == Place::before) {
      for (const char mark : {'\xef', '\xbb', '\xbf'}) {
        if (here() != static_cast<unsigned char>(mark)) break;
        pass();
      }
      place_ = accept('[') ? Place::array : Place::lines;
      c = skip_space();
      if (place_ == Place::array && accept(']')) place_ = Place::after;
    } else if (place_ == Place::array) {
      if (accept(']')) place_ = Place::after;
      else if (!accept(',')) refuse("a comma or ]");
      c = skip_space();
    }
    if (c == no_more && place_ != Place::array) return ended();
    if (place_ == Place::after) refuse("nothing");
    if (c != '{') refuse("an object");
    begin_line_ = line_;
    for (Wanted& each : values_) each = {{}, true, false, each.found};
    value(0, std::string());
    keys_known_ = true;
    put_row();
    return true;
  }

  bool ended() {
    for (std::size_t i = 0; i < wanted_.size() && keys_known_; ++i) {
      if (values_[i].found) continue;
      reader_.fail("no object has the key '{}'; the first one has {}", printable(wanted_[i]),
                   keys_.empty() ? "none" : listed(keys_, most_json_keys));
    }
    return false;
  }

  // In the line where the object begins, unless others begin there too.
  void put_row() {
    for (; out_line_ < begin_line_; ++out_line_) out_ += '\n';
    for (const Wanted& each : values_) {
      if (&each != values_.data()) out_ += '\t';
      if (each.quoted || each.text.empty()) put_quoted(each.text);
      else out_ += each.text;
    }
    out_ += '\n';
    ++out_line_;
  }

  void put_quoted(std::string_view text) {
    out_ += '"';
    char before = '\0';
    for (const char c : text) {
      if (c == '"') out_ += c;
      if (c == '\r' || (c == '\n' && before != '\r')) ++out_line_;
      out_ += before = c;
    }
    out_ += '"';
  }

  std::vector<std::string> wanted_;
  std::vector<Wanted> values_;      // of the object, as `wanted_`
  std::vector<const char*> rests_;  // as many for each depth
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::size_t window_ = 0;  // bytes between them at first, which the reader has not passed yet
  Place place_ = Place::before;
  std::uint64_t line_ = 1;
  std::uint64_t begin_line_ = 1;  // of the object
  std::uint64_t out_line_ = 1;
  std::vector<std::string> keys_;  // of the first object
  std::size_t most_keys_ = most_json_keys + 1;
  bool keys_known_ = false;
  std::string value_;                // the last string or number, or what was wanted
  std::vector<std::string> nested_;  // the arrays and objects that are wanted and open, as they stand in the file
  const char* nested_at_ = nullptr;  // up to where they hold it
  std::string out_;
  std::size_t given_ = 0;  // bytes of out_
};

}  // namespace

bool is_json(std::span<const std::byte> head) noexcept {
  std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  const auto next = [&](std::string_view wanted) {
    while (!text.empty() && is_json_space(text.front())) text.remove_prefix(1);
    if (text.empty() || wanted.find(text.front()) == std::string_view::npos) return false;
    text.remove_prefix(1);
    return true;
  };
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  (void)next("[");
  return next("{") && next("\"}");
}

bool is_json_array(std::span<const std::byte> head) noexcept {
  std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  int depth = 0;
  bool begun = false;
  for (const char c : text) {
    if (is_json_space(c)) continue;
    if (begun && depth == 0) return false;
    if (c == '[') ++depth;
    else if (depth == 0 || std::string_view("0123456789+-.eE,]").find(c) == std::string_view::npos) return false;
    if (c == ']') --depth;
    begun = true;
  }
  return begun;
}

Reader json_lines(Reader reader, SourceOptions& options, std::vector<std::string> keys) {
  for (std::string& key : keys) {
    if (key.starts_with("name:")) key.erase(0, 5);
    if (key.starts_with("number:")) refuse_text("keys of JSON have names: --column NAME");
  }
  if (!options.delimiter.empty() || !options.decimal.empty() || options.comment)
    refuse_text("JSON has no --delimiter, --decimal and --comment");
  const std::string name = reader.name();
  auto stream = std::make_unique<JsonStream>(std::move(reader), std::move(keys));
  const std::string form = stream->form();
  Reader lines(name, std::move(stream));
  lines.set_form(form);
  options.delimiter = "tab";
  options.comment = "";
  options.header = false;
  return lines;
}

std::vector<std::string> json_keys(Reader reader) {
  return JsonStream(std::move(reader)).keys();
}

std::unique_ptr<Source> open_json(Input input) {
  std::vector<std::string> keys;
  if (!input.options.column.empty()) keys.push_back(std::exchange(input.options.column, {}));
  const bool one = keys.size() == 1;
  input.reader = json_lines(std::move(input.reader), input.options, std::move(keys));
  input.path.clear();
  // Else a line would be a text.
  if (one && input.options.entries != Entries::numbers) input.options.column = "1";
  return open_text(std::move(input));
}

}  // namespace masu::io
