// SPDX-License-Identifier: Apache-2.0
/// @file
/// Your own kernels: OpenCL C on OpenCL devices, CUDA C++ on CUDA devices.
#pragma once

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/kernel_argument.h>
#include <masu/stream.h>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
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

/// A compiled kernel. Keeps its program alive. Cheap to copy, but a copy is the same kernel. Used by one thread at a
/// time: threads that launch at once take one each from the program.
class MASU_EXPORT Kernel {
 public:
  explicit Kernel(std::shared_ptr<runtime::Kernel> implementation) noexcept
      : implementation_(std::move(implementation)) {}
  [[nodiscard]] const std::string& name() const noexcept;
  /// The largest work-group that this kernel can run with on its device.
  [[nodiscard]] std::size_t max_work_group_size() const;
  /// The kernel's parameters, in order; empty where the driver does not report their number.
  [[nodiscard]] const std::vector<KernelParameter>& parameters() const noexcept;
  /// Launches on the stream: `kernel(stream, {global, local}, buffer, 3, LocalMemory{1024})`. Returns at once.
  /// Throws invalid_argument, before anything runs, for a wrong number, kind, type or size of arguments (see
  /// KernelArgument), sizes that the device cannot run, and too much local memory.
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
  /// the program cache; text that includes files is compiled anew each time, since they may have changed. Throws
  /// build_failed with the compiler's log, unsupported on `cpu` and where a device has no compiler.
  static Program from_source(const Device& device, std::string_view text, std::string_view options = "");
  /// A CUDA kernel that is not `extern "C"` is found by its name in the source, "scale<float>" for a template's
  /// instance, or, where several have that name, by its symbol. Throws invalid_argument and lists the names.
  [[nodiscard]] Kernel kernel(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> kernel_names() const;
  /// The compiler's log, with warnings; also of a program from the cache.
  [[nodiscard]] const std::string& log() const noexcept;

 private:
  explicit Program(std::shared_ptr<runtime::Module> implementation) noexcept;
  std::shared_ptr<runtime::Module> implementation_;
};

}  // namespace masu
