// SPDX-License-Identifier: Apache-2.0
// What the files of the extension module share: how each adds its functions, and how a call of masu is made.
#pragma once

#include <nanobind/nanobind.h>

#include <type_traits>
#include <utility>

namespace masu_python {

namespace nb = nanobind;

void register_device(nb::module_& m);
void register_histogram(nb::module_& m);
void register_order(nb::module_& m);
void register_sums(nb::module_& m);
void register_program(nb::module_& m);

// Makes a call of masu without the GIL. masu::Error becomes the exception of Python that its code stands for (see
// module.cpp). `work` must not touch Python; what it captures is made before.
template <class F>
auto call(F&& work) {
  nb::gil_scoped_release released;
  return std::forward<F>(work)();
}

}  // namespace masu_python
