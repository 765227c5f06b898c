// SPDX-License-Identifier: Apache-2.0
#include "runtime/packaged_kernels.h"

#include "runtime/environment.h"
#include "runtime/program_cache.h"
#include "runtime/shared_library.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>

namespace masu::runtime {
namespace {

namespace fs = std::filesystem;

using Digest = std::array<char, 64>;  // in hexadecimal

// A package is this line, the number of kernels, an Entry for each in the order of the keys, and their contents, each
// compressed.
constexpr std::string_view package_mark = "masu-kernels-1\n";
struct Entry {
  Digest key;
  Digest hash;  // of the key, the content's size and the compressed content
  std::uint64_t offset;
  std::uint64_t packed_bytes;
  std::uint64_t bytes;
};
constexpr std::uint64_t head_bytes = package_mark.size() + sizeof(std::uint64_t);
constexpr std::uint64_t most_kernel_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t most_package_bytes = std::uint64_t{256} << 20;

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

// The folders where an installation has packages: of the library, of the wheel, and of the command, which holds the
// library itself.
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
  }
  return folders;
}

}  // namespace

std::pair<std::string, std::size_t> make_package(const Kernels& kernels, std::uint64_t most_bytes) {
  libz().library.require("masu cache build");
  std::vector<Entry> entries;
  std::string contents;
  for (const auto& [key, content] : kernels) {
    const std::uint64_t bound = content.size() + content.size() / 1000 + 64;
    const std::string packed =
        converted(content, bound, [](auto... arguments) { return libz().compress(arguments..., 9); });
    if (head_bytes + (entries.size() + 1) * sizeof(Entry) + contents.size() + packed.size() > most_bytes) break;
    entries.push_back(
        {digest_of(key), hash_of(key, content.size(), packed), contents.size(), packed.size(), content.size()});
    contents += packed;
  }
  std::ranges::sort(entries, {}, &Entry::key);
  const std::uint64_t count = entries.size();
  for (Entry& entry : entries) entry.offset += head_bytes + count * sizeof(Entry);
  std::string package(package_mark);
  package.append(reinterpret_cast<const char*>(&count), sizeof count);
  package.append(reinterpret_cast<const char*>(entries.data()), count * sizeof(Entry));
  return {package + contents, count};
}

std::optional<std::string> find_in_package(std::string_view package, std::string_view key) noexcept try {
  std::uint64_t count = 0;
  if (!package.starts_with(package_mark) || package.size() < head_bytes) return std::nullopt;
  std::memcpy(&count, package.data() + package_mark.size(), sizeof count);
  if (count > (package.size() - head_bytes) / sizeof(Entry)) return std::nullopt;
  Entry entry{};
  const auto read = [&](std::uint64_t i) {
    std::memcpy(&entry, package.data() + head_bytes + i * sizeof entry, sizeof entry);
  };
  std::uint64_t first = 0;
  for (std::uint64_t last = count; first < last;) {
    const std::uint64_t middle = (first + last) / 2;
    read(middle);
    if (entry.key < digest_of(key)) first = middle + 1;
    else last = middle;
  }
  if (first == count) return std::nullopt;
  read(first);
  if (entry.key != digest_of(key) || entry.offset > package.size() || entry.bytes > most_kernel_bytes ||
      entry.packed_bytes > package.size() - entry.offset) {
    return std::nullopt;
  }
  const std::string_view packed = package.substr(entry.offset, entry.packed_bytes);
  if (hash_of(key, entry.bytes, packed) != entry.hash || libz().uncompress == nullptr) {
    return std::nullopt;
  }
  std::string content = converted(packed, entry.bytes, libz().uncompress);
  return content.size() == entry.bytes ? std::optional(std::move(content)) : std::nullopt;
} catch (...) {
  return std::nullopt;
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
      if (file) entry->second.push_back(std::move(*file));
    }
  }
  for (const std::string& package : *packages) {
    if (auto content = find_in_package(package, key)) return content;
  }
  return std::nullopt;
}

}  // namespace masu::runtime
