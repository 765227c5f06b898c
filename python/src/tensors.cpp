// SPDX-License-Identifier: Apache-2.0
#include "tensors.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace masu_python {
namespace {

// DLPack 1.x in C, as https://dmlc.github.io/dlpack declares it.
namespace dlpack {

constexpr std::int32_t cuda = 2;
enum Code : std::uint8_t { signed_integer = 0, unsigned_integer = 1, floating = 2, boolean = 6 };

struct Device {
  std::int32_t type;
  std::int32_t id;
};
struct Type {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct Array {
  void* data;
  Device device;
  std::int32_t ndim;
  Type dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null where they are contiguous
  std::uint64_t byte_offset;
};
struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};
struct Managed {
  Version version;
  void* context;
  void (*deleter)(Managed*);
  std::uint64_t flags;
  Array array;
};
using SetError = void (*)(void*, const char* kind, const char* message);

// What a type has as __dlpack_c_exchange_api__. 0 is success.
struct Exchange {
  Version version;
  Exchange* previous;  // of an older version
  int (*allocate)(Array* prototype, Managed** made, void* context, SetError set_error);
  int (*managed_of)(void* object, Managed** managed);
  int (*object_of)(Managed* managed, void** object);
  int (*array_of)(void* object, Array* array);  // borrowed; may be null
  int (*current_stream)(std::int32_t type, std::int32_t id, void** stream);
};

}  // namespace dlpack

// By masu::Dtype.
constexpr std::array<const char*, 11> codes = {"u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"};

constexpr auto capsule_name = "dlpack_exchange_api";

bool dtype_of(dlpack::Type type, Tensor& tensor) {
  using masu::Dtype;
  if (type.lanes != 1) return false;
  tensor.boolean = type.code == dlpack::boolean && type.bits == 8;
  if (tensor.boolean) {
    tensor.dtype = Dtype::u8;
    return true;
  }
  const auto one_of = [&](Dtype of8, Dtype of16, Dtype of32, Dtype of64) {
    switch (type.bits) {
      case 8: tensor.dtype = of8; return true;
      case 16: tensor.dtype = of16; return true;
      case 32: tensor.dtype = of32; return true;
      case 64: tensor.dtype = of64; return true;
      default: return false;
    }
  };
  switch (type.code) {
    case dlpack::signed_integer: return one_of(Dtype::i8, Dtype::i16, Dtype::i32, Dtype::i64);
    case dlpack::unsigned_integer: return one_of(Dtype::u8, Dtype::u16, Dtype::u32, Dtype::u64);
    case dlpack::floating: return type.bits != 8 && one_of(Dtype::f16, Dtype::f16, Dtype::f32, Dtype::f64);
    default: return false;
  }
}

dlpack::Type type_of(masu::Dtype dtype, bool boolean) {
  const std::uint8_t code = boolean                  ? dlpack::boolean
                            : masu::is_float(dtype)  ? dlpack::floating
                            : masu::is_signed(dtype) ? dlpack::signed_integer
                                                     : dlpack::unsigned_integer;
  return {code, static_cast<std::uint8_t>(8 * masu::size_of(dtype)), 1};
}

// Puts the exception that an allocator names in force: of the library where it has one of its own for full memory.
void set_error(void* library, const char* kind, const char* message) {
  const nb::gil_scoped_acquire acquired;
  PyObject* type = nullptr;
  if (std::string_view(message).find("out of memory") != std::string_view::npos) {
    type = PyObject_GetAttrString(static_cast<PyObject*>(library), "OutOfMemoryError");
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

// A library whose type has DLPack's functions: PyTorch from 2.10 on.
class ExchangeLibrary final : public Library {
 public:
  ExchangeLibrary(const dlpack::Exchange& exchange, PyTypeObject* type) : exchange_(exchange) {
    auto* of = reinterpret_cast<PyObject*>(type);
    if (PyObject* name = PyObject_GetAttrString(of, "__module__")) {
      if (PyObject* text = PyUnicode_AsUTF8String(name)) {
        const std::string_view whole = PyBytes_AsString(text);
        module_ = PyImport_ImportModule(std::string(whole.substr(0, whole.find('.'))).c_str());
        Py_DECREF(text);
      }
      Py_DECREF(name);
    }
    PyErr_Clear();
    if (module_ == nullptr) module_ = Py_NewRef(Py_None);
    const auto name_of = [of](const char* name) {
      return PyObject_HasAttrString(of, name) != 0 ? PyUnicode_InternFromString(name) : nullptr;
    };
    requires_grad_ = name_of("requires_grad");
    is_neg_ = name_of("is_neg");
  }

  bool take(PyObject* array, Tensor& tensor) override {
    dlpack::Array taken;
    if (exchange_.array_of(array, &taken) != 0) {
      PyErr_Clear();  // what is wrong with it is told where it is taken in the usual way
      return false;
    }
    if (taken.device.type != dlpack::cuda || !dtype_of(taken.dtype, tensor)) return false;
    if (taken.ndim < 0 || static_cast<std::size_t>(taken.ndim) > most_dimensions) return false;
    tensor.dimensions = static_cast<std::size_t>(taken.ndim);
    std::copy_n(taken.shape, tensor.dimensions, tensor.shape.begin());
    tensor.ordinal = taken.device.id;
    tensor.data = static_cast<std::byte*>(taken.data) + taken.byte_offset;
    if (!tensor.measure() || !is_contiguous(taken)) return false;
    // The memory of a tensor with the negative bit holds the negated values.
    return !is_true(requires_grad_ != nullptr ? PyObject_GetAttr(array, requires_grad_) : nullptr) &&
           !is_true(is_neg_ != nullptr ? PyObject_VectorcallMethod(is_neg_, &array, 1, nullptr) : nullptr);
  }

  bool stream(std::int32_t ordinal, void*& handle) override {
    return exchange_.current_stream(dlpack::cuda, ordinal, &handle) == 0;
  }

 private:
  void* make(std::int32_t ordinal, masu::Dtype dtype, bool boolean, std::span<const std::int64_t> shape,
             void*& data) override {
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
                            type_of(dtype, boolean),
                            lengths.data(),
                            strides.data(),
                            0};
    dlpack::Managed* managed = nullptr;
    if (exchange_.allocate(&prototype, &managed, module_, set_error) != 0 || managed == nullptr) {
      if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_MemoryError, "masu: the library gave no memory");
      return nullptr;
    }
    data = static_cast<std::byte*>(managed->array.data) + managed->array.byte_offset;
    return managed;
  }
  PyObject* give(void* made, std::int64_t length) override {
    auto* const managed = static_cast<dlpack::Managed*>(made);
    if (length != Made::whole) managed->array.shape[0] = length;
    void* object = nullptr;
    return exchange_.object_of(managed, &object) == 0 ? static_cast<PyObject*>(object) : nullptr;
  }
  void drop(void* made) noexcept override {
    auto* const managed = static_cast<dlpack::Managed*>(made);
    if (managed->deleter != nullptr) managed->deleter(managed);
  }

  static bool is_contiguous(const dlpack::Array& array) {
    if (array.strides == nullptr) return true;
    std::int64_t expected = 1;
    for (std::int32_t axis = array.ndim - 1; axis >= 0; --axis) {
      if (array.shape[axis] != 1 && array.strides[axis] != expected) return false;
      expected *= array.shape[axis];
    }
    return true;
  }

  // Whether an answer is True; it is let go. An exception, which is cleared, is no plain array's.
  static bool is_true(PyObject* answer) {
    const bool yes = answer == Py_True || PyErr_Occurred() != nullptr;
    PyErr_Clear();
    Py_XDECREF(answer);
    return yes;
  }

  const dlpack::Exchange& exchange_;
  PyObject* module_ = nullptr;
  PyObject* requires_grad_ = nullptr;  // names; null where the type lacks them
  PyObject* is_neg_ = nullptr;
};

// References of Python's that are let go at the end of their scope.
class Owned {
 public:
  explicit Owned(PyObject* object) : object_(object) {}
  ~Owned() { Py_XDECREF(object_); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  [[nodiscard]] PyObject* get() const noexcept { return object_; }
  [[nodiscard]] explicit operator bool() const noexcept { return object_ != nullptr; }
  PyObject* release() { return std::exchange(object_, nullptr); }

 private:
  PyObject* object_;
};

// An integer that is an attribute of an object; false with an exception set.
bool number(PyObject* object, const char* name, std::uint64_t& value) {
  const Owned attribute(object != nullptr ? PyObject_GetAttrString(object, name) : nullptr);
  if (!attribute) return false;
  value = PyLong_AsUnsignedLongLong(attribute.get());
  return PyErr_Occurred() == nullptr;
}

class CupyLibrary final : public Library {
 public:
  // False where it is not as known.
  bool find(PyObject* module) {
    const Owned cuda(PyObject_GetAttrString(module, "cuda"));
    const Owned runtime(cuda ? PyObject_GetAttrString(cuda.get(), "runtime") : nullptr);
    empty_ = PyObject_GetAttrString(module, "empty");
    current_stream_ = cuda ? PyObject_GetAttrString(cuda.get(), "get_current_stream") : nullptr;
    device_ = runtime ? PyObject_GetAttrString(runtime.get(), "getDevice") : nullptr;
    const bool all = empty_ != nullptr && current_stream_ != nullptr && device_ != nullptr;
    PyErr_Clear();
    return all;
  }

