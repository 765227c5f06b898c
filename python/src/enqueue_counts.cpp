// SPDX-License-Identifier: Apache-2.0
// Counts and sums of weights of the arrays of tensors.h, enqueued: where what is counted between is known, and where it
// is found first.
#include "between.h"
#include "enqueue.h"
#include "histogram/bins/ordinary_bins.h"

#include <masu/convert.h>
#include <masu/histogram.h>
#include <masu/reduce.h>
#include <masu/weighted_histogram.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace masu_python {
namespace {

constexpr std::int64_t most_bins = 65536;
// How many numbers a histogram leaves after the bins: below, above and NaN. Only the bins are given.
constexpr std::int64_t outside = 3;

// The least and the greatest element, which are waited for, with other work after them. done: the array is the one that
// it was before.
Outcome find_extremes(const EnqueuedCall& of, Ends& ends, const EnqueuedCall::Work& meanwhile = {}) {
  static constexpr char extremes = 0;
  const Tensor& x = of.x;
  EnqueuedCall call(&extremes, of);
  call.output(x.dtype, x.boolean, {});
  call.output(x.dtype, x.boolean, {});
  const auto find = [&](Stream& stream, Buffers data) {
    static_cast<void>(masu::reduce(stream, data[0], x.dtype, {.min = &data[1], .max = &data[2]}));
  };
  const Outcome outcome = call.finish_and_read(ends, find, meanwhile);
  if (outcome != Outcome::done) return outcome;
  return call.is_still() ? Outcome::done : Outcome::again;
}

// A histogram's subject: elements, or the sums of their weights.
struct Counted {
  Dtype dtype;
  std::optional<Dtype> weights{};
  Dtype result = Dtype::i64;
  std::array<std::int64_t, 1> found{};  // shapes of the results
  std::array<std::int64_t, 1> edges{};

  // Weights are those of the elements, and the next input. False where they are not plain. Their sums have the dtype
  // `as`, or their own.
  bool take_weights(EnqueuedCall& call, std::optional<Dtype> as = {}) {
    PyObject* const given = call.arguments[Name::weights];
    Tensor tensor;
    if (is_none(given)) return true;
    if (!call.next_input(given, tensor) || tensor.boolean || !std::ranges::equal(tensor.lengths(), call.x.lengths())) {
      return false;
    }
    weights = tensor.dtype;
    result = as.value_or(tensor.dtype);
    return result == Dtype::f64 || result == Dtype::f32;  // NumPy warns of sums beyond float16
  }
  [[nodiscard]] std::size_t inputs() const { return weights ? 2 : 1; }
  // Numbers of 8 bytes are found where they are given, with those outside of the bins after them.
  [[nodiscard]] bool in_place() const { return masu::size_of(result) == sizeof(std::uint64_t); }
  void outputs(EnqueuedCall& call, std::int64_t bins, std::optional<Dtype> dtype_of_edges = {}) {
    found = {in_place() ? bins + outside : bins};
    edges = {bins + 1};
    call.output(result, false, found);
    if (in_place()) call.cut(bins);
    if (dtype_of_edges) call.output(*dtype_of_edges, false, edges);
  }
};

// Counts between bins.
class Counter {
 public:
  Counter(const Device& device, const Counted& counted, const masu::Bins& bins, std::span<const std::byte> edges = {})
      : counted_(counted), edges_(device.upload(edges)) {
    if (!counted.weights) counts_.emplace(device, counted.dtype, bins);
    else
      sums_.emplace(device, counted.dtype, *counted.weights, std::span(&bins, 1), masu::WeightedOptions{.wrap = true});
  }
  [[nodiscard]] const Buffer<std::byte>& edges() const { return edges_; }
  // `data`: the elements, their weights …, what is found, and, where edges are given, a copy of them.
  void count(Stream& stream, Buffers data, const Buffer<std::byte>* edges = nullptr) {
    Buffer<std::byte>& found = data[data.size() - (edges != nullptr ? 2 : 1)];
    if (sums_) {
      add_up(stream, data, found);
      if (edges != nullptr) stream.copy(data.back(), *edges);
    } else if (edges != nullptr) {
      static_cast<void>(masu::histogram(stream, data[0], *counts_, found, *edges, data.back()));
    } else {
      static_cast<void>(masu::histogram(stream, data[0], *counts_, found));
    }
  }

