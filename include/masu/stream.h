// SPDX-License-Identifier: Apache-2.0
/// @file
/// Streams (in-order queues of work on a device), events with device time, results that are still being computed, and
/// recorded calls.
#pragma once

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/floating_point.h>
#include <masu/version.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace masu {

namespace runtime {
class Stream;
class Event;
}  // namespace runtime

/// A point in a stream: the end of the work that returned it. Cheap to copy.
class MASU_EXPORT Event {
 public:
  Event() = default;
  explicit Event(std::shared_ptr<runtime::Event> implementation) noexcept
      : implementation_(std::move(implementation)) {}
  /// True once the work is done; does not wait. An empty Event is done.
  [[nodiscard]] bool ready() const;
  void wait() const;
  /// Device time of this one command, in seconds. Waits for it.
  [[nodiscard]] double seconds() const;
  /// Device time from the end of `earlier`'s command to the end of this one, in seconds. Both of one stream. Waits.
  [[nodiscard]] double seconds_since(const Event& earlier) const;
  [[nodiscard]] const std::shared_ptr<runtime::Event>& implementation() const noexcept { return implementation_; }

 private:
  std::shared_ptr<runtime::Event> implementation_;
};

/// How a mapping will be used.
enum class MapMode { read, write, read_write };

class Stream;

/// Device memory as host memory, from Stream::map until unmap() or destruction.
template <class T>
class Mapping {
 public:
  Mapping(Mapping&& other) noexcept
      : stream_(std::exchange(other.stream_, nullptr)),
        buffer_(other.buffer_),
        span_(other.span_),
        mode_(other.mode_) {}
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping();
  [[nodiscard]] std::span<T> span() const noexcept { return span_; }
  /// Ends the mapping: what was written reaches the buffer before later work of the stream.
  void unmap();

 private:
  friend class Stream;
  Mapping(Stream* stream, const BufferBase* buffer, std::span<T> span, MapMode mode)
      : stream_(stream), buffer_(buffer), span_(span), mode_(mode) {}
  Stream* stream_;
  const BufferBase* buffer_;
  std::span<T> span_;
  MapMode mode_;
};

/// Whether the events of a stream measure times. That has a cost: a launch of some microseconds takes about twice as
/// long through NVIDIA's OpenCL, and a fifth longer through CUDA.
enum class Timing { on, off };

/// What a call, or an object, has taken so far, in seconds.
struct Times {
  double transfer = 0;  ///< moving data to the device and results back (host clock)
  double compute = 0;   ///< the work: device time; host clock on `cpu` and where an accumulator takes device memory
};

/// An in-order queue of work on one device. Calls return before the work is done: host memory and buffers given to them
/// must outlive it (`finish()`, or the returned Event). Used by one thread at a time. Destroying a stream waits for it.
class MASU_EXPORT Stream {
 public:
  /// With Timing::off, Event::seconds and seconds_since throw unsupported for its events.
  explicit Stream(const Device& device, Timing timing = Timing::on);
  /// Uses a queue of the caller's: cl_command_queue (in order, retained), CUstream (must outlive this; null is the
  /// default stream). Times are there only if the queue was made for profiling.
  static Stream wrap(const Device& device, void* native_queue);
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  ~Stream();

  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] void* native() const noexcept;

  template <class T>
  Event write(Buffer<T>& target, std::span<const T> source, std::uint64_t first = 0) {
    return write_bytes(target, first * sizeof(T), source.data(), source.size_bytes());
  }
  template <class T>
  Event read(const Buffer<T>& source, std::span<std::remove_cv_t<T>> target, std::uint64_t first = 0) {
    return read_bytes(source, first * sizeof(T), target.data(), target.size_bytes());
  }
  /// Copies between buffers of this stream's device.
  template <class T>
  Event copy(Buffer<T>& target, const Buffer<T>& source) {
    return copy_bytes(target, source);
  }
  template <class T>
  Event fill(Buffer<T>& target, const T& value) {
    return fill_bytes(target, &value, sizeof(T));
  }
  /// Waits for earlier work and gives the buffer's content as host memory.
  template <class T>
  [[nodiscard]] Mapping<T> map(Buffer<T>& buffer, MapMode mode = MapMode::read_write) {
    return Mapping<T>(this, &buffer, std::span<T>(static_cast<T*>(map_bytes(buffer, mode)), buffer.size()), mode);
  }

  /// A point after everything given so far.
  Event record();
  /// Later work of this stream starts after the event, which may be another stream's of the same device.
  void wait(const Event& event);
  void finish();
  /// Whether a CUDA graph is being captured from this stream: nothing may wait for it then.
  [[nodiscard]] bool capturing() const;

  Event write_bytes(BufferBase& target, std::uint64_t offset, const void* source, std::uint64_t bytes);
  Event read_bytes(const BufferBase& source, std::uint64_t offset, void* target, std::uint64_t bytes);
  Event copy_bytes(BufferBase& target, const BufferBase& source);
  Event fill_bytes(BufferBase& target, const void* pattern, std::size_t size);
  void* map_bytes(const BufferBase& buffer, MapMode mode);
  void unmap_bytes(const BufferBase& buffer, void* address, MapMode mode);
  [[nodiscard]] runtime::Stream& implementation() const noexcept { return *implementation_; }

 private:
  Stream(Device device, std::unique_ptr<runtime::Stream> implementation) noexcept;
  Device device_;
  std::unique_ptr<runtime::Stream> implementation_;
};