  bool take(PyObject* array, Tensor& tensor) override {
    const bool plain = taken(array, tensor);
    PyErr_Clear();
    return plain;
  }

  bool stream(std::int32_t /*ordinal*/, void*& handle) override {
    const Owned stream(PyObject_CallNoArgs(current_stream_));
    std::uint64_t address = 0;
    if (!stream || !number(stream.get(), "ptr", address)) return false;
    handle = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
    return true;
  }

 private:
  void* make(std::int32_t /*ordinal*/, masu::Dtype dtype, bool boolean, std::span<const std::int64_t> shape,
             void*& data) override {
    const Owned lengths(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
    if (!lengths) return nullptr;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      PyObject* length = PyLong_FromLongLong(shape[axis]);
      if (length == nullptr || PyTuple_SetItem(lengths.get(), static_cast<Py_ssize_t>(axis), length) != 0)
        return nullptr;
    }
    const Owned name(PyUnicode_InternFromString(boolean ? "?" : numpy_code(dtype)));
    Owned array(name ? PyObject_CallFunctionObjArgs(empty_, lengths.get(), name.get(), nullptr) : nullptr);
    const Owned memory(array ? PyObject_GetAttrString(array.get(), "data") : nullptr);
    std::uint64_t address = 0;
    if (!memory || !number(memory.get(), "ptr", address)) return nullptr;
    data = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
    return array.release();
  }
  PyObject* give(void* made, std::int64_t length) override {
    Owned array(static_cast<PyObject*>(made));
    return length == Made::whole ? array.release() : PySequence_GetSlice(array.get(), 0, length);
  }
  void drop(void* made) noexcept override { Py_DECREF(static_cast<PyObject*>(made)); }

