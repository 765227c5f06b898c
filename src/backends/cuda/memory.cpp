// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/memory.h"

#include <fmt/format.h>
#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace masu::cuda {

namespace {

// A host range that masu registered with the driver.
struct Registered {
  std::uintptr_t first;
  std::uint64_t bytes;
  bool read_only;
  std::size_t uses;
};

struct RegisteredList {
  std::mutex mutex;
  std::vector<Registered> ranges;
};

RegisteredList& registered() {
  static RegisteredList& list = *new RegisteredList;
  return list;
}

std::uintptr_t number(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

CUdeviceptr as_device_pointer(const void* handle) {
  return static_cast<CUdeviceptr>(number(handle));
}

bool has_attribute(const Driver& driver, CUdevice device, int which) {
  int value = 0;
  return driver.device_get_attribute(&value, which, device) == success && value != 0;
}

[[noreturn]] void throw_not_in_place(const Context& context, std::string_view reason) {
  throw Error(ErrorCode::unsupported, fmt::format("wrap_host: {} must be able to use the host memory in place, got: {}",
                                                  context.device_name(), reason));
}

// True when the caller registered (or allocated) the whole range page-locked and the device reaches it.
bool reachable(const Driver& driver, void* data, std::uint64_t bytes) {
  CUdeviceptr first = 0;
  CUdeviceptr last = 0;
  return driver.mem_host_get_device_pointer(&first, data, 0) == success &&
         driver.mem_host_get_device_pointer(&last, static_cast<char*>(data) + (bytes - 1), 0) == success &&
         last - first == bytes - 1;
}

// The end of the allocation or registration around `address`; 0 where the driver does not tell.
CUdeviceptr end_of_range(const Driver& driver, CUdeviceptr address) noexcept {
  CUdeviceptr start = 0;
  std::size_t size = 0;
  const bool known = driver.pointer_get_attribute(&start, pointer_range_start, address) == success &&
                     driver.pointer_get_attribute(&size, pointer_range_size, address) == success;
  return known && start <= address && address - start < size ? start + size : 0;
}

// Registers the range, or counts one more use of a registered range around it. False when the caller registered it.
bool acquire(const Context& context, void* data, std::uint64_t bytes, bool read_only) {
  RegisteredList& list = registered();
  const std::uintptr_t first = number(data);
  const std::lock_guard lock(list.mutex);
  for (Registered& range : list.ranges) {
    if (range.first <= first && first - range.first <= range.bytes && bytes <= range.bytes - (first - range.first)) {
      if (range.read_only && !read_only) throw_not_in_place(context, "a range that is in use as read-only");
      ++range.uses;
      return true;
    }
  }
  const Driver& driver = context.driver();
  if (!has_attribute(driver, context.device(), device_host_register_supported)) {
    throw_not_in_place(context, "a device that cannot register host memory");
  }
  const bool read_only_mapping =
      read_only && has_attribute(driver, context.device(), device_read_only_host_register_supported);
  const unsigned flags =
      host_register_portable | host_register_device_map | (read_only_mapping ? host_register_read_only : 0U);
  list.ranges.reserve(list.ranges.size() + 1);
  const BesideCaptures beside(driver);
  const CUresult code = driver.mem_host_register(data, bytes, flags);
  if (code == error_host_memory_already_registered && reachable(driver, data, bytes)) return false;
  if (code != success) throw_not_in_place(context, error_text(driver, code));
  list.ranges.push_back({first, bytes, read_only_mapping, 1});
  return true;
}

void release(const Context& context, void* data) noexcept {
  RegisteredList& list = registered();
  const std::uintptr_t first = number(data);
  const std::lock_guard lock(list.mutex);
  const auto range = std::find_if(list.ranges.begin(), list.ranges.end(), [first](const Registered& r) {
    return r.first <= first && first - r.first < r.bytes;
  });
  if (range == list.ranges.end() || --range->uses != 0) return;
  const ContextScope scope(context, std::nothrow);
  const BesideCaptures beside(context.driver());
  if (scope.current()) context.driver().mem_host_unregister(reinterpret_cast<void*>(range->first));
  list.ranges.erase(range);
}

}  // namespace

HostRegistration::HostRegistration(std::shared_ptr<Context> context, void* data, std::uint64_t bytes, bool read_only)
    : context_(std::move(context)), data_(data), shared_(false) {
  const ContextScope scope(*context_);
  shared_ = acquire(*context_, data, bytes, read_only);
  const CUresult code = context_->driver().mem_host_get_device_pointer(&address_, data, 0);
  if (code == success) return;
  if (shared_) release(*context_, data);
  throw_not_in_place(*context_, error_text(context_->driver(), code));
}

HostRegistration::~HostRegistration() {
  if (shared_) release(*context_, data_);
}

std::shared_ptr<Memory> Memory::allocate(const std::shared_ptr<Context>& context, std::uint64_t bytes) {
  const ContextScope scope(*context);
  std::shared_ptr<Memory> memory(new Memory(context, 0, bytes, false));
  CUresult code = success;
  memory->address_ = context->take_memory(bytes, code);
  if (code == error_out_of_memory) {
    std::size_t free = 0;
    std::size_t total = 0;
    context->driver().mem_get_info(&free, &total);
    throw Error(ErrorCode::out_of_memory, fmt::format("allocate: {} must have {} bytes free, got {} of {}",
                                                      context->device_name(), bytes, free, total));
  }
  context->check(code, "cuMemAlloc");
  memory->owned_ = true;
  return memory;
}

std::shared_ptr<Memory> Memory::wrap(const std::shared_ptr<Context>& context, void* handle, std::uint64_t bytes) {
  const CUdeviceptr address = as_device_pointer(handle);
  const auto memory = [&] { return std::shared_ptr<Memory>(new Memory(context, address, bytes, false)); };
  if (bytes == 0) return memory();
  const ContextScope scope(*context);
  const Driver& driver = context->driver();
  unsigned type = 0;
  if (driver.pointer_get_attribute(&type, pointer_memory_type, address) != success) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("wrap_native: the handle must be a CUdeviceptr, got {:#x}", address));
  }
  // Not every kind of memory tells its range; what does is checked.
  if (const CUdeviceptr end = end_of_range(driver, address); end != 0 && bytes > end - address) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("wrap_native: the memory must hold {} bytes, got {}", bytes, end - address));
  }
  return memory();
}

