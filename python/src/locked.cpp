// SPDX-License-Identifier: Apache-2.0
#include "locked.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>
#include <vector>

namespace masu_python {

struct Locked::Pool {
  struct Busy {
    masu::Event work;
    Memory memory;
    std::shared_ptr<void> also;
  };
  std::vector<Memory> spare;
  std::vector<Busy> busy;

  void collect() {
    const auto ended = std::partition(busy.begin(), busy.end(), [](const Busy& one) { return !one.work.ready(); });
    for (auto one = ended; one != busy.end(); ++one) spare.push_back(std::move(one->memory));
    busy.erase(ended, busy.end());
  }
};

Locked::Pool& Locked::pool_of(std::int32_t ordinal) {
  // Never destroyed: the driver may be gone then.
  static auto& all = *new std::map<std::int32_t, Pool>;
  return all[ordinal];
}

Locked::Locked(const masu::Device& device, std::int32_t ordinal, std::uint64_t bytes) : pool_(pool_of(ordinal)) {
  pool_.collect();
  constexpr std::uint64_t least = 4096;  // a page
  const auto fits = std::ranges::find_if(pool_.spare, [&](const Memory& one) { return one.size() >= bytes; });
  if (fits == pool_.spare.end()) {
    memory_.emplace(device, std::bit_ceil(std::max(bytes, least)));
  } else {
    memory_.emplace(std::move(*fits));
    pool_.spare.erase(fits);
  }
}

Locked::~Locked() {
  static auto& left = *new std::vector<Memory>;
  if (memory_) (lent_ ? left : pool_.spare).push_back(std::move(*memory_));
}

void Locked::keep() {
  pool_.spare.push_back(std::move(*memory_));
  memory_.reset();
}

void Locked::keep_after(masu::Event work, std::shared_ptr<void> also) {
  pool_.busy.push_back({std::move(work), std::move(*memory_), std::move(also)});
  memory_.reset();
}

}  // namespace masu_python
