// SPDX-License-Identifier: Apache-2.0
// Exact sums of data that comes in pieces; python/masu/_sum_accumulator.py brings arrays into this shape.
#include "held_state.h"

#include <masu/sum.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

namespace masu_python {
namespace {

using masu::Device;
using masu::SumAccumulator;
using masu::SumKind;
using Sums = Held<SumAccumulator>;

SumKind kind_from_name(const std::string& name) {
  if (name == "sum") return SumKind::sum;
  if (name == "squares") return SumKind::squares;
  if (name == "dot") return SumKind::dot;
  throw masu::Error(masu::ErrorCode::invalid_argument,
                    "SumAccumulator: kind must be 'sum', 'squares' or 'dot', got '" + name + "'");
}

void add_products(Sums& sums, nb::handle x, nb::handle y) {
  const Input left(x);
  const Input right(y);
  if (left.on_device() != right.on_device()) {
    throw masu::Error(masu::ErrorCode::invalid_argument, "SumAccumulator: x and y must both be on the device");
  }
  sums.with([&](SumAccumulator& state) {
    if (left.on_device()) state.add_buffers(left.buffer(), right.buffer(), left.dtype());
    else state.add(left.view(), right.view());
  });
}

// The result of the name, as a number.
nb::object result(const Sums& sums, const std::string& name, const std::string& dtype, std::uint64_t ddof) {
  const masu::Dtype rounded = masu::dtype_from_name(dtype);
  const masu::SumResult found = sums.with([&](const SumAccumulator& state) {
    if (name == "sum") return state.sum(rounded);
    if (name == "dot") return state.dot(rounded);
    if (name == "mean") return state.mean(rounded);
    if (name == "norm2") return state.norm2(rounded);
    if (name == "var") return state.variance(ddof, rounded);
    return state.standard_deviation(ddof, rounded);
  });
  if (found.dtype() == masu::Dtype::i64) return nb::int_(found.signed_integer());
  if (found.dtype() == masu::Dtype::u64) return nb::int_(found.unsigned_integer());
  return nb::float_(found.value());
}

std::string kind_of(const Sums& sums) {
  const SumKind kind = sums.with([](const SumAccumulator& state) { return state.kind(); });
  return kind == SumKind::sum ? "sum" : kind == SumKind::dot ? "dot" : "squares";
}

}  // namespace

void register_sum_accumulator(nb::module_& m) {
  using nb::arg;
  define_sum_state<SumAccumulator>(m, "SumAccumulator")
      .def(
          "__init__",
          [](Sums* self, const std::string& dtype, const std::string& kind, const Device& device) {
            new (self) Sums(SumAccumulator(device, masu::dtype_from_name(dtype), kind_from_name(kind)));
          },
          arg("dtype"), arg("kind"), arg("device"))
      .def("add", &Sums::add, arg("x"))
      .def("add_products", add_products, arg("x"), arg("y"))
      .def("result", result, arg("name"), arg("dtype"), arg("ddof"))
      .def("count", [](const Sums& sums) { return sums.with([](const SumAccumulator& s) { return s.count(); }); })
      .def("dtype",
           [](const Sums& sums) {
             return sums.with([](const SumAccumulator& s) { return std::string(masu::to_string(s.dtype())); });
           })
      .def("kind", kind_of);
}

}  // namespace masu_python
