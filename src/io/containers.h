// SPDX-License-Identifier: Apache-2.0
// Arrays in files of many (HDF5, FITS), which a library reads in blocks from a file that it opens itself.
#pragma once

#include "io/sources.h"

#include <mutex>

namespace masu::io {

// The input as a file that has a path until it was opened: the input's own, else a temporary copy. The input's is one
// of /proc, so that a library opens the file that was looked at, whatever its name stands for by then. The copy has a
// name, since libhdf5 asks for the real path of what it opens.
class OpenedFile {
 public:
  OpenedFile(Reader reader, const std::string& tmpdir);
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;
  ~OpenedFile() { remove_name(); }
  // Once a library has opened it.
  void remove_name() noexcept;
  [[nodiscard]] const char* path() const noexcept { return path_.c_str(); }
  [[nodiscard]] const Reader& reader() const noexcept { return reader_; }

 private:
  Reader reader_;
  std::string path_;
  bool named_ = false;  // the copy
};

// An array that is read a block at a time.
class BlockSource : public Source {
 public:
  [[nodiscard]] const SourceInfo& info() const noexcept final { return info_; }
  std::uint64_t read(void* target, std::uint64_t count) final;
  void rewind() final { position_ = 0; }
  bool take_part(std::uint64_t first, std::uint64_t count) final;

 protected:
  struct Block {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  static constexpr std::uint64_t block_bytes = std::uint64_t{1} << 24;

  // Which elements are best read together with one of them.
  [[nodiscard]] virtual Block block_at(std::uint64_t element) const = 0;
  // Reads a block in native byte order.
  virtual void load(const Block& block, void* target) = 0;

  // Sets shape, count and dtype; throws io for more elements than masu can count, and where another dtype was asked
  // for.
  void set_array(const Reader& reader, const SourceOptions& options, std::vector<std::uint64_t> shape, Dtype dtype);
  SourceInfo info_;

 private:
  std::vector<std::byte> buffer_;
  Block held_;  // in buffer_
  std::uint64_t begin_ = 0;
  std::uint64_t position_ = 0;  // from begin_ on
};

// The one of several arrays that was asked for, else the only one: throws io, listing them, where it is none of them.
// `what` and `example` are for messages: "dataset", "FILE.h5:/path".
std::size_t chosen_array(const Reader& reader, const std::vector<std::string>& names, const std::string& asked,
                         std::string_view what, std::string_view example);

// The libraries are not made for several threads.
inline std::mutex& library_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace masu::io
