// SPDX-License-Identifier: Apache-2.0
#include "ranks.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace masu::cli {
namespace {

Ranks alone;
Ranks* current = &alone;

}  // namespace

Ranks::Bytes Ranks::merge(std::string_view /*what*/, Bytes mine, const Merge& /*merge*/) {
  return mine;
}

std::vector<Ranks::Bytes> Ranks::from_each(std::string_view /*what*/, Bytes mine) {
  std::vector<Bytes> all;
  all.push_back(std::move(mine));
  return all;
}

void Ranks::add(std::string_view /*what*/, std::span<std::uint64_t> /*numbers*/) {}

void Ranks::to_first(std::string_view /*what*/, const std::function<void(const Send&)>& /*give*/,
                     const Take& /*take*/) {}

void Ranks::sort(const Device& device, MutableArrayView keys, const RecordsView* values, const SortOptions& options) {
  if (values != nullptr) masu::sort_by_key(device, keys, *values, options);
  else masu::sort(device, keys, options);
}

void Ranks::order(const Device& device, const ArrayView& keys, std::span<std::uint64_t> indices,
                  const SortOptions& options) {
  masu::argsort(device, keys, MutableArrayView(indices), options);
}

std::uint64_t Ranks::sum(std::string_view what, std::uint64_t mine) {
  std::uint64_t number = mine;
  add(what, {&number, 1});
  return number;
}

std::uint64_t Ranks::before(std::string_view what, std::uint64_t mine) {
  const auto bytes = std::as_bytes(std::span(&mine, 1));
  const std::vector<Bytes> all = from_each(what, {bytes.begin(), bytes.end()});
  std::uint64_t result = 0;
  for (int r = 0; r < rank(); ++r) {
    std::uint64_t number = 0;
    std::memcpy(&number, all[static_cast<std::size_t>(r)].data(), sizeof number);
    result += number;
  }
  return result;
}

Ranks::Bytes Ranks::of_first(std::string_view what, Bytes mine) {
  return std::move(from_each(what, first() ? std::move(mine) : Bytes()).front());
}

Ranks& ranks() {
  return *current;
}

RanksScope::RanksScope(Ranks* others) : before_(std::exchange(current, others != nullptr ? others : &alone)) {}
RanksScope::~RanksScope() {
  current = before_;
}

std::vector<std::int64_t> sum_of_ranks(std::vector<std::int64_t> numbers) {
  ranks().add("counts", {reinterpret_cast<std::uint64_t*>(numbers.data()), numbers.size()});
  return numbers;
}

Ranks::Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string text_in(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Device device_of_rank(const std::string& asked, Work work, std::uint64_t bytes) {
  Device mine = asked.empty() ? device_for(work, bytes) : Device::open(asked);
  if (!ranks().several()) return mine;
  const bool numbered = !asked.empty() && asked.find_first_of("0123456789") != std::string::npos;
  if (mine.kind() != DeviceKind::cpu && !numbered) {
    std::vector<std::string> same;
    for (const DeviceInfo& info : Device::list()) {
      const bool named = asked.find(':') == std::string::npos ||
                         info.name.find(asked.substr(asked.find(':') + 1)) != std::string::npos;
      if (info.usable && info.kind == mine.kind() && info.gpu == mine.info().gpu && named) same.push_back(info.id);
    }
    if (!same.empty()) mine = Device::open(same[static_cast<std::size_t>(ranks().local_rank()) % same.size()]);
  }
  std::array<std::uint64_t, 2> kinds{};
  kinds[mine.kind() == DeviceKind::cpu ? 0 : 1] = 1;
  ranks().add("device", kinds);
  return kinds[0] != 0 && kinds[1] != 0 ? Device::open("cpu") : mine;
}

}  // namespace masu::cli
