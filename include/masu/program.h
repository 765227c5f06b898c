// SPDX-License-Identifier: Apache-2.0
/// @file
/// Your own kernels: OpenCL C on OpenCL devices, CUDA C++ on CUDA devices.
#pragma once

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/stream.h>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace masu {

namespace runtime {
class Module;
class Kernel;
}  // namespace runtime

/// Global and local sizes in work-items, in 1 to 3 dimensions, on OpenCL and on CUDA alike.
/// A local size of 0 in the first dimension leaves the choice to the device.
struct MASU_EXPORT NDRange {
  std::array<std::size_t, 3> global{1, 1, 1};
  std::array<std::size_t, 3> local{0, 1, 1};
  unsigned dimensions = 1;

  NDRange(std::size_t global_x, std::size_t local_x = 0) : global{global_x, 1, 1}, local{local_x, 1, 1} {}
  /// NDRange::of({width, height}, {16, 16}): 1 to 3 sizes each, as many local as global ones, or no local ones.
  /// Throws invalid_argument for another number of sizes.
  static NDRange of(std::initializer_list<std::size_t> global, std::initializer_list<std::size_t> local = {}) {
    return of(std::span(global.begin(), global.size()), std::span(local.begin(), local.size()));
  }
  /// The same from lists whose length is known at run time.
  static NDRange of(std::span<const std::size_t> global, std::span<const std::size_t> local = {});
};

/// A kernel argument of `bytes` bytes of local memory: a `__local` pointer in OpenCL C, dynamic shared memory in CUDA
/// (where it takes no parameter, and only one may be given).
struct LocalMemory {
  std::size_t bytes;
};

/// One kernel argument: made from a Buffer, a LocalMemory or any trivially copyable value of up to 64 bytes.
class MASU_EXPORT KernelArgument {
 public:
  enum class Kind { buffer, value, local };
  KernelArgument(const BufferBase& buffer);
  KernelArgument(LocalMemory local) : kind_(Kind::local), size_(local.bytes) {}
  template <class T>
  requires(std::is_trivially_copyable_v<T> && !std::is_base_of_v<BufferBase, T> && !std::is_pointer_v<T>)
      KernelArgument(const T& value)
      : kind_(Kind::value), size_(sizeof(T)) {
    static_assert(sizeof(T) <= 64, "masu::KernelArgument: a value holds at most 64 bytes");
    store(&value, sizeof(T));
  }
  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const void* bytes() const noexcept { return bytes_; }
  [[nodiscard]] runtime::Memory* memory() const noexcept { return memory_.get(); }
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

 private:
  void store(const void* value, std::size_t size) noexcept;
  Kind kind_ = Kind::value;
  std::size_t size_ = 0;
  std::uint64_t offset_ = 0;
  std::shared_ptr<runtime::Memory> memory_;
  alignas(16) std::byte bytes_[64] = {};
};

/// A compiled kernel. Keeps its program alive. Used by one thread at a time.
class MASU_EXPORT Kernel {
 public:
  explicit Kernel(std::shared_ptr<runtime::Kernel> implementation) noexcept
      : implementation_(std::move(implementation)) {}
  [[nodiscard]] const std::string& name() const noexcept;
  /// The largest work-group that this kernel can run with on its device.
  [[nodiscard]] std::size_t max_work_group_size() const;
  /// Launches on the stream: `kernel(stream, {global, local}, buffer, 3, LocalMemory{1024})`. Returns at once.
  /// Throws invalid_argument for a wrong number or size of arguments, sizes the device cannot run, or too much local
  /// memory.
  template <class... Arguments>
  Event operator()(Stream& stream, const NDRange& range, const Arguments&... arguments) {
    const std::array<KernelArgument, sizeof...(Arguments)> list{KernelArgument(arguments)...};
    return launch(stream, range, list);
  }
  Event launch(Stream& stream, const NDRange& range, std::span<const KernelArgument> arguments);

 private:
  std::shared_ptr<runtime::Kernel> implementation_;
};

/// Kernel source compiled for one device. Cheap to copy; safe to use from many threads.
class MASU_EXPORT Program {
 public:
  /// Compiles `text` (OpenCL C on OpenCL devices, CUDA C++ on CUDA devices) with the compiler's own options, through
  /// the program cache. Throws build_failed with the compiler's log, unsupported on `cpu`.
  static Program from_source(const Device& device, std::string_view text, std::string_view options = "");
  [[nodiscard]] Kernel kernel(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> kernel_names() const;
  /// What the compiler said: warnings too. Empty when the program came from the cache.
  [[nodiscard]] const std::string& log() const noexcept;

 private:
  explicit Program(std::shared_ptr<runtime::Module> implementation) noexcept;
  std::shared_ptr<runtime::Module> implementation_;
};

}  // namespace masu
