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

// An array of such a file.
class ArraySource : public BlockSource {
 protected:
  static constexpr std::uint64_t block_bytes = std::uint64_t{1} << 24;

  // Sets shape, count and dtype; throws io for more elements than masu can count, and where another dtype was asked
  // for.
  void set_array(const Reader& reader, const SourceOptions& options, std::vector<std::uint64_t> shape, Dtype dtype);
};

// The one of several arrays that was asked for, else the only one: throws io, listing them, where it is none of them.
// `what` and `example` are for messages: "dataset", "FILE.h5:/path".
std::size_t chosen_array(const Reader& reader, const std::vector<std::string>& names, const std::string& asked,
                         std::string_view what, std::string_view example);

// The libraries are not made for several threads. What they have opened is closed under it too, by whoever opens.
inline std::recursive_mutex& library_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

}  // namespace masu::io
