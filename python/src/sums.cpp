// SPDX-License-Identifier: Apache-2.0
#include "arrays.h"
#include "module.h"
#include "short_sum.h"

#include <masu/convert.h>
#include <masu/interrupt.h>
#include <masu/scan.h>
#include <masu/sum.h>

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

constexpr std::uint64_t brief_elements = 16384;

masu::SumOptions rounded_to(Dtype dtype) {
  masu::SumOptions options{.wrap = true};
  if (masu::is_float(dtype)) options.result = dtype;
  return options;
}

// Makes a call of masu that is over soon: the GIL is kept.
template <class F>
auto brief_call(const Array& input, const F& work) {
  return !input.on_device() && input.count() <= brief_elements ? work() : call(work);
}

// Of all elements in host memory.
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

// Leaves results in device memory, rounded to their dtype: function(stream, memory for them, options). Integers are
// modulo 2^64.
template <class F>
void leave(const Output& output, const F& function) {
  masu::Stream stream(output.buffer().device(), masu::Timing::off);
  function(stream, output.buffer(), rounded_to(output.dtype())).get();
}

// Of two arrays on a device, into one element there.
void dot_there(nb::handle x, nb::handle y, nb::handle result) {
  const Input left(x);
  const Input right(y);
  const Output output(result);
  call([&] {
    leave(output, [&](masu::Stream& stream, const masu::BufferBase& results, const masu::SumOptions& options) {
      return masu::dot(stream, left.buffer(), right.buffer(), left.dtype(), results, options);
    });
  });
}

// The exact sums of rows: of floats, rounded once to `rounded`, into f64 or f32, which hold that; of integers into i64
// or u64. Those of rows on a device into its memory, rounded to the result's dtype, integers modulo 2^64.
void sum_rows(nb::handle data, nb::handle result, Dtype rounded, const Device& device) {
  const Input input(data);
  const Output output(result);
  brief_call(input, [&] {
    if (input.on_device()) {
      return leave(output, [&](masu::Stream& stream, const masu::BufferBase& results, masu::SumOptions options) {
        options.rows = output.count();
        return masu::sum(stream, input.buffer(), input.dtype(), results, options);
      });
    }
    masu::SumOptions options = rounded_to(rounded);
    options.rows = output.count();
    const masu::SumResult sums = masu::sum(device, input.view(), options);
    for (std::uint64_t row = 0; row < output.count(); ++row) {
      if (sums.dtype() == Dtype::i64) output.data<std::int64_t>()[row] = sums.signed_integer(row);
      else if (sums.dtype() == Dtype::u64) output.data<std::uint64_t>()[row] = sums.unsigned_integer(row);
      else if (output.dtype() == Dtype::f32) output.data<float>()[row] = static_cast<float>(sums.value(row));
      else output.data<double>()[row] = sums.value(row);
    }
  });
}

// The exact sums of the columns of a matrix of floats in host memory, rounded once to their dtype.
void sum_columns(nb::handle data, nb::handle result) {
  const Input input(data);
  const Output output(result);
  brief_call(input, [&] { masu::sum_columns(input.view(), output.count(), output.view()); });
}

// The exact means of rows, or with a ddof that is not negative their variances, with `root` the roots of these, rounded
// once to `rounded`, into f64; of rows on a device into its memory, rounded to the result's dtype.
void moments(nb::handle data, nb::handle result, Dtype rounded, std::int64_t ddof, bool root, const Device& device) {
  const Input input(data);
  const Output output(result);
  call([&] {
    const auto moment = [&](auto&&... x) {
      return ddof < 0 ? masu::mean(x...) : root ? masu::standard_deviation(x...) : masu::variance(x...);
    };
    const auto complete = [&](masu::SumOptions options) {
      options.rows = output.count();
      if (ddof >= 0) options.ddof = static_cast<std::uint64_t>(ddof);
      return options;
    };
    if (input.on_device()) {
      return leave(output, [&](masu::Stream& stream, const masu::BufferBase& results, const masu::SumOptions& options) {
        return moment(stream, input.buffer(), input.dtype(), results, complete(options));
      });
    }
    const masu::SumResult found = moment(device, input.view(), complete(rounded_to(rounded)));
    for (std::uint64_t row = 0; row < output.count(); ++row) output.data<double>()[row] = found.value(row);
  });
}

void cumsum(nb::handle data, nb::handle result, std::uint64_t rows, const Device& device) {
  const Input input(data);
  const Output output(result);
  const auto running = [&] {
    if (rows != 1 || input.on_device() || device.kind() != masu::DeviceKind::cpu) return false;
    if (input.dtype() == Dtype::f64) return running_sums(input.data<double>(), input.count(), output.data<double>());
    return input.dtype() == Dtype::f32 && running_sums(input.data<float>(), input.count(), output.data<float>());
  };
  if (input.count() <= short_sum_elements && running()) return;
  call([&] {
    if (input.count() > short_sum_elements && running()) return;
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
  m.def(
      "sum_rows",
      [](nb::handle data, nb::handle result, const char* dtype, const Device& device) {
        sum_rows(data, result, masu::dtype_from_name(dtype), device);
      },
      arg("data"), arg("result"), arg("dtype"), arg("device"));
  m.def("sum_columns", sum_columns, arg("data"), arg("result"));
  m.def(
      "moments",
      [](nb::handle data, nb::handle result, const char* dtype, std::int64_t ddof, bool root, const Device& device) {
        moments(data, result, masu::dtype_from_name(dtype), ddof, root, device);
      },
      arg("data"), arg("result"), arg("dtype"), arg("ddof"), arg("root"), arg("device"));
  m.def("convert", convert, arg("data"), arg("result"), arg("device"));
  m.def("cumsum", cumsum, arg("data"), arg("result"), arg("rows"), arg("device"));
}

}  // namespace masu_python
