// SPDX-License-Identifier: Apache-2.0
#include "moving.h"

#include <algorithm>

namespace masu::bench {

namespace {

// At most this many elements of a result are looked at, spread over all.
constexpr std::uint64_t checked = std::uint64_t{1} << 20;
constexpr std::uint64_t moved_vector_bytes = 16;

std::span<std::byte> here(const Buffer<std::byte>& buffer, std::uint64_t bytes) {
  return {static_cast<std::byte*>(buffer.native()) + buffer.byte_offset(), bytes};
}

}  // namespace

Moving::Moving(Runner& runner, const Device& device, std::span<const std::byte> in, std::uint64_t out_bytes,
               std::uint64_t extra_bytes)
    : in_(in),
      device_(device),
      source_(device.upload(in)),
      target_(device, out_bytes),
      runner_(runner),
      plain_bytes_(std::min<std::uint64_t>(in.size(), out_bytes) / moved_vector_bytes * moved_vector_bytes),
      stream_(device) {
  bytes_a_copied_byte_ = static_cast<double>(in.size() + out_bytes + extra_bytes) /
                         static_cast<double>(2 * std::max(plain_bytes_, moved_vector_bytes));
}

double Moving::ceiling() {
  if (device_.kind() == DeviceKind::cpu) {
    return copy_plainly(here(source_, plain_bytes_), here(target_, plain_bytes_)) * bytes_a_copied_byte_;
  }
  const Buffer<std::byte> source = source_.slice(0, plain_bytes_);
  Buffer<std::byte> target = target_.slice(0, plain_bytes_);
  return runner_.ceilings().copying(source, target).copy(stream_, source, target).seconds() * bytes_a_copied_byte_;
}

void Moving::check(const std::string& name) {
  const std::byte* result = runner_.mirror().read(target_);
  const std::uint64_t count = result_count();
  const std::uint64_t stride = count / checked + 1;
  for (std::uint64_t i = 0; i < count; i += stride) {
    if (!is_right(result, i)) throw WrongResult("bench: " + name + ": an element is not what it must be");
  }
}

}  // namespace masu::bench
