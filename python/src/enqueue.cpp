// SPDX-License-Identifier: Apache-2.0
#include "enqueue.h"

#include <masu/convert.h>
#include <masu/error.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace masu_python {

namespace {

constexpr std::size_t most_kept = 4096;                             // calls of different shapes
constexpr std::uint64_t most_spare_bytes = std::uint64_t{1} << 20;  // of a result that turns out shorter

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
  hash = (hash ^ value) * odd;
  return hash ^ hash >> 32;
}

std::uintptr_t address_of(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data);
}

std::uint8_t misalignment(const void* data) {
  return static_cast<std::uint8_t>(address_of(data) % 16);
}

// A workspace for calls on the default stream, whose work is done in order, and which no graph captures. All
// commands of a call are given under the GIL, so that those of two threads do not mix.
constexpr std::uint64_t kept_workspace_bytes = std::uint64_t{1} << 20;
void* kept_workspace(std::int32_t ordinal) {
  // Never destroyed: the driver may be gone then.
  static auto& all = *new std::map<std::int32_t, masu::Buffer<std::byte>>;
  auto found = all.find(ordinal);
  if (found == all.end()) {
    found = all.emplace(ordinal, cuda_device(ordinal).allocate<std::byte>(kept_workspace_bytes)).first;
  }
  return found->second.native();
}

// Words that are zeros between calls: those of the default stream, and a part for each captured call, whose graph may
// be replayed beside any other work, and does not tell when it goes.
class Zeros {
 public:
  static constexpr std::uint64_t most_bytes = 4096;  // of a call
  // Null where there is no memory.
  static Zeros* of(std::int32_t ordinal) {
    // Never destroyed: the driver may be gone then.
    static auto& all = *new std::map<std::int32_t, Zeros>;
    const auto found = all.find(ordinal);
    if (found != all.end()) return &found->second;
    try {
      return &all.emplace(ordinal, cuda_device(ordinal)).first->second;
    } catch (const masu::Error&) {
      return nullptr;
    }
  }
  explicit Zeros(const masu::Device& device) : memory_(device.upload(std::vector<std::byte>(all_bytes))) {}
  [[nodiscard]] void* of_default_stream() const { return memory_.native(); }
  [[nodiscard]] bool has(std::uint64_t bytes) const noexcept { return bytes <= all_bytes - used_; }
  // Null where there are no more: other threads of Python's may have run since has() told.
  void* take(std::uint64_t bytes) {
    if (!has(bytes)) return nullptr;
    constexpr std::uint64_t alignment = 32;
    const std::uint64_t at = used_;
    used_ = std::min((at + bytes + alignment - 1) / alignment * alignment, all_bytes);
    return static_cast<std::byte*>(memory_.native()) + at;
  }

 private:
  static constexpr std::uint64_t all_bytes = std::uint64_t{1} << 20;
  masu::Buffer<std::byte> memory_;
  std::uint64_t used_ = most_bytes;
};

}  // namespace

struct EnqueuedCall::Known {
  std::shared_ptr<void> prepared;
  std::optional<masu::Recording> recording;  // none of calls that need more than to enqueue
  bool captured = false;                     // a graph needs it
};

// What is known of calls, by their keys. With the GIL.
struct Cache {
  using Key = EnqueuedCall::Key;
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept {
      std::uint64_t hash = static_cast<std::uint64_t>(key.function) | static_cast<std::uint64_t>(key.ordinal) << 8;
      for (std::size_t i = 0; i < EnqueuedCall::most_inputs; ++i) {
        const auto dtype = static_cast<std::uint64_t>(key.dtypes[i]);
        hash = mixed(hash, key.counts[i] << 16 ^ dtype << 8 ^ key.misaligned[i]);
      }
      std::uint64_t outputs = 0;
      for (std::size_t i = EnqueuedCall::most_inputs; i < EnqueuedCall::most_operands; ++i) {
        outputs = outputs << 8 ^ key.misaligned[i];
      }
      if (outputs != 0) hash = mixed(hash, outputs);
      for (const std::uint64_t option : key.options) hash = mixed(hash, option);
      return static_cast<std::size_t>(hash);
    }
  };
  std::unordered_map<Key, std::shared_ptr<EnqueuedCall::Known>, Hash> entries;
  std::vector<std::shared_ptr<EnqueuedCall::Known>> captured;  // graphs do not tell when they go

  static Cache& instance() {
    static Cache& cache = *new Cache;  // never destroyed: the driver may be gone then
    return cache;
  }
};

