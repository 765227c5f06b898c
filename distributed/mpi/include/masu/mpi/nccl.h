// SPDX-License-Identifier: Apache-2.0
/// @file
/// NCCL between the GPUs of the ranks, opened at run time. Part of mpi.h, which says what holds.
///
/// Declared against NCCL's documented interface (2.14 and later); nothing of NCCL or CUDA is needed to compile this.
#pragma once

#include <masu/device.h>
#include <masu/error.h>
#include <masu/mpi/call.h>
#include <masu/stream.h>

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace masu::mpi::detail {

/// Seconds that NCCL has to make a communicator, and those that an exchange may take beside its bytes.
inline double nccl_seconds = 60;
/// For tests: ranks on `cpu` go by NCCL too, which then moves host memory.
inline bool nccl_for_cpu = false;

/// A library that is opened at run time and never closed.
class RuntimeLibrary {
 public:
  explicit RuntimeLibrary(const char* name) : name_(name), handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      const char* text = dlerror();
      why_ = text != nullptr ? text : std::string("cannot open ") + name;
    }
  }
  template <class F>
  void find(F*& function, const char* symbol, const char* otherwise = nullptr) {
    if (handle_ == nullptr) return;
    void* address = dlsym(handle_, symbol);
    if (address == nullptr && otherwise != nullptr) address = dlsym(handle_, otherwise);
    if (address == nullptr && why_.empty()) why_ = name_ + " has no " + symbol;
    std::memcpy(&function, &address, sizeof address);
  }
  /// Empty where all is there.
  [[nodiscard]] const std::string& why() const noexcept { return why_; }

 private:
  std::string name_;
  void* handle_;
  std::string why_;
};

/// What is used of CUDA's driver.
struct CudaContexts {
  int (*push)(void*) = nullptr;
  int (*pop)(void**) = nullptr;
  int (*uuid)(void*, int) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*release)(int) = nullptr;
  RuntimeLibrary library{"libcuda.so.1"};

  static const CudaContexts& get() {
    static const CudaContexts contexts;
    return contexts;
  }

 private:
  CudaContexts() {
    library.find(push, "cuCtxPushCurrent_v2");
    library.find(pop, "cuCtxPopCurrent_v2");
    library.find(uuid, "cuDeviceGetUuid_v2", "cuDeviceGetUuid");
    library.find(retain, "cuDevicePrimaryCtxRetain");
    library.find(release, "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease");
  }
};

/// While it lives, the device's context is the thread's: NCCL works on that of the thread.
class CurrentContext {
 public:
  explicit CurrentContext(const Device& device) : pushed_(device.kind() == DeviceKind::cuda) {
    if (pushed_ && CudaContexts::get().push(device.native_context()) != 0) {
      throw Error(ErrorCode::device_lost, "mpi: the context of " + device.id() + " cannot be made current");
    }
  }
  ~CurrentContext() {
    void* popped = nullptr;
    if (pushed_) CudaContexts::get().pop(&popped);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  bool pushed_;
};

/// What is used of NCCL.
struct Nccl {
  using Comm = struct ncclComm*;
  struct UniqueId {
    std::array<char, 128> bytes;
  };
  /// That of 2.14. Later ones take the rest from their defaults.
  struct Config {
    std::size_t size = sizeof(Config);
    unsigned magic = 0xcafebeef;
    unsigned version = 21400;
    int blocking = 0;
  };
  static constexpr int success = 0;
  static constexpr int in_progress = 7;
  static constexpr int bytes_of_data = 1;  // ncclUint8

  int (*get_unique_id)(UniqueId*) = nullptr;
  int (*init)(Comm*, int, UniqueId, int, Config*) = nullptr;
  int (*async_error)(Comm, int*) = nullptr;
  int (*abort)(Comm) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*send)(const void*, std::size_t, int, int, Comm, void*) = nullptr;
  int (*receive)(void*, std::size_t, int, int, Comm, void*) = nullptr;
  const char* (*error_string)(int) = nullptr;
  RuntimeLibrary library;

  /// MASU_NCCL names the library; without it libnccl.so.2 is looked for where the loader looks.
  static const Nccl& get() {
    static const Nccl nccl = [] {
      const char* named = std::getenv("MASU_NCCL");
      return Nccl(named != nullptr && *named != '\0' ? named : "libnccl.so.2");
    }();
    return nccl;
  }

  void check(int status, const char* function) const {
    if (status == success || status == in_progress) return;
    throw Error(ErrorCode::io, std::string("mpi: ") + function + " failed: " + error_string(status) + " (" +
                                   std::to_string(status) + ")");
  }

