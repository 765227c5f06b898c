// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace masu::runtime {

// One "#define NAME VALUE" in front of masu's own kernel files. A bool is 0 or 1.
struct Define {
  std::string name;
  std::string value;

  Define(std::string_view called, std::string_view is) : name(called), value(is) {}
  Define(std::string_view called, std::integral auto is) : name(called), value(std::to_string(is)) {}
};

}  // namespace masu::runtime
