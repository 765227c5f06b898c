// SPDX-License-Identifier: Apache-2.0
// What is special to CUDA, on a CUDA device: wrapped handles, contexts, times, shared memory, launch errors. Skipped
// where there is none.
#include "backends/cuda/context.h"
#include "backends/cuda/driver_api.h"
#include "expect_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <masu/masu.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace masu::cuda {
namespace {

constexpr const char* source = R"(
extern "C" __global__ void add(unsigned *values, unsigned amount, unsigned long long n) {
  const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] += amount;
}
extern "C" __global__ void reverse(unsigned *values) {
  extern __shared__ unsigned table[];
  for (unsigned i = threadIdx.x; i < 25600; i += blockDim.x) table[i] = values[i];
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 25600; i += blockDim.x) values[i] = table[25599 - i];
}
extern "C" __global__ void place(uint3 *places) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
                 z = blockIdx.z * blockDim.z + threadIdx.z;
  places[(z * gridDim.y * blockDim.y + y) * gridDim.x * blockDim.x + x] = make_uint3(x, y, z);
}
extern "C" __global__ void spin(unsigned long long clocks) {
  const long long start = clock64();
  while (clock64() - start < (long long)clocks) {}
}
)";

class CudaBackendTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const DeviceInfo& info : Device::list()) {
      if (info.kind != DeviceKind::cuda) continue;
      if (!info.usable) GTEST_SKIP() << "no CUDA device: " << info.why;
      device_.emplace(Device::open("cuda"));
      return;
    }
    GTEST_SKIP() << "no CUDA device is listed";
  }
  [[nodiscard]] const Device& device() const { return *device_; }
  [[nodiscard]] CUcontext context() const { return static_cast<CUcontext>(device().native_context()); }
  [[nodiscard]] static const Driver& api() { return driver().functions; }
  [[nodiscard]] Program program() const { return Program::from_source(device(), source); }

 private:
  std::optional<Device> device_;
};

// A context made current by hand, as a program with CUDA code of its own has it.
class Pushed {
 public:
  explicit Pushed(CUcontext context) { EXPECT_EQ(driver().functions.ctx_push_current(context), success); }
  ~Pushed() {
    CUcontext popped = nullptr;
    driver().functions.ctx_pop_current(&popped);
  }
  Pushed(const Pushed&) = delete;
  Pushed& operator=(const Pushed&) = delete;
};

std::vector<std::uint32_t> iota(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), 0U);
  return values;
}

TEST_F(CudaBackendTest, DescribesTheDevice) {
  const DeviceInfo& info = device().info();
  EXPECT_EQ(info.id, "cuda:0");
  EXPECT_EQ(info.architecture.rfind("sm_", 0), 0U);
  EXPECT_GE(info.local_bytes, 48U * 1024);
  EXPECT_GE(info.local_bytes_total, info.local_bytes);
  EXPECT_GT(info.memory_bytes, 0U);
  EXPECT_GT(info.compute_units, 0U);
  EXPECT_EQ(info.warp_size, 32U);
  EXPECT_GE(info.max_work_group_size, 512U);
  EXPECT_EQ(Device::open("cuda:0"), device());
}

TEST_F(CudaBackendTest, AContextOfTheCallersIsTheSameDevice) {
  EXPECT_EQ(Device::wrap_cuda(device().native_context()), device());
}

TEST_F(CudaBackendTest, LeavesTheCallersContextAsItWas) {
  CUdevice number = -1;
  const CUresult before = api().ctx_get_device(&number);  // an error where no context is current
  Buffer<std::uint32_t> buffer = device().upload(iota(1000));
  Stream stream(device());
  program().kernel("add")(stream, 1024, buffer, 1U, std::uint64_t{1000}).wait();
  EXPECT_EQ(buffer.read()[999], 1000U);
  EXPECT_EQ(api().ctx_get_device(&number), before);
}

