// SPDX-License-Identifier: Apache-2.0
// Sorts, partitions, quantiles, searches and distinct values of the arrays of tensors.h, enqueued.
#include "enqueue_function.h"
#include "quantiles.h"

#include <masu/quantile.h>
#include <masu/search.h>
#include <masu/sort.h>
#include <masu/topk.h>
#include <masu/unique.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace masu_python {
namespace {

// Sorted lines, or, with `places`, their orders.
template <bool places>
void sort_lines(Stream& stream, Buffers data, Dtype dtype, const Lines& lines, bool backwards) {
  std::optional<Buffer<std::byte>> memory;
  const Buffer<std::byte>& rows = masu::as_rows(stream, masu::size_of(dtype), data[0], lines, memory);
  const Dtype result = places ? Dtype::i64 : dtype;
  masu::put_rows(stream, masu::size_of(result), data[1], lines, lines.length, [&](Buffer<std::byte>& sorted) {
    (places ? argsort_rows : sort_rows)(stream, rows, dtype, lines.number(), sorted, backwards);
  });
}

// (a, axis, descending, out)
template <Function which>
Answer sort(Arguments arguments) {
  Tensor x;
  Lines lines;
  Library* const library = take(arguments[0], x);
  if (library == nullptr || !lines_of(x.lengths(), arguments[1], lines)) return {};
  const bool backwards = arguments[2] == Py_True;
  constexpr bool places = which == Function::argsort;
  const Dtype result = places ? Dtype::i64 : x.dtype;
  EnqueuedCall call(which, *library, x.ordinal);
  call.input(x);
  key_of_lines(call, lines);
  call.option(backwards ? 1 : 0);
  if (!call.output(result, !places && x.boolean, lines.alike(), arguments[3])) return {};
  return finished(call, [&](const Device& device, Buffers data) {
    Stream stream(device, Timing::off);
    sort_lines<places>(stream, data, x.dtype, lines, backwards);
  });
}

// (a, kth, axis, out) with one place: one line is parted, several are sorted
template <Function which>
Answer part(Arguments arguments) {
  Tensor x;
  Lines lines;
  std::int64_t kth = 0;
  Library* const library = take(arguments[0], x);
  if (library == nullptr || !lines_of(x.lengths(), arguments[2], lines) || !integer(arguments[1], kth)) return {};
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
  if (!call.output(places ? Dtype::i64 : x.dtype, boolean, lines.alike(), arguments[3])) return {};
  return finished(call, [&](const Device& device, Buffers data) {
    Stream stream(device, Timing::off);
    if (!alone) return sort_lines<places>(stream, data, x.dtype, lines, false);
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
  if (library == nullptr || !lines_of(x.lengths(), arguments[2], lines) || !integer(arguments[1], k)) return {};
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
    const Buffer<std::byte>& rows = masu::as_rows(stream, masu::size_of(x.dtype), data[0], lines, memory);
    masu::put_rows(stream, masu::size_of(x.dtype), data[1], lines, each, [&](Buffer<std::byte>& values) {
      masu::put_rows(stream, masu::size_of(Dtype::i64), data[2], lines, each, [&](Buffer<std::byte>& places) {
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

// (a, q, axis, method, keepdims, out, ask, percent, nan), the last whether NaNs are left out
Answer quantile(Arguments arguments) {
  Tensor x;
  Lines lines;
  Library* const library = take(arguments[0], x);
  if (library == nullptr || !lines_of(x.lengths(), arguments[2], lines, true)) return {};
  const Question question{x.dtype, x.boolean, lines.length, arguments[1], arguments[3], arguments[7], arguments[6]};
  const std::shared_ptr<Points> points = points_for(question);
  if (points == nullptr) return {};
  if (!points->known) {
    answer(question, *points);
    return {Outcome::again};  // Python has run, so the array must be taken anew
  }
  const bool nan = arguments[8] == Py_True && masu::is_float(x.dtype);
  if (points->list.empty() || (nan && points->q.empty())) return {};
  std::vector<std::int64_t> shape = points->shape;
  const auto reduced = lines.reduced(arguments[4] == Py_True);
  shape.insert(shape.end(), reduced.begin(), reduced.end());
  if (shape.size() > most_dimensions) return {};
  const Dtype result = points->result.value_or(x.dtype);
  EnqueuedCall call(nan ? Function::nan_quantile : Function::quantile, *library, x.ordinal);
  call.input(x);
  key_of_lines(call, lines);
  call.option(points->number);
  if (!call.output(result, x.boolean && !points->result, shape, arguments[5])) return {};
  return finished(call, [&](const Device& device, Buffers data) {
    Stream stream(device, Timing::off);
    std::optional<Buffer<std::byte>> memory;
    const Buffer<std::byte>& rows = masu::as_rows(stream, masu::size_of(x.dtype), data[0], lines, memory);
    const masu::SelectionOptions options{.rows = lines.number()};
    if (nan) masu::nan_quantiles(stream, rows, x.dtype, points->method, points->q, data[1], result, options);
    else masu::quantiles(stream, rows, x.dtype, points->list, data[1], result, options);
  });
}

}  // namespace

void register_enqueue(nb::module_& m) {
  using Kind = TensorCall::Kind;
  static PyMethodDef methods[] = {
      entry<quantile>("enqueue_quantile"),
      entry<topk>("enqueue_topk"),
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
