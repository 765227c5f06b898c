// SPDX-License-Identifier: Apache-2.0
// Buffers of an OpenCL context.
#pragma once

#include "backends/opencl/api.h"
#include "runtime/backend.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace masu::opencl {

class Memory final : public runtime::Memory {
 public:
  Memory(cl_context context, Handle<cl_mem> object, std::uint64_t bytes, bool read_only)
      : runtime::Memory(bytes, read_only), context_(context), object_(std::move(object)) {}
  [[nodiscard]] void* native() const noexcept override { return object_.get(); }
  [[nodiscard]] cl_mem get() const noexcept { return object_.get(); }
  [[nodiscard]] cl_context context() const noexcept { return context_; }

  // A buffer object of a part, for a kernel argument. `last` holds one that is not kept for as long as the memory is.
  struct View {
    cl_mem object = nullptr;
    Handle<cl_mem> last;
  };
  // `bytes` bytes from `offset` on. Throws invalid_argument when the offset is not a multiple of `alignment` bytes.
  [[nodiscard]] View view(std::uint64_t offset, std::uint64_t bytes, std::uint64_t alignment);

 private:
  [[nodiscard]] Handle<cl_mem> make_view(std::uint64_t offset, std::uint64_t bytes, std::uint64_t alignment) const;

  struct Kept {
    std::uint64_t offset;
    std::uint64_t bytes;
    Handle<cl_mem> object;
  };
  static constexpr std::size_t most_kept = 16;  // parts; a call's workspace has fewer

  cl_context context_;  // kept alive by the object
  Handle<cl_mem> object_;
  std::mutex mutex_;
  std::vector<Kept> kept_;  // parts that kernels were given: to make one takes as long as a launch
};

inline cl_mem object_of(runtime::Memory& memory) {
  return static_cast<Memory&>(memory).get();
}

// Host memory of the driver's own, kept mapped: drivers that lock pages give locked ones.

// The host memory of a device that is in use: OpenCL cannot be asked what an address is.
class HostRanges {
 public:
  void add(const void* first, std::uint64_t bytes);
  void remove(const void* first) noexcept;
  [[nodiscard]] bool contain(const void* first, std::uint64_t bytes) const noexcept;

 private:
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, std::uint64_t> ranges_;
};

class HostMemory final : public runtime::HostMemory {
 public:
  HostMemory(cl_context context, cl_device_id device, const DeviceInfo& info, std::shared_ptr<HostRanges> ranges,
             std::uint64_t bytes);
  ~HostMemory() override;

 private:
  Handle<cl_command_queue> queue_;
  Handle<cl_mem> object_;
  std::shared_ptr<HostRanges> ranges_;
};

}  // namespace masu::opencl
