// SPDX-License-Identifier: Apache-2.0
// A CUDA context and what belongs to it. Memory, streams, events and modules share it, so it lives as long as they do.
#pragma once

#include "backends/cuda/driver_api.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace masu::cuda {

// Released device memory, kept for the next allocation of its size: the driver takes from 60 us (small) to a
// millisecond (1 GiB) to allocate and to free. Least recently released goes first where there is too much. Not
// thread-safe.
class MemoryCache {
 public:
  // Keeps `limit` bytes at most.
  explicit MemoryCache(std::uint64_t limit) noexcept : limit_(limit) {}

  // What is allocated for `bytes`: somewhat more, so that similar sizes share; at most an eighth. What could not be
  // kept is as large as asked.
  [[nodiscard]] std::uint64_t rounded(std::uint64_t bytes) const noexcept;
  // Memory of `bytes`, a rounded size; 0 where none is kept.
  [[nodiscard]] CUdeviceptr take(std::uint64_t bytes) noexcept;
  // Keeps memory that nothing uses; gives what is to be freed instead.
  [[nodiscard]] std::vector<CUdeviceptr> give(CUdeviceptr address, std::uint64_t bytes);
  // Gives everything, to be freed.
  [[nodiscard]] std::vector<CUdeviceptr> drop();
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  struct Block {
    CUdeviceptr address;
    std::uint64_t bytes;
  };
  std::uint64_t limit_;
  std::uint64_t bytes_ = 0;
  std::deque<Block> blocks_;  // the last released is the last
};

class Context {
 public:
  // The device's primary context, retained until destruction.
  static std::shared_ptr<Context> primary(const Driver& driver, CUdevice device, std::string name);
  // A context of the caller's.
  static std::shared_ptr<Context> wrap(const Driver& driver, CUcontext handle, CUdevice device, std::string name);

  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] const Driver& driver() const noexcept { return driver_; }
  [[nodiscard]] CUcontext handle() const noexcept { return handle_; }
  [[nodiscard]] CUdevice device() const noexcept { return device_; }
  [[nodiscard]] const std::string& device_name() const noexcept { return name_; }
  void check(CUresult code, std::string_view function) const { cuda::check(driver_, code, function, name_); }

  // Events that measure time, kept for the next command: making one costs more than recording it. The context must be
  // current. An event may be given back while a stream still has to reach it; recording it again is well defined.
  CUevent take_event();
  void give_event(CUevent event) noexcept;
  // Streams without work, kept likewise: making one takes longer than a small kernel.
  CUstream take_stream();
  void give_stream(CUstream stream) noexcept;
  // Page-locked memory of fetch_bytes, kept likewise; null where the driver gives none. The context must be current.
  static constexpr std::uint64_t fetch_bytes = std::uint64_t{64} << 10;
  std::byte* take_fetch_block();
  void give_fetch_block(std::byte* block) noexcept;
  // Device memory, through the cache of released memory; 0 and the driver's answer where there is none. What is given
  // back must be as large as was asked for. The context must be current.
  CUdeviceptr take_memory(std::uint64_t bytes, CUresult& answer);
  void give_memory(CUdeviceptr address, std::uint64_t bytes) noexcept;
  // Frees it, when whoever may use it has ended: the driver waits.
  void free_memory(CUdeviceptr address) noexcept;
  // Frees what is kept.
  void drop_memory() noexcept;
  // Unloads the module when the context ends.
  void keep_module(CUmodule module) noexcept;
  // Streams of masu's that have commands which nobody has waited for. cuCtxSynchronize, which would wait for all, ends
  // everybody's captures.
  void set_busy(CUstream stream, bool busy);
  [[nodiscard]] bool wait_for_busy() noexcept;

 private:
  Context(const Driver& driver, CUcontext handle, CUdevice device, std::string name, bool retained);

  const Driver& driver_;
  CUcontext handle_;
  CUdevice device_;
  std::string name_;
  bool retained_;
  std::mutex mutex_;
  std::vector<CUevent> events_;
  std::vector<CUstream> streams_;
  std::vector<std::byte*> fetch_blocks_;
  std::vector<CUmodule> modules_;
  MemoryCache memory_;
  std::mutex busy_mutex_;
  std::vector<CUstream> busy_streams_;
};

// Whether a graph is being captured from the stream. The context must be current where it is a default stream. The
// driver has an error for those while another stream is captured: they are not. The legacy default stream never is.
inline bool is_capturing(const Driver& driver, CUstream stream) noexcept {
  int status = 0;
  return stream != nullptr && driver.stream_is_capturing(stream, &status) == success && status == capture_active;
}

// While it lives, this thread may allocate, release and wait though another one captures a graph in the global mode,
// which such a call would end otherwise (driver 580).
class BesideCaptures {
 public:
  explicit BesideCaptures(const Driver& driver) noexcept : driver_(driver) {
    driver_.thread_exchange_stream_capture_mode(&mode_);
  }
  ~BesideCaptures() { driver_.thread_exchange_stream_capture_mode(&mode_); }
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;

 private:
  const Driver& driver_;
  int mode_ = capture_mode_relaxed;  // then this thread's before
};

// Makes a context current in this thread, and the caller's own current again at the end. Mostly it is current already.
class ContextScope {
 public:
  explicit ContextScope(const Context& context) : ContextScope(context, std::nothrow) {
    context.check(code_, "cuCtxPushCurrent");
  }
  // For destructors: current() says whether it worked.
  ContextScope(const Context& context, std::nothrow_t) noexcept : driver_(context.driver()) {
    CUcontext own = nullptr;
    if (driver_.ctx_get_current(&own) == success && own == context.handle()) return;
    code_ = driver_.ctx_push_current(context.handle());
    pushed_ = current();
  }
  ~ContextScope() {
    CUcontext popped = nullptr;
    if (pushed_) driver_.ctx_pop_current(&popped);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  [[nodiscard]] bool current() const noexcept { return code_ == success; }

 private:
  const Driver& driver_;
  CUresult code_ = success;
  bool pushed_ = false;
};

}  // namespace masu::cuda
