// SPDX-License-Identifier: Apache-2.0
// From a range and arguments to cuLaunchKernel.
#include "backends/cuda/memory.h"
#include "backends/cuda/module.h"

#include <fmt/format.h>

#include <algorithm>

namespace masu::cuda {
namespace {

constexpr std::uint64_t local_alignment = 16;  // of each local argument: what the widest load needs

template <class... Values>
[[noreturn]] void throw_launch(std::string_view kernel, fmt::format_string<Values...> rule, Values&&... values) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("Kernel::launch: {}: {}", kernel, fmt::format(rule, std::forward<Values>(values)...)));
}

}  // namespace

std::size_t local_size_for(std::size_t global, std::size_t preferred, unsigned warp) noexcept {
  for (std::size_t size = preferred / warp * warp; size != 0; size -= warp) {
    if (global % size == 0) return size;
  }
  for (std::size_t size = preferred; size > 1; --size) {
    if (global % size == 0) return size;
  }
  return 1;
}

LaunchShape launch_shape(const NDRange& range, const LaunchLimits& limits, std::size_t max_threads,
                         std::string_view kernel) {
  LaunchShape shape;
  std::size_t threads = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::size_t global = range.global[axis];
    const std::size_t local = range.local[axis];
    if (global == 0) throw_launch(kernel, "the global size must be >= 1 in dimension {}, got 0", axis);
    if (local == 0 || local > limits.block[axis]) {
      throw_launch(kernel, "the local size must be 1 to {} in dimension {}, got {}", limits.block[axis], axis, local);
    }
    if (global % local != 0) {
      throw_launch(kernel,
                   "the global size must be a multiple of the local size on CUDA, got {} and {} in dimension {}: round "
                   "it up to {} and let the kernel check its index, or leave the local size to the device",
                   global, local, axis, (global / local + 1) * local);
    }
    if (global / local > limits.grid[axis]) {
      throw_launch(kernel, "work-groups must be <= {} in dimension {}, got {}", limits.grid[axis], axis,
                   global / local);
    }
    shape.grid[axis] = static_cast<unsigned>(global / local);
    shape.block[axis] = static_cast<unsigned>(local);
    threads *= local;
  }
  if (threads > max_threads)
    throw_launch(kernel, "a work-group must be <= {} work-items, got {}", max_threads, threads);
  return shape;
}

std::size_t Kernel::preferred_block(std::uint64_t local_bytes) {
  if (preferred_ == 0 || preferred_for_ != local_bytes) {  // to ask costs more than to launch
    int grid = 0;
    int block = 0;
    context().check(
        context().driver().occupancy_max_potential_block_size(&grid, &block, function_, nullptr, local_bytes, 0),
        "cuOccupancyMaxPotentialBlockSize");
    preferred_ = static_cast<std::size_t>(std::max(block, 1));
    preferred_for_ = local_bytes;
  }
  return preferred_;
}

LaunchShape Kernel::shape(const NDRange& range, std::uint64_t local_bytes) {
  NDRange complete = range;
  for (std::size_t axis = 1; axis < 3; ++axis) complete.local[axis] = std::max<std::size_t>(range.local[axis], 1);
  if (complete.local[0] == 0) {
    const std::size_t others = complete.local[1] * complete.local[2];
    const std::size_t preferred = std::max<std::size_t>(preferred_block(local_bytes) / others, 1);
    if (divided_ != std::pair(range.global[0], preferred)) {  // a thousand divisions where there are few divisors
      divided_ = {range.global[0], preferred};
      divisor_ = local_size_for(range.global[0], preferred, image_->limits().warp);
    }
    complete.local[0] = divisor_;
  }
  return launch_shape(complete, image_->limits(), max_threads_, name_);
}

std::uint64_t Kernel::take_arguments(std::span<const KernelArgument> arguments) {
  const bool by_offset = local_is_parameter();
  std::uint64_t local_bytes = 0;
  std::size_t locals = 0;
  parameters_.clear();
  addresses_.resize(arguments.size());  // before addresses of its elements are taken
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const KernelArgument& argument = arguments[i];
    if (argument.kind() == KernelArgument::Kind::value) {
      parameters_.push_back(const_cast<void*>(argument.bytes()));  // the driver only reads it
      continue;
    }
    if (argument.kind() == KernelArgument::Kind::buffer) {
      runtime::Memory* memory = argument.memory();
      addresses_[i] =
          memory == nullptr ? 0 : own_memory(*memory, context(), "Kernel::launch").address() + argument.offset();
    } else {
      if (++locals > 1 && !by_offset) {
        throw_launch(name_, "LocalMemory must be given at most once to a CUDA kernel, got {} at argument {}", locals,
                     i);
      }
      local_bytes = (local_bytes + local_alignment - 1) / local_alignment * local_alignment;
      addresses_[i] = local_bytes;
      if (argument.size() > local_limit_ || local_bytes + argument.size() > local_limit_) {
        throw_launch(name_, "local memory must be <= {} bytes on {}, got {}", local_limit_, context().device_name(),
                     local_bytes + argument.size());
      }
      local_bytes += argument.size();
      if (!by_offset) continue;  // no parameter stands for it
    }
    parameters_.push_back(&addresses_[i]);
  }
  return local_bytes;
}

void Kernel::check_parameters(std::span<const KernelArgument> arguments) const {
  signature_.check_count(name_, parameters_.size());
  std::size_t parameter = 0;
  for (const KernelArgument& argument : arguments) {
    const bool local = argument.kind() == KernelArgument::Kind::local;
    if (local && !local_is_parameter()) continue;
    signature_.check(name_, parameter++, argument);
  }
}

void Kernel::allow_local_bytes(std::uint64_t bytes) {
  if (bytes <= local_allowed_) return;
  // The most that the device has, so that another Kernel of this function, in another thread, sets the same.
  context().check(context().driver().func_set_attribute(function_, function_max_dynamic_shared_size_bytes,
                                                        static_cast<int>(local_limit_)),
                  "cuFuncSetAttribute");
  local_allowed_ = local_limit_;
}

Kernel::Call Kernel::prepare(const NDRange& range, std::span<const KernelArgument> arguments) {
  const std::uint64_t local_bytes = take_arguments(arguments);
  check_parameters(arguments);
  allow_local_bytes(local_bytes);
  return {function_, shape(range, local_bytes), static_cast<unsigned>(local_bytes), parameters_};
}

void launch(const Context& context, CUstream stream, const Kernel::Call& call, Together together) {
  const auto& [grid, block] = call.shape;
  void** parameters = const_cast<void**>(call.parameters.data());
  const Driver& driver = context.driver();
  if (together == Together::yes) {
    context.check(driver.launch_cooperative_kernel(call.function, grid[0], grid[1], grid[2], block[0], block[1],
                                                   block[2], call.local_bytes, stream, parameters),
                  "cuLaunchCooperativeKernel");
  } else {
    context.check(driver.launch_kernel(call.function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                       call.local_bytes, stream, parameters, nullptr),
                  "cuLaunchKernel");
  }
}

void Kernel::launch(CUstream stream, const NDRange& range, std::span<const KernelArgument> arguments,
                    Together together) {
  cuda::launch(context(), stream, prepare(range, arguments), together);
}

}  // namespace masu::cuda
