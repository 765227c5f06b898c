// SPDX-License-Identifier: Apache-2.0
// Device memory from and to other libraries: DLPack (https://dmlc.github.io/dlpack) and the plain address that
// __cuda_array_interface__ gives.
#include "arrays.h"
#include "dlpack.h"
#include "enqueue.h"
#include "module.h"

#include <masu/error.h>
#include <masu/stream.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace masu_python {
namespace {

constexpr const char* plain_name = "dltensor";
constexpr const char* plain_used = "used_dltensor";
constexpr const char* versioned_name = "dltensor_versioned";
constexpr const char* versioned_used = "used_dltensor_versioned";

std::uint64_t count_of(const std::vector<std::int64_t>& shape) {
  std::uint64_t count = 1;
  for (const std::int64_t length : shape) {
    if (length < 0) throw nb::value_error("DeviceArray: lengths must be >= 0");
    if (length != 0 && count > (std::uint64_t{1} << 48) / static_cast<std::uint64_t>(length)) {
      throw nb::value_error("DeviceArray: too many elements");
    }
    count *= static_cast<std::uint64_t>(length);
  }
  return count;
}

void check_aligned(const void* address, masu::Dtype dtype) {
  if (reinterpret_cast<std::uintptr_t>(address) % masu::size_of(dtype) == 0) return;
  throw nb::value_error("masu: an array on a device must be aligned to its elements; make a copy of it first");
}

std::int64_t ordinal_of(const masu::Device& device) {
  return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(device.native_device()));
}

constexpr std::uint64_t legacy_stream = 1;  // the driver's names of the default streams: 2 is the thread's own

void* handle_of(std::uint64_t number) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
}

// Waits for what was given to a stream of another library's.
void wait_for_stream(const masu::Device& device, std::uint64_t stream) {
  masu::Stream::wrap(device, handle_of(stream)).finish();
}

// What waits for a stream would end the capture of a graph from it.
void refuse_capture(const masu::Device& device, std::uint64_t stream) {
  if (!masu::Stream::wrap(device, handle_of(stream)).capturing()) return;
  PyErr_SetString(PyExc_RuntimeError,
                  "masu: a CUDA graph is being captured, and this call waits for its stream: make it outside of the "
                  "capture (docs/coming-from-torch-and-cupy.md lists the calls that do not wait)");
  throw nb::python_error();
}

// Masu's calls of this thread run on the stream of the first of the arrays that has one, after what was given to it;
// what was given to other arrays' streams is waited for.
class OnStream {
 public:
  explicit OnStream(nb::handle arrays) {
    const DeviceArray* first = nullptr;
    for (nb::handle each : arrays) {
      const auto& array = nb::cast<const DeviceArray&>(each);
      if (!array.stream) continue;
      const masu::Device device = array.buffer.device();
      if (first == nullptr) {
        first = &array;
        refuse_capture(device, *array.stream);
        scope_.emplace(device, handle_of(*array.stream));
      } else if (array.stream != first->stream || device != first->buffer.device()) {
        call([&] { wait_for_stream(device, *array.stream); });
      }
    }
  }
  void leave() { scope_.reset(); }

 private:
  std::optional<masu::StreamScope> scope_;
};

template <class Tensor>
nb::object taken(nb::handle capsule, const char* name, const char* used) {
  auto* tensor = static_cast<Tensor*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (tensor == nullptr || PyCapsule_SetName(capsule.ptr(), used) != 0) throw nb::python_error();
  return nb::capsule(tensor, [](void* pointer) noexcept {
    auto* held = static_cast<Tensor*>(pointer);
    if (held->deleter != nullptr) held->deleter(held);
  });
}

