// SPDX-License-Identifier: Apache-2.0
#include "elements/elements.h"

namespace masu {

std::vector<runtime::Define> element_defines(Dtype dtype, std::vector<runtime::Define> more) {
  more.push_back({"MASU_ELEMENT_BYTES", size_of(dtype)});
  more.push_back({"MASU_ELEMENT_CLASS", element_class(dtype)});
  return more;
}

}  // namespace masu
