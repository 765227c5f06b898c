// SPDX-License-Identifier: Apache-2.0
// CUDA devices, one in a context, and its queues of work.
#pragma once

#include "backends/cuda/context.h"
#include "runtime/backend.h"

#include <memory>
#include <vector>

namespace masu::cuda {

// A device as the driver numbers it.
struct Listed {
  int ordinal;
  DeviceInfo info;
};

// Every device of the driver's; "cuda:N" counts the usable ones. One unusable entry that says why where there is none.
std::vector<Listed> list_devices(const Loaded<Driver>& driver);

// `identity`: what its programs depend on beside their texts, where that is not what the driver tells.
std::shared_ptr<runtime::Device> make_device(std::shared_ptr<Context> context, DeviceInfo info,
                                             std::string identity = {});

// An in-order queue: a CUstream, and the host memory that its commands still need.
std::unique_ptr<runtime::Stream> make_stream(std::shared_ptr<Context> context, Timing timing);
// One of the caller's; null is the default stream.
std::unique_ptr<runtime::Stream> wrap_stream(std::shared_ptr<Context> context, CUstream handle, Timing timing);

// Takes down commands, which are given to streams later with other memory.
std::unique_ptr<runtime::Recorder> make_recorder(std::shared_ptr<Context> context);

// A pattern as the driver fills with it: units of 1, 2 or 4 bytes; of none where it has other ones.
struct FillUnit {
  std::uint32_t word = 0;
  std::uint32_t bytes = 0;
};
FillUnit fill_unit(CUdeviceptr address, const void* pattern, std::size_t size);
// The context must be current.
void fill_units(const Context& context, CUstream stream, CUdeviceptr address, FillUnit unit, std::uint64_t bytes);

}  // namespace masu::cuda
