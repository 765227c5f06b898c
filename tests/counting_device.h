// SPDX-License-Identifier: Apache-2.0
// A device in front of a real one that counts what calls ask of it beside launching. Memory, modules and kernels are
// the real ones, so what runs is the same.
#pragma once

#include "runtime/backend.h"

#include <masu/device.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::test {

// A command, to be given again while what it works on is there: a launch, a copy, or a fill.
struct NotedCommand {
  runtime::Kernel* kernel = nullptr;
  NDRange range{1};
  std::vector<KernelArgument> arguments{};
  runtime::Memory* target = nullptr;
  std::uint64_t target_offset = 0;
  runtime::Memory* source = nullptr;  // null: it is filled
  std::uint64_t source_offset = 0;
  std::uint64_t bytes = 0;
  std::vector<std::byte> pattern{};
};

struct Counts {
  std::atomic<unsigned> allocations{0};        // of device memory, wrapped host memory included
  std::atomic<unsigned> host_memory{0};        // page-locked memory
  std::atomic<unsigned> waits{0};              // of the host, for a stream or an event
  std::atomic<unsigned> reads{0};              // to host memory, maps included
  std::atomic<unsigned> writes{0};             // from host memory
  std::atomic<unsigned> compilations{0};       // programs that are loaded included
  std::atomic<unsigned> streams{0};            // made or wrapped
  std::atomic<unsigned> odd_fills{0};          // with patterns for which a backend makes memory of its own
  std::atomic<unsigned> commands{0};           // launches, copies, fills
  std::atomic<unsigned> events{0};             // of commands, and points in streams
  std::atomic<bool> capturing{false};          // what streams say of themselves
  std::vector<NotedCommand>* noted = nullptr;  // where commands are noted, if they are

  // The names of those that are not zero since the last call.
  std::vector<std::string> take() {
    const std::pair<const char*, std::atomic<unsigned>*> all[] = {{"allocations", &allocations},
                                                                  {"host memory", &host_memory},
                                                                  {"waits", &waits},
                                                                  {"reads", &reads},
                                                                  {"writes", &writes},
                                                                  {"compilations", &compilations},
                                                                  {"streams", &streams},
                                                                  {"odd fills", &odd_fills},
                                                                  {"commands", &commands}};
    std::vector<std::string> names;
    for (const auto& [name, count] : all) {
      if (count->exchange(0) != 0) names.emplace_back(name);
    }
    return names;
  }
};

class CountingEvent final : public runtime::Event {
 public:
  CountingEvent(std::shared_ptr<runtime::Event> real, std::shared_ptr<Counts> counts)
      : real_(std::move(real)), counts_(std::move(counts)) {}
  bool ready() override { return real_->ready(); }
  void wait() override {
    ++counts_->waits;
    real_->wait();
  }
  double seconds() override {
    ++counts_->waits;
    return real_->seconds();
  }
  double seconds_since(const runtime::Event& earlier) override {
    ++counts_->waits;
    return real_->seconds_since(*dynamic_cast<const CountingEvent&>(earlier).real_);
  }
  runtime::Event& real() { return *real_; }

 private:
  std::shared_ptr<runtime::Event> real_;
  std::shared_ptr<Counts> counts_;
};

class CountingStream final : public runtime::Stream {
 public:
  CountingStream(std::unique_ptr<runtime::Stream> real, std::shared_ptr<Counts> counts)
      : real_(std::move(real)), counts_(std::move(counts)) {}

