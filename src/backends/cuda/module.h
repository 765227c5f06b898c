// SPDX-License-Identifier: Apache-2.0
// Programs: source compiled to device code with NVRTC, loaded on a device; their kernels, and how one is launched.
#pragma once

#include "backends/cuda/context.h"
#include "backends/cuda/driver_api.h"
#include "runtime/backend.h"

#include <masu/program.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace masu::cuda {

// How a kernel takes local memory.
enum class LocalConvention {
  dynamic,  // CUDA C++: one dynamic shared array, no parameter
  offset,   // OpenCL C after the prelude: a parameter for each, the offset into the dynamic shared array
};

// Device code and what must be known of it to launch its kernels.
struct Image {
  bool ptx = false;  // text for the driver's compiler; else a cubin for one architecture
  LocalConvention local = LocalConvention::dynamic;
  std::string bytes;
};

struct Compiled {
  Image image;
  std::string log;
};

// Compiles for `architecture` (major * 10 + minor of the compute capability), unless `options` name another. Where
// NVRTC is older than the device, the image is PTX of the newest architecture that both know. Throws build_failed with
// NVRTC's log, unsupported where NVRTC is absent or too new for the device.
Compiled compile(const Loaded<Nvrtc>& nvrtc, int architecture, std::string_view text, std::string_view options);

// The names of the kernels in an image, in alphabetical order.
std::vector<std::string> entry_names(const Image& image);

// An image as one string that says what it is, and back; nullopt for anything else.
std::string pack(const Image& image);
std::optional<Image> unpack(std::string_view binary);

// The words of an option string; quotes (' or ") and backslashes as a shell reads them.
std::vector<std::string> split_options(std::string_view options);

// "NVRTC 13.0", or "no NVRTC".
std::string compiler_identity(const Loaded<Nvrtc>& nvrtc);

// What the symbol of a kernel says of it: of one that is not `extern "C"`, its name in the source and its types.
struct EntrySignature {
  std::string name;  // "add", "scale<float>"; the symbol itself where that is all there is
  bool typed = false;
  std::vector<std::string> types;  // where typed
};

EntrySignature entry_signature(const std::string& symbol);

// The parameters of a kernel from its types and from the sizes that the driver tells; either may be absent (null).
// Types of which there are not as many as sizes are left out.
std::vector<KernelParameter> parameters_of(const EntrySignature& entry, const std::vector<std::size_t>* sizes);

// What the device allows a launch.
struct LaunchLimits {
  std::array<unsigned, 3> block{};
  std::array<unsigned, 3> grid{};
  std::uint64_t local_bytes = 0;  // dynamic and static shared memory of a block together
  unsigned warp = 32;
};

// The blocks of a launch.
struct LaunchShape {
  std::array<unsigned, 3> grid{};
  std::array<unsigned, 3> block{};
};

// An image that the driver holds.
class LoadedImage {
 public:
  // Throws the driver's error, with its log for PTX.
  LoadedImage(std::shared_ptr<Context> context, Image image, const LaunchLimits& limits);
  ~LoadedImage();
  LoadedImage(const LoadedImage&) = delete;
  LoadedImage& operator=(const LoadedImage&) = delete;
  [[nodiscard]] const Context& context() const noexcept { return *context_; }
  [[nodiscard]] const Image& image() const noexcept { return image_; }
  [[nodiscard]] const LaunchLimits& limits() const noexcept { return limits_; }
  [[nodiscard]] CUmodule handle() const noexcept { return handle_; }
  // For one with a launch in a captured graph, which may be replayed after the image is gone.
  void keep_loaded() noexcept { stays_loaded_ = true; }

 private:
  std::shared_ptr<Context> context_;
  Image image_;
  LaunchLimits limits_;
  std::atomic<bool> stays_loaded_ = false;
  CUmodule handle_ = nullptr;
};

// Whether all blocks of a launch must be on the device at once.
enum class Together : bool { no, yes };

class Kernel final : public runtime::Kernel {
 public:
  // `symbol` is its name in the image, `entry` what that says.
  Kernel(std::shared_ptr<LoadedImage> image, const std::string& symbol, const EntrySignature& entry);
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::size_t max_work_group_size() override { return max_threads_; }
  [[nodiscard]] const Context& context() const noexcept { return image_->context(); }

  // What the driver is given for a launch. The context must be current.
  struct Call {
    CUfunction function;
    LaunchShape shape;
    unsigned local_bytes;
    std::span<void* const> parameters;  // until the next call of this kernel
  };
  Call prepare(const NDRange& range, std::span<const KernelArgument> arguments);
  // Whether an argument of local memory is a parameter.
  [[nodiscard]] bool local_is_parameter() const noexcept { return image_->image().local == LocalConvention::offset; }
  [[nodiscard]] const std::shared_ptr<LoadedImage>& image() const noexcept { return image_; }

 private:
  // Fills parameters_; returns the bytes of dynamic shared memory.
  std::uint64_t take_arguments(std::span<const KernelArgument> arguments);
  void check_parameters(std::span<const KernelArgument> arguments) const;
  void allow_local_bytes(std::uint64_t bytes);
  std::size_t preferred_block(std::uint64_t local_bytes);
  LaunchShape shape(const NDRange& range, std::uint64_t local_bytes);

  std::shared_ptr<LoadedImage> image_;
  std::string name_;
  CUfunction function_ = nullptr;
  std::size_t max_threads_ = 0;
  std::uint64_t local_limit_ = 0;                      // dynamic shared memory that a launch may have
  std::uint64_t local_allowed_ = 0;                    // what the function's attribute allows now
  std::uint64_t preferred_for_ = 0;                    // the local bytes that preferred_ was computed for
  std::pair<std::size_t, std::size_t> divided_{0, 0};  // a global size and the local size wanted for it …
  std::size_t divisor_ = 1;                            // … and what was found
  std::size_t preferred_ = 0;                          // 0: not yet
  // Kept between launches, so that a launch allocates nothing.
  std::vector<std::uint64_t> addresses_;
  std::vector<void*> parameters_;
};

// The context must be current.
void launch(const Context& context, CUstream stream, const Kernel::Call& call, Together together);

// Loads an image. Throws the driver's error, with its log for PTX.
std::shared_ptr<runtime::Module> make_module(std::shared_ptr<Context> context, Image image, const LaunchLimits& limits,
                                             std::string log);

// Turns sizes in work-items into blocks. `max_threads` is the kernel's own limit. Throws invalid_argument with the
// figures for what cannot run.
LaunchShape launch_shape(const NDRange& range, const LaunchLimits& limits, std::size_t max_threads,
                         std::string_view kernel);

// The largest divisor of `global` up to `preferred`; a multiple of the warp where there is one.
std::size_t local_size_for(std::size_t global, std::size_t preferred, unsigned warp) noexcept;

}  // namespace masu::cuda
