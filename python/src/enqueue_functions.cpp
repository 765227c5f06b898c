// SPDX-License-Identifier: Apache-2.0
// Sorts, partitions, searches and distinct values of the arrays of tensors.h, enqueued.
#include "enqueue.h"
#include "order.h"

#include <masu/convert.h>
#include <masu/group.h>
#include <masu/search.h>
#include <masu/unique.h>

#include <algorithm>
#include <array>
#include <optional>

namespace masu_python {
namespace {

// Sorted lines, or, with `places`, their orders.
void sort_lines(Stream& stream, Buffers data, Dtype dtype, const Lines& lines, bool backwards, bool places) {
  std::optional<Buffer<std::byte>> memory;
  const Buffer<std::byte>& rows = masu::as_rows(stream, masu::size_of(dtype), data[0], lines, memory);
  const Dtype result = places ? Dtype::i64 : dtype;
  masu::put_rows(stream, masu::size_of(result), data[1], lines, lines.length, [&](Buffer<std::byte>& sorted) {
    sort_rows(stream, rows, dtype, sorted, sort_options(lines.number(), backwards), places);
  });
}

// Whether a name of an algorithm is given, and nothing else in its place; every one has the same result.
bool names_algorithm(PyObject* kind) {
  return is_none(kind) || PyUnicode_CheckExact(kind) != 0;
}

}  // namespace

Outcome enqueued::sort(EnqueuedCall& call) {
  const Tensor& x = call.x;
  const bool places = call.arguments.variant().places;
  PyObject* const kind = call.arguments[Name::kind];
  PyObject* const descending = call.arguments[Name::descending];
  if (!names_algorithm(kind) || (!is_none(kind) && descending != nullptr)) return Outcome::not_plain;
  const bool backwards = descending == Py_True;
  call.option(backwards ? 1 : 0);
  call.output(places ? Dtype::i64 : x.dtype, !places && x.boolean, call.lines.alike(), call.arguments[Name::out]);
  return call.finish(
      [&](Stream& stream, Buffers data) { sort_lines(stream, data, x.dtype, call.lines, backwards, places); });
}

// With one place: one line is parted, several are sorted.
Outcome enqueued::partition(EnqueuedCall& call) {
  const Tensor& x = call.x;
  const bool places = call.arguments.variant().places;
  Lines& lines = call.lines;
  std::int64_t kth = 0;
  if (!names_algorithm(call.arguments[Name::kind])) return Outcome::not_plain;
  const auto length = static_cast<std::int64_t>(lines.length);
  if (!integer(call.arguments[Name::kth], kth) || kth < -length || kth >= length) return Outcome::not_plain;
  const auto place = static_cast<std::uint64_t>(kth < 0 ? kth + length : kth);
  const bool alone = lines.number() == 1;
  call.option(alone ? place : 0);
  call.output(places ? Dtype::i64 : x.dtype, !places && x.boolean, lines.alike(), call.arguments[Name::out]);
  return call.finish([&](Stream& stream, Buffers data) {
    if (!alone) return sort_lines(stream, data, x.dtype, lines, false, places);
    const Buffer<std::byte> sizes(stream.device(), 2 * sizeof(std::uint64_t));
    static_cast<void>(part_row(stream, data[0], x.dtype, {data[1], sizes}, place, places));
  });
}

// `out`: a tuple of two arrays.
Outcome enqueued::topk(EnqueuedCall& call) {
  static PyObject* const type = nb::object(nb::module_::import_("masu._order").attr("TopK")).release().ptr();
  const Tensor& x = call.x;
  Lines& lines = call.lines;
  std::int64_t k = 0;
  if (!integer(call.arguments[Name::k], k) || k < 1 || static_cast<std::uint64_t>(k) > lines.length) {
    return Outcome::not_plain;
  }
  PyObject* const out = call.arguments[Name::out];
  const bool into = !is_none(out);
  if (into && ((PyTuple_CheckExact(out) == 0 && Py_TYPE(out) != reinterpret_cast<PyTypeObject*>(type)) ||
               PyTuple_Size(out) != 2)) {
    return Outcome::not_plain;
  }
  const bool largest = call.arguments[Name::largest] != Py_False;
  const bool bounded = !is_none(call.arguments[Name::lengths]);
  Dtype index{};
  if (!dtype_of(call.arguments[Name::index_dtype], Dtype::i64, index) || (index != Dtype::i64 && index != Dtype::i32)) {
    return Outcome::not_plain;
  }
  Tensor lengths;
  if (bounded) {
    Lines others = lines;  // whose shape is that of the result then
    if (!call.next_input(call.arguments[Name::lengths], lengths) || lengths.boolean || masu::is_float(lengths.dtype) ||
        (x.boolean && !largest) || !std::ranges::equal(lengths.lengths(), others.reduced(false))) {
      return Outcome::not_plain;
    }
  }
  const auto each = static_cast<std::uint64_t>(k);
  const std::span<const std::int64_t> found = lines.with(k);
  call.option(each);
  call.option(largest ? 1 : 0);
  call.option(bounded ? 1 : 0);
  call.output(x.dtype, x.boolean, found, into ? PyTuple_GetItem(out, 0) : nullptr);
  call.output(index, false, found, into ? PyTuple_GetItem(out, 1) : nullptr);
  call.give_as(type);
  return call.finish([&](Stream& stream, Buffers data) {
    masu::TopkOptions options{.largest = largest, .rows = lines.number(), .index_dtype = index};
    std::optional<Buffer<std::byte>> wide;
    if (bounded) {
      options.lengths = &data[1];
      options.lengths_dtype = lengths.dtype;
      if (masu::size_of(lengths.dtype) < sizeof(std::uint32_t)) {
        options.lengths_dtype = Dtype::i64;
        options.lengths = &wide.emplace(stream.device(), lines.number() * sizeof(std::int64_t));
        static_cast<void>(masu::convert(stream, data[1], lengths.dtype, *wide, Dtype::i64));
      }
    }
    const Buffers results = data.subspan(bounded ? 2 : 1);
    std::optional<Buffer<std::byte>> memory;
    const Buffer<std::byte>& rows = masu::as_rows(stream, masu::size_of(x.dtype), data[0], lines, memory);
    masu::put_rows(stream, masu::size_of(x.dtype), results[0], lines, each, [&](Buffer<std::byte>& values) {
      masu::put_rows(stream, masu::size_of(index), results[1], lines, each, [&](Buffer<std::byte>& places) {
        static_cast<void>(masu::topk(stream, rows, x.dtype, each, values, places, options));
      });
    });
  });
}

Outcome enqueued::searchsorted(EnqueuedCall& call) {
  const Tensor& sorted = call.x;
  Tensor values;
  if (!call.next_input(call.arguments[1], values) || sorted.dtype != values.dtype || sorted.boolean != values.boolean ||
      sorted.dimensions != 1) {
    return Outcome::not_plain;
  }
  PyObject* const side = call.arguments[Name::side];
  const auto is_side = [&](const char* text) {
    return PyUnicode_CheckExact(side) != 0 && PyUnicode_CompareWithASCIIString(side, text) == 0;
  };
  const bool right = !is_none(side) && is_side("right");
  if (!right && !is_none(side) && !is_side("left")) return Outcome::not_plain;
  call.option(right ? 1 : 0);
  call.output(Dtype::i64, false, values.lengths(), call.arguments[Name::out]);
  return call.finish([&](Stream& stream, Buffers data) {
    const masu::SearchOptions options{.side = right ? masu::Side::right : masu::Side::left};
    static_cast<void>(masu::searchsorted(stream, data[0], data[1], sorted.dtype, data[2], Dtype::u64, options));
  });
}

Outcome enqueued::group(EnqueuedCall& call) {
  static PyObject* const type = nb::object(nb::module_::import_("masu._groups").attr("Groups")).release().ptr();
  const Tensor& ids = call.x;
  std::int64_t n = 0;
  if (ids.boolean || masu::is_float(ids.dtype) || !integer(call.arguments[1], n) || n < 1 ||
      n > std::int64_t{1} << 32) {
    return Outcome::not_plain;
  }
  const std::array<std::int64_t, 3> sizes{n, n + 1, static_cast<std::int64_t>(ids.count)};
  call.option(static_cast<std::uint64_t>(n));
  for (const std::int64_t& size : sizes) call.output(Dtype::i64, false, {&size, 1});
  call.give_as(type);
  return call.finish([&](Stream& stream, Buffers data) {
    static_cast<void>(masu::group(stream, data[0], ids.dtype, {data[1], data[2], data[3]}));
  });
}

Outcome enqueued::segment_sum(EnqueuedCall& call) {
  const Tensor& x = call.x;
  Tensor offsets;
  if (x.boolean || x.dimensions != 1 || !call.next_input(call.arguments[1], offsets) || offsets.dtype != Dtype::i64 ||
      offsets.dimensions != 1 || offsets.count < 2) {
    return Outcome::not_plain;
  }
  const bool real = masu::is_float(x.dtype);
  const Dtype result = real ? x.dtype : masu::is_signed(x.dtype) ? Dtype::i64 : Dtype::u64;
  const std::array<std::int64_t, 1> segments{static_cast<std::int64_t>(offsets.count - 1)};
  call.output(result, false, segments);
  return call.finish([&](Stream& stream, Buffers data) {
    const masu::SumOptions options{.result = real ? result : Dtype::f64};
    static_cast<void>(masu::segment_sum(stream, data[0], x.dtype, data[1], data[2], options));
  });
}

// The distinct values of all elements, where each is first and stands, and how often it occurs.
Outcome enqueued::unique(EnqueuedCall& call) {
  const Tensor& x = call.x;
  const auto asks = [&](Name name) { return call.arguments[name] == Py_True; };
  const bool places = asks(Name::return_index);
  const bool inverse = asks(Name::return_inverse);
  const bool counts = asks(Name::return_counts);
  const std::array<std::int64_t, 1> most{static_cast<std::int64_t>(x.count)};
  call.option((places ? 1 : 0) | (inverse ? 2 : 0) | (counts ? 4 : 0));
  call.output(x.dtype, x.boolean, most);
  if (places) call.output(Dtype::i64, false, most);
  if (inverse) {
    call.output(Dtype::i64, false, x.lengths());
    call.whole();
  }
  if (counts) call.output(Dtype::i64, false, most);
  call.output(Dtype::u64, false, {});
  return call.finish_and_cut([&](Stream& stream, Buffers data) {
    std::size_t next = 2;
    masu::UniqueTargets to{data[1], data.back()};
    if (places) to.indices = &data[next++];
    if (inverse) to.inverse = &data[next++];
    if (counts) to.counts = &data[next++];
    static_cast<void>(masu::unique(stream, data[0], x.dtype, to));
  });
}

}  // namespace masu_python
