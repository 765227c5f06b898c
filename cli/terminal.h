// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace masu::cli {

bool is_terminal(int descriptor);
// Columns of the terminal behind standard output, else $COLUMNS, else 80.
unsigned output_width();
// True when the user's locale can show characters beyond ASCII.
bool utf8_locale();
// What may be printed on a terminal: control characters, and bytes that are no UTF-8, as \x1b; but for those of `kept`.
std::string visible(std::string_view text, std::string_view kept = "");
// One line on standard error, or several with "\n" in `kept`. Control characters are made visible.
void note(std::string_view text, std::string_view kept = "");

}  // namespace masu::cli