  bool taken(PyObject* array, Tensor& tensor) const {
    const Owned memory(PyObject_GetAttrString(array, "data"));
    const Owned current(PyObject_CallNoArgs(device_));
    std::uint64_t address = 0;
    std::uint64_t ordinal = 0;
    if (!number(memory.get(), "ptr", address) || !number(memory.get(), "device_id", ordinal) || !current) return false;
    // New arrays come to the current device.
    if (PyLong_AsUnsignedLongLong(current.get()) != ordinal) return false;
    const Owned flags(PyObject_GetAttrString(array, "flags"));
    const Owned contiguous(flags ? PyObject_GetAttrString(flags.get(), "c_contiguous") : nullptr);
    const Owned dtype(PyObject_GetAttrString(array, "dtype"));
    const Owned shape(PyObject_GetAttrString(array, "shape"));
    if (contiguous.get() != Py_True || !dtype || !shape || !named(dtype.get(), tensor)) return false;
    const Py_ssize_t dimensions = PyTuple_Size(shape.get());
    if (dimensions < 0 || static_cast<std::size_t>(dimensions) > most_dimensions) return false;
    tensor.dimensions = static_cast<std::size_t>(dimensions);
    for (std::size_t axis = 0; axis < tensor.dimensions; ++axis) {
      tensor.shape[axis] = PyLong_AsLongLong(PyTuple_GetItem(shape.get(), static_cast<Py_ssize_t>(axis)));
    }
    tensor.ordinal = static_cast<std::int32_t>(ordinal);
    tensor.data = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
    return PyErr_Occurred() == nullptr && tensor.measure();
  }

