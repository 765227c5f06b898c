// SPDX-License-Identifier: Apache-2.0
// A file in memory without a copy, that survives the file's becoming shorter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace masu::io {

struct MappedRange;

// The bytes [start, start + size) of an open regular file. A page that cannot be had any more (the file was cut, the
// disk fails) reads as zeros, instead of ending the process by SIGBUS, and is remembered: check() tells.
class FileMapping {
 public:
  // Null where the file cannot be mapped, or more files are mapped than the process has places for. The descriptor must
  // stay open as long as the mapping. From the first call on, the process has a handler for SIGBUS, which passes on
  // what does not concern a FileMapping.
  static std::unique_ptr<FileMapping> map(int descriptor, std::uint64_t start, std::uint64_t size, std::string name);
  ~FileMapping();
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  // Throws io when not all that was read from bytes() was the file's.
  void check() const;

  static constexpr std::size_t most_files = 64;

 private:
  FileMapping(int descriptor, std::string name, MappedRange& range, std::span<const std::byte> bytes,
              std::uint64_t file_bytes)
      : descriptor_(descriptor), name_(std::move(name)), range_(range), bytes_(bytes), file_bytes_(file_bytes) {}
  int descriptor_;
  std::string name_;
  MappedRange& range_;
  std::span<const std::byte> bytes_;
  std::uint64_t file_bytes_;  // the least size that the file must have
};

}  // namespace masu::io
