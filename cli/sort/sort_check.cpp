// SPDX-License-Identifier: Apache-2.0
#include "cli/sort/sort_check.h"

#include "cli/arrays/array_stream.h"
#include "cli/selftest/reference_order.h"
#include "element_text.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace masu::cli {
namespace {

constexpr std::uint64_t least_for_device = 4096;  // elements: less is looked at one by one

// The first place from 1 on that comes before its predecessor, or the count.
std::uint64_t first_fall(const ArrayView& data, Order order) {
  return dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* values = static_cast<const T*>(data.data);
    std::uint64_t i = 1;
    while (i < data.count && !comes_before(values[i], values[i - 1], order)) ++i;
    return std::min(i, data.count);
  });
}

class Check {
 public:
  Check(const SortCommandOptions& asked, ArrayStream& stream)
      : order_(asked.order()), plain_(asked.common.verify), device_(stream.device()) {
    const std::uint64_t rows = asked.row_count();
    if (rows == 1) return;
    row_length_ = std::max<std::uint64_t>(1, stream.row_length(rows));
  }

  // The next piece of the data; false where it is out of order.
  bool add(const ArrayView& piece, OrderCheck& found) {
    const std::size_t size = size_of(piece.dtype);
    const auto* data = static_cast<const std::byte*>(piece.data);
    for (std::uint64_t at = 0; at < piece.count;) {
      const std::uint64_t within = found.count % row_length_;
      const ArrayView part(piece.dtype, data + at * size, std::min(piece.count - at, row_length_ - within));
      if (within != 0 && !follows(part)) {
        return tell(found, element_text({piece.dtype, last_, 1}, 0), part, 0);
      }
      if (!in_order(part)) {
        const std::uint64_t place = first_fall(part, order_);
        return tell(found, element_text(part, place - 1), part, place);
      }
      at += part.count;
      found.count += part.count;
      std::memcpy(last_, data + (at - 1) * size, size);
    }
    return true;
  }

 private:
  [[nodiscard]] bool in_order(const ArrayView& part) const {
    if (plain_ || part.count < least_for_device) return first_fall(part, order_) == part.count;
    SortOptions options;
    options.order = order_;
    return masu::is_sorted(device_, part, options);
  }
  // Whether the part may come behind the last element of the piece before it.
  [[nodiscard]] bool follows(const ArrayView& part) const {
    alignas(8) std::byte pair[2 * sizeof last_];
    const std::size_t size = size_of(part.dtype);
    std::memcpy(pair, last_, size);
    std::memcpy(pair + size, part.data, size);
    return first_fall({part.dtype, pair, 2}, order_) == 2;
  }
  static bool tell(OrderCheck& found, std::string before, const ArrayView& part, std::uint64_t place) {
    found.out_of_order = found.count + place;
    found.before = std::move(before);
    found.element = element_text(part, place);
    return false;
  }

  Order order_;
  bool plain_;
  Device device_;
  std::uint64_t row_length_ = std::numeric_limits<std::uint64_t>::max();
  alignas(8) std::byte last_[8] = {};
};

}  // namespace

OrderCheck check_order(const SortCommandOptions& asked) {
  ArrayStream stream(asked.input, asked.common, device_for_sort, "is-sorted");
  OrderCheck found;
  Check check(asked, stream);
  double computing = 0;
  stream.pass([&](const ArrayView& piece) {
    const auto began = Clock::now();
    const bool kept = check.add(piece, found);
    computing += since(began);
    return kept;
  });
  found.name = stream.info().name;
  found.dtype = stream.info().dtype;
  found.device = stream.device().id();
  found.bad_lines = stream.bad_lines();
  found.seconds = stream.seconds(0, computing);
  return found;
}

}  // namespace masu::cli
