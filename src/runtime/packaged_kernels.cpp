// SPDX-License-Identifier: Apache-2.0
#include "runtime/packaged_kernels.h"

#include "runtime/environment.h"
#include "runtime/kernel_source.h"
#include "runtime/program_cache.h"
#include "runtime/shared_library.h"

#include <masu/version.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>

namespace masu::runtime {
namespace {

namespace fs = std::filesystem;

using Digest = std::array<char, 64>;  // in hexadecimal

// A package is a line of this, masu's version, the architecture and the sources that it was made of, the number of
// kernels, an Entry for each in the order of the keys, and their contents, each compressed.
constexpr std::string_view package_mark = "masu-kernels-3 ";
std::string first_line(std::string_view architecture) {
  std::string sums;
  for (const EmbeddedFile& file : embedded_files()) sums += file.sha256;
  return fmt::format("{}{} {} {:.16}\n", package_mark, version(), architecture, sha256(std::move(sums)));
}
struct Entry {
  Digest key;
  Digest hash;  // of the key, the content's size and the compressed content
  std::uint64_t offset;
  std::uint64_t packed_bytes;
  std::uint64_t bytes;
};
constexpr std::uint64_t most_kernel_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t most_package_bytes = std::uint64_t{256} << 20;

// The entries of a package for this version, which may be damaged.
class Entries {
 public:
  explicit Entries(std::string_view package) : package_(package), head_(package.find('\n') + 1 + sizeof count_) {
    if (!package.starts_with(fmt::format("{}{} ", package_mark, version())) || package.size() < head_) return;
    std::memcpy(&count_, package.data() + head_ - sizeof count_, sizeof count_);
    whole_ = count_ <= (package.size() - head_) / sizeof(Entry);
  }
  // Whether all entries are there: none may be read otherwise.
  [[nodiscard]] bool whole() const { return whole_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] Entry operator[](std::uint64_t i) const {
    Entry entry{};
    std::memcpy(&entry, package_.data() + head_ + i * sizeof entry, sizeof entry);
    return entry;
  }
  [[nodiscard]] bool holds(const Entry& entry) const {
    return entry.offset <= package_.size() && entry.packed_bytes <= package_.size() - entry.offset;
  }

