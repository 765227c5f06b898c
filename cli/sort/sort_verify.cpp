// SPDX-License-Identifier: Apache-2.0
#include "cli/sort/sort_verify.h"

#include "cli/arrays/array_input.h"
#include "cli/selftest/reference_order.h"
#include "errors.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstring>

namespace masu::cli {
SortReference::SortReference(io::Source& keys, io::Source* values, const Request& request)
    : request_(request), dtype_(keys.info().dtype), keys_(read_and_rewind(keys)) {
  if (values != nullptr) {
    value_bytes_ = size_of(values->info().dtype);
    values_ = read_and_rewind(*values);
  }
  const ArrayView data(dtype_, keys_.data(), keys_.size() / size_of(dtype_));
  row_length_ = std::max<std::uint64_t>(1, data.count / request.rows);
  order_ = reference_order(data, request.order, request.rows);
}

void SortReference::compare_column(const std::vector<std::byte>& data, std::size_t element, const void* got,
                                   std::uint64_t count, const char* what) const {
  const auto* bytes = static_cast<const std::byte*>(got);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t from = order_[done_ + i] * element;
    if (from + element <= data.size() && std::memcmp(bytes + i * element, data.data() + from, element) == 0) continue;
    throw Differs(fmt::format("the sorted {} differ from the reference's at place {}", what, done_ + i));
  }
}

void SortReference::compare(const Records& records) {
  const std::uint64_t count = records.keys.count;
  if (count > order_.size() - done_) throw Differs("sorting gave more values than the reference has");
  if (request_.index) {
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t got = 0;
      std::memcpy(&got, records.payload + i * sizeof got, sizeof got);
      const std::uint64_t place = done_ + i;
      const std::uint64_t expected = order_[place] % row_length_;
      if (got == expected) continue;
      throw Differs(fmt::format("at place {} the order has {}, the reference's {}", place, got, expected));
    }
  } else {
    compare_column(keys_, size_of(dtype_), records.keys.data, count, "keys");
    if (value_bytes_ > 0) compare_column(values_, value_bytes_, records.payload, count, "values");
  }
  done_ += count;
}

void SortReference::finish() const {
  if (done_ == order_.size()) return;
  throw Differs(fmt::format("sorting gave {} values, the reference has {}", done_, order_.size()));
}

}  // namespace masu::cli
