// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/device.h"

#include "backends/opencl/api.h"
#include "backends/opencl/memory.h"
#include "backends/opencl/module.h"

#include <fmt/format.h>
#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace masu::opencl {

void Queues::add(cl_command_queue queue) {
  const std::lock_guard lock(mutex_);
  queues_.push_back(queue);
}

void Queues::remove(cl_command_queue queue) noexcept {
  const std::lock_guard lock(mutex_);
  queues_.erase(std::ranges::find(queues_, queue));
}

void Queues::finish(const std::string& device) {
  std::vector<Handle<cl_command_queue>> held;  // a stream may go while this waits
  {
    const std::lock_guard lock(mutex_);
    held.reserve(queues_.size());
    for (cl_command_queue queue : queues_) {
      api().clRetainCommandQueue(queue);
      held.emplace_back(queue);
    }
  }
  for (const Handle<cl_command_queue>& queue : held) {
    check(api().clFinish(queue.get()), "Device::synchronize", device, "clFinish");
  }
}

namespace {

constexpr std::size_t largest_fill_pattern = 128;  // of clEnqueueFillBuffer
// Behind 2 GiB, NVIDIA's driver (580, 2026-11) fills too little or accesses memory that is not the buffer's.
constexpr std::uint64_t last_fill_byte = std::uint64_t{1} << 30;
constexpr std::size_t fill_block_bytes = std::size_t{64} << 10;  // what a fill of another pattern starts from

// The end of one command, or of several that do one thing together; or of what a queue has got when this is asked
// first.
class Event final : public runtime::Event {
 public:
  // `first` is the first of several commands; empty when there is only one. `device` is its id, for messages.
  Event(Handle<cl_event> first, Handle<cl_event> last, std::string device)
      : first_(std::move(first)), last_(std::move(last)), device_(std::move(device)) {}
  Event(Handle<cl_command_queue> queue, std::string device) : queue_(std::move(queue)), device_(std::move(device)) {}
  [[nodiscard]] cl_event get() {
    if (queue_) {
      cl_event event = nullptr;
      check(api().clEnqueueMarkerWithWaitList(queue_.get(), 0, nullptr, &event), "Event", device_,
            "clEnqueueMarkerWithWaitList");
      last_ = Handle<cl_event>(event);
      // Others may wait for this event on another queue, which starts nothing here.
      check(api().clFlush(queue_.get()), "Event", device_, "clFlush");
      queue_.reset();
    }
    return last_.get();
  }
  bool ready() override {
    return status() <= CL_COMPLETE;  // an error, which is negative, is an end too
  }
  void wait() override {
    const cl_event event = get();
    const cl_int code = api().clWaitForEvents(1, &event);
    // The event's own error says more than "some event failed".
    if (const cl_int own = status(); own < 0) fail(own, "Event::wait", device_, "the command");
    check(code, "Event::wait", device_, "clWaitForEvents");
  }
  double seconds() override {
    wait();
    const cl_ulong start = time(first_ ? first_.get() : last_.get(), CL_PROFILING_COMMAND_START);
    const cl_ulong end = time(last_.get(), CL_PROFILING_COMMAND_END);
    return static_cast<double>(end - start) * 1e-9;
  }
  double seconds_since(const runtime::Event& earlier) override {
    const auto* other = dynamic_cast<const Event*>(&earlier);
    if (other == nullptr || other->device_ != device_) {
      throw Error(ErrorCode::invalid_argument, "Event::seconds_since: both events must be of one device, got two");
    }
    wait();
    const auto end = static_cast<std::int64_t>(time(last_.get(), CL_PROFILING_COMMAND_END));
    const auto start = static_cast<std::int64_t>(time(other->last_.get(), CL_PROFILING_COMMAND_END));
    return static_cast<double>(end - start) * 1e-9;
  }