void EnqueuedCall::input(const Tensor& tensor) {
  key_.dtypes[inputs_] = tensor.dtype;
  key_.counts[inputs_] = tensor.count;
  key_.misaligned[inputs_] = misalignment(tensor.data);
  key_.boolean[inputs_] = tensor.boolean;
  addresses_[inputs_++] = tensor.data;
}

void EnqueuedCall::input(std::span<const std::byte> bytes) {
  key_.dtypes[inputs_] = masu::Dtype::u8;
  key_.counts[inputs_] = bytes.size();
  locked_ = std::make_unique<Locked>(cuda_device(ordinal_), ordinal_, bytes.size());
  std::ranges::copy(bytes, locked_->data());
  addresses_[inputs_++] = locked_->data();
}

void EnqueuedCall::output(masu::Dtype dtype, bool boolean, std::span<const std::int64_t> shape) {
  std::uint64_t bytes = masu::size_of(dtype);
  for (const std::int64_t length : shape) bytes *= static_cast<std::uint64_t>(length);
  Output& output = made_[outputs_++];
  output.dtype = dtype;
  output.boolean = boolean;
  output.bytes = bytes;
  output.shape = shape;
}

bool EnqueuedCall::output(masu::Dtype dtype, bool boolean, std::span<const std::int64_t> shape, PyObject* given) {
  output(dtype, boolean, shape);
  if (given == Py_None) return true;
  Tensor tensor;
  if (library_of(Py_TYPE(given)) != &library_ || !library_.take(given, tensor)) return false;
  if (tensor.dtype != dtype || tensor.boolean != boolean || tensor.ordinal != ordinal_ ||
      !std::ranges::equal(tensor.lengths(), shape)) {
    return false;
  }
  Output& here = made_[outputs_ - 1];
  const auto begin = address_of(tensor.data);
  const auto apart = [&](const void* data, std::uint64_t bytes) {
    return begin + here.bytes <= address_of(data) || address_of(data) + bytes <= begin;
  };
  for (std::size_t i = 0; i < inputs_; ++i) {
    if (!apart(addresses_[i], key_.counts[i] * masu::size_of(key_.dtypes[i]))) return false;
  }
  for (std::size_t i = 0; i + 1 < outputs_; ++i) {
    if (made_[i].given != nullptr && !apart(made_[i].address, made_[i].bytes)) return false;
  }
  here.given = given;
  here.address = tensor.data;
  key_.misaligned[most_inputs + outputs_ - 1] = misalignment(tensor.data);
  return true;
}

bool EnqueuedCall::ask_for_stream() {
  if (!asked_) asked_ = library_.stream(ordinal_, stream_);
  return asked_;
}

bool EnqueuedCall::zeros(std::uint64_t bytes) {
  if (!ask_for_stream()) {
    PyErr_Clear();  // run() is told, too
    return false;
  }
  const Zeros* const all = bytes <= Zeros::most_bytes ? Zeros::of(ordinal_) : nullptr;
  if (all == nullptr) return false;
  if (stream_ != nullptr && (!all->has(bytes) || !masu::Stream::wrap(cuda_device(ordinal_), stream_).capturing())) {
    return false;
  }
  zero_bytes_ = bytes;
  return true;
}

namespace {

// Bytes that are 0 or 1. Other libraries' truth values may be any bytes.
masu::Buffer<std::byte> truth_values(const masu::Device& device, const masu::Buffer<std::byte>& bytes) {
  masu::Buffer<std::byte> made(device, bytes.size());
  masu::Stream stream(device, masu::Timing::off);
  static_cast<void>(masu::convert(stream, bytes, masu::Dtype::u8, made, masu::Dtype::u8, {.truth = true}));
  return made;
}

}  // namespace

EnqueuedCall::Outcome EnqueuedCall::take_down(const Calls& calls, const Prepare& prepare) {
  std::vector<masu::Recording::Operand> operands;
  for (std::size_t i = 0; i < inputs_; ++i) {
    operands.push_back({key_.counts[i] * masu::size_of(key_.dtypes[i]), key_.misaligned[i]});
  }
  for (std::size_t i = 0; i < outputs_; ++i) operands.push_back({made_[i].bytes, key_.misaligned[most_inputs + i]});
  if (zero_bytes_ != 0) operands.push_back({zero_bytes_});
  known_ = std::make_shared<Known>();
  try {
    known_->recording = call([&] {
      const masu::Device device = cuda_device(ordinal_);
      return masu::Recording(
          device, operands,
          [&](auto buffers) {
            for (std::size_t i = 0; i < inputs_; ++i) {
              if (key_.boolean[i]) buffers[i] = truth_values(device, buffers[i]);
            }
            calls(device, buffers);
          },
          [&] {
            if (prepare) known_->prepared = prepare(device);
          });
    });
  } catch (const masu::Error& error) {
    if (PyErr_Occurred() != nullptr) return Outcome::failed;  // what a handler of a signal raised
    // Other errors are told where the call is made in the usual way.
    if (error.code() != masu::ErrorCode::unsupported && error.code() != masu::ErrorCode::invalid_argument) {
      return Outcome::not_plain;
    }
  }
  return Outcome::done;
}