 private:
  void add_up(Stream& stream, Buffers data, Buffer<std::byte>& found) {
    Buffer<std::byte> wide(stream.device(), counted_.in_place() ? 0 : sums_->numbers() * sizeof(double));
    const masu::WeightedTotals totals{counted_.in_place() ? found : wide};
    const masu::BufferBase* const column = &data[0];
    static_cast<void>(masu::weighted_histogram(stream, std::span(&column, 1), data[1], *sums_, totals));
    if (counted_.in_place()) return;
    const std::uint64_t bins = found.size_bytes() / masu::size_of(counted_.result);
    static_cast<void>(masu::convert(stream, wide.slice(0, bins * sizeof(double)), Dtype::f64, found, counted_.result));
  }

  Counted counted_;
  Buffer<std::byte> edges_;
  std::optional<masu::PreparedHistogram> counts_;
  std::optional<masu::PreparedWeightedHistogram> sums_;
};

// Counts between bins that are asked for where the commands are not known: `between()` gives a Between.
template <class F>
Outcome count_between(EnqueuedCall& call, Counted& counted, std::int64_t bins, Dtype edges, const F& between) {
  std::shared_ptr<Counter> counter;
  const auto prepare = [&](const Device& device) -> std::shared_ptr<void> {
    const nb::gil_scoped_acquire acquired;
    const Between found = between();
    const nb::gil_scoped_release released;
    return counter = std::make_shared<Counter>(device, counted, found.bins, found.edges);
  };
  counted.outputs(call, bins, edges);
  return call.finish([&](Stream& stream, Buffers data) { counter->count(stream, data, &counter->edges()); }, prepare);
}

// The number of bins; false for what is not plain.
bool takes_bins(const EnqueuedCall& call, std::int64_t& bins) {
  return integer(call.arguments.value(Name::bins), bins) && bins >= 1 && bins <= most_bins;
}

Outcome count_in_range(EnqueuedCall& call, Counted& counted, std::int64_t bins, PyObject* range) {
  if (PyTuple_CheckExact(range) == 0 || PyTuple_Size(range) != 2) return Outcome::not_plain;
  PyObject* const ends[] = {PyTuple_GetItem(range, 0), PyTuple_GetItem(range, 1)};
  double low = 0;
  double high = 0;
  bool ints[2] = {};
  if (!plain_number(ends[0], low, ints[0]) || !plain_number(ends[1], high, ints[1]) || !(low < high)) {
    return Outcome::not_plain;
  }
  call.option(static_cast<std::uint64_t>(bins) << 2 | static_cast<std::uint64_t>(ints[0]) << 1 |
              static_cast<std::uint64_t>(ints[1]));
  call.option(std::bit_cast<std::uint64_t>(low));
  call.option(std::bit_cast<std::uint64_t>(high));
  return count_between(call, counted, bins, dtype_of_edges(counted.dtype), [&] {
    return Between(ask_numpy(nb::str(numpy_code(counted.dtype)), counted.dtype, nb::int_(bins), nb::handle(range), {}),
                   counted.dtype, bins);
  });
}

// A number for edges, which other ones do not get: what is prepared for them is kept. Edges that are met for the first
// time may take the place of all others.
std::uint64_t number_of_edges(EnqueuedCall& call, Dtype dtype, const std::vector<std::byte>& edges) {
  static auto& known = *new std::map<std::pair<Dtype, std::vector<std::byte>>, std::uint64_t>;
  static std::uint64_t numbers = 0;
  constexpr std::size_t most = 32;  // each may need some MiB of the device
  if (known.size() >= most && !known.contains({dtype, edges})) {
    known.clear();
    call.forget_function();
  }
  const auto [entry, is_new] = known.try_emplace({dtype, edges}, numbers);
  if (is_new) ++numbers;
  return entry->second;
}

// Counts between edges of the library's, which are waited for: what is wrong with them is an error of the call.
Outcome count_at_edges(EnqueuedCall& call, Counted& counted) {
  Tensor edges;
  if (!call.takes(call.arguments.value(Name::bins), edges) || edges.boolean || edges.dimensions != 1 ||
      edges.count > most_bins + 1) {
    return Outcome::not_plain;
  }
  std::vector<std::byte> bytes(edges.count * masu::size_of(edges.dtype));
  if (const Outcome outcome = call.read(edges, bytes); outcome != Outcome::done) return outcome;
  if (!call.is_still()) return Outcome::again;
  const std::optional<masu::Bins> between = masu::bins_at({edges.dtype, bytes.data(), edges.count});
  if (!between) return Outcome::not_plain;
  call.option(number_of_edges(call, edges.dtype, bytes));
  call.option(std::numeric_limits<std::uint64_t>::max());  // no range has such options
  return count_between(call, counted, static_cast<std::int64_t>(edges.count) - 1, edges.dtype,
                       [&] { return Between(bytes, *between); });
}

// work(ends) with the least and the greatest element, which are waited for.
template <class F>
Outcome between_extremes(const EnqueuedCall& call, const F& work) {
  Ends ends{};
  if (const Outcome found = find_extremes(call, ends); found != Outcome::done) return found;
  try {
    return work(ends);
  } catch (const masu::Error&) {  // the usual way of the call raises it
    return Outcome::not_plain;
  }
}

}  // namespace

