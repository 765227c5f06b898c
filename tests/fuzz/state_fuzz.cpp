// SPDX-License-Identifier: Apache-2.0
// from_bytes of every state: the bytes of a state with some of them changed, or any bytes. What is accepted must be
// written as it is read, and merges with itself again and again until it is refused, or stays as it is.
#include <masu/masu.h>
#include <masu/sum.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <span>
#include <vector>

namespace {

using namespace masu;
using Bytes = std::vector<std::byte>;

struct State {
  Bytes example;
  std::function<void(std::span<const std::byte>)> read;
};

void expect(bool good) {
  if (!good) std::abort();
}

// `read(bytes)` makes one, `use` looks at it.
template <class Read, class Use>
State state(const Bytes& example, const Read& read, const Use& use) {
  return {example, [read, use](std::span<const std::byte> bytes) {
            auto one = read(bytes);
            Bytes written = one.bytes();
            expect(read(written).bytes() == written);
            if constexpr (requires { one.merge(one); }) {
              constexpr std::size_t most_bytes = 1 << 16;  // some become longer
              for (bool more = true; more && written.size() < most_bytes;) {
                const Bytes before = written;
                try {
                  one.merge(read(before));
                } catch (const Error&) {  // too many elements, or a state whose passes have ended
                  expect(one.bytes() == before);
                  break;
                }
                written = one.bytes();
                expect(read(written).bytes() == written);
                more = written != before;
              }
            }
            use(one);
          }};
}

std::vector<State> states() {
  const Device cpu = Device::open("cpu");
  static const std::vector<float> x{3, -1, 0.5F, 7, 7, 2, -8, 100};  // held data stay where they are
  const std::vector<double> y{1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<std::uint8_t> few{3, 1, 200};
  const ArrayView data(x);
  const auto given = [&](auto accumulator) {
    accumulator.add(data);
    return accumulator.bytes();
  };
  const auto on_cpu = [cpu]<class T>(const T*) {
    return [cpu](std::span<const std::byte> bytes) { return T::from_bytes(cpu, bytes); };
  };
  const auto plain = []<class T>(const T*) {
    return [](std::span<const std::byte> bytes) { return T::from_bytes(bytes); };
  };
  const auto nothing = [](const auto&) {};
  const auto result = [](auto& one) { (void)one.result(); };
  const Bins bins = Bins::even(4, -1, 8);

  std::vector<State> all;
  all.push_back(state(bins.bytes(), plain(static_cast<Bins*>(nullptr)), nothing));
  all.push_back(state(Bins::edges({0, 1, 5}).bytes(), plain(static_cast<Bins*>(nullptr)), nothing));
  all.push_back(state(histogram(cpu, x, bins).bytes(), plain(static_cast<Histogram*>(nullptr)),
                      [](const Histogram& h) { (void)h.density(); }));
  all.push_back(state(row_histograms(cpu, x, 2, bins).bytes(), plain(static_cast<RowHistograms*>(nullptr)),
                      [](const RowHistograms& h) { (void)h.histogram(0); }));
  all.push_back(state(joint_histogram(cpu, {data, data}, {bins, bins}).bytes(),
                      plain(static_cast<JointHistogram*>(nullptr)), [](const JointHistogram& h) { (void)h.edges(0); }));
  WeightedHistogramAccumulator weighted(cpu, Dtype::f32, Dtype::f64, bins, {.variances = true});
  weighted.add(data, ArrayView(y));
  all.push_back(state(weighted.bytes(), on_cpu(static_cast<WeightedHistogramAccumulator*>(nullptr)), result));
  for (const SumKind kind : {SumKind::sum, SumKind::squares}) {
    all.push_back(state(given(SumAccumulator(cpu, Dtype::f32, kind)), on_cpu(static_cast<SumAccumulator*>(nullptr)),
                        [](const SumAccumulator& one) { (void)one.integers(); }));
  }
  ExactSum sum;
  sum.add(data);
  all.push_back(
      state(sum.bytes(), plain(static_cast<ExactSum*>(nullptr)), [](const ExactSum& one) { (void)one.sum(); }));
  all.push_back(state(given(ReduceAccumulator(cpu, Dtype::f32, ReduceOp::minmax)),
                      on_cpu(static_cast<ReduceAccumulator*>(nullptr)), result));
  all.push_back(
      state(given(TopkAccumulator(cpu, Dtype::f32, 3)), on_cpu(static_cast<TopkAccumulator*>(nullptr)), result));
  all.push_back(
      state(given(UniqueAccumulator(cpu, Dtype::f32)), on_cpu(static_cast<UniqueAccumulator*>(nullptr)), result));
  all.push_back(state(given(RunAccumulator(cpu, Dtype::f32)), on_cpu(static_cast<RunAccumulator*>(nullptr)), result));
  const std::array<double, 2> q{0.25, 0.5};
  QuantileFinder finder(cpu, Dtype::u8, q);
  finder.add(ArrayView(few));
  const auto next_pass = [](auto& one) { (void)one.next_pass(); };
  all.push_back(state(finder.bytes(), on_cpu(static_cast<QuantileFinder*>(nullptr)), next_pass));
  // A rule in its first and in its second pass.
  for (const Estimator rule : {Estimator::scott, Estimator::fd, Estimator::stone}) {
    BinEstimator estimator(Dtype::f32, Bins::automatic(rule));
    for (int pass = 0; pass < 2; ++pass) {
      estimator.add(data);
      all.push_back(state(estimator.bytes(), plain(static_cast<BinEstimator*>(nullptr)), next_pass));
      if (!estimator.next_pass()) break;
    }
  }
  // Held data in each of its passes.
  const auto holder = [cpu, data, q] {
    QuantileFinder holds(cpu, Dtype::f32, q);
    holds.hold(data, 8);
    return holds;
  };
  QuantileFinder held = holder();
  do {
    const auto taken = [holder](std::span<const std::byte> bytes) {
      QuantileFinder takes = holder();
      takes.take(bytes);
      return takes;
    };
    all.push_back(state(held.bytes(), taken, next_pass));
  } while (held.next_pass());
  return all;
}

}  // namespace

// A byte says which state. Then another one: 0 and any bytes, or else three of each change (place, place, what it is
// xored with), and where it is odd the length at the end is one of them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<State> all = states();
  if (size < 2) return 0;
  const State& chosen = all[data[0] % all.size()];
  const std::span<const std::uint8_t> rest(data + 2, size - 2);
  Bytes bytes;
  if (data[1] == 0) {
    const auto any = std::as_bytes(rest);
    bytes.assign(any.begin(), any.end());
  } else {
    bytes = chosen.example;
    for (std::size_t i = 0; i + 3 <= rest.size(); i += 3) {
      const std::size_t place = (std::size_t{rest[i]} << 8U | rest[i + 1]) % bytes.size();
      if (data[1] % 2 == 1 && i + 6 > rest.size()) bytes.resize(place + 1);
      else bytes[place] ^= static_cast<std::byte>(rest[i + 2]);
    }
  }
  try {
    chosen.read(bytes);
  } catch (const Error&) {
  }
  return 0;
}
