// SPDX-License-Identifier: Apache-2.0
// What the symbol of a kernel says of it: of one that is not `extern "C"`, its name in the source and its types.
#pragma once

#include <masu/kernel_argument.h>

#include <string>
#include <vector>

namespace masu::cuda {

struct EntrySignature {
  std::string name;  // "add", "scale<float>"; the symbol itself where that is all there is
  bool typed = false;
  std::vector<std::string> types;  // where typed
};

EntrySignature entry_signature(const std::string& symbol);

// The parameters of a kernel from its types and from the sizes that the driver tells; either may be absent (null).
// Types of which there are not as many as sizes are left out.
std::vector<KernelParameter> parameters_of(const EntrySignature& entry, const std::vector<std::size_t>* sizes);

}  // namespace masu::cuda