Outcome enqueued::histogram(EnqueuedCall& call) {
  const Dtype dtype = call.x.dtype;
  PyObject* const range = call.arguments[Name::range];
  std::int64_t bins = 0;
  Counted counted{dtype};
  if (call.x.boolean || call.arguments[Name::density] == Py_True || !counted.take_weights(call)) {
    return Outcome::not_plain;
  }
  if (!takes_bins(call, bins)) return is_none(range) ? count_at_edges(call, counted) : Outcome::not_plain;
  if (!is_none(range)) return count_in_range(call, counted, bins, range);
  return between_extremes(call, [&](const Ends& ends) {
    if (masu::size_of(dtype) == 1) {  // few pairs are there, and each needs a table of its own
      call.option(static_cast<std::uint64_t>(bins));
      for (const std::uint64_t end : ends) call.option(end);
      call.option(1);  // not those of given numbers
      return count_between(call, counted, bins, dtype_of_edges(dtype), [&] { return between(dtype, bins, ends); });
    }
    const Between found = between(dtype, bins, ends);
    call.input(found.edges);
    counted.outputs(call, bins, dtype_of_edges(dtype));
    const auto count = [&](Stream& stream, Buffers data) {
      Counter(stream.device(), counted, found.bins).count(stream, data, &data[counted.inputs()]);
    };
    return call.finish(count, {}, true);
  });
}

Outcome enqueued::bin_edges(EnqueuedCall& call) {
  std::int64_t bins = 0;
  const bool alone = is_none(call.arguments[Name::range]) && is_none(call.arguments[Name::weights]);
  if (!alone || call.x.boolean || !takes_bins(call, bins)) return Outcome::not_plain;
  return between_extremes(call, [&](const Ends& ends) {
    const Between found = between(call.x.dtype, bins, ends);
    const std::array<std::int64_t, 1> shape{bins + 1};
    call.input_instead(found.edges);
    call.output(dtype_of_edges(call.x.dtype), false, shape);
    return call.finish([](Stream& stream, Buffers data) { stream.copy(data[1], data[0]); });
  });
}

