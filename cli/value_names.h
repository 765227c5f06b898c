// SPDX-License-Identifier: Apache-2.0
// What an option's value may be. The text behind an option in its help says it: words joined by '|', of which those in
// lower case are meant literally and those in capitals are names of the table here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace masu::cli {

enum class ValueKind { other, words, file, folder };

struct ValueName {
  std::string_view name;
  ValueKind kind = ValueKind::other;
  std::vector<std::string> words;  // literally, as the command takes them
};

// The table, from which --help, the manual and the completions are made.
const std::vector<ValueName>& value_names();
// "a, b or c" of the words of a name.
std::string words_of(std::string_view name);

// What may follow an option: literal words, and whether a file or a folder.
struct Candidates {
  std::vector<std::string> words;
  bool file = false;
  bool folder = false;
};
Candidates candidates(const std::string& type_name);

}  // namespace masu::cli
