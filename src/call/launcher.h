// SPDX-License-Identifier: Apache-2.0
// Launching masu's own kernels on a stream, and what launches and calls took, in seconds.
#pragma once

#include "runtime/kernel_source.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/program.h>
#include <masu/stream.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::runtime {
class Kernel;
class Module;
}  // namespace masu::runtime

namespace masu::call {

// The memory that a buffer lies in, and where in it something begins, in bytes.
struct At {
  const BufferBase& buffer;
  std::uint64_t offset;
};

// The arguments of a kernel, in order. A buffer is two of them: the whole memory that it lies in, since OpenCL has only
// aligned sub-buffers, and the byte offset in it. A KernelArgument of a buffer is the one pointer alone.
class Arguments {
 public:
  template <class... T>
  explicit Arguments(const T&... values) {
    list_.reserve(2 * sizeof...(T));
    (add(values), ...);
  }
  void add(const At& at);
  void add(const BufferBase& buffer) { add(At{buffer, buffer.byte_offset()}); }
  void add(KernelArgument argument) { list_.push_back(std::move(argument)); }
  void add(const Arguments& others) { list_.insert(list_.end(), others.list_.begin(), others.list_.end()); }
  [[nodiscard]] std::span<const KernelArgument> list() const noexcept { return list_; }

 private:
  std::vector<KernelArgument> list_;
};

// The memory that a buffer lies in, the pointer alone: for kernels that find several things in it.
[[nodiscard]] KernelArgument memory_of(const BufferBase& buffer);

// Bytes of local memory for `count` elements of T.
template <class T>
[[nodiscard]] constexpr LocalMemory local(std::uint64_t count) noexcept {
  return {static_cast<std::size_t>(count) * sizeof(T)};
}

// A program of masu's own kernels on a device, in work-groups of `group` work-items. Used by one thread at a time.
class Kernels {
 public:
  // Compiles it, or finds it compiled.
  Kernels(const Device& device, std::span<const std::string_view> files, std::span<const runtime::Define> defines,
          unsigned group);
  ~Kernels();
  Kernels(Kernels&&) noexcept = default;
  Kernels& operator=(Kernels&&) noexcept = default;
  template <class... T>
  Event launch(Stream& stream, std::string_view name, std::uint64_t groups, const T&... arguments) {
    return launch_with(stream, name, groups, Arguments(arguments...), false);
  }
  // All work-groups are on the device at once, so that they may wait for each other; only where the backend has that.
  template <class... T>
  Event launch_together(Stream& stream, std::string_view name, std::uint64_t groups, const T&... arguments) {
    return launch_with(stream, name, groups, Arguments(arguments...), true);
  }

  // Begins to compile kernels that the call launches later, side by side, if they are not compiled yet. An empty name
  // is none.
  void start(std::initializer_list<std::string_view> names);

  // The kernels that are launched from here on have work-groups of another size.
  Kernels& in_groups_of(unsigned group) noexcept {
    group_ = group;
    return *this;
  }

 private:
  Event launch_with(Stream& stream, std::string_view name, std::uint64_t groups, const Arguments& arguments,
                    bool together);

  struct Started {
    std::string_view name;
    std::future<std::shared_ptr<runtime::Kernel>> kernel;
  };
  runtime::Kernel& take(std::string_view name);

  std::shared_ptr<runtime::Module> module_;
  std::vector<std::shared_ptr<runtime::Kernel>> kernels_;  // those that were launched, or made before
  std::vector<Started> started_;
  unsigned group_;
};

// A stream for a call. Launches, and what follows here, have an Event where they are timed, else an empty one.
[[nodiscard]] Stream timed_stream(const Device& device, bool timed);
// Sets a part of a buffer to zeros.
Event clear(Stream& stream, const BufferBase& buffer, std::uint64_t offset, std::uint64_t bytes);
// Repeats an element, or a byte, over a buffer.
Event fill(Stream& stream, const BufferBase& buffer, const void* element, std::size_t element_bytes);
Event fill(Stream& stream, const BufferBase& buffer, std::uint8_t byte);
// Copies a buffer to one of its size.
Event copy(Stream& stream, const BufferBase& from, const BufferBase& to);

// A part of a buffer to host memory, where it is once the stream has been finished.
void fetch(Stream& stream, const BufferBase& buffer, std::uint64_t offset, void* target, std::uint64_t bytes);

// The end of a call that gives a Pending: what was given to the stream starts. On OpenCL a point to wait for is made
// when it is asked for first, and is then one after what the stream was given later, too.
[[nodiscard]] Event end_of(Stream& stream);

// Device time of commands of a timed stream. Waits.
[[nodiscard]] double seconds_of(std::span<const Event> events);

// The host's clock.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Adds the seconds of its life to one part of the times that the caller wants, if any:
// `const call::Timer timer(options.times, &Times::compute);`
template <class Times>
class Timer {
 public:
  Timer(Times* times, double Times::*part) : times_(times), part_(part), start_(times != nullptr ? now() : 0) {}
  ~Timer() {
    if (times_ != nullptr) times_->*part_ += now() - start_;
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  Times* times_;
  double Times::*part_;
  double start_;
};

template <class Times>
void start_times(Times* times) {
  if (times != nullptr) *times = {};
}

template <class Times>
void add_times(Times* times, const Times& more) {
  if (times == nullptr) return;
  times->transfer += more.transfer;
  times->compute += more.compute;
}

}  // namespace masu::call