 private:
  std::string_view package_;
  std::uint64_t head_;
  std::uint64_t count_ = 0;
  bool whole_ = false;
};

Digest digest_of(std::string_view text) {
  Digest digest{};
  std::ranges::copy(text.substr(0, digest.size()), digest.begin());
  return digest;
}

Digest hash_of(std::string_view key, std::uint64_t bytes, std::string_view packed) {
  return digest_of(sha256(fmt::format("{} {} ", key, bytes).append(packed)));
}

struct LibZ {
  SharedLibrary library{"packaged kernels", "libz.so.1", "zlib1g", "need"};
  using Bytes = unsigned char*;
  using Compress = int (*)(Bytes to, unsigned long* to_bytes, const unsigned char* from, unsigned long bytes,
                           int level);
  using Uncompress = int (*)(Bytes to, unsigned long* to_bytes, const unsigned char* from, unsigned long bytes);
  Compress compress = library.find<Compress>("compress2");
  Uncompress uncompress = library.find<Uncompress>("uncompress");
};
const LibZ& libz() {
  static const LibZ& opened = *new LibZ;
  return opened;
}

// What `work(to, its size, from, its size)` of zlib's makes of a text; empty where it fails.
template <class Work>
std::string converted(std::string_view text, std::uint64_t most, const Work& work) {
  std::string result(most, '\0');
  unsigned long size = most;
  const auto* from = reinterpret_cast<const unsigned char*>(text.data());
  const bool good = work(reinterpret_cast<unsigned char*>(result.data()), &size, from, text.size()) == 0;
  result.resize(good ? size : 0);
  return result;
}

// The folders where an installation has packages: of the library, of the wheel, of the command, which holds the
// library itself, and of the wheel masu-kernels beside the Python package.
std::vector<fs::path> package_folders() {
  const std::string& named = environment().packaged_kernels;
  if (!named.empty()) return named == "off" ? std::vector<fs::path>() : std::vector<fs::path>{named};
  ::Dl_info info{};
  const bool known = ::dladdr(reinterpret_cast<const void*>(&package_folders), &info) != 0;
  const std::string_view file = known && info.dli_fname != nullptr ? info.dli_fname : "";
  std::error_code error;
  const fs::path library = fs::canonical(file.find(".so") != std::string_view::npos ? file : "/proc/self/exe", error);
  std::vector<fs::path> folders;
  for (const fs::path& base : {library.parent_path(), library.parent_path().parent_path()}) {
    for (const char* part : {"masu/kernels", "lib/masu/kernels", "kernels"}) folders.push_back(base / part);
    if (base.filename() == "masu") folders.push_back(base.parent_path() / "masu_kernels");
  }
  return folders;
}

}  // namespace

PackageMaker::PackageMaker(std::string_view architecture, std::uint64_t most_bytes)
    : line_(first_line(architecture)), room_(most_bytes - std::min(most_bytes, line_.size() + sizeof(std::uint64_t))) {
  libz().library.require("masu cache build");
}

bool PackageMaker::add(const std::string& key, std::string_view content) {
  const std::uint64_t bound = content.size() + content.size() / 1000 + 64;
  std::string packed = converted(content, bound, [](auto... to) { return libz().compress(to..., 9); });
  const std::uint64_t needed = sizeof(Entry) + packed.size();
  full_ = full_ || needed > room_;
  if (full_) return false;
  room_ -= needed;
  kernels_[key] = {std::move(packed), content.size()};
  return true;
}

std::string PackageMaker::file() const {
  const std::uint64_t count = kernels_.size();
  std::string package = line_;
  package.append(reinterpret_cast<const char*>(&count), sizeof count);
  const std::uint64_t start = package.size() + count * sizeof(Entry);
  std::string contents;
  for (const auto& [key, kernel] : kernels_) {
    const auto& [packed, bytes] = kernel;
    const Entry entry{digest_of(key), hash_of(key, bytes, packed), start + contents.size(), packed.size(), bytes};
    package.append(reinterpret_cast<const char*>(&entry), sizeof entry);
    contents += packed;
  }
  return package + contents;
}

std::optional<std::string> find_in_package(std::string_view package, std::string_view key) noexcept try {
  const Entries entries(package);
  if (!entries.whole()) return std::nullopt;
  std::uint64_t first = 0;
  for (std::uint64_t last = entries.count(); first < last;) {
    const std::uint64_t middle = (first + last) / 2;
    if (entries[middle].key < digest_of(key)) first = middle + 1;
    else last = middle;
  }
  if (first == entries.count()) return std::nullopt;
  const Entry entry = entries[first];
  if (entry.key != digest_of(key) || entry.bytes > most_kernel_bytes || !entries.holds(entry)) return std::nullopt;
  const std::string_view packed = package.substr(entry.offset, entry.packed_bytes);
  if (hash_of(key, entry.bytes, packed) != entry.hash || libz().uncompress == nullptr) {
    return std::nullopt;
  }
  std::string content = converted(packed, entry.bytes, libz().uncompress);
  return content.size() == entry.bytes ? std::optional(std::move(content)) : std::nullopt;
} catch (...) {
  return std::nullopt;
}

std::string fault_of(std::string_view package, std::string_view architecture) {
  if (!package.starts_with(package_mark)) return "it is no package of kernels";
  std::string_view rest = package.substr(package_mark.size());
  const auto take = [&rest](std::string_view characters) {  // and what follows them
    const std::string_view word = rest.substr(0, rest.find_first_not_of(characters));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    return word;
  };
  const std::string_view made_for = take("0123456789.");
  if (made_for != version() && !made_for.empty() && !rest.empty()) {
    return fmt::format("it is for masu {}, this is {}", made_for, version());
  }
  const std::string_view device = take("sm_0123456789");
  if (device != architecture && !device.empty() && !rest.empty()) {
    return fmt::format("it is for {}, and named after {}", device, architecture);
  }
  bool whole = package.starts_with(first_line(architecture));
  if (!whole && !device.empty() && rest.size() > 16) {
    return "it was made of other kernels than this library's: make it anew (masu cache build)";
  }
  const Entries entries(package);
  whole = whole && entries.whole();
  for (std::uint64_t i = 0; whole && i < entries.count(); ++i) whole = entries.holds(entries[i]);
  if (!whole) return "it is truncated or damaged";
  return libz().uncompress == nullptr ? "zlib is absent: install zlib1g" : "";
}

std::vector<PackageFile> package_files() {
  std::vector<PackageFile> files;
  for (const fs::path& folder : package_folders()) {
    std::error_code error;  // most of them are absent
    for (const fs::directory_entry& file : fs::directory_iterator(folder, error)) {
      if (file.path().extension() != ".kernels") continue;
      const auto package = read_file(file.path(), most_package_bytes);
      files.push_back({file.path(), package ? fault_of(*package, file.path().stem().native()) : "it cannot be read"});
    }
  }
  std::ranges::sort(files, {}, &PackageFile::path);
  return files;
}

std::optional<std::string> packaged_kernel(const std::string& architecture, std::string_view key) {
  static std::mutex& mutex = *new std::mutex;
  static auto& read = *new std::map<std::string, std::vector<std::string>>;
  const std::vector<std::string>* packages = nullptr;
  {
    const std::lock_guard lock(mutex);
    const auto [entry, is_new] = read.try_emplace(architecture);
    packages = &entry->second;
    for (const fs::path& folder : is_new ? package_folders() : std::vector<fs::path>()) {
      auto file = read_file(folder / (architecture + ".kernels"), most_package_bytes);
      if (file && fault_of(*file, architecture).empty()) entry->second.push_back(std::move(*file));
    }
  }
  for (const std::string& package : *packages) {
    if (auto content = find_in_package(package, key)) return content;
  }
  return std::nullopt;
}

}  // namespace masu::runtime
