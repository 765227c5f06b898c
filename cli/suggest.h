// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace masu::cli {

// "; did you mean NAME?" with the known name nearest to the word; nothing where none is near.
std::string nearest(const std::string& word, const std::vector<std::string>& known);

}  // namespace masu::cli
