// SPDX-License-Identifier: Apache-2.0
#include "terminal.h"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <charconv>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace masu::cli {

bool is_terminal(int descriptor) {
  return isatty(descriptor) == 1;
}

unsigned output_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  if (const char* text = std::getenv("COLUMNS")) {
    unsigned columns = 0;
    const char* end = text + std::strlen(text);
    if (std::from_chars(text, end, columns).ptr == end && columns > 0) return columns;
  }
  return 80;
}

bool utf8_locale() {
  // Only the character type: numbers must keep their point.
  static const bool utf8 = std::setlocale(LC_CTYPE, "") != nullptr && std::string_view(nl_langinfo(CODESET)) == "UTF-8";
  return utf8;
}

void note(const std::string& line) {
  std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace masu::cli
