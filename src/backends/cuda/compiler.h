// SPDX-License-Identifier: Apache-2.0
// Source text to device code with NVRTC. Needs no device and no driver.
#pragma once

#include "backends/cuda/loader.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace masu::cuda {

// How a kernel takes local memory.
enum class LocalConvention {
  dynamic,  // CUDA C++: one dynamic shared array, no parameter
  offset,   // OpenCL C behind the prelude: a parameter for each, the offset into the dynamic shared array
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

}  // namespace masu::cuda
