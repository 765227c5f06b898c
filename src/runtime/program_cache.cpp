// SPDX-License-Identifier: Apache-2.0
#include "runtime/program_cache.h"

#include <fmt/format.h>
#include <masu/version.h>

#include "runtime/disk_cache.h"
#include "runtime/sha256.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <mutex>
#include <utility>

namespace masu::runtime {
namespace {

// Each field with its length, so that no two sets of fields give the same bytes.
std::string key_of(const Device& device, std::string_view text, std::string_view options) {
  const std::string identity = device.cache_identity();
  Sha256 hash;
  for (const std::string_view field : {version(), std::string_view(identity), options, text}) {
    hash.add(fmt::format("{}:", field.size()));
    hash.add(field);
  }
  return hash.hex();
}

std::shared_ptr<Module> load_or_compile(Device& device, const std::string& key, std::string_view text,
                                        std::string_view options) {
  const DiskCache cache(DiskCache::default_directory());
  const std::optional<std::string> entry = cache.load(key);
  if (std::optional<NotedBinary> kept = entry ? unpack(*entry) : std::nullopt) {
    try {
      if (std::shared_ptr<Module> module = device.load(kept->binary)) {
        module->recall(std::move(kept->notes));
        return module;
      }
    } catch (const Error& error) {  // an entry that the driver does not take is a miss
      if (error.code() == ErrorCode::device_lost) throw;
    }
  }
  std::shared_ptr<Module> module = device.compile(text, options);
  if (!cache.enabled()) return module;  // PoCL compiles all kernels once more when it is asked for a binary
  if (const std::string binary = module->binary(); !binary.empty()) cache.store(key, pack(module->notes(), binary));
  return module;
}

// The text behind blanks, joined lines and comments.
std::string_view behind_space(std::string_view text) {
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
      const std::string_view word = behind_space(text.substr(at + hash.size()));
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

std::shared_ptr<Module> cached_program(Device& device, std::string_view text, std::string_view options) {
  if (reads_files(text, options)) return device.compile(text, options);
  const std::string key = key_of(device, text, options);
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
    std::shared_ptr<Module> module = load_or_compile(device, key, text, options);
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

}  // namespace masu::runtime
