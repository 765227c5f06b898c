// SPDX-License-Identifier: Apache-2.0
// What the files of the extension module share: how each adds its functions, and how a call of masu is made.
#pragma once

#include "runtime/progress.h"

#include <masu/error.h>
#include <masu/interrupt.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace masu_python {

namespace nb = nanobind;

// Each adds the functions and classes of a file.
using Register = void(nb::module_& m);
Register register_device, register_digits, register_device_array, register_quantiles, register_bincount, register_bins,
    register_histogram, register_order, register_states, register_sums, register_program, register_functions,
    register_io;

// Puts the exception of Python in force that stands for masu's. With the GIL.
void set_exception(const masu::Error& error);

// While it lives, Ctrl-C ends masu's calls of this thread: handlers of signals run between two parts of the work, as
// Python runs them in its main thread only. Made without the GIL.
class Stoppable {
 public:
  Stoppable();
  ~Stoppable();
  Stoppable(const Stoppable&) = delete;
  Stoppable& operator=(const Stoppable&) = delete;

 private:
  masu::InterruptScope scope_;
  std::optional<masu::runtime::Progress> progress_;  // for who wants to know
};

// Reads the environment, once, while no other thread of Python's can be writing the environment. With the GIL.
void read_environment();

// Makes a call of masu without the GIL, stoppable. masu::Error becomes the exception of Python that its code stands for
// (see module.cpp). `work` must not touch Python; what it captures is made before.
template <class F>
auto call(F&& work) {
  read_environment();
  const nb::gil_scoped_release released;
  const Stoppable stoppable;
  return std::forward<F>(work)();
}

// The same of work on so many elements in host memory: where they are few it is over soon, and the GIL is kept.
template <class F>
auto brief_call(std::uint64_t count, F&& work) {
  constexpr std::uint64_t few = 16384;
  return count <= few ? std::forward<F>(work)() : call(std::forward<F>(work));
}

}  // namespace masu_python
