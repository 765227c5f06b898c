// SPDX-License-Identifier: Apache-2.0
// The dot product of two long vectors of floats, as it is usually written and as masu::dot does it: error and time of
// each way, on any device. The values have 24 bits behind the point, so plain C++ knows the exact result: products are
// whole multiples of 2^-48, and whole numbers of 128 bits hold their sum.
//
//   dot_product [--device ID] [--n N] [--groups N] [--items N] [--runs N]
#include "options.h"

#include <dot_product_cl.h>
#include <dot_product_cu.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <set>

namespace {

struct Settings {
  std::string device = "auto";
  std::uint64_t n = 1 << 24;
  std::uint64_t groups = 1024;
  std::uint64_t items = 256;
  std::uint64_t runs = 5;
};

using Values = std::vector<float>;

// From 0 to 1, in an order without a pattern.
Values make_values(std::span<const std::uint32_t> bits) {
  Values values;
  values.reserve(bits.size());
  for (const std::uint32_t word : bits) values.push_back(std::ldexp(static_cast<float>(word >> 8U), -24));
  return values;
}

double exact_dot(const Values& x, const Values& y) {
  __extension__ unsigned __int128 sum = 0;
  const auto whole = [](float value) { return static_cast<std::uint64_t>(std::ldexp(value, 24)); };
  for (std::size_t i = 0; i < x.size(); ++i) sum += whole(x[i]) * whole(y[i]);
  return std::ldexp(static_cast<double>(sum), -48);  // the one rounding
}

// What the runs of one way gave.
struct Outcome {
  std::set<double> answers;
  double seconds = 0;  // of the fastest run
};

Outcome repeat(std::uint64_t runs, const std::function<double()>& once) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds patience(10);  // with the slowest way on the slowest device
  Outcome outcome;
  const auto first = Clock::now();
  outcome.answers.insert(once());  // what is done once for all is not timed
  for (std::uint64_t run = 0; run < runs && (run == 0 || Clock::now() - first < patience); ++run) {
    const auto began = Clock::now();
    outcome.answers.insert(once());
    const double took = std::chrono::duration<double>(Clock::now() - began).count();
    outcome.seconds = run == 0 ? took : std::min(outcome.seconds, took);
  }
  return outcome;
}

class Table {
 public:
  Table(double exact, const Settings& settings) : exact_(exact), settings_(settings) {
    std::printf("%-46s %12s %10s %12s\n", "way", "error", "answers", "ms");
  }

  // `unit`: half the distance from 1 to the next number that the sums have. A sum of n terms that are not negative is
  // off by no more than n such steps, in whatever order.
  void add(const char* way, double unit, const std::function<double()>& once) {
    const Outcome outcome = repeat(settings_.runs, once);
    double error = 0;
    for (const double answer : outcome.answers) error = std::max(error, std::abs(answer - exact_));
    const double relative = exact_ == 0 ? error : error / exact_;
    std::printf("%-46s %12.3g %10zu %12.3f\n", way, relative, outcome.answers.size(), outcome.seconds * 1e3);
    std::fflush(stdout);
    const double most = unit * static_cast<double>(settings_.n + 1) * 1.01;
    right_ = right_ && (relative <= most || most > 0.5) && (unit > 0 || outcome.answers.size() == 1);
  }
  [[nodiscard]] bool right() const { return right_; }

 private:
  double exact_;
  const Settings& settings_;
  bool right_ = true;
};

constexpr double float_unit = 0x1p-24;
constexpr double double_unit = 0x1p-53;

// One after the other, in a variable of type T.
template <class T>
double loop(const Values& x, const Values& y) {
  T sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<T>(x[i]) * static_cast<T>(y[i]);
  return static_cast<double>(sum);
}

template <class T>
double added(const std::vector<T>& parts) {
  T sum = 0;
  for (const T part : parts) sum += part;
  return static_cast<double>(sum);
}

// The kernels of the example on one device, where the vectors lie already.
class Naive {
 public:
  Naive(const masu::Device& device, const Values& x, const Values& y, const Settings& settings)
      : device_(device), settings_(settings), stream_(device), x_(device.upload(x)), y_(device.upload(y)) {}

