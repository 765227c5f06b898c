// SPDX-License-Identifier: Apache-2.0
/// @file
/// Devices: listing, opening, and their memory.
#pragma once

#include <masu/dtype.h>
#include <masu/version.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace masu {

namespace runtime {
class Device;
}

template <class T>
class Buffer;

/// The kind of a device.
enum class DeviceKind { cpu, opencl, cuda };

/// "cpu", "opencl", "cuda".
MASU_EXPORT std::string_view to_string(DeviceKind kind) noexcept;

/// Properties of a device. Sizes are bytes. A device that cannot be used is listed with the reason.
struct DeviceInfo {
  std::string id;  ///< "cpu", "opencl:0", "cuda:1": what Device::open takes
  DeviceKind kind = DeviceKind::cpu;
  std::string name;  ///< the vendor's name of the device
  std::string vendor;
  std::string driver;        ///< driver and, for OpenCL, platform version
  std::string architecture;  ///< "x86-64 AVX-512", "sm_90", the OpenCL C version
  bool usable = true;
  std::string why;   ///< why it is not usable; empty otherwise
  bool gpu = false;  ///< a processor of its own, better than `cpu` for large device-resident data
  bool fp64 = true;  ///< double precision in kernels
  std::uint64_t memory_bytes = 0;
  std::uint64_t local_bytes = 0;           ///< local (shared) memory that one work-group can have
  std::uint64_t local_bytes_total = 0;     ///< local memory of one compute unit; 0 where unknown
  std::uint64_t max_allocation_bytes = 0;  ///< the largest single buffer
  std::uint32_t compute_units = 1;
  std::uint32_t max_work_group_size = 1;
  std::uint32_t warp_size = 1;  ///< work-items that run in lockstep; 1 where unknown
};

/// A device that masu can compute on. Cheap to copy: copies name the same device. Safe to use from many threads.
class MASU_EXPORT Device {
 public:
  /// Opens a device by its id ("cpu", "opencl:1", "cuda:0"), or by its kind ("opencl", "cuda": number 0). The kind
  /// may come with a part of the name ("opencl:NVIDIA"). "auto" is the best device present: a CUDA device, else an
  /// OpenCL GPU, else the CPU. "" is MASU_DEVICE, or "auto" where that is not set. Opening "cpu" loads no GPU library.
  /// Throws invalid_argument for a name of no known form, unsupported where no such usable device is present.
  static Device open(std::string_view id = "");

  /// Every device of every backend, the CPU first; an unusable one has its reason in `why`. Loads the GPU libraries.
  static std::vector<DeviceInfo> list();

  /// Uses an OpenCL context and device of the caller's (cl_context, cl_device_id). Both are retained while in use.
  static Device wrap_opencl(void* cl_context, void* cl_device_id);

  /// Uses a CUDA context of the caller's (CUcontext), which must outlive the device. `Device::open("cuda:N")` uses the
  /// device's primary context, the one that the CUDA runtime uses.
  static Device wrap_cuda(void* cu_context);

  [[nodiscard]] const DeviceInfo& info() const noexcept;
  [[nodiscard]] DeviceKind kind() const noexcept { return info().kind; }
  [[nodiscard]] const std::string& id() const noexcept { return info().id; }

  /// Uninitialised memory for `count` elements. Throws out_of_memory, naming the bytes. `count` may be 0.
  template <class T>
  [[nodiscard]] Buffer<T> allocate(std::uint64_t count) const;

  /// A copy of a contiguous host range on the device.
  template <HostRange R>
  [[nodiscard]] auto upload(const R& range) const;

  /// Whether a range of host memory is page-locked for this device, so that copies from and to it are fast and do not
  /// wait. It is, if it is a HostBuffer of this device; on CUDA also what the caller allocated or registered as such.
  /// False on `cpu`.
  [[nodiscard]] bool is_page_locked(const void* data, std::uint64_t bytes) const noexcept;

  /// Waits until all work given to this device is done.
  void synchronize() const;

  /// Returns the memory that masu keeps of released buffers to the driver. It is kept to make later allocations fast:
  /// on CUDA up to a sixteenth of the device's memory, elsewhere none.
  void trim() const;

  /// The native handles: cl_context / CUcontext, and cl_device_id / CUdevice (as an integer in the pointer); null on
  /// `cpu`.
  [[nodiscard]] void* native_context() const noexcept;
  [[nodiscard]] void* native_device() const noexcept;

  /// True when both name the same device in the same context.
  friend bool operator==(const Device&, const Device&) = default;

  explicit Device(std::shared_ptr<runtime::Device> implementation) noexcept;
  [[nodiscard]] const std::shared_ptr<runtime::Device>& implementation() const noexcept { return implementation_; }

 private:
  std::shared_ptr<runtime::Device> implementation_;
};

/// What a function does with host data: whether a GPU is worth the transfers depends on it.
enum class Work {
  moving,   ///< one pass, a result as large as the data: convert, gather, run_length, scan, searchsorted, transpose
  reading,  ///< one pass, a small result: histograms, sums, extremes and counts, topk, quantiles
  sorting   ///< sort, sort_by_key, argsort, unique
};
/// The device that functions of host data take when none is named. It is what MASU_DEVICE names, else the one
/// expected to finish first with `bytes` bytes, transfers and start-up included. That is `cpu` for anything small, and
/// for moving always.
MASU_EXPORT Device device_for(Work work, std::uint64_t bytes = 0);

/// Limits the CPU threads that masu uses. 0 returns to the default: MASU_THREADS, or else what the caller's TBB arena,
/// the affinity mask and the cgroup allow. Applies to calls that start later, in every thread.
MASU_EXPORT void set_cpu_threads(unsigned threads) noexcept;

/// The CPU threads that a call started now would use (at least 1).
MASU_EXPORT unsigned cpu_threads();

}  // namespace masu

#include <masu/buffer.h>
