// SPDX-License-Identifier: Apache-2.0
#include "tensors.h"

#include "elements/dtypes.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace masu_python {
namespace {

constexpr auto capsule_name = "dlpack_exchange_api";

// An integer that is an attribute of an object; false with an exception set.
bool number(PyObject* object, const char* name, std::uint64_t& value) {
  const nb::object attribute = nb::steal(object != nullptr ? PyObject_GetAttrString(object, name) : nullptr);
  if (!attribute) return false;
  value = PyLong_AsUnsignedLongLong(attribute.ptr());
  return PyErr_Occurred() == nullptr;
}

// CuPy's arrays as DLPack's functions have them.
namespace cupy {

PyObject* empty = nullptr;
PyObject* current_stream = nullptr;
PyObject* current_device = nullptr;

// False where the module is not as known.
bool find(PyObject* module) {
  const nb::object cuda = nb::steal(PyObject_GetAttrString(module, "cuda"));
  const nb::object runtime = nb::steal(cuda ? PyObject_GetAttrString(cuda.ptr(), "runtime") : nullptr);
  empty = PyObject_GetAttrString(module, "empty");
  current_stream = cuda ? PyObject_GetAttrString(cuda.ptr(), "get_current_stream") : nullptr;
  current_device = runtime ? PyObject_GetAttrString(runtime.ptr(), "getDevice") : nullptr;
  PyErr_Clear();
  return empty != nullptr && current_stream != nullptr && current_device != nullptr;
}

// An address that is the attribute `ptr` of an object; false with an exception set.
bool address_in(PyObject* object, void*& address) {
  std::uint64_t value = 0;
  if (!number(object, "ptr", value)) return false;
  address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(value));
  return true;
}

// The type of a text as "<f4"; of other byte orders, and of what masu lacks, lanes are 0.
dlpack::Type type_of(std::string_view text) {
  if (text == "|b1") return dlpack::type_of(masu::Dtype::u8, true);
  masu::Dtype dtype{};
  if (text.starts_with('>') || !find_dtype(text.substr(std::min<std::size_t>(1, text.size())), dtype)) return {};
  return dlpack::type_of(dtype, false);
}

int array_of(void* object, dlpack::Array* taken) {
  static std::array<std::int64_t, most_dimensions> lengths;
  auto* const array = static_cast<PyObject*>(object);
  const nb::object memory = nb::steal(PyObject_GetAttrString(array, "data"));
  const nb::object current = nb::steal(PyObject_CallNoArgs(current_device));
  std::uint64_t ordinal = 0;
  if (!address_in(memory.ptr(), taken->data) || !number(memory.ptr(), "device_id", ordinal) || !current) return -1;
  // New arrays come to the current device.
  if (PyLong_AsUnsignedLongLong(current.ptr()) != ordinal) return -1;
  const nb::object flags = nb::steal(PyObject_GetAttrString(array, "flags"));
  const nb::object contiguous = nb::steal(flags ? PyObject_GetAttrString(flags.ptr(), "c_contiguous") : nullptr);
  const nb::object dtype = nb::steal(PyObject_GetAttrString(array, "dtype"));
  const nb::object kind = nb::steal(dtype ? PyObject_GetAttrString(dtype.ptr(), "str") : nullptr);
  const nb::object text = nb::steal(kind ? PyUnicode_AsUTF8String(kind.ptr()) : nullptr);
  const nb::object shape = nb::steal(PyObject_GetAttrString(array, "shape"));
  if (contiguous.ptr() != Py_True || !text || !shape) return -1;
  const Py_ssize_t dimensions = PyTuple_Size(shape.ptr());
  if (dimensions < 0 || static_cast<std::size_t>(dimensions) > most_dimensions) return -1;
  for (Py_ssize_t axis = 0; axis < dimensions; ++axis) {
    lengths[static_cast<std::size_t>(axis)] = PyLong_AsLongLong(PyTuple_GetItem(shape.ptr(), axis));
  }
  taken->device = {dlpack::cuda, static_cast<std::int32_t>(ordinal)};
  taken->ndim = static_cast<std::int32_t>(dimensions);
  taken->dtype = type_of(PyBytes_AsString(text.ptr()));
  taken->shape = lengths.data();
  taken->strides = nullptr;
  taken->byte_offset = 0;
  return PyErr_Occurred() == nullptr ? 0 : -1;
}

// An array that was allocated, until it is given.
struct Made {
  dlpack::Managed managed;
  std::array<std::int64_t, most_dimensions> shape;
  std::int64_t length;  // of the first dimension
};

void drop(dlpack::Managed* managed) {
  Py_DECREF(static_cast<PyObject*>(managed->context));
  delete reinterpret_cast<Made*>(managed);
}

int allocate(dlpack::Array* prototype, dlpack::Managed** managed, void* /*context*/, dlpack::SetError /*set_error*/) {
  const auto dimensions = static_cast<std::size_t>(prototype->ndim);
  const nb::object lengths = nb::steal(PyTuple_New(prototype->ndim));
  for (std::size_t axis = 0; lengths && axis < dimensions; ++axis) {
    PyObject* const length = PyLong_FromLongLong(prototype->shape[axis]);
    if (length == nullptr || PyTuple_SetItem(lengths.ptr(), static_cast<Py_ssize_t>(axis), length) != 0) return -1;
  }
  masu::Dtype dtype{};
  bool boolean = false;
  dlpack::dtype_of(prototype->dtype, dtype, boolean);
  const nb::object name = nb::steal(PyUnicode_InternFromString(boolean ? "?" : numpy_code(dtype)));
  if (!lengths || !name) return -1;
  nb::object array = nb::steal(PyObject_CallFunctionObjArgs(empty, lengths.ptr(), name.ptr(), nullptr));
  const nb::object memory = nb::steal(array ? PyObject_GetAttrString(array.ptr(), "data") : nullptr);
  auto made = std::make_unique<Made>();
  made->managed = {{1, 0}, nullptr, drop, 0, *prototype};
  if (!memory || !address_in(memory.ptr(), made->managed.array.data)) return -1;
  std::copy_n(prototype->shape, dimensions, made->shape.begin());
  made->managed.array.shape = made->shape.data();
  made->length = made->shape[0];
  made->managed.context = array.release().ptr();
  *managed = &made.release()->managed;
  return 0;
}

int object_of(dlpack::Managed* managed, void** object) {
  auto* const array = static_cast<PyObject*>(managed->context);
  const std::int64_t length = managed->array.shape[0];
  const bool is_whole = managed->array.ndim == 0 || length == reinterpret_cast<Made*>(managed)->length;
  *object = is_whole ? Py_NewRef(array) : PySequence_GetSlice(array, 0, length);
  drop(managed);
  return *object != nullptr ? 0 : -1;
}

int stream_now(std::int32_t /*type*/, std::int32_t /*id*/, void** stream) {
  const nb::object current = nb::steal(PyObject_CallNoArgs(current_stream));
  return current && address_in(current.ptr(), *stream) ? 0 : -1;
}

constexpr dlpack::Exchange exchange{{1, 0}, nullptr, allocate, nullptr, object_of, array_of, stream_now};

}  // namespace cupy

