// SPDX-License-Identifier: Apache-2.0
// A call on arrays of another library's in device memory that only enqueues: on that library's current stream, with its
// memory. The commands of a call are recorded once for its shape, and repeated (masu/stream.h).
#pragma once

#include "function.h"
#include "lines.h"
#include "module.h"
#include "tensors.h"

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
#include <utility>

namespace masu_python {

using masu::Buffer;
using masu::Device;
using masu::Dtype;
using masu::Stream;
using masu::Timing;

// The device that the driver gives this number. Throws for one that is not usable.
masu::Device cuda_device(std::int64_t ordinal);

// Page-locked memory for what the host and the kernels of a call tell each other. It is kept for later calls. With the
// GIL.
class Locked {
 public:
  // At least so many bytes, from a multiple of 64 on. Throws masu::Error.
  Locked(const masu::Device& device, std::int32_t ordinal, std::uint64_t bytes);
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  // After a call that was interrupted or failed, work that has the memory may still use it. So it is neither used again
  // nor freed, which would wait for the device.
  ~Locked();
  [[nodiscard]] std::byte* data() const noexcept { return memory_->data(); }
  // Work may use it from here on.
  void lend() noexcept { lent_ = true; }
  // No work uses it any more.
  void keep();
  // The last work that uses it ends with `work`, and needs `also` until then.
  void keep_after(masu::Event work, std::shared_ptr<void> also);

 private:
  using Memory = masu::HostBuffer<std::byte>;
  struct Pool;
  static Pool& pool_of(std::int32_t ordinal);
  Pool& pool_;
  std::optional<Memory> memory_;
  bool lent_ = false;
};

// The dtype that a caller gives, as a code or in any way that NumPy or PyTorch has; `usual` for None. False for others.
bool dtype_of(PyObject* given, masu::Dtype usual, masu::Dtype& dtype);

// A function that lives as long as the call to which it is given; to pass it allocates nothing.
template <class>
class FunctionRef;
template <class Result, class... Parameters>
class FunctionRef<Result(Parameters...)> {
 public:
  FunctionRef() = default;
  template <class F>
  FunctionRef(const F& function)  // NOLINT(google-explicit-constructor)
      : function_(&function), call_([](const void* of, Parameters... arguments) -> Result {
          return (*static_cast<const F*>(of))(arguments...);
        }) {}
  explicit operator bool() const noexcept { return call_ != nullptr; }
  Result operator()(Parameters... arguments) const { return call_(function_, arguments...); }

 private:
  const void* function_ = nullptr;
  Result (*call_)(const void*, Parameters...) = nullptr;
};

using Buffers = std::span<masu::Buffer<std::byte>>;

// A call on tensors. A function of enqueue_*.cpp declares what its commands depend on (options), what they write
// (outputs) and the commands; `finish` or one of its kin does the rest. Commands are recorded once for each key:
// function, inputs, lines, options, and dtypes and alignment of all.
class EnqueuedCall {
 public:
  static constexpr std::size_t most_inputs = 3;
  static constexpr std::size_t most_outputs = 5;
  static constexpr std::size_t most_operands = most_inputs + most_outputs + 1;
  static constexpr std::size_t most_options = 4;
  // On a stream that records. Buffers: the inputs, then the outputs, then the zeros.
  using Commands = FunctionRef<void(masu::Stream&, Buffers)>;
  using Prepare = FunctionRef<std::shared_ptr<void>(const masu::Device&)>;
  using Work = FunctionRef<Outcome()>;

  // Along the lines of `x`, the function's first argument, which is the first input.
  EnqueuedCall(const void* function, const Library& library, const Arguments& arguments, const Tensor& x, Lines& lines)
      : x(x), lines(lines), arguments(arguments), library_(library) {
    key_.function = function;
    key_.ordinal = x.ordinal;
    key_.lines = {lines.outer, lines.first, lines.between, lines.second};
    input(arguments[0], x);
  }
  // A part of another call, with the same first input.
  EnqueuedCall(const void* function, const EnqueuedCall& of)
      : EnqueuedCall(function, of.library_, of.arguments, of.x, of.lines) {}
  EnqueuedCall(const EnqueuedCall&) = delete;
  EnqueuedCall& operator=(const EnqueuedCall&) = delete;

  const Tensor& x;
  Lines& lines;
  const Arguments& arguments;

