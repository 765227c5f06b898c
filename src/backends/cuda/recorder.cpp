// SPDX-License-Identifier: Apache-2.0
// Commands taken down, and given to streams later with other memory (masu/stream.h).
#include "backends/cuda/device.h"

#include "backends/cuda/memory.h"
#include "backends/cuda/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace masu::cuda {
namespace {

constexpr std::uint64_t workspace_alignment = 256;
constexpr std::uint32_t workspace_base = 1;
constexpr std::uint32_t first_operand = 2;
constexpr std::size_t most_parameters = 64;
constexpr std::size_t most_operands = 16;

[[noreturn]] void refuse(std::string_view what) {
  throw Error(ErrorCode::unsupported, fmt::format("Recording: calls must only launch, copy and fill, got {}", what));
}

// An address that is known when commands are given to a stream: that of a base, and an offset. Base 0 is address 0,
// base 1 the workspace; then come the operands.
struct Place {
  std::uint32_t base = 0;
  std::uint64_t offset = 0;
};

class Recorded final : public runtime::Recorded {
 public:
  explicit Recorded(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  [[nodiscard]] std::uint64_t workspace_bytes() const noexcept override { return workspace_bytes_; }
  bool enqueue(void* queue, std::span<void* const> operands, void* workspace) const override {
    if (operands.size() != operands_) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("Recording::enqueue: there must be {} operands, got {}", operands_, operands.size()));
    }
    if (workspace_bytes_ != 0 && reinterpret_cast<std::uintptr_t>(workspace) % workspace_alignment != 0) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("Recording::enqueue: the workspace must begin at a multiple of {} bytes, got {}",
                              workspace_alignment, workspace));
    }
    std::array<CUdeviceptr, first_operand + most_operands> bases{};
    bases[workspace_base] = reinterpret_cast<std::uintptr_t>(workspace);
    for (std::size_t i = 0; i < operands_; ++i) {
      bases[first_operand + i] = reinterpret_cast<std::uintptr_t>(operands[i]);
    }
    const auto address_of = [&](const Place& place) { return bases[place.base] + place.offset; };

    auto* const stream = static_cast<CUstream>(queue);
    const ContextScope scope(*context_);
    const Driver& driver = context_->driver();
    const bool captures = is_capturing(driver, stream);
    const bool waits = !captures && runtime::waits_for_launches();
    if (captures) {
      for (const auto& image : images_) image->keep_loaded();
    }
    std::array<CUdeviceptr, most_parameters> addresses;
    std::array<void*, most_parameters> parameters;
    for (const Command& command : commands_) {
      if (command.kind == Kind::launch) {
        for (std::size_t i = 0; i < command.parameters; ++i) {
          const Parameter& parameter = parameters_[command.first_parameter + i];
          if (parameter.is_address) {
            addresses[i] = address_of(parameter.place);
            parameters[i] = &addresses[i];
          } else {
            parameters[i] = const_cast<std::uint64_t*>(&values_[parameter.at]);  // the driver only reads it
          }
        }
        launch(*context_, stream,
               {command.function, command.shape, command.local_bytes, {parameters.data(), command.parameters}},
               command.together);
        if (waits) context_->check(driver.stream_synchronize(stream), "MASU_SYNC: cuStreamSynchronize");
      } else if (command.kind == Kind::copy) {
        context_->check(
            driver.memcpy_dtod_async(address_of(command.to), address_of(command.from), command.bytes, stream),
            "cuMemcpyDtoDAsync");
      } else {
        fill_units(*context_, stream, address_of(command.to), {command.pattern, command.pattern_bytes}, command.bytes);
      }
    }
    return captures;
  }

 private:
  friend class Recorder;
  friend class RecordingStream;
  enum class Kind : std::uint8_t { launch, fill, copy };
  struct Command {
    Kind kind;
    Together together = Together::no;
    CUfunction function = nullptr;
    LaunchShape shape{};
    unsigned local_bytes = 0;
    std::uint32_t first_parameter = 0;  // of those of all launches
    std::uint32_t parameters = 0;
    Place to{};
    Place from{};
    std::uint64_t bytes = 0;
    std::uint32_t pattern = 0;
    std::uint32_t pattern_bytes = 0;
  };
  // Bytes of `values_` from `at` on, or, where it is an address, eight that are made of it.
  struct Parameter {
    bool is_address;
    std::uint32_t at;
    Place place{};
  };

  std::shared_ptr<Context> context_;
  std::size_t operands_ = 0;
  std::uint64_t workspace_bytes_ = 0;
  std::vector<Command> commands_;
  std::vector<Parameter> parameters_;
  std::vector<std::uint64_t> values_;  // each from a multiple of 16 bytes on
  std::vector<std::shared_ptr<LoadedImage>> images_;
  std::vector<std::shared_ptr<Memory>> constants_;  // what calls wrote from host memory
};

