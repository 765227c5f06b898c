// SPDX-License-Identifier: Apache-2.0
#include "module.h"

namespace masu_python {

void register_sums(nb::module_&) {}

}  // namespace masu_python
