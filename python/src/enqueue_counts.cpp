// SPDX-License-Identifier: Apache-2.0
// Counts of the arrays of tensors.h, enqueued: where what is counted between is known, and where it is found first.
#include "between.h"
#include "enqueue.h"
#include "histogram/bins/ordinary_bins.h"

#include <masu/histogram.h>
#include <masu/reduce.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <limits>
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

// The least and the greatest element, which are waited for. done: the array is the one that it was before.
Outcome find_extremes(const EnqueuedCall& of, Ends& ends) {
  static constexpr char extremes = 0;
  const Tensor& x = of.x;
  EnqueuedCall call(&extremes, of);
  call.output(x.dtype, x.boolean, {});
  call.output(x.dtype, x.boolean, {});
  const Outcome outcome = call.finish_and_read(ends, [&](Stream& stream, Buffers data) {
    static_cast<void>(masu::reduce(stream, data[0], x.dtype, {.min = &data[1], .max = &data[2]}));
  });
  if (outcome != Outcome::done) return outcome;
  return call.is_still() ? Outcome::done : Outcome::again;
}

// The results: counts of the bins, and edges.
class Results {
 public:
  Results(EnqueuedCall& call, const Tensor& x, std::int64_t bins) : counts_{bins + outside}, edges_{bins + 1} {
    call.output(Dtype::i64, false, counts_);
    call.cut(bins);
    call.output(dtype_of_edges(x.dtype), false, edges_);
  }

 private:
  std::array<std::int64_t, 1> counts_;
  std::array<std::int64_t, 1> edges_;
};

// What counting needs as often as it is repeated.
struct Counting {
  masu::PreparedHistogram bins;
  Buffer<std::byte> edges;
};

// Counts between bins that are asked for where the commands are not known: `parts()` gives what Between takes.
template <class Parts>
Outcome count_between(EnqueuedCall& call, std::int64_t bins, const Parts& parts) {
  const Tensor& x = call.x;
  const Results results(call, x, bins);
  std::shared_ptr<Counting> counting;
  const auto prepare = [&](const Device& device) -> std::shared_ptr<void> {
    const nb::gil_scoped_acquire acquired;
    const Between found(parts(), x.dtype, bins);
    const nb::gil_scoped_release released;
    counting = std::make_shared<Counting>(
        Counting{masu::PreparedHistogram(device, x.dtype, found.bins), device.upload(std::span(found.edges))});
    return counting;
  };
  const auto count = [&](Stream& stream, Buffers data) {
    static_cast<void>(masu::histogram(stream, data[0], counting->bins, data[1], counting->edges, data[2]));
  };
  return call.finish(count, prepare);
}

// A plain number: its value, and whether it is an int.
bool plain_number(PyObject* object, double& value, bool& is_int) {
  is_int = PyLong_CheckExact(object) != 0;
  if (!is_int && PyFloat_CheckExact(object) == 0) return false;
  value = PyFloat_AsDouble(object);
  if (PyErr_Occurred() != nullptr) {  // an int that is too great
    PyErr_Clear();
    return false;
  }
  constexpr double most_exact = 9007199254740991;
  const double most = is_int ? most_exact : std::numeric_limits<double>::max();
  return -most <= value && value <= most;
}

// The number of bins; false for what is not plain.
bool takes_bins(const EnqueuedCall& call, std::int64_t& bins) {
  return !call.x.boolean && integer(call.arguments.value(Name::bins), bins) && bins >= 1 && bins <= most_bins;
}

