// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/module.h"

#include "backends/cuda/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace masu::cuda {

LoadedImage::LoadedImage(std::shared_ptr<Context> context, Image image, const LaunchLimits& limits)
    : context_(std::move(context)), image_(std::move(image)), limits_(limits) {
  const ContextScope scope(*context_);
  std::array<char, 4096> log{};
  std::array<int, 2> options{jit_error_log_buffer, jit_error_log_buffer_size_bytes};
  std::array<void*, 2> values{log.data(),
                              reinterpret_cast<void*>(log.size())};  // the size itself stands in the pointer
  const CUresult code = context_->driver().module_load_data_ex(
      &handle_, image_.bytes.c_str(), static_cast<unsigned>(options.size()), options.data(), values.data());
  if (code == success) return;
  log.back() = '\0';
  if (log.front() == '\0') context_->check(code, "cuModuleLoadDataEx");
  throw Error(error_code(code), fmt::format("cuModuleLoadDataEx: {}: {}\n{}", context_->device_name(),
                                            error_text(context_->driver(), code), log.data()));
}

LoadedImage::~LoadedImage() {
  if (stays_loaded_) {
    context_->keep_module(handle_);
    return;
  }
  const ContextScope scope(*context_, std::nothrow);
  const BesideCaptures beside(context_->driver());
  if (scope.current()) context_->driver().module_unload(handle_);
}

namespace {

class Module final : public runtime::Module {
 public:
  Module(std::shared_ptr<LoadedImage> image, std::string log) : image_(std::move(image)) {
    notes_.log = std::move(log);
    for (std::string& symbol : entry_names(image_->image())) {
      EntrySignature signature = entry_signature(symbol);
      entries_.push_back({std::move(symbol), std::move(signature), true});
    }
    for (Entry& entry : entries_) {
      entry.alone = std::count_if(entries_.begin(), entries_.end(), [&](const Entry& other) {
                      return other.signature.name == entry.signature.name;
                    }) == 1;
    }
  }
  std::shared_ptr<runtime::Kernel> kernel(std::string_view name) override {
    const auto found = std::find_if(entries_.begin(), entries_.end(), [name](const Entry& entry) {
      return entry.symbol == name || (entry.alone && entry.signature.name == name);
    });
    if (found == entries_.end()) refuse_name(name);
    return std::make_shared<Kernel>(image_, found->symbol, found->signature);
  }
  std::vector<std::string> kernel_names() override {
    std::vector<std::string> names;
    for (const Entry& entry : entries_) names.push_back(entry.alone ? entry.signature.name : entry.symbol);
    return names;
  }
  std::string binary() override { return pack(image_->image()); }

 private:
  struct Entry {
    std::string symbol;
    EntrySignature signature;
    bool alone;  // no other kernel has this name: it stands for the symbol
  };
  std::shared_ptr<LoadedImage> image_;
  std::vector<Entry> entries_;
};

}  // namespace

std::shared_ptr<runtime::Module> make_module(std::shared_ptr<Context> context, Image image, const LaunchLimits& limits,
                                             std::string log) {
  return std::make_shared<Module>(std::make_shared<LoadedImage>(std::move(context), std::move(image), limits),
                                  std::move(log));
}

Kernel::Kernel(std::shared_ptr<LoadedImage> image, const std::string& symbol, const EntrySignature& entry)
    : image_(std::move(image)), name_(entry.name) {
  const Context& context = image_->context();
  const Driver& driver = context.driver();
  const ContextScope scope(context);
  context.check(driver.module_get_function(&function_, image_->handle(), symbol.c_str()), "cuModuleGetFunction");

  const auto attribute = [&](int which) {
    int value = 0;
    context.check(driver.func_get_attribute(&value, which, function_), "cuFuncGetAttribute");
    return static_cast<std::uint64_t>(std::max(value, 0));
  };
  max_threads_ = attribute(function_max_threads_per_block);
  const std::uint64_t declared = attribute(function_shared_size_bytes);
  local_limit_ = image_->limits().local_bytes - std::min(image_->limits().local_bytes, declared);
  local_allowed_ = attribute(function_max_dynamic_shared_size_bytes);

  std::vector<std::size_t> sizes;
  const bool known = driver.func_get_param_info != nullptr;
  std::size_t offset = 0;
  std::size_t size = 0;
  while (known && driver.func_get_param_info(function_, sizes.size(), &offset, &size) == success) sizes.push_back(size);
  if (known || entry.typed) signature_ = runtime::KernelSignature(parameters_of(entry, known ? &sizes : nullptr));
}

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

}  // namespace masu::cuda