// What __dlpack__ gave. Its producer's work is on `stream`, where calls on it then run (OnStream); without one, the
// legacy default stream waits for that work, and this for the stream.
void from_dlpack(DeviceArray* self, nb::object capsule, std::optional<std::uint64_t> stream) {
  const dlpack::Array* tensor = nullptr;
  nb::object owner;
  bool read_only = false;
  if (PyCapsule_IsValid(capsule.ptr(), versioned_name)) {
    const auto* versioned = static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule.ptr(), versioned_name));
    if (versioned->version.major != 1) throw nb::buffer_error("from_dlpack: DLPack's version must be 1");
    owner = taken<dlpack::Managed>(capsule, versioned_name, versioned_used);
    tensor = &versioned->array;
    read_only = (versioned->flags & dlpack::flag_read_only) != 0;
  } else if (PyCapsule_IsValid(capsule.ptr(), plain_name)) {
    const auto* plain = static_cast<dlpack::Plain*>(PyCapsule_GetPointer(capsule.ptr(), plain_name));
    owner = taken<dlpack::Plain>(capsule, plain_name, plain_used);
    tensor = &plain->array;
  } else {
    throw nb::type_error("from_dlpack: __dlpack__ must give a capsule that has not been used");
  }
  const bool on_host = tensor->device.device_type == dlpack::host;
  if (!on_host && tensor->device.device_type != dlpack::cuda && tensor->device.device_type != dlpack::cuda_managed) {
    throw nb::type_error("from_dlpack: the memory must be the host's or a CUDA device's");
  }
  bool boolean = false;
  masu::Dtype dtype{};
  if (!dlpack::dtype_of(tensor->dtype, dtype, boolean)) {
    throw nb::type_error("from_dlpack: the dtype must be bool, an integer, bfloat16 or float16 to float64 on a device");
  }
  const std::vector<std::int64_t> shape(tensor->shape, tensor->shape + tensor->ndim);
  const std::uint64_t count = count_of(shape);
  if (count != 0 && !tensor->is_contiguous()) {
    throw nb::value_error("from_dlpack: an array on a device must be C-contiguous; make a contiguous copy of it first");
  }
  auto* address = static_cast<std::byte*>(tensor->data) + tensor->byte_offset;
  if (count != 0) check_aligned(address, dtype);
  const std::int64_t ordinal = tensor->device.device_id;
  auto buffer = call([&] {
    const masu::Device device = on_host ? masu::Device::open("cpu") : cuda_device(ordinal);
    if (count == 0) return masu::Buffer<std::byte>(device, 0);  // its address may be null
    if (!stream && !on_host) wait_for_stream(device, legacy_stream);
    return masu::Buffer<std::byte>::wrap_native(device, address, count * masu::size_of(dtype));
  });
  new (self) DeviceArray{std::move(buffer), dtype, boolean, read_only, shape, std::move(owner), stream};
}

// What DLPack is given, until its consumer releases it.
template <class Tensor>
struct Given {
  Tensor tensor{};
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  nb::object array;
};

template <class Tensor>
nb::object exported(nb::handle self, const DeviceArray& array, const char* name) {
  auto given = std::make_unique<Given<Tensor>>();
  given->shape = array.shape;
  given->strides.resize(array.shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = array.shape.size(); axis-- > 0; stride *= array.shape[axis]) given->strides[axis] = stride;
  given->array = nb::borrow(self);
  Tensor& tensor = given->tensor;
  const bool on_host = array.buffer.device().kind() == masu::DeviceKind::cpu;
  tensor.array = {static_cast<std::byte*>(array.buffer.native()) + array.buffer.byte_offset(),
                  on_host ? dlpack::Device{dlpack::host, 0}
                          : dlpack::Device{dlpack::cuda, static_cast<std::int32_t>(ordinal_of(array.buffer.device()))},
                  static_cast<std::int32_t>(array.shape.size()),
                  dlpack::type_of(array.dtype, array.boolean),
                  given->shape.data(),
                  given->strides.data(),
                  0};
  tensor.context = given.get();
  tensor.deleter = [](Tensor* held) {
    const nb::gil_scoped_acquire acquired;
    delete static_cast<Given<Tensor>*>(held->context);
  };
  if constexpr (requires { tensor.version; }) {
    tensor.version = {1, 0};
    tensor.flags = array.read_only ? dlpack::flag_read_only : 0;
  }
  PyObject* capsule = PyCapsule_New(&tensor, name, [](PyObject* made) {
    const char* now = PyCapsule_GetName(made);  // a consumer that took it over has changed the name
    if (now == nullptr || std::string_view(now).starts_with("used_")) return;
    auto* held = static_cast<Tensor*>(PyCapsule_GetPointer(made, now));
    if (held != nullptr) held->deleter(held);
  });
  if (capsule == nullptr) throw nb::python_error();
  static_cast<void>(given.release());
  return nb::steal(capsule);
}

// Calls of masu on a device have ended when they return, so there is nothing that a consumer's stream must wait for.
nb::object to_dlpack(nb::handle self, bool versioned) {
  const auto& array = nb::cast<const DeviceArray&>(self);
  if (array.buffer.device().kind() == masu::DeviceKind::opencl) {
    throw nb::buffer_error("__dlpack__: the memory must be the host's or a CUDA device's");
  }
  if (array.read_only && !versioned) {
    throw nb::buffer_error("__dlpack__: read-only memory needs a consumer that knows DLPack 1");
  }
  return versioned ? exported<dlpack::Managed>(self, array, versioned_name)
                   : exported<dlpack::Plain>(self, array, plain_name);
}

std::string dtype_name(const DeviceArray& array) {
  return array.boolean ? "bool" : std::string(masu::to_string(array.dtype));
}

}  // namespace

// The device that the driver gives this number. "cuda:N" counts the usable ones. Devices stay open, with their compiled
// kernels, streams and memory; never destroyed, as the driver may be gone when static objects are.
masu::Device cuda_device(std::int64_t ordinal) {
  static auto& mutex = *new std::mutex;
  static auto& opened = *new std::map<std::int64_t, masu::Device>;
  const std::lock_guard lock(mutex);
  if (const auto known = opened.find(ordinal); known != opened.end()) return known->second;
  for (const masu::DeviceInfo& info : masu::Device::list()) {
    if (info.kind != masu::DeviceKind::cuda || !info.usable) continue;
    masu::Device device = masu::Device::open(info.id);
    if (ordinal_of(device) == ordinal) return opened.emplace(ordinal, device).first->second;
  }
  throw masu::Error(masu::ErrorCode::unsupported,
                    "from_dlpack: no usable CUDA device has the number " + std::to_string(ordinal));
}