  static bool named(PyObject* dtype, Tensor& tensor) {
    const Owned kind(PyObject_GetAttrString(dtype, "str"));
    const Owned text(kind ? PyUnicode_AsUTF8String(kind.get()) : nullptr);
    if (!text) return false;
    const std::string_view whole = PyBytes_AsString(text.get());
    tensor.boolean = whole == "|b1";
    if (tensor.boolean) {
      tensor.dtype = masu::Dtype::u8;
      return true;
    }
    const auto found = std::ranges::find(codes, whole.substr(std::min<std::size_t>(1, whole.size())),
                                         [](const char* code) { return std::string_view(code); });
    if (whole.starts_with('>') || found == codes.end()) return false;
    tensor.dtype = static_cast<masu::Dtype>(found - codes.begin());
    return true;
  }

  PyObject* empty_ = nullptr;
  PyObject* current_stream_ = nullptr;
  PyObject* device_ = nullptr;
};

// Of this type's own dictionary: a derived type inherits the functions, which know nothing of it.
const dlpack::Exchange* exchange_of(PyTypeObject* type) {
  const Owned own(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dict__"));
  const Owned capsule(own ? PyMapping_GetItemString(own.get(), "__dlpack_c_exchange_api__") : nullptr);
  if (!capsule || PyCapsule_IsValid(capsule.get(), capsule_name) == 0) return nullptr;
  const auto* exchange = static_cast<const dlpack::Exchange*>(PyCapsule_GetPointer(capsule.get(), capsule_name));
  while (exchange != nullptr && exchange->version.major > 1) exchange = exchange->previous;
  const bool whole = exchange != nullptr && exchange->version.major == 1 && exchange->allocate != nullptr &&
                     exchange->object_of != nullptr && exchange->array_of != nullptr &&
                     exchange->current_stream != nullptr;
  return whole ? exchange : nullptr;
}

std::unique_ptr<Library> found_library(PyTypeObject* type) {
  if (const dlpack::Exchange* exchange = exchange_of(type)) return std::make_unique<ExchangeLibrary>(*exchange, type);
  PyErr_Clear();
  const Owned modules(PyImport_ImportModule("sys"));
  const Owned loaded(modules ? PyObject_GetAttrString(modules.get(), "modules") : nullptr);
  const Owned cupy(loaded ? PyMapping_GetItemString(loaded.get(), "cupy") : nullptr);
  const Owned array(cupy ? PyObject_GetAttrString(cupy.get(), "ndarray") : nullptr);
  PyErr_Clear();
  if (array.get() != reinterpret_cast<PyObject*>(type)) return nullptr;
  auto library = std::make_unique<CupyLibrary>();
  return library->find(cupy.get()) ? std::move(library) : nullptr;
}

struct Known {
  PyTypeObject* type;  // kept alive
  std::unique_ptr<Library> library;
};

}  // namespace

const char* numpy_code(masu::Dtype dtype) noexcept {
  return codes[static_cast<std::size_t>(dtype)];
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

Library* library_of(PyTypeObject* type) {
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

}  // namespace masu_python
