// SPDX-License-Identifier: Apache-2.0
// Sorts, partitions, searches, counts and distinct values of the arrays of tensors.h, enqueued.
#include "bin_spec.h"
#include "enqueue_function.h"

#include <masu/histogram.h>
#include <masu/quantile.h>
#include <masu/search.h>
#include <masu/sort.h>
#include <masu/topk.h>
#include <masu/unique.h>

#include <array>
#include <bit>
#include <cmath>
#include <optional>

namespace masu_python {
namespace {

// Sorted lines, or, with `places`, their orders.
template <bool places>
void sort_lines(const Device& device, Stream& stream, Buffers data, Dtype dtype, const Lines& lines, bool backwards) {
  std::optional<Buffer<std::byte>> memory;
  const Buffer<std::byte>& rows = as_rows(device, stream, data[0], dtype, lines, memory);
  const Dtype result = places ? Dtype::i64 : dtype;
  as_lines(device, stream, data[1], result, lines, lines.length, [&](Buffer<std::byte>& sorted) {
    (places ? argsort_rows : sort_rows)(stream, rows, dtype, lines.number(), sorted, backwards);
  });
}

// (a, axis, descending, out)
template <Function which>
Answer sort(Arguments arguments) {
  Tensor x;
  Lines lines;
  Library* const library = take(arguments[0], x);
  if (library == nullptr || !lines_of(x, arguments[1], lines)) return {};
  const bool backwards = arguments[2] == Py_True;
  constexpr bool places = which == Function::argsort;
  const Dtype result = places ? Dtype::i64 : x.dtype;
  EnqueuedCall call(which, *library, x.ordinal);
  call.input(x);
  key_of_lines(call, lines);
  call.option(backwards ? 1 : 0);
  if (!call.output(result, !places && x.boolean, shape_of(arguments[1], lines), arguments[3])) return {};
  return finished(call, [&](const Device& device, Buffers data) {
    Stream stream(device, Timing::off);
    sort_lines<places>(device, stream, data, x.dtype, lines, backwards);
  });
}

// (a, kth, axis, out) with one place: one line is parted, several are sorted
template <Function which>
Answer part(Arguments arguments) {
  Tensor x;
  Lines lines;
  std::int64_t kth = 0;
  Library* const library = take(arguments[0], x);
  if (library == nullptr || !lines_of(x, arguments[2], lines) || !integer(arguments[1], kth)) return {};
  const auto length = static_cast<std::int64_t>(lines.length);
  if (kth < -length || kth >= length) return {};
  const auto place = static_cast<std::uint64_t>(kth < 0 ? kth + length : kth);
  const bool alone = lines.number() == 1;
  constexpr bool places = which == Function::argpartition;
  EnqueuedCall call(which, *library, x.ordinal);
  call.input(x);
  key_of_lines(call, lines);
  call.option(alone ? place : 0);
  const bool boolean = !places && x.boolean;
  if (!call.output(places ? Dtype::i64 : x.dtype, boolean, shape_of(arguments[2], lines), arguments[3])) return {};
  return finished(call, [&](const Device& device, Buffers data) {
    Stream stream(device, Timing::off);
    if (!alone) return sort_lines<places>(device, stream, data, x.dtype, lines, false);
    const Buffer<std::byte> sizes(device, 2 * sizeof(std::uint64_t));
    const masu::PartitionTargets to{data[1], sizes};
    if constexpr (places) static_cast<void>(masu::argpartition(stream, data[0], x.dtype, to, Dtype::u64, place));
    else static_cast<void>(masu::partition(stream, data[0], x.dtype, to, place));
  });
}

// (a, k, axis, largest, values, indices), the last two the arrays for the results
Answer topk(Arguments arguments) {
  Tensor x;
  Lines lines;
  std::int64_t k = 0;
  Library* const library = take(arguments[0], x);
  if (library == nullptr || !lines_of(x, arguments[2], lines) || !integer(arguments[1], k)) return {};
  if (k < 1 || static_cast<std::uint64_t>(k) > lines.length) return {};
  const bool largest = arguments[3] == Py_True;
  const auto each = static_cast<std::uint64_t>(k);
  const std::span<const std::int64_t> found = lines.with(k);
  EnqueuedCall call(Function::topk, *library, x.ordinal);
  call.input(x);
  key_of_lines(call, lines);
  call.option(each);
  call.option(largest ? 1 : 0);
  if (!call.output(x.dtype, x.boolean, found, arguments[4])) return {};
  if (!call.output(Dtype::i64, false, found, arguments[5])) return {};
  return finished(call, [&](const Device& device, Buffers data) {
    Stream stream(device, Timing::off);
    const masu::TopkOptions options{.largest = largest, .rows = lines.number()};
    std::optional<Buffer<std::byte>> memory;
    const Buffer<std::byte>& rows = as_rows(device, stream, data[0], x.dtype, lines, memory);
    as_lines(device, stream, data[1], x.dtype, lines, each, [&](Buffer<std::byte>& values) {
      as_lines(device, stream, data[2], Dtype::i64, lines, each, [&](Buffer<std::byte>& places) {
        static_cast<void>(masu::topk(stream, rows, x.dtype, each, values, places, options));
      });
    });
  });
}

bool is_text(PyObject* object, const char* text) {
  return PyUnicode_CheckExact(object) != 0 && PyUnicode_CompareWithASCIIString(object, text) == 0;
}

// (a, v, side, out), the side None for that on the left
Answer searchsorted(Arguments arguments) {
  Tensor sorted;
  Tensor values;
  Library* const library = take(arguments[0], sorted);
  if (library == nullptr || library != take(arguments[1], values)) return {};
  if (sorted.dtype != values.dtype || sorted.boolean != values.boolean) return {};
  if (sorted.ordinal != values.ordinal || sorted.dimensions != 1) return {};
  const bool right = is_text(arguments[2], "right");
  if (!right && arguments[2] != Py_None && !is_text(arguments[2], "left")) return {};
  EnqueuedCall call(Function::searchsorted, *library, sorted.ordinal);
  call.input(sorted);
  call.input(values);
  call.option(right ? 1 : 0);
  if (!call.output(Dtype::i64, false, values.lengths(), arguments[3])) return {};
  return finished(call, [&](const Device& device, Buffers data) {
    Stream stream(device, Timing::off);
    const masu::SearchOptions options{.side = right ? masu::Side::right : masu::Side::left};
    static_cast<void>(masu::searchsorted(stream, data[0], data[1], sorted.dtype, data[2], Dtype::u64, options));
  });
}

// What counting needs as often as it is repeated.
struct Counting {
  masu::PreparedHistogram bins;
  Buffer<std::byte> edges;
};

// How many numbers a histogram leaves: below, above and NaN behind the bins. Only the bins are given.
constexpr std::int64_t outside = 3;

// A plain number: its value, and whether it is an int.
bool plain_number(PyObject* object, double& value, bool& is_int) {
  is_int = PyLong_CheckExact(object) != 0;
  if (!is_int && PyFloat_CheckExact(object) == 0) return false;
  value = PyFloat_AsDouble(object);
  PyErr_Clear();
  constexpr double most_exact = 9007199254740992;
  return std::isfinite(value) && (!is_int || std::abs(value) < most_exact);
}

// (a, bins, low, high, parts): `parts(dtype, bins, low, high)` gives NumPy's edges and what _bins.spec says of them, or
// None.
Answer histogram(Arguments arguments) {
  Tensor x;
  std::int64_t bins = 0;
  double low = 0;
  double high = 0;
  bool ints[2] = {};
  constexpr std::int64_t most_bins = 65536;
  Library* const library = take(arguments[0], x);
  if (library == nullptr || x.boolean || !integer(arguments[1], bins) || bins < 1 || bins > most_bins) return {};
  if (!plain_number(arguments[2], low, ints[0]) || !plain_number(arguments[3], high, ints[1])) return {};
  if (!(low < high)) return {};
  // Edges have the dtype of floats, but f64 for integers.
  const Dtype edge = masu::is_float(x.dtype) ? x.dtype : Dtype::f64;
  const std::array<std::int64_t, 1> counts{bins + outside};
  const std::array<std::int64_t, 1> edges{bins + 1};
  EnqueuedCall call(Function::histogram, *library, x.ordinal);
  call.input(x);
  call.option(static_cast<std::uint64_t>(bins) << 2 | static_cast<std::uint64_t>(ints[0]) << 1 |
              static_cast<std::uint64_t>(ints[1]));
  call.option(std::bit_cast<std::uint64_t>(low));
  call.option(std::bit_cast<std::uint64_t>(high));
  call.output(Dtype::i64, false, counts);
  call.cut(bins);
  call.output(edge, false, edges);
  std::shared_ptr<Counting> counting;
  const auto prepare = [&](const Device& device) -> std::shared_ptr<void> {
    const nb::gil_scoped_acquire acquired;
    const nb::object parts = nb::handle(arguments[4])(numpy_code(x.dtype), nb::handle(arguments[1]),
                                                      nb::handle(arguments[2]), nb::handle(arguments[3]));
    const auto numpys = [] { return masu::Error(masu::ErrorCode::unsupported, "histogram: bins that NumPy counts"); };
    if (parts.is_none()) throw numpys();
    const Input numbers(parts[0]);
    const Spec spec(parts[1]);
    const bool own = spec.even() && same_edges(spec, x.dtype);
    if ((!own && spec.even() && x.dtype == Dtype::f16) || numbers.dtype() != edge ||
        numbers.count() != static_cast<std::uint64_t>(bins) + 1) {
      throw numpys();
    }
    const nb::gil_scoped_release released;
    counting = std::make_shared<Counting>(
        Counting{masu::PreparedHistogram(device, x.dtype, own ? spec.own() : spec.given()),
                 device.upload(std::span(numbers.data<std::byte>(), numbers.count() * masu::size_of(edge)))});
    return counting;
  };
  const auto calls = [&](const Device& device, Buffers data) {
    Stream stream(device, Timing::off);
    static_cast<void>(masu::histogram(stream, data[0], counting->bins, data[1], counting->edges, data[2]));
  };
  return finished(call, calls, prepare);
}

// (x, minlength): where the dtype has no greater number than minlength - 1, so that the result's size is known
Answer bincount(Arguments arguments) {
  Tensor x;
  std::int64_t least = 0;
  constexpr std::int64_t most_bins = 1 << 24;
  Library* const library = take(arguments[0], x);
  if (library == nullptr || x.dimensions != 1 || !integer(arguments[1], least) || least > most_bins) return {};
  const std::int64_t all = x.boolean ? 2 : x.dtype == Dtype::u8 ? 256 : x.dtype == Dtype::u16 ? 65536 : 0;
  if (all == 0 || least < all) return {};
  const std::array<std::int64_t, 1> shape{least + outside};
  EnqueuedCall call(Function::bincount, *library, x.ordinal);
  call.input(x);
  call.option(static_cast<std::uint64_t>(least));
  call.option(x.boolean ? 1 : 0);
  call.output(Dtype::i64, false, shape);
  call.cut(least);
  std::shared_ptr<masu::PreparedHistogram> bins;
  const auto prepare = [&](const Device& device) -> std::shared_ptr<void> {
    const auto all_bins = masu::Bins::integers(static_cast<std::uint64_t>(least));
    bins = std::make_shared<masu::PreparedHistogram>(device, x.dtype, all_bins);
    return bins;
  };
  const auto calls = [&](const Device& device, Buffers data) {
    Stream stream(device, Timing::off);
    static_cast<void>(masu::histogram(stream, data[0], *bins, data[1]));
  };
  return finished(call, calls, prepare);
}

// (ar, counts): the distinct values of all elements, and how often each occurs
Answer unique(Arguments arguments) {
  Tensor x;
  Library* const library = take(arguments[0], x);
  if (library == nullptr) return {};
  const bool counts = arguments[1] == Py_True;
  const std::array<std::int64_t, 1> most{static_cast<std::int64_t>(x.count)};
  EnqueuedCall call(Function::unique, *library, x.ordinal);
  call.input(x);
  call.option(counts ? 1 : 0);
  call.output(x.dtype, x.boolean, most);
  if (counts) call.output(Dtype::i64, false, most);
  call.output(Dtype::u64, false, {});
  if (!call.find()) {
    const auto calls = [&](const Device& device, Buffers data) {
      Stream stream(device, Timing::off);
      static_cast<void>(
          masu::unique(stream, data[0], x.dtype, {data[1], data[counts ? 3 : 2], counts ? &data[2] : nullptr}));
    };
    return {call.record(calls, nullptr), nullptr};
  }
  const Outcome outcome = call.run_and_cut();
  return {outcome, outcome == Outcome::done ? call.give() : nullptr};
}

}  // namespace

void register_enqueue(nb::module_& m) {
  using Kind = TensorCall::Kind;
  static PyMethodDef methods[] = {
      entry<topk>("enqueue_topk"),
      entry<histogram>("enqueue_histogram"),
      entry<bincount>("enqueue_bincount"),
      entry<unique>("enqueue_unique"),
      {},
  };
  if (PyModule_AddFunctions(m.ptr(), methods) != 0) throw nb::python_error();
  const TensorCall::Parameter a{"a", Kind::given};
  const TensorCall::Parameter axis{"axis", Kind::last};
  const TensorCall::Parameter kind{"kind", Kind::name};
  const TensorCall::Parameter order{"order", Kind::refused};
  const TensorCall::Parameter out{"out", Kind::none};
  const TensorCall::Parameter device{"device", Kind::refused};
  const auto sorting = [&](const char* name, TensorCall::Work work) {
    return TensorCall(name, work, 4,
                      {a, axis, kind, order, {"stable", Kind::ignored}, {"descending", Kind::flag}, out, device});
  };
  const auto parting = [&](const char* name, TensorCall::Work work) {
    return TensorCall(name, work, 5, {a, {"kth", Kind::given}, axis, kind, order, out, device});
  };
  add_tensor_calls({
      sorting("sort", answered<sort<Function::sort>>),
      sorting("argsort", answered<sort<Function::argsort>>),
      parting("partition", answered<part<Function::partition>>),
      parting("argpartition", answered<part<Function::argpartition>>),
      TensorCall("searchsorted", answered<searchsorted>, 4,
                 {a, {"v", Kind::given}, {"side", Kind::none}, {"sorter", Kind::refused}, out, device}),
  });
}

}  // namespace masu_python