namespace {

// Counts integers below `size`. is_known: that is their number in every call of this kind; else the bins are in memory
// of the commands.
Outcome count_integers(EnqueuedCall& call, Counted& counted, std::int64_t size, bool is_known) {
  const auto bins = masu::Bins::integers(static_cast<std::uint64_t>(size));
  call.option(static_cast<std::uint64_t>(size));
  counted.outputs(call, size);
  std::shared_ptr<Counter> counter;
  const auto prepare = [&](const Device& device) -> std::shared_ptr<void> {
    return counter = std::make_shared<Counter>(device, counted, bins);
  };
  const bool is_own = !is_known && masu::size_of(counted.dtype) != 1;
  const auto count = [&](Stream& stream, Buffers data) {
    if (is_own) prepare(stream.device());
    counter->count(stream, data);
    if (is_own) counter.reset();
  };
  return call.finish(count, is_own ? EnqueuedCall::Prepare() : prepare);
}

// How many counts the calls of a kind have given, and how often one after the other.
struct Met {
  std::int64_t size = 0;
  std::uint64_t times = 0;
};
std::map<std::array<std::uint64_t, 4>, Met>& met_sizes() {
  static auto& sizes = *new std::map<std::array<std::uint64_t, 4>, Met>;
  constexpr std::size_t most = 4096;
  if (sizes.size() >= most) sizes.clear();
  return sizes;
}

}  // namespace

// The greatest element is waited for where the dtype has one above minlength - 1. Where the calls before have had as
// many counts, the work for so many is given after it at once, and given again where they are others.
Outcome enqueued::bincount(EnqueuedCall& call) {
  const Tensor& x = call.x;
  std::int64_t least = 0;
  Counted counted{x.dtype};
  if (x.dimensions != 1 || masu::is_float(x.dtype) || x.dtype == Dtype::u64) return Outcome::not_plain;
  if (!integer(call.arguments.value(Name::minlength), least) || least < 0) return Outcome::not_plain;
  if (!counted.take_weights(call, Dtype::f64)) return Outcome::not_plain;
  const std::int64_t most = std::int64_t{1} << (counted.weights ? 18 : 24);  // a sum of f64 takes a kilobyte
  if (least > most) return Outcome::not_plain;
  const std::int64_t all = x.boolean ? 2 : x.dtype == Dtype::u8 ? 256 : x.dtype == Dtype::u16 ? 65536 : 0;
  if (all != 0 && least >= all) return count_integers(call, counted, least, true);
  const std::array kind{x.count, static_cast<std::uint64_t>(x.dtype) << 1 | static_cast<std::uint64_t>(x.boolean),
                        static_cast<std::uint64_t>(least),
                        counted.weights ? 1 + static_cast<std::uint64_t>(*counted.weights) : 0};
  const Met met = met_sizes()[kind];
  constexpr std::uint64_t enough = 3;  // so that sizes in turns are not guessed
  const std::int64_t guess = met.times < enough ? 0 : met.size;
  Outcome outcome = Outcome::again;
  const auto count = [&] { return outcome = count_integers(call, counted, guess, false); };
  Ends ends{};
  const Outcome found = find_extremes(call, ends, guess != 0 ? EnqueuedCall::Work(count) : EnqueuedCall::Work());
  if (found != Outcome::done) return found;
  const std::int64_t greatest = masu::integer_of(x.dtype, ends[1]);
  if (masu::integer_of(x.dtype, ends[0]) < 0 || greatest >= most) return Outcome::not_plain;
  const std::int64_t size = std::max(least, greatest + 1);
  met_sizes()[kind] = {size, met.size == size ? met.times + 1 : 1};
  if (guess != 0) return guess == size ? outcome : Outcome::again;
  return count_integers(call, counted, size, false);
}

}  // namespace masu_python
