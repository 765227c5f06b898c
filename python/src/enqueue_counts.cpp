// SPDX-License-Identifier: Apache-2.0
// Counts of the arrays of tensors.h, enqueued: where what is counted between is known, and where it is found first.
#include "bin_spec.h"
#include "enqueue_function.h"

#include <masu/histogram.h>
#include <masu/reduce.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
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
// How many numbers a histogram leaves: below, above and NaN behind the bins. Only the bins are given.
constexpr std::int64_t outside = 3;

// The least and the greatest element, which are waited for. done: the array is the one that it was before.
Outcome find_extremes(PyObject* array, Library& library, const Tensor& x, std::array<std::uint64_t, 2>& bits) {
  EnqueuedCall call(Function::extremes, library, x.ordinal);
  call.input(x);
  call.output(x.dtype, x.boolean, {});
  call.output(x.dtype, x.boolean, {});
  if (!call.find()) {
    const auto calls = [&](const Device& device, Buffers data) {
      Stream stream(device, Timing::off);
      static_cast<void>(masu::reduce(stream, data[0], x.dtype, {.min = &data[1], .max = &data[2]}));
    };
    return call.record(calls, nullptr);
  }
  const Outcome outcome = call.run_and_read(bits);
  if (outcome != Outcome::done) return outcome;
  return is_still(array, x) ? Outcome::done : Outcome::again;
}

// Runs a call that was recorded for this once.
Answer finished_once(EnqueuedCall& call, const EnqueuedCall::Calls& calls, PyObject* array, const Tensor& x) {
  if (const Outcome outcome = call.record_once(calls); outcome != Outcome::done) return {outcome};
  if (!is_still(array, x)) return {Outcome::again};
  const Outcome outcome = call.run();
  return {outcome, outcome == Outcome::done ? call.give() : nullptr};
}

// Edges have the dtype of floats, but f64 for integers.
Dtype dtype_of_edges(Dtype dtype) {
  return masu::is_float(dtype) ? dtype : Dtype::f64;
}

[[noreturn]] void leave_to_numpy() {
  throw masu::Error(masu::ErrorCode::unsupported, "histogram: bins that NumPy counts");
}

// NumPy's edges, and the bins with which masu counts between them what NumPy counts.
struct Between {
  std::vector<std::byte> edges;
  masu::Bins bins;

  // `parts`: the edges, and what _bins.spec says of them. Throws unsupported for what NumPy has to count.
  Between(const nb::object& parts, Dtype dtype, std::int64_t count) : bins(masu::Bins::integers(1)) {
    if (parts.is_none()) leave_to_numpy();
    const Input numbers(parts[0]);
    const Dtype edge = dtype_of_edges(dtype);
    if (numbers.dtype() != edge || numbers.count() != static_cast<std::uint64_t>(count) + 1) leave_to_numpy();
    bins = bins_of(Spec(parts[1]), dtype);
    edges.assign(numbers.data<std::byte>(), numbers.data<std::byte>() + numbers.count() * masu::size_of(edge));
  }
  // Where NumPy's edges are masu's.
  Between(masu::Bins own, Dtype dtype) : bins(std::move(own)) {
    const auto put = [this]<class T>(const std::vector<double>& numbers, T /*tag*/) {
      edges.resize(numbers.size() * sizeof(T));
      std::ranges::transform(numbers, reinterpret_cast<T*>(edges.data()), [](double x) { return static_cast<T>(x); });
    };
    if (dtype == Dtype::f32) put(masu::bin_edges(bins, dtype), float{});
    else put(masu::bin_edges(bins, dtype), double{});
  }
};

using Ends = std::array<std::uint64_t, 2>;  // the bits of the least and the greatest element

// What `parts(dtype, bins, ends)` gives for these, as bytes.
nb::object ask_numpy(nb::handle parts, Dtype dtype, std::int64_t bins, const Ends& ends) {
  const std::size_t size = masu::size_of(dtype);
  std::array<char, sizeof(ends)> bytes;
  for (std::size_t i = 0; i < ends.size(); ++i) std::memcpy(&bytes[i * size], &ends[i], size);
  return parts(numpy_code(dtype), bins, nb::bytes(bytes.data(), 2 * size));
}

