// SPDX-License-Identifier: Apache-2.0
// Kernels and launches on tests/fake_cuda: names, parameters, and what is refused before the driver is asked.
#include "backends/cuda/device.h"
#include "expect_error.h"
#include "fake_cuda/fake_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <masu/buffer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace masu::cuda {
namespace {

using runtime::Mark;
using Kind = KernelParameter::Kind;

constexpr std::string_view ptx = ".version 8.0\n.visible .entry plain(\n)\n.visible .entry _Z3addPjj(\n)\n";

class CudaKernelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(loaded_.usable()) << loaded_.why;
    device_ = make_device(Context::primary(loaded_.functions, 0, "Fake"), list_devices(loaded_).at(0).info);
    stream_ = device_->make_stream(Timing::on);
    module_ = device_->load(pack(Image{true, LocalConvention::dynamic, std::string(ptx)}));
    ASSERT_NE(module_, nullptr);
  }
  void TearDown() override {
    module_.reset();
    stream_.reset();
    device_.reset();
    if (!loaded_.usable()) return;  // SetUp has failed
    EXPECT_EQ(ask_fake_driver("fake_cuda_live"), 0);
  }
  template <class T>
  [[nodiscard]] Buffer<T> buffer(std::uint64_t count) const {
    return Buffer<T>(masu::Device(device_), device_->allocate(count * sizeof(T)), 0, count * sizeof(T));
  }
  void launch(runtime::Kernel& kernel, const NDRange& range, const std::vector<KernelArgument>& arguments) const {
    stream_->launch(kernel, range, arguments, Mark::yes)->wait();
  }
  Loaded<Driver> loaded_ = load_driver(fake_driver.c_str());
  std::shared_ptr<runtime::Device> device_;
  std::unique_ptr<runtime::Stream> stream_;
  std::shared_ptr<runtime::Module> module_;
};

TEST_F(CudaKernelTest, KernelsHaveTheNamesOfTheSource) {
  EXPECT_THAT(module_->kernel_names(), ::testing::UnorderedElementsAre("add", "plain"));
  EXPECT_EQ(module_->kernel("add")->name(), "add");
  EXPECT_EQ(module_->kernel("_Z3addPjj")->name(), "add");
  EXPECT_EQ(module_->kernel("plain")->name(), "plain");
  MASU_EXPECT_ERROR(module_->kernel("none"), invalid_argument, "Program::kernel: the program has the kernels");
  const auto twice = device_->load(
      pack(Image{true, LocalConvention::dynamic, ".version 8.0\n.entry _Z3addPjj()\n.entry _Z3addPff()\n"}));
  EXPECT_THAT(twice->kernel_names(), ::testing::UnorderedElementsAre("_Z3addPjj", "_Z3addPff"));
  MASU_EXPECT_ERROR(twice->kernel("add"), invalid_argument, "_Z3addPjj");
  EXPECT_EQ(twice->kernel("_Z3addPjj")->name(), "add");
}

TEST_F(CudaKernelTest, ParametersHaveSizesAndWhatTheSymbolTells) {
  using List = std::vector<KernelParameter>;
  EXPECT_EQ(module_->kernel("plain")->signature().parameters(),
            (List{{Kind::other, "", "", 8}, {Kind::other, "", "", 4}}));
  EXPECT_EQ(module_->kernel("add")->signature().parameters(),
            (List{{Kind::buffer, "unsigned int*", "", 8}, {Kind::value, "unsigned int", "", 4}}));
}

