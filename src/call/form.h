// SPDX-License-Identifier: Apache-2.0
// One shape for every call. A primitive declares its operands, checks and temporary memory, and has two bodies, one for
// the CPU and one that enqueues. Its public forms come from here:
//
//   call::run_on<Negate>(device, in, out, options)                        host data
//   call::run<Negate>(Operand(in, dtype), Operand(out, dtype), options)   buffers, waits
//   call::start<Negate>(stream, Operand(in, dtype), …)                    buffers on a stream, returns a Pending
//
//   class Negate final : public call::Primitive {
//    public:
//     Negate(const Operand& in, const Operand& out, const NegateOptions& options)
//         : Primitive("negate", options.times), out_(writes("the output", out)), in_(reads("the input", in)) {}
//    private:
//     void check() override { if (in_.count() != out_.count()) refuse("…"); }
//     bool is_empty() const override { return in_.count() == 0; }
//     void run_on_cpu() override { negate_cpu(in_.view(), out_.data()); }
//     void enqueue(Stream& stream) override { time(negate_on_device(stream, in_.buffer(), out_.buffer())); }
//     const Operand& out_;
//     const Operand& in_;
//   };
//
// A call checks in this order: the size of each operand; check(); one device, writability and overlaps of all operands;
// status; stream; workspace. Then, unless it is empty, run_on_cpu() works in the caller's memory (on a stream after the
// stream's earlier work); on other devices host operands are uploaded, enqueue() launches, and what is written comes
// back. finish() follows where the caller waits: in run() or in get(). It reads what the work has found, and throws. A
// class with a member result() returns its value. A Pending keeps the object, so workspace and notes are members; what
// belongs to the caller (operands, spans of the options) must not be used in finish() of a call on a stream.
#pragma once

#include "call/launcher.h"
#include "call/operands.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/stream.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::call {

// What a call works on: host memory, or a buffer. Cheap to copy; owns nothing.
class Operand {
 public:
  Operand() = default;  // not initialised, as a call has fewer than Primitive::most_operands
  Operand(const ArrayView& data) noexcept : Operand(data.data, size_of(data.dtype), data.count, data.dtype) {}
  Operand(const MutableArrayView& data) noexcept : Operand(data.data, size_of(data.dtype), data.count, data.dtype) {}
  Operand(const ConstRecordsView& data) noexcept : Operand(data.data, data.record_bytes, data.count, {}) {}
  Operand(const RecordsView& data) noexcept : Operand(data.data, data.record_bytes, data.count, {}) {}
  Operand(const BufferBase& buffer, Dtype dtype) noexcept
      : buffer_(&buffer), data_(nullptr), count_(0), element_bytes_(size_of(dtype)), dtype_(dtype), typed_(true) {}
  Operand(const BufferBase& buffer, std::size_t element_bytes) noexcept
      : buffer_(&buffer), data_(nullptr), count_(0), element_bytes_(element_bytes), dtype_(Dtype::u8), typed_(false) {}

  // Elements and bytes are known from Primitive::check() on.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return count_ * element_bytes_; }
  [[nodiscard]] std::size_t element_bytes() const noexcept { return element_bytes_; }
  [[nodiscard]] Dtype dtype() const noexcept { return dtype_; }  // of what was made with one
  [[nodiscard]] bool is_on_host() const noexcept { return buffer_ == nullptr; }
  // On a device, from Primitive::enqueue() on also for host data.
  [[nodiscard]] const BufferBase& buffer() const noexcept { return *buffer_; }
  // Host memory, or that of a buffer of `cpu`.
  [[nodiscard]] void* data() const noexcept { return buffer_ == nullptr ? data_ : host_address(*buffer_); }
  [[nodiscard]] ArrayView view() const noexcept { return {dtype_, data(), count_}; }
  [[nodiscard]] MutableArrayView mutable_view() const noexcept { return {dtype_, data(), count_}; }
  [[nodiscard]] RecordsView records() const noexcept { return {data(), element_bytes_, count_}; }
  // Whether both are the very same bytes.
  [[nodiscard]] bool is_same(const Operand& other) const noexcept;
  [[nodiscard]] bool overlaps(const Operand& other) const noexcept;

 private:
  friend class Primitive;
  enum class Access : std::uint8_t { read, write, read_write, result };
  Operand(const void* data, std::size_t element_bytes, std::uint64_t count, std::optional<Dtype> dtype) noexcept
      : buffer_(nullptr),
        data_(const_cast<void*>(data)),
        count_(count),
        element_bytes_(element_bytes),
        dtype_(dtype.value_or(Dtype::u8)),
        typed_(dtype.has_value()) {}
  [[nodiscard]] bool is_read() const noexcept { return access_ == Access::read || access_ == Access::read_write; }
  [[nodiscard]] bool is_written() const noexcept { return access_ != Access::read; }

  const char* name_;
  const BufferBase* buffer_;
  void* data_;
  std::uint64_t count_;
  std::size_t element_bytes_;
  Dtype dtype_;
  bool typed_;
  Access access_;
};

// The first element that breaks a rule of the call, if any, as a status buffer has it.
struct Fault {
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  std::uint64_t position = none;
  std::uint64_t element = none;
  [[nodiscard]] bool found() const noexcept { return position != none; }
};
// The first of those that work-groups have noted: pairs of position and element. Waits.
[[nodiscard]] Fault first_fault(const Buffer<std::byte>& notes);

class Primitive {
 public:
  Primitive(const Primitive&) = delete;
  Primitive& operator=(const Primitive&) = delete;

  // The forms. What has no value to return has no result() of its own.
  void run(const Device& device);                           // waits
  void run() { run(operands_.front().buffer().device()); }  // the same, where the buffers are
  [[nodiscard]] Event start(Stream& stream);                // does not wait; then, when the event has come:
  void finish_started();
  void result() const noexcept {}