std::shared_ptr<Memory> Memory::wrap_host(const std::shared_ptr<Context>& context, void* data, std::uint64_t bytes,
                                          bool read_only) {
  std::shared_ptr<Memory> memory(new Memory(context, 0, bytes, read_only));
  if (bytes == 0) return memory;
  memory->registration_ = std::make_unique<HostRegistration>(context, data, bytes, read_only);
  memory->address_ = memory->registration_->device_address();
  return memory;
}

std::shared_ptr<Memory> Memory::imagine(const std::shared_ptr<Context>& context, std::uint64_t bytes,
                                        unsigned misaligned) {
  constexpr std::uint64_t first = std::uint64_t{1} << 60;  // where no memory is
  constexpr std::uint64_t page = 4096;
  static std::atomic<std::uint64_t> next{first};
  const std::uint64_t address = next.fetch_add((bytes / page + 2) * page) + misaligned;
  std::shared_ptr<Memory> memory(new Memory(context, address, bytes, false));
  memory->imagined_ = true;
  return memory;
}

Memory::~Memory() {
  if (!owned_) return;
  const ContextScope scope(*context_, std::nothrow);
  if (!scope.current()) return;
  // Those who know the address may still use it, in streams of theirs: the driver waits for all work.
  if (exposed_ || !context_->wait_for_busy()) context_->free_memory(address_);
  else context_->give_memory(address_, bytes());
}

void* Memory::native() const noexcept {
  exposed_ = true;
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address_));
}

Memory& own_memory(runtime::Memory& memory, const Context& context, std::string_view function) {
  auto* own = dynamic_cast<Memory*>(&memory);
  if (own == nullptr || own->context()->handle() != context.handle()) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: the buffer must be of {}, got one of another device",
                                                         function, context.device_name()));
  }
  return *own;
}

namespace {

// Managed memory is the host's too, but copies from it are not like those from locked pages.
bool is_locked_page(const Driver& driver, CUdeviceptr address) noexcept {
  unsigned type = 0;
  unsigned managed = 0;
  return driver.pointer_get_attribute(&type, pointer_memory_type, address) == success && type == memory_type_host &&
         (driver.pointer_get_attribute(&managed, pointer_is_managed, address) != success || managed == 0);
}

}  // namespace

HostMemory::HostMemory(std::shared_ptr<Context> context, std::uint64_t bytes) : context_(std::move(context)) {
  const ContextScope scope(*context_);
  const BesideCaptures beside(context_->driver());
  const CUresult code = context_->driver().mem_host_alloc(&data_, bytes, host_alloc_portable);
  if (code == error_out_of_memory) {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("HostBuffer: {} must be able to lock {} bytes of host memory, got {}",
                            context_->device_name(), bytes, error_text(context_->driver(), code)));
  }
  context_->check(code, "cuMemHostAlloc");
}

HostMemory::~HostMemory() {
  const ContextScope scope(*context_, std::nothrow);
  const BesideCaptures beside(context_->driver());
  if (scope.current()) context_->driver().mem_free_host(data_);
}

bool is_page_locked(const Context& context, const void* data, std::uint64_t bytes) noexcept {
  const ContextScope scope(context, std::nothrow);
  if (!scope.current()) return false;
  const Driver& driver = context.driver();
  const CUdeviceptr first = as_device_pointer(data);
  const CUdeviceptr last = first + (bytes - 1);
  for (CUdeviceptr at = first; at != 0 && at <= last; at = end_of_range(driver, at)) {
    if (!is_locked_page(driver, at)) return false;
  }
  return is_locked_page(driver, last);
}

}  // namespace masu::cuda