// Looks into this type's own dictionary: a derived type inherits the functions, which know nothing of it.
const dlpack::Exchange* exchange_of(PyTypeObject* type) {
  const nb::object own = nb::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dict__"));
  const nb::object capsule = nb::steal(own ? PyMapping_GetItemString(own.ptr(), "__dlpack_c_exchange_api__") : nullptr);
  if (!capsule || PyCapsule_IsValid(capsule.ptr(), capsule_name) == 0) return nullptr;
  const auto* exchange = static_cast<const dlpack::Exchange*>(PyCapsule_GetPointer(capsule.ptr(), capsule_name));
  while (exchange != nullptr && exchange->version.major > 1) exchange = exchange->previous;
  const bool whole = exchange != nullptr && exchange->version.major == 1 && exchange->allocate != nullptr &&
                     exchange->object_of != nullptr && exchange->array_of != nullptr &&
                     exchange->current_stream != nullptr;
  return whole ? exchange : nullptr;
}

std::unique_ptr<Library> found_library(PyTypeObject* type) {
  auto* const of = reinterpret_cast<PyObject*>(type);
  if (const dlpack::Exchange* exchange = exchange_of(type)) {
    const nb::object name = nb::steal(PyObject_GetAttrString(of, "__module__"));
    const nb::object text = nb::steal(name ? PyUnicode_AsUTF8String(name.ptr()) : nullptr);
    const std::string_view whole = text ? PyBytes_AsString(text.ptr()) : "";
    PyObject* const module = PyImport_ImportModule(std::string(whole.substr(0, whole.find('.'))).c_str());
    PyErr_Clear();
    const auto name_of = [of](const char* attribute) {
      return PyObject_HasAttrString(of, attribute) != 0 ? PyUnicode_InternFromString(attribute) : nullptr;
    };
    return std::make_unique<Library>(Library{*exchange, module == nullptr ? Py_NewRef(Py_None) : module,
                                             name_of("requires_grad"), name_of("is_neg")});
  }
  PyErr_Clear();
  const nb::object modules = nb::steal(PyImport_ImportModule("sys"));
  const nb::object loaded = nb::steal(modules ? PyObject_GetAttrString(modules.ptr(), "modules") : nullptr);
  const nb::object cupys = nb::steal(loaded ? PyMapping_GetItemString(loaded.ptr(), "cupy") : nullptr);
  const nb::object array = nb::steal(cupys ? PyObject_GetAttrString(cupys.ptr(), "ndarray") : nullptr);
  PyErr_Clear();
  if (array.ptr() != of || !cupy::find(cupys.ptr())) return nullptr;
  return std::make_unique<Library>(Library{cupy::exchange, Py_NewRef(Py_None), nullptr, nullptr});
}

