// SPDX-License-Identifier: Apache-2.0
// The host's side: platforms, devices, contexts, queues, programs, arguments, buffers, events, error names.
#include "backends/opencl/device.h"
#include "each_type.h"
#include "opencl_objects.h"

#include <fmt/format.h>
#include <masu/program.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace masu::vocabulary {
namespace {

constexpr const char* family = "host side";

class HostSide : public EachOpenCl {
 protected:
  void expect(std::string_view name, bool good, const std::string& otherwise = "it is not so") const {
    judge(device, family, "", name, good ? "" : otherwise);
  }
  template <class T>
  void expect_fill(Stream& stream) const {
    T value;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      reinterpret_cast<unsigned char*>(&value)[i] = static_cast<unsigned char>(i + 1);
    Buffer<T> filled = device.allocate<T>(33);
    stream.fill(filled, value);
    stream.finish();
    expect(fmt::format("fill by {} bytes", sizeof(T)), std::ranges::count(filled.read(), value) == 33);
  }
};
MASU_ON_EACH_OPENCL(HostSide);

TEST(HostSideOfAll, DevicesFallBackFromGpuToCpu) {
  if (opencl_device_ids().empty()) GTEST_SKIP() << "no OpenCL device is to be tested";
  std::vector<DeviceInfo> usable;
  for (const DeviceInfo& info : Device::list()) {
    if (info.kind == DeviceKind::opencl && info.usable) usable.push_back(info);
  }
  if (usable.empty()) GTEST_SKIP() << "no OpenCL device";
  // GPUs stand before all others, so that number 0 is a GPU where there is one, else the CPU.
  EXPECT_TRUE(std::ranges::is_partitioned(usable, [](const DeviceInfo& info) { return info.gpu; }));
  EXPECT_EQ(Device::open("opencl").id(), usable.front().id);
  EXPECT_THROW((void)Device::open("opencl:no such name"), Error);
}

TEST_P(HostSide, PlatformAndDevice) {
  const opencl::Api& cl = opencl::api();
  auto* id = static_cast<cl_device_id>(device.native_device());
  const auto platform = opencl::device_value<cl_platform_id>(id, CL_DEVICE_PLATFORM);
  std::array<char, 256> version{};
  must(cl.clGetPlatformInfo(platform, CL_PLATFORM_VERSION, version.size(), version.data(), nullptr),
       "clGetPlatformInfo");
  expect("the platform's version", std::string_view(version.data()).starts_with("OpenCL "), version.data());
  cl_uint count = 0;
  must(cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count), "clGetDeviceIDs");
  std::vector<cl_device_id> ids(count);
  must(cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr), "clGetDeviceIDs");
  expect("the platform lists the device", std::ranges::find(ids, id) != ids.end());
  const DeviceInfo& info = device.info();
  expect("facts of the device", info.compute_units >= 1 && info.max_work_group_size >= 1 && info.local_bytes >= 16384 &&
                                    info.memory_bytes > 0 && !info.name.empty());
}

TEST_P(HostSide, ContextAndQueueOfTheCaller) {
  const OpenClObjects objects(device, "__kernel void nothing(__global int *x) { x[0] = 1; }", "nothing");
  const Device own = Device::wrap_opencl(objects.context.get(), device.native_device());
  Stream stream = Stream::wrap(own, objects.queue.get());
  Buffer<int> buffer = own.allocate<int>(1);
  const Event event = Program::from_source(own, "__kernel void seven(__global int *x) { x[0] = 7; }")
                          .kernel("seven")(stream, 1, buffer);
  stream.finish();
  expect("a context and a queue of the caller's", buffer.read().at(0) == 7);
  expect("an event of a queue made for profiling", event.ready() && event.seconds() >= 0);
}

TEST_P(HostSide, BuildLogsAndOptions) {
  const OpenClObjects broken(device, "__kernel void f(__global int *x) {\n  x[0] = nonsense;\n}\n", "f");
  expect("a build that fails says so", broken.build_code == CL_BUILD_PROGRAM_FAILURE,
         opencl::error_name(broken.build_code));
  expect("its log names the word", broken.log.find("nonsense") != std::string::npos, broken.log);
  const char* text = "__kernel void f(__global float *x) { x[0] = VALUE + OTHER(2) + FLAG; }";
  Stream stream(device);
  Buffer<float> buffer = device.allocate<float>(1);
  Program::from_source(device, text, "-DVALUE=70.5f -D OTHER(x)=(x) -D FLAG").kernel("f")(stream, 1, buffer);
  stream.finish();
  expect("-D with a value, a parameter, and none", buffer.read().at(0) == 73.5F,
         fmt::format("got {}", buffer.read()[0]));
  bool refused = false;
  try {
    (void)Program::from_source(device, text, "--no-such-option");
  } catch (const Error& error) {
    refused = error.code() == ErrorCode::build_failed;
  }
  expect("an option that is none is refused", refused);
}