class Recorder final : public runtime::Recorder {
 public:
  explicit Recorder(std::shared_ptr<Context> context)
      : context_(std::move(context)), recorded_(std::make_shared<Recorded>(context_)) {}
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  std::unique_ptr<runtime::Stream> make_stream() override;
  std::shared_ptr<runtime::Memory> add_operand(std::uint64_t bytes, unsigned misaligned) override {
    if (recorded_->operands_ == most_operands) refuse(fmt::format("more than {} operands", most_operands));
    std::shared_ptr<Memory> memory = Memory::imagine(context_, bytes, misaligned);
    known_.push_back({memory->serial(), {static_cast<std::uint32_t>(first_operand + recorded_->operands_++), 0}});
    return memory;
  }
  std::shared_ptr<runtime::Memory> allocate(std::uint64_t bytes) override { return Memory::imagine(context_, bytes); }
  std::shared_ptr<const runtime::Recorded> finish() override { return recorded_; }

 private:
  friend class RecordingStream;
  struct Known {
    std::uint64_t serial;
    Place place;
  };
  Place place_of(runtime::Memory& memory, std::uint64_t offset) {
    const auto known = std::ranges::find(known_, memory.serial(), &Known::serial);
    if (known != known_.end()) return {known->place.base, known->place.offset + offset};
    if (!own_memory(memory, *context_, "Recording").imagined()) {  // the caller keeps it
      return {0, reinterpret_cast<std::uintptr_t>(memory.native()) + offset};
    }
    std::uint64_t& end = recorded_->workspace_bytes_;
    known_.push_back({memory.serial(), {workspace_base, end}});
    const Place place{workspace_base, end + offset};
    end += (memory.bytes() + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
    return place;
  }
  std::uint32_t store(const void* bytes, std::size_t size) {
    std::vector<std::uint64_t>& values = recorded_->values_;
    const std::size_t at = values.size();
    values.resize(at + (size + 15) / 16 * 2);
    std::memcpy(&values[at], bytes, size);
    return static_cast<std::uint32_t>(at);
  }

  std::shared_ptr<Context> context_;
  std::shared_ptr<Recorded> recorded_;
  std::vector<Known> known_;  // operands, and memory that has got a part of the workspace
};

// A stream of calls that are recorded. Its commands have no events, since they do not run.
class RecordingStream final : public runtime::Stream {
 public:
  explicit RecordingStream(Recorder& recorder) : recorder_(recorder), recorded_(*recorder.recorded_) {}
  [[nodiscard]] void* native() const noexcept override { return nullptr; }
  Done write(runtime::Memory& target, std::uint64_t offset, const void* source, std::uint64_t bytes) override {
    if (bytes == 0) return nullptr;
    const auto& constant = recorded_.constants_.emplace_back(Memory::allocate(recorder_.context_, bytes));
    const auto stream = cuda::make_stream(recorder_.context_, Timing::off);
    stream->write(*constant, 0, source, bytes);
    stream->finish();
    // Its address is given away, so its release waits for the work that may use it.
    return copy(target, offset, *constant, 0, bytes, {});
  }
  Done read(runtime::Memory&, std::uint64_t, void*, std::uint64_t, Mark) override { refuse("a read to host memory"); }
  Done copy(runtime::Memory& target, std::uint64_t target_offset, runtime::Memory& source, std::uint64_t source_offset,
            std::uint64_t bytes, Mark /*mark*/) override {
    if (bytes == 0) return nullptr;
    recorded_.commands_.push_back({.kind = Recorded::Kind::copy,
                                   .to = recorder_.place_of(target, target_offset),
                                   .from = recorder_.place_of(source, source_offset),
                                   .bytes = bytes});
    return nullptr;
  }
  Done fill(runtime::Memory& target, std::uint64_t offset, std::uint64_t bytes, const void* pattern,
            std::size_t pattern_size, Mark /*mark*/) override {
    if (bytes == 0) return nullptr;
    const std::uint64_t address = own_memory(target, *recorder_.context_, "fill").address() + offset;
    const FillUnit unit = fill_unit(address, pattern, pattern_size);
    if (unit.bytes == 0) refuse("a fill with a pattern of more than 4 bytes");
    recorded_.commands_.push_back({.kind = Recorded::Kind::fill,
                                   .to = recorder_.place_of(target, offset),
                                   .bytes = bytes,
                                   .pattern = unit.word,
                                   .pattern_bytes = unit.bytes});
    return nullptr;
  }
  void* map(runtime::Memory&, std::uint64_t, std::uint64_t, MapMode) override { refuse("a mapping"); }
  void unmap(runtime::Memory&, std::uint64_t, std::uint64_t, void*, MapMode) override {}
  Done launch(runtime::Kernel& kernel, const NDRange& range, std::span<const KernelArgument> arguments,
              Mark /*mark*/) override {
    return launch(dynamic_cast<Kernel&>(kernel), range, arguments, Together::no);
  }
  Done launch_together(runtime::Kernel& kernel, const NDRange& range, std::span<const KernelArgument> arguments,
                       Mark /*mark*/) override {
    return launch(dynamic_cast<Kernel&>(kernel), range, arguments, Together::yes);
  }
  Done record() override { return nullptr; }
  void wait(runtime::Event&) override { refuse("an event of another stream"); }
  void finish() override {}  // commands of all its streams are taken down in order

