// SPDX-License-Identifier: Apache-2.0
#include <masu/program.h>

#include <fmt/format.h>

#include "runtime/backend.h"
#include "runtime/program_cache.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace masu {

NDRange NDRange::of(std::span<const std::size_t> global, std::span<const std::size_t> local) {
  if (global.empty() || global.size() > 3 || (!local.empty() && local.size() != global.size())) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("NDRange::of: 1 to 3 sizes, as many local as global ones or none, got {} and {}",
                            global.size(), local.size()));
  }
  NDRange range(1);
  range.dimensions = static_cast<unsigned>(global.size());
  std::copy(global.begin(), global.end(), range.global.begin());
  std::copy(local.begin(), local.end(), range.local.begin());
  return range;
}

KernelArgument::KernelArgument(const BufferBase& buffer)
    : kind_(Kind::buffer), size_(buffer.size_bytes()), offset_(buffer.byte_offset()), memory_(buffer.memory()) {}

void KernelArgument::store(const void* value, std::size_t size) noexcept {
  std::memcpy(bytes_, value, size);
}

const std::string& Kernel::name() const noexcept {
  return implementation_->name();
}

std::size_t Kernel::max_work_group_size() const {
  return implementation_->max_work_group_size();
}

Event Kernel::launch(Stream& stream, const NDRange& range, std::span<const KernelArgument> arguments) {
  for (unsigned i = 0; i < range.dimensions; ++i) {
    if (range.global[i] == 0 || (range.local[i] == 0 && range.local[0] != 0)) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("Kernel::launch: sizes must be >= 1, got global {} and local {} in dimension {}",
                              range.global[i], range.local[i], i));
    }
  }
  return Event(stream.implementation().launch(*implementation_, range, arguments));
}

Program::Program(std::shared_ptr<runtime::Module> implementation) noexcept
    : implementation_(std::move(implementation)) {}

Program Program::from_source(const Device& device, std::string_view text, std::string_view options) {
  if (text.empty()) throw Error(ErrorCode::build_failed, "Program: the source must not be empty, got 0 bytes");
  return Program(runtime::cached_program(*device.implementation(), text, options));
}

Kernel Program::kernel(std::string_view name) const {
  return Kernel(implementation_->kernel(name));
}

std::vector<std::string> Program::kernel_names() const {
  return implementation_->kernel_names();
}

const std::string& Program::log() const noexcept {
  return implementation_->log();
}

}  // namespace masu
