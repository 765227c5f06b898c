// SPDX-License-Identifier: Apache-2.0
// The driver's side of the backend without a GPU, on tests/fake_cuda: what is missing or broken is named, commands do
// what they say, and nothing is left behind.
#include "backends/cuda/device.h"
#include "backends/cuda/memory.h"
#include "backends/cuda/module.h"
#include "expect_error.h"
#include "fake_cuda/fake_driver.h"
#include "scoped_env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace masu::cuda {
namespace {

using runtime::Mark;
using test::ScopedEnv;
using ::testing::HasSubstr;

using Bytes = std::vector<std::uint8_t>;

DeviceInfo only_entry(const std::string& library) {
  const std::vector<Listed> devices = list_devices(load_driver(library.c_str()));
  EXPECT_EQ(devices.size(), 1U);
  return devices.at(0).info;
}

TEST(CudaDriverTest, AMissingLibraryIsNamed) {
  const DeviceInfo info = only_entry("/nowhere/libcuda.so.1");
  EXPECT_FALSE(info.usable);
  EXPECT_EQ(info.id, "cuda");
  EXPECT_EQ(info.kind, DeviceKind::cuda);
  EXPECT_THAT(info.why, HasSubstr("/nowhere/libcuda.so.1"));
}

TEST(CudaDriverTest, AnOldDriverNamesWhatItLacks) {
  EXPECT_THAT(only_entry(old_driver).why, HasSubstr("it has no cuDevicePrimaryCtxRetain"));
}

TEST(CudaDriverTest, AFailingStartNamesCodeAndText) {
  {
    const ScopedEnv init("FAKE_CUDA_INIT", "100");
    EXPECT_EQ(only_entry(fake_driver).why, "cuInit: no CUDA-capable device is detected (CUDA_ERROR_NO_DEVICE, 100)");
  }
  const ScopedEnv init("FAKE_CUDA_INIT", "12345");
  EXPECT_EQ(only_entry(fake_driver).why, "cuInit: unknown error (CUDA error, 12345)");
}

TEST(CudaDriverTest, NoDevice) {
  const ScopedEnv count("FAKE_CUDA_DEVICES", "0");
  EXPECT_EQ(only_entry(fake_driver).why, "the driver reports no device");
}

TEST(CudaDriverTest, NumbersTheDevices) {
  const ScopedEnv count("FAKE_CUDA_DEVICES", "2");
  const std::vector<Listed> devices = list_devices(load_driver(fake_driver.c_str()));
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[1].info.id, "cuda:1");
  EXPECT_TRUE(devices[1].info.usable);
  EXPECT_EQ(devices[1].info.name, "Fake");
  EXPECT_EQ(devices[1].info.driver, "CUDA 13.0");
  EXPECT_EQ(devices[1].info.architecture, "sm_90");
  EXPECT_EQ(devices[1].info.local_bytes, 227U << 10);
  EXPECT_EQ(devices[1].info.local_bytes_total, 228U << 10);
  EXPECT_EQ(devices[1].info.compute_units, 132U);
  EXPECT_EQ(devices[1].info.max_work_group_size, 1024U);
}

TEST(CudaDriverTest, ErrorsHaveTheKindOfTheirCode) {
  EXPECT_EQ(error_code(1), ErrorCode::invalid_argument);
  EXPECT_EQ(error_code(2), ErrorCode::out_of_memory);
  EXPECT_EQ(error_code(209), ErrorCode::build_failed);
  EXPECT_EQ(error_code(801), ErrorCode::unsupported);
  EXPECT_EQ(error_code(123456), ErrorCode::unsupported);
  for (const CUresult lost : {214, 700, 702, 710, 715, 719, 999}) EXPECT_EQ(error_code(lost), ErrorCode::device_lost);
}

