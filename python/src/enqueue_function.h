// SPDX-License-Identifier: Apache-2.0
// What the functions have in common that only enqueue (enqueue.h). Each returns None for what is not plain, which
// Python then does in the usual way: enqueue_sort(a, axis, …) and so on. `axis` is None or an int, of what is reduced
// also a tuple of these; `dtype` None or NumPy's code, "f4"; `out` None or the array for the result.
#pragma once

#include "enqueue.h"
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

// A function of the module: `work(arguments)` is run anew when it answers `again`, with null.
struct Answer {
  Outcome outcome = Outcome::not_plain;
  PyObject* result = nullptr;
};

template <Answer (*work)(Arguments)>
PyObject* function(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count) {
  try {
    for (;;) {
      const Answer answer = work({arguments, static_cast<std::size_t>(count)});
      if (answer.outcome == Outcome::not_plain) return Py_NewRef(Py_None);
      if (answer.outcome != Outcome::again) return answer.result;
    }
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

template <Answer (*work)(Arguments)>
PyMethodDef entry(const char* name) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&function<work>)), METH_FASTCALL, nullptr};
}

}  // namespace masu_python
