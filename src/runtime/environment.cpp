// SPDX-License-Identifier: Apache-2.0
#include "runtime/environment.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>

namespace masu::runtime {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Environment read_all() {
  Environment all;
  all.kernel_directory = variable("MASU_KERNEL_DIR");
  all.cache_directory = cache_directory();
  all.cuda_library = variable("MASU_CUDA_LIBRARY");
  all.nvrtc = variable("MASU_NVRTC");
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (std::string value = variable(name); !value.empty()) all.toolkits.push_back(std::move(value));
  }
  const std::string sync = variable("MASU_SYNC");
  all.sync = !sync.empty() && sync != "0";
  all.packaged_kernels = variable("MASU_PACKAGED_KERNELS");
  return all;
}

}  // namespace

std::string cache_directory() {
  const std::string cache = variable("MASU_CACHE");
  const std::string xdg = variable("XDG_CACHE_HOME");
  const std::string home = variable("HOME");
  if (cache == "off") return {};
  if (xdg.starts_with('/')) return (std::filesystem::path(xdg) / "masu").string();
  if (home.starts_with('/')) return (std::filesystem::path(home) / ".cache" / "masu").string();
  return {};
}

MASU_EXPORT const Environment& environment() {
  static const Environment& all = *new Environment(read_all());  // destructors of a program's objects may still use it
  return all;
}

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream stream(path);
  return std::string{std::istreambuf_iterator<char>(stream), {}};
}

// 0 where the text is no number above 0: "max" and -1 mean that there is no quota.
double positive(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return std::max(value, 0.0);
}

unsigned cpus(std::string_view quota, std::string_view period) {
  const double q = positive(quota);
  const double p = positive(period);
  return q > 0 && p > 0 ? static_cast<unsigned>(std::clamp(std::ceil(q / p), 1.0, 1e6)) : 0;
}

unsigned cpus_of_group(const fs::path& group) {
  const std::string max = text_of(group / "cpu.max");  // version 2: "QUOTA PERIOD"
  if (const std::size_t space = max.find(' '); space != std::string::npos) {
    return cpus(std::string_view(max).substr(0, space), std::string_view(max).substr(space + 1));
  }
  return cpus(text_of(group / "cpu.cfs_quota_us"), text_of(group / "cpu.cfs_period_us"));
}

unsigned least(unsigned a, unsigned b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

// The process's group for a controller and all its ancestors, of both versions. In a container a path may not exist;
// its root does. `groups` has lines of "ID:CONTROLLERS:PATH".
std::vector<fs::path> groups_of(std::string_view groups, const fs::path& mount, const std::string& controller) {
  std::vector<fs::path> result;
  while (!groups.empty()) {
    const std::string_view line = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(groups.size(), line.size() + 1));
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string controllers(line.substr(first + 1, second - first - 1));
    fs::path group = mount;
    if (!controllers.empty()) {
      if (("," + controllers + ",").find("," + controller + ",") == std::string::npos) continue;
      group /= fs::exists(mount / controllers) ? controllers : controller;
    }
    result.push_back(group);
    for (const fs::path& part : fs::path(line.substr(second + 1)).relative_path()) result.push_back(group /= part);
  }
  return result;
}

// The number after `name` in lines of "NAME NUMBER", or alone in a text when `name` is empty; nothing where there is
// none.
std::optional<std::uint64_t> number_in(std::string_view text, std::string_view name = {}) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!name.empty() && (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ' ')) continue;
    if (!name.empty()) line.remove_prefix(name.size() + 1);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error == std::errc() && end == line.data() + line.size()) return value;
    return std::nullopt;
  }
  return std::nullopt;
}

// Where one version of cgroups says what a group may use, uses, and could give back: the pages of files.
struct MemoryFiles {
  const char* limit;
  const char* used;
  const char* inactive;
  const char* active;
};
constexpr MemoryFiles memory_files[] = {
    {"memory.max", "memory.current", "inactive_file", "active_file"},
    {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", "total_active_file"}};

std::optional<std::uint64_t> memory_of_group(const fs::path& group) {
  for (const MemoryFiles& files : memory_files) {
    const auto limit = number_in(text_of(group / files.limit));
    const auto used = number_in(text_of(group / files.used));
    if (!limit || !used) continue;
    const std::string stat = text_of(group / "memory.stat");
    const std::uint64_t files_bytes =
        number_in(stat, files.inactive).value_or(0) + number_in(stat, files.active).value_or(0);
    const std::uint64_t held = *used - std::min(*used, files_bytes);
    return *limit - std::min(*limit, held);
  }
  return std::nullopt;
}

unsigned affinity_cpus() noexcept {
  for (std::size_t count = 1024; count <= (1U << 20); count *= 4) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(count), [](cpu_set_t* s) { CPU_FREE(s); });
    if (set == nullptr) break;
    const std::size_t size = CPU_ALLOC_SIZE(count);
    if (::sched_getaffinity(0, size, set.get()) == 0) return static_cast<unsigned>(CPU_COUNT_S(size, set.get()));
  }
  return std::thread::hardware_concurrency();
}

unsigned quota_cpus() noexcept {
  try {
    return cgroup_cpus(text_of("/proc/self/cgroup"), "/sys/fs/cgroup");
  } catch (...) {
    return 0;
  }
}

}  // namespace

unsigned cgroup_cpus(std::string_view groups, const fs::path& mount) {
  unsigned result = 0;
  for (const fs::path& group : groups_of(groups, mount, "cpu")) result = least(result, cpus_of_group(group));
  return result;
}

std::optional<std::uint64_t> cgroup_memory(std::string_view groups, const fs::path& mount) {
  std::optional<std::uint64_t> result;
  for (const fs::path& group : groups_of(groups, mount, "memory")) {
    if (const auto free = memory_of_group(group)) result = std::min(result.value_or(*free), *free);
  }
  return result;
}

unsigned usable_cpus() noexcept {
  static const unsigned quota = quota_cpus();
  // Asked every few milliseconds: a call of a hundred elements takes as long as the system's answer.
  struct Answer {
    ::timespec at{-1, 0};
    unsigned cpus = 1;
  };
  thread_local Answer last;
  ::timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  if (now.tv_sec != last.at.tv_sec || now.tv_nsec != last.at.tv_nsec) {
    last = {now, std::max(1U, least(affinity_cpus(), quota))};
  }
  return last.cpus;
}

std::uint64_t available_memory() noexcept try {
  std::ifstream stream("/proc/meminfo");
  std::string name;
  std::uint64_t kibibytes = 0;
  std::uint64_t free = 0;
  for (std::string unit; free == 0 && stream >> name >> kibibytes; std::getline(stream, unit)) {
    if (name == "MemAvailable:") free = kibibytes << 10;
  }
  const auto allowed = cgroup_memory(text_of("/proc/self/cgroup"), "/sys/fs/cgroup");
  if (!allowed) return free;
  return std::max<std::uint64_t>(1, free == 0 ? *allowed : std::min(free, *allowed));
} catch (...) {
  return 0;
}

}  // namespace masu::runtime
