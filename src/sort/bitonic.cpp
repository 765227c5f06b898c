// SPDX-License-Identifier: Apache-2.0
#include <masu/bitonic.h>

#include <bit>

namespace masu {

std::vector<BitonicPass> bitonic_schedule(std::uint64_t count) {
  const auto stages = static_cast<std::uint32_t>(count < 2 ? 0 : std::bit_width(count - 1));
  std::vector<BitonicPass> schedule;
  schedule.reserve(std::size_t{stages} * (stages + 1) / 2);
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    for (std::uint32_t pass = 0; pass <= stage; ++pass) {
      schedule.push_back({stage, pass, std::uint64_t{1} << (stage - pass), stage + 1 == stages});
    }
  }
  return schedule;
}

}  // namespace masu