// A device of the fake driver; at the end everything must have been given back.
class CudaCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(loaded_.usable()) << loaded_.why;
    device_ = make();
    stream_ = device_->make_stream(Timing::on);
  }
  void TearDown() override {
    stream_.reset();
    device_.reset();
    if (!loaded_.usable()) return;  // SetUp has failed
    EXPECT_EQ(ask_fake_driver("fake_cuda_live"), 0);
    EXPECT_EQ(ask_fake_driver("fake_cuda_depth"), 0);
  }
  [[nodiscard]] std::shared_ptr<runtime::Device> make() const {
    return make_device(Context::primary(loaded_.functions, 0, "Fake"), list_devices(loaded_).at(0).info);
  }
  Bytes read(runtime::Memory& memory) const {
    Bytes bytes(memory.bytes());
    stream_->read(memory, 0, bytes.data(), bytes.size(), Mark::yes)->wait();
    return bytes;
  }
  std::shared_ptr<runtime::Memory> upload(const Bytes& bytes) const {
    auto memory = device_->allocate(bytes.size());
    stream_->write(*memory, 0, bytes.data(), bytes.size());
    return memory;
  }

  Loaded<Driver> loaded_ = load_driver(fake_driver.c_str());
  std::shared_ptr<runtime::Device> device_;
  std::unique_ptr<runtime::Stream> stream_;
};

Bytes iota_bytes(std::size_t count) {
  Bytes bytes(count);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  return bytes;
}

TEST_F(CudaCommandTest, WritesCopiesAndReadsWithOffsets) {
  const auto source = upload(iota_bytes(100));
  const auto target = upload(Bytes(100, 0xee));
  stream_->copy(*target, 3, *source, 10, 20, Mark::yes);
  Bytes expected(100, 0xee);
  for (std::size_t i = 0; i < 20; ++i) expected[i + 3] = static_cast<std::uint8_t>(i + 10);
  EXPECT_EQ(read(*target), expected);
  Bytes part(5);
  stream_->read(*source, 90, part.data(), 5, Mark::yes)->wait();
  EXPECT_EQ(part, (Bytes{90, 91, 92, 93, 94}));
}

TEST_F(CudaCommandTest, FillsWithAnyPatternAtAnyPlace) {
  for (const std::size_t size : {1, 2, 3, 4, 5, 8, 12, 16, 64, 70'001}) {
    for (const std::size_t count : {1, 2, 3, 1000, 50'001}) {
      if (size * count > 1'000'000 && size > 64) continue;
      for (const std::size_t offset : {0, 1, 2, 4}) {
        for (const bool equal : {false, true}) {
          Bytes pattern(size, 0x5a);
          if (!equal) {
            for (std::size_t i = 0; i < size; ++i) pattern[i] = static_cast<std::uint8_t>(i * 7 + i / 256 + 1);
          }
          Bytes expected(offset + size * count + 3, 0xee);
          for (std::size_t i = 0; i < size * count; ++i) expected[offset + i] = pattern[i % size];
          const auto memory = upload(Bytes(expected.size(), 0xee));
          stream_->fill(*memory, offset, size * count, pattern.data(), size, Mark::yes);
          ASSERT_EQ(read(*memory), expected) << size << " bytes, " << count << " times, at " << offset;
        }
      }
    }
  }
}

TEST_F(CudaCommandTest, MappingsKeepWhatIsNotTouched) {
  const auto memory = upload(iota_bytes(100));
  for (const MapMode mode : {MapMode::write, MapMode::read_write, MapMode::read}) {
    auto* mapped = static_cast<std::uint8_t*>(stream_->map(*memory, 10, 50, mode));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapped) % 64, 0U);
    EXPECT_EQ(mapped[20], 30);
    mapped[static_cast<int>(mode)] = 200;
    stream_->unmap(*memory, 10, 50, mapped, mode);
  }
  Bytes expected = iota_bytes(100);
  expected[10 + static_cast<int>(MapMode::write)] = 200;
  expected[10 + static_cast<int>(MapMode::read_write)] = 200;
  EXPECT_EQ(read(*memory), expected);
  int elsewhere = 0;
  MASU_EXPECT_ERROR(stream_->unmap(*memory, 0, 4, &elsewhere, MapMode::read), invalid_argument, "unmap");
}