EnqueuedCall::Outcome EnqueuedCall::record(const Calls& calls, const Prepare& prepare) {
  if (!ask_for_stream()) return Outcome::failed;
  bool capturing = false;
  try {
    capturing = masu::Stream::wrap(cuda_device(ordinal_), stream_).capturing();
  } catch (const masu::Error&) {
    return Outcome::not_plain;
  }
  if (const Outcome outcome = take_down(calls, prepare); outcome != Outcome::done) return outcome;
  Cache& cache = Cache::instance();
  // To release what is prepared waits for the device, which ends a capture.
  if (cache.entries.size() >= most_kept && !capturing) cache.entries.clear();
  cache.entries.emplace(key_, known_);
  return known_->recording ? Outcome::again : Outcome::not_plain;
}

EnqueuedCall::Outcome EnqueuedCall::record_once(const Calls& calls) {
  const Outcome outcome = take_down(calls, nullptr);
  return outcome == Outcome::done && !known_->recording ? Outcome::not_plain : outcome;
}

bool EnqueuedCall::find() {
  Cache& cache = Cache::instance();
  const auto found = cache.entries.find(key_);
  if (found != cache.entries.end()) known_ = found->second;
  return known_ != nullptr;
}

EnqueuedCall::Outcome EnqueuedCall::run() {
  if (!known_->recording) return Outcome::not_plain;
  const masu::Recording& recording = *known_->recording;
  if (!ask_for_stream()) return Outcome::failed;
  const bool in_order = stream_ == nullptr;  // the default stream
  std::size_t operands = inputs_;
  for (std::size_t i = 0; i < outputs_; ++i) {
    Output& output = made_[i];
    if (output.address == nullptr) {
      if (!output.made.make(library_, ordinal_, output.dtype, output.boolean, output.shape)) return Outcome::failed;
      output.address = output.made.data();
    }
    addresses_[operands++] = output.address;
  }
  if (zero_bytes_ != 0) {
    Zeros& all = *Zeros::of(ordinal_);
    void* const zeros = in_order ? all.of_default_stream() : all.take(zero_bytes_);
    if (zeros == nullptr) return Outcome::again;
    addresses_[operands++] = zeros;
  }
  Made workspace;
  const std::uint64_t bytes = recording.workspace_bytes();
  const bool keeps = in_order && bytes <= kept_workspace_bytes;
  if (bytes != 0 && !keeps) {
    const std::array<std::int64_t, 1> shape{static_cast<std::int64_t>(bytes)};
    if (!workspace.make(library_, ordinal_, masu::Dtype::u8, false, shape)) return Outcome::failed;
  }
  try {
    void* const room = bytes == 0 ? nullptr : keeps ? kept_workspace(ordinal_) : workspace.data();
    if (locked_ != nullptr) locked_->lend();
    const bool captured = recording.enqueue(stream_, {addresses_.data(), operands}, room);
    if (captured && !known_->captured) {
      known_->captured = true;
      Cache::instance().captured.push_back(known_);
    }
    if (locked_ != nullptr) {
      locked_->keep_after(masu::Stream::wrap(cuda_device(ordinal_), stream_).record(), known_);
      locked_.reset();
    }
  } catch (const masu::Error& error) {
    set_exception(error);
    return Outcome::failed;
  }
  return Outcome::done;
}

