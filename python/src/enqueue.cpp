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

constexpr std::uint64_t kept_workspace_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t most_zeros = 4096;  // bytes of a call
constexpr std::uint64_t all_zeros = std::uint64_t{1} << 20;

// Memory that is kept for calls on a device. Null: there is none.
struct KeptMemory {
  // For calls on the default stream, whose work is done in order, and which no graph captures. All commands of a call
  // are given under the GIL, so that those of two threads do not mix.
  masu::Buffer<std::byte> workspace;
  // Zeros between calls: those of the default stream, and a part for each captured call, whose graph may be replayed
  // beside any other work, and does not tell when it goes.
  masu::Buffer<std::byte> zeros;
  std::uint64_t used = most_zeros;

  explicit KeptMemory(const masu::Device& device)
      : workspace(device.allocate<std::byte>(kept_workspace_bytes)),
        zeros(device.upload(std::vector<std::byte>(all_zeros))) {}
  static KeptMemory* of(std::int32_t ordinal) {
    // Never destroyed: the driver may be gone then.
    static auto& all = *new std::map<std::int32_t, KeptMemory>;
    const auto found = all.find(ordinal);
    if (found != all.end()) return &found->second;
    try {
      return &all.emplace(ordinal, cuda_device(ordinal)).first->second;
    } catch (const masu::Error&) {
      return nullptr;
    }
  }
  [[nodiscard]] bool has_zeros(std::uint64_t bytes) const noexcept { return bytes <= all_zeros - used; }
  // Null where there are no more: other threads of Python's may have run since has_zeros().
  void* take_zeros(std::uint64_t bytes) {
    if (!has_zeros(bytes)) return nullptr;
    constexpr std::uint64_t alignment = 32;
    const std::uint64_t at = used;
    used = std::min((at + bytes + alignment - 1) / alignment * alignment, all_zeros);
    return static_cast<std::byte*>(zeros.native()) + at;
  }
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
      std::uint64_t hash = address_of(key.function) ^ static_cast<std::uint64_t>(key.ordinal) << 56;
      for (std::size_t i = 0; i < EnqueuedCall::most_inputs; ++i) {
        const auto dtype = static_cast<std::uint64_t>(key.dtypes[i]);
        hash = mixed(hash, key.counts[i] << 16 ^ dtype << 8 ^ key.misaligned[i]);
      }
      std::uint64_t outputs = 0;
      for (std::size_t i = EnqueuedCall::most_inputs; i < key.dtypes.size(); ++i) {
        outputs = outputs << 16 ^ static_cast<std::uint64_t>(key.dtypes[i]) << 8 ^ key.misaligned[i];
      }
      hash = mixed(hash, outputs);
      for (const std::uint64_t part : key.lines) hash = mixed(hash, part);
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

bool EnqueuedCall::takes(PyObject* array, Tensor& tensor) const {
  return library_of(Py_TYPE(array)) == &library_ && library_.take(array, tensor) && tensor.ordinal == x.ordinal;
}

bool EnqueuedCall::next_input(PyObject* array, Tensor& tensor) {
  if (!takes(array, tensor)) return false;
  input(array, tensor);
  return true;
}

void EnqueuedCall::input(std::span<const std::byte> bytes) {
  locked_ = std::make_unique<Locked>(cuda_device(key_.ordinal), key_.ordinal, bytes.size());
  std::ranges::copy(bytes, locked_->data());
  Tensor tensor;
  tensor.data = locked_->data();
  tensor.count = bytes.size();
  input(nullptr, tensor);
}

bool EnqueuedCall::takes(Output& output) {
  Tensor tensor;
  if (!takes(output.given, tensor) || tensor.dtype != output.dtype || tensor.boolean != output.boolean ||
      !std::ranges::equal(tensor.lengths(), output.shape)) {
    return false;
  }
  const auto begin = address_of(tensor.data);
  const auto is_apart = [&](const void* data, std::uint64_t bytes) {
    return begin + output.bytes <= address_of(data) || address_of(data) + bytes <= begin;
  };
  for (std::size_t i = 0; i < inputs_; ++i) {
    if (!is_apart(addresses_[i], key_.counts[i] * masu::size_of(key_.dtypes[i]))) return false;
  }
  for (const Output* before = made_.data(); before != &output; ++before) {
    if (before->given != nullptr && !is_apart(before->address, before->bytes)) return false;
  }
  output.address = tensor.data;
  return true;
}

bool EnqueuedCall::settle_outputs() {
  for (std::size_t i = 0; i < outputs_; ++i) {
    Output& output = made_[i];
    key_.dtypes[most_inputs + i] = output.dtype;
    output.bytes = masu::size_of(output.dtype);
    for (const std::int64_t length : output.shape) output.bytes *= static_cast<std::uint64_t>(length);
    if (output.given == nullptr) continue;
    if (!takes(output)) return false;
    key_.misaligned[most_inputs + i] = misalignment(output.address);
  }
  return true;
}

bool EnqueuedCall::ask_for_stream() {
  if (!asked_) asked_ = library_.stream(key_.ordinal, stream_);
  return asked_;
}

void EnqueuedCall::settle_zeros() {
  const auto are_there = [&] {
    if (!ask_for_stream()) {
      PyErr_Clear();  // run() asks again
      return false;
    }
    const KeptMemory* const kept = zero_bytes_ <= most_zeros ? KeptMemory::of(key_.ordinal) : nullptr;
    if (kept == nullptr) return false;
    return stream_ == nullptr ||
           (kept->has_zeros(zero_bytes_) && masu::Stream::wrap(cuda_device(key_.ordinal), stream_).capturing());
  };
  if (zero_bytes_ != 0 && !are_there()) zero_bytes_ = 0;
  key_.zeros = zero_bytes_ != 0;
}

bool EnqueuedCall::is_still() {
  Tensor now;
  for (std::size_t i = 0; i < inputs_; ++i) {
    if (objects_[i] == nullptr) continue;
    if (!library_.take(objects_[i], now) || now.data != addresses_[i] || now.count != key_.counts[i] ||
        now.dtype != key_.dtypes[i] || now.ordinal != key_.ordinal) {
      return false;
    }
  }
  for (std::size_t i = 0; i < outputs_; ++i) {
    const Output& output = made_[i];
    if (output.given == nullptr) continue;
    if (!library_.take(output.given, now) || now.data != output.address || now.dtype != output.dtype ||
        !std::ranges::equal(now.lengths(), output.shape)) {
      return false;
    }
  }
  return true;
}

namespace {

// Bytes that are 0 or 1. Other libraries' truth values may be any bytes.
masu::Buffer<std::byte> truth_values(masu::Stream& stream, const masu::Buffer<std::byte>& bytes) {
  masu::Buffer<std::byte> made(stream.device(), bytes.size());
  static_cast<void>(masu::convert(stream, bytes, masu::Dtype::u8, made, masu::Dtype::u8, {.truth = true}));
  return made;
}

}  // namespace

Outcome EnqueuedCall::record(const Commands& commands, const Prepare& prepare) {
  std::vector<masu::Recording::Operand> operands;
  for (std::size_t i = 0; i < inputs_; ++i) {
    operands.push_back({key_.counts[i] * masu::size_of(key_.dtypes[i]), key_.misaligned[i]});
  }
  for (std::size_t i = 0; i < outputs_; ++i) operands.push_back({made_[i].bytes, key_.misaligned[most_inputs + i]});
  if (zero_bytes_ != 0) operands.push_back({zero_bytes_});
  known_ = std::make_shared<Known>();
  try {
    known_->recording = call([&] {
      const masu::Device device = cuda_device(key_.ordinal);
      return masu::Recording(
          device, operands,
          [&](auto buffers) {
            masu::Stream stream(device, masu::Timing::off);
            for (std::size_t i = 0; i < inputs_; ++i) {
              if (key_.boolean[i]) buffers[i] = truth_values(stream, buffers[i]);
            }
            commands(stream, buffers);
          },
          [&] {
            if (prepare) known_->prepared = prepare(device);
          });
    });
  } catch (const masu::Error& error) {
    if (PyErr_Occurred() != nullptr) return Outcome::failed;  // what a handler of a signal raised
    // The usual way of the call raises other errors.
    if (error.code() != masu::ErrorCode::unsupported && error.code() != masu::ErrorCode::invalid_argument) {
      return Outcome::not_plain;
    }
  }
  return Outcome::done;
}

Outcome EnqueuedCall::record_and_keep(const Commands& commands, const Prepare& prepare) {
  if (!ask_for_stream()) return Outcome::failed;
  bool capturing = false;
  try {
    capturing = masu::Stream::wrap(cuda_device(key_.ordinal), stream_).capturing();
  } catch (const masu::Error&) {
    return Outcome::not_plain;
  }
  if (const Outcome outcome = record(commands, prepare); outcome != Outcome::done) return outcome;
  Cache& cache = Cache::instance();
  // To release what is prepared waits for the device, which ends a capture.
  if (cache.entries.size() >= most_kept && !capturing) cache.entries.clear();
  cache.entries.emplace(key_, known_);
  return Outcome::done;
}

Outcome EnqueuedCall::make_ready(const Commands& commands, const Prepare& prepare, bool once) {
  if (!settle_outputs()) return Outcome::not_plain;
  settle_zeros();
  const auto& known = Cache::instance().entries;
  if (const auto found = once ? known.end() : known.find(key_); found != known.end()) {
    known_ = found->second;
    return Outcome::done;
  }
  const Outcome outcome = once ? record(commands, prepare) : record_and_keep(commands, prepare);
  return outcome != Outcome::done || is_still() ? outcome : Outcome::again;
}

Outcome EnqueuedCall::finish(const Commands& commands, const Prepare& prepare, bool once) {
  const Outcome outcome = make_ready(commands, prepare, once);
  return outcome == Outcome::done ? run() : outcome;
}

Outcome EnqueuedCall::finish_and_read(std::span<std::uint64_t> numbers, const Commands& commands,
                                      const Work& meanwhile) {
  const Outcome outcome = make_ready(commands, {});
  return outcome == Outcome::done ? run_and_read(numbers, meanwhile) : outcome;
}

Outcome EnqueuedCall::finish_and_cut(const Commands& commands) {
  std::uint64_t number = 0;
  const Outcome outcome = finish_and_read({&number, 1}, commands);
  return outcome == Outcome::done ? make_shorter(number) : outcome;
}

Outcome EnqueuedCall::run() {
  if (!known_->recording) return Outcome::not_plain;
  const masu::Recording& recording = *known_->recording;
  if (!ask_for_stream()) return Outcome::failed;
  const bool in_order = stream_ == nullptr;  // the default stream
  std::size_t operands = inputs_;
  for (std::size_t i = 0; i < outputs_; ++i) {
    Output& output = made_[i];
    if (output.address == nullptr) {
      if (!output.made.make(library_, key_.ordinal, output.dtype, output.boolean, output.shape)) return Outcome::failed;
      output.address = output.made.data();
    }
    addresses_[operands++] = output.address;
  }
  if (zero_bytes_ != 0) {
    KeptMemory& kept = *KeptMemory::of(key_.ordinal);
    void* const zeros = in_order ? kept.zeros.native() : kept.take_zeros(zero_bytes_);
    if (zeros == nullptr) return Outcome::again;
    addresses_[operands++] = zeros;
  }
  Made workspace;
  const std::uint64_t bytes = recording.workspace_bytes();
  const bool is_little = bytes != 0 && bytes <= kept_workspace_bytes;
  const KeptMemory* const kept = is_little && in_order ? KeptMemory::of(key_.ordinal) : nullptr;
  if (bytes != 0 && kept == nullptr) {
    const std::array<std::int64_t, 1> shape{static_cast<std::int64_t>(bytes)};
    if (!workspace.make(library_, key_.ordinal, masu::Dtype::u8, false, shape)) return Outcome::failed;
  }
  try {
    void* const room = kept != nullptr ? kept->workspace.native() : bytes != 0 ? workspace.data() : nullptr;
    if (locked_ != nullptr) locked_->lend();
    const bool captured = recording.enqueue(stream_, {addresses_.data(), operands}, room);
    if (captured && !known_->captured) {
      known_->captured = true;
      Cache::instance().captured.push_back(known_);
    }
    if (locked_ != nullptr) {
      locked_->keep_after(masu::Stream::wrap(cuda_device(key_.ordinal), stream_).record(), known_);
      locked_.reset();
    }
  } catch (const masu::Error& error) {
    set_exception(error);
    return Outcome::failed;
  }
  return Outcome::done;
}

Outcome EnqueuedCall::run_and_read(std::span<std::uint64_t> numbers, const Work& meanwhile) {
  constexpr std::size_t apart = 16;  // bytes, so that each is aligned as other outputs are
  if (!known_->recording) return Outcome::not_plain;
  if (!ask_for_stream()) return Outcome::failed;
  try {
    const masu::Device device = cuda_device(key_.ordinal);
    masu::Stream stream = masu::Stream::wrap(device, stream_);
    if (stream.capturing()) return Outcome::not_plain;
    Locked memory(device, key_.ordinal, apart * numbers.size());
    std::fill_n(memory.data(), apart * numbers.size(), std::byte{0});
    Output* const outputs = &made_[outputs_ - numbers.size()];
    for (std::size_t i = 0; i < numbers.size(); ++i) outputs[i].address = memory.data() + apart * i;
    memory.lend();
    if (const Outcome outcome = run(); outcome != Outcome::done) return outcome;
    if (meanwhile) {
      const masu::Event found = stream.record();
      if (meanwhile() == Outcome::failed) return Outcome::failed;
      call([&] { found.wait(); });
    } else {
      call([&] { stream.finish(); });
    }
    outputs_ -= numbers.size();
    for (std::size_t i = 0; i < numbers.size(); ++i)
      std::memcpy(&numbers[i], memory.data() + apart * i, sizeof(numbers[i]));
    memory.keep();
  } catch (const masu::Error& error) {
    if (PyErr_Occurred() == nullptr) set_exception(error);
    return Outcome::failed;
  }
  return Outcome::done;
}

Outcome EnqueuedCall::read(const Tensor& tensor, std::span<std::byte> bytes) {
  if (!ask_for_stream()) return Outcome::failed;
  try {
    const masu::Device device = cuda_device(tensor.ordinal);
    if (masu::Stream::wrap(device, stream_).capturing()) return Outcome::not_plain;
    call([&] {
      const masu::StreamScope scope(device, stream_);
      masu::Buffer<std::byte>::wrap_native(device, tensor.data, bytes.size()).read(bytes);
    });
  } catch (const masu::Error& error) {
    if (PyErr_Occurred() == nullptr) set_exception(error);
    return Outcome::failed;
  }
  return Outcome::done;
}

void EnqueuedCall::forget_function() {
  std::erase_if(Cache::instance().entries, [&](const auto& entry) { return entry.first.function == key_.function; });
}

Outcome EnqueuedCall::make_shorter(std::uint64_t length) {
  try {
    const masu::Device device = cuda_device(key_.ordinal);
    // Recorded, since to destroy a stream waits for its commands.
    const auto copy = [&](void* from, void* to, std::uint64_t bytes) {
      const masu::Recording::Operand operands[]{{bytes}, {bytes}};
      void* const addresses[]{from, to};
      const masu::Recording recording(device, operands, [&](auto buffers) {
        masu::Stream(device, masu::Timing::off).copy(buffers[1], buffers[0]);
      });
      recording.enqueue(stream_, addresses, nullptr);
    };
    const std::array<std::int64_t, 1> shape{static_cast<std::int64_t>(length)};
    for (std::size_t i = 0; i < outputs_; ++i) {
      Output& output = made_[i];
      if (output.is_whole) continue;
      const std::uint64_t bytes = length * masu::size_of(output.dtype);
      if (bytes >= output.bytes) continue;
      // To copy takes longer than the memory is worth.
      if (output.bytes <= most_spare_bytes) {
        output.given_length = static_cast<std::int64_t>(length);
        continue;
      }
      Made cut;
      if (!cut.make(library_, key_.ordinal, output.dtype, output.boolean, shape)) return Outcome::failed;
      if (bytes != 0) copy(output.made.data(), cut.data(), bytes);
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
  if (results == nullptr || type_ == nullptr) return results;
  PyObject* const made = PyObject_CallObject(type_, results);
  Py_DECREF(results);
  return made;
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
