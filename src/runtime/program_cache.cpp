// SPDX-License-Identifier: Apache-2.0
// Compiled programs, in memory and on disk.
#include "runtime/program_cache.h"

#include "runtime/kernel_source.h"
#include "runtime/packaged_kernels.h"

#include <masu/error.h>
#include <masu/version.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <future>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

namespace masu::runtime {
namespace {

constexpr std::array<std::uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// Mixes a block of 64 bytes into the state.
void mix(std::array<std::uint32_t, 8>& state, const unsigned char* data) noexcept {
  std::uint32_t w[64];
  for (int i = 0; i < 16; ++i) {
    w[i] = std::uint32_t{data[4 * i]} << 24 | std::uint32_t{data[4 * i + 1]} << 16 |
           std::uint32_t{data[4 * i + 2]} << 8 | std::uint32_t{data[4 * i + 3]};
  }
  for (int i = 16; i < 64; ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i < 64; ++i) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + round_constants[static_cast<std::size_t>(i)] + w[i];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += added[i];
}

}  // namespace

std::string sha256(std::string data) {
  const std::uint64_t bits = std::uint64_t{data.size()} * 8;
  data += '\x80';
  data.append((120 - data.size() % 64) % 64, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) data += static_cast<char>(bits >> shift & 0xff);
  std::array<std::uint32_t, 8> state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  for (std::size_t at = 0; at < data.size(); at += 64) {
    mix(state, reinterpret_cast<const unsigned char*>(data.data()) + at);
  }
  std::string result;
  for (const std::uint32_t word : state) result += fmt::format("{:08x}", word);
  return result;
}

namespace {

// Each field with its length, so that no two sets of fields give the same bytes.
std::string key_of(std::initializer_list<std::string_view> fields) {
  std::string all;
  for (const std::string_view field : fields) (all += fmt::format("{}:", field.size())) += field;
  return sha256(std::move(all));
}

// Null where there is no entry, or none that the driver takes.
std::shared_ptr<Module> loaded(Device& device, const std::optional<std::string>& entry) {
  std::optional<NotedBinary> kept = entry ? unpack(*entry) : std::nullopt;
  if (!kept) return nullptr;
  try {
    std::shared_ptr<Module> module = device.load(kept->binary);
    if (module != nullptr) module->recall(std::move(kept->notes));
    return module;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::device_lost) throw;
    return nullptr;
  }
}

// `source`: of the text and the options.
std::shared_ptr<Module> load_or_compile(Device& device, const std::string& source, const std::string& key,
                                        std::string_view text, std::string_view options, const std::string& directory) {
  const std::string& architecture = device.info().architecture;
  if (auto module = loaded(device, packaged_kernel(architecture, key_of({architecture, source})))) return module;
  const DiskCache cache(directory);
  if (auto module = loaded(device, cache.load(key))) return module;
  std::shared_ptr<Module> module = device.compile(text, options);
  if (!cache.enabled()) return module;  // PoCL compiles all kernels once more when it is asked for a binary
  if (const std::string binary = module->binary(); !binary.empty()) cache.store(key, pack(module->notes(), binary));
  return module;
}

// The text after blanks, joined lines and comments.
std::string_view after_space(std::string_view text) {
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\\\r\n"), text.size()));
    if (!text.starts_with("/*")) return text;
    const std::size_t end = text.find("*/", 2);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
  }
}

// Whether a program may read files while it is compiled: they are not in the key, and change.
bool reads_files(std::string_view text, std::string_view options) {
  const auto holds = [](std::string_view in, std::string_view word) { return in.find(word) != std::string_view::npos; };
  if (holds(options, "include") || holds(options, "imacros") || holds(text, "__has_include") ||
      holds(text, "__has_embed")) {
    return true;
  }
  for (const std::string_view hash : {"#", "%:"}) {
    for (std::size_t at = text.find(hash); at != std::string_view::npos; at = text.find(hash, at + 1)) {
      const std::string_view word = after_space(text.substr(at + hash.size()));
      if (word.starts_with("include") || word.starts_with("import") || word.starts_with("embed")) return true;
    }
  }
  return false;
}

// Keeps memory bounded where a program makes ever new sources; a module in use lives on without its entry.
void drop_ready(Kept& kept) {
  std::erase_if(kept.programs, [](const auto& entry) {
    return entry.second.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  });
}

}  // namespace