EnqueuedCall::Outcome EnqueuedCall::run_and_read(std::span<std::uint64_t> numbers) {
  constexpr std::size_t apart = 16;  // bytes, so that each is aligned as other outputs are
  if (!known_->recording) return Outcome::not_plain;
  if (!ask_for_stream()) return Outcome::failed;
  try {
    const masu::Device device = cuda_device(ordinal_);
    masu::Stream stream = masu::Stream::wrap(device, stream_);
    if (stream.capturing()) return Outcome::not_plain;
    Locked told(device, ordinal_, apart * numbers.size());
    std::fill_n(told.data(), apart * numbers.size(), std::byte{0});
    Output* const outputs = &made_[outputs_ - numbers.size()];
    for (std::size_t i = 0; i < numbers.size(); ++i) outputs[i].address = told.data() + apart * i;
    told.lend();
    if (const Outcome outcome = run(); outcome != Outcome::done) return outcome;
    call([&] { stream.finish(); });
    outputs_ -= numbers.size();
    for (std::size_t i = 0; i < numbers.size(); ++i)
      std::memcpy(&numbers[i], told.data() + apart * i, sizeof(numbers[i]));
    told.keep();
  } catch (const masu::Error& error) {
    if (PyErr_Occurred() == nullptr) set_exception(error);
    return Outcome::failed;
  }
  return Outcome::done;
}

EnqueuedCall::Outcome EnqueuedCall::run_and_cut() {
  std::uint64_t number = 0;
  if (const Outcome outcome = run_and_read({&number, 1}); outcome != Outcome::done) return outcome;
  try {
    const masu::Device device = cuda_device(ordinal_);
    masu::Stream stream = masu::Stream::wrap(device, stream_);
    const auto buffer = [&](void* address, std::uint64_t bytes) {
      return masu::Buffer<std::byte>::wrap_native(device, address, bytes);
    };
    const std::array<std::int64_t, 1> shape{static_cast<std::int64_t>(number)};
    for (std::size_t i = 0; i < outputs_; ++i) {
      Output& output = made_[i];
      const std::uint64_t bytes = number * masu::size_of(output.dtype);
      if (bytes >= output.bytes) continue;
      // To copy takes longer than the memory is worth.
      if (output.bytes <= most_spare_bytes) {
        output.given_length = static_cast<std::int64_t>(number);
        continue;
      }
      Made cut;
      if (!cut.make(library_, ordinal_, output.dtype, output.boolean, shape)) return Outcome::failed;
      auto target = buffer(cut.data(), bytes);
      stream.copy(target, buffer(output.made.data(), bytes));
      output.made.swap(cut);
    }
  } catch (const masu::Error& error) {
    if (PyErr_Occurred() == nullptr) set_exception(error);
    return Outcome::failed;
  }
  return Outcome::done;
}

PyObject* EnqueuedCall::give() {
  const auto one = [](Output& output) {
    return output.given != nullptr ? Py_NewRef(output.given) : output.made.give(output.given_length);
  };
  if (outputs_ == 1) return one(made_[0]);
  PyObject* results = PyTuple_New(static_cast<Py_ssize_t>(outputs_));
  for (std::size_t i = 0; results != nullptr && i < outputs_; ++i) {
    PyObject* result = one(made_[i]);
    if (result == nullptr || PyTuple_SetItem(results, static_cast<Py_ssize_t>(i), result) != 0) Py_CLEAR(results);
  }
  return results;
}

struct Locked::Pool {
  struct Busy {
    masu::Event work;
    Memory memory;
    std::shared_ptr<void> also;
  };
  std::vector<Memory> spare;
  std::vector<Busy> busy;

  void collect() {
    const auto ended = std::partition(busy.begin(), busy.end(), [](const Busy& one) { return !one.work.ready(); });
    for (auto one = ended; one != busy.end(); ++one) spare.push_back(std::move(one->memory));
    busy.erase(ended, busy.end());
  }
};

Locked::Pool& Locked::pool_of(std::int32_t ordinal) {
  // Never destroyed: the driver may be gone then.
  static auto& all = *new std::map<std::int32_t, Pool>;
  return all[ordinal];
}

Locked::Locked(const masu::Device& device, std::int32_t ordinal, std::uint64_t bytes) : pool_(pool_of(ordinal)) {
  pool_.collect();
  constexpr std::uint64_t least = 4096;  // a page
  const auto fits = std::ranges::find_if(pool_.spare, [&](const Memory& one) { return one.size() >= bytes; });
  if (fits == pool_.spare.end()) {
    memory_.emplace(device, std::bit_ceil(std::max(bytes, least)));
  } else {
    memory_.emplace(std::move(*fits));
    pool_.spare.erase(fits);
  }
}

Locked::~Locked() {
  static auto& left = *new std::vector<Memory>;
  if (memory_) (lent_ ? left : pool_.spare).push_back(std::move(*memory_));
}

void Locked::keep() {
  pool_.spare.push_back(std::move(*memory_));
  memory_.reset();
}

void Locked::keep_after(masu::Event work, std::shared_ptr<void> also) {
  pool_.busy.push_back({std::move(work), std::move(*memory_), std::move(also)});
  memory_.reset();
}

}  // namespace masu_python