 private:
  Done launch(Kernel& kernel, const NDRange& range, std::span<const KernelArgument> arguments, Together together) {
    const ContextScope scope(*recorder_.context_);
    const Kernel::Call call = kernel.prepare(range, arguments);
    Recorded::Command command{.kind = Recorded::Kind::launch};
    command.together = together;
    command.function = call.function;
    command.shape = call.shape;
    command.local_bytes = call.local_bytes;
    command.first_parameter = static_cast<std::uint32_t>(recorded_.parameters_.size());
    command.parameters = static_cast<std::uint32_t>(call.parameters.size());
    if (call.parameters.size() > most_parameters) refuse(fmt::format("{} parameters", call.parameters.size()));
    std::size_t parameter = 0;
    for (const KernelArgument& argument : arguments) {
      const bool local = argument.kind() == KernelArgument::Kind::local;
      if (local && !kernel.local_is_parameter()) continue;
      const void* value = call.parameters[parameter++];
      if (argument.kind() == KernelArgument::Kind::buffer && argument.memory() != nullptr) {
        recorded_.parameters_.push_back({true, 0, recorder_.place_of(*argument.memory(), argument.offset())});
      } else {
        const bool is_value = argument.kind() == KernelArgument::Kind::value;
        recorded_.parameters_.push_back(
            {false, recorder_.store(value, is_value ? argument.size() : sizeof(CUdeviceptr)), {}});
      }
    }
    recorded_.commands_.push_back(command);
    if (std::ranges::find(recorded_.images_, kernel.image()) == recorded_.images_.end()) {
      recorded_.images_.push_back(kernel.image());
    }
    return nullptr;
  }

  Recorder& recorder_;
  Recorded& recorded_;
};

std::unique_ptr<runtime::Stream> Recorder::make_stream() {
  return std::make_unique<RecordingStream>(*this);
}

}  // namespace

std::unique_ptr<runtime::Recorder> make_recorder(std::shared_ptr<Context> context) {
  return std::make_unique<Recorder>(std::move(context));
}

}  // namespace masu::cuda
