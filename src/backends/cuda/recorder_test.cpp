// SPDX-License-Identifier: Apache-2.0
// Recorded calls on tests/fake_cuda, whose kernel `plain` adds a number to each element: what is repeated, on which
// memory, and what is refused.
#include "backends/cuda/device.h"
#include "expect_error.h"
#include "fake_cuda/fake_driver.h"

#include <gtest/gtest.h>
#include <masu/buffer.h>
#include <masu/stream.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace masu::cuda {
namespace {

using RecorderWords = Buffer<std::uint32_t>;
using RecorderOperands = std::vector<Recording::Operand>;

constexpr std::string_view recorder_ptx = ".version 8.0\n.visible .entry plain(\n)\n";
constexpr std::uint64_t recorder_count = 64;
constexpr std::uint64_t recorder_bytes = recorder_count * sizeof(std::uint32_t);

class CudaRecorderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(loaded_.usable()) << loaded_.why;
    device_ = make_device(Context::primary(loaded_.functions, 0, "Fake"), list_devices(loaded_).at(0).info);
    kernel_ = device_->load(pack(Image{true, LocalConvention::dynamic, std::string(recorder_ptx)}))->kernel("plain");
  }
  void TearDown() override {
    kernel_.reset();
    device_.reset();
    if (!loaded_.usable()) return;  // SetUp has failed
    EXPECT_EQ(ask_fake_driver("fake_cuda_live"), 0);
  }
  [[nodiscard]] masu::Device device() const { return masu::Device(device_); }
  [[nodiscard]] RecorderWords words(std::uint32_t value) const {
    RecorderWords made(device(), recorder_count);
    made.fill(value);
    return made;
  }
  // Adds to every element of a buffer of `recorder_count` words.
  void add(masu::Stream& stream, const BufferBase& data, std::uint32_t by) const {
    const std::array<KernelArgument, 2> arguments{KernelArgument(data), KernelArgument(by)};
    stream.implementation().launch(*kernel_, NDRange(recorder_count, recorder_count), arguments, Mark::no);
  }
  static void expect(const RecorderWords& data, std::uint32_t value) {
    EXPECT_EQ(data.read(), std::vector<std::uint32_t>(recorder_count, value));
  }

  Loaded<Driver> loaded_ = load_driver(fake_driver.c_str());
  std::shared_ptr<runtime::Device> device_;
  std::shared_ptr<runtime::Kernel> kernel_;
};

TEST_F(CudaRecorderTest, RepeatsLaunchesCopiesAndFillsOnOtherMemory) {
  const int launches = ask_fake_driver("fake_cuda_launches");
  const int allocations = ask_fake_driver("fake_cuda_allocations");
  const RecorderOperands operands{{recorder_bytes}, {recorder_bytes}};
  const Recording recording(device(), operands, [&](std::span<Buffer<std::byte>> data) {
    masu::Stream stream(device(), Timing::off);
    Buffer<std::byte> more(device(), recorder_bytes);  // of the workspace
    stream.copy(more, data[0]);
    add(stream, more, 10);
    stream.copy(data[1], more);
    stream.fill(data[0], std::byte{0});
    add(stream, data[1].slice(0, recorder_bytes), 1);
    stream.finish();  // nothing runs yet
  });
  EXPECT_EQ(ask_fake_driver("fake_cuda_launches"), launches);
  EXPECT_EQ(ask_fake_driver("fake_cuda_allocations"), allocations);
  EXPECT_EQ(recording.workspace_bytes(), 256U);
  const RecorderWords workspace(device(), recording.workspace_bytes() / sizeof(std::uint32_t));
  for (const std::uint32_t value : {5U, 7U}) {
    const RecorderWords from = words(value);
    const RecorderWords to = words(0);
    const std::array<void*, 2> addresses{from.native(), to.native()};
    EXPECT_FALSE(recording.enqueue(nullptr, addresses, workspace.native()));
    expect(from, 0);
    expect(to, value + 11);
  }
  EXPECT_EQ(ask_fake_driver("fake_cuda_launches"), launches + 4);
}

TEST_F(CudaRecorderTest, KeepsWhatCallsWriteAndWhatWasPrepared) {
  std::optional<RecorderWords> prepared;
  std::optional<Recording> recording;
  {
    std::vector<std::uint32_t> numbers(recorder_count, 40);
    recording.emplace(
        device(), RecorderOperands{{recorder_bytes}, {recorder_bytes}},
        [&](std::span<Buffer<std::byte>> data) {
          data[0].write(std::as_bytes(std::span(numbers)));
          masu::Stream stream(device(), Timing::off);
          const Buffer<std::byte> ready(device(), prepared->memory(), 0, recorder_bytes);
          stream.copy(data[1], ready);
          add(stream, data[1], 2);
        },
        [&] { prepared.emplace(words(8)); });
    numbers.assign(recorder_count, 0);
  }
  EXPECT_EQ(recording->workspace_bytes(), 0U);
  for (int turn = 0; turn < 2; ++turn) {
    const RecorderWords written = words(0);
    const RecorderWords copied = words(0);
    const std::array<void*, 2> addresses{written.native(), copied.native()};
    recording->enqueue(nullptr, addresses, nullptr);
    expect(written, 40);
    expect(copied, 10);
  }
}

