// SPDX-License-Identifier: Apache-2.0
// Medians and quantiles of little data in host memory, in one call: NumPy's functions spend more time on their
// arguments than on the data. None for what NumPy warns of, and for all that is not plain.
#include "arrays.h"
#include "lines.h"
#include "module.h"
#include "quantile_points.h"
#include "tensors.h"

#include <masu/buffer.h>
#include <masu/quantile.h>
#include <masu/stream.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace masu_python {
namespace {

using masu::Buffer;
using masu::Device;
using masu::Dtype;

// A C-contiguous array whose lines along its last axis, or all of whose elements, are rows.
struct Rows {
  const MaybeInput& input;
  std::uint64_t number = 1;
  std::uint64_t length = 0;

  // `axis`: None or an int. False for another axis than the last, and for what is empty.
  bool find(PyObject* axis) {
    const int dimensions = input.dimensions();
    if (input.view().count == 0 || dimensions == 0) return false;
    length = input.view().count;
    if (axis == Py_None) return true;
    std::int64_t last = 0;
    if (!integer(axis, last) || (last != -1 && last != dimensions - 1)) return false;
    length = input.last_length();
    number = input.view().count / length;
    return true;
  }
};

bool all_finite(std::span<const std::byte> bytes, Dtype dtype) {
  const auto finite = [&](auto sample, auto is_finite) {
    for (std::size_t i = 0; i < bytes.size(); i += sizeof sample) {
      std::memcpy(&sample, bytes.data() + i, sizeof sample);
      if (!is_finite(sample)) return false;
    }
    return true;
  };
  switch (dtype) {
    case Dtype::f16: return finite(std::uint16_t{}, [](std::uint16_t bits) { return (bits & 0x7c00) != 0x7c00; });
    case Dtype::f32: return finite(0.0F, [](float x) { return std::isfinite(x); });
    case Dtype::f64: return finite(0.0, [](double x) { return std::isfinite(x); });
    default: return true;
  }
}

// An array of NumPy's of that shape behind `front`, or its element where it has no dimension, filled by work(stream,
// data, result). None where not all is finite.
template <class Work>
nb::object filled(const Rows& rows, PyObject* axis, const std::vector<std::int64_t>& front, Dtype dtype, bool boolean,
                  const Work& work) {
  static const nb::handle empty = nb::object(nb::module_::import_("numpy").attr("empty")).release();
  std::vector<std::int64_t> shape = front;
  if (axis != Py_None) {
    const auto kept = rows.input.shape();
    shape.insert(shape.end(), kept.begin(), kept.end() - 1);
  }
  const nb::object lengths = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    PyTuple_SetItem(lengths.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape[i]));
  }
  nb::object result = empty(lengths, boolean ? "?" : numpy_code(dtype));
  {
    const Output output(result);
    const std::span<std::byte> bytes(static_cast<std::byte*>(output.view().data),
                                     output.count() * masu::size_of(dtype));
    static const Device& cpu = *new Device(Device::open("cpu"));
    const masu::ArrayView from = rows.input.view();
    const std::span<const std::byte> data(static_cast<const std::byte*>(from.data),
                                          from.count * masu::size_of(from.dtype));
    masu::Stream stream(cpu, masu::Timing::off);
    const auto there = Buffer<const std::byte>::wrap_host(cpu, data);
    auto to = Buffer<std::byte>::wrap_host(cpu, bytes);
    constexpr std::uint64_t most_held = 4096;  // elements for which the GIL is kept
    if (from.count > most_held) {
      const nb::gil_scoped_release released;
      work(stream, there, to);
    } else {
      work(stream, there, to);
    }
    if (!all_finite(bytes, dtype)) return nb::none();
  }
  return shape.empty() ? nb::object(result[nb::tuple()]) : result;
}

nb::object median(nb::handle a, nb::handle axis) {
  const MaybeInput input(a);
  Rows rows{input};
  if (!rows.find(axis.ptr())) return nb::none();
  const Dtype dtype = input.view().dtype;
  return filled(rows, axis.ptr(), {}, masu::is_float(dtype) ? dtype : Dtype::f64, false,
                [&](auto& stream, const auto& data, auto& result) {
                  masu::median(stream, data, dtype, result, {.rows = rows.number}).get();
                });
}

