// SPDX-License-Identifier: Apache-2.0
// What a launch costs through masu and through the vendor's own interface: the same kernel with the same arguments on
// the same device, in turns. "vendor" is the least that a program can call; "timed" asks, as masu does, for an event
// that tells the kernel's time, and has the queue start at once. "untimed" is masu with Timing::off.
//
// And what whole calls cost the caller, of few elements and in a workspace, over as many of the vendor's launches as
// they give commands to the stream.
#include "counting_device.h"
#include "enqueue_forms.h"
#include "launch_vendor.h"

#include <fmt/format.h>
#include <masu/masu.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using masu::bench::LaunchCase;
using masu::bench::Vendor;
using Leaves = Vendor::Leaves;

constexpr int rounds = 21;
constexpr int launches = 200;  // in one go: fewer than a driver's queue holds

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// One way to launch.
struct Way {
  std::string name;
  std::function<void()> launch;
  std::function<void()> finish;
  std::vector<double> queued{};    // seconds of one launch, as the caller waits for it
  std::vector<double> finished{};  // seconds of one launch and the wait for its end
};

void measure(Way& way) {
  double start = now();
  for (int i = 0; i < launches; ++i) way.launch();
  way.queued.push_back((now() - start) / launches);
  way.finish();
  start = now();
  for (int i = 0; i < launches; ++i) {
    way.launch();
    way.finish();
  }
  way.finished.push_back((now() - start) / launches);
}

void check(const LaunchCase& what, std::string_view way) {
  const std::vector<float> got = what.c.read();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::size_t mirrored =
        i / LaunchCase::group * LaunchCase::group + LaunchCase::group - 1 - i % LaunchCase::group;
    if (got[i] != LaunchCase::factor * 3 * static_cast<float>(mirrored)) {
      throw std::runtime_error(fmt::format("{} computes element {} as {}", way, i, got[i]));
    }
  }
}

// Of every form that only enqueues, in turns with the vendor's launches: bare ones, such as leave a point that may be
// waited for, and bare ones of the call's own kernels with their arguments. The median and the greatest ratio at the
// end.
void compare_calls(const masu::Device& device, Vendor& vendor) {
  constexpr std::uint64_t count = 1000;
  constexpr int calls = 20;
  constexpr std::array titles{"/ bare launches", "/ with points", "/ its launches"};
  const auto counting = std::make_shared<masu::test::CountingDevice>(device.implementation());
  const masu::Device counted(counting);
  const masu::test::EnqueueForms forms(device, count);
  const masu::test::EnqueueForms counted_forms(counted, count);
  masu::Stream stream(device, masu::Timing::off);
  masu::Stream counted_stream(counted, masu::Timing::off);
  fmt::print("  {:<40}{:>10}{:>10}", "calls of 1,000 elements", "commands", "us");
  for (const char* title : titles) fmt::print("{:>18}", title);
  fmt::print("\n");
  std::array<std::vector<double>, titles.size()> ratios;
  for (std::size_t i = 0; i < forms.forms().size(); ++i) {
    const auto& form = forms.forms()[i];
    counted_forms.forms()[i].run(counted_stream)();
    counting->counts().take();
    std::vector<masu::test::NotedCommand> noted;
    counting->counts().noted = &noted;
    const auto get = counted_forms.forms()[i].run(counted_stream);
    counting->counts().noted = nullptr;
    const unsigned commands = counting->counts().commands;
    const std::vector<std::string> asked = counting->counts().take();
    get();
    if (asked != std::vector<std::string>{"commands"}) continue;
    const auto launch_all = [&](Leaves leaves) {
      for (unsigned command = 0; command < commands; ++command) vendor.launch(leaves);
    };
    const auto repeat = [&] { (void)vendor.repeat(noted); };
    const bool repeated = vendor.repeat(noted);
    vendor.finish(Leaves::nothing);
    form.run(stream)();
    std::vector<double> seconds;
    std::array<std::vector<double>, titles.size()> of_vendor;
    const auto timed = [&](std::vector<double>& to, const auto& work, const auto& finish) {
      const double start = now();
      for (int call = 0; call < calls; ++call) work();
      to.push_back((now() - start) / calls);
      finish();
    };
    for (int round = 0; round < rounds; ++round) {
      std::vector<std::function<void()>> results;
      results.reserve(calls);
      timed(
          seconds, [&] { results.push_back(form.run(stream)); }, [&] { stream.finish(); });
      for (const Leaves leaves : {Leaves::nothing, Leaves::point}) {
        timed(
            of_vendor[static_cast<std::size_t>(leaves)], [&] { launch_all(leaves); }, [&] { vendor.finish(leaves); });
      }
      if (repeated) timed(of_vendor[2], repeat, [&] { vendor.finish(Leaves::nothing); });
    }
    fmt::print("  {:<40}{:>10}{:>10.2f}", form.name, commands, median(seconds) * 1e6);
    for (std::size_t k = 0; k < titles.size(); ++k) {
      if (of_vendor[k].empty()) continue;
      ratios[k].push_back(median(seconds) / median(of_vendor[k]));
      fmt::print("{:>18.2f}", ratios[k].back());
    }
    fmt::print("\n");
  }
  for (std::size_t k = 0; k < titles.size(); ++k) {
    if (ratios[k].empty()) continue;
    fmt::print("  {}: median {:.2f}, greatest {:.2f}\n", titles[k], median(ratios[k]),
               *std::ranges::max_element(ratios[k]));
  }
}

