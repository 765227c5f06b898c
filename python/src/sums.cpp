// SPDX-License-Identifier: Apache-2.0
#include "arrays.h"
#include "module.h"

#include <masu/convert.h>
#include <masu/scan.h>
#include <masu/sum.h>

#include <algorithm>
#include <cstdint>

namespace masu_python {
namespace {

using masu::Device;
using masu::Dtype;

// An exact sum as a number of Python's: rounded once to the data's dtype, or an integer.
nb::object number(const masu::SumResult& result) {
  if (result.dtype() == Dtype::i64) return nb::int_(result.signed_integer());
  if (result.dtype() == Dtype::u64) return nb::int_(result.unsigned_integer());
  return nb::float_(result.value());
}

// Options for results that are rounded to a dtype; integers are modulo 2^64.
masu::SumOptions rounded_to(Dtype dtype, std::uint64_t rows = 1, std::uint64_t ddof = 0) {
  masu::SumOptions options{.rows = rows, .ddof = ddof, .wrap = true};
  if (masu::is_float(dtype)) options.result = dtype;
  return options;
}

template <class F>
auto brief_call(const Array& input, const F& work) {
  return input.on_device() ? call(work) : masu_python::brief_call(input.count(), work);
}

// The sum of all elements in host memory.
nb::object sum_all(nb::handle data, const Device& device) {
  const Input input(data);
  const masu::SumOptions options = rounded_to(input.dtype());
  return number(brief_call(input, [&] { return masu::sum(device, input.view(), options); }));
}

nb::object dot(nb::handle x, nb::handle y, const Device& device) {
  const Input left(x);
  const Input right(y);
  const masu::SumOptions options = rounded_to(left.dtype());
  return number(brief_call(left, [&] { return masu::dot(device, left.view(), right.view(), options); }));
}

// Leaves results in device memory, rounded to their dtype: start(stream, memory for them, options).
template <class F>
void leave(const Output& output, std::uint64_t ddof, const F& start) {
  masu::Stream stream(output.buffer().device(), masu::Timing::off);
  start(stream, output.buffer(), rounded_to(output.dtype(), output.count(), ddof)).get();
}

// Writes the product of two arrays on a device into one element there.
void dot_there(nb::handle x, nb::handle y, nb::handle result) {
  const Input left(x);
  const Input right(y);
  const Output output(result);
  call([&] {
    leave(output, 0, [&](auto& stream, const auto& results, const auto& options) {
      return masu::dot(stream, left.buffer(), right.buffer(), left.dtype(), results, options);
    });
  });
}

// The results of rows, made by function(device, view, options) and the like. On a device they go into its memory,
// rounded to the result's dtype; on the host those of floats are rounded to `rounded` and put into f64 or f32, which
// hold that, and those of integers into i64 or u64.
template <class F>
void reduce_rows(nb::handle data, nb::handle result, Dtype rounded, std::uint64_t ddof, const Device& device,
                 const F& function) {
  const Input input(data);
  const Output output(result);
  brief_call(input, [&] {
    if (input.on_device()) {
      return leave(output, ddof, [&](auto& stream, const auto& results, const auto& options) {
        return function(stream, input.buffer(), input.dtype(), results, options);
      });
    }
    const masu::SumResult found = function(device, input.view(), rounded_to(rounded, output.count(), ddof));
    for (std::uint64_t row = 0; row < output.count(); ++row) {
      if (found.dtype() == Dtype::i64) output.data<std::int64_t>()[row] = found.signed_integer(row);
      else if (found.dtype() == Dtype::u64) output.data<std::uint64_t>()[row] = found.unsigned_integer(row);
      else if (output.dtype() == Dtype::f32) output.data<float>()[row] = static_cast<float>(found.value(row));
      else output.data<double>()[row] = found.value(row);
    }
  });
}

void sum_rows(nb::handle data, nb::handle result, const char* rounded, const Device& device) {
  reduce_rows(data, result, masu::dtype_from_name(rounded), 0, device, [](auto&&... x) { return masu::sum(x...); });
}

// Means, or with a ddof that is not negative variances, with `root` the roots of these.
void moments(nb::handle data, nb::handle result, const char* rounded, std::int64_t ddof, bool root,
             const Device& device) {
  reduce_rows(data, result, masu::dtype_from_name(rounded), static_cast<std::uint64_t>(std::max<std::int64_t>(ddof, 0)),
              device, [&](auto&&... x) {
                return ddof < 0 ? masu::mean(x...) : root ? masu::standard_deviation(x...) : masu::variance(x...);
              });
}

// The exact sums of the columns of a matrix of floats in host memory, rounded once to their dtype.
void sum_columns(nb::handle data, nb::handle result) {
  const Input input(data);
  const Output output(result);
  brief_call(input, [&] { masu::sum_columns(input.view(), output.count(), output.view()); });
}

void cumsum(nb::handle data, nb::handle result, std::uint64_t rows, const Device& device) {
  const Input input(data);
  const Output output(result);
  brief_call(input, [&] {
    const masu::ScanOptions options{.rows = rows, .result = output.dtype()};
    if (input.on_device()) masu::scan(input.buffer(), input.dtype(), output.buffer(), options);
    else masu::scan(device, input.view(), output.view(), options);
  });
}

// Each element in the result's dtype: integers modulo its range, floats rounded to nearest; truth values on a device as
// bytes 0 and 1.
void convert(nb::handle data, nb::handle result, const Device& device) {
  const Input input(data);
  const Output output(result);
  call([&] {
    const masu::ConvertOptions options{.overflow = masu::Overflow::wrap,
                                       .truth = input.is_truth() && output.is_truth()};
    if (input.on_device()) masu::convert(input.buffer(), input.dtype(), output.buffer(), output.dtype(), options);
    else masu::convert(device, input.view(), output.view(), options);
  });
}

}  // namespace

void register_sums(nb::module_& m) {
  using nb::arg;
  m.def("sum_all", sum_all, arg("data"), arg("device"));
  m.def("dot", dot, arg("x"), arg("y"), arg("device"));
  m.def("dot_there", dot_there, arg("x"), arg("y"), arg("result"));
  m.def("sum_rows", sum_rows, arg("data"), arg("result"), arg("dtype"), arg("device"));
  m.def("sum_columns", sum_columns, arg("data"), arg("result"));
  m.def("moments", moments, arg("data"), arg("result"), arg("dtype"), arg("ddof"), arg("root"), arg("device"));
  m.def("convert", convert, arg("data"), arg("result"), arg("device"));
  m.def("cumsum", cumsum, arg("data"), arg("result"), arg("rows"), arg("device"));
}

}  // namespace masu_python
