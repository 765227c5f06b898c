// SPDX-License-Identifier: Apache-2.0
// Commands taken down, and given to streams later with other memory (masu/recording.h).
#pragma once

#include "backends/cuda/memory.h"
#include "backends/cuda/module.h"
#include "runtime/backend.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace masu::cuda {

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
  bool enqueue(void* queue, std::span<void* const> operands, void* workspace) const override;

 private:
  friend class Recorder;
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
  explicit Recorder(std::shared_ptr<Context> context);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  std::unique_ptr<runtime::Stream> make_stream() override;
  std::shared_ptr<runtime::Memory> add_operand(std::uint64_t bytes, unsigned misaligned) override;
  std::shared_ptr<runtime::Memory> allocate(std::uint64_t bytes) override;
  std::shared_ptr<const runtime::Recorded> finish() override;

  void launch(Kernel& kernel, const NDRange& range, std::span<const KernelArgument> arguments, Together together);
  void write(runtime::Memory& target, std::uint64_t offset, const void* source, std::uint64_t bytes);
  void copy(runtime::Memory& target, std::uint64_t target_offset, runtime::Memory& source, std::uint64_t source_offset,
            std::uint64_t bytes);
  void fill(runtime::Memory& target, std::uint64_t offset, std::uint64_t bytes, const void* pattern,
            std::size_t pattern_size);

 private:
  struct Known {
    std::uint64_t serial;
    Place place;
  };
  Place place_of(runtime::Memory& memory, std::uint64_t offset);
  std::uint32_t store(const void* bytes, std::size_t size);

  std::shared_ptr<Context> context_;
  std::shared_ptr<Recorded> recorded_;
  std::vector<Known> known_;  // operands, and memory that has got a part of the workspace
};

}  // namespace masu::cuda
