// SPDX-License-Identifier: Apache-2.0
#include "arrays.h"
#include "module.h"

#include <masu/sort.h>

namespace masu_python {
namespace {

void sort(nb::handle data, nb::handle result, std::uint64_t rows, const masu::Device& device) {
  const Input input(data);
  const Output output(result);
  call([&] {
    const masu::SortOptions options{.rows = rows};
    if (input.on_device()) masu::sort(input.buffer(), input.dtype(), output.buffer(), options);
    else masu::sort(device, input.view(), output.view(), options);
  });
}

}  // namespace

void register_order(nb::module_& m) {
  m.def("sort", sort, nb::arg("data"), nb::arg("result"), nb::arg("rows"), nb::arg("device"));
}

}  // namespace masu_python
