// SPDX-License-Identifier: Apache-2.0
// Forms that take a stream, captured in a CUDA graph, and recorded: replayed on other contents of the same buffers they
// leave what a direct call leaves. Skipped where there is no CUDA device.
#include "each_device.h"
#include "enqueue_forms.h"
#include "runtime/backend.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/program.h>
#include <masu/stream.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace masu {
namespace {

using Part = test::EnqueueForms::Part;

// What the driver has beside what the backend uses.
struct GraphDriver {
  using Handle = void*;
  template <class F>
  static F* find(const char* name) {
    static void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr : reinterpret_cast<F*>(dlsym(library, name));
  }
  int (*set_context)(Handle) = find<int(Handle)>("cuCtxSetCurrent");
  int (*create_stream)(Handle*, unsigned) = find<int(Handle*, unsigned)>("cuStreamCreate");
  int (*destroy_stream)(Handle) = find<int(Handle)>("cuStreamDestroy_v2");
  int (*synchronize)(Handle) = find<int(Handle)>("cuStreamSynchronize");
  int (*begin)(Handle, int) = find<int(Handle, int)>("cuStreamBeginCapture_v2");
  int (*end)(Handle, Handle*) = find<int(Handle, Handle*)>("cuStreamEndCapture");
  int (*instantiate)(Handle*, Handle, unsigned long long) =
      find<int(Handle*, Handle, unsigned long long)>("cuGraphInstantiateWithFlags");
  int (*launch)(Handle, Handle) = find<int(Handle, Handle)>("cuGraphLaunch");
  int (*destroy_graph)(Handle) = find<int(Handle)>("cuGraphDestroy");
  int (*destroy_executable)(Handle) = find<int(Handle)>("cuGraphExecDestroy");
};

// Those that cannot be captured: ARCHITECTURE.md says why.
bool may_be_captured(const test::EnqueueForms::Form& form) {
  return form.in_buffers && form.name != "sort segments";
}

// How many elements, and which forms.
class GraphTest : public testing::TestWithParam<std::tuple<std::uint64_t, Part>> {};

TEST_P(GraphTest, ReplaysGiveTheBitsOfCalls) {
  const auto [count, part] = GetParam();
  const std::vector<std::string> ids = test::device_ids();
  const auto cuda = std::ranges::find_if(ids, [](const std::string& id) { return id.starts_with("cuda:"); });
  if (cuda == ids.end()) GTEST_SKIP() << "no CUDA device";
  const Device device = Device::open(*cuda);
  const GraphDriver driver;
  ASSERT_NE(driver.begin, nullptr);
  const unsigned replays = count <= 1000 ? 100 : 5;
  test::EnqueueForms all(device, count, part, true);
  GraphDriver::Handle native = nullptr;
  ASSERT_EQ(driver.set_context(device.native_context()), 0);
  ASSERT_EQ(driver.create_stream(&native, 1), 0);
  {
    Stream stream = Stream::wrap(device, native);
    for (const test::EnqueueForms::Form& form : all.forms()) {
      if (!may_be_captured(form)) continue;
      SCOPED_TRACE(form.name);
      form.run(stream)();
      GraphDriver::Handle graph = nullptr;
      GraphDriver::Handle executable = nullptr;
      constexpr int relaxed = 2;
      ASSERT_EQ(driver.begin(native, relaxed), 0);
      (void)form.run(stream);
      ASSERT_EQ(driver.end(native, &graph), 0);
      ASSERT_EQ(driver.instantiate(&executable, graph, 0), 0);
      for (unsigned replay = 0; replay < replays; ++replay) {
        all.set_contents(replay + 1);
        ASSERT_EQ(driver.launch(executable, native), 0);
        ASSERT_EQ(driver.synchronize(native), 0);
        const auto replayed = all.contents();
        all.set_contents(replay + 1);
        form.run(stream)();
        stream.finish();
        ASSERT_EQ(replayed, all.contents()) << "replay " << replay;
      }
      const Recording recording(device, {}, [&](auto) {
        Stream recorded(device, Timing::off);
        (void)form.run(recorded);
      });
      Buffer<std::byte> workspace(device, recording.workspace_bytes());
      all.set_contents(0);
      recording.enqueue(native, {}, workspace.native());
      ASSERT_EQ(driver.synchronize(native), 0);
      const auto repeated = all.contents();
      all.set_contents(0);
      form.run(stream)();
      stream.finish();
      ASSERT_EQ(repeated, all.contents()) << "recorded";
      EXPECT_EQ(driver.destroy_executable(executable), 0);
      EXPECT_EQ(driver.destroy_graph(graph), 0);
    }
  }
  EXPECT_EQ(driver.destroy_stream(native), 0);
}

INSTANTIATE_TEST_SUITE_P(Sizes, GraphTest,
                         testing::Combine(testing::Values(1, 1000, 100000),
                                          testing::Values(Part::sorts, Part::selections, Part::sums, Part::histograms,
                                                          Part::moves)));

// The program is released, and dropped from those that the device keeps.
TEST(GraphOfAProgram, ReplaysWhenTheProgramIsGone) {
  const std::vector<std::string> ids = test::device_ids();
  const auto cuda = std::ranges::find_if(ids, [](const std::string& id) { return id.starts_with("cuda:"); });
  if (cuda == ids.end()) GTEST_SKIP() << "no CUDA device";
  const Device device = Device::open(*cuda);
  const GraphDriver driver;
  const auto program = [&](unsigned amount) {
    return Program::from_source(device, "extern \"C\" __global__ void add(unsigned* values) { values[threadIdx.x] += " +
                                            std::to_string(amount) + "; }");
  };
  GraphDriver::Handle native = nullptr;
  ASSERT_EQ(driver.set_context(device.native_context()), 0);
  ASSERT_EQ(driver.create_stream(&native, 1), 0);
  constexpr std::size_t count = 32;
  Buffer<std::uint32_t> values(device, count);
  values.write(std::vector<std::uint32_t>(count, 0));
  GraphDriver::Handle graph = nullptr;
  GraphDriver::Handle executable = nullptr;
  {
    Stream stream = Stream::wrap(device, native);
    Kernel add = program(1000).kernel("add");
    ASSERT_EQ(driver.begin(native, 2), 0);
    add(stream, {count, count}, values);
    ASSERT_EQ(driver.end(native, &graph), 0);
    ASSERT_EQ(driver.instantiate(&executable, graph, 0), 0);
  }
  for (unsigned amount = 0; amount <= 2 * runtime::Kept::most_programs; ++amount) {
    (void)program(amount);
  }
  for (std::uint32_t replay = 1; replay <= 3; ++replay) {
    ASSERT_EQ(driver.launch(executable, native), 0);
    ASSERT_EQ(driver.synchronize(native), 0);
    EXPECT_EQ(values.read(), std::vector<std::uint32_t>(count, 1000 * replay));
  }
  EXPECT_EQ(driver.destroy_executable(executable), 0);
  EXPECT_EQ(driver.destroy_graph(graph), 0);
  EXPECT_EQ(driver.destroy_stream(native), 0);
}

}  // namespace
}  // namespace masu
