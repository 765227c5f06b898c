// SPDX-License-Identifier: Apache-2.0
// A call on arrays of another library's in device memory that only enqueues: on that library's current stream, with its
// memory. The commands of a call are recorded once for its shape, and repeated (masu/stream.h).
#pragma once

#include "module.h"
#include "tensors.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/stream.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace masu_python {

// The device that the driver gives this number. Throws for one that is not usable.
masu::Device cuda_device(std::int64_t ordinal);

// Which function; a part of the key under which its commands are kept.
enum class Function : std::uint8_t {
  sum,
  mean,
  variance,
  deviation,
  median,
  quantile,
  nan_median,
  nan_quantile,
  dot,
  cumsum,
  sort,
  argsort,
  partition,
  argpartition,
  topk,
  searchsorted,
  histogram,
  bincount,
  unique,
  extremes,
  bin_edges
};

// Page-locked memory for what the host and the kernels of a call tell each other. It is kept for later calls. With the
// GIL.
class Locked {
 public:
  // At least so many bytes, from a multiple of 64 on. Throws masu::Error.
  Locked(const masu::Device& device, std::int32_t ordinal, std::uint64_t bytes);
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  // Of a call that was interrupted or failed: work that it was lent to may still use the memory, so that it is neither
  // used again nor freed, which waits for the device.
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

class EnqueuedCall {
 public:
  static constexpr std::size_t most_inputs = 2;
  static constexpr std::size_t most_outputs = 3;
  static constexpr std::size_t most_operands = most_inputs + most_outputs + 1;
  static constexpr std::size_t most_options = 6;
  using Calls = std::function<void(const masu::Device&, std::span<masu::Buffer<std::byte>>)>;
  using Prepare = std::function<std::shared_ptr<void>(const masu::Device&)>;
  enum class Outcome : std::uint8_t { done, failed, not_plain, again };

  // `device` is where the arrays are.
  EnqueuedCall(Function function, Library& library, std::int32_t ordinal) : library_(library), ordinal_(ordinal) {
    key_.function = function;
    key_.ordinal = ordinal;
  }
  void input(const Tensor& tensor);
  // Of the host's, which the work reads where it is. Of a call that is recorded for this once. Throws masu::Error.
  void input(std::span<const std::byte> bytes);
  // What else than the inputs the commands depend on.
  void option(std::uint64_t value) { key_.options[options_++] = value; }
  void output(masu::Dtype dtype, bool boolean, std::span<const std::int64_t> shape);
  // The same, into an array of the caller's where `given` is not None; false for one that is not plain, or not of this
  // dtype, shape, device and library, or that overlaps an operand that came before.
  bool output(masu::Dtype dtype, bool boolean, std::span<const std::int64_t> shape, PyObject* given);
  // Of the output that came last, of one dimension, only so many elements are given.
  void cut(std::int64_t length) { made_[outputs_ - 1].given_length = length; }
  // Another operand, behind the outputs: memory that is zeros before and behind the work, and of no two calls at a
  // time. Of the default stream, whose work is done in order, or of a captured call for good. False where there is
  // none.
  bool zeros(std::uint64_t bytes);
  // Whether the commands are known; else they must be recorded.
  bool find();
  // Records `calls`, whose buffers are the inputs, then the outputs. `prepare` makes on the device, before, what the
  // commands use as often as they are repeated. again: Python has run other threads meanwhile, so the arrays must be
  // taken anew.
  Outcome record(const Calls& calls, const Prepare& prepare);
  // The same for this call alone, which depends on more than its key. done: it can be run, but Python has run other
  // threads meanwhile.
  Outcome record_once(const Calls& calls);
  // Enqueues. failed: an exception is set. not_plain: the call needs more than to enqueue. again: others have taken the
  // last zeros since zeros().
  Outcome run();
  // The same of a call whose last outputs are numbers of up to 8 bytes, which it waits for: they are outputs no more.
  // not_plain: the stream is being captured.
  Outcome run_and_read(std::span<std::uint64_t> numbers);
  // The same of a call whose last output, a u64, tells how many elements the others have got: makes them as short.
  Outcome run_and_cut();
  // The results, a new reference: the one, or a tuple. Null with an exception set.
  PyObject* give();

 private:
  friend struct Cache;
  struct Known;
  struct Key {
    Function function{};
    std::array<masu::Dtype, most_inputs> dtypes{};
    std::array<std::uint8_t, most_operands> misaligned{};
    std::array<bool, most_inputs> boolean{};  // truth values, whose bytes may be others than 0 and 1
    std::int32_t ordinal = 0;
    std::array<std::uint64_t, most_inputs> counts{};
    std::array<std::uint64_t, most_options> options{};
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
  };

  // Records what is known_ then, without a recording where the call needs more than to enqueue. done, or as record().
  Outcome take_down(const Calls& calls, const Prepare& prepare);
  // Of the library; false with an exception set. It is asked once.
  bool ask_for_stream();

  Library& library_;
  std::int32_t ordinal_;
  bool asked_ = false;
  void* stream_ = nullptr;
  Key key_;
  std::shared_ptr<Known> known_;  // stays, whatever other threads do
  std::unique_ptr<Locked> locked_;
  std::size_t inputs_ = 0;
  std::size_t options_ = 0;
  std::size_t outputs_ = 0;
  std::uint64_t zero_bytes_ = 0;
  std::array<void*, most_operands> addresses_{};
  std::array<Output, most_outputs> made_;
};

}  // namespace masu_python