TEST_F(CudaBackendTest, WrapsADevicePointer) {
  const Pushed pushed(context());
  CUdeviceptr address = 0;
  ASSERT_EQ(api().mem_alloc(&address, 4000), success);
  {
    // Element alignment only: from the second element on.
    auto buffer = Buffer<std::uint32_t>::wrap_native(device(), reinterpret_cast<void*>(address + 4), 999);
    EXPECT_EQ(buffer.native(), reinterpret_cast<void*>(address + 4));
    buffer.write(iota(999));
    EXPECT_EQ(buffer.read(), iota(999));
    using Words = Buffer<std::uint32_t>;
    MASU_EXPECT_ERROR(Words::wrap_native(device(), reinterpret_cast<void*>(address + 4), std::uint64_t{1} << 30),
                      invalid_argument, "must hold 4294967296 bytes");
    MASU_EXPECT_ERROR(Words::wrap_native(device(), reinterpret_cast<void*>(std::uintptr_t{16}), 1), invalid_argument,
                      "CUdeviceptr");
  }
  EXPECT_EQ(api().mem_free(address), success);  // the buffer did not free it
}

TEST_F(CudaBackendTest, WrapsStreams) {
  CUstream own = nullptr;
  {
    const Pushed pushed(context());
    ASSERT_EQ(api().stream_create(&own, stream_non_blocking), success);
  }
  Kernel add = program().kernel("add");
  for (CUstream handle : {own, CUstream{nullptr}}) {
    Stream stream = Stream::wrap(device(), handle);
    EXPECT_EQ(stream.native(), handle);
    auto buffer = device().allocate<std::uint32_t>(100);
    stream.fill(buffer, 41U);
    add(stream, 128, buffer, 1U, std::uint64_t{100});
    stream.finish();
    EXPECT_EQ(buffer.read(), std::vector<std::uint32_t>(100, 42));
  }
  const Pushed pushed(context());
  EXPECT_EQ(api().stream_destroy(own), success);  // the Stream did not destroy it
}

TEST_F(CudaBackendTest, UsesHostMemoryInPlace) {
  std::vector<std::uint32_t> values = iota(5000);
  Stream stream(device());
  {
    auto whole = Buffer<std::uint32_t>::wrap_host(device(), values);
    auto again = Buffer<std::uint32_t>::wrap_host(device(), std::span(values).subspan(1000, 10));
    program().kernel("add")(stream, 8192, whole, 7U, std::uint64_t{5000});
    stream.finish();
    EXPECT_EQ(again.read()[0], 1007U);
  }
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], i + 7);
  auto after = Buffer<const std::uint32_t>::wrap_host(device(), std::span<const std::uint32_t>(values));
  EXPECT_EQ(after.read(), values);
}

// Behind a kernel that runs for some 25 ms.
TEST_F(CudaBackendTest, CopiesWithPageLockedMemoryDoNotWait) {
  Kernel spin = program().kernel("spin");
  Stream stream(device());
  const HostBuffer<std::uint32_t> host(device(), 1 << 22);
  std::iota(host.span().begin(), host.span().end(), 0U);
  auto buffer = device().allocate<std::uint32_t>(host.size());
  const HostBuffer<std::uint32_t> back(device(), host.size());
  spin(stream, {1, 1}, std::uint64_t{1000}).wait();
  spin(stream, {1, 1}, std::uint64_t{50'000'000});
  const Event written = stream.write(buffer, std::span<const std::uint32_t>(host.span()));
  const Event read = stream.read(buffer, back.span());
  EXPECT_FALSE(written.ready());
  read.wait();
  EXPECT_TRUE(std::ranges::equal(host.span(), back.span()));
}

TEST_F(CudaBackendTest, KnowsThePageLockedMemoryOfTheCaller) {
  const Pushed pushed(context());
  void* data = nullptr;
  ASSERT_EQ(api().mem_host_alloc(&data, 1 << 20, 0), success);
  EXPECT_TRUE(device().is_page_locked(data, 1 << 20));
  EXPECT_TRUE(device().is_page_locked(static_cast<char*>(data) + 12345, 17));
  EXPECT_EQ(api().mem_free_host(data), success);
  std::vector<std::uint32_t> pageable(1 << 20);
  EXPECT_FALSE(device().is_page_locked(pageable.data(), 4));
  EXPECT_FALSE(device().is_page_locked(device().allocate<char>(100).native(), 100));
}

