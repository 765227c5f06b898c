// SPDX-License-Identifier: Apache-2.0
// Names of devices, and machines without, or with broken, drivers (each tried in a process of its own).
#include <masu/device.h>
#include <masu/stream.h>
#include <unistd.h>

#include "each_device.h"
#include "expect_error.h"
#include "scoped_env.h"
#include "temporary_directory.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace masu {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<DeviceInfo> of_kind(DeviceKind kind) {
  std::vector<DeviceInfo> devices = Device::list();
  std::erase_if(devices, [&](const DeviceInfo& info) { return info.kind != kind; });
  return devices;
}

std::vector<DeviceInfo> usable_of_kind(DeviceKind kind) {
  std::vector<DeviceInfo> devices = of_kind(kind);
  std::erase_if(devices, [](const DeviceInfo& info) { return !info.usable; });
  return devices;
}

TEST(Registry, ListsTheCpuFirstAndGivesReasons) {
  const std::vector<DeviceInfo> devices = Device::list();
  ASSERT_FALSE(devices.empty());
  EXPECT_EQ(devices.front().id, "cpu");
  EXPECT_TRUE(devices.front().usable);
  EXPECT_FALSE(devices.front().gpu);
  EXPECT_GT(devices.front().memory_bytes, 0U);
  for (const DeviceInfo& info : devices) {
    EXPECT_EQ(info.why.empty(), info.usable) << info.id;
    EXPECT_TRUE(!info.usable || !info.name.empty()) << info.id;
  }
  for (const DeviceKind kind : {DeviceKind::opencl, DeviceKind::cuda}) EXPECT_FALSE(of_kind(kind).empty());
}

TEST(Registry, NumbersOpenClGpusFirst) {
  const std::vector<DeviceInfo> devices = usable_of_kind(DeviceKind::opencl);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    EXPECT_EQ(devices[i].id, "opencl:" + std::to_string(i));
    EXPECT_TRUE(i == 0 || devices[i - 1].gpu || !devices[i].gpu);
  }
}

TEST(Registry, OpensByNumberKindAndName) {
  EXPECT_EQ(Device::open("cpu"), Device::open("cpu"));
  for (const DeviceKind kind : {DeviceKind::opencl, DeviceKind::cuda}) {
    const std::string name(to_string(kind));
    const std::vector<DeviceInfo> devices = usable_of_kind(kind);
    if (devices.empty()) {
      MASU_EXPECT_ERROR((void)Device::open(name), unsupported, of_kind(kind).front().why);
      continue;
    }
    const Device first = Device::open(name);
    EXPECT_EQ(first.id(), name + ":0");
    EXPECT_EQ(first, Device::open(name + ":0"));
    EXPECT_EQ(Device::open(name + ":" + devices[0].name).info().name, devices[0].name);
    std::string part = devices[0].name.substr(1, 5);
    for (char& c : part) c = static_cast<char>(std::toupper(c));
    EXPECT_EQ(Device::open(name + ":" + part).kind(), kind);
    MASU_EXPECT_ERROR((void)Device::open(name + ":no such name"), unsupported, devices[0].name);
    MASU_EXPECT_ERROR((void)Device::open(name + ":" + std::to_string(devices.size())), unsupported, "numbers 0 to");
    MASU_EXPECT_ERROR((void)Device::open(name + ":99999999999999999999999"), unsupported, "numbers 0 to");
  }
}

TEST(Registry, RefusesNamesOfNoForm) {
  for (const char* name : {"gpu", "cpu:0", "cpu:", "opencl:", "cuda:", "openclx", "CPU", ":0", " cpu", "hip:0"}) {
    MASU_EXPECT_ERROR((void)Device::open(name), invalid_argument, std::string("got \"") + name + "\"");
  }
}

TEST(Registry, TheDefaultIsMasuDeviceOrTheBest) {
  {
    const test::ScopedEnv preset("MASU_DEVICE", "cpu");
    EXPECT_EQ(Device::open().id(), "cpu");
  }
  {
    const test::ScopedEnv preset("MASU_DEVICE", "toaster");
    MASU_EXPECT_ERROR((void)Device::open(), invalid_argument, "toaster");
  }
  const test::ScopedEnv none("MASU_DEVICE", nullptr);
  const Device best = Device::open();
  EXPECT_EQ(best, Device::open("auto"));
  EXPECT_TRUE(best.info().gpu || best.kind() == DeviceKind::cpu);  // never an OpenCL CPU device
}

TEST(Registry, WrapsWhatItOpened) {
  for (const DeviceInfo& info : usable_of_kind(DeviceKind::opencl)) {
    const Device device = Device::open(info.id);
    const Device wrapped = Device::wrap_opencl(device.native_context(), device.native_device());
    EXPECT_EQ(wrapped, device);
    EXPECT_EQ(wrapped.id(), info.id);
  }
  MASU_EXPECT_ERROR((void)Device::wrap_opencl(nullptr, nullptr), invalid_argument, "null");
  MASU_EXPECT_ERROR((void)Device::wrap_cuda(nullptr), invalid_argument, "null");
}

