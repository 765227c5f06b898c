// SPDX-License-Identifier: Apache-2.0
// Quantiles of the arrays of tensors.h, enqueued.
#include "enqueue_function.h"
#include "quantile_points.h"

#include <masu/quantile.h>

#include <memory>
#include <optional>
#include <vector>

namespace masu_python {
namespace {

// (a, q, axis, method, keepdims, out, ask, percent, nan), the last whether NaNs are left out
Answer quantile(Arguments arguments) {
  Tensor x;
  Lines lines;
  Library* const library = take(arguments[0], x);
  if (library == nullptr || !lines_of(x, arguments[2], lines, true)) return {};
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
    const Buffer<std::byte>& rows = as_rows(device, stream, data[0], x.dtype, lines, memory);
    const masu::SelectionOptions options{.rows = lines.number()};
    if (nan) masu::nan_quantiles(stream, rows, x.dtype, points->method, points->q, data[1], result, options);
    else masu::quantiles(stream, rows, x.dtype, points->list, data[1], result, options);
  });
}

}  // namespace

void register_enqueued_quantile(nb::module_& m) {
  static PyMethodDef methods[] = {entry<quantile>("enqueue_quantile"), {}};
  if (PyModule_AddFunctions(m.ptr(), methods) != 0) throw nb::python_error();
}

}  // namespace masu_python