TEST_F(CudaKernelTest, LaunchesAndRefuses) {
  Buffer<std::uint32_t> data = buffer<std::uint32_t>(64);
  data.fill(1);
  const auto plain = module_->kernel("plain");
  const auto add = module_->kernel("add");
  launch(*plain, NDRange(64, 32), {data, 2U});
  launch(*add, NDRange::of({8, 8}, {4, 2}), {data, 3});
  EXPECT_EQ(data.read(), std::vector<std::uint32_t>(64, 6));
  launch(*add, NDRange(64, 32), {data, LocalMemory{100}, 0});  // takes no parameter, wherever it stands
  EXPECT_EQ(ask_fake_driver("fake_cuda_last_shared"), 100);

  MASU_EXPECT_ERROR(launch(*plain, 64, {data}), invalid_argument, "Kernel::launch: plain takes 2 arguments, got 1");
  MASU_EXPECT_ERROR(launch(*plain, 64, {data, 1.0}), invalid_argument,
                    "argument 1 of plain is 4 bytes, got f64 (8 bytes)");
  launch(*plain, NDRange(64, 32), {data, 0.0F});  // of the right size: nobody can know
  MASU_EXPECT_ERROR(launch(*add, 64, {data}), invalid_argument,
                    "add takes 2 arguments (unsigned int*, unsigned int), got 1");
  MASU_EXPECT_ERROR(launch(*add, 64, {data, 1.0F}), invalid_argument, "argument 1 of add is unsigned int, got f32");
  MASU_EXPECT_ERROR(launch(*add, 64, {std::uint64_t{0}, 1}), invalid_argument,
                    "argument 0 of add is a buffer (unsigned int*), got u64");
  MASU_EXPECT_ERROR(launch(*add, 64, {buffer<float>(64), 1}), invalid_argument, "got a buffer of f32");
  MASU_EXPECT_ERROR(launch(*add, NDRange(100, 64), {data, 1}), invalid_argument, "round it up to 128");
  MASU_EXPECT_ERROR(launch(*add, NDRange(512, 512), {data, 1}), invalid_argument, "<= 256 work-items, got 512");
  MASU_EXPECT_ERROR(launch(*add, 64, {data, 1, LocalMemory{228 << 10}}), invalid_argument, "local memory must be");
  MASU_EXPECT_ERROR(launch(*add, 64, {data, 1, LocalMemory{1}, LocalMemory{1}}), invalid_argument, "at most once");
  EXPECT_EQ(data.read(), std::vector<std::uint32_t>(64, 6));
}

TEST_F(CudaKernelTest, TheDeviceIsAskedForASizeOnce) {
  Buffer<std::uint32_t> data = buffer<std::uint32_t>(64);
  data.fill(0);
  const auto add = module_->kernel("add");
  const int before = ask_fake_driver("fake_cuda_occupancy_calls");
  for (int i = 0; i < 5; ++i) launch(*add, 64, {data, 1});
  EXPECT_EQ(ask_fake_driver("fake_cuda_occupancy_calls"), before + 1);
  launch(*add, 64, {data, 1, LocalMemory{64}});  // may need another size
  EXPECT_EQ(ask_fake_driver("fake_cuda_occupancy_calls"), before + 2);
  EXPECT_EQ(data.read(), std::vector<std::uint32_t>(64, 6));
}

TEST_F(CudaKernelTest, WorkGroupsThatWaitForEachOtherAreLaunchedTogether) {
  Buffer<std::uint32_t> data = buffer<std::uint32_t>(64);
  data.fill(0);
  const auto add = module_->kernel("add");
  const int before = ask_fake_driver("fake_cuda_cooperative_launches");
  const auto stream = device_->make_stream(Timing::on);
  const std::vector<KernelArgument> arguments{data, 3};
  stream->launch_together(*add, NDRange(64, 32), arguments, Mark::yes);
  EXPECT_EQ(ask_fake_driver("fake_cuda_cooperative_launches"), before + 1);
  EXPECT_EQ(data.read(), std::vector<std::uint32_t>(64, 3));
}

TEST_F(CudaKernelTest, BinariesThatTheDriverRefusesAreMisses) {
  EXPECT_EQ(device_->load(pack(Image{true, LocalConvention::dynamic, "no PTX"})), nullptr);
  EXPECT_EQ(device_->load("nonsense"), nullptr);
}

}  // namespace
}  // namespace masu::cuda
