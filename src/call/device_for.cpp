// SPDX-License-Identifier: Apache-2.0
#include <masu/device.h>

#include <cstdlib>

namespace masu {

Device device_for(Work work, std::uint64_t bytes) {
  const char* named = std::getenv("MASU_DEVICE");
  if (named != nullptr && *named != '\0') return Device::open(named);
  if (work == Work::moving) return Device::open("cpu");
  // Rough on purpose: what a thread does, what pageable memory moves (for a sort there and back), and what a GPU costs
  // to open (2026-11, H200).
  const double thread_bytes_a_second = work == Work::sorting ? 1e9 : 4e9;
  const double transfer_bytes_a_second = work == Work::sorting ? 4e9 : 10e9;
  constexpr double start_seconds = 0.4;
  const auto amount = static_cast<double>(bytes);
  const double here = amount / (thread_bytes_a_second * cpu_threads());
  if (here <= start_seconds + amount / transfer_bytes_a_second) return Device::open("cpu");
  Device best = Device::open("auto");
  return best.info().gpu ? best : Device::open("cpu");
}

}  // namespace masu