void compare(const masu::Device& device) {
  LaunchCase what(device);
  masu::Stream stream(device);
  masu::Stream untimed(device, masu::Timing::off);
  masu::Kernel kernel = masu::Program::from_source(device, what.text()).kernel("work");
  const masu::NDRange range(LaunchCase::count, LaunchCase::group);
  const auto through = [&](masu::Stream& queue) {
    kernel(queue, range, what.a, what.b, what.c, static_cast<std::uint32_t>(LaunchCase::count), LaunchCase::factor,
           masu::LocalMemory{LaunchCase::local_bytes});
  };
  const std::unique_ptr<Vendor> vendor = masu::bench::make_vendor(what);
  std::vector<Way> ways;
  ways.push_back({"vendor", [&] { vendor->launch(Leaves::nothing); }, [&] { vendor->finish(Leaves::nothing); }});
  ways.push_back({"timed", [&] { vendor->launch(Leaves::time); }, [&] { vendor->finish(Leaves::time); }});
  ways.push_back({"masu", [&] { through(stream); }, [&] { stream.finish(); }});
  ways.push_back({"untimed", [&] { through(untimed); }, [&] { untimed.finish(); }});
  for (Way& way : ways) {  // right before fast
    what.c.fill(0);
    way.launch();
    way.finish();
    check(what, way.name);
    measure(way);
    way.queued.clear();
    way.finished.clear();
  }
  for (int round = 0; round < rounds; ++round) {
    for (Way& way : ways) measure(way);
  }
  fmt::print("{} ({}, {})\n", device.id(), device.info().name, device.info().driver);
  fmt::print("  {:<22}{:>10}{:>10}{:>10}{:>10}{:>15}{:>18}\n", "us per launch, median", "vendor", "timed", "masu",
             "untimed", "masu - timed", "untimed - vendor");
  for (const bool whole : {false, true}) {
    std::vector<double> us;
    for (const Way& way : ways) us.push_back(median(whole ? way.finished : way.queued) * 1e6);
    fmt::print("  {:<22}{:>10.2f}{:>10.2f}{:>10.2f}{:>10.2f}{:>15.2f}{:>18.2f}\n",
               whole ? "launch and finish" : "launch", us[0], us[1], us[2], us[3], us[2] - us[1], us[3] - us[0]);
  }
  compare_calls(device, *vendor);
}

}  // namespace

// The devices to measure are its arguments; every device that runs kernels without any.
int main(int count, char** words) try {
  std::vector<std::string> ids(words + 1, words + count);
  for (const masu::DeviceInfo& info : masu::Device::list()) {
    if (count == 1 && info.usable && info.kind != masu::DeviceKind::cpu) ids.push_back(info.id);
  }
  for (const std::string& id : ids) compare(masu::Device::open(id));
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "peer_launch: {}\n", error.what());
  return 1;
}