/// While it lives, masu's calls of this thread without a stream run on a queue of the caller's instead of one of
/// masu's own. They come after the work that was given to the queue before, without waiting for it. Calls that wait for
/// their result still do. Scopes of different devices live side by side; of those of one device, the last made counts.
/// A scope ends in the thread that made it, the last made first.
/// @code
/// const masu::StreamScope scope(device, stream);  // a cudaStream_t
/// produce<<<grid, block, 0, stream>>>(values);
/// masu::sort(buffer);
/// @endcode
class MASU_EXPORT StreamScope {
 public:
  /// `native_queue` is what Stream::wrap takes, and lives as long as the scope. Throws as that does.
  StreamScope(const Device& device, void* native_queue);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  struct Entry;
  std::unique_ptr<Entry> entry_;
};

template <class T>
void Mapping<T>::unmap() {
  if (Stream* stream = std::exchange(stream_, nullptr)) {
    stream->unmap_bytes(*buffer_, const_cast<std::remove_const_t<T>*>(span_.data()), mode_);
  }
}
template <class T>
Mapping<T>::~Mapping() {
  try {
    unmap();
  } catch (...) {  // a destructor cannot report a lost device; the next call on the stream does
  }
}

/// A result that a stream is still computing. Move-only. Used by one thread at a time. Destroying it does not wait. On
/// OpenCL it stands for what the stream was given until ready() or get() is first called.
template <class T>
class Pending {
 public:
  Pending(Event event, std::function<T()> finish) : event_(std::move(event)), finish_(std::move(finish)) {}
  Pending(Pending&&) noexcept = default;
  Pending& operator=(Pending&&) noexcept = default;
  [[nodiscard]] bool ready() const { return event_.ready(); }
  /// Waits and returns the result, or throws what went wrong. Call it once.
  [[nodiscard]] T get() {
    const FloatingPointScope usual;
    event_.wait();
    return std::exchange(finish_, nullptr)();
  }

 private:
  Event event_;
  std::function<T()> finish_;
};

namespace runtime {
class Recorded;
}

/// Calls recorded once and repeated on other memory, for programs whose kernels take less time than planning them.
///
/// **Rule.** `Recording` runs calls of masu without running their commands: it records launches, copies and fills.
/// `enqueue()` gives them to a queue, with other memory in the place of the operands. It costs the host what the driver
/// takes for the commands, less than a microsecond more, and neither allocates nor waits. So CUDA graphs capture it.
/// **What can be recorded.** On CUDA devices; elsewhere the constructor throws unsupported. Calls that read results
/// back to the host, such as those that return a value, are refused with unsupported. What they write from host memory
/// is kept in device memory as long as the Recording.
/// **Operands.** Memory that only enqueue() names. While calls are recorded, buffers without memory stand for it.
/// Operands must not overlap in enqueue(), except that the same memory may stand for several that are only read.
///
/// Example:
/// @code
/// const masu::Recording::Operand operands[] = {{n * sizeof(float)}, {n * sizeof(float)}};
/// const masu::Recording sort(device, operands, [&](std::span<masu::Buffer<std::byte>> data) {
///   masu::Stream stream(device);
///   static_cast<void>(masu::sort(stream, data[0], masu::Dtype::f32, data[1]));
/// });
/// masu::Buffer<std::byte> workspace(device, sort.workspace_bytes());
/// void* addresses[] = {x, y};  // of n floats each
/// sort.enqueue(queue, addresses, workspace.native());
/// @endcode
///
/// Cheap to copy; may be used by many threads at once.
class MASU_EXPORT Recording {
 public:
  struct Operand {
    std::uint64_t bytes;      ///< at least 1
    unsigned misaligned = 0;  ///< its address in enqueue() modulo 16
  };
  /// `calls` gets a buffer for each operand. It works in this thread, on this device, with the operands and with memory
  /// that it allocates, or that is there before. Throws what `calls` throws, and unsupported for what cannot be
  /// recorded. `prepare` runs before, unrecorded; what it makes may be used by `calls` and must then live as long as
  /// this does.
  Recording(const Device& device, std::span<const Operand> operands,
            const std::function<void(std::span<Buffer<std::byte>>)>& calls, const std::function<void()>& prepare = {});

  /// Bytes that enqueue() needs in place of what the calls allocated.
  [[nodiscard]] std::uint64_t workspace_bytes() const noexcept;
  /// Gives the commands to a CUstream. `workspace` has workspace_bytes() aligned to 256 bytes and may be
  /// null where there are none. All memory must outlive the work. Returns whether a graph captured the commands: it
  /// needs this Recording as long as it is replayed.
  bool enqueue(void* native_queue, std::span<void* const> operands, void* workspace) const;

 private:
  std::shared_ptr<const runtime::Recorded> recorded_;
};

}  // namespace masu
