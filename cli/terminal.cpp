// SPDX-License-Identifier: Apache-2.0
#include "terminal.h"

#include "ranks.h"

#include <fmt/format.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <charconv>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace masu::cli {

bool is_terminal(int descriptor) {
  return ranks().has_terminal() && isatty(descriptor) == 1;
}

unsigned output_width() {
  constexpr unsigned widest = 1000;
  winsize size{};
  if (ranks().has_terminal() && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::min<unsigned>(size.ws_col, widest);
  if (const char* text = std::getenv("COLUMNS")) {
    unsigned columns = 0;
    const char* end = text + std::strlen(text);
    const auto [rest, error] = std::from_chars(text, end, columns);
    if (error == std::errc::result_out_of_range && rest == end && *text != '-') return widest;
    if (rest == end && columns > 0) return std::min(columns, widest);
  }
  return 80;
}

bool utf8_locale() {
  // Only the character type: numbers must keep their point.
  static const bool utf8 = std::setlocale(LC_CTYPE, "") != nullptr && std::string_view(nl_langinfo(CODESET)) == "UTF-8";
  return utf8;
}

std::string visible(std::string_view text, std::string_view kept) {
  std::string shown;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
    const unsigned first = byte(i);
    std::size_t length = first < 0x80   ? 1
                         : first < 0xc2 ? 0
                         : first < 0xe0 ? 2
                         : first < 0xf0 ? 3
                         : first < 0xf5 ? 4
                                        : 0;
    for (std::size_t k = 1; k < length; ++k)
      if ((byte(i + k) & 0xc0U) != 0x80U) length = 0;
    const bool control = (length == 1 && (first < ' ' || first == 0x7f)) || (first == 0xc2 && byte(i + 1) < 0xa0);
    if (length == 0 || (control && kept.find(text[i]) == std::string_view::npos)) {
      length = std::max<std::size_t>(length, 1);
      for (std::size_t k = 0; k < length; ++k) shown += fmt::format("\\x{:02x}", byte(i + k));
    } else {
      shown += text.substr(i, length);
    }
    i += length;
  }
  return shown;
}

void note(std::string_view text, std::string_view kept) {
  std::fprintf(stderr, "%s\n", visible(text, kept).c_str());
}

}  // namespace masu::cli
