// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace masu::cli {

bool is_terminal(int descriptor);
// Columns of the terminal behind standard output, else $COLUMNS, else 80.
unsigned output_width();
// True when the user's locale can show characters beyond ASCII.
bool utf8_locale();
// One line on standard error.
void note(const std::string& line);

}  // namespace masu::cli
