// SPDX-License-Identifier: Apache-2.0
#include "element_text.h"

#include "io/numbers.h"

#include <array>

namespace masu::cli {

std::string element_text(const ArrayView& array, std::uint64_t index) {
  return dispatch(array.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::array<char, io::number_room> text{};
    return std::string(text.data(), io::put_number(text.data(), text.size(), static_cast<const T*>(array.data)[index]));
  });
}

std::string json_of_text(std::string text) {
  if (text == "nan") return "\"NaN\"";
  if (text == "inf") return "\"Infinity\"";
  if (text == "-inf") return "\"-Infinity\"";
  return text;
}

std::string json_element(const ArrayView& array, std::uint64_t index) {
  return json_of_text(element_text(array, index));
}

}  // namespace masu::cli
