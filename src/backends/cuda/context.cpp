// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/context.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace masu::cuda {
namespace {

constexpr std::size_t most_streams = 16;         // kept for later
constexpr std::size_t kept_part_of_memory = 16;  // released memory, a part of all

std::uint64_t most_memory(const Driver& driver, CUdevice device) {
  std::size_t bytes = 0;
  return driver.device_total_mem(&bytes, device) == success ? bytes / kept_part_of_memory : 0;
}

}  // namespace

Context::Context(const Driver& driver, CUcontext handle, CUdevice device, std::string name, bool retained)
    : driver_(driver),
      handle_(handle),
      device_(device),
      name_(std::move(name)),
      retained_(retained),
      memory_(most_memory(driver, device)) {}

std::shared_ptr<Context> Context::primary(const Driver& driver, CUdevice device, std::string name) {
  CUcontext handle = nullptr;
  cuda::check(driver, driver.primary_ctx_retain(&handle, device), "cuDevicePrimaryCtxRetain", name);
  return std::shared_ptr<Context>(new Context(driver, handle, device, std::move(name), true));
}

std::shared_ptr<Context> Context::wrap(const Driver& driver, CUcontext handle, CUdevice device, std::string name) {
  return std::shared_ptr<Context>(new Context(driver, handle, device, std::move(name), false));
}

Context::~Context() {
  {
    const ContextScope scope(*this, std::nothrow);
    if (scope.current()) {
      for (CUevent event : events_) driver_.event_destroy(event);
      for (CUstream stream : streams_) driver_.stream_destroy(stream);
      const BesideCaptures beside(driver_);
      for (std::byte* block : fetch_blocks_) driver_.mem_free_host(block);
      for (CUmodule module : modules_) driver_.module_unload(module);
      drop_memory();
    }
  }
  if (retained_) driver_.primary_ctx_release(device_);
}

namespace {

// What was given back last and is taken away; null: nothing.
template <class Handle>
Handle last_of(std::vector<Handle>& kept, std::mutex& mutex) {
  const std::lock_guard lock(mutex);
  if (kept.empty()) return nullptr;
  const Handle handle = kept.back();
  kept.pop_back();
  return handle;
}

// Whether it is kept: not where there are `most`, nor without memory for the list.
template <class Handle>
bool keep(std::vector<Handle>& kept, std::mutex& mutex, Handle handle, std::size_t most = SIZE_MAX) noexcept try {
  const std::lock_guard lock(mutex);
  if (kept.size() >= most) return false;
  kept.push_back(handle);
  return true;
} catch (...) {
  return false;
}

}  // namespace

CUevent Context::take_event() {
  CUevent event = last_of(events_, mutex_);
  if (event == nullptr) check(driver_.event_create(&event, event_default), "cuEventCreate");
  return event;
}

void Context::give_event(CUevent event) noexcept {
  if (event == nullptr || keep(events_, mutex_, event)) return;
  const ContextScope scope(*this, std::nothrow);
  if (scope.current()) driver_.event_destroy(event);
}

CUstream Context::take_stream() {
  CUstream stream = last_of(streams_, mutex_);
  if (stream == nullptr) check(driver_.stream_create(&stream, stream_non_blocking), "cuStreamCreate");
  return stream;
}

void Context::give_stream(CUstream stream) noexcept {
  if (keep(streams_, mutex_, stream, most_streams)) return;
  const ContextScope scope(*this, std::nothrow);
  if (scope.current()) driver_.stream_destroy(stream);
}

void Context::keep_module(CUmodule module) noexcept {
  keep(modules_, mutex_, module);  // without memory for the list it stays loaded, too
}

std::byte* Context::take_fetch_block() {
  if (std::byte* kept = last_of(fetch_blocks_, mutex_)) return kept;
  void* block = nullptr;
  const BesideCaptures beside(driver_);
  return driver_.mem_host_alloc(&block, fetch_bytes, host_alloc_portable) == success ? static_cast<std::byte*>(block)
                                                                                     : nullptr;
}

void Context::give_fetch_block(std::byte* block) noexcept {
  if (block == nullptr || keep(fetch_blocks_, mutex_, block)) return;
  const ContextScope scope(*this, std::nothrow);
  const BesideCaptures beside(driver_);
  if (scope.current()) driver_.mem_free_host(block);
}