 protected:
  // `name`: the public function's. Operands of the caller, any of which may be null: the temporary memory that it
  // gives, and where a call on a stream writes its Fault, which is then no error.
  Primitive(std::string_view name, Times* times, const BufferBase* workspace = nullptr,
            const BufferBase* status = nullptr) noexcept
      : name_(name), times_(times), given_(workspace), status_(status) {}
  ~Primitive() = default;

  // Declare the operands, in the constructor. Messages about two of them name the one declared first first.
  Operand& reads(const char* name, const Operand& data) { return declare(name, data, Operand::Access::read); }
  Operand& writes(const char* name, const Operand& data) { return declare(name, data, Operand::Access::write); }
  Operand& changes(const char* name, const Operand& data) { return declare(name, data, Operand::Access::read_write); }
  // A buffer of exactly so many elements as check_result() demands.
  Operand& returns(const char* name, const Operand& data) { return declare(name, data, Operand::Access::result); }
  // Optional ones: null where there are none.
  Operand* reads(const char* name, const std::optional<Operand>& data) { return data ? &reads(name, *data) : nullptr; }
  // The result may be the same memory as this operand.
  void allow_in_place(const Operand& operand) noexcept { in_place_ = &operand; }
  // On a device, host operands of one size share one copy: what is written takes the place of what is read.
  void share_copies() noexcept { one_copy_ = true; }

  // What a primitive may or must say.
  virtual void check() = 0;
  [[nodiscard]] virtual bool is_empty() const = 0;
  // Bytes that workspace() has in enqueue(). A workspace of the caller's must have as many.
  [[nodiscard]] virtual std::uint64_t workspace_bytes(const Device& /*device*/) { return 0; }
  virtual void run_on_cpu() = 0;
  virtual void enqueue(Stream& stream) = 0;
  // Writes what an empty call on a stream writes, and returns whether there was anything.
  virtual bool enqueue_empty(Stream& /*stream*/) { return false; }
  virtual void finish() {}
  // Device time of what was enqueued.
  [[nodiscard]] virtual double seconds() const { return seconds_of(events_); }

  // For check().
  [[noreturn]] void refuse(const std::string& rule) const { call::refuse(name_, rule); }
  void check_result(const Operand& result, std::uint64_t count) const;
  [[nodiscard]] std::string_view function_name() const noexcept { return name_; }
  [[nodiscard]] const Device& device() const noexcept { return *device_; }
  // For the bodies.
  [[nodiscard]] bool has_workspace() const noexcept { return workspace_.has_value(); }  // in a call on a device
  [[nodiscard]] const Buffer<std::byte>& workspace() const noexcept { return *workspace_; }
  [[nodiscard]] const BufferBase* status() const noexcept { return status_; }  // null in a call that waits
  [[nodiscard]] bool waits() const noexcept { return waits_; }
  [[nodiscard]] Times* times() const noexcept { return times_; }
  void time(Event event);
  void time(std::vector<Event> events);
  // For finish(). Host data comes back after it, unless it throws; this brings it now, `bytes` at most of each operand.
  void bring_back(std::uint64_t bytes = ~std::uint64_t{0});

  Fault fault_;  // set by run_on_cpu() for a status, and for finish()

 private:
  Operand& declare(const char* name, const Operand& data, Operand::Access access) {
    Operand& operand = operands_[count_++];
    operand = data;
    operand.name_ = name;
    operand.access_ = access;
    return operand;
  }
  void check_all(const Device& device, const Stream* stream);
  void check_places() const;
  void give_workspace(Stream& stream);
  void run_on_device(const Device& device);
  void bring(const Device& device);
  [[nodiscard]] std::span<Operand> operands() noexcept { return {operands_.data(), count_}; }
  [[nodiscard]] std::span<const Operand> operands() const noexcept { return {operands_.data(), count_}; }

  static constexpr std::size_t most_operands = 8;

  std::string_view name_;
  Times* times_;
  const BufferBase* given_;
  const BufferBase* status_;
  std::array<Operand, most_operands> operands_;
  std::size_t count_ = 0;
  const Operand* in_place_ = nullptr;
  const Device* device_ = nullptr;
  bool one_copy_ = false;
  bool waits_ = false;
  bool has_run_ = false;
  std::uint64_t bytes_ = 0;  // of the workspace
  std::optional<Buffer<std::byte>> workspace_;
  std::vector<Buffer<std::byte>> copies_;  // of host operands, on the device
  std::vector<Event> events_;
};

// Makes a primitive of the arguments and runs it: on host data, or on buffers.
template <class P, class... A>
auto run_on(const Device& device, const A&... arguments) {
  P primitive(arguments...);
  primitive.run(device);
  return primitive.result();
}
template <class P, class... A>
auto run(const A&... arguments) {
  P primitive(arguments...);
  primitive.run();
  return primitive.result();
}
template <class P, class... A>
auto start(Stream& stream, const A&... arguments) {
  const auto primitive = std::make_shared<P>(arguments...);
  Event end = primitive->start(stream);
  return Pending<decltype(primitive->result())>(std::move(end), [primitive] {
    primitive->finish_started();
    return primitive->result();
  });
}
// The same where the results are in the caller's memory, and finish() has nothing left to do.
template <class P, class... A>
Pending<void> start_into(Stream& stream, const A&... arguments) {
  if (on_cpu(stream.device())) {
    P primitive(arguments...);
    return {primitive.start(stream), [] {}};
  }
  const auto primitive = std::make_shared<P>(arguments...);
  Event end = primitive->start(stream);
  return {std::move(end), [primitive] {}};
}

}  // namespace masu::call
