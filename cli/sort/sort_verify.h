// SPDX-License-Identifier: Apache-2.0
// What masu sort is compared with by --verify: all of the data in memory, and std::stable_sort.
#pragma once

#include "cli/sort/external_runs.h"

#include <masu/io.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace masu::cli {

class SortReference {
 public:
  struct Request {
    Order order = Order::ascending;
    std::uint64_t rows = 1;
    bool index = false;  // the payload is the order, and keys are not looked at
  };
  // Reads the sources and goes back to their beginning. `values` may be null.
  SortReference(io::Source& keys, io::Source* values, const Request& request);

  // The next records of the result. Throws Differs, as the next.
  void compare(const Records& records);
  // That these were all.
  void finish() const;

 private:
  void compare_column(const std::vector<std::byte>& data, std::size_t element, const void* got, std::uint64_t count,
                      const char* what) const;
  Request request_;
  Dtype dtype_;
  std::size_t value_bytes_ = 0;
  std::uint64_t row_length_ = 1;
  std::vector<std::byte> keys_;
  std::vector<std::byte> values_;
  std::vector<std::uint64_t> order_;  // places in the input
  std::uint64_t done_ = 0;
};

}  // namespace masu::cli
