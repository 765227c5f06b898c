// SPDX-License-Identifier: Apache-2.0
// src/call/operands.h by the names that src/scan has for it.
#pragma once

#include "call/operands.h"
#include "call/timer.h"

#include <fmt/format.h>

namespace masu::runtime {

using call::check_element_bytes;
using call::check_one_device;
using call::check_stream;
using call::check_writable;
using call::device_for_host_data;
using call::download_bytes;
using call::host_address;
using call::most_elements;
using call::overlap;
using call::same_place;
using call::upload_bytes;

inline double seconds_now() {
  return call::now();
}
inline std::uint64_t count_of(std::string_view function, const BufferBase& buffer, std::size_t element_bytes) {
  return call::count_of(function, buffer, element_bytes);
}
[[noreturn]] inline void refuse_overlap(std::string_view function, std::string_view name) {
  call::refuse_overlap(function, fmt::format("the output and {}", name));
}
inline void check_workspace(std::string_view function, const BufferBase* workspace, const masu::Device& device,
                            std::uint64_t bytes) {
  if (workspace != nullptr && bytes != 0) call::check_workspace(function, *workspace, device, bytes);
}

}  // namespace masu::runtime