TEST_P(HostSide, Buffers) {
  Stream stream(device);
  std::vector<std::uint32_t> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 0U);
  Buffer<std::uint32_t> buffer = device.allocate<std::uint32_t>(1000);
  stream.write(buffer, std::span<const std::uint32_t>(numbers));
  std::vector<std::uint32_t> back(1000);
  stream.read(buffer, std::span(back));
  stream.finish();
  expect("write and read", back == numbers);
  std::vector<std::uint32_t> part(7, 99);
  stream.write(buffer, std::span<const std::uint32_t>(part), 501);
  std::vector<std::uint32_t> around(9);
  stream.read(buffer, std::span(around), 500);
  stream.finish();
  expect("write and read of a part", around == std::vector<std::uint32_t>{500, 99, 99, 99, 99, 99, 99, 99, 508});
  Buffer<std::uint32_t> other = device.allocate<std::uint32_t>(1000);
  stream.copy(other, buffer);
  stream.finish();
  expect("copy", other.read() == buffer.read());
  {
    auto mapping = stream.map(buffer, MapMode::read_write);
    expect("map sees what was written", mapping.span()[501] == 99 && mapping.span()[999] == 999);
    mapping.span()[0] = 4711;
  }
  stream.finish();
  expect("unmap brings back what was changed", buffer.read().at(0) == 4711);
  expect_fill<std::uint8_t>(stream);
  expect_fill<std::uint16_t>(stream);
  expect_fill<std::uint64_t>(stream);
  expect_fill<std::array<std::uint32_t, 4>>(stream);
  expect_fill<std::array<std::uint32_t, 32>>(stream);
}

TEST_P(HostSide, MemoryOfTheHost) {
  std::vector<std::uint32_t> own(4096, 5);
  std::string complaint;
  try {
    Buffer<std::uint32_t> buffer = Buffer<std::uint32_t>::wrap_host(device, own);
    Stream stream(device);
    Program::from_source(device, "__kernel void add(__global uint *x) { x[get_global_id(0)] += get_global_id(0); }")
        .kernel("add")(stream, own.size(), buffer);
    const auto mapping = stream.map(buffer, MapMode::read);
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (mapping.span()[i] != 5 + i) complaint = fmt::format("element {} is {}", i, mapping.span()[i]);
    }
  } catch (const Error& error) {
    complaint = error.what();
  }
  judge(device, family, "", "a buffer that uses the host's memory", complaint);
}

TEST_P(HostSide, EventsAndTiming) {
  const Program program =
      Program::from_source(device,
                           "__kernel void spin(__global uint *x) { uint v = x[get_global_id(0)]; for (int i = 0; i < "
                           "20000; i++) v = v * 1664525 + 1013904223; x[get_global_id(0)] = v; }");
  Kernel spin = program.kernel("spin");
  Stream stream(device);
  Buffer<std::uint32_t> buffer = device.allocate<std::uint32_t>(64);
  buffer.fill(1);
  const Event first = spin(stream, 64, buffer);
  const Event second = spin(stream, 64, buffer);
  second.wait();
  expect("an event is ready behind a wait, and those before it", first.ready() && second.ready());
  expect("an event has the device's time", first.seconds() > 1e-7 && first.seconds() < 10,
         fmt::format("{} s", first.seconds()));
  expect("two events have the time between them", second.seconds_since(first) >= second.seconds() * 0.9,
         fmt::format("{} s, {} s", second.seconds_since(first), second.seconds()));
  Stream other(device);
  other.wait(second);
  const Event third = spin(other, 64, buffer);
  third.wait();
  std::uint32_t want = 1;
  for (int i = 0; i < 60000; ++i) want = want * 1664525U + 1013904223U;
  expect("a queue waits for another's event", buffer.read() == std::vector<std::uint32_t>(64, want));
}