TEST_F(CudaBackendTest, EventsMeasureTheDevice) {
  Kernel spin = program().kernel("spin");
  Stream stream(device());
  spin(stream, {1, 1}, std::uint64_t{1000}).wait();
  const Event start = stream.record();
  const Event first = spin(stream, {1, 1}, std::uint64_t{50'000'000});  // some 25 ms
  EXPECT_FALSE(first.ready());
  const Event second = spin(stream, {1, 1}, std::uint64_t{50'000'000});
  EXPECT_GT(first.seconds(), 0.005);
  EXPECT_LT(first.seconds(), 1.0);
  EXPECT_TRUE(first.ready());
  EXPECT_GT(second.seconds_since(first), 0.9 * second.seconds());
  EXPECT_GE(second.seconds_since(start), first.seconds() + second.seconds() - 1e-5);
  EXPECT_EQ(start.seconds(), 0.0);
  Stream other(device());
  other.wait(second);
  other.finish();
  EXPECT_TRUE(second.ready());
}

TEST_F(CudaBackendTest, ManyEventsInFlightKeepTheirTimes) {
  Kernel spin = program().kernel("spin");
  Stream stream(device());
  std::vector<Event> events;
  for (int i = 0; i < 1000; ++i) events.push_back(spin(stream, {1, 1}, std::uint64_t{2000}));
  for (const Event& event : events) {
    EXPECT_GT(event.seconds(), 0.0);
    EXPECT_LT(event.seconds(), 0.1);
  }
}

template <std::size_t bytes>
struct Pattern {
  std::uint8_t byte[bytes];
};

template <std::size_t bytes>
void expect_fill(const Device& device, std::uint64_t count) {
  SCOPED_TRACE(std::to_string(bytes) + " bytes, " + std::to_string(count) + " times");
  Pattern<bytes> pattern{};
  for (std::size_t i = 0; i < bytes; ++i) pattern.byte[i] = static_cast<std::uint8_t>(17 * i + 3);
  auto buffer = device.allocate<std::uint8_t>(bytes * (count + 2) + 1);
  buffer.fill(0xee);
  // One byte behind an aligned address: the widest fills do not apply.
  auto inside = Buffer<Pattern<bytes>>(device, buffer.memory(), 1, bytes * count);
  inside.fill(pattern);
  const std::vector<std::uint8_t> read = buffer.read();
  EXPECT_EQ(read.front(), 0xee);
  for (std::size_t i = 0; i < bytes * count; ++i) ASSERT_EQ(read[i + 1], pattern.byte[i % bytes]) << i;
  for (std::size_t i = bytes * count + 1; i < read.size(); ++i) ASSERT_EQ(read[i], 0xee) << i;
}