std::shared_ptr<Module> cached_program(Device& device, std::string_view text, std::string_view options,
                                       const std::string& directory) {
  if (reads_files(text, options)) return device.compile(text, options);
  const std::string source = key_of({version(), options, text});
  const std::string key = key_of({device.cache_identity(), source});
  Kept& kept = device.kept();
  std::promise<std::shared_ptr<Module>> promise;
  std::shared_future<std::shared_ptr<Module>> other;
  {
    const std::lock_guard lock(kept.mutex);
    if (const auto found = kept.programs.find(key); found != kept.programs.end()) {
      other = found->second;
    } else {
      if (kept.programs.size() >= Kept::most_programs) drop_ready(kept);
      kept.programs.emplace(key, promise.get_future().share());
    }
  }
  if (other.valid()) return other.get();
  try {
    std::shared_ptr<Module> module = load_or_compile(device, source, key, text, options, directory);
    promise.set_value(module);
    return module;
  } catch (...) {
    {
      const std::lock_guard lock(kept.mutex);
      kept.programs.erase(key);
    }
    promise.set_exception(std::current_exception());
    throw;
  }
}

// An entry is one line "masu-cache-1 KEY SHA256-OF-CONTENT" and the content.

namespace {

namespace fs = std::filesystem;

constexpr std::string_view temporary_suffix = ".tmp";
constexpr std::uint64_t most_header = 4096;
constexpr auto temporary_age = std::chrono::hours(1);  // older ones were left by a process that died

std::string header(const std::string& key, std::string_view content) {
  return fmt::format("masu-cache-1 {} {}\n", key, sha256(std::string(content)));
}

}  // namespace

std::optional<std::string> read_file(const fs::path& path, std::uint64_t most) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return std::nullopt;
  struct stat status {};
  bool good =
      ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && static_cast<std::uint64_t>(status.st_size) <= most;
  std::string text(good ? static_cast<std::size_t>(status.st_size) : 0, '\0');
  for (std::size_t done = 0; good && done < text.size();) {
    const ssize_t got = ::read(file, text.data() + done, text.size() - done);
    good = got > 0;
    if (good) done += static_cast<std::size_t>(got);
  }
  ::close(file);
  return good ? std::optional(std::move(text)) : std::nullopt;
}

namespace {

// A process that ends meanwhile leaves no file, if the file system supports files without a name.
bool write_file(const fs::path& path, std::string_view header, std::string_view content) {
  int file = ::open(path.parent_path().c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  const bool nameless = file >= 0;
  if (!nameless) file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return false;
  bool good = true;
  for (std::string_view part : {header, content}) {
    while (good && !part.empty()) {
      const ssize_t written = ::write(file, part.data(), part.size());
      good = written > 0;
      if (good) part.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  if (good && nameless) {
    const std::string open_file = fmt::format("/proc/self/fd/{}", file);
    good = ::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
  }
  return ::close(file) == 0 && good;
}

}  // namespace

// Programs are loaded from here, so nobody else may be able to put files here.
bool DiskCache::trusted() const {
  struct stat status {};
  return ::lstat(directory_.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::optional<std::string> DiskCache::load(const std::string& key) const noexcept try {
  if (directory_.empty() || !trusted()) return std::nullopt;
  const fs::path path = directory_ / key;
  std::optional<std::string> text = read_file(path, limit_ + most_header);
  const std::size_t start = text ? text->find('\n') + 1 : 0;
  if (start == 0 || text->compare(0, start, header(key, std::string_view(*text).substr(start))) != 0)
    return std::nullopt;
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // the time of last use
  text->erase(0, start);
  return text;
} catch (...) {
  return std::nullopt;
}

void DiskCache::store(const std::string& key, std::string_view content) const noexcept try {
  if (directory_.empty() || content.size() > limit_) return;
  fs::create_directories(directory_.parent_path());
  if (::mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) return;
  if (!trusted()) return;
  static std::atomic<unsigned> serial{0};
  const fs::path temporary =
      directory_ / fmt::format("{}.{}.{}{}", key, ::getpid(), serial.fetch_add(1), temporary_suffix);
  if (!write_file(temporary, header(key, content), content) ||
      ::rename(temporary.c_str(), (directory_ / key).c_str()) != 0) {
    ::unlink(temporary.c_str());
    return;
  }
  trim();
} catch (...) {
}

void DiskCache::trim() const {
  struct Entry {
    fs::path path;
    fs::file_time_type used;
    std::uint64_t bytes;
  };
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  std::error_code ignored;  // another process may remove a file at any time
  for (const fs::directory_entry& file : fs::directory_iterator(directory_)) {
    const fs::file_time_type used = file.last_write_time(ignored);
    const std::uint64_t bytes = file.file_size(ignored);
    if (ignored) continue;
    if (file.path().extension() == temporary_suffix) {
      if (fs::file_time_type::clock::now() - used > temporary_age) fs::remove(file.path(), ignored);
      continue;
    }
    entries.push_back({file.path(), used, bytes});
    total += bytes;
  }
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (total <= limit_) break;
    fs::remove(entry.path, ignored);
    total -= entry.bytes;
  }
}

std::string kernel_text(std::string_view path) {
  return kernel_text(path, environment().kernel_directory);
}

std::string kernel_text(std::string_view path, const std::string& directory) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path != path) continue;
    if (directory.empty()) return std::string(file.text);
    const std::string name = fmt::format("{}/{}", directory, path);
    std::ifstream stream(name, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(stream), {}};
    if (!stream) throw Error(ErrorCode::io, fmt::format("kernel_text: {}: cannot be read (MASU_KERNEL_DIR)", name));
    return text;
  }
  throw Error(ErrorCode::invalid_argument, fmt::format("kernel_text: the library carries no file \"{}\"", path));
}

std::string own_program_text(std::string_view prelude, std::span<const std::string_view> paths,
                             std::span<const Define> defines) {
  std::string text(prelude);
  if (!text.empty() && text.back() != '\n') text += '\n';
  for (const Define& define : defines) text += fmt::format("#define {} {}\n", define.name(), define.value());
  for (const std::string_view path : paths) {
    if (!text.empty() && text.back() != '\n') text += '\n';
    text += fmt::format("#line 1 \"{}\"\n", path);
    text += kernel_text(path);
  }
  return text;
}

namespace {

constexpr std::string_view kernel_word = "\n__kernel ";  // every kernel of masu's begins a line

std::string_view name_after(std::string_view text) {
  constexpr std::string_view result = " void ";
  text.remove_prefix(std::min(text.find(result), text.size() - result.size()) + result.size());
  return text.substr(0, text.find('('));
}

// A program whose kernels are compiled apart.
class ApartProgram final : public Module {
 public:
  ApartProgram(Device& device, std::span<const std::string_view> paths, std::span<const Define> defines)
      : device_(device.weak_from_this()),
        paths_(paths.begin(), paths.end()),
        defines_(defines.begin(), defines.end()) {}
  std::shared_ptr<Kernel> kernel(std::string_view name) override {
    const std::shared_ptr<Device> device = device_.lock();
    if (device == nullptr) throw Error(ErrorCode::device_lost, "Program::kernel: the device must be open, got none");
    const std::string text = own_program_text(device->prelude(), paths_, defines_);
    return cached_program(*device, with_kernel_alone(text, name), device->kernel_options())->kernel(name);
  }
  std::vector<std::string> kernel_names() override { return {}; }  // which nobody asks of masu's own
  std::string binary() override { return {}; }
  [[nodiscard]] bool compiles_apart() const noexcept override { return true; }

