// SPDX-License-Identifier: Apache-2.0
// Devices, and programs of the caller's that run on them.
#include "arrays.h"
#include "module.h"

#include <masu/device.h>
#include <masu/program.h>
#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <limits>

namespace masu_python {
namespace {

template <class T>
auto text_of(T masu::DeviceInfo::*field) {
  return [field](const masu::Device& device) { return device.info().*field; };
}

std::string kind_of(const masu::DeviceInfo& info) {
  return std::string(masu::to_string(info.kind));
}

std::string text_of_info(const masu::DeviceInfo& info) {
  std::string text = "<" + info.id + ": " + info.name;
  if (!info.usable) text += ", not usable: " + info.why;
  return text + ">";
}

void add_info(nb::module_& m) {
  using Info = masu::DeviceInfo;
  nb::class_<Info>(m, "DeviceInfo", "What a device says of itself; one that cannot be used says why.")
      .def_prop_ro("kind", kind_of, "\"cpu\", \"opencl\" or \"cuda\"")
      .def_ro("id", &Info::id, "what masu.Device takes")
      .def_ro("name", &Info::name)
      .def_ro("vendor", &Info::vendor)
      .def_ro("driver", &Info::driver)
      .def_ro("architecture", &Info::architecture)
      .def_ro("usable", &Info::usable)
      .def_ro("why", &Info::why, "why it is not usable; empty otherwise")
      .def_ro("gpu", &Info::gpu)
      .def_ro("fp64", &Info::fp64)
      .def_ro("memory_bytes", &Info::memory_bytes)
      .def_ro("local_bytes", &Info::local_bytes, "local (shared) memory of a work-group")
      .def_ro("max_allocation_bytes", &Info::max_allocation_bytes)
      .def_ro("compute_units", &Info::compute_units)
      .def_ro("max_work_group_size", &Info::max_work_group_size)
      .def_ro("warp_size", &Info::warp_size)
      .def("__repr__", text_of_info);
}

using masu::KernelArgument;
using masu::KernelParameter;

std::string parameter_kind(const KernelParameter& parameter) {
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

void register_device(nb::module_& m) {
  using masu::Device;
  add_info(m);
  nb::class_<Device>(
      m, "Device",
      "A device: \"cpu\", \"opencl:0\", \"cuda\", a part of a name as in \"opencl:NVIDIA\", or \"auto\", "
      "the best one present.\n\nRaises ValueError for a name of no known form, TypeError where no such "
      "usable device is present.")
      .def(
          "__init__",
          [](Device* self, const std::string& id) {
            // Not by call(): importing the package opens the CPU, and reads nothing of the environment.
            if (id != "cpu") read_environment();
            Device device = [&] {
              const nb::gil_scoped_release released;
              const Stoppable stoppable;
              return Device::open(id);
            }();
            new (self) Device(std::move(device));
          },
          nb::arg("id"))
      .def_prop_ro("info", &Device::info, nb::rv_policy::copy)
      .def_prop_ro(
          "kind", [](const Device& self) { return kind_of(self.info()); }, "\"cpu\", \"opencl\" or \"cuda\"")
      .def_prop_ro("id", text_of(&masu::DeviceInfo::id))
      .def_prop_ro("name", text_of(&masu::DeviceInfo::name))
      .def_prop_ro("memory_bytes", text_of(&masu::DeviceInfo::memory_bytes))
      .def(
          "synchronize", [](const Device& self) { call([&] { self.synchronize(); }); },
          "Waits until everything that was given to this device has run.")
      .def(
          "trim", [](const Device& self) { call([&] { self.trim(); }); },
          "Frees the memory that is kept of arrays which are gone: on CUDA up to a sixteenth of the device's.")
      .def(
          "__eq__", [](const Device& self, const Device& other) { return self == other; }, nb::is_operator(),
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const Device& self) { return std::hash<const void*>{}(self.implementation().get()); })
      .def("__repr__", [](const Device& self) { return "masu.Device(\"" + self.id() + "\")"; });
  m.def(
      "devices", [] { return call([] { return Device::list(); }); },
      "Every device that there is, the CPU first, as a list of DeviceInfo. Loads the libraries of the GPUs.");
  m.def(
      "set_cpu_threads",
      [](std::int64_t threads) {
        if (threads < 0) {
          throw nb::value_error(
              ("set_cpu_threads: threads must be at least 0, got " + std::to_string(threads)).c_str());
        }
        constexpr std::int64_t most = std::numeric_limits<unsigned>::max();
        masu::set_cpu_threads(static_cast<unsigned>(std::min(threads, most)));
      },
      nb::arg("threads"), "Limits the CPU threads that masu uses; 0 returns to the default.");
  m.def("cpu_threads", &masu::cpu_threads, "The CPU threads that a call started now would use.");
}

void register_program(nb::module_& m) {
  nb::class_<KernelParameter>(m, "KernelParameter",
                              "What a kernel says of one of its parameters, as far as it is known.")
      .def_prop_ro("kind", parameter_kind, "\"buffer\", \"value\", \"local\" or \"other\"")
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
