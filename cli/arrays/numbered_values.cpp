// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/numbered_values.h"

#include <algorithm>

namespace masu::cli {
namespace {

constexpr std::uint64_t block_entries = 4096;  // that are written and read at a time

}  // namespace

NumberedValues::NumberedValues(Dtype dtype, std::uint64_t memory, const std::string& tmpdir)
    : dtype_(dtype),
      most_(std::max(block_entries, memory / (size_of(dtype) + sizeof(std::uint64_t)))),
      value_file_(tmpdir),
      number_file_(tmpdir) {}

void NumberedValues::append(const ArrayView& values, const std::uint64_t* numbers) {
  if (values.count == 0) return;
  const auto* first = static_cast<const std::byte*>(values.data);
  values_.insert(values_.end(), first, first + values.count * size_of(dtype_));
  numbers_.insert(numbers_.end(), numbers, numbers + values.count);
  size_ += values.count;
  if (numbers_.size() > most_) flush();
}

void NumberedValues::flush() {
  value_file_.append(values_.data(), values_.size());
  number_file_.append(numbers_.data(), numbers_.size() * sizeof(std::uint64_t));
  values_ = {};
  numbers_ = {};
  most_ = block_entries;
}

void NumberedValues::each(const std::function<void(const ArrayView& values, const ArrayView& numbers)>& take) const {
  const std::size_t element = size_of(dtype_);
  const std::uint64_t in_files = value_file_.size() / element;
  std::vector<std::byte> values(std::min(in_files, block_entries) * element);
  std::vector<std::uint64_t> numbers(std::min(in_files, block_entries));
  for (std::uint64_t done = 0; done < in_files;) {
    const std::uint64_t count = std::min(block_entries, in_files - done);
    value_file_.read(values.data(), count * element, done * element);
    number_file_.read(numbers.data(), count * sizeof(std::uint64_t), done * sizeof(std::uint64_t));
    take({dtype_, values.data(), count}, {Dtype::u64, numbers.data(), count});
    done += count;
  }
  if (!numbers_.empty() || size_ == 0) take({dtype_, values_.data(), numbers_.size()}, ArrayView(numbers_));
}

}  // namespace masu::cli