// An element of an integer dtype.
std::int64_t integer_of(Dtype dtype, std::uint64_t bits) {
  const auto unused = static_cast<unsigned>(64 - 8 * masu::size_of(dtype));
  return masu::is_signed(dtype) ? static_cast<std::int64_t>(bits << unused) >> unused : static_cast<std::int64_t>(bits);
}

// Even bins over this range as NumPy's rule is known to have them: of f32, f64 and integers of up to 32 bits, with a
// step far from where numbers overflow or lose digits.
std::optional<masu::Bins> ordinary_bins(Dtype dtype, std::int64_t bins, const Ends& ends) {
  const auto count = static_cast<std::uint64_t>(bins);
  const auto ordinary = [&]<class T>(T lo, T hi) {
    const T magnitude = std::max(std::abs(lo), std::abs(hi));
    constexpr T most = std::numeric_limits<T>::max() / 4;
    const T step = (hi - lo) / static_cast<T>(bins);
    constexpr T units = 16 * std::numeric_limits<T>::epsilon();
    constexpr T least = 16 * std::numeric_limits<T>::min();
    return magnitude < most && step > least && step > units * magnitude && !(lo == 0 && std::signbit(lo)) &&
           !(hi == 0 && std::signbit(hi));
  };
  if (dtype == Dtype::f32) {
    const auto lo = std::bit_cast<float>(static_cast<std::uint32_t>(ends[0]));
    const auto hi = std::bit_cast<float>(static_cast<std::uint32_t>(ends[1]));
    if (!ordinary(lo, hi)) return std::nullopt;
    return masu::Bins::even(count, masu::ValueRange{lo, hi, false});
  }
  if (dtype != Dtype::f64 && (masu::is_float(dtype) || masu::size_of(dtype) > 4)) return std::nullopt;
  const auto number = [&](std::uint64_t bits) {
    return dtype == Dtype::f64 ? std::bit_cast<double>(bits) : static_cast<double>(integer_of(dtype, bits));
  };
  const double lo = number(ends[0]);
  const double hi = number(ends[1]);
  if (!ordinary(lo, hi)) return std::nullopt;
  return masu::Bins::even(count, lo, hi);
}

// Whether the running NumPy has these edges too, and counts between them alike: asked once, about some ranges. With the
// GIL.
bool numpy_agrees(nb::handle parts, Dtype dtype) {
  enum class Known : std::uint8_t { no_answer, yes, no };
  static std::array<Known, 16> known{};
  Known& answer = known[static_cast<std::size_t>(dtype)];
  if (answer != Known::no_answer) return answer == Known::yes;
  std::minstd_rand random;
  const auto end = [&]() -> std::uint64_t {
    const double x = static_cast<double>(random()) / random.max() - 0.5;
    const double scaled = std::ldexp(x, static_cast<int>(random() % 12));
    if (dtype == Dtype::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(scaled));
    if (dtype == Dtype::f64) return std::bit_cast<std::uint64_t>(scaled);
    return random() % 100 + (random() % 2) * 27;
  };
  constexpr std::int64_t some[] = {1, 3, 7, 10, 49, 100, 255, 1000};
  bool same = true;
  for (int i = 0; i < 64 && same; ++i) {
    const std::int64_t bins = some[i % std::size(some)];
    const Ends ends{end(), end()};
    const std::optional<masu::Bins> own = ordinary_bins(dtype, bins, ends);
    if (!own) continue;
    const nb::object asked = ask_numpy(parts, dtype, bins, ends);
    if (asked.is_none()) {
      same = false;
      continue;
    }
    const Spec spec(asked[1]);
    same = spec.even() && same_edges(spec, dtype) && Between(asked, dtype, bins).edges == Between(*own, dtype).edges;
  }
  answer = same ? Known::yes : Known::no;
  return same;
}

