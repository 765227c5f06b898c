// SPDX-License-Identifier: Apache-2.0
// Kernels that were compiled ahead for an architecture and lie beside the library: one file for each, "sm_90.kernels",
// made by `masu cache build --arch`.
#pragma once

#include "runtime/backend.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::runtime {

// A device of the CUDA backend that stands for one of that architecture ("sm_90") and only compiles: its commands do
// nothing, and what is read back is zeros. Its programs are kept under the keys of a package. Throws invalid_argument
// for an architecture that is not known.
std::shared_ptr<Device> compile_only_device(std::string_view architecture);

// Keys, and contents as a DiskCache has them.
using Kernels = std::vector<std::pair<std::string, std::string>>;
// A file with as many kernels as `most_bytes` hold, from the first on, and how many these are. Throws unsupported where
// zlib is absent.
std::pair<std::string, std::size_t> make_package(const Kernels& kernels, std::uint64_t most_bytes);
// The content under a key in such a file. Whatever is wrong with the file is a miss.
std::optional<std::string> find_in_package(std::string_view package, std::string_view key) noexcept;

// The content under a key in the packages for an architecture, which the first call reads: in the folder that
// MASU_PACKAGED_KERNELS names, in none where that is "off", else beside the library.
std::optional<std::string> packaged_kernel(const std::string& architecture, std::string_view key);

}  // namespace masu::runtime
