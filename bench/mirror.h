// SPDX-License-Identifier: Apache-2.0
// Device memory as the host sees it, for checking results: page-locked memory that is kept, since gigabytes of fresh
// memory take longer to get than to fill.
#pragma once

#include <masu/buffer.h>
#include <masu/stream.h>

#include <map>
#include <string>

namespace masu::bench {

class Mirror {
 public:
  // The buffer's content, in place on `cpu`; valid until the next call for its device.
  const std::byte* read(const Buffer<std::byte>& buffer) {
    if (buffer.device().kind() == DeviceKind::cpu) {
      return static_cast<const std::byte*>(buffer.native()) + buffer.byte_offset();
    }
    const std::string id = buffer.device().id();
    auto kept = memory_.find(id);
    if (kept != memory_.end() && kept->second.size() < buffer.size()) {
      memory_.erase(kept);
      kept = memory_.end();
    }
    if (kept == memory_.end()) kept = memory_.try_emplace(id, buffer.device(), buffer.size()).first;
    Stream stream(buffer.device());
    stream.read_bytes(buffer, 0, kept->second.data(), buffer.size());
    stream.finish();
    return kept->second.data();
  }

 private:
  std::map<std::string, HostBuffer<std::byte>> memory_;
};

}  // namespace masu::bench