 private:
  [[nodiscard]] cl_ulong time(cl_event event, cl_profiling_info which) const {
    cl_ulong nanoseconds = 0;
    const cl_int code = api().clGetEventProfilingInfo(event, which, sizeof(nanoseconds), &nanoseconds, nullptr);
    if (code == CL_PROFILING_INFO_NOT_AVAILABLE) {
      throw Error(
          ErrorCode::unsupported,
          "Event::seconds: the stream must be made with Timing::on, a wrapped queue with CL_QUEUE_PROFILING_ENABLE");
    }
    check(code, "Event::seconds", device_, "clGetEventProfilingInfo");
    return nanoseconds;
  }
  [[nodiscard]] cl_int status() {
    cl_int status = CL_QUEUED;
    check(api().clGetEventInfo(get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr), "Event",
          device_, "clGetEventInfo");
    return status;
  }
  Handle<cl_command_queue> queue_;  // empty once there is an event
  Handle<cl_event> first_;
  Handle<cl_event> last_;
  std::string device_;
};

class Stream final : public runtime::Stream {
 public:
  Stream(cl_context context, Handle<cl_command_queue> queue, const DeviceInfo& info, std::shared_ptr<Queues> queues)
      : context_(context),
        queue_(std::move(queue)),
        device_(info.id),
        // November 2026: Oclgrind 21.10 takes memory that clEnqueueFillBuffer has written for uninitialised.
        fill_command_(info.name != "Oclgrind Simulator"),
        queues_(std::move(queues)) {
    queues_->add(queue_.get());
  }
  ~Stream() override {
    queues_->remove(queue_.get());
    api().clFinish(queue_.get());  // a lost device cannot be reported from here
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] void* native() const noexcept override { return queue_.get(); }
  Done write(runtime::Memory& target, std::uint64_t offset, const void* source, std::uint64_t bytes) override {
    return enqueue("write", "clEnqueueWriteBuffer", Mark::yes, api().clEnqueueWriteBuffer, object_of(target), CL_FALSE,
                   offset, bytes, source);
  }
  Done read(runtime::Memory& source, std::uint64_t offset, void* target, std::uint64_t bytes, Mark mark) override {
    return enqueue("read", "clEnqueueReadBuffer", mark, api().clEnqueueReadBuffer, object_of(source), CL_FALSE, offset,
                   bytes, target);
  }
  Done copy(runtime::Memory& target, std::uint64_t target_offset, runtime::Memory& source, std::uint64_t source_offset,
            std::uint64_t bytes, Mark mark) override {
    return enqueue("copy", "clEnqueueCopyBuffer", mark, api().clEnqueueCopyBuffer, object_of(source), object_of(target),
                   source_offset, target_offset, bytes);
  }
  Done fill(runtime::Memory& target, std::uint64_t offset, std::uint64_t bytes, const void* pattern,
            std::size_t pattern_size, Mark mark) override {
    if (!fill_command_ || !std::has_single_bit(pattern_size) || pattern_size > largest_fill_pattern ||
        offset % pattern_size != 0 || offset + bytes > last_fill_byte) {
      return fill_by_copies(object_of(target), offset, bytes, pattern, pattern_size, mark);
    }
    return enqueue("fill", "clEnqueueFillBuffer", mark, api().clEnqueueFillBuffer, object_of(target), pattern,
                   pattern_size, offset, bytes);
  }
  void* map(runtime::Memory& memory, std::uint64_t offset, std::uint64_t bytes, MapMode mode) override {
    constexpr cl_map_flags flags[] = {CL_MAP_READ, CL_MAP_WRITE, CL_MAP_READ | CL_MAP_WRITE};
    cl_int code = CL_SUCCESS;
    void* address =
        api().clEnqueueMapBuffer(queue_.get(), object_of(memory), CL_TRUE, flags[static_cast<std::size_t>(mode)],
                                 offset, bytes, 0, nullptr, nullptr, &code);
    check(code, "map", device_, "clEnqueueMapBuffer");
    return address;
  }
  void unmap(runtime::Memory& memory, std::uint64_t, std::uint64_t, void* address, MapMode) override {
    check(api().clEnqueueUnmapMemObject(queue_.get(), object_of(memory), address, 0, nullptr, nullptr), "unmap",
          device_, "clEnqueueUnmapMemObject");
    check(api().clFlush(queue_.get()), "unmap", device_, "clFlush");
  }
  Done launch(runtime::Kernel& kernel, const NDRange& range, std::span<const KernelArgument> arguments,
              Mark mark) override {
    auto* own = dynamic_cast<Kernel*>(&kernel);
    if (own == nullptr || own->context() != context_) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("Kernel::launch: the stream must be of the kernel's device, got a stream of {}", device_));
    }
    const std::size_t* local = own->local_size(range);
    const std::vector<Handle<cl_mem>> views = own->set_arguments(arguments);
    cl_event event = nullptr;
    const cl_int code =
        api().clEnqueueNDRangeKernel(queue_.get(), own->get(), range.dimensions, nullptr, range.global.data(), local, 0,
                                     nullptr, mark == Mark::yes ? &event : nullptr);
    if (code == CL_INVALID_WORK_GROUP_SIZE || code == CL_OUT_OF_RESOURCES) own->refuse_launch(range, code);
    return queued(code, event, "Kernel::launch", own->name().c_str(), mark);
  }
  Done record() override {
    return enqueue("Stream::record", "clEnqueueMarkerWithWaitList", Mark::yes, api().clEnqueueMarkerWithWaitList);
  }
  // A marker costs as much as a launch, a flush a fifth of one. NVIDIA's driver (580, 2026-11) runs what it is given
  // without one too, but none promises it.
  Done end() override {
    check(api().clFlush(queue_.get()), "Stream", device_, "clFlush");
    check(api().clRetainCommandQueue(queue_.get()), "Stream", device_, "clRetainCommandQueue");
    return std::make_shared<Event>(Handle<cl_command_queue>(queue_.get()), device_);
  }
  void wait(runtime::Event& event) override {
    if (auto* own = dynamic_cast<Event*>(&event)) {
      const cl_event handle = own->get();
      cl_context context = nullptr;
      check(api().clGetEventInfo(handle, CL_EVENT_CONTEXT, sizeof(context), &context, nullptr), "Stream::wait", device_,
            "clGetEventInfo");
      // Whether an event is of this driver is decided here; drivers do not refuse those of others reliably (NVIDIA 580,
      // 2026-11).
      if (context == context_) {
        check(api().clEnqueueBarrierWithWaitList(queue_.get(), 1, &handle, nullptr), "Stream::wait", device_,
              "clEnqueueBarrierWithWaitList");
        return;
      }
    }
    event.wait();  // another context's: the queue cannot wait for it, so the caller does
  }
  void finish() override { check(api().clFinish(queue_.get()), "Stream::finish", device_, "clFinish"); }

 private:
  // The event of a command that was just queued with `code`, if it is marked; the queue is flushed then.
  Done queued(cl_int code, cl_event event, const char* function, const char* what, Mark mark) {
    check(code, function, device_, what);
    if (mark == Mark::no) return nullptr;
    Handle<cl_event> owner(event);
    // Others may wait for this event on another queue, which starts nothing here.
    check(api().clFlush(queue_.get()), function, device_, "clFlush");
    return std::make_shared<Event>(Handle<cl_event>(), std::move(owner), device_);
  }
  // Gives the queue a command: `arguments` are those between the queue and the events to wait for.
  template <class Command, class... Arguments>
  Done enqueue(const char* function, const char* what, Mark mark, Command command, Arguments... arguments) {
    cl_event event = nullptr;
    const cl_int code = command(queue_.get(), arguments..., 0, nullptr, mark == Mark::yes ? &event : nullptr);
    return queued(code, event, function, what, mark);
  }
  Done fill_by_copies(cl_mem target, std::uint64_t offset, std::uint64_t bytes, const void* pattern,
                      std::size_t pattern_size, Mark mark) {
    const std::size_t repeats =
        std::min<std::uint64_t>(std::max<std::size_t>(1, fill_block_bytes / pattern_size), bytes / pattern_size);
    std::vector<std::byte> block(repeats * pattern_size);
    for (std::size_t i = 0; i < repeats; ++i) std::memcpy(block.data() + i * pattern_size, pattern, pattern_size);
    cl_int code = CL_SUCCESS;
    // Copies the block at once, and is deleted by OpenCL after the command that reads it.
    const Handle<cl_mem> source(
        api().clCreateBuffer(context_, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, block.size(), block.data(), &code));
    check(code, "fill", device_, "clCreateBuffer");
    cl_event event = nullptr;
    code = api().clEnqueueCopyBuffer(queue_.get(), source.get(), target, 0, offset, block.size(), 0, nullptr, &event);
    check(code, "fill", device_, "clEnqueueCopyBuffer");
    Handle<cl_event> first(event);
    Handle<cl_event> last;
    for (std::uint64_t done = block.size(); done < bytes;) {  // copies the filled part after itself
      const std::uint64_t part = std::min(done, bytes - done);
      event = nullptr;
      code = api().clEnqueueCopyBuffer(queue_.get(), target, target, offset, offset + done, part, 0, nullptr, &event);
      check(code, "fill", device_, "clEnqueueCopyBuffer");
      last = Handle<cl_event>(event);
      done += part;
    }
    if (mark == Mark::no) return nullptr;
    check(api().clFlush(queue_.get()), "fill", device_, "clFlush");
    if (!last) std::swap(first, last);
    return std::make_shared<Event>(std::move(first), std::move(last), device_);
  }
  cl_context context_;  // kept alive by the queue
  Handle<cl_command_queue> queue_;
  std::string device_;  // its id, for messages
  bool fill_command_;   // whether clEnqueueFillBuffer is used
  std::shared_ptr<Queues> queues_;
};

}  // namespace

std::unique_ptr<runtime::Stream> make_stream(cl_context context, Handle<cl_command_queue> queue, const DeviceInfo& info,
                                             std::shared_ptr<Queues> queues) {
  return std::make_unique<Stream>(context, std::move(queue), info, std::move(queues));
}

}  // namespace masu::opencl