struct Known {
  PyTypeObject* type;  // kept alive
  std::unique_ptr<Library> library;
};

// Whether an answer is True; it is let go. An exception, which is cleared, is no plain array's.
bool is_true(PyObject* answer) {
  const bool yes = answer == Py_True || PyErr_Occurred() != nullptr;
  PyErr_Clear();
  Py_XDECREF(answer);
  return yes;
}

}  // namespace

bool Library::take(PyObject* array, Tensor& tensor) const {
  dlpack::Array taken;
  if (exchange.array_of(array, &taken) != 0) {
    PyErr_Clear();  // the call in Python raises the error
    return false;
  }
  if (taken.device.device_type != dlpack::cuda || !dlpack::dtype_of(taken.dtype, tensor.dtype, tensor.boolean))
    return false;
  if (taken.ndim < 0 || static_cast<std::size_t>(taken.ndim) > most_dimensions) return false;
  tensor.dimensions = static_cast<std::size_t>(taken.ndim);
  std::copy_n(taken.shape, tensor.dimensions, tensor.shape.begin());
  tensor.ordinal = taken.device.device_id;
  tensor.data = static_cast<std::byte*>(taken.data) + taken.byte_offset;
  if (!tensor.measure() || !taken.is_contiguous()) return false;
  // The memory of a tensor with the negative bit holds the negated values.
  return !is_true(requires_grad != nullptr ? PyObject_GetAttr(array, requires_grad) : nullptr) &&
         !is_true(is_neg != nullptr ? PyObject_VectorcallMethod(is_neg, &array, 1, nullptr) : nullptr);
}

Made::~Made() {
  if (managed_ != nullptr && managed_->deleter != nullptr) managed_->deleter(managed_);
}

bool Made::make(const Library& library, std::int32_t ordinal, masu::Dtype dtype, bool boolean,
                std::span<const std::int64_t> shape) {
  library_ = &library;
  std::array<std::int64_t, most_dimensions> lengths;
  std::array<std::int64_t, most_dimensions> strides;
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) {
    lengths[axis] = shape[axis];
    strides[axis] = stride;
  }
  dlpack::Array prototype{nullptr,
                          {dlpack::cuda, ordinal},
                          static_cast<std::int32_t>(shape.size()),
                          dlpack::type_of(dtype, boolean),
                          lengths.data(),
                          strides.data(),
                          0};
  if (library.exchange.allocate(&prototype, &managed_, library.module, set_error) == 0 && managed_ != nullptr)
    return true;
  if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_MemoryError, "masu: the library gave no memory");
  return false;
}

PyObject* Made::give(std::int64_t length) {
  dlpack::Managed* const managed = std::exchange(managed_, nullptr);
  if (length != whole) managed->array.shape[0] = length;
  void* object = nullptr;
  return library_->exchange.object_of(managed, &object) == 0 ? static_cast<PyObject*>(object) : nullptr;
}

void set_error(void* module, const char* kind, const char* message) {
  const nb::gil_scoped_acquire acquired;
  PyObject* type = nullptr;
  if (std::string_view(message).find("out of memory") != std::string_view::npos) {
    type = PyObject_GetAttrString(static_cast<PyObject*>(module), "OutOfMemoryError");
    PyErr_Clear();
  }
  if (type == nullptr) {
    PyObject* builtins = PyImport_ImportModule("builtins");
    type = builtins != nullptr ? PyObject_GetAttrString(builtins, kind) : nullptr;
    Py_XDECREF(builtins);
    PyErr_Clear();
  }
  if (type == nullptr || !PyExceptionClass_Check(type)) {
    Py_XDECREF(type);
    type = Py_NewRef(PyExc_RuntimeError);
  }
  PyErr_SetString(type, message);
  Py_DECREF(type);
}

bool dlpack::Array::is_contiguous() const noexcept {
  if (strides == nullptr) return true;
  std::int64_t expected = 1;
  for (std::int32_t axis = ndim - 1; axis >= 0; --axis) {
    if (shape[axis] != 1 && strides[axis] != expected) return false;
    expected *= shape[axis];
  }
  return true;
}