nb::object quantile(nb::handle a, nb::handle q, nb::handle axis, nb::handle method, nb::handle ask,
                    nb::handle percent) {
  const MaybeInput input(a);
  Rows rows{input};
  if (!rows.find(axis.ptr())) return nb::none();
  const Dtype dtype = input.view().dtype;
  const Question question{dtype, input.is_bool(), rows.length, q.ptr(), method.ptr(), percent.ptr(), ask.ptr()};
  const std::shared_ptr<Points> points = points_for(question);
  if (points == nullptr) return nb::none();
  if (!points->known) {
    // To ask takes longer than to compute: only what is asked for again.
    if (points->sought++ > 0) answer(question, *points);
    return nb::none();
  }
  if (points->list.empty()) return nb::none();
  const Dtype to = points->result.value_or(dtype);
  return filled(rows, axis.ptr(), points->shape, to, input.is_bool() && !points->result,
                [&](auto& stream, const auto& data, auto& result) {
                  masu::quantiles(stream, data, dtype, points->list, result, to, {.rows = rows.number}).get();
                });
}

// Calls work(stream) of the device on which `input` is, and waits for it.
template <class Work>
void on_device(const Input& input, const Work& work) {
  masu::Stream stream(input.buffer().device(), masu::Timing::off);
  work(stream);
  stream.finish();
}

// On a device: the medians of rows, and the quantiles at the points of quantile_points.h; with `nan` of what is no NaN.
void medians(nb::handle data, nb::handle result, std::uint64_t rows, bool nan) {
  const Input input(data);
  const Output output(result);
  call([&] {
    const masu::SelectionOptions options{.rows = rows};
    on_device(input, [&](masu::Stream& stream) {
      if (nan) masu::nan_median(stream, input.buffer(), input.dtype(), output.buffer(), options);
      else masu::median(stream, input.buffer(), input.dtype(), output.buffer(), options);
    });
  });
}

void nan_quantiles(nb::handle data, nb::handle result, std::uint64_t rows, const char* method, nb::handle q) {
  const Input input(data);
  const Output output(result);
  const Input quantiles(q);
  call([&] {
    on_device(input, [&](masu::Stream& stream) {
      masu::nan_quantiles(stream, input.buffer(), input.dtype(), masu::quantile_method_from_name(method),
                          {quantiles.data<double>(), quantiles.count()}, output.buffer(), output.dtype(),
                          {.rows = rows});
    });
  });
}

// What points_of() takes, by the formulas of a method.
nb::tuple points_of_method(const char* method, std::uint64_t length, nb::handle q) {
  const Input quantiles(q);
  const auto points = masu::quantile_points(masu::quantile_method_from_name(method), length,
                                            {quantiles.data<double>(), quantiles.count()});
  nb::list previous;
  nb::list next;
  nb::list weights;
  nb::list kinds;
  for (const masu::QuantilePoint& point : points) {
    previous.append(point.previous);
    next.append(point.next);
    weights.append(point.weight);
    kinds.append(static_cast<int>(point.kind));
  }
  return nb::make_tuple(previous, next, weights, kinds);
}

void quantiles(nb::handle data, nb::handle result, std::uint64_t rows, nb::handle first, nb::handle second,
               nb::handle weights, nb::handle kinds) {
  const Input input(data);
  const Output output(result);
  const std::vector<masu::QuantilePoint> points = points_of(first, second, weights, kinds);
  call([&] {
    on_device(input, [&](masu::Stream& stream) {
      static_cast<void>(masu::quantiles(stream, input.buffer(), input.dtype(), points, output.buffer(), output.dtype(),
                                        {.rows = rows}));
    });
  });
}

}  // namespace

void register_quantiles(nb::module_& m) {
  using nb::arg;
  m.def("medians", medians, arg("data"), arg("result"), arg("rows"), arg("nan"));
  m.def("nan_quantiles", nan_quantiles, arg("data"), arg("result"), arg("rows"), arg("method"), arg("q"));
  m.def("points_of_method", points_of_method, arg("method"), arg("length"), arg("q"));
  m.def("quantiles", quantiles, arg("data"), arg("result"), arg("rows"), arg("first"), arg("second"), arg("weights"),
        arg("kinds"));
  m.def("median_here", median, arg("a"), arg("axis").none());
  m.def("quantile_here", quantile, arg("a"), arg("q").none(), arg("axis").none(), arg("method").none(), arg("ask"),
        arg("percent"));
}

}  // namespace masu_python