TEST_F(CudaCommandTest, HostRangesShareTheirRegistration) {
  Bytes host = iota_bytes(1000);
  auto whole = device_->wrap_host(host.data(), host.size(), false);
  auto part = device_->wrap_host(host.data() + 100, 50, true);
  whole.reset();  // the range stays registered for the part
  EXPECT_EQ(read(*part), Bytes(host.begin() + 100, host.begin() + 150));
  EXPECT_EQ(stream_->map(*part, 7, 3, MapMode::read), host.data() + 107);
  stream_->unmap(*part, 7, 3, host.data() + 107, MapMode::read);
  MASU_EXPECT_ERROR(device_->wrap_host(host.data() + 900, 2000, false), unsupported, "in place");
}

TEST_F(CudaCommandTest, HostMemoryIsPageLocked) {
  auto memory = device_->allocate_host(10'000);
  auto* bytes = static_cast<std::uint8_t*>(memory->data());
  std::iota(bytes, bytes + 10'000, std::uint8_t{0});
  EXPECT_TRUE(device_->is_page_locked(bytes, 10'000));
  EXPECT_TRUE(device_->is_page_locked(bytes + 9'999, 1));
  EXPECT_FALSE(device_->is_page_locked(bytes, 10'001));
  EXPECT_FALSE(device_->is_page_locked(bytes - 1, 2));
  const auto target = device_->allocate(10'000);
  stream_->write(*target, 0, bytes, 10'000);
  EXPECT_EQ(read(*target), Bytes(bytes, bytes + 10'000));
  {
    const auto in_place = device_->wrap_host(bytes + 5, 100, false);
    EXPECT_EQ(in_place->native(), bytes + 5);
  }
  // What the caller registered counts too, in pieces that touch; device memory and ordinary memory do not.
  Bytes own(3000);
  EXPECT_FALSE(device_->is_page_locked(own.data(), own.size()));
  {
    const auto first = device_->wrap_host(own.data(), 1000, false);
    const auto second = device_->wrap_host(own.data() + 1000, 1000, false);
    EXPECT_TRUE(device_->is_page_locked(own.data(), 2000));
    EXPECT_TRUE(device_->is_page_locked(own.data() + 999, 2));
    EXPECT_FALSE(device_->is_page_locked(own.data(), 2001));
  }
  EXPECT_FALSE(device_->is_page_locked(own.data(), 2000));
  EXPECT_FALSE(device_->is_page_locked(target->native(), 10));
  MASU_EXPECT_ERROR(device_->allocate_host(std::uint64_t{1} << 30), out_of_memory, "lock 1073741824 bytes");
  device_.reset();  // the memory keeps what it needs
  stream_.reset();
  bytes[0] = 1;
}

TEST_F(CudaCommandTest, WrapsMemoryWithoutOwningIt) {
  const auto memory = upload(iota_bytes(512));  // a whole block of the driver's
  {
    const auto view = device_->wrap_native(static_cast<char*>(memory->native()) + 8, 504);
    EXPECT_EQ(read(*view).front(), 8);
  }
  EXPECT_EQ(read(*memory), iota_bytes(512));
  MASU_EXPECT_ERROR(device_->wrap_native(static_cast<char*>(memory->native()) + 8, 505), invalid_argument,
                    "505 bytes, got 504");
  MASU_EXPECT_ERROR(device_->wrap_native(nullptr, 1), invalid_argument, "CUdeviceptr");
}

TEST_F(CudaCommandTest, OutOfMemoryNamesAskedAndFree) {
  MASU_EXPECT_ERROR(device_->allocate(std::uint64_t{1} << 40), out_of_memory,
                    "1099511627776 bytes free, got 1048576 of 1073741824");
}

TEST_F(CudaCommandTest, ReleasedMemoryIsKeptForTheNextAllocation) {
  const int before = ask_fake_driver("fake_cuda_live");
  auto memory = device_->allocate(1000);
  const auto address = static_cast<const Memory&>(*memory).address();
  memory.reset();
  EXPECT_EQ(ask_fake_driver("fake_cuda_live"), before + 1);  // kept
  memory = device_->allocate(900);
  EXPECT_EQ(static_cast<const Memory&>(*memory).address(), address);
  EXPECT_EQ(memory->bytes(), 900);
  device_->trim();  // what is in use stays
  EXPECT_EQ(ask_fake_driver("fake_cuda_live"), before + 1);
  memory.reset();
  device_->trim();
  EXPECT_EQ(ask_fake_driver("fake_cuda_live"), before);
  // Without room everything kept is freed before the driver is asked again.
  device_->allocate(1000).reset();
  MASU_EXPECT_ERROR(device_->allocate(std::uint64_t{1} << 40), out_of_memory, "bytes free");
  EXPECT_EQ(ask_fake_driver("fake_cuda_live"), before);
}

// What others know the address of is freed, which waits; what a stream of masu's may still use is kept once it is done.
TEST_F(CudaCommandTest, MemoryIsKeptOnceNothingUsesIt) {
  const auto is_kept = [&](auto&& use) {
    auto memory = device_->allocate(100);
    use(*memory);
    const int before = ask_fake_driver("fake_cuda_live");
    memory.reset();
    return ask_fake_driver("fake_cuda_live") == before;
  };
  EXPECT_TRUE(is_kept([](runtime::Memory&) {}));
  EXPECT_TRUE(is_kept([](runtime::Memory& memory) { (void)memory.place(); }));
  EXPECT_FALSE(is_kept([](runtime::Memory& memory) { (void)memory.native(); }));
  const auto waited = [&] { return ask_fake_driver("fake_cuda_event_synchronizations"); };
  const int before = waited();
  EXPECT_TRUE(is_kept([](runtime::Memory&) {}));
  EXPECT_EQ(waited(), before);
  EXPECT_TRUE(is_kept([&](runtime::Memory& memory) { stream_->fill(memory, 0, 100, "x", 1, Mark::no); }));
  EXPECT_EQ(waited(), before + 1);
  stream_->finish();
  EXPECT_TRUE(is_kept([](runtime::Memory&) {}));
  EXPECT_EQ(waited(), before + 1);
}

// Somebody else captures a graph in the global mode: what allocates, releases, loads and asks does not end that.
TEST_F(CudaCommandTest, LeavesTheCapturesOfOthersAlone) {
  ASSERT_EQ(ask_fake_driver("fake_cuda_begin_capture"), 0);
  const auto memory = device_->allocate(1000);
  stream_->fill(*memory, 0, 1000, "x", 1, Mark::yes)->wait();
  EXPECT_EQ(read(*memory), Bytes(1000, 'x'));
  device_->allocate(100'000).reset();
  auto told = device_->allocate(1000);
  (void)told->native();
  told.reset();
  auto busy = device_->allocate(1000);
  stream_->fill(*busy, 0, 1000, "x", 1, Mark::no);
  busy.reset();
  device_->trim();
  Bytes host(1000);
  device_->wrap_host(host.data(), host.size(), false).reset();
  device_->allocate_host(1000).reset();
  auto module = device_->load(pack({true, LocalConvention::dynamic, ".version 8.0\n.entry plain()\n"}));
  ASSERT_NE(module, nullptr);
  EXPECT_NE(module->kernel("plain"), nullptr);
  module.reset();
  std::vector<std::unique_ptr<runtime::Stream>> streams;
  for (int i = 0; i < 40; ++i) {  // more than are kept
    streams.push_back(device_->make_stream(Timing::on));
    EXPECT_TRUE(streams.back()->record()->ready());
  }
  streams.clear();
  stream_->finish();
  EXPECT_EQ(ask_fake_driver("fake_cuda_end_capture"), 0);
}

TEST_F(CudaCommandTest, EventsOutliveTheirStreamAndDevice) {
  const auto memory = upload(iota_bytes(10));
  const auto first = stream_->fill(*memory, 0, 10, "x", 1, Mark::yes);
  const auto second = stream_->record();
  EXPECT_TRUE(first->ready());
  EXPECT_GE(first->seconds(), 0.0);
  EXPECT_EQ(second->seconds(), 0.0);
  EXPECT_GE(second->seconds_since(*first), 0.0);
  auto other = device_->make_stream(Timing::on);
  other->wait(*second);
  other.reset();
  stream_.reset();
  device_.reset();
  EXPECT_TRUE(first->ready());
}

TEST_F(CudaCommandTest, WrapsStreamsAndContexts) {
  auto wrapped = device_->wrap_stream(nullptr, Timing::on);
  EXPECT_EQ(wrapped->native(), nullptr);
  const auto memory = device_->allocate(4);
  wrapped->fill(*memory, 0, 4, "abcd", 4, Mark::yes);
  wrapped->finish();
  EXPECT_EQ(read(*memory), (Bytes{'a', 'b', 'c', 'd'}));
  device_->synchronize();
}

TEST_F(CudaCommandTest, ImagesThatTheDriverRefusesAreMisses) {
  EXPECT_EQ(device_->load("something else"), nullptr);
  MASU_EXPECT_ERROR(device_->load(pack({false, LocalConvention::dynamic, "cubin"})), unsupported, "cuModuleLoadDataEx");
}

TEST(CudaLaunchTest, ShapesFollowTheLimits) {
  LaunchLimits limits;
  limits.block = {1024, 1024, 64};
  limits.grid = {2147483647, 65535, 65535};
  const LaunchShape shape = launch_shape(NDRange::of({64, 6, 4}, {32, 3, 1}), limits, 1024, "k");
  EXPECT_EQ(shape.grid, (std::array<unsigned, 3>{2, 2, 4}));
  EXPECT_EQ(shape.block, (std::array<unsigned, 3>{32, 3, 1}));
  EXPECT_EQ(launch_shape(NDRange(std::size_t{1} << 40, 1024), limits, 1024, "k").grid[0], 1U << 30);
  MASU_EXPECT_ERROR(launch_shape(NDRange(100, 64), limits, 1024, "k"), invalid_argument, "got 100 and 64");
  MASU_EXPECT_ERROR(launch_shape(NDRange(0, 64), limits, 1024, "k"), invalid_argument, "got 0");
  MASU_EXPECT_ERROR(launch_shape(NDRange(2048, 2048), limits, 1024, "k"), invalid_argument, "1 to 1024");
  MASU_EXPECT_ERROR(launch_shape(NDRange(1024, 1024), limits, 512, "k"), invalid_argument,
                    "<= 512 work-items, got 1024");
  MASU_EXPECT_ERROR(launch_shape(NDRange::of({64, 100000}, {64, 1}), limits, 1024, "k"), invalid_argument,
                    "got 100000");
}

TEST(CudaLaunchTest, ChoosesADivisor) {
  EXPECT_EQ(local_size_for(1 << 20, 768, 32), 512U);
  EXPECT_EQ(local_size_for(768 * 5, 768, 32), 768U);
  EXPECT_EQ(local_size_for(1000, 1024, 32), 1000U);
  EXPECT_EQ(local_size_for(997, 512, 32), 1U);
  EXPECT_EQ(local_size_for(1, 1024, 32), 1U);
  EXPECT_EQ(local_size_for(96, 64, 32), 32U);
}

}  // namespace
}  // namespace masu::cuda