 private:
  std::weak_ptr<Device> device_;  // which keeps this
  std::vector<std::string_view> paths_;
  std::vector<Define> defines_;
};

}  // namespace

std::string with_kernel_alone(std::string_view text, std::string_view name) {
  std::string result;
  for (std::size_t at = text.find(kernel_word); at != std::string_view::npos; at = text.find(kernel_word)) {
    const std::string_view rest = text.substr(at);
    result += text.substr(0, at);
    if (name_after(rest) == name) result += kernel_word;
    else result.append("\n").append("MASU_LEFT_OUT").append(" ");
    text = rest.substr(kernel_word.size());
  }
  return result += text;
}

// Making and hashing the text takes longer than a small kernel: a repeated request is found without. While
// kernels are read from the source tree, they may change.
std::shared_ptr<Module> own_program(Device& device, std::span<const std::string_view> paths,
                                    std::span<const Define> defines) {
  const auto program = [&]() -> std::shared_ptr<Module> {
    if (device.compiles_apart()) return std::make_shared<ApartProgram>(device, paths, defines);
    return cached_program(device, own_program_text(device.prelude(), paths, defines), device.kernel_options());
  };
  if (!environment().kernel_directory.empty()) return program();
  std::string name;
  for (const std::string_view path : paths) (name += path) += ' ';
  const std::size_t begin = name.size();
  name.resize(begin + defines.size() * Define::most_image);
  char* end = name.data() + begin;
  for (const Define& define : defines) end = define.image(end);
  name.resize(end - name.data());
  Kept& kept = device.kept();
  {
    const std::lock_guard lock(kept.mutex);
    if (const auto found = kept.own.find(name); found != kept.own.end()) return found->second;
  }
  std::shared_ptr<Module> module = program();
  const std::lock_guard lock(kept.mutex);
  if (kept.own.size() >= Kept::most_programs) kept.own.clear();
  kept.own.emplace(std::move(name), module);
  return module;
}

}  // namespace masu::runtime