Outcome count_in_range(EnqueuedCall& call, std::int64_t bins, PyObject* range) {
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
  return count_between(call, bins, [&] {
    return ask_numpy(nb::str(numpy_code(call.x.dtype)), call.x.dtype, nb::int_(bins), nb::handle(range), {});
  });
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
  const Tensor& x = call.x;
  PyObject* const range = call.arguments[Name::range];
  std::int64_t bins = 0;
  if (call.arguments[Name::density] == Py_True || !takes_bins(call, bins)) return Outcome::not_plain;
  if (!is_none(range)) return count_in_range(call, bins, range);
  return between_extremes(call, [&](const Ends& ends) {
    if (masu::size_of(x.dtype) == 1) {  // few pairs are there, and each needs a table of its own
      call.option(static_cast<std::uint64_t>(bins));
      for (const std::uint64_t end : ends) call.option(end);
      call.option(1);  // not those of given numbers
      return count_between(call, bins, [&] {
        return ask_numpy(nb::str(numpy_code(x.dtype)), x.dtype, nb::int_(bins), nb::none(), ends);
      });
    }
    const Between found = between(x.dtype, bins, ends);
    call.input(found.edges);
    const Results results(call, x, bins);
    const auto count = [&](Stream& stream, Buffers data) {
      masu::PreparedHistogram prepared(stream.device(), x.dtype, found.bins);
      static_cast<void>(masu::histogram(stream, data[0], prepared, data[2], data[1], data[3]));
    };
    return call.finish(count, {}, true);
  });
}

Outcome enqueued::bin_edges(EnqueuedCall& call) {
  std::int64_t bins = 0;
  if (!is_none(call.arguments[Name::range]) || !takes_bins(call, bins)) return Outcome::not_plain;
  return between_extremes(call, [&](const Ends& ends) {
    const Between found = between(call.x.dtype, bins, ends);
    const std::array<std::int64_t, 1> shape{bins + 1};
    call.input_instead(found.edges);
    call.output(dtype_of_edges(call.x.dtype), false, shape);
    return call.finish([](Stream& stream, Buffers data) { stream.copy(data[1], data[0]); });
  });
}

// The greatest element is waited for where the dtype has one above minlength - 1.
Outcome enqueued::bincount(EnqueuedCall& call) {
  const Tensor& x = call.x;
  std::int64_t size = 0;
  constexpr std::int64_t most_sizes = 1 << 24;
  if (x.dimensions != 1 || masu::is_float(x.dtype) || x.dtype == Dtype::u64) return Outcome::not_plain;
  if (!integer(call.arguments.value(Name::minlength), size) || size < 0) return Outcome::not_plain;
  const std::int64_t all = x.boolean ? 2 : x.dtype == Dtype::u8 ? 256 : x.dtype == Dtype::u16 ? 65536 : 0;
  const bool known = all != 0 && size >= all;
  if (!known) {
    Ends ends{};
    if (const Outcome found = find_extremes(call, ends); found != Outcome::done) return found;
    const std::int64_t greatest = masu::integer_of(x.dtype, ends[1]);
    if (masu::integer_of(x.dtype, ends[0]) < 0 || greatest >= most_sizes) return Outcome::not_plain;
    size = std::max(size, greatest + 1);
  }
  if (size > most_sizes) return Outcome::not_plain;
  const auto bins = masu::Bins::integers(static_cast<std::uint64_t>(size));
  const std::array<std::int64_t, 1> shape{size + outside};
  call.option(static_cast<std::uint64_t>(size));
  call.output(Dtype::i64, false, shape);
  call.cut(size);
  std::shared_ptr<masu::PreparedHistogram> prepared;
  const auto prepare = [&](const Device& device) -> std::shared_ptr<void> {
    prepared = std::make_shared<masu::PreparedHistogram>(device, x.dtype, bins);
    return prepared;
  };
  // The size may be another one each time: then the bins are in memory of the commands.
  const bool once = !known && masu::size_of(x.dtype) != 1;
  const auto count = [&](Stream& stream, Buffers data) {
    if (once) prepare(stream.device());
    static_cast<void>(masu::histogram(stream, data[0], *prepared, data[1]));
    if (once) prepared.reset();
  };
  return call.finish(count, once ? EnqueuedCall::Prepare() : prepare, once);
}

}  // namespace masu_python