  void add_to(Table& table) {
    const masu::Program program = build("float");
    masu::Kernel atomic = program.kernel("dot_atomic");
    auto total = device_.allocate<float>(1);
    // Of all that compare and exchange at a time one succeeds: 10^5 did not end in minutes, so one group fights.
    const std::uint64_t fighters = items_for(atomic, 0);
    const bool few = device_.kind() == masu::DeviceKind::opencl && device_.info().gpu;
    const masu::NDRange fight = few ? masu::NDRange(fighters, fighters) : range(fighters);
    table.add("atomics on one float in global memory", float_unit, [&] {
      stream_.fill(total, 0.0F);
      atomic(stream_, fight, x_, y_, settings_.n, total);
      stream_.finish();
      return static_cast<double>(total.read().front());
    });
    masu::Kernel per_item = program.kernel("dot_items");
    const std::uint64_t items = items_for(per_item, 0);
    auto sums = device_.allocate<float>(settings_.groups * items);
    table.add("a float for each work-item", float_unit, [&] {
      per_item(stream_, range(items), x_, y_, settings_.n, sums);
      stream_.finish();
      return added(sums.read());
    });
    add_groups<float>(table, "a float for each work-group, from local memory", float_unit, program);
    if (device_.info().fp64) {
      add_groups<double>(table, "the same in double", double_unit, build("double"));
    }
  }
  double exact() { return masu::dot(x_, y_); }

 private:
  [[nodiscard]] masu::Program build(const std::string& type) const {
    const bool cuda = device_.kind() == masu::DeviceKind::cuda;
    return masu::Program::from_source(device_, cuda ? dot_product_cu : dot_product_cl, "-DSUM=" + type);
  }
  [[nodiscard]] std::uint64_t items_for(const masu::Kernel& kernel, std::uint64_t local) const {
    return example::items_for(device_, kernel, settings_.items, local);
  }
  [[nodiscard]] masu::NDRange range(std::uint64_t items) const { return {settings_.groups * items, items}; }

  template <class T>
  void add_groups(Table& table, const char* way, double unit, const masu::Program& program) {
    masu::Kernel kernel = program.kernel("dot_groups");
    const std::uint64_t items = items_for(kernel, sizeof(T));
    auto partial = device_.allocate<T>(settings_.groups);
    table.add(way, unit, [&] {
      kernel(stream_, range(items), x_, y_, settings_.n, masu::LocalMemory{items * sizeof(T)}, partial);
      stream_.finish();
      return added(partial.read());
    });
  }

  const masu::Device& device_;
  const Settings& settings_;
  masu::Stream stream_;
  masu::Buffer<float> x_;
  masu::Buffer<float> y_;
};

int run(const Settings& settings) {
  const masu::Device device = masu::Device::open(settings.device);
  const std::vector<std::uint32_t> bits = example::made_up(2 * settings.n);
  const Values x = make_values(std::span(bits).first(settings.n));
  const Values y = make_values(std::span(bits).last(settings.n));
  const double exact = exact_dot(x, y);
  double found = 0;

  Table table(exact, settings);
  if (device.kind() == masu::DeviceKind::cpu) {
    table.add("a loop over one float", float_unit, [&] { return loop<float>(x, y); });
    table.add("a loop over one double", double_unit, [&] { return loop<double>(x, y); });
    table.add("masu::dot", 0,
              [&] { return found = masu::dot(device, masu::ArrayView(x), masu::ArrayView(y)).value(); });
  } else {
    Naive naive(device, x, y, settings);
    naive.add_to(table);
    table.add("masu::dot", 0, [&] { return found = naive.exact(); });
  }
  std::printf("the dot product of %llu values is %.17g\n", static_cast<unsigned long long>(settings.n), found);
  std::fflush(stdout);
  return example::end("dot_product", table.right() && found == exact, "", device);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  return example::main_of(argc, argv, "dot_product", settings, run,
                          {{"--n", &settings.n, 0},
                           {"--groups", &settings.groups},
                           {"--items", &settings.items},
                           {"--runs", &settings.runs}});
}
