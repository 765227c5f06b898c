// SPDX-License-Identifier: Apache-2.0
#include "arrays.h"
#include "module.h"

#include <masu/convert.h>
#include <masu/group.h>
#include <masu/reduce.h>
#include <masu/scan.h>
#include <masu/sum.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace masu_python {
namespace {

using masu::Device;
using masu::Dtype;

template <class F>
auto brief_call(const Array& input, const F& work) {
  return input.on_device() ? call(work) : masu_python::brief_call(input.count(), work);
}

// The results of rows, made by function(device, view…, options) and the like, of one input or two. On a device they go
// into its memory, rounded to the result's dtype; on the host those of floats are rounded to `rounded` and put into f64
// or f32, which hold that, and those of integers, modulo 2^64, into integers of 64 bits.
template <class F, class... More>
void reduce(const Output& output, const char* rounded, masu::SumOptions options_of, const Device& device,
            const F& function, const Input& x, const More&... y) {
  const auto options = [&](Dtype dtype) {
    masu::SumOptions options = options_of;
    options.rows = output.count();
    options.wrap = true;
    if (masu::is_float(dtype)) options.result = dtype;
    return options;
  };
  brief_call(x, [&] {
    if (x.on_device()) {
      masu::Stream stream(output.buffer().device(), masu::Timing::off);
      return function(stream, x.buffer(), y.buffer()..., x.dtype(), output.buffer(), options(output.dtype())).get();
    }
    const masu::SumResult found = function(device, x.view(), y.view()..., options(masu::dtype_from_name(rounded)));
    for (std::uint64_t row = 0; row < output.count(); ++row) {
      if (found.dtype() == Dtype::i64) output.data<std::int64_t>()[row] = found.signed_integer(row);
      else if (found.dtype() == Dtype::u64) output.data<std::uint64_t>()[row] = found.unsigned_integer(row);
      else if (output.dtype() == Dtype::f32) output.data<float>()[row] = static_cast<float>(found.value(row));
      else output.data<double>()[row] = found.value(row);
    }
  });
}

void dot(const Input& x, const Input& y, const Output& result, const char* rounded, const Device& device) {
  reduce(
      result, rounded, {}, device, [](auto&&... given) { return masu::dot(given...); }, x, y);
}

// `initial`: None, or an addend more of each.
void sum_rows(const Input& data, const Output& result, const char* rounded, const Device& device,
              std::optional<masu::SumAddend> initial) {
  reduce(
      result, rounded, {.initial = initial.value_or(0.0)}, device, [](auto&&... x) { return masu::sum(x...); }, data);
}

// Means, or with a ddof that is not negative variances, with `root` the roots of these.
void moments(const Input& data, const Output& result, const char* rounded, std::int64_t ddof, bool root,
             const Device& device) {
  const auto moment = [&](auto&&... x) {
    return ddof < 0 ? masu::mean(x...) : root ? masu::standard_deviation(x...) : masu::variance(x...);
  };
  reduce(result, rounded, {.ddof = static_cast<std::uint64_t>(std::max<std::int64_t>(ddof, 0))}, device, moment, data);
}

// The exact sums of the columns of a matrix of floats in host memory, rounded once to their dtype.
void sum_columns(const Input& input, const Output& output) {
  brief_call(input, [&] { masu::sum_columns(input.view(), output.count(), output.view()); });
}

// The extremes of each row, their places, or how many elements are not zero, by the function's name in Python.
// `second`: the greatest elements of "minmax". Results of data on a device may go to the host's memory.
void reduce_rows(const Input& in, const std::string& name, const Output& out, const Output& second,
                 const Device& device) {
  const bool greatest = name == "max" || name == "argmax";
  const bool places = name.starts_with("arg");
  const masu::ReduceOp op = name == "minmax"          ? masu::ReduceOp::minmax
                            : name == "count_nonzero" ? masu::ReduceOp::count_nonzero
                            : greatest                ? masu::ReduceOp::max
                                                      : masu::ReduceOp::min;
  brief_call(in, [&] {
    masu::ReduceOptions options;
    options.rows = out.count();
    if (out.on_device()) {
      masu::ReduceTargets to;
      if (op == masu::ReduceOp::count_nonzero) to.nonzero = &out.buffer();
      else if (places) (greatest ? to.max_indices : to.min_indices) = &out.buffer();
      else (greatest ? to.max : to.min) = &out.buffer();
      if (op == masu::ReduceOp::minmax) to.max = &second.buffer();
      masu::Stream stream(out.buffer().device(), masu::Timing::off);
      return masu::reduce(stream, in.buffer(), in.dtype(), to, options).get();
    }
    const masu::ReduceResult found = in.on_device() ? masu::reduce(in.buffer(), in.dtype(), op, options)
                                                    : masu::reduce(device, in.view(), op, options);
    const auto put = [](const Output& to, const masu::ArrayView& values) {
      std::memcpy(to.data<std::byte>(), values.data, values.count * masu::size_of(values.dtype));
    };
    if (op == masu::ReduceOp::count_nonzero) put(out, masu::ArrayView(found.nonzero()));
    else if (places) put(out, masu::ArrayView(greatest ? found.max_indices() : found.min_indices()));
    else put(out, greatest ? found.max_values() : found.min_values());
    if (op == masu::ReduceOp::minmax) put(second, found.max_values());
  });
}

// The sums of segments between offsets of 64 bits. Those of host data are added on the CPU.
void segment_sum(const Input& x, const Input& offsets, const Output& output) {
  masu::SumOptions options{.wrap = true};
  if (masu::is_float(output.dtype())) options.result = output.dtype();
  brief_call(x, [&] {
    if (!x.on_device()) {
      return masu::segment_sum(x.view(), {Dtype::u64, offsets.view().data, offsets.count()}, output.view(), options);
    }
    masu::Stream stream(output.buffer().device(), masu::Timing::off);
    masu::segment_sum(stream, x.buffer(), x.dtype(), offsets.buffer(), output.buffer(), options).get();
  });
}

void cumsum(const Input& input, const Output& output, std::uint64_t rows, const Device& device) {
  brief_call(input, [&] {
    const masu::ScanOptions options{.rows = rows, .result = output.dtype()};
    if (input.on_device()) masu::scan(input.buffer(), input.dtype(), output.buffer(), options);
    else masu::scan(device, input.view(), output.view(), options);
  });
}

// Each element in the result's dtype: integers modulo its range, floats rounded to nearest; truth values on a device as
// bytes 0 and 1. `float8`: the format of bytes that are codes.
void convert(const Input& input, const Output& output, const Device& device, const std::optional<std::string>& float8) {
  call([&] {
    masu::ConvertOptions options{.overflow = masu::Overflow::wrap, .truth = input.is_truth() && output.is_truth()};
    if (float8) options.float8 = masu::float8_from_name(*float8);
    if (input.on_device()) masu::convert(input.buffer(), input.dtype(), output.buffer(), output.dtype(), options);
    else masu::convert(device, input.view(), output.view(), options);
  });
}

}  // namespace

void register_sums(nb::module_& m) {
  m.def("dot", taking(dot));
  m.def("sum_rows", taking(sum_rows), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg() = nb::none());
  m.def("sum_columns", taking(sum_columns));
  m.def("moments", taking(moments));
  m.def("reduce_rows", taking(reduce_rows));
  m.def("convert", taking(convert), nb::arg(), nb::arg(), nb::arg(), nb::arg() = nb::none());
  m.def("cumsum", taking(cumsum));
  m.def("segment_sum", taking(segment_sum));
}

}  // namespace masu_python
