// SPDX-License-Identifier: Apache-2.0
// The lines of a tensor, or of an array of NumPy's, along which a call works, as Python names them.
#pragma once

#include "arrays.h"
#include "call/lines.h"
#include "module.h"
#include "transpose/strided.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/stream.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace masu_python {

using masu::call::Lines;
inline constexpr std::size_t most_dimensions = Lines::most_dimensions;

// The value of an int of Python's; false for another object, and for an int that is too large.
bool integer(PyObject* object, std::int64_t& value);
// The value of an int or a float, and which it is; false for another object, NaN, and what a double does not hold.
bool plain_number(PyObject* object, double& value, bool& is_int);

// `axis`: None, an int, null for the last axis, or, with `several`, a tuple of ints. False for what is not plain.
bool lines_of(std::span<const std::int64_t> shape, PyObject* axis, Lines& lines, bool several = false);

// The lines of an array of NumPy's, of a dtype that masu has, with elements and dimensions.
struct HostLines {
  const NumpyArray* array = nullptr;
  masu::Dtype dtype{};
  std::uint64_t count = 0;  // of the elements
  Lines lines;

  // False for all else; `axis` as lines_of() has it.
  bool find(PyObject* object, PyObject* axis);
  // The elements of a plain array.
  [[nodiscard]] masu::ArrayView elements() const { return {dtype, array->data, count}; }
};

// Calls work(stream) of the device on which `input` is, and waits for it.
template <class F>
void on_stream(const Input& input, const F& work) {
  masu::Stream stream(input.buffer().device(), masu::Timing::off);
  work(stream);
  stream.finish();
}

// The same without the GIL.
template <class F>
void call_there(const Input& input, const F& work) {
  call([&] { on_stream(input, work); });
}

inline const masu::Device& this_cpu() {
  static const masu::Device& cpu = *new masu::Device(masu::Device::open("cpu"));
  return cpu;
}

}  // namespace masu_python