TEST_F(CudaBackendTest, FillsWithAnyPattern) {
  for (const std::uint64_t count : {0, 1, 2, 7, 40'000}) {
    expect_fill<1>(device(), count);
    expect_fill<2>(device(), count);
    expect_fill<3>(device(), count);
    expect_fill<4>(device(), count);
    expect_fill<8>(device(), count);
    expect_fill<12>(device(), count);
    expect_fill<16>(device(), count);
  }
  auto buffer = device().allocate<double>(100'003);
  buffer.fill(0.1);
  EXPECT_EQ(buffer.read(), std::vector<double>(100'003, 0.1));
}

TEST_F(CudaBackendTest, MapsAndWritesBack) {
  Buffer<std::uint32_t> buffer = device().upload(iota(1000));
  Stream stream(device());
  {
    auto mapping = stream.map(buffer, MapMode::write);
    mapping.span()[5] = 77;
  }
  {
    auto mapping = stream.map(buffer, MapMode::read);
    EXPECT_EQ(mapping.span()[5], 77U);
    EXPECT_EQ(mapping.span()[6], 6U);
    mapping.span()[6] = 1;  // lost: mapped for reading
  }
  EXPECT_EQ(buffer.read()[6], 6U);
}

TEST_F(CudaBackendTest, LargeSharedMemory) {
  constexpr std::size_t bytes = 25600 * 4;  // 100 KiB
  if (device().info().local_bytes < bytes) GTEST_SKIP() << "the device has " << device().info().local_bytes << " bytes";
  Buffer<std::uint32_t> buffer = device().upload(iota(25600));
  Stream stream(device());
  Kernel reverse = program().kernel("reverse");
  reverse(stream, {256, 256}, buffer, LocalMemory{bytes}).wait();
  const std::vector<std::uint32_t> values = buffer.read();
  for (std::uint32_t i = 0; i < 25600; ++i) ASSERT_EQ(values[i], 25599 - i);
  MASU_EXPECT_ERROR(reverse(stream, {256, 256}, buffer, LocalMemory{device().info().local_bytes + 1}), invalid_argument,
                    "local memory must be <=");
  MASU_EXPECT_ERROR(reverse(stream, {256, 256}, buffer, LocalMemory{64}, LocalMemory{64}), invalid_argument,
                    "at most once");
}

TEST_F(CudaBackendTest, RunsThreeDimensions) {
  struct Place {
    std::uint32_t x, y, z;
  };
  auto buffer = device().allocate<Place>(12 * 6 * 4);
  Stream stream(device());
  Kernel place = program().kernel("place");
  for (const NDRange& range :
       {NDRange::of({12, 6, 4}, {4, 3, 2}), NDRange::of({12, 6, 4}), NDRange::of({12, 6, 4}, {12, 6, 4})}) {
    place(stream, range, buffer).wait();
    const std::vector<Place> places = buffer.read();
    for (std::size_t i = 0; i < places.size(); ++i) {
      ASSERT_EQ(places[i].x, i % 12);
      ASSERT_EQ(places[i].y, i / 12 % 6);
      ASSERT_EQ(places[i].z, i / 72);
    }
  }
}

TEST_F(CudaBackendTest, LaunchErrorsNameTheRuleAndLeaveTheDeviceWell) {
  Buffer<std::uint32_t> buffer = device().upload(iota(1000));
  Stream stream(device());
  Kernel add = program().kernel("add");
  const std::uint64_t n = 1000;
  MASU_EXPECT_ERROR(add(stream, {1000, 256}, buffer, 1U, n), invalid_argument, "got 1000 and 256");
  MASU_EXPECT_ERROR(add(stream, {0, 256}, buffer, 1U, n), invalid_argument, "got global 0");
  MASU_EXPECT_ERROR(add(stream, {4096, 2048}, buffer, 1U, n), invalid_argument, "got 2048");
  if (driver().functions.func_get_param_info != nullptr) {
    MASU_EXPECT_ERROR(add(stream, {1024, 256}, buffer, 1U), invalid_argument, "add takes 3 arguments, got 2");
    MASU_EXPECT_ERROR(add(stream, {1024, 256}, buffer, std::uint64_t{1}, n), invalid_argument,
                      "argument 1 of add is 4 bytes, got u64 (8 bytes)");
  }
  MASU_EXPECT_ERROR(static_cast<void>(program().kernel("nothing")), invalid_argument, "add");
  MASU_EXPECT_ERROR(static_cast<void>(device().allocate<std::uint8_t>(std::uint64_t{1} << 50)), out_of_memory,
                    "1125899906842624");
  add(stream, {1024, 256}, buffer, 1U, n).wait();
  add(stream, 997, buffer, 1U, n).wait();  // a prime: the device chooses
  EXPECT_EQ(buffer.read()[996], 998U);
  EXPECT_EQ(buffer.read()[999], 1000U);
}

TEST_F(CudaBackendTest, ABadKernelNamesItsLine) {
  MASU_EXPECT_ERROR(Program::from_source(device(), "extern \"C\" __global__ void k() {\n  oops;\n}\n"), build_failed,
                    "(2): error");
}

TEST_F(CudaBackendTest, KernelNamesAndTheCachedProgram) {
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_THAT(program().kernel_names(), ::testing::UnorderedElementsAre("add", "place", "reverse", "spin"));
  }
  EXPECT_GE(program().kernel("add").max_work_group_size(), 256U);
}

TEST_F(CudaBackendTest, ManyThreadsAtOnce) {
  const Program shared = program();
  std::vector<std::thread> threads;
  std::vector<std::uint64_t> wrong(8, 1);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      Kernel add = shared.kernel("add");
      Kernel reverse = shared.kernel("reverse");
      Stream stream(device());
      std::uint64_t bad = 0;
      for (std::uint32_t round = 0; round < 20; ++round) {
        Buffer<std::uint32_t> buffer = device().upload(iota(25600));
        add(stream, {25600, 256}, buffer, round, std::uint64_t{25600});
        if (device().info().local_bytes >= 102400) reverse(stream, {512, 512}, buffer, LocalMemory{102400});
        else stream.finish();
        const Event done = stream.record();
        done.wait();
        const std::vector<std::uint32_t> values = buffer.read();
        const std::uint32_t first = device().info().local_bytes >= 102400 ? 25599 + round : round;
        bad += values[0] != first;
      }
      wrong[t] = bad;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<std::uint64_t>(8, 0));
}

}  // namespace
}  // namespace masu::cuda