  /// Waits until `done` says so, NCCL reports an error, or `seconds` are over.
  template <class F>
  void wait(Comm comm, double seconds, const char* function, const F& done) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    for (unsigned turn = 0;; ++turn) {
      int status = success;
      check(async_error(comm, &status), "ncclCommGetAsyncError");
      check(status, function);
      if (status == success && done()) return;
      if (turn % 64 == 63) std::this_thread::yield();
      if (std::chrono::steady_clock::now() > end) {
        char limit[32];
        std::snprintf(limit, sizeof limit, "%.3g", seconds);
        throw Error(ErrorCode::io, std::string("mpi: ") + function + " must end within " + limit + " s, got no end");
      }
    }
  }

 private:
  explicit Nccl(const char* name) : library(name) {
    library.find(get_unique_id, "ncclGetUniqueId");
    library.find(init, "ncclCommInitRankConfig");
    library.find(async_error, "ncclCommGetAsyncError");
    library.find(abort, "ncclCommAbort");
    library.find(group_start, "ncclGroupStart");
    library.find(group_end, "ncclGroupEnd");
    library.find(send, "ncclSend");
    library.find(receive, "ncclRecv");
    library.find(error_string, "ncclGetErrorString");
  }
};

/// The NCCL communicator of masu's duplicate of a communicator, kept as an attribute of it. Every rank has one or none.
class GpuLink {
 public:
  GpuLink(const Device& device, Nccl::Comm comm, std::string why)
      : device_(device), comm_(comm), why_(std::move(why)) {}
  ~GpuLink() { abort(); }
  GpuLink(const GpuLink&) = delete;
  GpuLink& operator=(const GpuLink&) = delete;

  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] Nccl::Comm comm() const noexcept { return comm_; }
  /// Why there is none.
  [[nodiscard]] const std::string& why() const noexcept { return why_; }
  /// Ends what is under way; from now on there is none.
  void abort(const char* why = "") noexcept {
    if (comm_ == nullptr) return;
    try {
      const CurrentContext context(device_);
      Nccl::get().abort(std::exchange(comm_, nullptr));
      why_ = why;
    } catch (...) {  // the device is lost, and with it what was under way
    }
  }

 private:
  Device device_;
  Nccl::Comm comm_;
  std::string why_;
};

extern "C" inline int masu_mpi_free_link(MPI_Comm, int, void* value, void*) {
  delete static_cast<GpuLink*>(value);
  return MPI_SUCCESS;
}

class GpuLinks {
 public:
  /// The link of this call, on every rank or on none; null: `why` says why. Every rank calls it, with its own device.
  static GpuLink* of(Call& call, const Device& device, std::string& why) {
    const Group& group = call.group();
    GpuLink* link = kept(group);
    Bytes identity;
    call.attempt([&] {
      why = reason_against(device);
      if (why.empty()) identity = identity_of(group, device);
    });
    call.agree();
    std::array<std::uint64_t, 3> all{why.empty() ? 1U : 0U, link != nullptr && link->device() == device ? 1U : 0U,
                                     link != nullptr && link->comm() != nullptr ? 1U : 0U};
    group.least(all);
    if (all[0] == 0) {
      call.attempt([&] {
        if (why.empty()) why = "another rank has no GPU that NCCL serves";
      });
      return nullptr;
    }
    if (all[1] == 0) link = make(call, device, identity);
    else if (all[2] == 0) link->abort("NCCL failed in a call before");
    call.attempt([&] { why = link->why(); });
    return link->comm() == nullptr ? nullptr : link;
  }

 private:
  static int key() {
    static const int made = made_key(&masu_mpi_free_link);
    return made;
  }
  static GpuLink* kept(const Group& group) {
    return static_cast<GpuLink*>(attribute(group.comm(), key()).value_or(nullptr));
  }

  /// Empty where NCCL can move this device's memory.
  static std::string reason_against(const Device& device) {
    if (!(device.kind() == DeviceKind::cpu && nccl_for_cpu)) {
      if (device.kind() != DeviceKind::cuda) return device.id() + " is no CUDA device";
      const CudaContexts& cuda = CudaContexts::get();
      if (!cuda.library.why().empty()) return cuda.library.why();
      const int number = number_of(device);
      void* primary = nullptr;
      if (cuda.retain(&primary, number) != 0) return device.id() + " has no primary context";
      cuda.release(number);
      if (primary != device.native_context()) return "the context of " + device.id() + " is not the primary one";
    }
    return Nccl::get().library.why();
  }
  static int number_of(const Device& device) {
    return static_cast<int>(reinterpret_cast<std::intptr_t>(device.native_device()));
  }
  static Bytes identity_of(const Group& group, const Device& device) {
    Bytes identity(16);
    const auto rank = static_cast<std::uint32_t>(group.rank());
    std::memcpy(identity.data(), &rank, sizeof rank);  // ranks on `cpu` share nothing
    if (device.kind() == DeviceKind::cuda && CudaContexts::get().uuid(identity.data(), number_of(device)) != 0) {
      throw Error(ErrorCode::device_lost, "mpi: the UUID of " + device.id() + " cannot be read");
    }
    return identity;
  }