// Throws masu::Error for what NumPy has to count, or to refuse.
Between between(nb::handle parts, Dtype dtype, std::int64_t bins, const Ends& ends) {
  std::optional<masu::Bins> own = ordinary_bins(dtype, bins, ends);
  if (own && numpy_agrees(parts, dtype)) return {*std::move(own), dtype};
  return {ask_numpy(parts, dtype, bins, ends), dtype, bins};
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
Answer count_between(EnqueuedCall& call, const Tensor& x, std::int64_t bins, const Parts& parts) {
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
  const auto calls = [&](const Device& device, Buffers data) {
    Stream stream(device, Timing::off);
    static_cast<void>(masu::histogram(stream, data[0], counting->bins, data[1], counting->edges, data[2]));
  };
  return finished(call, calls, prepare);
}

// A plain number: its value, and whether it is an int.
bool plain_number(PyObject* object, double& value, bool& is_int) {
  is_int = PyLong_CheckExact(object) != 0;
  if (!is_int && PyFloat_CheckExact(object) == 0) return false;
  value = PyFloat_AsDouble(object);
  PyErr_Clear();
  constexpr double most_exact = 9007199254740992;
  return std::isfinite(value) && (!is_int || std::abs(value) < most_exact);
}

// The array and the number of bins; null for what is not plain.
Library* take_counted(Arguments arguments, Tensor& x, std::int64_t& bins) {
  Library* const library = take(arguments[0], x);
  const bool plain = library != nullptr && !x.boolean && integer(arguments[1], bins) && bins >= 1 && bins <= most_bins;
  return plain ? library : nullptr;
}

// (a, bins, low, high, parts): `parts(dtype, bins, low, high)` gives NumPy's edges and what _bins.spec says of them, or
// None.
Answer histogram(Arguments arguments) {
  Tensor x;
  std::int64_t bins = 0;
  double low = 0;
  double high = 0;
  bool ints[2] = {};
  Library* const library = take_counted(arguments, x, bins);
  if (library == nullptr || !plain_number(arguments[2], low, ints[0]) || !plain_number(arguments[3], high, ints[1])) {
    return {};
  }
  if (!(low < high)) return {};
  EnqueuedCall call(Function::histogram, *library, x.ordinal);
  call.input(x);
  call.option(static_cast<std::uint64_t>(bins) << 2 | static_cast<std::uint64_t>(ints[0]) << 1 |
              static_cast<std::uint64_t>(ints[1]));
  call.option(std::bit_cast<std::uint64_t>(low));
  call.option(std::bit_cast<std::uint64_t>(high));
  return count_between(call, x, bins, [&] {
    return nb::handle(arguments[4])(numpy_code(x.dtype), nb::handle(arguments[1]), nb::handle(arguments[2]),
                                    nb::handle(arguments[3]));
  });
}

// (a, bins, …): work(library, x, bins, ends) with the least and the greatest element, which are waited for.
template <class F>
Answer between_extremes(Arguments arguments, const F& work) {
  Tensor x;
  std::int64_t bins = 0;
  Library* const library = take_counted(arguments, x, bins);
  if (library == nullptr) return {};
  Ends ends{};
  if (const Outcome found = find_extremes(arguments[0], *library, x, ends); found != Outcome::done) return {found};
  try {
    return work(*library, x, bins, ends);
  } catch (const masu::Error&) {  // told where the call is made in the usual way
    return {};
  }
}

// (a, bins, parts): between these. `parts(dtype, bins, ends)` gives the same for these two, as bytes, where NumPy is
// asked.
Answer histogram_of_all(Arguments arguments) {
  return between_extremes(arguments, [&](Library& library, Tensor& x, std::int64_t bins, const Ends& ends) {
    EnqueuedCall call(Function::histogram, library, x.ordinal);
    call.input(x);
    if (masu::size_of(x.dtype) == 1) {  // few pairs are there, and each needs a table of its own
      call.option(static_cast<std::uint64_t>(bins));
      for (const std::uint64_t end : ends) call.option(end);
      call.option(1);  // not those of given numbers
      return count_between(call, x, bins, [&] { return ask_numpy(arguments[2], x.dtype, bins, ends); });
    }
    const Between found = between(arguments[2], x.dtype, bins, ends);
    call.input(found.edges);
    const Results results(call, x, bins);
    const auto calls = [&](const Device& device, Buffers data) {
      Stream stream(device, Timing::off);
      masu::PreparedHistogram prepared(device, x.dtype, found.bins);
      static_cast<void>(masu::histogram(stream, data[0], prepared, data[2], data[1], data[3]));
    };
    return finished_once(call, calls, arguments[0], x);
  });
}

// (a, bins, parts): the edges of the same.
Answer bin_edges(Arguments arguments) {
  return between_extremes(arguments, [&](Library& library, Tensor& x, std::int64_t bins, const Ends& ends) {
    const Between found = between(arguments[2], x.dtype, bins, ends);
    const std::array<std::int64_t, 1> shape{bins + 1};
    EnqueuedCall call(Function::bin_edges, library, x.ordinal);
    call.input(found.edges);
    call.output(dtype_of_edges(x.dtype), false, shape);
    return finished(call, [](const Device& device, Buffers data) {
      Stream stream(device, Timing::off);
      stream.copy(data[1], data[0]);
    });
  });
}

// (x, minlength). The greatest element is waited for where the dtype has one above minlength - 1.
Answer bincount(Arguments arguments) {
  Tensor x;
  std::int64_t size = 0;
  constexpr std::int64_t most_sizes = 1 << 24;
  Library* const library = take(arguments[0], x);
  if (library == nullptr || x.dimensions != 1 || masu::is_float(x.dtype) || x.dtype == Dtype::u64) return {};
  if (!integer(arguments[1], size) || size < 0) return {};
  const std::int64_t all = x.boolean ? 2 : x.dtype == Dtype::u8 ? 256 : x.dtype == Dtype::u16 ? 65536 : 0;
  const bool known = all != 0 && size >= all;
  if (!known) {
    Ends ends{};
    if (const Outcome found = find_extremes(arguments[0], *library, x, ends); found != Outcome::done) return {found};
    const std::int64_t greatest = integer_of(x.dtype, ends[1]);
    if (integer_of(x.dtype, ends[0]) < 0 || greatest >= most_sizes) return {};
    size = std::max(size, greatest + 1);
  }
  if (size > most_sizes) return {};
  const auto bins = masu::Bins::integers(static_cast<std::uint64_t>(size));
  const std::array<std::int64_t, 1> shape{size + outside};
  EnqueuedCall call(Function::bincount, *library, x.ordinal);
  call.input(x);
  call.option(static_cast<std::uint64_t>(size));
  call.option(x.boolean ? 1 : 0);
  call.output(Dtype::i64, false, shape);
  call.cut(size);
  if (!known && masu::size_of(x.dtype) > 1) {  // the size may be another one each time
    const auto calls = [&](const Device& device, Buffers data) {
      Stream stream(device, Timing::off);
      masu::PreparedHistogram prepared(device, x.dtype, bins);
      static_cast<void>(masu::histogram(stream, data[0], prepared, data[1]));
    };
    return finished_once(call, calls, arguments[0], x);
  }
  std::shared_ptr<masu::PreparedHistogram> prepared;
  const auto prepare = [&](const Device& device) -> std::shared_ptr<void> {
    prepared = std::make_shared<masu::PreparedHistogram>(device, x.dtype, bins);
    return prepared;
  };
  const auto calls = [&](const Device& device, Buffers data) {
    Stream stream(device, Timing::off);
    static_cast<void>(masu::histogram(stream, data[0], *prepared, data[1]));
  };
  return finished(call, calls, prepare);
}

}  // namespace

void register_enqueued_counts(nb::module_& m) {
  static PyMethodDef methods[] = {
      entry<histogram>("enqueue_histogram"),
      entry<histogram_of_all>("enqueue_histogram_of_all"),
      entry<bin_edges>("enqueue_bin_edges"),
      entry<bincount>("enqueue_bincount"),
      {},
  };
  if (PyModule_AddFunctions(m.ptr(), methods) != 0) throw nb::python_error();
}

}  // namespace masu_python