  // False for what is not an array of the same library and device.
  bool takes(PyObject* array, Tensor& tensor) const;
  // The same of an argument that is the next input.
  bool next_input(PyObject* array, Tensor& tensor);
  // Bytes of the host's, which the work reads where they are, as the next input, or as the first one. Throws
  // masu::Error.
  void input(std::span<const std::byte> bytes);
  void input_instead(std::span<const std::byte> bytes) {
    inputs_ = 0;
    input(bytes);
  }
  // What an array of the same library and device holds, which is waited for. not_plain: the stream is being captured.
  Outcome read(const Tensor& tensor, std::span<std::byte> bytes);
  // What else than the inputs the commands depend on.
  void option(std::uint64_t value) { key_.options[options_++] = value; }
  // `given`: None, or the caller's array for the result. A call is not plain where that is not of this dtype, shape,
  // device and library, or overlaps an operand that came before.
  void output(masu::Dtype dtype, bool boolean, std::span<const std::int64_t> shape, PyObject* given = Py_None) {
    Output& next = made_[outputs_++];
    next.dtype = dtype;
    next.boolean = boolean;
    next.shape = shape;
    next.given = is_none(given) ? nullptr : given;
  }
  // Gives only so many elements of the last output, which has one dimension.
  void cut(std::int64_t length) { made_[outputs_ - 1].given_length = length; }
  // finish_and_cut() leaves the last output as long as it is.
  void whole() { made_[outputs_ - 1].is_whole = true; }
  // Asks for another operand: memory that is zeros before and after the work, and of no two calls at a time. It belongs
  // to the default stream, which works in order, or to a captured call for its lifetime. has_zeros() says whether the
  // call has any.
  void zeros(std::uint64_t bytes) { zero_bytes_ = bytes; }
  [[nodiscard]] bool has_zeros() const noexcept { return zero_bytes_ != 0; }
  // Results of several outputs are a tuple, or a call of `type` with them.
  void give_as(PyObject* type) { type_ = type; }

  // Enqueues the commands, which are recorded where they are not known. `prepare` makes on the device what they use as
  // often as they are repeated. `once`: they depend on more than the key, and are recorded for this call alone.
  Outcome finish(const Commands& commands, const Prepare& prepare = {}, bool once = false);
  // The same of a call whose last outputs are numbers of up to 8 bytes, which it waits for: they are outputs no more.
  // not_plain: the stream is being captured. `meanwhile` gives the stream more work, which is not waited for.
  Outcome finish_and_read(std::span<std::uint64_t> numbers, const Commands& commands, const Work& meanwhile = {});
  // The same of a call whose last output, a u64, tells how many elements the others have got: makes those as short that
  // are not whole().
  Outcome finish_and_cut(const Commands& commands);
  // Forgets the commands of all calls of this function, and what they need.
  void forget_function();
  // Whether the inputs and the caller's arrays are what was taken, after Python has run other threads.
  bool is_still();
  // The results, a new reference. Null with an exception set.
  PyObject* give();

 private:
  friend struct Cache;
  struct Known;
  struct Key {
    const void* function = nullptr;
    std::int32_t ordinal = 0;
    std::array<masu::Dtype, most_inputs + most_outputs> dtypes{};
    std::array<bool, most_inputs> boolean{};  // truth values, whose bytes may be others than 0 and 1
    std::array<std::uint8_t, most_operands> misaligned{};
    std::array<std::uint64_t, most_inputs> counts{};
    std::array<std::uint64_t, 4> lines{};
    std::array<std::uint64_t, most_options> options{};
    bool zeros = false;
    bool operator==(const Key&) const = default;
  };
  struct Output {
    masu::Dtype dtype{};
    bool boolean = false;
    std::uint64_t bytes = 0;
    std::span<const std::int64_t> shape;
    Made made;
    PyObject* given = nullptr;  // the caller's, which holds it
    void* address = nullptr;    // of its memory
    std::int64_t given_length = Made::whole;
    bool is_whole = false;
  };

  void input(PyObject* array, const Tensor& tensor) {
    key_.dtypes[inputs_] = tensor.dtype;
    key_.boolean[inputs_] = tensor.boolean;
    key_.counts[inputs_] = tensor.count;
    key_.misaligned[inputs_] = misalignment(tensor.data);
    objects_[inputs_] = array;
    addresses_[inputs_++] = tensor.data;
  }
  static std::uint8_t misalignment(const void* data) noexcept {
    return static_cast<std::uint8_t>(reinterpret_cast<std::uintptr_t>(data) % 16);
  }
  // Completes the key by the outputs and zeros, and finds the commands or records them.
  Outcome make_ready(const Commands& commands, const Prepare& prepare, bool once = false);
  bool settle_outputs();
  void settle_zeros();
  bool takes(Output& output);
  // Records what is known_ then, without a recording where the call needs more than to enqueue.
  Outcome record(const Commands& commands, const Prepare& prepare);
  Outcome record_and_keep(const Commands& commands, const Prepare& prepare);
  Outcome run();
  Outcome run_and_read(std::span<std::uint64_t> numbers, const Work& meanwhile);
  Outcome make_shorter(std::uint64_t length);
  // Asks the library once; false with an exception set.
  bool ask_for_stream();

  const Library& library_;
  bool asked_ = false;
  void* stream_ = nullptr;
  Key key_;
  std::shared_ptr<Known> known_;  // stays, whatever other threads do
  std::unique_ptr<Locked> locked_;
  std::size_t inputs_ = 0;
  std::size_t options_ = 0;
  std::size_t outputs_ = 0;
  std::uint64_t zero_bytes_ = 0;
  PyObject* type_ = nullptr;
  std::array<PyObject*, most_inputs> objects_{};  // null: memory of the host's
  std::array<void*, most_operands> addresses_{};
  std::array<Output, most_outputs> made_;
};

}  // namespace masu_python