  static GpuLink* make(Call& call, const Device& device, const Bytes& identity) {
    const Group& group = call.group();
    std::string why;
    std::vector<Bytes> identities = call.from_each(identity);
    call.attempt([&] {
      std::sort(identities.begin(), identities.end());
      if (std::adjacent_find(identities.begin(), identities.end()) != identities.end()) why = "ranks share one GPU";
    });
    call.agree();
    Nccl::Comm comm = nullptr;
    if (why.empty()) comm = connect(group, device, why);
    // Kept where there is none, too: the next call asks no more.
    GpuLink* link = nullptr;
    call.attempt([&] { link = new GpuLink(device, comm, why); });
    call.agree();
    check(MPI_Comm_set_attr(group.comm(), key(), link), "MPI_Comm_set_attr");
    return link;
  }

  /// A communicator on every rank or on none.
  static Nccl::Comm connect(const Group& group, const Device& device, std::string& why) {
    const Nccl& nccl = Nccl::get();
    Nccl::UniqueId id{};
    Nccl::Comm comm = nullptr;
    const auto attempt = [&](const auto& work) {
      try {
        const CurrentContext context(device);
        work();
      } catch (const std::exception& error) {
        why = error.what();
      }
      std::array<std::uint64_t, 1> good{why.empty() ? 1U : 0U};
      group.least(good);
      if (good[0] == 0 && why.empty()) why = "NCCL failed on another rank";
      return good[0] != 0;
    };
    if (!attempt([&] {
          if (group.rank() == 0) nccl.check(nccl.get_unique_id(&id), "ncclGetUniqueId");
        })) {
      return nullptr;
    }
    group.broadcast(id.bytes.data(), id.bytes.size(), 0);
    if (attempt([&] {
          Nccl::Config config;
          nccl.check(nccl.init(&comm, group.size(), id, group.rank(), &config), "ncclCommInitRankConfig");
          nccl.wait(comm, nccl_seconds, "ncclCommInitRankConfig", [] { return true; });
        })) {
      return comm;
    }
    if (comm != nullptr) GpuLink(device, comm, "").abort();
    return nullptr;
  }
};

/// Messages between GPUs that are under way together, on a stream of this rank's. What is not waited for is aborted.
class GpuExchange {
 public:
  explicit GpuExchange(GpuLink& link) : link_(link), stream_(link.device(), Timing::off) {}
  ~GpuExchange() {
    if (!done_) link_.abort("NCCL failed in a call before");
  }
  GpuExchange(const GpuExchange&) = delete;
  GpuExchange& operator=(const GpuExchange&) = delete;

  /// Calls f(send, receive), each taking a buffer, a first byte, a number of bytes and a rank.
  template <class F>
  void start(const F& f) {
    const Nccl& nccl = Nccl::get();
    const CurrentContext context(link_.device());
    void* const queue = stream_.native();
    const auto address = [](const BufferBase& buffer, std::uint64_t first) {
      return static_cast<std::byte*>(buffer.native()) + buffer.byte_offset() + first;
    };
    nccl.check(nccl.group_start(), "ncclGroupStart");
    int failed = Nccl::success;
    f(
        [&](const BufferBase& buffer, std::uint64_t first, std::uint64_t bytes, int to) {
          bytes_ += bytes;
          if (bytes == 0 || failed != Nccl::success) return;
          failed = nccl.send(address(buffer, first), bytes, Nccl::bytes_of_data, to, link_.comm(), queue);
        },
        [&](const BufferBase& buffer, std::uint64_t first, std::uint64_t bytes, int from) {
          bytes_ += bytes;
          if (bytes == 0 || failed != Nccl::success) return;
          failed = nccl.receive(address(buffer, first), bytes, Nccl::bytes_of_data, from, link_.comm(), queue);
        });
    const int ended = nccl.group_end();
    nccl.check(failed, "ncclSend, ncclRecv");
    nccl.check(ended, "ncclGroupEnd");
    nccl.wait(link_.comm(), nccl_seconds, "ncclGroupEnd", [] { return true; });
    event_ = stream_.record();
  }
  /// Waits until all of it is here and gone.
  void finish() {
    constexpr double slowest_bytes_a_second = 1e8;
    const CurrentContext context(link_.device());
    Nccl::get().wait(link_.comm(), nccl_seconds + static_cast<double>(bytes_) / slowest_bytes_a_second,
                     "ncclSend, ncclRecv", [&] { return event_.ready(); });
    done_ = true;
  }

 private:
  GpuLink& link_;
  Stream stream_;
  Event event_;
  std::uint64_t bytes_ = 0;
  bool done_ = false;
};

}  // namespace masu::mpi::detail
