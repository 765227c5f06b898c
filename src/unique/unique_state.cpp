// SPDX-License-Identifier: Apache-2.0
#include "unique/unique_state.h"

#include "elements/order.h"

#include <algorithm>
#include <cstring>

namespace masu {

std::uint64_t key_at(const HostArray& values, std::uint64_t i) {
  return dispatch(values.dtype, [&](auto tag) -> std::uint64_t {
    using T = typename decltype(tag)::type;
    T value;
    std::memcpy(&value, values.bytes.data() + i * sizeof(T), sizeof(T));
    return ordered_key(value);
  });
}

std::vector<std::byte> write_counted(const call::StateName& name, const HostArray& values,
                                     std::span<const std::uint64_t> counts, std::uint64_t count) {
  call::StateWriter to(name);
  to.dtype(values.dtype);
  to.number(count);
  to.number(counts.size());
  to.raw(values.bytes);
  to.numbers(counts);
  return to.finish();
}

CountedState read_counted(const call::StateName& name, std::span<const std::byte> bytes,
                          bool (*follows)(std::uint64_t before, std::uint64_t key)) {
  call::StateReader from(name, bytes);
  CountedState result;
  result.values.dtype = from.dtype();
  result.count = from.elements();
  const std::uint64_t size = from.number();
  const std::span<const std::byte> values = from.raw(size, size_of(result.values.dtype));
  result.values.bytes.assign(values.begin(), values.end());
  result.counts = from.numbers(size);
  from.end();
  from.require(std::find(result.counts.begin(), result.counts.end(), 0) == result.counts.end() &&
               call::total_of_counts({result.counts}) == result.count);
  for (std::uint64_t i = 1; i < size; ++i) {
    from.require(follows(key_at(result.values, i - 1), key_at(result.values, i)));
  }
  return result;
}

}  // namespace masu