bool dlpack::dtype_of(Type type, masu::Dtype& dtype, bool& boolean) noexcept {
  if (type.lanes != 1) return false;
  boolean = type.code == dlpack::boolean && type.bits == 8;
  const masu::DtypeNames* const found = masu::find_dlpack(boolean ? unsigned_integer : type.code, type.bits);
  if (found != nullptr) dtype = found->dtype;
  return found != nullptr;
}

const char* numpy_code(masu::Dtype dtype) noexcept {
  return masu::names_of(masu::arithmetic_dtype(dtype)).numpy_name.data();  // a literal, which ends with 0
}

bool find_dtype(std::string_view code, masu::Dtype& dtype) noexcept {
  const masu::DtypeNames* const found = masu::find_dtype([&](const masu::DtypeNames& each) {
    return !code.empty() && (each.numpy_name.empty() ? each.numpy_words : each.numpy_name) == code;
  });
  if (found != nullptr) dtype = found->dtype;
  return found != nullptr;
}

bool Tensor::measure() {
  constexpr std::uint64_t most = std::uint64_t{1} << 48;
  count = 1;
  for (const std::int64_t length : lengths()) {
    if (length <= 0 || count > most / static_cast<std::uint64_t>(length)) return false;
    count *= static_cast<std::uint64_t>(length);
  }
  return reinterpret_cast<std::uintptr_t>(data) % masu::size_of(dtype) == 0;
}

const Library* library_of(PyTypeObject* type) {
  static auto& known = *new std::vector<Known>;  // never destroyed: Python may be gone
  for (const Known& one : known) {
    if (one.type == type) return one.library.get();
  }
  constexpr std::size_t most_types = 64;  // a program that makes ever new types looks each time
  std::unique_ptr<Library> library = found_library(type);
  if (library == nullptr && known.size() >= most_types) return nullptr;
  Py_INCREF(reinterpret_cast<PyObject*>(type));
  return known.emplace_back(Known{type, std::move(library)}).library.get();
}

bool integer(PyObject* object, std::int64_t& value) {
  if (PyLong_CheckExact(object) == 0) return false;
  value = PyLong_AsLongLong(object);
  if (PyErr_Occurred() == nullptr) return true;
  PyErr_Clear();
  return false;
}

bool plain_number(PyObject* object, double& value, bool& is_int) {
  is_int = PyLong_CheckExact(object) != 0;
  if (!is_int && PyFloat_CheckExact(object) == 0) return false;
  value = PyFloat_AsDouble(object);
  if (PyErr_Occurred() != nullptr) {  // an int that is too great
    PyErr_Clear();
    return false;
  }
  constexpr double most_exact = 9007199254740991;
  const double most = is_int ? most_exact : std::numeric_limits<double>::max();
  return -most <= value && value <= most;
}

namespace {

// Which axes the tuple names, a bit for each; 0 for what is not plain.
std::uint32_t axes_of(PyObject* axis, std::int64_t dimensions) {
  std::uint32_t axes = 0;
  const Py_ssize_t count = PyTuple_Size(axis);
  for (Py_ssize_t i = 0; i < count; ++i) {
    std::int64_t number = 0;
    if (!integer(PyTuple_GetItem(axis, i), number) || number < -dimensions || number >= dimensions) return 0;
    const std::uint32_t bit = std::uint32_t{1} << (number < 0 ? number + dimensions : number);
    if ((axes & bit) != 0) return 0;
    axes |= bit;
  }
  return axes;
}

}  // namespace

bool lines_of(std::span<const std::int64_t> shape, PyObject* axis, Lines& lines, bool several) {
  if (axis == Py_None) return lines.find_all(shape);
  if (shape.size() > most_dimensions) return false;
  const auto dimensions = static_cast<std::int64_t>(shape.size());
  std::uint32_t axes = 0;
  std::int64_t number = -1;
  if (several && axis != nullptr && PyTuple_CheckExact(axis) != 0) {
    axes = axes_of(axis, dimensions);
  } else if ((axis == nullptr || integer(axis, number)) && number >= -dimensions && number < dimensions) {
    axes = std::uint32_t{1} << (number < 0 ? number + dimensions : number);
  }
  return axes != 0 && lines.find(shape, axes);
}

bool HostLines::find(PyObject* object, PyObject* axis) {
  array = numpy_array(object);
  if (array == nullptr || array->dimensions == 0 || !dtype_of(*array, dtype)) return false;
  count = array->count();
  return count != 0 && lines_of(array->shape(), axis, lines);
}

}  // namespace masu_python
