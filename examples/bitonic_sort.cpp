// SPDX-License-Identifier: Apache-2.0
// A bitonic sorting network of any length: lists its stages and passes, then the final merge; sorts 32 values, or N
// made-up ones, in descending order, a launch for each pass. With --most it compares the network's cost with masu's
// radix sort for 1024, 4096, … values up to M, and draws that with --chart.
//
//   bitonic_sort [--device ID] [--n N] [--items N] [--most M] [--chart FILE.svg|.png|.pdf]
#include "bitonic.h"
#include "options.h"

#include <masu/plot.h>
#include <masu/sort.h>

#include <bitonic_sort_cl.h>

#include <chrono>
#include <iomanip>
#include <sstream>

namespace {

// The values that are sorted unless --n asks for others: 7 (i + 3)^2 mod 101 for i = 0 … 31.
constexpr std::uint32_t row_values[] = {63, 11, 74, 50, 40, 44, 62, 94, 39, 99, 72, 59, 60, 75, 3,  46,
                                        2,  73, 57, 55, 67, 93, 32, 86, 53, 34, 29, 38, 61, 98, 48, 12};

struct Settings {
  std::string device = "opencl";
  std::uint64_t n = std::size(row_values);
  std::uint64_t items = 64;
  std::uint64_t most = 0;
  std::string chart;
};

class Network {
 public:
  Network(const masu::Device& device, std::uint64_t items)
      : stream_(device),
        compare_(masu::Program::from_source(device, bitonic_sort_cl).kernel("compare_pairs")),
        items_(example::items_for(device, compare_, items)) {}

  // Sorts in descending order. The stream runs one pass after the other.
  void sort(masu::Buffer<std::uint32_t>& values) {
    for (const example::BitonicPass& pass : example::bitonic_schedule(values.size())) {
      const std::uint64_t pairs = example::bitonic_pairs(pass, values.size());
      compare_(stream_, masu::NDRange(example::pieces(pairs, items_) * items_, items_), values, pairs, pass.distance,
               std::uint32_t{pass.mirrored() ? 1U : 0U});
    }
    stream_.finish();
  }

 private:
  masu::Stream stream_;
  masu::Kernel compare_;
  std::uint64_t items_;
};

// Stages and passes are counted from 0; the last stage is the merge.
void list_passes(std::uint64_t n) {
  for (const example::BitonicPass& pass : example::bitonic_schedule(n)) {
    if (pass.merge) std::cout << "merge";
    else std::cout << "stage=" << pass.stage;
    std::cout << " pass=" << pass.pass << " distance=" << pass.distance << '\n';
  }
}

// Milliseconds of the fastest of three runs.
template <class Sort>
double milliseconds(const masu::Device& device, const std::vector<std::uint32_t>& values, const Sort& sort) {
  double best = 0;
  for (int round = 0; round < 4; ++round) {  // the first compiles
    masu::Buffer<std::uint32_t> data = device.upload(values);
    const auto start = std::chrono::steady_clock::now();
    sort(data);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    best = round <= 1 ? took.count() : std::min(best, took.count());
  }
  return best;
}

void compare_with_radix(const masu::Device& device, Network& network, const Settings& settings) {
  masu::plot::BarChart chart;
  chart.title = "A bitonic network and a radix sort";
  chart.subtitle = device.info().name;
  chart.x_label = "milliseconds";
  const auto in_digits = [](double x) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(3) << x;
    return text.str();
  };
  std::cout << "         n  passes  million pairs   network ms     radix ms\n";
  for (std::uint64_t n = 1024; n <= settings.most; n *= 4) {
    const std::vector<std::uint32_t> values = example::made_up(n);
    const auto passes = example::bitonic_schedule(n);
    const double of_network = milliseconds(device, values, [&](auto& data) { network.sort(data); });
    const double of_radix = milliseconds(device, values, [&](auto& data) {
      masu::sort(data, {.order = masu::Order::descending, .algorithm = masu::SortAlgorithm::radix});
    });
    double pairs = 0;
    for (const example::BitonicPass& pass : passes) pairs += static_cast<double>(example::bitonic_pairs(pass, n)) / 1e6;
    std::cout << std::setw(10) << n << std::setw(8) << passes.size() << std::setw(15) << in_digits(pairs)
              << std::setw(13) << in_digits(of_network) << std::setw(13) << in_digits(of_radix) << '\n';
    chart.groups.push_back(
        {std::to_string(n) + " values",
         {{"network", of_network, in_digits(of_network)}, {"radix", of_radix, in_digits(of_radix)}}});
  }
  if (!settings.chart.empty() && !chart.groups.empty()) masu::plot::save(chart, settings.chart);
}

int run(const Settings& settings) {
  const masu::Device device = example::open_opencl(settings.device);
  Network network(device, settings.items);
  list_passes(settings.n);

  const bool of_row = settings.n == std::size(row_values);
  const std::vector<std::uint32_t> values =
      of_row ? std::vector<std::uint32_t>(std::begin(row_values), std::end(row_values)) : example::made_up(settings.n);
  masu::Buffer<std::uint32_t> data = device.upload(values);
  network.sort(data);
  const std::vector<std::uint32_t> got = data.read();
  if (of_row) {
    for (std::size_t i = 0; i < got.size(); ++i) std::cout << got[i] << (i + 1 < got.size() ? ' ' : '\n');
  }
  std::vector<std::uint32_t> expected = values;
  std::sort(expected.rbegin(), expected.rend());
  const bool right = got == expected;
  if (right && settings.most != 0) compare_with_radix(device, network, settings);
  return example::end("bitonic_sort", right, std::to_string(settings.n) + " values in descending order: ", device);
}

// Takes `--chart FILE` out of the arguments, which are otherwise numbers.
std::string take_chart(std::vector<char*>& arguments) {
  for (std::size_t i = 1; i + 1 < arguments.size(); i += 2) {
    if (std::string_view(arguments[i]) != "--chart") continue;
    const std::string path = arguments[i + 1];
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i),
                    arguments.begin() + static_cast<std::ptrdiff_t>(i) + 2);
    return path;
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  std::vector<char*> arguments(argv, argv + argc);
  settings.chart = take_chart(arguments);
  example::parse(static_cast<int>(arguments.size()), arguments.data(), "bitonic_sort", settings.device,
                 {{"--n", &settings.n, 0}, {"--items", &settings.items}, {"--most", &settings.most, 0}});
  return example::main_of("bitonic_sort", [&] { return run(settings); });
}
