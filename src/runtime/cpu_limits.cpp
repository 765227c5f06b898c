// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu_limits.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

namespace masu::runtime {
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

// The group at `path` under `root` and all its ancestors. In a container the path may not exist; its root does.
unsigned cpus_of_path(const fs::path& root, const fs::path& path) {
  unsigned result = cpus_of_group(root);
  fs::path group = root;
  for (const fs::path& part : path.relative_path()) {
    group /= part;
    result = least(result, cpus_of_group(group));
  }
  return result;
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
  while (!groups.empty()) {  // lines of "ID:CONTROLLERS:PATH"
    const std::string_view line = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(groups.size(), line.size() + 1));
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string controllers(line.substr(first + 1, second - first - 1));
    const fs::path path(line.substr(second + 1));
    if (controllers.empty()) {
      result = least(result, cpus_of_path(mount, path));
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      result = least(result, cpus_of_path(mount / (fs::exists(mount / controllers) ? controllers : "cpu"), path));
    }
  }
  return result;
}

unsigned usable_cpus() noexcept {
  static const unsigned quota = quota_cpus();
  return std::max(1U, least(affinity_cpus(), quota));
}

std::uint64_t available_memory() noexcept try {
  std::ifstream stream("/proc/meminfo");
  std::string name;
  std::uint64_t kibibytes = 0;
  for (std::string unit; stream >> name >> kibibytes; std::getline(stream, unit)) {
    if (name == "MemAvailable:") return kibibytes << 10;
  }
  return 0;
} catch (...) {
  return 0;
}

}  // namespace masu::runtime
