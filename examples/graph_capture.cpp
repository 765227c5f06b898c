// SPDX-License-Identifier: Apache-2.0
// A pipeline of masu's calls as one CUDA graph: captured once, then launched on new contents of the same memory, with
// nothing for the host to do in between. Here: the histogram of some samples, their sum, and the samples in order; each
// launch is checked against plain C++.
//
//   graph_capture [--device ID] [--n N] [--launches N]
//
// Only the driver's functions for graphs are needed; a program that links CUDA calls cudaStreamBeginCapture and its
// kin.
#include "options.h"

#include <dlfcn.h>

namespace {

struct Settings {
  std::string device = "cuda";
  std::uint64_t n = 1 << 20;
  std::uint64_t launches = 3;
};

constexpr std::uint64_t bins = 10;

// The driver's functions, opened at run time.
class Driver {
 public:
  using Handle = void*;

  template <class... Arguments>
  void call(const char* name, Arguments... arguments) const {
    auto* const function = library_ == nullptr ? nullptr : dlsym(library_, name);
    if (function == nullptr) throw std::runtime_error(std::string("the CUDA driver has no ") + name);
    const int status = reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
    if (status != 0) throw std::runtime_error(std::string(name) + " failed with " + std::to_string(status));
  }

 private:
  void* library_ = dlopen("libcuda.so.1", RTLD_NOW);
};

// What the launch left, beside what plain C++ finds. The samples are multiples of 2^-24 below 1: their sum in 64-bit
// integers is exact.
bool check(const std::vector<float>& samples, const std::vector<float>& sorted,
           const std::vector<std::uint64_t>& counts, double total) {
  std::vector<float> expected = samples;
  std::ranges::sort(expected);
  std::vector<std::uint64_t> found(bins + 3);
  std::uint64_t sum = 0;
  for (const float x : samples) {
    // Edge i of the bins is i * 0.1 in double, rounded to float.
    std::uint64_t bin = 0;
    while (bin + 1 < bins && x >= static_cast<float>(static_cast<double>(bin + 1) * 0.1)) ++bin;
    ++found[bin];
    sum += static_cast<std::uint64_t>(x * 0x1p24F);
  }
  return sorted == expected && counts == found && total == static_cast<double>(sum) * 0x1p-24;
}

int run(const Settings& settings) {
  const masu::Device device = masu::Device::open(settings.device);
  if (device.kind() != masu::DeviceKind::cuda) {
    throw std::runtime_error("graphs are CUDA's and need a CUDA device, got " + device.id());
  }
  const std::uint64_t n = settings.n;
  const Driver driver;
  Driver::Handle queue = nullptr;
  driver.call("cuCtxSetCurrent", device.native_context());
  driver.call("cuStreamCreate", &queue, 1U);
  bool right = true;
  {
    masu::Stream stream = masu::Stream::wrap(device, queue);

    // What a call would allocate or make: before the capture.
    masu::Buffer<float> values(device, n);
    masu::PreparedHistogram prepared(device, masu::Dtype::f32, masu::Bins::even(bins, 0, 1));
    masu::Buffer<std::uint64_t> counts(device, bins + 3);
    const masu::Buffer<double> total(device, 1);
    const masu::Buffer<std::byte> room(
        device, std::max({prepared.workspace(n), masu::sort_workspace(device, masu::Dtype::f32, n),
                          masu::sum_workspace(device, masu::Dtype::f32, n)}));
    const auto pipeline = [&] {
      (void)masu::histogram(stream, values, prepared, counts, &room);
      (void)masu::sum(stream, values, masu::Dtype::f32, total, {.workspace = &room});
      (void)masu::sort(stream, values, {.workspace = &room});
    };
    pipeline();  // compiles and loads the kernels
    stream.finish();

    Driver::Handle graph = nullptr;
    Driver::Handle executable = nullptr;
    driver.call("cuStreamBeginCapture_v2", queue, 0);
    pipeline();
    driver.call("cuStreamEndCapture", queue, &graph);
    driver.call("cuGraphInstantiateWithFlags", &executable, graph, 0ULL);

    const std::vector<std::uint32_t> bits = example::made_up(n * settings.launches);
    for (std::uint64_t launch = 0; launch < settings.launches; ++launch) {
      std::vector<float> samples(n);
      for (std::uint64_t i = 0; i < n; ++i) samples[i] = static_cast<float>(bits[launch * n + i] >> 8U) * 0x1p-24F;
      values.write(samples);
      driver.call("cuGraphLaunch", executable, queue);
      stream.finish();
      const double sum = total.read().front();
      const bool agrees = check(samples, values.read(), counts.read(), sum);
      std::cout << "launch " << launch + 1 << ": " << n << " samples, sum " << sum << ": "
                << (agrees ? "agrees with" : "differs from") << " plain C++\n";
      right = right && agrees;
    }
    driver.call("cuGraphExecDestroy", executable);
    driver.call("cuGraphDestroy", graph);
  }
  driver.call("cuStreamDestroy_v2", queue);
  std::cout << "on " << device.info().name << '\n';
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  return example::main_of(argc, argv, "graph_capture", settings, run,
                          {{"--n", &settings.n}, {"--launches", &settings.launches}});
}
