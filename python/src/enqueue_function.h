// SPDX-License-Identifier: Apache-2.0
// What the functions have in common that only enqueue (enqueue.h). What is not plain Python does in the usual way.
// `axis` is None or an int, of what is reduced also a tuple of these; `dtype` None or a dtype in any form; `out` None
// or the array for the result.
#pragma once

#include "enqueue.h"
#include "function.h"
#include "lines.h"

#include <masu/stream.h>

#include <exception>
#include <functional>
#include <memory>
#include <span>

namespace masu_python {

using masu::Buffer;
using masu::Device;
using masu::Dtype;
using masu::Stream;
using masu::Timing;
using Arguments = std::span<PyObject* const>;
using Buffers = std::span<Buffer<std::byte>>;
using Outcome = EnqueuedCall::Outcome;

// What a call comes to: `work(arguments)`, which is run anew when it answers `again`. Null without an exception for
// what is not plain.
struct Answer {
  Outcome outcome = Outcome::not_plain;
  PyObject* result = nullptr;
};

template <Answer (*work)(Arguments)>
PyObject* answered(Arguments arguments) {
  for (;;) {
    const Answer answer = work(arguments);
    if (answer.outcome != Outcome::again) return answer.result;
  }
}

// The same as a function of the module, for calls that Python makes ready: None for what is not plain.
template <Answer (*work)(Arguments)>
PyObject* function(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count) {
  try {
    PyObject* const result = answered<work>({arguments, static_cast<std::size_t>(count)});
    return result != nullptr || PyErr_Occurred() != nullptr ? result : Py_NewRef(Py_None);
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

template <class Calls, class Prepare>
Answer finished(EnqueuedCall& call, const Calls& calls, const Prepare& prepare) {
  if (!call.find()) return {call.record(std::ref(calls), std::ref(prepare)), nullptr};
  const Outcome outcome = call.run();
  return {outcome, outcome == Outcome::done ? call.give() : nullptr};
}

template <class Calls>
Answer finished(EnqueuedCall& call, const Calls& calls) {
  return finished(call, calls, [](const Device&) { return std::shared_ptr<void>(); });
}

inline Library* take(PyObject* array, Tensor& tensor) {
  Library* const library = library_of(Py_TYPE(array));
  return library != nullptr && library->take(array, tensor) ? library : nullptr;
}

// Whether an array is what was taken, after Python has run other threads.
inline bool is_still(PyObject* array, const Tensor& taken) {
  Tensor now;
  return take(array, now) != nullptr && now.data == taken.data && now.count == taken.count &&
         now.dtype == taken.dtype && now.ordinal == taken.ordinal;
}

template <Answer (*work)(Arguments)>
PyMethodDef entry(const char* name) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&function<work>)), METH_FASTCALL, nullptr};
}

}  // namespace masu_python
