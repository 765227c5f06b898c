// SPDX-License-Identifier: Apache-2.0
// An in-order command queue.
#pragma once

#include "backends/opencl/handle.h"
#include "runtime/backend.h"

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace masu::opencl {

// The end of one command, or of several that do one thing together; or of what a queue has got when this is asked
// first.
class Event final : public runtime::Event {
 public:
  // `first` is the first of several commands; empty when there is only one. `device` is its id, for messages.
  Event(Handle<cl_event> first, Handle<cl_event> last, std::string device)
      : first_(std::move(first)), last_(std::move(last)), device_(std::move(device)) {}
  Event(Handle<cl_command_queue> queue, std::string device) : queue_(std::move(queue)), device_(std::move(device)) {}
  [[nodiscard]] cl_event get();
  bool ready() override;
  void wait() override;
  double seconds() override;
  double seconds_since(const runtime::Event& earlier) override;

 private:
  [[nodiscard]] cl_ulong time(cl_event event, cl_profiling_info which) const;
  [[nodiscard]] cl_int status();
  Handle<cl_command_queue> queue_;  // empty once there is an event
  Handle<cl_event> first_;
  Handle<cl_event> last_;
  std::string device_;
};

using runtime::Mark;

// The queues that are in use on a device, so that it can wait for all of them.
class Queues {
 public:
  void add(cl_command_queue queue);
  void remove(cl_command_queue queue) noexcept;
  void finish(const std::string& device);

 private:
  std::mutex mutex_;
  std::vector<cl_command_queue> queues_;
};

class Stream final : public runtime::Stream {
 public:
  // `info` is the device's.
  Stream(cl_context context, Handle<cl_command_queue> queue, const DeviceInfo& info, std::shared_ptr<Queues> queues);
  ~Stream() override;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] void* native() const noexcept override { return queue_.get(); }
  Done write(runtime::Memory& target, std::uint64_t offset, const void* source, std::uint64_t bytes) override;
  Done read(runtime::Memory& source, std::uint64_t offset, void* target, std::uint64_t bytes, Mark mark) override;
  Done copy(runtime::Memory& target, std::uint64_t target_offset, runtime::Memory& source, std::uint64_t source_offset,
            std::uint64_t bytes, Mark mark) override;
  Done fill(runtime::Memory& target, std::uint64_t offset, std::uint64_t bytes, const void* pattern,
            std::size_t pattern_size, Mark mark) override;
  void* map(runtime::Memory& memory, std::uint64_t offset, std::uint64_t bytes, MapMode mode) override;
  void unmap(runtime::Memory& memory, std::uint64_t offset, std::uint64_t bytes, void* address, MapMode mode) override;
  Done launch(runtime::Kernel& kernel, const NDRange& range, std::span<const KernelArgument> arguments,
              Mark mark) override;
  Done record() override;
  Done end() override;
  void wait(runtime::Event& event) override;
  void finish() override;

 private:
  // The event of a command that was just queued with `code`, if it is marked; the queue is told to start then.
  Done queued(cl_int code, cl_event event, const char* function, const char* what, Mark mark = Mark::yes);
  Done fill_by_copies(cl_mem target, std::uint64_t offset, std::uint64_t bytes, const void* pattern,
                      std::size_t pattern_size, Mark mark);
  cl_context context_;  // kept alive by the queue
  Handle<cl_command_queue> queue_;
  std::string device_;  // its id, for messages
  bool fill_command_;   // whether clEnqueueFillBuffer is used
  std::shared_ptr<Queues> queues_;
};

}  // namespace masu::opencl
