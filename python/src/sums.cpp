// SPDX-License-Identifier: Apache-2.0
#include "arrays.h"
#include "module.h"
#include "short_sum.h"

#include <masu/convert.h>
#include <masu/scan.h>
#include <masu/sum.h>

#include <cstdint>
#include <optional>
#include <type_traits>

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

masu::SumOptions rounded_to(Dtype dtype) {
  masu::SumOptions options;
  if (masu::is_float(dtype)) options.result = dtype;
  return options;
}

// Few elements in host memory are added here, with the GIL: a call of masu's would cost more than the work.
template <class F>
std::optional<double> of_few(const Input& input, const F& sum) {
  if (input.on_device() || input.count() > short_sum_elements) return std::nullopt;
  if (input.dtype() == Dtype::f64) return sum(input.data<double>());
  if (input.dtype() == Dtype::f32) return sum(input.data<float>());
  return std::nullopt;
}

// Of all elements in host memory.
nb::object sum_all(nb::handle data, const Device& device) {
  const Input input(data);
  if (const auto sum = of_few(input, [&](const auto* x) { return short_sum(x, input.count()); }))
    return nb::float_(*sum);
  const masu::SumOptions options = rounded_to(input.dtype());
  return number(call([&] { return masu::sum(device, input.view(), options); }));
}

nb::object dot(nb::handle x, nb::handle y, const Device& device) {
  const Input left(x);
  const Input right(y);
  const auto short_product = [&](const auto* few) {
    return short_dot(few, right.data<std::remove_cvref_t<decltype(*few)>>(), left.count());
  };
  if (const auto sum = of_few(left, short_product)) return nb::float_(*sum);
  const masu::SumOptions options = rounded_to(left.dtype());
  return number(call([&] {
    return left.on_device() ? masu::dot(left.buffer(), right.buffer(), left.dtype(), options)
                            : masu::dot(device, left.view(), right.view(), options);
  }));
}

// The exact sums of rows: of floats, rounded once to `rounded`, into f64 or f32, which hold that; of integers into i64
// or u64.
void sum_rows(nb::handle data, nb::handle result, Dtype rounded, const Device& device) {
  const Input input(data);
  const Output output(result);
  const std::uint64_t length = input.count() / output.count();
  const auto put = [&](std::uint64_t row, double sum) {
    if (output.dtype() == Dtype::f32) output.data<float>()[row] = static_cast<float>(sum);
    else output.data<double>()[row] = sum;
  };
  const auto rows_in_turn = [&](const auto* x) {
    std::optional<double> sum;
    for (std::uint64_t row = 0; row < output.count(); ++row) {
      sum = short_sum(x + row * length, length);
      if (!sum) break;
      put(row, *sum);
    }
    return sum;
  };
  if (rounded == input.dtype() && of_few(input, rows_in_turn)) return;
  call([&] {
    masu::SumOptions options = rounded_to(rounded);
    options.rows = output.count();
    const masu::SumResult sums = input.on_device() ? masu::sum(input.buffer(), input.dtype(), options)
                                                   : masu::sum(device, input.view(), options);
    for (std::uint64_t row = 0; row < output.count(); ++row) {
      if (sums.dtype() == Dtype::i64) output.data<std::int64_t>()[row] = sums.signed_integer(row);
      else if (sums.dtype() == Dtype::u64) output.data<std::uint64_t>()[row] = sums.unsigned_integer(row);
      else put(row, sums.value(row));
    }
  });
}

// The exact means of rows, or with a ddof that is not negative their variances, rounded once to `rounded`, into f64.
void moments(nb::handle data, nb::handle result, Dtype rounded, std::int64_t ddof, const Device& device) {
  const Input input(data);
  const Output output(result);
  call([&] {
    masu::SumOptions options;
    options.result = rounded;
    options.rows = output.count();
    if (ddof >= 0) options.ddof = static_cast<std::uint64_t>(ddof);
    const auto of = [&](const auto& function) {
      return input.on_device() ? function(input.buffer(), input.dtype()) : function(device, input.view());
    };
    const masu::SumResult found = ddof < 0 ? of([&](const auto&... x) { return masu::mean(x..., options); })
                                           : of([&](const auto&... x) { return masu::variance(x..., options); });
    for (std::uint64_t row = 0; row < output.count(); ++row) output.data<double>()[row] = found.value(row);
  });
}

void cumsum(nb::handle data, nb::handle result, std::uint64_t rows, const Device& device) {
  const Input input(data);
  const Output output(result);
  const auto few = [&](const auto* x) -> std::optional<double> {
    using T = std::remove_cvref_t<decltype(*x)>;
    if (rows != 1 || !short_running_sums(x, input.count(), output.data<T>())) return std::nullopt;
    return 0.0;
  };
  if (of_few(input, few)) return;
  call([&] {
    const masu::ScanOptions options{.rows = rows};
    if (input.on_device()) masu::scan(input.buffer(), input.dtype(), output.buffer(), options);
    else masu::scan(device, input.view(), output.view(), options);
  });
}

// Each element in the result's dtype: integers modulo its range, floats rounded to nearest.
void convert(nb::handle data, nb::handle result, const Device& device) {
  const Input input(data);
  const Output output(result);
  call([&] {
    const masu::ConvertOptions options{.overflow = masu::Overflow::wrap};
    if (input.on_device()) masu::convert(input.buffer(), input.dtype(), output.buffer(), output.dtype(), options);
    else masu::convert(device, input.view(), output.view(), options);
  });
}

}  // namespace

void register_sums(nb::module_& m) {
  using nb::arg;
  m.def("sum_all", sum_all, arg("data"), arg("device"));
  m.def("dot", dot, arg("x"), arg("y"), arg("device"));
  m.def(
      "sum_rows",
      [](nb::handle data, nb::handle result, const char* dtype, const Device& device) {
        sum_rows(data, result, masu::dtype_from_name(dtype), device);
      },
      arg("data"), arg("result"), arg("dtype"), arg("device"));
  m.def(
      "moments",
      [](nb::handle data, nb::handle result, const char* dtype, std::int64_t ddof, const Device& device) {
        moments(data, result, masu::dtype_from_name(dtype), ddof, device);
      },
      arg("data"), arg("result"), arg("dtype"), arg("ddof"), arg("device"));
  m.def("convert", convert, arg("data"), arg("result"), arg("device"));
  m.def("cumsum", cumsum, arg("data"), arg("result"), arg("rows"), arg("device"));
}

}  // namespace masu_python
