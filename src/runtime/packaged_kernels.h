// SPDX-License-Identifier: Apache-2.0
// Kernels that were compiled ahead for an architecture and lie beside the library: one file for each, "sm_90.kernels",
// made by `masu cache build --arch`.
#pragma once

#include "runtime/backend.h"

#include <cstdint>
#include <filesystem>
#include <map>
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
MASU_EXPORT std::shared_ptr<Device> compile_only_device(std::string_view architecture);

// Makes such a file.
class MASU_EXPORT PackageMaker {
 public:
  // Throws unsupported where zlib is absent.
  PackageMaker(std::string_view architecture, std::uint64_t most_bytes);
  // A key, and a content as a DiskCache has it. False where the file would have more than `most_bytes`; then it is
  // full.
  bool add(const std::string& key, std::string_view content);
  [[nodiscard]] bool full() const { return full_; }
  [[nodiscard]] std::size_t count() const { return kernels_.size(); }
  [[nodiscard]] std::string file() const;

 private:
  std::map<std::string, std::pair<std::string, std::uint64_t>> kernels_;  // compressed, and the size of each
  std::string line_;
  std::uint64_t room_;
  bool full_ = false;
};

// The content under a key in such a file. Whatever is wrong with the file is a miss.
std::optional<std::string> find_in_package(std::string_view package, std::string_view key) noexcept;

// Why such a file is not used for an architecture; empty where it is. Damaged kernels in a file of the right size are
// found when they are looked up.
std::string fault_of(std::string_view package, std::string_view architecture);

// The packages that lie where packaged_kernel() looks, with fault_of() each.
struct PackageFile {
  std::filesystem::path path;
  std::string fault;
};
MASU_EXPORT std::vector<PackageFile> package_files();

// The content under a key in the packages for an architecture, which the first call reads: in the folder that
// MASU_PACKAGED_KERNELS names, in none where that is "off", else beside the library.
std::optional<std::string> packaged_kernel(const std::string& architecture, std::string_view key);

}  // namespace masu::runtime