CUdeviceptr Context::take_memory(std::uint64_t bytes, CUresult& answer) {
  const std::uint64_t size = memory_.rounded(bytes);
  answer = success;
  {
    const std::lock_guard lock(mutex_);
    if (const CUdeviceptr kept = memory_.take(size)) return kept;
  }
  CUdeviceptr address = 0;
  const BesideCaptures beside(driver_);
  answer = driver_.mem_alloc(&address, size);
  if (answer == error_out_of_memory) {
    drop_memory();
    answer = driver_.mem_alloc(&address, size);
  }
  return answer == success ? address : 0;
}

void Context::set_busy(CUstream stream, bool busy) {
  const std::lock_guard lock(busy_mutex_);
  if (busy) busy_streams_.push_back(stream);
  else if (const auto found = std::ranges::find(busy_streams_, stream); found != busy_streams_.end())
    busy_streams_.erase(found);
}

bool Context::wait_for_busy() noexcept {
  auto* const stream_per_thread = reinterpret_cast<CUstream>(2);
  const BesideCaptures beside(driver_);
  bool all = true;
  std::vector<CUevent> ends;
  // Others may begin work, and end it, while this waits.
  try {
    const std::lock_guard lock(busy_mutex_);
    ends.reserve(busy_streams_.size());
    for (const CUstream stream : busy_streams_) {
      CUevent end = nullptr;
      if (stream == stream_per_thread || is_capturing(driver_, stream) ||
          driver_.event_create(&end, event_default) != success) {
        all = false;  // what it was given before cannot be waited for, or is another thread's
        continue;
      }
      ends.push_back(end);
      all = driver_.event_record(end, stream) == success && all;
    }
  } catch (...) {  // no memory for the list
    all = false;
  }
  for (CUevent end : ends) {
    all = driver_.event_synchronize(end) == success && all;
    driver_.event_destroy(end);
  }
  return all;
}

void Context::free_memory(CUdeviceptr address) noexcept {
  const BesideCaptures beside(driver_);
  driver_.mem_free(address);
}

void Context::give_memory(CUdeviceptr address, std::uint64_t bytes) noexcept {
  try {
    std::vector<CUdeviceptr> rest;
    {
      const std::lock_guard lock(mutex_);
      rest = memory_.give(address, memory_.rounded(bytes));
    }
    for (const CUdeviceptr block : rest) free_memory(block);
  } catch (...) {  // no memory to keep it
    free_memory(address);
  }
}

void Context::drop_memory() noexcept {
  try {
    std::vector<CUdeviceptr> all;
    {
      const std::lock_guard lock(mutex_);
      all = memory_.drop();
    }
    for (const CUdeviceptr block : all) free_memory(block);
  } catch (...) {  // it stays
  }
}

namespace {

constexpr std::uint64_t least = 512;        // bytes, what the driver aligns to
constexpr std::size_t most_blocks = 256;    // so that a search is short
constexpr std::uint64_t parts_of_size = 8;  // sizes between a power of two and the next

}  // namespace

std::uint64_t MemoryCache::rounded(std::uint64_t bytes) const noexcept {
  if (bytes > limit_) return bytes;
  const std::uint64_t step = std::max(std::bit_floor(bytes) / parts_of_size, least);
  return (bytes + step - 1) / step * step;
}

CUdeviceptr MemoryCache::take(std::uint64_t bytes) noexcept {
  const auto found =
      std::find_if(blocks_.rbegin(), blocks_.rend(), [bytes](const Block& b) { return b.bytes == bytes; });
  if (found == blocks_.rend()) return 0;
  const CUdeviceptr address = found->address;
  blocks_.erase(std::next(found).base());
  bytes_ -= bytes;
  return address;
}

std::vector<CUdeviceptr> MemoryCache::give(CUdeviceptr address, std::uint64_t bytes) {
  if (bytes > limit_) return {address};
  blocks_.push_back({address, bytes});
  bytes_ += bytes;
  std::vector<CUdeviceptr> rest;
  while (bytes_ > limit_ || blocks_.size() > most_blocks) {
    rest.push_back(blocks_.front().address);
    bytes_ -= blocks_.front().bytes;
    blocks_.pop_front();
  }
  return rest;
}

std::vector<CUdeviceptr> MemoryCache::drop() {
  std::vector<CUdeviceptr> all;
  for (const Block& block : blocks_) all.push_back(block.address);
  blocks_.clear();
  bytes_ = 0;
  return all;
}

}  // namespace masu::cuda