  [[nodiscard]] void* native() const noexcept override { return real_->native(); }
  Done write(runtime::Memory& target, std::uint64_t offset, const void* source, std::uint64_t bytes) override {
    ++counts_->writes;
    return event(real_->write(target, offset, source, bytes));
  }
  Done read(runtime::Memory& source, std::uint64_t offset, void* target, std::uint64_t bytes,
            runtime::Mark mark) override {
    ++counts_->reads;
    return event(real_->read(source, offset, target, bytes, mark));
  }
  Done copy(runtime::Memory& target, std::uint64_t target_offset, runtime::Memory& source, std::uint64_t source_offset,
            std::uint64_t bytes, runtime::Mark mark) override {
    ++counts_->commands;
    if (counts_->noted != nullptr) {
      counts_->noted->push_back({.target = &target,
                                 .target_offset = target_offset,
                                 .source = &source,
                                 .source_offset = source_offset,
                                 .bytes = bytes});
    }
    return event(real_->copy(target, target_offset, source, source_offset, bytes, mark));
  }
  Done fill(runtime::Memory& target, std::uint64_t offset, std::uint64_t bytes, const void* pattern,
            std::size_t pattern_size, runtime::Mark mark) override {
    ++counts_->commands;
    // OpenCL's command takes powers of two, CUDA's patterns of 1, 2 or 4 bytes.
    const auto* unit = static_cast<const std::byte*>(pattern);
    const std::size_t word = std::min<std::size_t>(pattern_size, 4);
    const bool repeats = std::equal(unit + word, unit + pattern_size, unit);
    if (!std::has_single_bit(pattern_size) || !repeats || offset % pattern_size != 0) ++counts_->odd_fills;
    if (counts_->noted != nullptr) {
      counts_->noted->push_back({.target = &target,
                                 .target_offset = offset,
                                 .bytes = bytes,
                                 .pattern = std::vector<std::byte>(unit, unit + pattern_size)});
    }
    return event(real_->fill(target, offset, bytes, pattern, pattern_size, mark));
  }
  void* map(runtime::Memory& memory, std::uint64_t offset, std::uint64_t bytes, MapMode mode) override {
    ++counts_->reads;
    return real_->map(memory, offset, bytes, mode);
  }
  void unmap(runtime::Memory& memory, std::uint64_t offset, std::uint64_t bytes, void* address, MapMode mode) override {
    real_->unmap(memory, offset, bytes, address, mode);
  }
  Done launch(runtime::Kernel& kernel, const NDRange& range, std::span<const KernelArgument> arguments,
              runtime::Mark mark) override {
    ++counts_->commands;
    if (counts_->noted != nullptr) {
      counts_->noted->push_back({.kernel = &kernel,
                                 .range = range,
                                 .arguments = std::vector<KernelArgument>(arguments.begin(), arguments.end())});
    }
    return event(real_->launch(kernel, range, arguments, mark));
  }
  Done launch_together(runtime::Kernel& kernel, const NDRange& range, std::span<const KernelArgument> arguments,
                       runtime::Mark mark) override {
    ++counts_->commands;
    return event(real_->launch_together(kernel, range, arguments, mark));
  }
  Done record() override { return event(real_->record()); }
  Done end() override { return event(real_->end()); }
  void wait(runtime::Event& other) override {
    auto* own = dynamic_cast<CountingEvent*>(&other);
    real_->wait(own != nullptr ? own->real() : other);
  }
  void finish() override {
    ++counts_->waits;
    real_->finish();
  }
  [[nodiscard]] bool capturing() const override { return counts_->capturing; }

 private:
  [[nodiscard]] Done event(Done real) const {
    if (real != nullptr) ++counts_->events;
    return real != nullptr ? std::make_shared<CountingEvent>(std::move(real), counts_) : nullptr;
  }

  std::unique_ptr<runtime::Stream> real_;
  std::shared_ptr<Counts> counts_;
};

class CountingDevice final : public runtime::Device {
 public:
  explicit CountingDevice(std::shared_ptr<runtime::Device> real) : CountingDevice(real, real->info()) {}
  // One that says of itself what `info` is.
  CountingDevice(std::shared_ptr<runtime::Device> real, DeviceInfo info) : real_(std::move(real)) {
    info_ = std::move(info);
  }
  ~CountingDevice() override { release_kept(); }
  CountingDevice(const CountingDevice&) = delete;
  CountingDevice& operator=(const CountingDevice&) = delete;

  [[nodiscard]] Counts& counts() const noexcept { return *counts_; }

  [[nodiscard]] void* native_context() const noexcept override { return real_->native_context(); }
  [[nodiscard]] void* native_device() const noexcept override { return real_->native_device(); }
  std::shared_ptr<runtime::Memory> allocate(std::uint64_t bytes) override {
    ++counts_->allocations;
    return real_->allocate(bytes);
  }
  std::shared_ptr<runtime::Memory> wrap_host(void* data, std::uint64_t bytes, bool read_only) override {
    ++counts_->allocations;
    return real_->wrap_host(data, bytes, read_only);
  }
  std::shared_ptr<runtime::Memory> wrap_native(void* handle, std::uint64_t bytes) override {
    return real_->wrap_native(handle, bytes);
  }
  std::shared_ptr<runtime::HostMemory> allocate_host(std::uint64_t bytes) override {
    ++counts_->host_memory;
    return real_->allocate_host(bytes);
  }
  [[nodiscard]] bool is_page_locked(const void* data, std::uint64_t bytes) const noexcept override {
    return real_->is_page_locked(data, bytes);
  }
  std::unique_ptr<runtime::Stream> make_stream(Timing timing) override { return counted(real_->make_stream(timing)); }
  std::unique_ptr<runtime::Stream> wrap_stream(void* native, Timing timing) override {
    return counted(real_->wrap_stream(native, timing));
  }
  void synchronize() override {
    ++counts_->waits;
    real_->synchronize();
  }
  std::shared_ptr<runtime::Module> compile(std::string_view text, std::string_view options) override {
    ++counts_->compilations;
    return real_->compile(text, options);
  }
  std::shared_ptr<runtime::Module> load(std::string_view binary) override {
    ++counts_->compilations;
    return real_->load(binary);
  }
  [[nodiscard]] std::string cache_identity() const override { return real_->cache_identity(); }
  [[nodiscard]] std::string_view prelude() const noexcept override { return real_->prelude(); }
  [[nodiscard]] std::string_view kernel_options() const noexcept override { return real_->kernel_options(); }

 private:
  std::unique_ptr<runtime::Stream> counted(std::unique_ptr<runtime::Stream> real) {
    ++counts_->streams;
    return std::make_unique<CountingStream>(std::move(real), counts_);
  }

  std::shared_ptr<runtime::Device> real_;
  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace masu::test