TEST_F(CudaRecorderTest, TellsWhetherAGraphCaptures) {
  const Recording recording(device(), RecorderOperands{{recorder_bytes}}, [&](std::span<Buffer<std::byte>> data) {
    masu::Stream stream(device(), Timing::off);
    add(stream, data[0], 1);
  });
  const RecorderWords data = words(1);
  const std::array<void*, 1> address{data.native()};
  constexpr std::uintptr_t captured = 0x9000;  // as the fake driver has it
  EXPECT_FALSE(recording.enqueue(reinterpret_cast<void*>(captured - 1), address, nullptr));
  EXPECT_TRUE(recording.enqueue(reinterpret_cast<void*>(captured), address, nullptr));
  EXPECT_TRUE(masu::Stream::wrap(device(), reinterpret_cast<void*>(captured)).capturing());
  EXPECT_FALSE(masu::Stream(device()).capturing());
  // What waits is refused before the driver ends the capture for it.
  {
    masu::Stream stream = masu::Stream::wrap(device(), reinterpret_cast<void*>(captured));
    add(stream, data, 1);
    MASU_EXPECT_ERROR(stream.finish(), invalid_argument, "while a graph is captured");
    using Three = std::array<std::uint8_t, 3>;
    Buffer<Three> threes(device(), 10);
    MASU_EXPECT_ERROR(stream.fill(threes, Three{1, 2, 3}), unsupported, "Stream::fill");
  }
  EXPECT_EQ(ask_fake_driver("fake_cuda_synchronized_captures"), 0);
}

// A graph may be replayed when nothing of masu's holds the module any more.
TEST_F(CudaRecorderTest, ModulesOfCapturedLaunchesStayLoaded) {
  const RecorderWords data = words(1);
  const std::array<void*, 1> address{data.native()};
  const auto unloads = [&](auto&& use) {
    kernel_ = device_->load(pack(Image{true, LocalConvention::dynamic, std::string(recorder_ptx)}))->kernel("plain");
    use();
    const int before = ask_fake_driver("fake_cuda_live");
    kernel_.reset();
    return ask_fake_driver("fake_cuda_live") == before - 1;
  };
  const auto launch = [&](std::uintptr_t queue) {
    masu::Stream stream = masu::Stream::wrap(device(), reinterpret_cast<void*>(queue));
    add(stream, data, 1);
  };
  const auto record = [&](std::uintptr_t queue) {
    const Recording recording(device(), RecorderOperands{{recorder_bytes}}, [&](std::span<Buffer<std::byte>> operands) {
      masu::Stream stream(device(), Timing::off);
      add(stream, operands[0], 1);
    });
    recording.enqueue(reinterpret_cast<void*>(queue), address, nullptr);
  };
  constexpr std::uintptr_t captured = 0x9000;  // as the fake driver has it
  EXPECT_TRUE(unloads([&] { launch(captured - 1); }));
  EXPECT_TRUE(unloads([&] { record(captured - 1); }));
  EXPECT_FALSE(unloads([&] { launch(captured); }));
  EXPECT_FALSE(unloads([&] { record(captured); }));
}

TEST_F(CudaRecorderTest, RefusesWhatCannotBeRepeated) {
  std::array<std::byte, recorder_bytes> there{};
  const auto recorded = [&](const auto& calls) {
    return Recording(device(), RecorderOperands{{recorder_bytes}}, calls);
  };
  MASU_EXPECT_ERROR(recorded([&](std::span<Buffer<std::byte>> data) { data[0].read(there); }), unsupported,
                    "Recording: calls must only launch, copy and fill, got a read to host memory");
  MASU_EXPECT_ERROR(recorded([&](std::span<Buffer<std::byte>> data) {
                      masu::Stream stream(device());
                      static_cast<void>(stream.map(data[0]));
                    }),
                    unsupported, "got a mapping");
  const Recording nothing = recorded([](std::span<Buffer<std::byte>>) {});
  MASU_EXPECT_ERROR(nothing.enqueue(nullptr, {}, nullptr), invalid_argument, "there must be 1 operands, got 0");
  const Recording scratch = recorded([&](std::span<Buffer<std::byte>> data) {
    masu::Stream stream(device(), Timing::off);
    Buffer<std::byte> more(device(), recorder_bytes);
    stream.copy(more, data[0]);
  });
  const RecorderWords data = words(0);
  const std::array<void*, 1> address{data.native()};
  MASU_EXPECT_ERROR(scratch.enqueue(nullptr, address, reinterpret_cast<void*>(std::uintptr_t{16})), invalid_argument,
                    "a multiple of 256 bytes");
  MASU_EXPECT_ERROR(
      Recording(masu::Device::open("cpu"), RecorderOperands{{recorder_bytes}}, [](std::span<Buffer<std::byte>>) {}),
      unsupported, "must be a CUDA device, got cpu");
  // A refused recording leaves no trace: calls run as before.
  const RecorderWords after = words(3);
  expect(after, 3);
}

}  // namespace
}  // namespace masu::cuda