TEST_P(HostSide, ErrorNames) {
  const opencl::Api& cl = opencl::api();
  const OpenClObjects objects(device, "__kernel void f(__global int *x) { x[0] = 1; }", "f");
  cl_int code = CL_SUCCESS;
  (void)cl.clCreateKernel(objects.program.get(), "none", &code);
  expect("no such kernel", opencl::error_name(code) == "CL_INVALID_KERNEL_NAME", opencl::error_name(code));
  code = cl.clSetKernelArg(objects.kernel.get(), 7, sizeof(cl_int), &code);
  expect("no such argument", opencl::error_name(code) == "CL_INVALID_ARG_INDEX", opencl::error_name(code));
  const OpenClObjects fresh(device, "__kernel void f(__global int *x) { x[0] = 1; }", "f");
  const std::size_t one = 1;
  code =
      cl.clEnqueueNDRangeKernel(fresh.queue.get(), fresh.kernel.get(), 1, nullptr, &one, nullptr, 0, nullptr, nullptr);
  expect("arguments that were not set", opencl::error_name(code) == "CL_INVALID_KERNEL_ARGS", opencl::error_name(code));
  (void)cl.clCreateBuffer(objects.context.get(), CL_MEM_READ_WRITE, 0, nullptr, &code);
  expect("a buffer of no bytes", opencl::error_name(code) == "CL_INVALID_BUFFER_SIZE", opencl::error_name(code));
}

// Values as arguments: a scalar and all five vectors of a type, stored one behind the other.
class Arguments : public EachType {};
MASU_ON_EACH_TYPE(Arguments, types);

TEST_P(Arguments, EveryWidth) {
  Batch all{.family = "typed arguments", .type = type.name};
  for (const std::size_t width : widths_and_scalar) all.cases.push_back({.name = vector_name(type.name, width)});
  if (std::string_view(type.name) == "double" && !device.info().fp64) return skip_lacking(device, all, "no fp64");
  std::string parameters;
  std::string body;
  Bytes expected;
  std::vector<Bytes> given;
  for (const std::size_t width : widths_and_scalar) {
    parameters += fmt::format(", const {} v{}", vector_name(type.name, width), width);
    body += width == 1 ? "  out[0] = v1;\n"
                       : fmt::format("  vstore{0}(v{0}, 0, out + {1});\n", width, expected.size() / type.size);
    Bytes value = values(type, width, width);
    append_bytes(expected, value);
    value.resize((width == 3 ? 4 : width) * type.size);  // 3 takes the room of 4
    given.push_back(value);
  }
  const std::string head = device.info().fp64 ? "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" : "";
  const OpenClObjects objects(
      device, fmt::format("{}__kernel void take(__global {} *out{}) {{\n{}}}\n", head, type.name, parameters, body),
      "take");
  ASSERT_EQ(objects.build_code, CL_SUCCESS) << objects.log;
  Bytes got(expected.size());
  const auto buffer = objects.buffer(got.size(), got.data());
  cl_mem memory = buffer.get();
  const opencl::Api& cl = opencl::api();
  must(cl.clSetKernelArg(objects.kernel.get(), 0, sizeof memory, &memory), "clSetKernelArg");
  for (std::size_t i = 0; i < given.size(); ++i) {
    must(cl.clSetKernelArg(objects.kernel.get(), static_cast<cl_uint>(i + 1), given[i].size(), given[i].data()),
         "clSetKernelArg");
  }
  const std::size_t one = 1;
  must(cl.clEnqueueNDRangeKernel(objects.queue.get(), objects.kernel.get(), 1, nullptr, &one, nullptr, 0, nullptr,
                                 nullptr),
       "clEnqueueNDRangeKernel");
  must(cl.clEnqueueReadBuffer(objects.queue.get(), memory, CL_TRUE, 0, got.size(), got.data(), 0, nullptr, nullptr),
       "clEnqueueReadBuffer");
  std::size_t at = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::size_t size = widths_and_scalar[i] * type.size;
    const bool same = std::equal(got.begin() + static_cast<std::ptrdiff_t>(at),
                                 got.begin() + static_cast<std::ptrdiff_t>(at + size), given[i].begin());
    judge(device, all.family, type.name, all.cases[i].name, same ? "" : "it arrives as another value");
    at += size;
  }
}

}  // namespace
}  // namespace masu::vocabulary
