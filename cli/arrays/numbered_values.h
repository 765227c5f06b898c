// SPDX-License-Identifier: Apache-2.0
// Values, each with a number: how often it occurs, or where it was.
#pragma once

#include "cli/sort/external_file.h"

#include <masu/dtype.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace masu::cli {

// Held in memory, or in files when they are many. They may be read several times.
class NumberedValues {
 public:
  NumberedValues(Dtype dtype, std::uint64_t memory, const std::string& tmpdir);
  void append(const ArrayView& values, const std::uint64_t* numbers);
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  // Gives blocks of them, in order; one empty block where there are none.
  void each(const std::function<void(const ArrayView& values, const ArrayView& numbers)>& take) const;

 private:
  void flush();
  Dtype dtype_;
  std::uint64_t most_;  // in memory
  std::uint64_t size_ = 0;
  std::vector<std::byte> values_;
  std::vector<std::uint64_t> numbers_;
  ExternalFile value_file_;
  ExternalFile number_file_;
};

}  // namespace masu::cli
