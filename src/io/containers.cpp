// SPDX-License-Identifier: Apache-2.0
#include "io/containers.h"

#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <cstring>
#include <utility>

namespace masu::io {

OpenedFile::OpenedFile(Reader reader, const std::string& tmpdir) : reader_(std::move(reader)) {
  if (const int descriptor = reader_.file(); descriptor >= 0) {
    path_ = fmt::format("/proc/self/fd/{}", descriptor);
    return;
  }
  SpoolFile copy(tmpdir);
  reader_.seek(0);
  reader_.forget();
  for (auto bytes = reader_.peek(1); !bytes.empty(); bytes = reader_.peek(1)) {
    copy.append(bytes.data(), bytes.size());
    reader_.consume(bytes.size());
  }
  path_ = copy.link();
  named_ = true;
}

void OpenedFile::remove_name() noexcept {
  if (std::exchange(named_, false)) ::unlink(path_.c_str());
}

void ArraySource::set_array(const Reader& reader, const SourceOptions& options, std::vector<std::uint64_t> shape,
                            Dtype dtype) {
  check_asked_dtype(reader, options, "file", dtype);
  // A dimension of 0 makes the array empty, however long the others are.
  std::uint64_t count = std::find(shape.begin(), shape.end(), 0U) == shape.end() ? 1 : 0;
  for (const std::uint64_t extent : shape) {
    const auto product = checked_product(count, extent);
    if (!product || !checked_product(*product, size_of(dtype)))
      reader.fail("{}: the shape has more bytes than masu can count", info_.format);
    count = *product;
  }
  info_.name = reader.name();
  info_.dtype = dtype;
  info_.shape = std::move(shape);
  info_.count = count;
}

std::uint64_t BlockSource::read(void* target, std::uint64_t count) {
  const FloatingPointScope usual;
  count = std::min(count, *info_.count - position_);
  const std::size_t element = size_of(info_.dtype);
  auto* out = static_cast<std::byte*>(target);
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t at = begin_ + position_;
    if (at < held_.first || at - held_.first >= held_.count) {
      const Block block = block_at(at);
      if (block.first == at && block.count <= count - done) {  // no copy is needed
        load(block, out);
        out += block.count * element;
        done += block.count;
        position_ += block.count;
        continue;
      }
      held_ = {};
      buffer_.resize(block.count * element);
      load(block, buffer_.data());
      held_ = block;
    }
    const std::uint64_t some = std::min(held_.count - (at - held_.first), count - done);
    std::memcpy(out, buffer_.data() + (at - held_.first) * element, some * element);
    out += some * element;
    done += some;
    position_ += some;
  }
  return count;
}

bool BlockSource::take_part(std::uint64_t first, std::uint64_t count) {
  check_part(info_, first, count);
  begin_ += first;
  info_.count = count;
  position_ = 0;
  return true;
}

void SerialSource::rewind() {
  BlockSource::rewind();
  held_ = {};
  begin_again();
}

std::size_t chosen_array(const Reader& reader, const std::vector<std::string>& names, const std::string& asked,
                         std::string_view what, std::string_view example) {
  constexpr std::size_t most_names = 20;  // in a message
  const auto found = std::find(names.begin(), names.end(), asked);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  if (asked.empty() && names.size() == 1) return 0;
  const std::string list = listed(names, most_names);
  if (names.empty()) reader.fail("has no {} of numbers", what);
  if (!asked.empty()) reader.fail("has no {} {} of numbers; it has {}", what, printable(asked), list);
  reader.fail("holds {} {}s ({}): say which, as in {}", names.size(), what, list, example);
}

}  // namespace masu::io
