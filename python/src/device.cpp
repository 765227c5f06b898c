// SPDX-License-Identifier: Apache-2.0
#include "arrays.h"
#include "module.h"

#include <masu/device.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace masu_python {

void register_device(nb::module_& m) {
  nb::class_<masu::Device>(m, "Device", nb::is_weak_referenceable())
      .def_prop_ro("id", [](const masu::Device& device) { return device.id(); })
      .def_prop_ro("kind", [](const masu::Device& device) { return std::string(masu::to_string(device.kind())); });
  m.def(
      "open_device", [](const std::string& id) { return call([&] { return masu::Device::open(id); }); }, nb::arg("id"));
  m.def("set_cpu_threads", &masu::set_cpu_threads, nb::arg("threads"));
  m.def("cpu_threads", &masu::cpu_threads);

  nb::class_<DeviceArray>(m, "DeviceArray")
      .def_prop_ro("shape", [](const DeviceArray& array) { return nb::tuple(nb::cast(array.shape)); })
      .def_prop_ro("device", [](const DeviceArray& array) { return array.buffer.device(); });
}

}  // namespace masu_python
