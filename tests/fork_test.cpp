// SPDX-License-Identifier: Apache-2.0
// A process that was forked after a driver was opened gets an error from the driver's devices, at once, and computes on
// the CPU.
#include "each_device.h"

#include <gtest/gtest.h>
#include <masu/masu.h>

#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace masu {
namespace {

// Runs `child` in a forked process; its status, -1 where it did not end within 30 seconds.
int status_of_child(const std::function<bool()>& child) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    bool right = false;
    try {
      right = child();
    } catch (...) {
    }
    std::_Exit(right ? 0 : 1);
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > until) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Whether it throws what says what to do.
bool is_refused(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    const std::string text = error.what();
    return error.code() == ErrorCode::device_lost && text.find("spawn") != std::string::npos;
  }
  return false;
}

class ForkTest : public test::EachDevice {};
MASU_ON_EACH_KERNEL_DEVICE(ForkTest);

TEST_P(ForkTest, AChildsDeviceIsAnErrorAtOnce) {
  const std::vector<float> data(5000, 0.5F);
  const std::string id = device.info().id;
  const std::string kind(to_string(device.kind()));
  auto there = std::make_unique<Buffer<float>>(device, data.size());
  there->write(std::span<const float>(data));
  const double before = sum(*there);
  Stream kept(device);
  auto pending = sum(kept, *there, Dtype::f32);

  EXPECT_EQ(status_of_child([&] { return is_refused([&] { (void)Device::open(kind); }); }), 0) << "open";
  EXPECT_EQ(status_of_child([&] { return is_refused([&] { (void)Device::open(id); }); }), 0) << "open by number";
  EXPECT_EQ(status_of_child([&] { return is_refused([&] { (void)sum(*there); }); }), 0) << "a buffer of the parent's";
  EXPECT_EQ(status_of_child([&] { return is_refused([&] { (void)there->read(); }); }), 0) << "reading it";
  EXPECT_EQ(status_of_child([&] { return is_refused([&] { (void)histogram(device, data, Bins::even(4, 0, 1)); }); }), 0)
      << "the parent's device";
  EXPECT_EQ(status_of_child([&] { return is_refused([&] { Buffer<float>(device, 10).fill(1); }); }), 0) << "allocation";
  EXPECT_EQ(status_of_child([&] { return is_refused([&] { kept.finish(); }); }), 0) << "a stream of the parent's";
  EXPECT_EQ(status_of_child([&] { return is_refused([&] { (void)pending.get(); }); }), 0) << "work of the parent's";
  EXPECT_EQ(status_of_child([&] {
              there.reset();
              return true;
            }),
            0)
      << "the end of a buffer";

  EXPECT_EQ(pending.get().value(), before);
  EXPECT_EQ(sum(*there), before);
}

TEST_P(ForkTest, AChildComputesOnTheCpu) {
  const std::vector<float> data(100'000, 0.5F);
  EXPECT_EQ(status_of_child([&] { return sum(Device::open("cpu"), ArrayView(data)).value() == 50'000; }), 0);
  EXPECT_EQ(status_of_child([&] { return Device::open("auto").kind() != device.kind(); }), 0);
  const DeviceKind kind = device.kind();
  EXPECT_EQ(status_of_child([&] {
              for (const DeviceInfo& info : Device::list()) {
                if (info.kind == kind && (info.usable || info.why.find("spawn") == std::string::npos)) return false;
              }
              return true;
            }),
            0);
}

}  // namespace
}  // namespace masu