void register_device_array(nb::module_& m) {
  nb::class_<OnStream>(m, "OnStream")
      .def(nb::init<nb::handle>(), nb::arg("arrays"))
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__exit__", [](OnStream& self, const nb::args& /*exception*/) { self.leave(); });
  using Shape = std::vector<std::int64_t>;
  nb::class_<DeviceArray>(m, "DeviceArray", nb::is_weak_referenceable())
      // New memory, or another library's at an address, which `owner` keeps alive; its work may be under way on
      // `stream`.
      .def(
          "__init__",
          [](DeviceArray* self, const masu::Device& device, const std::string& dtype, const Shape& shape,
             std::optional<std::uint64_t> address, bool read_only, std::optional<std::uint64_t> stream,
             nb::object owner) {
            const masu::Dtype type = masu::dtype_from_name(dtype);
            const std::uint64_t bytes = count_of(shape) * masu::size_of(type);
            void* const there = handle_of(address.value_or(0));
            check_aligned(there, type);
            auto buffer = call([&] {
              return address ? masu::Buffer<std::byte>::wrap_native(device, there, bytes)
                             : masu::Buffer<std::byte>(device, bytes);
            });
            new (self)
                DeviceArray{std::move(buffer), type, dtype == "bool", read_only, shape, std::move(owner), stream};
          },
          nb::arg("device"), nb::arg("dtype"), nb::arg("shape"), nb::arg("address") = nb::none(),
          nb::arg("read_only") = false, nb::arg("stream") = nb::none(), nb::arg("owner") = nb::none())
      .def("__init__", from_dlpack, nb::arg("capsule"), nb::arg("stream") = nb::none())
      // The same memory with another shape, from an element on, and if asked for as elements of another dtype.
      .def(
          "__init__",
          [](DeviceArray* self, const DeviceArray& other, const Shape& shape, nb::object owner, std::uint64_t first,
             const std::optional<std::string>& dtype) {
            const masu::Dtype type = dtype ? masu::dtype_from_name(*dtype) : other.dtype;
            const std::size_t size = masu::size_of(type);
            new (self) DeviceArray{other.buffer.slice(first * size, count_of(shape) * size),
                                   type,
                                   other.boolean && !dtype,
                                   other.read_only,
                                   shape,
                                   std::move(owner),
                                   other.stream};
          },
          nb::arg("array"), nb::arg("shape"), nb::arg("owner"), nb::arg("first") = 0, nb::arg("dtype") = nb::none())
      .def(
          "_dlpack", [](nb::handle self, bool versioned) { return to_dlpack(self, versioned); }, nb::arg("versioned"))
      .def("_write",
           [](DeviceArray& self, nb::handle source) {
             const Input input(source);
             call([&] { self.buffer.write({input.data<std::byte>(), self.buffer.size()}); });
           })
      .def("_read",
           [](const DeviceArray& self, nb::handle target) {
             const Output output(target);
             call([&] { self.buffer.read({output.data<std::byte>(), self.buffer.size()}); });
           })
      .def_prop_ro("_dtype", dtype_name)
      .def_prop_ro("_address",
                   [](const DeviceArray& self) {
                     return reinterpret_cast<std::uintptr_t>(self.buffer.native()) + self.buffer.byte_offset();
                   })
      .def_prop_ro("_stream", [](const DeviceArray& self) { return self.stream; })
      .def_prop_ro("_ordinal", [](const DeviceArray& self) { return ordinal_of(self.buffer.device()); })
      .def_ro("_read_only", &DeviceArray::read_only)
      .def("_overlaps",
           [](const DeviceArray& self, const DeviceArray& other) {
             const masu::Buffer<std::byte>& a = self.buffer;
             const masu::Buffer<std::byte>& b = other.buffer;
             if (a.size() == 0 || b.size() == 0 || a.device() != b.device()) return false;
             // OpenCL's memory has no address but a handle.
             const bool handles = a.device().kind() == masu::DeviceKind::opencl;
             if (handles && a.native() != b.native()) return false;
             const auto begin = [&](const masu::Buffer<std::byte>& buffer) {
               return (handles ? 0 : reinterpret_cast<std::uintptr_t>(buffer.native())) + buffer.byte_offset();
             };
             return begin(a) < begin(b) + b.size() && begin(b) < begin(a) + a.size();
           })
      .def_prop_ro(
          "shape", [](const DeviceArray& self) { return nb::tuple(nb::cast(self.shape)); },
          nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro("device", [](const DeviceArray& self) { return self.buffer.device(); });
}

}  // namespace masu_python
