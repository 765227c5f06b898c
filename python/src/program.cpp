// SPDX-License-Identifier: Apache-2.0
#include "arrays.h"
#include "module.h"

#include <masu/program.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace masu_python {
namespace {

using masu::KernelArgument;
using masu::KernelParameter;

std::string kind_of(const KernelParameter& parameter) {
  switch (parameter.kind) {
    case KernelParameter::Kind::buffer: return "buffer";
    case KernelParameter::Kind::value: return "value";
    case KernelParameter::Kind::local: return "local";
    case KernelParameter::Kind::other: break;
  }
  return "other";
}

// An argument as the package prepares it: a DeviceArray, the bytes of local memory as an int, or the elements of a
// value as a host array.
KernelArgument argument_from(nb::handle given) {
  if (nb::isinstance<DeviceArray>(given)) {
    const auto& array = nb::cast<const DeviceArray&>(given);
    return {array.buffer, masu::ArgumentType{array.dtype, 1}};
  }
  if (PyLong_Check(given.ptr())) return masu::LocalMemory{nb::cast<std::size_t>(given)};
  const Input input(given);
  const auto width = static_cast<std::uint8_t>(input.count() > 16 ? 0 : input.count());
  return KernelArgument::value({input.dtype(), width}, input.view().data);
}

// Runs the kernel and waits for it; the seconds that it took on the device.
double launch(masu::Kernel& kernel, const masu::Device& device, const std::vector<std::size_t>& global,
              const std::vector<std::size_t>& local, nb::list given) {
  std::vector<KernelArgument> arguments;
  for (nb::handle each : given) arguments.push_back(argument_from(each));
  return call([&] {
    masu::Stream stream(device);
    const masu::Event event = kernel.launch(stream, masu::NDRange::of(global, local), arguments);
    stream.finish();
    return event.seconds();
  });
}

}  // namespace

void register_program(nb::module_& m) {
  nb::class_<KernelParameter>(m, "KernelParameter",
                              "What a kernel says of one of its parameters, as far as it is known.")
      .def_prop_ro("kind", kind_of, "\"buffer\", \"value\", \"local\" or \"other\"")
      .def_ro("type", &KernelParameter::type, "as the source has it; empty when it is not known")
      .def_ro("name", &KernelParameter::name)
      .def_ro("bytes", &KernelParameter::bytes)
      .def("__repr__", [](const KernelParameter& self) { return self.type + " " + self.name; });
  nb::class_<masu::Kernel>(m, "Kernel")
      .def_prop_ro("name", &masu::Kernel::name)
      .def_prop_ro("parameters", &masu::Kernel::parameters)
      .def_prop_ro("max_work_group_size", &masu::Kernel::max_work_group_size)
      .def("launch", launch, nb::arg("device"), nb::arg("global_size"), nb::arg("local_size"), nb::arg("arguments"));
  nb::class_<masu::Program>(m, "Program")
      .def_static(
          "from_source",
          [](const masu::Device& device, const std::string& source, const std::string& options) {
            return call([&] { return masu::Program::from_source(device, source, options); });
          },
          nb::arg("device"), nb::arg("source"), nb::arg("options"))
      .def(
          "kernel", [](const masu::Program& self, const std::string& name) { return self.kernel(name); },
          nb::arg("name"))
      .def_prop_ro("kernel_names", &masu::Program::kernel_names)
      .def_prop_ro("log", &masu::Program::log);
}

}  // namespace masu_python
