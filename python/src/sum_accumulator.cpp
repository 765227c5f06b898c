// SPDX-License-Identifier: Apache-2.0
// Exact sums of data that comes in pieces; python/masu/_sum_accumulator.py brings arrays into this shape.
#include "arrays.h"
#include "module.h"

#include <masu/sum.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace masu_python {
namespace {

using masu::Device;
using masu::SumKind;

SumKind kind_from_name(const std::string& name) {
  if (name == "sum") return SumKind::sum;
  if (name == "squares") return SumKind::squares;
  if (name == "dot") return SumKind::dot;
  throw masu::Error(masu::ErrorCode::invalid_argument,
                    "SumAccumulator: kind must be 'sum', 'squares' or 'dot', got '" + name + "'");
}

// Calls run without the GIL, so that threads of Python may come at once.
class Accumulator {
 public:
  Accumulator(const std::string& dtype, const std::string& kind, const Device& device)
      : sums_(device, masu::dtype_from_name(dtype), kind_from_name(kind)) {}
  Accumulator(const Device& device, std::span<const std::byte> bytes)
      : sums_(masu::SumAccumulator::from_bytes(device, bytes)) {}
  explicit Accumulator(masu::SumAccumulator sums) : sums_(std::move(sums)) {}

  // `integers`: as integers() of accumulators of this dtype and kind gives them.
  [[nodiscard]] Accumulator* with_integers(nb::handle integers) const {
    const Input in(integers);
    return call([&] {
      const std::lock_guard lock(mutex_);
      const std::span values(static_cast<const std::int64_t*>(in.view().data), in.view().count);
      return new Accumulator(
          masu::SumAccumulator::from_integers(Device::open("cpu"), sums_.dtype(), sums_.kind(), values));
    });
  }

  void add(nb::handle x) {
    const Input in(x);
    call([&] {
      const std::lock_guard lock(mutex_);
      if (in.on_device()) sums_.add_buffer(in.buffer(), in.dtype());
      else sums_.add(in.view());
    });
  }
  void add_products(nb::handle x, nb::handle y) {
    const Input left(x);
    const Input right(y);
    if (left.on_device() != right.on_device()) {
      throw masu::Error(masu::ErrorCode::invalid_argument, "SumAccumulator: x and y must both be on the device");
    }
    call([&] {
      const std::lock_guard lock(mutex_);
      if (left.on_device()) sums_.add_buffers(left.buffer(), right.buffer(), left.dtype());
      else sums_.add(left.view(), right.view());
    });
  }
  void merge(const Accumulator& other) {
    call([&] {
      const masu::SumAccumulator added = other.copy();
      const std::lock_guard lock(mutex_);
      sums_.merge(added);
    });
  }
  [[nodiscard]] nb::bytes bytes() const {
    const std::vector<std::byte> found = call([&] {
      const std::lock_guard lock(mutex_);
      return sums_.bytes();
    });
    return nb::bytes(found.data(), found.size());
  }
  [[nodiscard]] nb::bytes integers() const {
    const std::vector<std::int64_t> found = call([&] {
      const std::lock_guard lock(mutex_);
      return sums_.integers();
    });
    return nb::bytes(found.data(), found.size() * sizeof(std::int64_t));
  }
  // The result of the name, as a number.
  [[nodiscard]] nb::object result(const std::string& name, const std::string& dtype, std::uint64_t ddof) const {
    const masu::Dtype rounded = masu::dtype_from_name(dtype);
    const masu::SumResult found = call([&] {
      const std::lock_guard lock(mutex_);
      if (name == "sum") return sums_.sum(rounded);
      if (name == "dot") return sums_.dot(rounded);
      if (name == "mean") return sums_.mean(rounded);
      if (name == "norm2") return sums_.norm2(rounded);
      if (name == "var") return sums_.variance(ddof, rounded);
      return sums_.standard_deviation(ddof, rounded);
    });
    if (found.dtype() == masu::Dtype::i64) return nb::int_(found.signed_integer());
    if (found.dtype() == masu::Dtype::u64) return nb::int_(found.unsigned_integer());
    return nb::float_(found.value());
  }
  [[nodiscard]] std::uint64_t count() const {
    return call([&] {
      const std::lock_guard lock(mutex_);
      return sums_.count();
    });
  }
  [[nodiscard]] std::string dtype() const { return std::string(masu::to_string(sums_.dtype())); }
  [[nodiscard]] std::string kind() const {
    return sums_.kind() == SumKind::sum ? "sum" : sums_.kind() == SumKind::dot ? "dot" : "squares";
  }

 private:
  [[nodiscard]] masu::SumAccumulator copy() const {
    const std::lock_guard lock(mutex_);
    return masu::SumAccumulator::from_bytes(Device::open("cpu"), sums_.bytes());
  }

  mutable std::mutex mutex_;
  masu::SumAccumulator sums_;
};

}  // namespace

void register_sum_accumulator(nb::module_& m) {
  using nb::arg;
  nb::class_<Accumulator>(m, "SumAccumulator")
      .def(nb::init<const std::string&, const std::string&, const Device&>(), arg("dtype"), arg("kind"), arg("device"))
      .def_static(
          "from_bytes",
          [](nb::bytes bytes, const Device& device) {
            return new Accumulator(device, {static_cast<const std::byte*>(bytes.data()), bytes.size()});
          },
          arg("bytes"), arg("device"))
      .def("add", &Accumulator::add, arg("x"))
      .def("add_products", &Accumulator::add_products, arg("x"), arg("y"))
      .def("merge", &Accumulator::merge, arg("other"))
      .def("bytes", &Accumulator::bytes)
      .def("integers", &Accumulator::integers)
      .def("with_integers", &Accumulator::with_integers, arg("integers"))
      .def("result", &Accumulator::result, arg("name"), arg("dtype"), arg("ddof"))
      .def("count", &Accumulator::count)
      .def("dtype", &Accumulator::dtype)
      .def("kind", &Accumulator::kind);
}

}  // namespace masu_python
