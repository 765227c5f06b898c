// SPDX-License-Identifier: Apache-2.0
// Compiled programs, kept in memory for the device's life and on disk between processes.
#pragma once

#include "runtime/backend.h"
#include "runtime/environment.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace masu::runtime {

// SHA-256 (FIPS 180-4), as 64 lower-case hexadecimal digits.
std::string sha256(std::string data);

// The program of a complete source text, compiled once; one that includes files is compiled anew each time.
// Thread-safe; two threads that ask for the same program at once compile it once. `directory`: of the DiskCache.
std::shared_ptr<Module> cached_program(Device& device, std::string_view text, std::string_view options,
                                       const std::string& directory = environment().cache_directory);

// The content of a regular file of at most that many bytes; nothing for what else has the name, a pipe that nobody
// writes or a device.
std::optional<std::string> read_file(const std::filesystem::path& path, std::uint64_t most);

// Files under a directory of the user's, found by key: whatever is wrong with one, or with the directory, is a miss.

class DiskCache {
 public:
  static constexpr std::uint64_t default_limit = std::uint64_t{256} << 20;

  // An empty directory is a cache that never hits. The directory is made, 0700, by the first store.
  explicit DiskCache(std::filesystem::path directory, std::uint64_t limit_bytes = default_limit)
      : directory_(std::move(directory)), limit_(limit_bytes) {}

  // Whether it can hit at all.
  [[nodiscard]] bool enabled() const noexcept { return !directory_.empty(); }

  // `key` is a file name. The content is what store was given, or nothing.
  [[nodiscard]] std::optional<std::string> load(const std::string& key) const noexcept;
  // Writes a temporary file and renames it, then removes the entries that were used longest ago while all together
  // exceed the limit. Content larger than the limit is not kept.
  void store(const std::string& key, std::string_view content) const noexcept;

 private:
  [[nodiscard]] bool trusted() const;
  void trim() const;
  std::filesystem::path directory_;
  std::uint64_t limit_;
};

}  // namespace masu::runtime