TEST(Registry, ThreadsOpenAndListAtOnce) {
  std::vector<std::thread> threads;
  std::vector<int> good(8, 0);
  for (int& count : good) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        for (const DeviceInfo& info : Device::list()) {
          if (!info.usable) continue;
          count += Device::open(info.id).upload(std::vector<int>{i}).read().at(0) == i ? 1 : 0;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, std::vector<int>(8, good.front()));
  EXPECT_GE(good.front(), 5);
}

// What the test of this program with that name prints when it runs alone with more environment.
std::string run_alone(const std::string& name, const std::string& environment) {
  std::array<char, 4096> path{};
  if (::readlink("/proc/self/exe", path.data(), path.size() - 1) <= 0) return {};
  // All of it, also where this process runs a part of the tests.
  const std::string command = "GTEST_TOTAL_SHARDS=1 GTEST_SHARD_INDEX=0 " + environment + " '" + path.data() +
                              "' --gtest_also_run_disabled_tests --gtest_filter=RegistryAlone.DISABLED_" + name +
                              " 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  std::string output;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) output += static_cast<char>(c);
  return output + "exit status " + std::to_string(::pclose(pipe));
}

TEST(RegistryAlone, DISABLED_PrintsDevices) {
  for (const DeviceInfo& info : Device::list()) {
    std::printf("<%s|%s|%s>\n", info.id.c_str(), info.usable ? "usable" : "unusable", info.why.c_str());
    if (!info.usable) continue;
    EXPECT_EQ(Device::open(info.id).upload(std::vector<int>{5}).read().at(0), 5);
  }
  EXPECT_EQ(Device::open("cpu").id(), "cpu");
  EXPECT_NO_THROW((void)Device::open("auto"));
  try {
    (void)Device::open("opencl");
  } catch (const Error& error) {
    std::printf("<%s>\n", error.what());
  }
}

TEST(RegistryAlone, DISABLED_PrintsMapsAfterCpu) {
  const Device cpu = Device::open("cpu");
  EXPECT_EQ(cpu.upload(std::vector<int>{5}).read().at(0), 5);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) std::puts(line.c_str());
}

TEST(RegistryAlone, TheCpuNeedsNoGpuLibrary) {
  const std::string output = run_alone("PrintsMapsAfterCpu", "MASU_TEST_DEVICES=cpu");
  EXPECT_THAT(output, HasSubstr("libc.so"));
  EXPECT_THAT(output, HasSubstr("exit status 0"));
  for (const char* library : {"libOpenCL", "libcuda", "libnvrtc", "libpocl"})
    EXPECT_THAT(output, Not(HasSubstr(library)));
}

TEST(RegistryAlone, AMachineWithoutPlatforms) {
  const test::TemporaryDirectory none;
  const std::string output =
      run_alone("PrintsDevices", "OCL_ICD_FILENAMES= OCL_ICD_VENDORS='" + none.path().string() + "/'");
  EXPECT_THAT(output, HasSubstr("<cpu|usable|>"));
  EXPECT_THAT(output, HasSubstr("<opencl|unusable|"));
  EXPECT_THAT(output, HasSubstr("<Device::open: no usable opencl device"));
  EXPECT_THAT(output, HasSubstr("exit status 0"));
}

TEST(RegistryAlone, ABrokenLibraryAndABrokenDriver) {
  const test::TemporaryDirectory directory;
  for (const char* name : {"libOpenCL.so.1", "libOpenCL.so", "libcuda.so.1", "libcuda.so", "broken.so"}) {
    std::ofstream(directory.path() / name) << "this is no library";
  }
  const std::string library =
      run_alone("PrintsDevices", "LD_LIBRARY_PATH='" + directory.path().string() + "':\"$LD_LIBRARY_PATH\"");
  EXPECT_THAT(library, HasSubstr("<cpu|usable|>"));
  EXPECT_THAT(library, HasSubstr("<opencl|unusable|" + (directory.path() / "libOpenCL.so.1").string()));
  EXPECT_THAT(library, HasSubstr("exit status 0"));

  std::ofstream(directory.path() / "broken.icd") << (directory.path() / "broken.so").string() << "\n";
  const std::string driver =
      run_alone("PrintsDevices", "OCL_ICD_FILENAMES= OCL_ICD_VENDORS='" + directory.path().string() + "/'");
  EXPECT_THAT(driver, HasSubstr("<cpu|usable|>"));
  EXPECT_THAT(driver, HasSubstr("<opencl|unusable|"));
  EXPECT_THAT(driver, HasSubstr("exit status 0"));
}

}  // namespace
}  // namespace masu
