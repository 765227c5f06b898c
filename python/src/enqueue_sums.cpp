// SPDX-License-Identifier: Apache-2.0
// Sums, moments, dot products and running sums of the arrays of tensors.h, enqueued.
#include "elements/stored_float.h"
#include "enqueue.h"
#include "scan/scan_device.h"
#include "sum/sum_totals.h"

#include <masu/convert.h>
#include <masu/scan.h>
#include <masu/sum.h>

#include <optional>
#include <string_view>

namespace masu_python {
namespace {

// Integers are summed as NumPy sums them, modulo 2^64.
Dtype summed(const Tensor& tensor) {
  if (masu::is_float(tensor.dtype)) return tensor.dtype;
  return masu::is_signed(tensor.dtype) || tensor.boolean ? Dtype::i64 : Dtype::u64;
}

// The dtype that a code of NumPy's names, "f4". False for others.
bool dtype_of_code(PyObject* code, Dtype& dtype) {
  if (PyUnicode_Check(code) == 0) return false;
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(code, &size);
  if (text == nullptr) {  // of a lone surrogate
    PyErr_Clear();
    return false;
  }
  return find_dtype(std::string_view(text, static_cast<std::size_t>(size)), dtype);
}

// Elements as NumPy converts them: integers modulo the range.
void as_dtype(Stream& stream, const Buffer<std::byte>& from, Dtype dtype, Buffer<std::byte>& to, Dtype other) {
  static_cast<void>(masu::convert(stream, from, dtype, to, other, {.overflow = masu::Overflow::wrap}));
}

// Whether work-groups may share a row, which takes memory of zeros: not if there are rows enough for all of them.
bool takes_zeros(const Tensor& tensor, std::uint64_t rows) {
  constexpr std::uint64_t least_bytes = std::uint64_t{1} << 15;
  constexpr std::uint64_t most_rows = std::uint64_t{1} << 20;
  return tensor.count * masu::size_of(tensor.dtype) >= least_bytes && rows <= most_rows;
}

// A number of Python's as an addend of a sum of that dtype: a float or a 64-bit integer. False for what is not plain.
bool addend(PyObject* number, Dtype dtype, masu::SumAddend& found) {
  std::int64_t whole = 0;
  double value = 0;
  bool is_int = false;
  if (!masu::is_float(dtype)) {
    if (!integer(number, whole) || (whole < 0 && !masu::is_signed(dtype))) return false;
    found = whole;
    return true;
  }
  if (!plain_number(number, value, is_int)) return false;
  found = value;
  return std::isfinite(masu::rounded_to(dtype, value));
}

}  // namespace

// What Python finds for built-in types, texts and dtypes is kept, since to ask takes a third of a call; of what has a
// dtype that may be another one tomorrow it is not.
bool dtype_of(PyObject* given, Dtype usual, Dtype& dtype) {
  dtype = usual;
  if (is_none(given) || dtype_of_code(given, dtype)) return true;
  static PyObject* const known = PyDict_New();
  PyObject* code = PyDict_GetItemWithError(known, given);
  if (code != nullptr) return dtype_of_code(code, dtype);
  PyErr_Clear();  // of what has no hash
  try {
    const nb::module_ kinds = nb::module_::import_("masu._kinds");
    const nb::object found = kinds.attr("code_of")(kinds.attr("numpy_dtype")("", nb::borrow(given)));
    if (!dtype_of_code(found.ptr(), dtype)) return false;
    const bool built_in = PyType_Check(given) != 0 &&
                          (PyType_GetFlags(reinterpret_cast<PyTypeObject*>(given)) & Py_TPFLAGS_HEAPTYPE) == 0;
    const bool stays = built_in || PyUnicode_Check(given) != 0 || !nb::hasattr(nb::handle(given), "dtype");
    if (stays && PyDict_SetItem(known, given, found.ptr()) != 0) PyErr_Clear();
    return true;
  } catch (nb::python_error&) {
    return false;  // the function in Python tells it
  }
}

Outcome enqueued::reduce(EnqueuedCall& call) {
  using Form = masu::Pending<void> (*)(Stream&, const masu::BufferBase&, Dtype, const masu::BufferBase&,
                                       const masu::SumOptions&);
  constexpr Form forms[] = {masu::sum, masu::mean, masu::variance, masu::standard_deviation};
  const Total what = call.arguments.variant().total;
  const Form form = forms[static_cast<std::size_t>(what)];
  const Tensor& x = call.x;
  Lines& lines = call.lines;
  const Arguments& given = call.arguments;
  std::int64_t ddof = 0;
  if (given[Name::ddof] != nullptr && (!integer(given[Name::ddof], ddof) || ddof < 0)) return Outcome::not_plain;
  if (lines.length <= static_cast<std::uint64_t>(ddof)) return Outcome::not_plain;
  const bool is_sum = what == Total::sum;
  const bool floats = masu::is_float(x.dtype);
  const Dtype usual = is_sum ? summed(x) : floats ? x.dtype : Dtype::f64;
  Dtype result{};
  if (!dtype_of(given[Name::dtype], usual, result)) return Outcome::not_plain;
  const bool rounded = masu::is_float(result);
  if (!rounded && (floats || !is_sum)) return Outcome::not_plain;
  masu::SumAddend initial;
  if (!is_none(given[Name::initial]) && (result != usual || !addend(given[Name::initial], result, initial))) {
    return Outcome::not_plain;
  }
  call.option(static_cast<std::uint64_t>(ddof));
  call.option(masu::addend_of(x.dtype, initial));
  if (takes_zeros(x, lines.number())) call.zeros(lines.number() * sizeof(std::uint32_t));
  call.output(result, false, lines.reduced(given[Name::keepdims] == Py_True), given[Name::out]);
  return call.finish([&](Stream& stream, Buffers data) {
    masu::SumOptions options{.rows = lines.number(),
                             .ddof = static_cast<std::uint64_t>(ddof),
                             .initial = initial,
                             .zeros = call.has_zeros() ? &data[2] : nullptr};
    if (rounded) options.result = result;
    // Columns as they lie; but squares of integers are added fast only in short ones.
    constexpr std::uint64_t short_lines = std::uint64_t{1} << 16;
    const bool as_they_lie =
        lines.second == 1 && (floats || what == Total::sum || what == Total::mean || lines.length < short_lines);
    if (as_they_lie) options.columns = lines.inner;
    std::optional<Buffer<std::byte>> memory;
    const Buffer<std::byte>& rows =
        as_they_lie ? data[0] : masu::as_rows(stream, masu::size_of(x.dtype), data[0], lines, memory);
    if (is_sum && rounded && !floats) {
      Buffer<std::byte> converted(stream.device(), x.count * masu::size_of(result));
      as_dtype(stream, rows, x.dtype, converted, result);
      static_cast<void>(form(stream, converted, result, data[1], options));
      return;
    }
    if (rounded || masu::size_of(result) == sizeof(std::uint64_t)) {
      static_cast<void>(form(stream, rows, x.dtype, data[1], options));
      return;
    }
    Buffer<std::byte> wide(stream.device(), lines.number() * sizeof(std::uint64_t));
    static_cast<void>(form(stream, rows, x.dtype, wide, options));
    as_dtype(stream, wide, usual, data[1], result);
  });
}

Outcome enqueued::dot(EnqueuedCall& call) {
  const Tensor& x = call.x;
  Tensor y;
  if (!call.next_input(call.arguments[1], y) || x.dtype != y.dtype || x.boolean || y.boolean) return Outcome::not_plain;
  if (x.dimensions != 1 || y.dimensions != 1 || x.count != y.count) return Outcome::not_plain;
  if (takes_zeros(x, 1)) call.zeros(sizeof(std::uint32_t));
  call.output(x.dtype, false, {}, call.arguments[Name::out]);
  return call.finish([&](Stream& stream, Buffers data) {
    masu::SumOptions options{.zeros = call.has_zeros() ? &data[3] : nullptr};
    const Dtype total = summed(x);
    if (masu::is_float(total)) options.result = total;
    if (total == x.dtype || masu::size_of(x.dtype) == sizeof(std::uint64_t)) {
      static_cast<void>(masu::dot(stream, data[0], data[1], x.dtype, data[2], options));
      return;
    }
    Buffer<std::byte> wide(stream.device(), sizeof(std::uint64_t));
    static_cast<void>(masu::dot(stream, data[0], data[1], x.dtype, wide, options));
    as_dtype(stream, wide, total, data[2], x.dtype);  // as NumPy adds
  });
}

Outcome enqueued::cumsum(EnqueuedCall& call) {
  const Tensor& x = call.x;
  Lines& lines = call.lines;
  Dtype result{};
  if (!dtype_of(call.arguments[Name::dtype], summed(x), result)) return Outcome::not_plain;
  const bool same_kind = masu::is_float(result) == masu::is_float(x.dtype);
  if (!same_kind && !masu::is_float(result)) return Outcome::not_plain;
  const bool wide_integers = !masu::is_float(result) && masu::size_of(result) == sizeof(std::uint64_t);
  const bool as_it_is = wide_integers || result == x.dtype;
  call.output(result, false, lines.alike(), call.arguments[Name::out]);
  return call.finish([&](Stream& stream, Buffers data) {
    const bool exact_or_wide = wide_integers || (masu::is_float(x.dtype) && result == x.dtype);
    if (exact_or_wide && lines.second == 1 &&
        masu::running_sums(stream, data[0], x.dtype, data[1], lines.outer, lines.length, lines.inner)) {
      return;
    }
    std::optional<Buffer<std::byte>> memory;
    const Buffer<std::byte>& rows = masu::as_rows(stream, masu::size_of(x.dtype), data[0], lines, memory);
    masu::put_rows(stream, masu::size_of(result), data[1], lines, lines.length, [&](Buffer<std::byte>& sums) {
      if (!as_it_is) as_dtype(stream, rows, x.dtype, sums, result);
      static_cast<void>(masu::scan(stream, as_it_is ? rows : sums, as_it_is ? x.dtype : result, sums,
                                   {.rows = lines.number(), .result = result}));
    });
  });
}

}  // namespace masu_python
